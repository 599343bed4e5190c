"""Answers and what models expected, stimulus by stimulus, from the trials of a run and the cues that it keeps."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from holmes_fit.reporting.run_data import CohortData
from holmes_fit.trials.cohorts import Cohort, hits
from holmes_fit.trials.curves import CONDITION, column_division, places

ARROW = "→"  # between a stimulus and what follows it
KEYS = ["subject", "restart", "trial"]
ANSWER, HIT = ("choice", "p_choice"), ("hit", "p_hit")  # what people did, and what a model expected of it
BINS = 10  # of predicted probabilities


def answered(data: CohortData) -> pd.DataFrame:
    """Return a row for each model and each answer, with its stimulus; none where a folder does not hold the cues.

    ``stimulus`` is named by its cues, and ``outcome`` is what followed. ``exposure`` counts how often the learner has
    met it, this time included, ``tested`` how often of these without feedback, and ``new`` is whether none before had
    feedback. ``hit`` is whether the answer equals the outcome, and ``p_hit`` what the model expected of that.
    """
    if data.cohort is None or not data.has("trials_fitted"):
        return pd.DataFrame()
    fitted = data["trials_fitted"][[*KEYS, "model", "choice", "p_choice"]].dropna()
    table = fitted.merge(_met(data.cohort, str(data.identity.get("by") or CONDITION)), on=KEYS, how="inner")
    table[["choice", "p_choice"]] = table[["choice", "p_choice"]].astype(np.float64)
    for answer, hit in zip(ANSWER, HIT, strict=True):
        table[hit] = hits(table[answer], table["outcome"]).astype(np.float64)
    return table


def _met(cohort: Cohort, by: str) -> pd.DataFrame:
    """Return what each trial showed, and how often the learner had met it."""
    trials, (learner, position) = cohort.trials, places(cohort)
    division = column_division(cohort, by)
    table = trials[[*KEYS, "outcome"]].assign(
        stimulus=_named_stimuli(cohort),
        condition="" if division is None else np.array([*division.names, ""], dtype=object)[division.level],
        test=(~trials["feedback"].astype(bool)).to_numpy(dtype=np.int64),
        learner=learner,
    )
    if _is_counterbalanced(table):
        table["stimulus"] += f" {ARROW} " + table["outcome"].astype("str")
    table = table.iloc[np.lexsort((position, learner))]
    same = table.groupby(["learner", "stimulus"], sort=False)
    exposure, tested = same.cumcount() + 1, same["test"].cumsum()
    return table.assign(exposure=exposure, tested=tested, new=exposure - 1 == tested - table["test"])


def _named_stimuli(cohort: Cohort) -> NDArray[np.object_]:
    features = cohort.protocol.features
    joint = "" if all(feature.levels is None for feature in features.values()) else " "
    shown = cohort.trials[list(features)]
    distinct = shown.drop_duplicates()
    names = [joint.join(map(str, row)) for row in distinct.itertuples(index=False)]
    at = pd.MultiIndex.from_frame(distinct).get_indexer(pd.MultiIndex.from_frame(shown))
    return np.array(names, dtype=object)[at]


def _is_counterbalanced(table: pd.DataFrame) -> bool:
    """Return whether a stimulus has one outcome for a learner, but not the same one for all learners.

    What people answer to it, and what models expect, would otherwise cancel out.
    """
    known = table.dropna(subset=["outcome"])
    outcomes = known.groupby(["learner", "stimulus"], sort=False)["outcome"].agg(["min", "max", "size"])
    outcomes = outcomes[outcomes["size"] > 1]
    if not len(outcomes) or (outcomes["min"] != outcomes["max"]).any() or table["outcome"].isna().any():
        return False
    return bool((outcomes.groupby("stimulus")["min"].nunique() > 1).any())


def points(rows: pd.DataFrame, by: Sequence[str], what: tuple[str, str] = ANSWER) -> pd.DataFrame:
    """Return, for each model and each value of these columns, what people did and what the model expected.

    Both are means over people, of the same trials; ``lower`` and ``upper`` are Student's 95% interval of the first.
    """
    observed, expected = what
    keys = ["model", *by]
    people = rows.dropna(subset=[observed]).groupby([*keys, "subject"])
    each = people.agg(own=(observed, "mean"), expected=(expected, "mean"), n=(observed, "size"))
    found = each.groupby(keys).agg(
        n_people=("own", "size"),
        n_answers=("n", "sum"),
        observed=("own", "mean"),
        expected=("expected", "mean"),
        sd=("own", "std"),
    )
    n = found["n_people"].to_numpy(dtype=np.float64)
    sd = found.pop("sd")
    half = stdtrit(np.maximum(n - 1, 1), 0.975) * sd.where(sd > 0) / np.sqrt(n)  # where all are alike there is none
    found["lower"], found["upper"] = (found["observed"] - half).clip(lower=0), (found["observed"] + half).clip(upper=1)
    return found.reset_index()


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often people gave the answer 1 where a model gave it a probability in each tenth."""
    tenth = np.minimum((rows["p_choice"] * BINS).astype(np.int64), BINS - 1)
    return points(rows.assign(tenth=tenth), ["tenth"])


def root_mean_square(found: pd.DataFrame) -> float:
    """Return how far what models expected is from what people did, over these points."""
    return float(np.sqrt(((found["observed"] - found["expected"]) ** 2).mean()))
