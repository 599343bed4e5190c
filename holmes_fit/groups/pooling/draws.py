"""Draws of a group's parameters, and people under them, on the lattice as it was fitted.

A person's likelihood under a group is the sum over nodes of likelihood times
the group's density restricted to the lattice; the density is a product over parameters, so the sum is two matrix
products, for all draws at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from holmes_fit.groups.pooling.lattices import CoarseAxis, Lattices, MergedAxis, MergedLattices, SetLattices
from holmes_fit.runs.workers.processes import one_thread
from holmes_fit.settings.spaces import FreeParameter

TINY = float(np.finfo(np.float64).tiny)

Weights = list[NDArray[np.float64]]


@dataclass(frozen=True)
class GroupDraws:
    """Draws of a group."""

    # Draws x parameters, on the scale of search. With covariates, the mean of someone for whom all columns of the
    # design are 0.
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    # By the number of the parameter, draws x columns of its design
    effects: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.mean)

    def mean_at(self, axis: int, row: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the mean of a parameter for people with one row of its design, a value a draw."""
        return self.mean[:, axis] if row is None else self.mean[:, axis] + self.effects[axis] @ row

    def thinned(self, n: int) -> GroupDraws:
        """Return about ``n`` of the draws, evenly spaced."""
        return self.chosen(np.unique(np.linspace(0, len(self) - 1, n).round().astype(np.intp)))

    def chosen(self, which: NDArray[np.intp]) -> GroupDraws:
        effects = {axis: values[which] for axis, values in self.effects.items()}
        return GroupDraws(self.mean[which], self.spread[which], effects)


def node_weights(
    positions: NDArray[np.float64], mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return draws x nodes: a normal density at the nodes, made to sum to 1 over them."""
    distance = (positions - mean[:, None]) / spread[:, None]
    return softmax(-0.5 * distance**2, axis=1)


def population_median(
    axis: FreeParameter, mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the median of the people of each draw of a group, a natural value.

    People are normally distributed between the bounds of the lattice, and near a bound the median of those who are
    left is not where the normal density has its mean. Mass is spread evenly within cells.
    """
    below = np.cumsum(node_weights(axis.positions, mean, spread), axis=1)
    cell = np.argmax(below >= 0.5, axis=1)
    draw = np.arange(len(below))
    before = np.where(cell > 0, below[draw, cell - 1], 0.0)
    within = (0.5 - before) / (below[draw, cell] - before)
    return axis.to_natural(axis.low + (cell + within) * axis.spacing)


def merged_weights(axis: MergedAxis, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same in merged cells, as NUTS sees it (see ``MergedAxis``): the plain twin of what is compiled."""
    weights = node_weights(axis.axis.positions, mean, np.sqrt(spread**2 - axis.lost_variance))
    return np.add.reduceat(weights, np.arange(0, axis.axis.nodes, axis.together), axis=1)


def axis_weights(
    axis: FreeParameter | MergedAxis | CoarseAxis, mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return draws x nodes, or merged cells: a normal density, made to sum to 1 over them."""
    if isinstance(axis, MergedAxis):
        return merged_weights(axis, mean, spread)
    return node_weights(axis.positions, mean, spread)


Designs = Mapping[int, NDArray[np.float64]]  # by the number of the parameter, people x columns


class People:
    """Everyone on a lattice under draws of their group."""

    def __init__(
        self, lattices: Lattices | MergedLattices | SetLattices, draws: GroupDraws, designs: Designs | None = None
    ):
        self.lattices = lattices
        self.draws = draws
        self.designs = designs or {}
        self._shared: dict[int, NDArray[np.float64]] = {}

    def weights(self, person: int) -> Weights:
        """Return, for each parameter, the density of this person's group at the nodes: draws x nodes."""
        found = []
        axes: tuple[FreeParameter | MergedAxis | CoarseAxis, ...] = self.lattices.axes
        for number, axis in enumerate(axes):
            design = self.designs.get(number)
            if design is not None:
                found.append(self._weights(axis, number, design[person]))
                continue
            if number not in self._shared:
                self._shared[number] = self._weights(axis, number, None)
            found.append(self._shared[number])
        return found

    def _weights(
        self, axis: FreeParameter | MergedAxis | CoarseAxis, number: int, row: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        return axis_weights(axis, self.draws.mean_at(number, row), self.draws.spread[:, number])

    def _parts(self, person: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the densities of the first half of the parameters jointly, and of the second; and the likelihoods."""
        weights = self.weights(person)
        half = len(weights) // 2
        left, right = (jointly(some, len(self.draws)) for some in (weights[:half], weights[half:]))
        return left, right, self.lattices.likelihood_of(person).reshape(left.shape[1], right.shape[1])

    def log_likelihood(self) -> NDArray[np.float64]:
        """Return draws x people: the log-likelihood of a person's choices under the group."""
        with one_thread():
            return np.column_stack([self._log_likelihood(person) for person in range(len(self.lattices.highest))])

    def _log_likelihood(self, person: int) -> NDArray[np.float64]:
        left, right, likelihood = self._parts(person)
        total = np.einsum("kj,kj->k", left @ likelihood, right)
        return np.log(np.maximum(total, TINY)) + self.lattices.highest[person]

    def masses(self) -> NDArray[np.float64]:
        """Return people x nodes: everyone's posterior mass, averaged over the draws of the group."""
        with one_thread():
            return np.stack([self.mass(person) for person in range(len(self.lattices.highest))])

    def draw_nodes(self, person: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return draws x parameters: one node of a person's posterior under each draw of the group.

        The first half of the parameters is drawn from its marginal mass, then the second half given the first. Where a
        draw of the group leaves no mass that a computer can hold, the likelihood alone decides.
        """
        left, right, likelihood = self._parts(person)
        impossible = np.einsum("kj,kj->k", left @ likelihood, right) <= TINY
        left[impossible], right[impossible] = 1.0, 1.0
        first = one_of_each(left * (right @ likelihood.T), rng)
        second = one_of_each(right * likelihood[first], rng)
        at = np.ravel_multi_index((first, second), likelihood.shape)
        return np.column_stack(np.unravel_index(at, [axis.nodes for axis in self.lattices.axes]))

    def mass(self, person: int) -> NDArray[np.float64]:
        """Return a person's posterior mass at the nodes, averaged over the draws of the group."""
        left, right, likelihood = self._parts(person)
        total = np.einsum("kj,kj->k", left @ likelihood, right)
        possible = total > TINY
        share = np.where(possible, 1 / np.where(possible, total, 1.0), 0.0)
        mass = likelihood * (left.T @ (right * share[:, None]))
        return (mass / mass.sum()).reshape([axis.nodes for axis in self.lattices.axes])


def one_of_each(mass: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return one column of each row, by its mass."""
    below = np.cumsum(mass, axis=1)
    return np.argmax(below > rng.random(len(mass))[:, None] * below[:, -1:], axis=1)


def jointly(weights: Sequence[NDArray[np.float64]], n: int) -> NDArray[np.float64]:
    """Return draws x all combinations of nodes, from the weights of each axis."""
    joint = np.ones((n, 1))
    for each in weights:
        joint = (joint[:, :, None] * each[:, None, :]).reshape(n, -1)
    return joint
