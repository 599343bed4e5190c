"""A study of groups in a folder: many small cohorts, each of a group from the prior of the group model, each pooled.

Everyone sees the same trials, so that the filters at the nodes of the lattice run once for all (``shared_traces``).
What is done with each cohort is in ``group_calibration``. Traces and cohorts are records of the study's folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import HolmesFitError, Problems, Quoted
from holmes_fit.fitting.request import Request
from holmes_fit.groups.pooling.priors import GroupPrior, prior_of
from holmes_fit.models.registry import Observer
from holmes_fit.runs.folder import Run, open_run, read_run
from holmes_fit.runs.records import Key
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.tasks import do_all
from holmes_fit.settings.spaces import Space
from holmes_fit.studies.recovery.calibration import SBC
from holmes_fit.studies.recovery.group_calibration import RANKED, GroupCohort, GroupStudy
from holmes_fit.studies.recovery.shared_traces import POOL, SharedTraces, node_traces
from holmes_fit.trials.cohorts import Learner

KIND = "groups"
TRACES, COHORT = "traces", "cohort"
QUANTITIES = ("mean", "spread")
FEWEST_SHARES = 2  # of the filters at a node are of different people, so that their luck is hardly shared


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
        """The rows of all lattices, then the cohorts."""
        rows: list[Key] = [
            (TRACES, model, f"{row:03d}") for model in self.models for row in range(n_rows(self.space(model)))
        ]
        return rows + [(COHORT, model, f"{number:04d}") for model in self.models for number in range(self.cohorts)]

    @property
    def learners(self) -> tuple[Learner, ...]:
        """The trials that everyone sees: those of the first person."""
        return next(iter(self.fits.people.values()))

    def space(self, model: str) -> Space:
        return self.fits.spaces[model]

    @property
    def prior(self) -> GroupPrior:
        return prior_of(self.fits.preset.pooling)

    def open(self, out: str | PathLike[str]) -> AbstractContextManager[Run]:
        own = {"kind": KIND, "prior": asdict(self.prior), "cohorts": self.cohorts, "filters": POOL}
        return open_run(out, identity={**self.fits.identity(), **own}, about={}, keys=self.keys)


def set_up_groups(fits: Request, cohorts: int) -> GroupSetup:
    """Set up cohorts on the trials of the first person; refuse models without particles, and too many replicates."""
    setup = GroupSetup(fits, cohorts)
    problems = Problems()
    if not setup.models:
        problems.add("argument groups", Quoted("no model with latent causes"), "at least one, such as flat or holmes")
    replicates = fits.preset.likelihood.replicates
    if replicates > POOL // FEWEST_SHARES:
        allowed = f"up to {POOL // FEWEST_SHARES}, as groups share {POOL} filters at a node"
        advice = "Calibrate pooling with the default preset, or one of your own."
        problems.add("argument groups", Quoted(f"a preset with {replicates} replicates"), allowed, advice)
    problems.raise_if_any()
    return setup


def n_rows(space: Space) -> int:
    """Return how many pieces the lattice is filtered in: one for each value of the first learning parameter."""
    return space.learning[0].nodes if space.learning else 1


def row_traces(task: tuple[Space, tuple[Learner, ...], Observer, int]) -> NDArray[np.float64]:
    """Return p-hat at all nodes of a row of the lattice: nodes x filters x trials."""
    space, learners, observer, row = task
    columns = int(np.prod([axis.nodes for axis in space.learning[1:]], dtype=np.int64))
    nodes = range(row * columns, (row + 1) * columns)
    return np.stack([node_traces(space, learners, node, observer=observer) for node in nodes])


def carry_out_groups(
    setup: GroupSetup,
    run: Run,
    *,
    workers: int | None = None,
    dask: str | None = None,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Do what is missing: the traces first, then the cohorts of one model after those of another.

    Workers read traces from the folder of the study, so those of a cluster must see it too. ``done`` is called after
    each piece of work, those of earlier times included.
    """
    for _ in range(len(run.manifest.keys) - len(run.progress().missing)):
        done()
    missing = run.progress().missing
    rows = [key for key in setup.keys if key in missing and key[0] == TRACES]
    tasks: list[Any] = [(setup.space(model), setup.learners, setup.fits.observer, int(row)) for _, model, row in rows]
    for key, p_hat in _results(row_traces, tasks, rows, workers, dask):
        run.save_record(key, {}, {"p_hat": p_hat})
        done()
    cohorts = [key for key in setup.keys if key in missing and key[0] == COHORT]
    root = run.root.resolve()  # workers of a cluster may be at work in another folder
    tasks = [(setup, root, model, int(number)) for _, model, number in cohorts]
    for key, found in _results(_cohort, tasks, cohorts, workers, dask):
        facts = {"divergences": found.divergences, "r_hat": found.r_hat, "ess": found.ess}
        run.save_record(key, facts, {"rank": found.rank})
        done()


def _results(
    function: Callable[[Any], Any], tasks: list[Any], keys: list[Key], workers: int | None, dask: str | None
) -> Iterable[tuple[Key, Any]]:
    with closing(do_all(function, tasks, workers=workers, dask=dask)) as results:
        for number, result in results if tasks else ():
            if isinstance(result, Failure):
                raise HolmesFitError(f"{' '.join(keys[number])}: {result.kind}: {result.message}")
            yield keys[number], result


def _cohort(task: tuple[GroupSetup, Path, str, int]) -> GroupCohort:
    """Draw one group, simulate its people, fit and pool them."""
    setup, root, model, number = task
    study = _loaded(setup, root, model)
    rng = np.random.default_rng([setup.fits.seed, setup.models.index(model), number])
    return study.cohort(study.draw_group(rng), rng)


_STUDIES: dict[str, GroupStudy] = {}  # in each process, the one that it works on: traces are large


def _loaded(setup: GroupSetup, root: Path, model: str) -> GroupStudy:
    run = read_run(root)
    key = json.dumps([str(root), model, run.manifest.identity], sort_keys=True)  # a folder can be made anew
    if key not in _STUDIES:
        _STUDIES.clear()
        p_hat = all_traces(run, setup, model)
        settings, observer = setup.fits.preset.likelihood, setup.fits.observer
        traces = SharedTraces(setup.space(model), setup.learners, p_hat, settings, observer)
        _STUDIES[key] = GroupStudy(traces, prior=setup.prior)
    return _STUDIES[key]


def all_traces(run: Run, setup: GroupSetup, model: str) -> NDArray[np.float64]:
    """Return p-hat at all nodes of a model's lattice, once its rows are done."""
    found = []
    for row in range(n_rows(setup.space(model))):
        record = run.load_record((TRACES, model, f"{row:03d}"))
        if record is None:
            raise HolmesFitError(f"The traces of {model} are damaged. Give the same command again.")
        found.append(record.arrays["p_hat"])
    return np.concatenate(found)


def group_ranks(setup: GroupSetup, run: Run) -> pd.DataFrame:
    """Return ``sbc.csv`` for groups: a row for every cohort, parameter, and mean or spread."""
    rows: list[tuple[object, ...]] = []
    for record in run.records():
        if record.key[0] == COHORT:
            _, model, number = record.key
            names = [axis.name for axis in setup.space(model).free]
            for quantity, of_quantity in zip(QUANTITIES, record.arrays["rank"], strict=True):
                for name, rank in zip(names, of_quantity, strict=True):
                    rows.append(("group", model, f"{quantity} of {name}", f"group{number}", int(rank), RANKED))
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
