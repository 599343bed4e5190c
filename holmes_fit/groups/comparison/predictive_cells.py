"""Which answers are scored together: parts of the learning sequence, blocks, phases and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.groups.comparison.answers import UNSCORED
from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.cohorts import MISSED, Cohort
from holmes_fit.trials.summaries import sequence_parts

PARTS = 8  # of the learning sequence, as in learning curves elsewhere
TRIAL, CONDITION = "trial", "condition"
BLOCKS = ("block", "phase")  # columns of the trial table that divide the time of a task
MOST_LEVELS = 40  # a column with more values than that is no division of a task

CORRECT, CHOICE, NO_FEEDBACK = "correct", "choice", "no_feedback_correct"
MEASURES = (CORRECT, CHOICE, NO_FEEDBACK)


@dataclass(frozen=True)
class Cell:
    """Answers that are scored together."""

    by: str  # what divides the answers: ``"trial"``, ``"block"``, ``"phase"`` or ``"condition"``
    condition: str  # the condition that the answers are from; empty for all of them
    bin: int  # the number of the cell along ``by``, from 1, and its name
    label: str


@dataclass(frozen=True)
class Cells:
    """All cells of a cohort."""

    cells: tuple[Cell, ...]  # the cells, those of a curve one after another
    of_trials: NDArray[np.int64]  # curves x trials of the cohort's table: the number of the cell, or -1

    def of(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return cells x some of the trials: 1 where the trial lies in the cell."""
        numbers = np.arange(len(self.cells))[:, None]
        return np.sum([numbers == curve[rows] for curve in self.of_trials], axis=0, dtype=np.float64)


@dataclass(frozen=True)
class _Division:
    """A division of all trials: a level for each trial, -1 for none, and the names of the levels."""

    level: NDArray[np.int64]
    names: tuple[str, ...]


def make_cells(cohort: Cohort) -> Cells:
    """Divide the trials of a cohort.

    Always by parts of the learning sequence; by ``block``, ``phase`` and ``condition`` where the trial table has
    columns of these names with at least two values (and no more than 40). Where there are conditions, parts and blocks
    are taken within each as well.
    """
    part, edges = sequence_parts(cohort, PARTS)
    labels = [f"{first + 1}-{end}" for first, end in pairwise(edges.tolist())]
    divisions = {TRIAL: _Division(part, tuple(labels))}
    divisions |= {name: found for name in BLOCKS if (found := _column(cohort, name)) is not None}
    condition = _column(cohort, CONDITION)
    conditions = [("", part >= 0)]
    if condition is not None:
        conditions += [(name, condition.level == which) for which, name in enumerate(condition.names)]
    cells: list[Cell] = []
    of_trials = []
    for by, division in divisions.items():
        for name, inside in conditions:
            within = np.where(inside, division.level, -1)
            of_trials.append(_curve(cells, by, _Division(within, division.names), name))
    if condition is not None:
        of_trials.append(_curve(cells, CONDITION, condition))
    return Cells(tuple(cells), np.array(of_trials))


def _curve(cells: list[Cell], by: str, division: _Division, condition: str = "") -> NDArray[np.int64]:
    """Add the cells of one curve, and return the number of the cell of each trial."""
    first = len(cells)
    cells += [Cell(by, condition, at, name) for at, name in enumerate(division.names, start=1)]
    return np.where(division.level < 0, -1, division.level + first)


def _column(cohort: Cohort, name: str) -> _Division | None:
    """Divide by a column: numbers in their order, words in the order of the sequence and then of the alphabet."""
    if name not in cohort.trials:
        return None
    texts = cohort.trials[name].astype("object").map(lambda cell: "" if pd.isna(cell) else str(cell))
    texts = texts.map(lambda text: "" if is_nothing(text) else text.strip())
    position = np.empty(len(texts), dtype=np.int64)
    for learner in cohort.learners:
        position[learner.rows] = np.arange(len(learner.rows))
    earliest = pd.Series(position).groupby(texts.to_numpy()).min().drop("", errors="ignore")
    if not 2 <= len(earliest) <= MOST_LEVELS:
        return None
    numbers = {str(text): number(str(text)) for text in earliest.index}
    if all(value is not None for value in numbers.values()):
        names = sorted(numbers, key=lambda text: (numbers[text], text))
    else:
        names = sorted(numbers, key=lambda text: (earliest[text], text))
    return _Division(pd.Index(names).get_indexer(pd.Index(texts)).astype(np.int64), tuple(names))


def targets(cohort: Cohort) -> NDArray[np.int8]:
    """Return measures x trials: the answer that counts, or -1 where there is nothing to score.

    Trials without feedback are scored where the table tells their outcome all the same; where it does not, they are
    part of ``choice`` alone.
    """
    trials = cohort.trials
    answered = trials["choice"].notna().to_numpy(dtype=bool)
    outcome = trials["outcome"].fillna(MISSED).to_numpy(dtype=np.int8)
    feedback = trials["feedback"].to_numpy(dtype=bool)
    correct = np.where(answered, outcome, UNSCORED)
    choice = np.where(answered, 1, UNSCORED)
    return np.stack([correct, choice, np.where(feedback, UNSCORED, correct)]).astype(np.int8)
