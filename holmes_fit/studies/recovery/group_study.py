"""Whether the group layer is calibrated: groups from its own prior, people from the groups, choices from the people.

The rank of a group's true mean or spread among the draws of its posterior is then uniform over many cohorts. Everyone
sees the same trials, so that the filters at the nodes of the lattice run once for all (``shared_traces``), in each
process. Cohorts are records of the study's folder.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import truncnorm

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit._support.progress import OnProgress
from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.fitting.lattice.task import natural
from holmes_fit.fitting.person import rounded
from holmes_fit.fitting.request import Request
from holmes_fit.groups.pooling.draws import GroupDraws
from holmes_fit.groups.pooling.lattices import Lattices, MergedAxis, merge
from holmes_fit.groups.pooling.pool import Pooled, pool_people
from holmes_fit.groups.pooling.priors import GroupPrior, draw_prior, prior_of, scaled
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.runs.folder import Run, open_run
from holmes_fit.runs.person_records import EVIDENCE
from holmes_fit.runs.records import Key
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.recovery.estimates import SBC
from holmes_fit.studies.recovery.shared_traces import SharedTraces
from holmes_fit.studies.statistics import Values
from holmes_fit.studies.work import keep_each
from holmes_fit.trials.cohorts import Learner

KIND = "groups"
COHORT = "cohort"
QUANTITIES = ("mean", "spread")
RANKED = 59  # draws, far enough apart to be nearly independent, among which a truth is ranked
FILTERS = 128  # at each node, from which a person takes 32 at the defaults
FEWEST_SHARES = 2  # of the filters at a node are of different people, so that their luck is hardly shared


def group_axes(space: Space) -> tuple[MergedAxis, ...]:
    """Return the axes that a group's prior depends on: those of lattices that say nothing."""
    nothing, blank = np.zeros(1), np.zeros((1, *(axis.nodes for axis in space.free)), np.float32)
    return merge(Lattices(space.model.name, ("s00",), space.free, blank, nothing, nothing, nothing)).axes


def draw_people(
    axes: Sequence[FreeParameter], mean: Values, spread: Values, n: int, rng: np.random.Generator
) -> Values:
    """Return people x parameters on the scales of search: normal, cut off at the bounds, as in the group model."""
    low, high = (np.array([getattr(axis, end) for axis in axes]) for end in ("low", "high"))
    people = truncnorm((low - mean) / spread, (high - mean) / spread, loc=mean, scale=spread)
    return np.clip(people.ppf(rng.random((n, len(axes)))), low, high)


def as_lattices(model: str, fits: Sequence[Posterior]) -> Lattices:
    """Return the lattices of a cohort as a run folder keeps them: cut off far below the highest node, and rounded."""
    names = tuple(f"s{number:02d}" for number in range(len(fits)))
    of_evidence: Any = {name: np.array([getattr(fit, name) for fit in fits]) for name in EVIDENCE}
    return Lattices(model, names, fits[0].axes, np.stack([rounded(fit.log_likelihood) for fit in fits]), **of_evidence)


def ranks(truth: GroupDraws, draws: GroupDraws) -> NDArray[np.int64]:
    """Return quantities (mean, spread) x parameters: how many of ``RANKED`` draws are below the truth."""
    some = draws.thinned(RANKED)
    return np.array([(some.mean < truth.mean).sum(axis=0), (some.spread < truth.spread).sum(axis=0)])


def sampled(found: Pooled) -> dict[str, float]:
    """Return how NUTS did; of the effective draws, the smaller of bulk and tail."""
    own = found.diagnostics
    return {"divergences": own.divergences, "r_hat": own.r_hat, "ess": min(own.ess_bulk, own.ess_tail)}


@dataclass(frozen=True)
class GroupStudy:
    """Cohorts of one model."""

    traces: SharedTraces  # the model, and the trials that everyone sees
    people_each: int = 8  # in each cohort
    prior: GroupPrior = field(default_factory=GroupPrior)
    sampling: Sampling = field(default_factory=lambda: Sampling(chains=2, tune=300, draws=500))

    def group(self, rng: np.random.Generator) -> GroupDraws:
        """Draw a group from the prior of the group model."""
        return draw_prior(scaled(self.prior, group_axes(self.traces.space)), 1, rng)

    def people(self, group: GroupDraws, rng: np.random.Generator) -> tuple[Values, list[tuple[Learner, ...]]]:
        """Draw the people of a group: their truth, people x parameters on the scales of search, and their choices."""
        axes = self.traces.space.free
        truth = draw_people(axes, group.mean[0], group.spread[0], self.people_each, rng)
        return truth, [self.traces.person(natural(axes, own), f"s{i:02d}", rng) for i, own in enumerate(truth)]

    def pooled(self, fits: Sequence[Posterior], rng: np.random.Generator) -> Pooled:
        """Pool people who are fitted already."""
        sampling = replace(self.sampling, seed=int(rng.integers(1 << 31)))
        return pool_people(as_lattices(self.traces.space.model.name, fits), prior=self.prior, sampling=sampling)

    def cohort(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], dict[str, float]]:
        """Simulate, fit and pool the people of a group; return the ranks of the truth about it, and how NUTS did."""
        group = self.group(rng)
        _, people = self.people(group, rng)
        fits = [self.traces.fits(person, rng, with_error=False)[0] for person in people]  # pooling takes no errors
        found = self.pooled(fits, rng)
        return ranks(group, found.draws), sampled(found)


@dataclass(frozen=True)
class GroupSetup:
    """How pooling is calibrated. Get one from :func:`set_up_groups`, which checks it."""

    fits: Request  # how everyone is fitted; everyone sees the trials of the first person of its cohort
    cohorts: int  # the number of groups of each model

    @property
    def models(self) -> tuple[str, ...]:
        """The models with particles; others have exact likelihoods, and nothing is gained from shared traces."""
        return tuple(model.name for model in self.fits.models if model.uses_particles)

    @property
    def keys(self) -> list[Key]:
        """The cohorts of one model after those of another."""
        return [(COHORT, model, f"{number:04d}") for model in self.models for number in range(self.cohorts)]

    def study(self, model: str) -> GroupStudy:
        """Return the cohorts of a model, on the trials of the first person."""
        space, observer, preset = self.fits.spaces[model], self.fits.observer, self.fits.preset
        learners = next(iter(self.fits.people.values()))
        traces = SharedTraces(space, learners, FILTERS, preset.likelihood.replicates, observer)
        return GroupStudy(traces, prior=prior_of(preset.pooling))

    def identity(self) -> dict[str, object]:
        """Return everything that the results depend on."""
        own = {"kind": KIND, "prior": asdict(prior_of(self.fits.preset.pooling)), "filters": FILTERS}
        return {**self.fits.identity(), **own, "cohorts": self.cohorts}

    def open(self, out: str | PathLike[str]) -> AbstractContextManager[Run]:
        return open_run(out, identity=self.identity(), about={}, keys=self.keys)


def set_up_groups(fits: Request, cohorts: int) -> GroupSetup:
    """Set up cohorts on the trials of the first person; refuse models without particles, and too many replicates."""
    setup = GroupSetup(fits, cohorts)
    problems = Problems()
    if not setup.models:
        problems.add("argument groups", Quoted("no model with latent causes"), "at least one, such as flat or holmes")
    replicates = fits.preset.likelihood.replicates
    if replicates > FILTERS // FEWEST_SHARES:
        allowed = f"up to {FILTERS // FEWEST_SHARES}, as groups share {FILTERS} filters at a node"
        advice = "Calibrate pooling with the default preset, or one of your own."
        problems.add("argument groups", Quoted(f"a preset with {replicates} replicates"), allowed, advice)
    problems.raise_if_any()
    return setup


def carry_out_groups(
    setup: GroupSetup,
    run: Run,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: OnProgress | None = None,
) -> None:
    """Do the cohorts that are missing."""
    work = [(setup, key) for key in setup.keys]
    keep_each(run, _cohort, work, lambda each: each[1], workers=workers, dask=dask, progress=progress)


def _cohort(work: tuple[GroupSetup, Key]) -> tuple[dict[str, float], dict[str, NDArray[np.int64]]]:
    setup, (_, model, number) = work
    rng = np.random.default_rng([setup.fits.seed, setup.models.index(model), int(number)])
    rank, facts = _study(setup, model).cohort(rng)
    return facts, {"rank": rank}


_STUDIES: dict[str, GroupStudy] = {}  # in each process, the one that it works on: its filters are many


def _study(setup: GroupSetup, model: str) -> GroupStudy:
    name = json.dumps([model, setup.identity()], sort_keys=True)
    if name not in _STUDIES:
        _STUDIES.clear()
        _STUDIES[name] = setup.study(model)
    return _STUDIES[name]


def group_ranks(setup: GroupSetup, run: Run) -> pd.DataFrame:
    """Return ``sbc.csv`` for groups: a row for every cohort, parameter, and mean or spread."""
    rows = [
        ("group", model, f"{quantity} of {axis.name}", f"group{number}", int(rank), RANKED)
        for record in run.records()
        for kind, model, number in [record.key]
        if kind == COHORT
        for quantity, of_quantity in zip(QUANTITIES, record.arrays["rank"], strict=True)
        for axis, rank in zip(setup.fits.spaces[model].free, of_quantity, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(SBC))


def group_notes(run: Run) -> list[str]:
    """Say how many cohorts were sampled too badly for their ranks to be trusted; nothing if all went well."""
    facts: list[Any] = [record.facts for record in run.records() if record.key[0] == COHORT]
    poor = sum(each["ess"] < RANKED or each["divergences"] > 0 for each in facts)
    if not poor:
        return []
    return [
        f"{poor} of {len(facts)} groups have divergences, or fewer effective draws than the {RANKED} among which the "
        "truth is ranked: their ranks are rougher than those of the others."
    ]
