"""The nodes of a lattice: which are computed first, which lend to which, and what lies between them.

The lattice is a grid over the free parameters, the same for everyone who is fitted with a model. A node of the learning
parameters costs filter runs; all response parameters come with it, almost free.
"""

from collections.abc import Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from holmes_fit.fitting.lattice.task import Task
from holmes_fit.likelihood.specialised import Axes
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


class Knots:
    """Some points of the response parameters, from which smooth functions are interpolated to the nodes.

    For each parameter: positions of the nodes on the scales of search, one if it is fixed; those of the knots that were
    ``chosen``; and the same as natural ``values``.
    """

    def __init__(self, nodes: Axes, chosen: Axes, values: Axes):
        self.values = tuple(values)
        self._splines = [_spline(own, at) for own, at in zip(chosen, nodes, strict=True)]

    def at_nodes(self, at_knots: NDArray[np.float64]) -> NDArray[np.float64]:
        """Interpolate from the knots to the nodes: the last axes are those of the response parameters."""
        for number, spline in enumerate(self._splines):
            axis = at_knots.ndim - len(self._splines) + number
            at_knots = np.moveaxis(np.tensordot(spline, at_knots, axes=(1, axis)), 0, axis)
        return at_knots


class ResponseNodes:
    """The response parameters of a lattice: its nodes, and fewer knots from which smooth functions are interpolated.

    ``knots`` are enough for a log-likelihood, ``few_knots`` (of them, ``few`` along each axis) for how much it changes
    when filters are left out. Where cells are divided, ``nodes`` are the middles of their parts.
    """

    def __init__(self, task: Task, parts: Sequence[NDArray[np.intp]] | None = None):
        response, free = task.space.answers, {axis.name: axis for axis in task.space.response}
        fixed = task.rule(np.array([axis.positions[0] for axis in free.values()]))
        counts = dict(zip(free, parts or [], strict=False))
        self._shares = []  # by parameter, cells x parts
        nodes, at_nodes, at_knots, knots, few = [], [], [], [], []
        for parameter, value in zip(response.parameters, fixed, strict=False):  # constants are left
            axis, most = free.get(parameter.name), response.knots[parameter.name]
            own = counts.get(parameter.name, np.ones(1 if axis is None else axis.nodes, dtype=np.intp))
            self._shares.append(np.repeat(np.diag(1.0 / own), own, axis=1))
            positions = np.array([value]) if axis is None else _middles(axis, own)
            # Even between the bounds; as dense as the parts are, where there are some
            at = np.linspace(positions[0], positions[-1], min(most, len(positions)))
            if own.max() > 1:
                at = positions[np.linspace(0, len(positions) - 1, min(most, len(positions))).round().astype(np.intp)]
            at_nodes.append(positions)
            nodes.append(positions if axis is None else axis.to_natural(positions) if own.max() > 1 else axis.values)
            at_knots.append(at)
            knots.append(at if axis is None else axis.to_natural(at))
            # Every second of the knots, if there are as many as there can be
            few.append(every_second(len(at)) if len(at) == most else np.arange(len(at)))
        self.nodes = tuple(nodes)
        self.knots = Knots(at_nodes, at_knots, knots)
        self.few = tuple(few)
        some = [[values[kept] for values, kept in zip(each, few, strict=True)] for each in (at_knots, knots)]
        self.few_knots = Knots(at_nodes, *some)

    def averaged(self, log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of the mean likelihood over the parts of each cell: rows x parts to rows x cells."""
        shape = [share.shape[1] for share in self._shares]
        if shape == [len(share) for share in self._shares]:
            return log_likelihood
        highest = log_likelihood.max(axis=1, keepdims=True)
        likelihood = np.exp(log_likelihood - highest).reshape(-1, *shape)
        for axis, share in enumerate(self._shares, start=1):
            likelihood = np.moveaxis(np.tensordot(share, likelihood, axes=(1, axis)), 0, axis)
        return np.log(np.maximum(likelihood.reshape(len(highest), -1), np.finfo(np.float64).tiny)) + highest


def _middles(axis: FreeParameter, parts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the middles of the parts into which cells are divided."""
    if parts.max() == 1:
        return axis.positions
    within = np.concatenate([(np.arange(count) + 0.5) / count - 0.5 for count in parts])
    return np.repeat(axis.positions, parts) + axis.spacing * within


def every_second(length: int) -> NDArray[np.intp]:
    """Return every second of so many places, and the last."""
    return np.unique(np.append(np.arange(0, length, 2), length - 1))


def _spline(knots: NDArray[np.float64], nodes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix by which values at knots become those of a cubic spline at nodes."""
    if len(knots) == 1:
        return np.ones((len(nodes), 1))
    return make_interp_spline(knots, np.eye(len(knots)), k=min(3, len(knots) - 1))(nodes)
