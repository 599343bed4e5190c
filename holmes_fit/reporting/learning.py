"""How people learned, from the trials of a run: curves with intervals, and with how many learners are left."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from holmes_fit.reporting.run_data import EVERYONE, MOST_GROUPS, CohortData
from holmes_fit.reporting.scores import half_interval
from holmes_fit.trials.cohorts import hits
from holmes_fit.trials.curves import BLOCK, PARTS, TRIAL, column_division, curve_columns, time_division

CURVE = ["group", "by", "label", "x", "n_learners", "n_people", "mean", "lower", "upper"]
KEYS = ["subject", "restart", "trial"]

# A task ends at a criterion where at least so many learners stop early, and nearly all of them have that share of
# their last answers right: of learners at chance 4 in a hundred do, of those who are right on 85%, 66.
FEWEST_EARLY, LAST, RIGHT, NEARLY_ALL = 3, 8, 7 / 8, 0.9


def learning_curve(data: CohortData) -> pd.DataFrame:
    """Return the accuracy over the file's own blocks, or else equal parts, for each group, with 95% intervals.

    Means are over people, and intervals are Student's. ``x`` is where a point stands: the middle of its trials, or the
    number of its block.
    """
    scored = _scored(data)
    groups = data.groups or (EVERYONE,)
    return _curves(scored, {name: scored if name == EVERYONE else scored[scored["group"] == name] for name in groups})


def person_curve(data: CohortData, subject: str) -> pd.DataFrame:
    """Return the accuracy of one person beside that of everyone, with intervals over people for the latter alone."""
    scored = _scored(data)
    curve = _curves(scored, {EVERYONE: scored, subject: scored[scored["subject"] == subject]})
    own = curve["group"] == subject
    return curve.assign(lower=curve["lower"].mask(own), upper=curve["upper"].mask(own))


def curves_within(data: CohortData) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the curves of conditions and phases, and of each value of the columns that the protocol names for it."""
    scored = _scored(data)
    for name in curve_columns(data.cohort.protocol) if data.cohort is not None else ():
        division = column_division(data.cohort, name) if data.cohort is not None else None
        if division is not None and len(scored) and len(division.names) <= MOST_GROUPS:
            levels = enumerate(division.names)
            yield name, _curves(scored, {level: scored[scored[f"of {name}"] == place] for place, level in levels})


def change(data: CohortData) -> tuple[float, float, int, int] | None:
    """Return the accuracy at the first and the last point of those learners who came to the last, and how many did.

    Where a criterion ends a task, those who are left at the end are those who needed longer: all others are left out
    of both numbers.
    """
    scored = _scored(data)
    if not len(scored):
        return None
    learner = pd.MultiIndex.from_frame(scored[KEYS[:2]])
    at_end = learner[(scored["point"] == scored["point"].max()).to_numpy()].unique()
    own = scored[learner.isin(at_end)]
    hits = own.groupby(["point", "subject"])["hit"].mean().groupby("point").mean()
    return float(hits.iloc[0]), float(hits.iloc[-1]), len(at_end), learner.nunique()


def to_criterion(data: CohortData) -> pd.DataFrame:
    """Return a row for each learner of a task that ends at a criterion; no rows where it does not look like one.

    It does where learners stop at different trials, and nearly all of those who stop early are right just before. They
    have then ``reached`` it, with so many ``trials`` and such an ``accuracy`` up to there.
    """
    scored = _scored(data)
    if not len(scored):
        return pd.DataFrame()
    learners = scored.groupby(KEYS[:2], sort=False)["hit"].agg(
        accuracy="mean", first=lambda hit: hit.head(LAST).mean(), last=lambda hit: hit.tail(LAST).mean()
    )
    learners["trials"] = data.trials.groupby(KEYS[:2], sort=False).size()
    learners["reached"] = learners["trials"] < learners["trials"].max()
    early = learners[learners["reached"]]
    is_one = len(early) >= FEWEST_EARLY and (early["last"] >= RIGHT).mean() >= NEARLY_ALL
    return learners.reset_index() if is_one and (early["last"] > early["first"]).mean() > 0.5 else pd.DataFrame()


def _scored(data: CohortData) -> pd.DataFrame:
    """Return the answers that can be scored, each with its point and with its level of each division."""
    trials = data.trials
    if data.cohort is not None and len(trials):
        time = time_division(data.cohort)
        own = data.cohort.trials[KEYS].assign(point=time.level, by=time.by)
        own["label"] = np.array(time.names, dtype=object)[time.level]
        for name in curve_columns(data.cohort.protocol):
            division = column_division(data.cohort, name)
            own[f"of {name}"] = -1 if division is None else division.level
        trials = trials.merge(own, on=KEYS, how="left")
    else:  # tables that were put together by hand
        last = trials["position"].max() if len(trials) else 1
        edges = np.unique(np.linspace(0, last, PARTS + 1).round().astype(np.int64))
        point = np.searchsorted(edges, trials["position"].to_numpy(dtype=np.int64)) - 1
        trials = trials.assign(point=point, by=TRIAL, label=[f"{edges[at] + 1}-{edges[at + 1]}" for at in point])
    middle = trials.groupby("point")["position"].agg(lambda of: (of.min() + of.max()) / 2)
    x = trials["point"].map(middle) if (trials["by"] != BLOCK).all() else trials["point"] + 1
    scored = trials.assign(x=x).dropna(subset=["choice", "outcome", "point"])
    return scored.assign(hit=hits(scored["choice"], scored["outcome"]).astype(np.float64))


def _curves(scored: pd.DataFrame, lines: dict[str, pd.DataFrame]) -> pd.DataFrame:
    rows = []
    for name, own in lines.items():
        for _, at in own.groupby("point"):
            values = at.groupby("subject")["hit"].mean()
            mean, half = float(values.mean()), half_interval(values)
            learners = len(at[KEYS[:2]].drop_duplicates())
            place = at[["by", "label", "x"]].iloc[0]
            rows.append([name, *place, learners, len(values), mean, max(0.0, mean - half), min(1.0, mean + half)])
    return pd.DataFrame(rows, columns=CURVE)
