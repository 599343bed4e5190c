"""What is run: the paper's simulation studies as plain data.

A job is one task family, crossed with models, parameter points and seeds. A study reads one job or two; jobs that two
studies read are run once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.runs.records import Key

Study = Literal["backward", "forward", "conditioning", "ablation", "sweep"]
STUDIES: tuple[Study, ...] = get_args(Study)
# From the paper's text to its authors' published code, one switch at a time.
Reading = Literal["as_written", "shared_counts", "node_stickiness", "as_published"]
READINGS: tuple[Reading, ...] = get_args(Reading)
WHOLE: tuple[Reading, ...] = ("as_written", "as_published")  # under which everything is run

PAIR = ("flat", "holmes")
VARIANTS = ("flat", "flat_sticky", "holmes_structure_only", "holmes_no_stop", "holmes_no_stick", "holmes")
SHORT, LONG = "shape_color", "shape_color_long"
SEEDS_A_CHUNK = 10

# The paper resamples multinomially. Where its text and its authors' published code differ, each difference has a
# switch; the two in between tell which of them does what.
OBSERVERS: dict[Reading, Observer] = {
    "as_written": Observer(resampling="multinomial"),
    "as_published": Observer(resampling="multinomial", branch_counts="shared", sticky_by="node"),
    "shared_counts": Observer(resampling="multinomial", branch_counts="shared"),
    "node_stickiness": Observer(resampling="multinomial", sticky_by="node"),
}


@dataclass(frozen=True)
class Sizes:
    """How much is run. The defaults are the paper's, except where it used few seeds."""

    pairs: int = 200
    seeds: int = 6
    forward_seeds: int = 200
    conditioning_seeds: int = 50
    ablation_pairs: int = 25
    ablation_seeds: int = 6
    ablation_forward_seeds: int = 200  # the paper: 10
    shared_pairs: int = 25
    shared_tasks: int = 16
    dissected_pairs: int = 60
    bootstrap: int = 2000


FULL = Sizes()
ABLATED = {"ablation_pairs": 10, "ablation_seeds": 2, "ablation_forward_seeds": 50}
REST = {"shared_pairs": 10, "shared_tasks": 4, "dissected_pairs": 12}
QUICK = Sizes(pairs=40, seeds=3, forward_seeds=50, conditioning_seeds=20, **ABLATED, **REST)


@dataclass(frozen=True)
class Box:
    """Bounds of parameter pairs that are uniform between them."""

    alpha: tuple[float, float]
    omega: tuple[float, float]


@dataclass(frozen=True)
class Job:
    """One family of simulations."""

    name: str  # chooses its draws
    protocols: tuple[str, ...]  # the tasks
    models: tuple[str, ...]  # which see the same tasks and the same draws
    points: Box | dict[str, tuple[float, float]]  # from which (alpha, Omega) pairs are drawn, or one for each model
    n_points: int
    n_seeds: int  # at each point
    max_depth: int = 20
    max_branches: int = 20
    tasks_shared: bool = False  # whether all points see the same tasks, one for each seed, or every point its own

    def values(self, model: str, point: int) -> dict[str, float]:
        """Return a model's parameters at one point."""
        if isinstance(self.points, Box):
            alpha, omega = sampled_pairs(self.points, point + 1)[point]
        else:
            alpha, omega = self.points[model]
        return {"alpha": float(alpha), "omega": float(omega)}


# Backward transfer: "200 randomly sampled parameter combinations (alpha in [0.1, 3.0], Omega in [0.1, 3.0])".
WIDE = Box((0.1, 3.0), (0.1, 3.0))
# Forward transfer: the range of the published sweep.
NARROW = Box((0.1, 1.0), (0.05, 0.5))
FORWARD_POINT = (0.3, 0.1)
SHARED_TASKS = "compositional_shared_tasks"


def sampled_pairs(box: Box, n: int) -> np.ndarray:
    """Return n (alpha, Omega) pairs; the first of them are the same for every n."""
    rng = np.random.default_rng(int(stream_key(0, "replication pairs")))
    low, high = np.array([box.alpha, box.omega]).T
    return low + (high - low) * rng.random((n, 2))


def jobs_of(sizes: Sizes) -> dict[str, Job]:
    """Return all jobs at these sizes, by name."""
    levels = tuple(f"compositional_{level}" for level in range(2, 6))
    forward, conditioned = dict.fromkeys(VARIANTS, FORWARD_POINT), {"flat": (0.5, 0.5), "holmes": (0.1, 0.5)}
    ablated, shared = (sizes.ablation_pairs, sizes.ablation_seeds), (sizes.shared_pairs, sizes.shared_tasks)
    jobs = (
        Job("compositional", levels, PAIR, WIDE, sizes.pairs, sizes.seeds),
        Job("shape_color", (SHORT, LONG), PAIR, forward, 1, sizes.forward_seeds),
        Job("conditioning", ("conditioning",), PAIR, conditioned, 1, sizes.conditioning_seeds, 10, 5),
        Job("compositional_ablation", levels, VARIANTS, WIDE, *ablated),
        Job("shape_color_ablation", (LONG,), VARIANTS, forward, 1, sizes.ablation_forward_seeds),
        Job("shape_color_sweep", (LONG,), PAIR, NARROW, sizes.pairs, sizes.seeds),
        # How much does a mean over parameter pairs depend on the tasks, if all pairs share a few of them?
        Job(SHARED_TASKS, levels, PAIR, WIDE, *shared, tasks_shared=True),
    )
    return {job.name: job for job in jobs}


def dissected(jobs: dict[str, Job], sizes: Sizes) -> list[Job]:
    """Return the two jobs that are run under every reading, with as many pairs as that needs.

    Readings are compared on the same tasks with the same draws, so fewer pairs tell them apart.
    """
    pairs = min(sizes.dissected_pairs, sizes.pairs)
    return [replace(jobs["compositional"], n_points=pairs), jobs["shape_color"]]


JOBS_OF_STUDY: dict[Study, tuple[str, ...]] = {
    "backward": ("compositional", SHARED_TASKS),
    "forward": ("shape_color",),
    "conditioning": ("conditioning",),
    "ablation": ("compositional_ablation", "shape_color_ablation"),
    "sweep": ("compositional", "shape_color_sweep"),
}


class Chunk(NamedTuple):
    """What is run and saved at once: one model at one parameter point, over some seeds."""

    job: str
    reading: Reading
    model: str
    point: int
    seeds: tuple[int, ...]

    @property
    def key(self) -> Key:
        """The key of its record."""
        return self.job, self.reading, self.model, f"{self.point:03d}", f"{self.seeds[0]:03d}-{self.seeds[-1]:03d}"


def find_latent_cause(model: str) -> LatentCauseModel:
    """Return a registered model that is known to be a latent-cause model."""
    found = MODELS[model]
    assert isinstance(found, LatentCauseModel)
    return found


def effective_reading(model: str, reading: Reading) -> Reading:
    """Return how a model is run under a reading of the paper.

    The published departures concern the tree of HOLMES. The flat models are the same either way.
    """
    return "as_written" if find_latent_cause(model).is_flat else reading


def observer_of(job: Job, reading: Reading) -> Observer:
    """Return the observer of a job under a reading of the paper."""
    return replace(OBSERVERS[reading], max_depth=job.max_depth, max_branches=job.max_branches)


def chunks_of(job: Job, reading: Reading) -> Iterator[Chunk]:
    """Give the chunks of a job under a reading of the paper: all seeds of a pair, or some of those at one point."""
    size = job.n_seeds if isinstance(job.points, Box) else SEEDS_A_CHUNK
    for model in job.models:
        for point in range(job.n_points):
            for first in range(0, job.n_seeds, size):
                seeds = tuple(range(first, min(first + size, job.n_seeds)))
                yield Chunk(job.name, effective_reading(model, reading), model, point, seeds)


def wanted_chunks(
    jobs: dict[str, Job], sizes: Sizes, studies: Iterable[Study], readings: Sequence[Reading]
) -> list[Chunk]:
    """Return the chunks of some studies; with both readings, also those that tell their differences one by one."""
    work = [(jobs[job], reading) for reading in readings for study in studies for job in JOBS_OF_STUDY[study]]
    if len(readings) > 1:
        work += [(job, reading) for reading in READINGS for job in dissected(jobs, sizes)]
    return list(dict.fromkeys(chunk for job, reading in work for chunk in chunks_of(job, reading)))
