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
    answered = trials["choice"].notna()
    hit = (trials["choice"] == trials["outcome"]).where(answered & trials["outcome"].notna())
    marks = trials[["subject", "group"]].assign(
        trials=1,
        answered=answered.astype(np.int64),
        missed=(~answered).astype(np.int64),
        no_feedback=(~trials["feedback"].astype(bool)).astype(np.int64),
        accuracy=hit.astype(np.float64),
        answers_1=trials["choice"].astype(np.float64),
        outcomes_1=trials["outcome"].astype(np.float64),
    )
    how = {**dict.fromkeys(marks.columns[2:6], "sum"), **dict.fromkeys(marks.columns[6:], "mean")}
    return marks.groupby(["subject", "group"], sort=False, as_index=False).agg(how)


def learning_curve(data: CohortData, bins: int = BINS) -> pd.DataFrame:
    """Return the accuracy in successive parts of the learning sequence, for each group, with 95% intervals.

    Means are over people, and intervals are Student's: ``group``, ``first`` and ``last`` trial, ``n_people``, ``mean``,
    ``lower``, ``upper``.
    """
    columns = ["group", "first", "last", "n_people", "mean", "lower", "upper"]
    known = data.trials.dropna(subset=["choice", "outcome"])
    if not len(known):
        return pd.DataFrame(columns=columns)
    edges = np.unique(np.linspace(0, data.trials["position"].max(), bins + 1).round().astype(np.int64))
    part = np.searchsorted(edges, known["position"].to_numpy(), side="left") - 1
    marks = known.assign(hit=(known["choice"] == known["outcome"]).astype(np.float64), part=part.astype(np.int64))
    table, rows = marks.groupby(["subject", "group", "part"], as_index=False)["hit"].mean(), []
    for group in data.groups or (EVERYONE,):
        own = table if group == EVERYONE else table[table["group"] == group]
        for place, values in own.groupby("part")["hit"]:
            at, mean, half = int(str(place)), float(values.mean()), half_interval(values)
            limits = (max(0.0, mean - half), min(1.0, mean + half))
            rows.append([group, int(edges[at]) + 1, int(edges[at + 1]), len(values), mean, *limits])
    return pd.DataFrame(rows, columns=columns)


def half_interval(values: pd.Series) -> float:
    """Return half of Student's 95% interval of a mean; nothing for a single value."""
    if len(values) < 2:
        return float("nan")
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
