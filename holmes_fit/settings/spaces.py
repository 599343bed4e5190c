"""What is searched when a model is fitted: its free parameters with their bounds, priors and lattices, and the rest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import Model
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.settings.distributions import Distribution


@dataclass(frozen=True)
class FreeParameter:
    """One axis of a search."""

    parameter: Parameter  # the parameter, with the bounds of this fit
    prior: Distribution  # what is likely before anything is seen; it is cut off at the bounds
    nodes: int  # the cells of the lattice along this axis

    @property
    def name(self) -> str:
        return self.parameter.name

    @cached_property
    def low(self) -> float:
        """The lower bound on the scale of search."""
        return float(self.parameter.to_scale(self.parameter.low))

    @cached_property
    def high(self) -> float:
        """The upper bound on the scale of search."""
        return float(self.parameter.to_scale(self.parameter.high))

    @cached_property
    def spacing(self) -> float:
        """The width of a cell on the scale of search, the same for all."""
        return (self.high - self.low) / self.nodes

    @cached_property
    def positions(self) -> NDArray[np.float64]:
        """The nodes on the scale of search: the centres of equal cells, so that sums over them are midpoint rules."""
        return self.low + (np.arange(self.nodes, dtype=np.float64) + 0.5) * self.spacing

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The nodes as natural values."""
        return self.to_natural(self.positions)

    def to_natural(self, position: ArrayLike) -> NDArray[np.float64]:
        """Map positions to natural values, which rounding never puts outside the bounds."""
        return np.clip(self.parameter.to_natural(position), self.parameter.low, self.parameter.high)

    def log_density(self, position: ArrayLike) -> NDArray[np.float64]:
        """Return the log prior density on the scale of search, which integrates to 1 between the bounds."""
        at = np.asarray(position, dtype=np.float64)
        bounds = self.parameter.low, self.parameter.high
        density = self.prior.log_density(self.to_natural(at), self.parameter.scale, *bounds)
        return np.where((self.low <= at) & (at <= self.high), density, -np.inf)

    @cached_property
    def log_weights(self) -> NDArray[np.float64]:
        """The log prior mass of each node: density times the width of a cell, made to sum to 1 over the nodes."""
        density = self.log_density(self.positions)
        return density - logsumexp(density)

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return natural values drawn from the prior between the bounds."""
        return self.prior.draw_between(self.parameter.low, self.parameter.high, rng, n)


@dataclass(frozen=True)
class Space:
    """The parameters of one model in a fit: every one is free, fixed, or tied to a free one."""

    model: Model  # the model
    learning: tuple[FreeParameter, ...]  # its free parameters. Every point in them costs a run of the filters
    response: tuple[FreeParameter, ...]  # the free parameters of the response rule, which are cheap given p-hat
    fixed: Mapping[str, float]  # values that are not fitted
    tied: Mapping[str, str]  # by name, the free parameter whose natural value another one shares
    answers: Response = CHOICES  # what people answer, and by which rule

    def __post_init__(self) -> None:
        for axes, parameters in ((self.learning, self.model.parameters), (self.response, self._of_response)):
            names = [parameter.name for parameter in parameters]
            free = [axis.name for axis in axes]
            own = [*free, *(name for given in (self.fixed, self.tied) for name in names if name in given)]
            if sorted(own) != sorted(names):
                raise ValueError(f"{self.model.name}: each of {names} must be free, fixed or tied, once; has {own}")
            strangers = [name for name in names if name in self.tied and self.tied[name] not in free]
            if strangers:
                raise ValueError(f"{self.model.name}: {strangers} must be tied to one of {free}")

    @property
    def free(self) -> tuple[FreeParameter, ...]:
        """All axes, those of learning first."""
        return self.learning + self.response

    @property
    def _of_response(self) -> tuple[Parameter, ...]:
        return self.answers.parameters_beside(self.model.predicts_choices)

    def model_values(self, free: Mapping[str, float]) -> dict[str, float]:
        """Return the natural values of all parameters of the model, given the free ones by name."""
        return self._complete(self.model.parameters, free)

    def response_values(self, free: Mapping[str, float]) -> dict[str, float]:
        """Return the natural values of all parameters of the response rule, as :meth:`model_values` does."""
        return self._complete(self._of_response, free)

    def values(self, free: Mapping[str, float]) -> dict[str, float]:
        """Return the natural values of all parameters, given the free ones by name."""
        return self.model_values(free) | self.response_values(free)

    def _complete(self, parameters: tuple[Parameter, ...], free: Mapping[str, float]) -> dict[str, float]:
        known = {**self.fixed, **free}
        return {parameter.name: float(known[self.tied.get(parameter.name, parameter.name)]) for parameter in parameters}


@dataclass(frozen=True)
class JointSpace(Space):
    """The parameters of one model in several conditions: those that vary have an axis for each, ``alpha[drug]``."""

    def __post_init__(self) -> None:
        """Nothing is fixed or tied here that the space of a condition has not checked."""


def joint_space(space: Space, vary: Collection[str], conditions: Sequence[str]) -> JointSpace:
    """Return the axes of all conditions together, in the order of the parameters."""
    learning, response = (
        tuple(
            replace(axis, parameter=replace(axis.parameter, name=named(axis.name, condition)))
            for axis in axes
            for condition in (conditions if axis.name in vary else ("",))
        )
        for axes in (space.learning, space.response)
    )
    return JointSpace(space.model, learning, response, {}, {}, space.answers)


def named(parameter: str, condition: str) -> str:
    """Return the name of a parameter in a condition; that of all conditions has no condition."""
    return f"{parameter}[{condition}]" if condition else parameter


def places(axes: Sequence[FreeParameter], vary: Collection[str], count: int) -> list[NDArray[np.intp]]:
    """Return, for each of so many conditions, which of the joint axes are its own."""
    widths = [count if axis.name in vary else 1 for axis in axes]
    first = np.cumsum([0, *widths])[:-1]
    return [first + np.where(np.array(widths) > 1, number, 0).astype(np.intp) for number in range(count)]
