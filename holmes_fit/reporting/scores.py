"""What people did, from the trials of a run: scores of each person, and learning curves with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from holmes_fit.reporting.run_data import EVERYONE, CohortData

BINS = 8


def people_table(data: CohortData) -> pd.DataFrame:
    """Return a row for each person who was fitted: trials, answers, missed answers, accuracy, share of answers 1."""
    trials = data.trials
    columns = ["subject", "group", "trials", "answered", "missed", "no_feedback", "accuracy", "answers_1", "outcomes_1"]
    if not len(trials):
        return pd.DataFrame(columns=columns)
    answered = trials["choice"].notna()
    known = answered & trials["outcome"].notna()
    marks = pd.DataFrame(
        {
            "subject": trials["subject"],
            "group": trials["group"],
            "trials": 1,
            "answered": answered.astype(np.int64),
            "missed": (~answered).astype(np.int64),
            "no_feedback": (~trials["feedback"]).astype(np.int64),
            "accuracy": (trials["choice"] == trials["outcome"]).astype(np.float64).where(known),
            "answers_1": trials["choice"].astype(np.float64),
            "outcomes_1": trials["outcome"].astype(np.float64),
        }
    )
    sums = marks.groupby(["subject", "group"], sort=False)[["trials", "answered", "missed", "no_feedback"]].sum()
    means = marks.groupby(["subject", "group"], sort=False)[["accuracy", "answers_1", "outcomes_1"]].mean()
    return sums.join(means).reset_index()[columns]


def group_rows(people: pd.DataFrame, groups: tuple[str, ...]) -> list[tuple[str, pd.DataFrame]]:
    """Return everyone, and then each group."""
    return [(EVERYONE, people), *((group, people[people["group"] == group]) for group in groups)]


def learning_curve(data: CohortData, bins: int = BINS) -> pd.DataFrame:
    """Return the accuracy in successive parts of the learning sequence, for each group, with 95% intervals.

    Means are over people, and intervals are Student's: ``group``, ``first`` and ``last`` trial, ``n_people``, ``mean``,
    ``lower``, ``upper``.
    """
    trials = data.trials
    columns = ["group", "first", "last", "n_people", "mean", "lower", "upper"]
    known = trials.dropna(subset=["choice", "outcome"])
    if not len(known):
        return pd.DataFrame(columns=columns)
    edges = np.unique(np.linspace(0, trials["position"].max(), bins + 1).round().astype(np.int64))
    part = np.searchsorted(edges, known["position"].to_numpy(), side="left") - 1
    hit = (known["choice"] == known["outcome"]).astype(np.float64)
    by_person = hit.groupby([known["subject"], known["group"], part.astype(np.int64)]).mean()
    by_person.index.names = ["subject", "group", "part"]
    table = by_person.rename("hit").reset_index()
    rows = []
    for group in data.groups or (EVERYONE,):
        own = table if group == EVERYONE else table[table["group"] == group]
        for place, values in own.groupby("part")["hit"]:
            at = int(str(place))
            mean, half = float(values.mean()), half_interval(values)
            limits = (max(0.0, mean - half), min(1.0, mean + half))
            rows.append([group, int(edges[at]) + 1, int(edges[at + 1]), len(values), mean, *limits])
    return pd.DataFrame(rows, columns=columns)


def half_interval(values: pd.Series) -> float:
    """Return half of Student's 95% interval of a mean; nothing for a single value."""
    if len(values) < 2:
        return float("nan")
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
