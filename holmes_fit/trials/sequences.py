"""All trials as arrays in the order in which they were seen, with what each person could know before each of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.trials.cohorts import Cohort, Learner
from holmes_fit.trials.observations import MISSED

UNKNOWN = -1  # an outcome that the file does not tell


@dataclass(frozen=True)
class Sequences:
    """One entry a trial, learner after learner, each in the order of its trials."""

    cohort: Cohort
    rows: NDArray[np.intp]  # the row of the cohort's table
    learner: NDArray[np.int64]
    person: NDArray[np.int64]
    choice: NDArray[np.int8]  # 0, 1 or MISSED; of answers on a scale, the end that they are nearer to
    outcome: NDArray[np.int8]  # 0, 1 or UNKNOWN
    feedback: NDArray[np.bool_]

    @property
    def people(self) -> list[str]:
        """The names that belong to the numbers of people."""
        return list(dict.fromkeys(learner.subject for learner in self.cohort.learners))

    @cached_property
    def scored(self) -> NDArray[np.bool_]:
        """Where there is an answer and an outcome to hold it against."""
        return (self.choice != MISSED) & (self.outcome != UNKNOWN)

    @cached_property
    def hit(self) -> NDArray[np.bool_]:
        return self.scored & (self.choice == self.outcome)

    @cached_property
    def position(self) -> NDArray[np.int64]:
        """The place of a trial within its learner, from 0."""
        starts = np.flatnonzero(np.diff(self.learner, prepend=-1))
        return np.arange(len(self.learner)) - starts[self.learner]

    @cached_property
    def length(self) -> NDArray[np.int64]:
        """The number of trials of each learner."""
        return np.bincount(self.learner)

    @cached_property
    def codes(self) -> dict[str, NDArray[np.int64]]:
        """For each feature the number of the value that was shown."""
        table = self.cohort.trials
        return {
            name: pd.factorize(table[name].to_numpy())[0][self.rows].astype(np.int64)
            for name in self.cohort.protocol.features
        }

    def pattern_of(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the number of the pattern that these features make."""
        pattern = np.zeros(len(self.rows), dtype=np.int64)
        for codes in (self.codes[name] for name in names):
            pattern = pd.factorize(pattern * (int(codes.max(initial=0)) + 1) + codes)[0].astype(np.int64)
        return pattern

    def earlier(self, pattern: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what a learner was shown with the same pattern before: the last time, and most often.

        1 or -1 for the outcomes 1 and 0; 0 where that is not known, or both were as frequent.
        """
        order = np.argsort(self.learner * (int(pattern.max(initial=0)) + 1) + pattern, kind="stable")
        was_shown = self.feedback & (self.outcome != UNKNOWN)
        sign = np.where(was_shown, 2 * self.outcome.astype(np.int64) - 1, 0)[order]
        begins = np.flatnonzero(
            (np.diff(self.learner[order], prepend=-1) != 0) | (np.diff(pattern[order], prepend=-1) != 0)
        )
        before = np.concatenate([[0], np.cumsum(sign)[:-1]])
        sizes = np.diff(begins, append=len(order))
        total = before - np.repeat(before[begins], sizes)
        last = np.concatenate([[0], sign[:-1]])
        last[begins] = 0
        both = np.empty((2, len(order)), dtype=np.int64)
        both[:, order] = last, np.sign(total)
        return both[0], both[1]


def sequences_of(cohort: Cohort) -> Sequences:
    """Return the trials of a cohort in the order in which they were seen."""
    learners = cohort.learners
    rows = np.concatenate([learner.rows for learner in learners])
    lengths = [len(learner.rows) for learner in learners]
    person = pd.factorize(np.array([learner.subject for learner in learners], dtype=object))[0]
    outcome = cohort.trials["outcome"].fillna(UNKNOWN).to_numpy(dtype=np.int8)[rows]
    return Sequences(
        cohort=cohort,
        rows=rows,
        learner=np.repeat(np.arange(len(learners)), lengths),
        person=np.repeat(person, lengths).astype(np.int64),
        choice=np.concatenate([_sides(learner) for learner in learners]),
        outcome=outcome,
        feedback=cohort.trials["feedback"].to_numpy(dtype=bool)[rows],
    )


def _sides(learner: Learner) -> NDArray[np.int8]:
    """Return choices; answers in the middle of a scale choose nothing."""
    choices = learner.choices
    if choices.dtype == np.int8:
        return choices.astype(np.int8)
    return np.select([choices > 0.5, choices < 0.5], [1, 0], MISSED).astype(np.int8)
