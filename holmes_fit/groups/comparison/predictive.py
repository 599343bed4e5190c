"""Posterior predictive checks: whether people with these parameters would have answered as the people did.

Everyone's answers are simulated many times on the trials that they saw, each time with other parameters from their
posterior and another filter; each cohort has one draw of the group, and people under it, so that what is uncertain
about the group is in the bands. What the simulated cohorts have in common is what the model says; where the people are
outside, the model misses something, however well it does against other models.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from holmes_fit._support.errors import HolmesFitError, plain
from holmes_fit._support.progress import OnProgress
from holmes_fit.groups.comparison.answers import Answering, Counts, FittedModel, count_answers
from holmes_fit.groups.comparison.predictive_cells import MEASURES, Cell, Cells, make_cells, targets
from holmes_fit.runs.folder import Run
from holmes_fit.runs.knowledge import PeopleDraws
from holmes_fit.runs.schema import frame, ordered
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.runs.workers.tasks import do_all
from holmes_fit.trials.cohorts import Cohort, Learner
from holmes_fit.trials.curves import TRIAL
from holmes_fit.trials.summaries import EVERYONE, default_group

INTERVAL = (0.025, 0.975)
WORTH_A_PROCESS = 30  # people and models; fewer are simulated before a process has started


def predictive_checks(
    cohort: Cohort,
    models: Sequence[FittedModel],
    draws: Mapping[str, PeopleDraws],
    datasets: int = 100,
    seed: int = 0,
    workers: int | None = None,
    progress: OnProgress | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hold simulated answers against those that were given.

    ``predictive.csv`` has a row for each model, group, division of the trials, bin and measure. ``observed`` is the
    share of answers that count, over all people of the group; ``simulated`` its mean over the simulated cohorts,
    with ``lower`` and ``upper`` between which 95% of them lie. ``p_value``: twice the share of cohorts, this one
    among them, that are at least as far out on its side. Answers count if they equal the outcome (``correct``), if
    they are 1 (``choice``), or if they equal the outcome although it was not shown (``no_feedback_correct``).

    ``predictive_summary.csv`` has a row for each model, group and measure, over the bins of its learning curves:
    those of each condition where there are conditions. ``p_value``: the share of cohorts whose curves are as far
    from the mean curve, bins weighted by their variances.

    The parameters have seen the answers, so that p-values are conservative: around .5 more often than they should
    be under a true model. A small one still means what it says.
    """
    cells = make_cells(cohort)
    groups = _groups(cohort)
    keys = [(model, subject) for model in models for subject in draws[model.name].subjects]
    work = _all_work(cohort, cells, models, draws, datasets, seed)
    sums: dict[tuple[str, str], Counts] = {}
    n_workers = min(workers or usable_cores(), max(1, len(keys) // WORTH_A_PROCESS))
    with closing(do_all(count_answers, work, workers=n_workers)) as results:
        for done, (number, counts) in enumerate(results, start=1):
            model, subject = keys[number]
            if isinstance(counts, Failure):
                reason = f"{counts.kind}: {counts.message}"
                raise HolmesFitError(f"{plain(subject)} could not be simulated with {model.name}: {reason}")
            for group in groups[subject]:  # multiples of a grain, so that their order does not matter
                at = model.name, group
                sums[at] = sums[at] + counts if at in sums else counts
            if progress is not None:
                progress(done, len(keys))
    order = list(dict.fromkeys(group for of_person in groups.values() for group in of_person))
    order.sort(key=lambda group: (group != EVERYONE, group))
    curves = [
        curve
        for model in models
        for group in order
        if (model.name, group) in sums
        for curve in _held_against({"model": model.name, "group": group}, sums[model.name, group], cells.cells)
    ]
    tables = [table for table, _ in curves] or [frame("predictive.csv", [])]
    checks = ordered("predictive.csv", pd.concat(tables, ignore_index=True))
    return checks, frame("predictive_summary.csv", (summary for _, summary in curves))


def _groups(cohort: Cohort) -> dict[str, tuple[str, ...]]:
    """Return the groups of each person: everyone, and their own where it is known."""
    people, by = cohort.subjects.set_index("subject"), default_group(cohort)
    own = {} if by is None else {str(name): (str(group),) for name, group in people[by].dropna().items()}
    return {name: (EVERYONE, *own.get(name, ())) for name in map(str, people.index)}


def _all_work(
    cohort: Cohort,
    cells: Cells,
    models: Sequence[FittedModel],
    draws: Mapping[str, PeopleDraws],
    datasets: int,
    seed: int,
) -> Iterator[Answering]:
    learners: dict[str, list[Learner]] = {}
    for learner in cohort.learners:
        learners.setdefault(learner.subject, []).append(learner)
    scored = targets(cohort)
    for model in models:
        own = draws[model.name]
        for person, subject in enumerate(own.subjects):
            rows = np.concatenate([learner.rows for learner in learners[subject]])
            yield Answering(
                fitted=model,
                learners=tuple(learners[subject]),
                values=tuple(model.space.values(free) for free in own.some(person, datasets)),
                seed=seed,
                targets=scored[:, rows],
                cells=cells.of(rows),
            )


def draws_digest(run: Run, draws: Mapping[str, PeopleDraws], datasets: int, seed: int) -> str:
    """Return a SHA-256 of all that predictive checks depend on: the run, everyone's draws, settings and version."""
    about = [run.manifest.identity, datasets, seed, version("holmes-fit")]
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for model, own in draws.items():
        found.update(json.dumps([model, own.subjects, own.parameters]).encode())
        found.update(np.ascontiguousarray(own.values).tobytes())
    return found.hexdigest()


def individual_draws(data: xr.Dataset) -> PeopleDraws:
    """Return the draws of people in the group ``individuals`` of what was pooled."""
    values = data["value"].transpose("subject", "sample", "parameter")
    subjects, parameters = (tuple(map(str, values[name].to_numpy())) for name in ("subject", "parameter"))
    return PeopleDraws(subjects, parameters, values.to_numpy())


def _held_against(
    about: Mapping[str, str], counts: Counts, cells: Sequence[Cell]
) -> Iterator[tuple[pd.DataFrame, dict[str, object]]]:
    """Give, for each measure, a row for each bin that has answers, and what sums its learning curve up."""
    for number, measure in enumerate(MEASURES):
        kept = np.flatnonzero(counts.answers[number])
        if not len(kept):
            continue
        answers, bins = counts.answers[number, kept], [cells[at] for at in kept.tolist()]
        observed, simulated = counts.observed[number, kept] / answers, counts.simulated[number, kept] / answers[:, None]
        lower, upper = np.quantile(simulated, INTERVAL, axis=1)
        mean, own = simulated.mean(axis=1), {**about, "measure": measure}
        table = pd.DataFrame([asdict(each) for each in bins]).assign(
            **own,
            n_answers=answers.astype(np.int64),
            observed=observed,
            simulated=mean,
            lower=lower,
            upper=upper,
            p_value=two_sided(observed, simulated),
        )
        by_condition = any(each.condition for each in bins)
        curve = [each.by == TRIAL and bool(each.condition) == by_condition for each in bins]
        inside = (lower <= observed) & (observed <= upper)
        yield (
            table,
            {
                **own,
                "n_bins": sum(curve),
                "rmse": float(np.sqrt(np.mean((observed - mean)[curve] ** 2))),
                "share_inside": float(np.mean(inside[curve])),
                "p_value": distance_p_value(observed[curve], simulated[curve]),
            },
        )


def two_sided(observed: NDArray[np.float64], simulated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-value of each bin: under a true model, values up to any p come with probability p or less.

    The people are one more cohort of the same kind, so that the rank of theirs among all has that property exactly.
    """
    n = simulated.shape[1] + 1
    below = 1 + np.sum(simulated <= observed[:, None], axis=1)
    above = 1 + np.sum(simulated >= observed[:, None], axis=1)
    return np.minimum(1.0, 2 * np.minimum(below, above) / n)


def distance_p_value(observed: NDArray[np.float64], simulated: NDArray[np.float64]) -> float:
    """Return the share of cohorts whose curves are at least as far from the mean curve as that of the people.

    Mean and variances are those of all curves, the people's among them, so that all are treated alike.
    """
    all_curves = np.column_stack([observed, simulated])
    away = all_curves - all_curves.mean(axis=1, keepdims=True)
    variance = all_curves.var(axis=1, keepdims=True)
    varies = variance[:, 0] > 0
    distance = np.sum(away[varies] ** 2 / variance[varies], axis=0)
    return float(np.mean(distance >= distance[0] * (1 - 1e-12)))
