"""What one fit is about: a person, a model, and how its likelihood is computed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holmes_fit.likelihood.answers import AnswerLikelihood, Kind, Lent, likelihood_of
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import Observer
from holmes_fit.models.responses.contract import Rule
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.trials.cohorts import Learner

# Every use of the likelihood has replicates of its own, so that no point is judged by the luck that chose it.
SEARCH = 0  # all points of a search share these: common random numbers
SELECTION = 1 << 16  # for choosing between the best points that were found
SCORE = 1 << 17  # for the value that is reported
LATTICE = 1 << 20  # every node of the lattice has its own
A_NODE = 1 << 12


@dataclass(frozen=True)
class Task:
    """One person and one model."""

    learners: tuple[Learner, ...]  # all learners of the person
    space: Space  # the model, and what is free, fixed and tied
    observer: Observer = field(default_factory=Observer)  # how the likelihood is computed
    seed: int = 0
    kind: Kind = "marginal"
    # The condition of each learner, and the parameters of which each condition has its own; none if all are shared
    conditions: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        return sum(learner.observations.n_trials for learner in self.learners)

    @property
    def is_noisy(self) -> bool:
        """Whether the likelihood is an estimate. That of a model without particles is exact."""
        return self.space.model.uses_particles

    def traces(self, position: NDArray[np.float64], replicates: Replicates) -> Traces:
        """Filter the person's trials at a position of the learning parameters, on their scale of search."""
        values = self.space.model_values(natural(self.space.learning, position))
        return traces_of(self.space.model, self.learners, values, self.observer, self.seed, replicates)

    def likelihood(
        self, position: NDArray[np.float64], replicates: Replicates, lent: Lent | None = None
    ) -> AnswerLikelihood:
        """Return the likelihood at a position of the learning parameters, with what neighbouring nodes lend it."""
        return likelihood_of(self.traces(position, replicates), self.kind, lent, self.space.answers)

    def rule(self, position: NDArray[np.float64]) -> Rule:
        """Return how answers follow from p-hat at a position of the free response parameters, on their scales."""
        return self.space.answers.rule(self.space.response_values(natural(self.space.response, position)))


def natural(axes: Sequence[FreeParameter], position: NDArray[np.float64]) -> dict[str, float]:
    """Return the natural values at a position on the scales of search."""
    return {axis.name: float(axis.to_natural(at)) for axis, at in zip(axes, position, strict=True)}


def log_prior_mass(space: Space) -> NDArray[np.float64]:
    """Return the log prior mass of every node of the lattice."""
    total = np.zeros(())
    for axis in space.free:
        total = np.add.outer(total, axis.log_weights)
    return total
