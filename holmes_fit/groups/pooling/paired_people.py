"""People in several conditions under draws of their group: what is known of each, on the lattice as it was fitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holmes_fit.groups.pooling.draws import axis_weights, jointly, one_of_each
from holmes_fit.groups.pooling.lattices import CoarseAxis, MergedAxis, RelativeLattices
from holmes_fit.groups.pooling.paired import (
    LEAST,
    ConditionLattices,
    Floats,
    Group,
    Quadrature,
    Sums,
    arranged,
    over_varied,
)
from holmes_fit.runs.knowledge import Knowledge, within_cells
from holmes_fit.runs.workers.processes import one_thread
from holmes_fit.settings.spaces import FreeParameter

Axis = FreeParameter | MergedAxis | CoarseAxis


def some(group: Group, which: NDArray[np.intp]) -> Group:
    """Return some of many draws."""
    return Group(*(values[which] for values in group))


def likelihood_by_effect(
    own: ConditionLattices, lattices: Sequence[RelativeLattices[Axis]], draws: Group, quadrature: Quadrature
) -> Floats:
    """Return draws x combinations of person effects x people: likelihoods relative to the highest, times weights."""
    tables = [arranged(each.likelihood, own.varied, own.shared) for each in lattices]
    with one_thread():
        return np.stack([_of_draw(own, lattices[0].axes, tables, draw, quadrature) for draw in _each(draws)])


def _each(draws: Group) -> Iterator[Group]:
    return (Group(*values) for values in zip(*draws, strict=True))


def _of_draw(
    own: ConditionLattices, axes: Sequence[Axis], tables: Sequence[Sums], draw: Group, quadrature: Quadrature
) -> Floats:
    product: Floats | None = None
    for c, table in enumerate(tables):
        weights = []
        for k, number in enumerate(own.varied):
            centres = draw.mean[number, c] + draw.person[k] * quadrature.places
            weights.append(axis_weights(axes[number], centres, np.full(len(centres), draw.rest[k])).astype(np.float32))
        sums = over_varied(table, weights)[-1].astype(np.float64)
        product = sums if product is None else product * sums
    assert product is not None
    of_shared = [axis_weights(axes[i], draw.mean[i, :1], draw.spread[i : i + 1]) for i in own.shared]
    by_person = product.reshape(len(quadrature.weights), len(own.subjects), -1)
    return quadrature.weights[:, None] * (by_person @ jointly(of_shared, 1)[0])


@dataclass(frozen=True)
class PairedPeople:
    """Everyone under draws of their group, with the person effects that were drawn with them."""

    lattices: ConditionLattices
    draws: Group
    effects: Floats  # draws x people x varied parameters, on the scale of search

    @classmethod
    def of(
        cls, lattices: ConditionLattices, draws: Group, quadrature: Quadrature, rng: np.random.Generator
    ) -> PairedPeople:
        """Draw everyone's person effects, given the group and the choices."""
        chances = likelihood_by_effect(lattices, lattices.merged, draws, quadrature)
        n_draws, n_effects, n_people = chances.shape
        chances = np.where(chances.sum(axis=1, keepdims=True) > LEAST, chances, quadrature.weights[:, None])
        chosen = one_of_each(chances.transpose(0, 2, 1).reshape(-1, n_effects), rng)
        n_varied = len(lattices.varied)
        grid = np.indices([len(quadrature.places)] * n_varied).reshape(n_varied, n_effects)
        effects = quadrature.places[grid.T[chosen]].reshape(n_draws, n_people, n_varied) * draws.person[:, None]
        return cls(lattices, draws, effects)

    def _parts(self, person: int) -> tuple[list[Floats], list[Floats], Floats]:
        """Return for each condition weights of varied nodes (draws x nodes) and likelihoods; and those of shared."""
        own, n = self.lattices, len(self.draws.mean)
        axes = own.axes
        order = [*own.varied, *own.shared]
        left, likelihood = [], []
        for c, part in enumerate(own.parts):
            centres = [self.draws.mean[:, i, c] + self.effects[:, person, k] for k, i in enumerate(own.varied)]
            weights = [
                axis_weights(axes[i], centre, self.draws.rest[:, k])
                for k, (i, centre) in enumerate(zip(own.varied, centres, strict=True))
            ]
            left.append(jointly(weights, n))
            likelihood.append(np.transpose(part.likelihood_of(person), order).reshape(left[-1].shape[1], -1))
        shared = [axis_weights(axes[i], self.draws.mean[:, i, 0], self.draws.spread[:, i]) for i in own.shared]
        return left, likelihood, jointly(shared, n)

    def known(self, person: int) -> list[Knowledge]:
        """Return what is known of a person's parameters in each condition, averaged over the draws of the group."""
        own = self.lattices
        axes = own.axes
        order = [*own.varied, *own.shared]
        with one_thread():
            left, likelihood, right = self._parts(person)
            sums = [a @ b for a, b in zip(left, likelihood, strict=True)]
            total = np.prod(sums, axis=0) * right
            each = total.sum(axis=1, keepdims=True)
            shared = np.where(each > LEAST, total / np.where(each > LEAST, each, 1.0), 0.0)
            found = []
            for weights, table, summed in zip(left, likelihood, sums, strict=True):
                mass = table * (weights.T @ (shared / np.maximum(summed, LEAST)))
                mass = (mass / mass.sum()).reshape([axes[number].nodes for number in order])
                found.append(Knowledge(axes, np.transpose(mass, np.argsort(order))))
        return found

    def draw(self, person: int, rng: np.random.Generator) -> Floats:
        """Return draws x parameters, natural values, one for each draw of the group, as ``joint_names`` has them."""
        own = self.lattices
        axes = own.axes
        left, likelihood, right = self._parts(person)
        with one_thread():
            total = np.prod([a @ b for a, b in zip(left, likelihood, strict=True)], axis=0) * right
        impossible = total.sum(axis=1) <= LEAST
        total[impossible] = 1.0
        shared = one_of_each(total, rng)
        cells: dict[tuple[int, int], NDArray[np.intp]] = {}
        for c, (weights, table) in enumerate(zip(left, likelihood, strict=True)):
            chances = weights * table[:, shared].T
            chances[chances.sum(axis=1) <= 0] = 1.0
            varied = one_of_each(chances, rng)
            at = np.unravel_index(varied, [axes[i].nodes for i in own.varied]) if own.varied else ()
            cells |= {(i, c): node for i, node in zip(own.varied, at, strict=True)}
        at = np.unravel_index(shared, [axes[i].nodes for i in own.shared]) if own.shared else ()
        cells |= {(i, 0): node for i, node in zip(own.shared, at, strict=True)}
        keys = sorted(cells)
        return within_cells(tuple(axes[i] for i, _ in keys), np.column_stack([cells[key] for key in keys]), rng)
