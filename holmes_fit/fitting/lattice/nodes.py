"""The nodes of a lattice: which are computed first, which lend to which, and what lies between them.

The lattice is a grid over the free parameters, the same for everyone who is fitted with a model. A node of the learning
parameters costs filter runs; all response parameters come with it, almost free.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from holmes_fit.fitting.lattice.task import Task
from holmes_fit.settings.spaces import FreeParameter

KERNEL = 0.6  # SD of the kernel by which likelihoods are averaged over neighbours, in their distances

MOST_COARSE = 8  # nodes of a response parameter at which likelihoods without a share of the filters are kept

Node = tuple[int, ...]


def shape_of(axes: Sequence[FreeParameter]) -> tuple[int, ...]:
    """Return how many nodes the axes have."""
    return tuple(axis.nodes for axis in axes)


def node_position(axes: Sequence[FreeParameter], node: Sequence[SupportsIndex]) -> NDArray[np.float64]:
    """Return where a node is, on the scales of search."""
    return np.array([axis.positions[i] for axis, i in zip(axes, node, strict=True)])


def first_nodes(shape: tuple[int, ...]) -> list[NDArray[np.intp]]:
    """Return the nodes along each axis that are computed first: every second one, and the last."""
    return [every_second(length) for length in shape]


def coarse_nodes(learning: tuple[int, ...], response: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    """Return fewer nodes of each axis, at which likelihoods without a share of the filters are kept."""
    few = [np.linspace(0, length - 1, min(length, MOST_COARSE)).round().astype(np.intp) for length in response]
    return (*first_nodes(learning), *few)


def grid_nodes(along: Sequence[NDArray[np.intp]]) -> list[Node]:
    """Return all nodes of a grid."""
    grids = np.meshgrid(*along, indexing="ij") if along else []
    return [tuple(int(i) for i in node) for node in zip(*(grid.ravel() for grid in grids), strict=True)] or [()]


class Lending(NamedTuple):
    """What a node is lent, and by whom, itself included."""

    lenders: NDArray[np.intp]  # their places among the computed nodes
    kernel: NDArray[np.float64]  # how much of each one's likelihood is taken; adds up to 1
    # How much of each one's mean trace is taken: the value, here, of the plane that fits all of them best
    plane: NDArray[np.float64]


def lending(nodes: Sequence[Node], shape: tuple[int, ...]) -> list[Lending]:
    """Return what each of the computed nodes is lent.

    Lenders are the computed nodes around it: those one step away in any direction, diagonals included, if all of these
    were computed; else those up to two steps away.
    """
    places = np.array(nodes, dtype=np.intp).reshape(len(nodes), len(shape))
    found = []
    for place in places:
        away = places - place
        around = np.prod([1 + (at > 0) + (at < length - 1) for at, length in zip(place, shape, strict=True)])
        reach = 1 if np.sum(np.all(np.abs(away) <= 1, axis=1)) == around else 2
        lenders = np.flatnonzero(np.all(np.abs(away) <= reach, axis=1))
        steps = away[lenders] / reach
        kernel = np.exp(-0.5 * np.sum(steps**2, axis=1) / KERNEL**2)
        plane = np.linalg.pinv(np.column_stack([np.ones(len(steps)), steps]))[0]
        found.append(Lending(lenders, kernel / kernel.sum(), plane))
    return found


def fill(surface: NDArray[np.float64], learning_shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Interpolate where log-likelihoods are NaN: learning nodes x response nodes, from the first nodes.

    Likelihoods are interpolated, linearly, so that their sum has the right mean: that of noisy logarithms lies below
    the logarithm of the mean, by half their variance. Interpolated logarithms would make the evidence too low, and that
    of the noisier model lower.
    """
    missing = np.isnan(surface)
    if not missing.any():
        return surface
    first, learning = first_nodes(learning_shape), tuple(range(len(learning_shape)))
    highest = np.nanmax(surface, axis=learning, keepdims=True)
    filled = np.exp(surface[np.ix_(*first)] - highest)
    for axis, nodes in enumerate(first):
        if len(nodes) > 1:
            filled = make_interp_spline(nodes, filled, k=1, axis=axis)(np.arange(surface.shape[axis]))
    return np.where(missing, np.log(np.maximum(filled, np.finfo(np.float64).tiny)) + highest, surface)


class ResponseGrid(NamedTuple):
    """Values of beta, lapse and bias: along an axis if free, one value if not."""

    beta: NDArray[np.float64]
    lapse: NDArray[np.float64]
    bias: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self)


MOST_KNOTS = {"beta": 12, "lapse": 6, "bias": 6}


class Knots:
    """Some points of the response parameters, from which smooth functions are interpolated to the nodes.

    By the name of the parameter: positions of the nodes on the scales of search, one if it is fixed; those of the knots
    that were ``chosen``; and the same as ``natural`` values.
    """

    def __init__(
        self,
        nodes: Mapping[str, NDArray[np.float64]],
        chosen: Mapping[str, NDArray[np.float64]],
        natural: Mapping[str, NDArray[np.float64]],
    ):
        self.values = ResponseGrid(**natural)
        self._splines = [_spline(chosen[name], nodes[name]) for name in ResponseGrid._fields]

    def at_nodes(self, at_knots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Interpolate from the knots to the nodes: the last three axes are beta, lapse and bias."""
        for number, spline in enumerate(self._splines):
            axis = at_knots.ndim - len(self._splines) + number
            at_knots = np.moveaxis(np.tensordot(spline, at_knots, axes=(1, axis)), 0, axis)
        return at_knots


class ResponseNodes:
    """The response parameters of a lattice: its nodes, and fewer knots from which smooth functions are interpolated.

    ``knots`` are enough for a log-likelihood, ``few_knots`` (of them, ``few`` along each axis) for how much it changes
    when filters are left out.
    """

    def __init__(self, task: Task):
        fixed = task.response(np.array([axis.positions[0] for axis in task.space.response]))._asdict()
        nodes = {name: np.array([value]) for name, value in fixed.items()}
        at_nodes, at_knots, knots = dict(nodes), dict(nodes), dict(nodes)
        for axis in task.space.response:
            at = np.linspace(axis.positions[0], axis.positions[-1], min(MOST_KNOTS[axis.name], axis.nodes))
            nodes[axis.name], at_nodes[axis.name] = axis.values, axis.positions
            at_knots[axis.name], knots[axis.name] = at, axis.to_natural(at)
        self.nodes = ResponseGrid(**nodes)
        self.knots = Knots(at_nodes, at_knots, knots)
        # Of the knots of a parameter, every second, if there are as many as there can be
        counts = {name: len(knots[name]) for name in ResponseGrid._fields}
        self.few = tuple(every_second(n) if n == MOST_KNOTS[name] else np.arange(n) for name, n in counts.items())
        few = dict(zip(ResponseGrid._fields, self.few, strict=True))
        some = [{name: values[few[name]] for name, values in each.items()} for each in (at_knots, knots)]
        self.few_knots = Knots(at_nodes, *some)


def every_second(length: int) -> NDArray[np.intp]:
    """Return every second of so many places, and the last."""
    return np.unique(np.append(np.arange(0, length, 2), length - 1))


def _spline(knots: NDArray[np.float64], nodes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix by which values at knots become those of a cubic spline at nodes."""
    if len(knots) == 1:
        return np.ones((len(nodes), 1))
    return make_interp_spline(knots, np.eye(len(knots)), k=min(3, len(knots) - 1))(nodes)
