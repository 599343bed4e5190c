"""Groups of people in several conditions: what differs is paired within people.

On the scale of search, a parameter that varies is, for a person in a condition, ``mean of condition + person + rest``.
Person effects and rests are normal, so that a person's conditions are correlated, and the difference between two means
is as certain as differences within people allow. Given the person effect, conditions are independent but for what they
share, as in ``JointKnowledge``; rests, cut off at the bounds, are summed over on each condition's lattice, and person
effects are integrated out by quadrature (Gauss and Hermite), which costs little, as nodes of it serve all people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

from holmes_fit.groups.pooling.compiled import Scaled
from holmes_fit.groups.pooling.lattices import Lattices, MergedAxis, MergedLattices, merge
from holmes_fit.groups.pooling.native import POINT
from holmes_fit.groups.pooling.priors import GroupPrior, scaled
from holmes_fit.settings.spaces import FreeParameter

Floats = NDArray[np.float64]
Sums = NDArray[np.float32]  # over lattices, in single precision: nearly all of the time goes there

MOST_CELLS = 4000  # of the lattice of one condition that NUTS sums over
FLOOR_OF_SHARED = 0.6  # of the fitting prior's SD: how finely the spread of what does not vary is resolved
QUADRATURE = {1: 7, 2: 7, 3: 5}  # nodes for the person effect of each parameter, by how many vary
LEAST = 1e-30  # relative to the highest: sums are taken in single precision


@dataclass(frozen=True)
class ConditionLattices:
    """What everyone's choices in each condition say about the parameters of one model."""

    by: str  # the column that has the conditions
    conditions: tuple[str, ...]
    varied: tuple[int, ...]  # the numbers of the parameters that differ between them
    parts: tuple[Lattices, ...]  # of the conditions: the same people and parameters

    @property
    def subjects(self) -> tuple[str, ...]:
        return self.parts[0].subjects

    @property
    def axes(self) -> tuple[FreeParameter, ...]:
        return self.parts[0].axes

    @property
    def names(self) -> tuple[str, ...]:
        return self.parts[0].names

    @property
    def shared(self) -> tuple[int, ...]:
        return tuple(number for number in range(len(self.axes)) if number not in self.varied)

    @cached_property
    def digest(self) -> str:
        """What tells these lattices from others."""
        about = [*self.conditions, *map(str, self.varied), *(part.digest for part in self.parts)]
        return hashlib.sha256("\0".join(about).encode()).hexdigest()

    @cached_property
    def merged(self) -> list[MergedLattices]:
        """The lattices that NUTS sums over, one for each condition, on the same axes."""
        first = self.parts[0]
        count = len(self.parts) * len(first.subjects)
        values = np.concatenate([part.log_likelihood for part in self.parts])
        names, nothing = tuple(str(number) for number in range(count)), np.zeros(count)
        everyone = Lattices(first.model, names, first.axes, values, nothing, nothing, nothing)
        floors = {first.names[number]: FLOOR_OF_SHARED for number in self.shared}
        whole = merge(everyone, MOST_CELLS, floors)
        split = zip(*(np.split(each, len(self.parts)) for each in (whole.likelihood, whole.highest)), strict=True)
        return [MergedLattices(whole.axes, *each) for each in split]


class Quadrature(NamedTuple):
    """Nodes for standard normal person effects: their places for one parameter, and weights of all combinations."""

    places: Floats
    weights: Floats

    @classmethod
    def of(cls, n_varied: int, nodes: int) -> Quadrature:
        places, weights = np.polynomial.hermite_e.hermegauss(nodes)
        each = [weights / weights.sum()] * n_varied
        return cls(places, reduce(np.multiply.outer, each, np.ones(())).ravel())


def arranged(likelihood: Floats, varied: Sequence[int], shared: Sequence[int]) -> Sums:
    """Return likelihoods of people x nodes as they are summed over: varied axes, then people x shared nodes."""
    own = np.transpose(likelihood, [*(number + 1 for number in varied), 0, *(number + 1 for number in shared)])
    return np.ascontiguousarray(own, dtype=np.float32).reshape(*own.shape[: len(varied)], -1)


def over_varied(table: Sums, weights: Sequence[Sums]) -> list[Sums]:
    """Sum over one varied axis after the other, by weights of person effects x nodes, and return all stages.

    The last has combinations of person effects x (people x shared nodes).
    """
    stages = [table.reshape(1, *table.shape)]
    for own in weights:
        last = stages[-1]
        summed = np.matmul(own, last.reshape(len(last), own.shape[1], -1))
        stages.append(summed.reshape(-1, *last.shape[2:]))
    return stages


def slopes_by_weights(stages: Sequence[Sums], weights: Sequence[Sums], slope: Sums) -> list[Sums]:
    """Return slopes by the weights of each varied axis, from those by the last of the stages."""
    found = []
    for before, own in zip(reversed(stages[:-1]), reversed(weights), strict=True):
        slope = slope.reshape(len(before), len(own), -1)
        flat = before.reshape(len(before), own.shape[1], -1)
        found.append(np.matmul(slope, flat.transpose(0, 2, 1)).sum(axis=0))
        slope = np.matmul(own.T, slope)
    return found[::-1]


class Weights(NamedTuple):
    """Normal densities at the nodes of an axis, a row each, made to sum to 1, and the same in merged cells."""

    distance: Floats
    variance: float
    nodes: Floats
    cells: Floats

    @classmethod
    def of(cls, axis: MergedAxis, centres: Floats, variance: float) -> Weights:
        distance, left = axis.axis.positions - centres[:, None], variance - axis.lost_variance
        nodes = softmax(-0.5 * distance**2 / left, axis=1)
        return cls(distance, left, nodes, np.add.reduceat(nodes, np.arange(0, axis.axis.nodes, axis.together), axis=1))

    def slopes(self, axis: MergedAxis, by_cell: Floats) -> tuple[Floats, float]:
        """Return slopes by the centres and by the variance, from those by the cells."""
        by_node = by_cell[:, axis.cell_of]
        slope = self.nodes * (by_node - (self.nodes * by_node).sum(axis=1, keepdims=True))
        by_centre = (slope * self.distance).sum(axis=1) / self.variance
        return by_centre, float((slope * self.distance**2).sum() / (2 * self.variance**2))


class Group(NamedTuple):
    """One draw of a group on the scale of search, or many, by their first axes."""

    mean: Floats  # parameters x conditions; the same in all of them, if it is shared
    spread: Floats  # parameters: of all people in one condition
    person: Floats  # varied parameters: SD of the person effect
    rest: Floats  # varied parameters: SD of what is left


@dataclass(frozen=True)
class PairedDensity:
    """The log-density of such a group over unconstrained numbers, and its slopes.

    These are, one after another, means (over conditions, between their bounds), logarithms of excess spreads, contrasts
    of each varied parameter (orthonormal, so that no condition is special), and log odds of the share of the variance
    that belongs to people, all shares being equally likely.
    """

    lattices: ConditionLattices
    prior: GroupPrior

    @cached_property
    def digest(self) -> str:
        """What tells this group model from others."""
        return hashlib.sha256(f"{self.lattices.digest} {self.prior} {MOST_CELLS} {QUADRATURE}".encode()).hexdigest()

    @cached_property
    def axes(self) -> tuple[MergedAxis, ...]:
        return self.lattices.merged[0].axes

    @cached_property
    def scaled(self) -> Scaled:
        """The prior on the scales of search."""
        return scaled(self.prior, self.axes)

    @cached_property
    def quadrature(self) -> Quadrature:
        n_varied = len(self.lattices.varied)
        return Quadrature.of(n_varied, QUADRATURE[max(n_varied, 1)])

    @cached_property
    def _tables(self) -> list[Sums]:
        own = self.lattices
        return [arranged(each.likelihood, own.varied, own.shared) for each in own.merged]

    @cached_property
    def highest(self) -> Floats:
        """The highest log-likelihood of each person, all conditions together."""
        return np.sum([each.highest for each in self.lattices.merged], axis=0)

    @cached_property
    def _contrasts(self) -> Floats:
        """Orthonormal columns that are orthogonal to a constant: conditions x one less."""
        n = len(self.lattices.conditions)
        return np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]

    @property
    def _contrast_sd(self) -> Floats:
        """Of each contrast, such that the difference between two conditions has the SD of an effect."""
        return self.scaled.effect_sd[list(self.lattices.varied)] / np.sqrt(2)

    @property
    def _sizes(self) -> NDArray[np.intp]:
        n_axes, n_varied = len(self.axes), len(self.lattices.varied)
        return np.cumsum([n_axes, n_axes, n_varied * self._contrasts.shape[1]])

    @cached_property
    def middle(self) -> Floats:
        """The middle of the prior, where chains begin, give or take."""
        prior, n_varied = self.scaled, len(self.lattices.varied)
        odds = np.log(prior.mean - prior.lowest_mean) - np.log(prior.highest_mean - prior.mean)
        return np.concatenate([odds, prior.log_excess, np.zeros(n_varied * (self._contrasts.shape[1] + 1))])

    def group(self, points: Floats) -> Group:
        """Return the group at points (... x numbers)."""
        prior, varied = self.scaled, list(self.lattices.varied)
        odds, log_excess, contrasts, share = np.split(points, self._sizes, axis=-1)
        mean = prior.lowest_mean + (prior.highest_mean - prior.lowest_mean) * expit(odds)
        by_condition = np.repeat(mean[..., None], len(self.lattices.conditions), axis=-1)
        by_condition[..., varied, :] += (
            contrasts.reshape(*points.shape[:-1], len(varied), self._contrasts.shape[1]) @ self._contrasts.T
        )
        excess = np.exp(2 * log_excess)
        person = np.sqrt(expit(share) * excess[..., varied])
        rest = np.sqrt(prior.least_spread[varied] ** 2 + expit(-share) * excess[..., varied])
        return Group(by_condition, np.sqrt(prior.least_spread**2 + excess), person, rest)

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return the log-density, up to a constant, and its slopes; where a step went much too far, not finite."""
        with np.errstate(all="ignore"):
            return self._with_slopes(point)

    def _with_slopes(self, point: Floats) -> tuple[float, Floats]:
        group = self.group(point)
        value, by_mean, by_variance, by_person = self._likelihood(group)
        prior, varied = self.scaled, list(self.lattices.varied)
        odds, log_excess, contrasts, share = np.split(point, self._sizes)
        inside, of_people = expit(odds), expit(share)
        width = prior.highest_mean - prior.lowest_mean
        away = (prior.lowest_mean + width * inside - prior.mean) / prior.mean_sd
        away_excess = (log_excess - prior.log_excess) / prior.log_excess_sd
        sd = np.repeat(self._contrast_sd, self._contrasts.shape[1])
        value -= 0.5 * float(np.sum(away**2) + np.sum(away_excess**2) + np.sum((contrasts / sd) ** 2))
        value += float(sum(np.sum(log_expit(each) + log_expit(-each)) for each in (odds, share)))

        excess = np.exp(2 * log_excess)
        kept = np.ones(len(excess))
        kept[varied] = 1 - of_people
        of_excess = 2 * excess * kept * by_variance
        of_excess[varied] += by_person * group.person
        of_share = 0.5 * by_person * group.person * (1 - of_people)
        of_share -= by_variance[varied] * excess[varied] * of_people * (1 - of_people)
        of_mean = (by_mean.sum(axis=1) - away / prior.mean_sd) * width * inside * (1 - inside) + 1 - 2 * inside
        of_contrasts = (by_mean[varied] @ self._contrasts).ravel() - contrasts / sd**2
        parts = of_mean, of_excess - away_excess / prior.log_excess_sd, of_contrasts, of_share + 1 - 2 * of_people
        return value, np.concatenate(parts)

    def _likelihood(self, group: Group) -> tuple[float, Floats, Floats, Floats]:
        """Return everyone's log-likelihood, and its slopes by means, variances of rests, and SDs of person effects."""
        varied, shared, n_people = self.lattices.varied, self.lattices.shared, len(self.lattices.subjects)
        places, weights = self.quadrature
        own = [
            [
                Weights.of(self.axes[number], group.mean[number, c] + group.person[k] * places, group.rest[k] ** 2)
                for k, number in enumerate(varied)
            ]
            for c in range(len(self._tables))
        ]
        of_shared = [Weights.of(self.axes[i], group.mean[i, :1], group.spread[i] ** 2) for i in shared]
        right = _outer([each.cells[0] for each in of_shared])
        cells = [[each.cells.astype(np.float32) for each in some] for some in own]
        stages = [over_varied(table, some) for table, some in zip(self._tables, cells, strict=True)]
        sums = [each[-1].reshape(len(weights), n_people, -1).astype(np.float64) for each in stages]
        product = reduce(np.multiply, sums)
        by_person = weights @ np.tensordot(product, right.ravel(), axes=1)
        possible = by_person > LEAST
        value = float(np.sum(np.log(np.maximum(by_person, LEAST)) + self.highest))
        share = np.where(possible, 1 / np.where(possible, by_person, 1.0), 0.0)

        by_mean, by_variance = np.zeros(group.mean.shape), np.zeros(len(self.axes))
        of_person = np.zeros(len(varied))
        outer = weights[:, None] * share
        for c in range(len(sums)):
            others = reduce(np.multiply, [each for i, each in enumerate(sums) if i != c])
            slope = others * outer[:, :, None] * right.ravel()
            for k, by_cell in enumerate(
                slopes_by_weights(stages[c], cells[c], slope.reshape(len(weights), -1).astype(np.float32))
            ):
                by_centre, by_own = own[c][k].slopes(self.axes[varied[k]], by_cell.astype(np.float64))
                by_mean[varied[k], c] += by_centre.sum()
                of_person[k] += by_centre @ places
                by_variance[varied[k]] += by_own
        by_right = np.tensordot(outer, product, axes=([0, 1], [0, 1])).reshape(right.shape)
        for j, number in enumerate(shared):
            alone = _but_for(j, by_right, [each.cells[0] for each in of_shared])
            by_centre, by_own = of_shared[j].slopes(self.axes[number], alone[None])
            by_mean[number, 0] += by_centre.sum()
            by_variance[number] += by_own
        return value, by_mean, by_variance, of_person

    # What NUTS is told.
    @property
    def coords(self) -> dict[str, Sequence[str]]:
        names = self.lattices.names
        return {
            "parameter": names,
            "condition": self.lattices.conditions,
            "varied": [names[number] for number in self.lattices.varied],
        }

    @property
    def dims(self) -> dict[str, list[str]]:
        by_condition = {"mean": ["parameter", "condition"]}
        return by_condition | {"spread": ["parameter"], "person": ["varied"], "rest": ["varied"]}

    def variables(self, points: Floats) -> dict[str, Floats]:
        """Return the variables of the model by name, from points (... x numbers)."""
        found = self.group(points)._asdict()
        return found if self.lattices.varied else {name: found[name] for name in ("mean", "spread")}

    def for_nutpie(self, begin: Callable[[int], Floats]) -> tuple[Any, Steps]:
        """Return a model of nutpie's whose draws are points of the density, and what counts its steps."""
        from nutpie.compiled_pyfunc import from_pyfunc

        steps = Steps()

        def expand(*seeds: object) -> Callable[[Floats], dict[str, Floats]]:
            def kept(point: Floats) -> dict[str, Floats]:
                steps.add()
                return {POINT: np.array(point)}

            return kept

        size, kind = len(self.middle), np.dtype(np.float64)
        model = from_pyfunc(size, lambda: self, expand, [kind], [(size,)], [POINT], make_initial_point_fn=begin)
        return model, steps


class Steps:
    """Counts the steps of all chains."""

    def __init__(self) -> None:
        self._numbers, self.steps = count(1), 0

    def add(self) -> None:
        self.steps = next(self._numbers)


def _outer(weights: Sequence[Floats]) -> Floats:
    return reduce(np.multiply.outer, weights, np.ones(()))


def _but_for(number: int, values: Floats, weights: Sequence[Floats]) -> Floats:
    """Sum over all axes but one, by weights."""
    for axis in reversed(range(len(weights))):
        if axis != number:
            values = np.tensordot(values, weights[axis], axes=([axis], [0]))
    return values
