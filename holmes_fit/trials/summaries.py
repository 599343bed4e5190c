"""What was read, in numbers: per cohort and group, per person, and as a learning curve."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, nearest
from holmes_fit.trials.cohorts import Cohort

EVERYONE = "everyone"
MOST_GROUPS = 10  # a covariate with more values than that is no grouping


def default_group(cohort: Cohort) -> str | None:
    """Return the first covariate that divides the people into a few named groups, if there is one."""
    for name in cohort.subjects.columns.drop("subject"):
        values = cohort.subjects[name]
        if not pd.api.types.is_numeric_dtype(values) and 2 <= values.nunique() <= MOST_GROUPS:
            return str(name)
    return None


def _grouping(cohort: Cohort, by: str | None) -> str | None:
    names = list(cohort.subjects.columns.drop("subject"))
    if by is not None and by not in names:
        allowed = f"a covariate: {', '.join(names) or 'there are none'}"
        raise InputError([Problem("argument by", repr(by), allowed, nearest(by, names))])
    return default_group(cohort) if by is None else by


def subject_summary(cohort: Cohort) -> pd.DataFrame:
    """Return one row a person: learners, trials, answers, missed answers, trials without feedback, accuracy."""
    trials = cohort.trials
    marks = _marks(trials).assign(subject=trials["subject"])
    people = marks.groupby("subject", sort=False)[["trials", "answered", "missed", "no_feedback"]].sum()
    people.insert(0, "learners", trials.groupby("subject", sort=False)["restart"].nunique())
    people["accuracy"] = marks.groupby("subject", sort=False)["hit"].mean().astype("float64")
    return cohort.subjects.merge(people.reset_index(), on="subject", how="left", suffixes=("_given", ""))


def cohort_summary(cohort: Cohort, by: str | None = None) -> pd.DataFrame:
    """Return the same sums for everyone and for each group."""
    people = subject_summary(cohort).assign(subjects=1)
    counts = ["subjects", "learners", "trials", "answered", "missed", "no_feedback"]
    by = _grouping(cohort, by)
    rows = {EVERYONE: people}
    if by is not None:
        rows |= {str(name): group for name, group in people.groupby(cohort.subjects[by])}
    table = pd.DataFrame({name: group[counts].sum() for name, group in rows.items()}).T
    table["accuracy"] = [group["accuracy"].mean() for group in rows.values()]
    return table.rename_axis("group").reset_index()


def learning_curve(cohort: Cohort, by: str | None = None, bins: int = 8) -> pd.DataFrame:
    """Return the accuracy in successive parts of the learning sequence, for each group.

    ``first`` and ``last`` trial are counted from 1 within a learner; ``accuracy`` is the share of the ``answers`` that
    can be scored and equal the outcome.
    """
    trials = cohort.trials
    part, edges = sequence_parts(cohort, bins)
    by = _grouping(cohort, by)
    group = trials["subject"].map(cohort.subjects.set_index("subject")[by]) if by else EVERYONE
    marks = _marks(trials).assign(part=part, group=group)
    curve = marks.groupby(["group", "part"])["hit"].agg(answers="count", accuracy="mean").reset_index()
    curve["first"], curve["last"] = edges[curve["part"]] + 1, edges[curve["part"] + 1]
    return curve.astype({"accuracy": "float64"})[["group", "first", "last", "answers", "accuracy"]]


def sequence_parts(cohort: Cohort, bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide learning sequences into successive parts of equal length; the longest has all of them.

    The part of each trial counts from 0; the edges are where parts begin within a learner, and the end of the last.
    """
    position = np.empty(len(cohort.trials), dtype=np.int64)
    for learner in cohort.learners:
        position[learner.rows] = np.arange(len(learner.rows))
    edges = np.unique(np.linspace(0, position.max() + 1, bins + 1).round().astype(np.int64))
    return np.searchsorted(edges, position, side="right") - 1, edges


def _marks(trials: pd.DataFrame) -> pd.DataFrame:
    answered = trials["choice"].notna()
    return pd.DataFrame(
        {
            "trials": 1,
            "answered": answered.astype(np.int64),
            "missed": (~answered).astype(np.int64),
            "no_feedback": (~trials["feedback"]).astype(np.int64),
            "hit": (trials["choice"] == trials["outcome"]).astype("Float64"),
        }
    )
