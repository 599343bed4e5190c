"""What a response is: how answers follow from p-hat, and how likely they are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holmes_fit.models.parameters import Parameter

if TYPE_CHECKING:
    from holmes_fit.trials.protocols.schema import Scale

PROBIT = np.pi / 8  # see :func:`flattened`

Rule = tuple[float, ...]  # a value for each parameter of a response, then its constants
Array = NDArray[np.float64]


class Response(ABC):
    """A kind of answer. Nothing else needs to be written for it to be simulated, fitted, pooled and compared.

    What is called ``compiled`` here are plain functions of numbers which numba can compile: the likelihood compiles
    its own loops around them, once for each response. Their ``rule`` is an array of values.
    """

    name: ClassVar[str]  # as in protocols and commands
    # The first says how closely answers follow predictions. Integrals over traces are approached from where they hardly
    # do, as there is one highest point only: from these shares (or multiples) of it
    parameters: ClassVar[tuple[Parameter, ...]]
    approach: ClassVar[tuple[float, ...]] = (0.125, 0.25, 0.5)
    # By parameter, at how many points a log-likelihood must be known to be interpolated
    knots: ClassVar[Mapping[str, int]]
    # Into how many parts a cell of the lattice may be divided where the likelihood is narrower than it is
    parts: ClassVar[int] = 16
    # Values with which p-hat is the expected answer itself. Models that predict answers have no parameters of these
    # names, only the others
    neutral: ClassVar[Mapping[str, float]]

    # Compiled: the log density of an answer, and its first and second derivative in the log odds of p-hat, of
    # (answer, log odds, rule)
    log_density: ClassVar[Callable[..., Any]]
    # Compiled: the same where log odds are known up to a normal residual, of (answer, log odds, variance, rule); and
    # the log-likelihood of each replicate on a whole grid, of (replicates x trials of log odds, answers, *values of
    # each parameter). Only if there is a better way than the one that all responses have
    over_residual: ClassVar[Callable[..., Any] | None] = None
    on_grid: ClassVar[Callable[..., Any] | None] = None
    helpers: ClassVar[tuple[Callable[..., Any], ...]] = ()  # compiled: what those call

    @classmethod
    def of(cls, scale: "Scale") -> "Response":
        """Return the response that a protocol describes."""
        return cls()

    @property
    def constants(self) -> tuple[float, ...]:
        """What a rule holds beside the values of the parameters."""
        return ()

    @classmethod
    def parameters_beside(cls, predicts_answers: bool) -> tuple[Parameter, ...]:
        """Return the parameters of responding that a model has; fewer if it predicts the answers themselves."""
        return tuple(each for each in cls.parameters if not predicts_answers or each.name not in cls.neutral)

    def rule(self, values: Mapping[str, Any]) -> Rule:
        """Return the rule with these values by name, neutral where there are none."""
        known = {**self.neutral, **values}
        return (*(known[each.name] for each in self.parameters), *self.constants)

    @abstractmethod
    def coded(self, answers: NDArray[Any]) -> Array:
        """Return answers as compiled functions see them, NaN where they were missed."""

    @abstractmethod
    def mean(self, log_odds: ArrayLike, rule: Rule, variance: ArrayLike = 0.0) -> Array:
        """Return the expected answer; log odds have a normal residual of this variance. All arguments broadcast."""

    @abstractmethod
    def draw(self, p_hat: Array, rule: Rule, rng: np.random.Generator) -> NDArray[Any]:
        """Return an answer to each prediction. Values of the rule may be arrays, which are broadcast."""

    @abstractmethod
    def log_chance(self, answers: NDArray[Any]) -> float:
        """Return how likely these answers are where nothing is known, none of them missed."""

    @abstractmethod
    def hit_rate(self, answers: NDArray[Any], expected: Array) -> float:
        """Return how near expected answers come to those that were given: 1 if they are the same."""


def flattened(slope: ArrayLike, variance: ArrayLike) -> Array:
    """Return by how much a logistic function with this slope is flatter on average over a normal residual.

    Its mean is nearly a logistic function with a smaller slope (MacKay, 1992, "The evidence framework applied to
    classification networks", Eq. 10).
    """
    return np.sqrt(1 + PROBIT * np.asarray(slope) ** 2 * np.asarray(variance))
