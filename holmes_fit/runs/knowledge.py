"""What is known of a model's parameters: mass on the cells of a lattice, and what follows from it.

One distribution is meant, whether of one person, of one in a group, or of a prior: the mass of a cell lies evenly
between its edges on the scale of search. Draws, quantiles, probabilities and moments are all of that distribution, so
that the variance within the cells is a part of every SD, and SDs can be divided by each other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from holmes_fit.settings.spaces import FreeParameter

Floats = NDArray[np.float64]

INTERVAL = (0.025, 0.5, 0.975)
# Places within a cell, and their shares, by which smooth functions are averaged over it (Gauss and Legendre).
PLACES, SHARES = (np.asarray(each, dtype=np.float64) / 2 for each in np.polynomial.legendre.leggauss(5))


@dataclass(frozen=True)
class Marginal:
    """What is known of one parameter."""

    axis: FreeParameter
    mass: Floats  # of each cell, adding up to 1

    @classmethod
    def of_prior(cls, axis: FreeParameter) -> Marginal:
        """Return the fitting prior as the lattice has it."""
        return cls(axis, np.exp(axis.log_weights))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and SD on the scale of search."""
        return self._moments(self._within)

    @property
    def natural_moments(self) -> tuple[float, float]:
        """Mean and SD of the natural value."""
        return self._moments(self.axis.to_natural(self._within))

    def positions_at(self, probabilities: ArrayLike) -> Floats:
        """Return quantiles on the scale of search."""
        below = self._below
        return np.interp(np.asarray(probabilities), below / below[-1], self._edges)

    def quantiles(self, probabilities: ArrayLike) -> Floats:
        """Return quantiles on the natural scale."""
        return self.axis.to_natural(self.positions_at(probabilities))

    def below(self, position: ArrayLike) -> Floats:
        """Return the probability of a value below a position on the scale of search."""
        return np.interp(np.asarray(position), self._edges, self._below)

    def described(self) -> dict[str, float]:
        """Return the columns by which ``fits.csv`` and ``pooled.csv`` describe a parameter."""
        names = "mean", "sd", "lower", "median", "upper", "mean_on_scale", "sd_on_scale"
        values = *self.natural_moments, *self.quantiles(INTERVAL).tolist(), *self.moments
        return dict(zip(names, values, strict=True))

    @property
    def _edges(self) -> Floats:
        return self.axis.low + self.axis.spacing * np.arange(self.axis.nodes + 1, dtype=np.float64)

    @property
    def _below(self) -> Floats:
        return np.append(0.0, np.cumsum(self.mass))

    @property
    def _within(self) -> Floats:
        """Cells x places within them, on the scale of search."""
        return self.axis.positions[:, None] + self.axis.spacing * PLACES

    def _moments(self, values: Floats) -> tuple[float, float]:
        mean = float(self.mass @ (values @ SHARES))
        return mean, float(np.sqrt(self.mass @ ((values - mean) ** 2 @ SHARES)))


@dataclass(frozen=True)
class Knowledge:
    """What is known of all free parameters jointly."""

    axes: tuple[FreeParameter, ...]  # in the order of the lattice's axes
    mass: Floats  # of each cell, adding up to 1

    def marginal(self, axis: int) -> Marginal:
        """Return what is known of one parameter."""
        return Marginal(self.axes[axis], self.mass.sum(axis=tuple(i for i in range(self.mass.ndim) if i != axis)))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return draws x parameters, natural values: a cell by its mass, then a place within it."""
        if not self.axes:
            return np.empty((n, 0))
        cells = np.unravel_index(rng.choice(self.mass.size, size=n, p=self.mass.ravel()), self.mass.shape)
        return within_cells(self.axes, np.column_stack(cells), rng)


@dataclass(frozen=True)
class JointKnowledge:
    """What is known of one person's parameters, of which some differ between conditions.

    Given those that are shared, conditions are independent, so that no lattice over the parameters of all is needed:
    ``p(data) = sum_s p(s) prod_c sum_v p(v) L_c(v, s)``, exact on the nodes.
    """

    axes: tuple[FreeParameter, ...]  # of the lattice of one condition
    varied: tuple[int, ...]  # the numbers of those that differ
    within: Floats  # conditions x varied nodes x shared nodes: mass of varied nodes given shared ones
    shared: Floats  # mass of shared nodes
    log_evidence: float

    @classmethod
    def of(
        cls, axes: tuple[FreeParameter, ...], varied: tuple[int, ...], log_likelihood: Sequence[Floats]
    ) -> JointKnowledge:
        """Return it under the fitting prior, from the log-likelihoods of the conditions at the nodes."""
        order = [*varied, *(number for number in range(len(axes)) if number not in varied)]
        prior, shared = _log_prior([axes[i] for i in varied]), _log_prior([axes[i] for i in order[len(varied) :]])
        joint = [np.transpose(each, order).reshape(len(prior), len(shared)) + prior[:, None] for each in log_likelihood]
        over_varied = [logsumexp(each, axis=0) for each in joint]
        total = np.sum(over_varied, axis=0) + shared
        within = np.stack([np.exp(each - over) for each, over in zip(joint, over_varied, strict=True)])
        log_evidence = float(logsumexp(total))
        return cls(axes, varied, within, np.exp(total - log_evidence), log_evidence)

    def condition(self, number: int) -> Knowledge:
        """Return what is known of the parameters of one condition, those that are shared included."""
        order = [*self.varied, *(axis for axis in range(len(self.axes)) if axis not in self.varied)]
        mass = (self.within[number] * self.shared).reshape([self.axes[axis].nodes for axis in order])
        return Knowledge(self.axes, np.transpose(mass, np.argsort(order)))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return draws x parameters, natural values: for each axis that of all, or one for each condition."""
        if not self.axes:
            return np.empty((n, 0))
        chosen = rng.choice(len(self.shared), size=n, p=self.shared / self.shared.sum())
        below = np.cumsum(self.within[:, :, chosen], axis=1)  # conditions x varied nodes x draws
        cells = np.argmax(below > rng.random((len(below), 1, n)) * below[:, -1:], axis=1)
        shared = [axis for axis in range(len(self.axes)) if axis not in self.varied]
        at = self._by_axis(shared, chosen)
        of_conditions = [self._by_axis(self.varied, own) for own in cells]
        columns = [
            (axis, own[number])
            for number, axis in enumerate(self.axes)
            for own in ([at] if number in at else of_conditions)
        ]
        return within_cells(tuple(axis for axis, _ in columns), np.column_stack([own for _, own in columns]), rng)

    def _by_axis(self, numbers: Sequence[int], nodes: NDArray[np.intp]) -> dict[int, NDArray[np.intp]]:
        """Return the places along some axes of nodes that are numbered over all combinations of them."""
        shape = [self.axes[number].nodes for number in numbers]
        return dict(zip(numbers, np.unravel_index(nodes, shape), strict=True)) if shape else {}


def _log_prior(axes: Sequence[FreeParameter]) -> Floats:
    total = np.zeros(1)
    for axis in axes:
        total = np.add.outer(total, axis.log_weights).ravel()
    return total


def within_cells(axes: tuple[FreeParameter, ...], cells: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Return a natural value from within each of some cells: draws x parameters, as ``cells`` are."""
    columns = [
        axis.to_natural(axis.positions[own] + axis.spacing * (rng.random(len(own)) - 0.5))
        for axis, own in zip(axes, cells.T, strict=True)
    ]
    return np.column_stack(columns)


def summary(draws: Floats) -> dict[str, Any]:
    """Return mean, SD, median and 95% interval of draws, as tables have them."""
    lower, median, upper = np.quantile(draws, INTERVAL)
    return {"mean": draws.mean(), "sd": draws.std(), "lower": lower, "median": median, "upper": upper}


@dataclass(frozen=True)
class PeopleDraws:
    """Draws of everyone's parameters under one model."""

    subjects: tuple[str, ...]
    parameters: tuple[str, ...]  # the free ones
    # People x draws x parameters, natural values. Draws of one number belong together: they are of people under one
    # draw of their group, if they have one.
    values: Floats

    def some(self, person: int, n: int) -> list[dict[str, float]]:
        """Return ``n`` draws of one person, evenly spaced, the same numbers for everyone; some twice if too few."""
        own = self.values[person]
        chosen = own[np.linspace(0, len(own) - 1, n).round().astype(np.intp)]
        return [dict(zip(self.parameters, draw, strict=True)) for draw in chosen.tolist()]

    def without(self, leave_out: Collection[str]) -> PeopleDraws:
        """Return the draws of the others."""
        kept = [number for number, subject in enumerate(self.subjects) if subject not in leave_out]
        return PeopleDraws(tuple(self.subjects[number] for number in kept), self.parameters, self.values[kept])
