"""What was read, in numbers: per cohort and group, per person, and as a learning curve."""

import numpy as np
import pandas as pd

from holmes_fit._support.errors import InputError, Problem, nearest
from holmes_fit.trials.cohorts import Cohort, hits
from holmes_fit.trials.curves import CURVE, PARTS, curve_points, time_division

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


def learning_curve(cohort: Cohort, by: str | None = None, bins: int = PARTS) -> pd.DataFrame:
    """Return the accuracy in successive blocks of the file, or else in equal parts, for each group.

    Columns are those of :func:`~holmes_fit.trials.curves.curve_points`, with the ``group``, and with the ``label`` of
    each point; ``by`` says what divides the trials, ``block`` or ``trial``.
    """
    by = _grouping(cohort, by)
    subjects = cohort.trials["subject"]
    group = subjects.map(cohort.subjects.set_index("subject")[by]) if by else pd.Series(EVERYONE, index=subjects.index)
    line, names = pd.factorize(group, sort=True)
    points = curve_points(cohort, time_division(cohort, bins), line.astype(np.int64))
    points["group"] = np.array(list(names), dtype=object)[points["line"].to_numpy(dtype=np.int64)]
    return points[list(CURVE)]


def _marks(trials: pd.DataFrame) -> pd.DataFrame:
    answered = trials["choice"].notna()
    return pd.DataFrame(
        {
            "trials": 1,
            "answered": answered.astype(np.int64),
            "missed": (~answered).astype(np.int64),
            "no_feedback": (~trials["feedback"]).astype(np.int64),
            "hit": hits(trials["choice"], trials["outcome"]),
        }
    )
