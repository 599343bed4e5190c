"""Learning curves: by the file's own blocks where it has them, else by equal parts, with how many learners are left."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.cohorts import Cohort, hits
from holmes_fit.trials.protocols.schema import Protocol

TRIAL, BLOCK, PHASE, CONDITION = "trial", "block", "phase", "condition"
PARTS = 8  # of a learning sequence without blocks
MOST_LEVELS = 40  # a column with more values than that is no division of a task


@dataclass(frozen=True)
class Division:
    """A division of all trials."""

    by: str  # the column that divides them, or ``"trial"``: equal parts of the learning sequence
    level: NDArray[np.int64]  # the number of the level for each trial, -1 for none
    names: tuple[str, ...]  # the names of the levels


def places(cohort: Cohort) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each trial the number of its learner, and its position within the learner, both from 0."""
    learner = np.empty(len(cohort.trials), dtype=np.int64)
    position = np.empty(len(cohort.trials), dtype=np.int64)
    for place, each in enumerate(cohort.learners):
        learner[each.rows] = place
        position[each.rows] = np.arange(len(each.rows))
    return learner, position


def equal_parts(cohort: Cohort, bins: int = PARTS) -> Division:
    """Divide learning sequences into successive parts of equal length, named by their trials; the longest has all."""
    position = places(cohort)[1]
    edges = np.unique(np.linspace(0, position.max() + 1, bins + 1).round().astype(np.int64))
    labels = tuple(f"{first + 1}-{end}" if first + 1 < end else f"{end}" for first, end in pairwise(edges.tolist()))
    return Division(TRIAL, np.searchsorted(edges, position, side="right") - 1, labels)


def column_division(cohort: Cohort, name: str) -> Division | None:
    """Divide by a column: numbers in their order, words in the order of the sequence and then of the alphabet.

    A column of one value, or of more than 40, divides nothing.
    """
    if name not in cohort.trials:
        return None
    codes, values = pd.factorize(cohort.trials[name].astype("object"), use_na_sentinel=True)
    stripped = ["" if is_nothing(str(value)) else str(value).strip() for value in values]
    texts = np.array([*stripped, ""], dtype=object)[codes]
    earliest = pd.Series(places(cohort)[1]).groupby(texts).min().drop("", errors="ignore")
    if not 2 <= len(earliest) <= MOST_LEVELS:
        return None
    numbers = {str(text): number(str(text)) for text in earliest.index}
    if all(value is not None for value in numbers.values()):
        names = sorted(numbers, key=lambda text: (numbers[text], text))
    else:
        names = sorted(numbers, key=lambda text: (earliest[text], text))
    return Division(name, pd.Index(names).get_indexer(pd.Index(texts)).astype(np.int64), tuple(names))


def time_division(cohort: Cohort, bins: int = PARTS) -> Division:
    """Divide by the file's own blocks, if learners go through them one after another; else into equal parts."""
    blocks = column_division(cohort, BLOCK)
    if blocks is None:
        return equal_parts(cohort, bins)
    learner, position = places(cohort)
    order = np.lexsort((position, learner))
    goes_back = (np.diff(blocks.level[order]) < 0) & (np.diff(learner[order]) == 0)
    is_time = (blocks.level >= 0).all() and not goes_back.any()
    return blocks if is_time else equal_parts(cohort, bins)


def curve_points(cohort: Cohort, time: Division, lines: NDArray[np.int64]) -> pd.DataFrame:
    """Return the points of learning curves, one curve for each number in ``lines`` (-1: in none).

    ``first`` and ``last`` trial are counted from 1 within a learner; ``learners`` is how many have answers there;
    ``accuracy`` is the share of the ``answers`` that can be scored and equal the outcome.
    """
    learner, position = places(cohort)
    trials = cohort.trials
    scored = (trials["choice"].notna() & trials["outcome"].notna()).to_numpy(dtype=bool) & (lines >= 0)
    span = pd.DataFrame({"point": time.level, "position": position}).groupby("point")["position"].agg(["min", "max"])
    hit = hits(trials["choice"], trials["outcome"]).to_numpy(dtype=np.float64, na_value=np.nan)
    marks = pd.DataFrame({"line": lines, "point": time.level, "learner": learner, "hit": hit})[scored]
    points = marks.groupby(["line", "point"]).agg(
        learners=("learner", "nunique"), answers=("hit", "size"), accuracy=("hit", "mean")
    )
    points = points.reset_index()
    at = points["point"].to_numpy(dtype=np.int64)
    points["by"], points["label"] = time.by, np.array(time.names, dtype=object)[at]
    points["first"], points["last"] = (span[end].reindex(at).to_numpy() + 1 for end in ("min", "max"))
    return points


def curve_columns(protocol: Protocol) -> tuple[str, ...]:
    """Return the columns of the tidy table whose values have curves of their own, where there are such columns."""
    return tuple(dict.fromkeys((CONDITION, PHASE, *map(protocol.tidy_name, protocol.columns.curves))))


def curves_within(cohort: Cohort) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the curves of each condition and phase, and of each value of the columns that the protocol names."""
    time = time_division(cohort)
    for name in curve_columns(cohort.protocol):
        division = column_division(cohort, name)
        if division is not None:
            points = curve_points(cohort, time, division.level)
            points["group"] = np.array(division.names, dtype=object)[points["line"].to_numpy(dtype=np.int64)]
            yield name, points[list(CURVE)]


CURVE = ("group", "by", "label", "first", "last", "learners", "answers", "accuracy")
