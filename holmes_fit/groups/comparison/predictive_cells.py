"""Which answers are scored together: parts of the learning sequence, blocks, phases and conditions."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holmes_fit.groups.comparison.answers import UNSCORED
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.curves import BLOCK, CONDITION, PHASE, Division, column_division, equal_parts
from holmes_fit.trials.observations import MISSED

BLOCKS = (BLOCK, PHASE)  # columns of the trial table that divide the time of a task

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


def make_cells(cohort: Cohort) -> Cells:
    """Divide the trials of a cohort.

    Always by parts of the learning sequence; by ``block``, ``phase`` and ``condition`` where the trial table has
    columns of these names with at least two values (and no more than 40). Where there are conditions, parts and blocks
    are taken within each as well.
    """
    parts = equal_parts(cohort)
    divisions = [parts, *(found for name in BLOCKS if (found := column_division(cohort, name)) is not None)]
    condition = column_division(cohort, CONDITION)
    conditions = [("", parts.level >= 0)]
    if condition is not None:
        conditions += [(name, condition.level == which) for which, name in enumerate(condition.names)]
    cells: list[Cell] = []
    of_trials = []
    for division in divisions:
        for name, inside in conditions:
            within = np.where(inside, division.level, -1)
            of_trials.append(_curve(cells, replace(division, level=within), name))
    if condition is not None:
        of_trials.append(_curve(cells, condition))
    return Cells(tuple(cells), np.array(of_trials))


def _curve(cells: list[Cell], division: Division, condition: str = "") -> NDArray[np.int64]:
    """Add the cells of one curve, and return the number of the cell of each trial."""
    first = len(cells)
    cells += [Cell(division.by, condition, at, name) for at, name in enumerate(division.names, start=1)]
    return np.where(division.level < 0, -1, division.level + first)


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
