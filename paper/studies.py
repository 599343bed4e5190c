"""What is run: the paper's simulation studies as plain data.

A job is one task family, crossed with models, parameter points and seeds. A study reads one job or two; jobs that two
studies read are run once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer

Study = Literal["backward", "forward", "conditioning", "ablation", "sweep"]
STUDIES: tuple[Study, ...] = get_args(Study)
Reading = Literal["as_written", "as_published", "shared_counts", "node_stickiness"]

PAIR = ("flat", "holmes")
VARIANTS = ("flat", "flat_sticky", "holmes_structure_only", "holmes_no_stop", "holmes_no_stick", "holmes")
SHORT, LONG = "shape_color", "shape_color_long"

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
QUICK = Sizes(
    pairs=40,
    seeds=3,
    forward_seeds=50,
    conditioning_seeds=20,
    ablation_pairs=10,
    ablation_seeds=2,
    ablation_forward_seeds=50,
    shared_pairs=10,
    shared_tasks=4,
    dissected_pairs=12,
)


@dataclass(frozen=True)
class Box:
    """Parameter pairs, uniform between these bounds."""

    alpha: tuple[float, float]
    omega: tuple[float, float]


@dataclass(frozen=True)
class Job:
    """One family of simulations.

    Parameters
    ----------
    name
        Names its files and chooses its draws.
    protocols
        The tasks, each a shipped protocol.
    models
        The models that see the same tasks and the same draws.
    points
        A box from which (alpha, Omega) pairs are drawn, or one point for each model.
    n_points, n_seeds
        Parameter points, and seeds at each.
    seeds_a_chunk
        Seeds that are run and saved together.
    max_depth, max_branches
        The limits of the trees.
    tasks_shared
        Whether all parameter points see the same tasks, one for each seed, or every point its own.
    """

    name: str
    protocols: tuple[str, ...]
    models: tuple[str, ...]
    points: Box | dict[str, tuple[float, float]]
    n_points: int
    n_seeds: int
    seeds_a_chunk: int
    max_depth: int = 20
    max_branches: int = 20
    tasks_shared: bool = False

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
    jobs = (
        Job("compositional", levels, PAIR, WIDE, sizes.pairs, sizes.seeds, sizes.seeds),
        Job("shape_color", (SHORT, LONG), PAIR, dict.fromkeys(PAIR, FORWARD_POINT), 1, sizes.forward_seeds, 10),
        Job(
            "conditioning",
            ("conditioning",),
            PAIR,
            {"flat": (0.5, 0.5), "holmes": (0.1, 0.5)},
            1,
            sizes.conditioning_seeds,
            10,
            max_depth=10,
            max_branches=5,
        ),
        Job(
            "compositional_ablation",
            levels,
            VARIANTS,
            WIDE,
            sizes.ablation_pairs,
            sizes.ablation_seeds,
            sizes.ablation_seeds,
        ),
        Job(
            "shape_color_ablation",
            (LONG,),
            VARIANTS,
            dict.fromkeys(VARIANTS, FORWARD_POINT),
            1,
            sizes.ablation_forward_seeds,
            10,
        ),
        Job("shape_color_sweep", (LONG,), PAIR, NARROW, sizes.pairs, sizes.seeds, sizes.seeds),
        # How much does a mean over parameter pairs depend on the tasks, if all pairs share a few of them?
        Job(
            SHARED_TASKS,
            levels,
            PAIR,
            WIDE,
            sizes.shared_pairs,
            sizes.shared_tasks,
            sizes.shared_tasks,
            tasks_shared=True,
        ),
    )
    return {job.name: job for job in jobs}


JOBS_OF_STUDY: dict[Study, tuple[str, ...]] = {
    "backward": ("compositional", SHARED_TASKS),
    "forward": ("shape_color",),
    "conditioning": ("conditioning",),
    "ablation": ("compositional_ablation", "shape_color_ablation"),
    "sweep": ("compositional", "shape_color_sweep"),
}


@dataclass(frozen=True)
class Chunk:
    """What is run and saved at once: one model at one parameter point, over some seeds."""

    job: str
    model: str
    reading: Reading
    point: int
    seeds: tuple[int, ...]

    @property
    def file(self) -> str:
        """Its place below the folder of chunks."""
        place = f"{self.job}/{self.reading}/{self.model}"
        return f"{place}/point_{self.point:03d}_seeds_{self.seeds[0]:03d}-{self.seeds[-1]:03d}.json"


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
    """Give the chunks of a job under a reading of the paper."""
    for model in job.models:
        for point in range(job.n_points):
            for first in range(0, job.n_seeds, job.seeds_a_chunk):
                seeds = tuple(range(first, min(first + job.seeds_a_chunk, job.n_seeds)))
                yield Chunk(job.name, model, effective_reading(model, reading), point, seeds)
