"""What the filters of one person predict, and which of them are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.registry import Model, Observer
from holmes_fit.models.tracing import learner_key
from holmes_fit.trials.cohorts import Learner


class Replicates(NamedTuple):
    """Which of a learner's replicate filters are meant: ``number`` of them from ``first`` on."""

    number: int
    first: int = 0


class Traces(NamedTuple):
    """What the filters of one person predict, learner by learner: p-hat (replicates x trials), and the answers."""

    p_hat: tuple[NDArray[np.float64], ...]
    choices: tuple[NDArray[np.int8] | NDArray[np.float64], ...]

    def batches(self, count: int) -> list[Traces]:
        """Deal the replicates out in order, an equal number to every batch."""
        split = [np.split(p_hat, count) for p_hat in self.p_hat]
        return [Traces(p_hat, self.choices) for p_hat in zip(*split, strict=True)]


def traces_of(
    model: Model,
    learners: Sequence[Learner],
    values: Mapping[str, float],
    observer: Observer,
    seed: int,
    replicates: Replicates,
) -> Traces:
    """Filter a person's trials. Points with the same seed and replicates see the same luck: common random numbers."""
    p_hat = [
        model.p_hat(each.observations, values, observer, learner_key(each, seed), replicates.number, replicates.first)
        for each in learners
    ]
    return Traces(tuple(p_hat), tuple(each.choices for each in learners))
