"""What people did, from the trials of a run: scores of each person, and intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from holmes_fit.reporting.run_data import EVERYONE, CohortData


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


def half_interval(values: pd.Series) -> float:
    """Return half of Student's 95% interval of a mean; nothing for a single value."""
    if len(values) < 2:
        return float("nan")
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
