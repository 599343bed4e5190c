"""The likelihood of one person and model on the nodes of a lattice, as far as it was computed.

The lattice is a grid over the free parameters, the same for everyone who is fitted with a model. A node of the learning
parameters costs filter runs; all response parameters come with it, almost free.

Every node has draws of its own. With common draws one lucky replicate would speak for a whole region; with independent
ones luck differs from node to node, and averages out where nodes are integrated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator, make_interp_spline
from scipy.special import logsumexp

from holmes_fit.lattice.task import A_NODE, LATTICE, Task, log_prior_mass
from holmes_fit.likelihood import Replicates, likelihood_of
from holmes_fit.spaces import FreeParameter

BATCHES = 8


class Explored:
    """Log-likelihoods on the lattice, as far as they were computed.

    Parameters
    ----------
    task
        The person and the model.

    Attributes
    ----------
    log_mean
        Learners x batches x learning nodes x response nodes, mean over the replicates of a batch; NaN where nothing was
        computed.
    replicates
        Learning nodes, how many replicates each has.
    """

    def __init__(self, task: Task):
        self.task = task
        self.learning_shape = _shape(task.space.learning)
        self.response_shape = _shape(task.space.response)
        shape = (len(task.learners), BATCHES, *self.learning_shape, *self.response_shape)
        self.log_mean = np.full(shape, np.nan)
        self.replicates = np.zeros(self.learning_shape, dtype=np.int64)
        self.is_refined = False

    def extend(self, nodes: Iterable[tuple[int, ...]], replicates: int) -> None:
        """Compute more replicates at some nodes, until each has so many."""
        for node in nodes:
            have = int(self.replicates[node])
            if have >= replicates:
                continue
            # An averaged observer has no mean of likelihoods that could be extended: it is computed anew.
            keep = have if self.task.kind == "marginal" else 0
            first = LATTICE + A_NODE * int(np.ravel_multi_index(node, self.learning_shape) if node else 0) + keep
            new = self._compute(node, Replicates(replicates - keep, first))
            place: tuple[slice | int, ...] = (slice(None), slice(None), *node)
            if keep:
                new = np.logaddexp(self.log_mean[place] + np.log(keep), new + np.log(replicates - keep))
                new -= np.log(replicates)
            self.log_mean[place] = new
            self.replicates[node] = replicates

    def _compute(self, node: tuple[int, ...], replicates: Replicates) -> NDArray[np.float64]:
        axes = self.task.space.learning
        position = np.array([axis.positions[index] for axis, index in zip(axes, node, strict=True)])
        traces = self.task.traces(position, replicates)
        # An averaged observer is estimated from all replicates but one batch: the jackknife.
        batches = traces.batches(BATCHES) if self.task.kind == "marginal" else traces.all_but_one(BATCHES)
        grids = response_grids(self.task)
        on_grid = np.stack([likelihood_of(batch, self.task.kind).on_grid(*grids) for batch in batches], axis=1)
        return on_grid.reshape(len(self.task.learners), BATCHES, *self.response_shape)

    @property
    def independence(self) -> float:
        """How many times wider independent batches spread than these surfaces do.

        Surfaces of the jackknife share all replicates but a batch, so they hardly differ.
        """
        return 1.0 if self.task.kind == "marginal" else BATCHES - 1.0

    @property
    def computed(self) -> NDArray[np.bool_]:
        """Which learning nodes were computed."""
        return self.replicates > 0

    def batch_surfaces(self) -> Iterator[NDArray[np.float64]]:
        """Yield the log-likelihood of each batch on the whole lattice, interpolated between computed nodes.

        Learning nodes x response nodes.
        """
        first = first_nodes(self.learning_shape)
        between = _of_estimates if self.task.is_noisy else _of_exact_values
        for batch in range(BATCHES):
            total = self.log_mean[:, batch].sum(axis=0)
            yield np.where(np.isnan(total), between(total, first), total) if first else total


def _of_exact_values(surface: NDArray[np.float64], first: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Interpolate log-likelihoods from the first nodes, monotonically, so that steep slopes far away cannot ring."""
    filled = surface[np.ix_(*first)]
    for axis, nodes in enumerate(first):
        if len(nodes) > 1:
            filled = PchipInterpolator(nodes, filled, axis=axis)(np.arange(surface.shape[axis]))
    return filled


def _of_estimates(surface: NDArray[np.float64], first: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Interpolate likelihoods from the first nodes, linearly, so that their sum has the right mean.

    The mean of noisy logarithms lies below the logarithm of the mean, by half their variance. Interpolated logarithms
    would make the evidence too low, and that of the noisier model lower.
    """
    learning = tuple(range(len(first)))
    highest = np.nanmax(surface, axis=learning, keepdims=True)
    filled = np.exp(surface[np.ix_(*first)] - highest)
    for axis, nodes in enumerate(first):
        if len(nodes) > 1:
            filled = make_interp_spline(nodes, filled, k=1, axis=axis)(np.arange(surface.shape[axis]))
    return np.log(np.maximum(filled, np.finfo(np.float64).tiny)) + highest


def first_nodes(shape: tuple[int, ...]) -> list[NDArray[np.intp]]:
    """Return the nodes along each axis that are computed first: every second one, and the last."""
    return [np.unique(np.append(np.arange(0, length, 2), length - 1)) for length in shape]


def spread_of_batches(explored: Explored) -> float:
    """Return the SD of the log-likelihood between batches: root mean square over the computed nodes, by their mass."""
    if not explored.task.is_noisy:
        return 0.0
    total = explored.log_mean.sum(axis=0)
    log_prior = log_prior_mass(explored.task.space)
    mass = np.zeros(log_prior.shape)
    for surface in total:
        log_joint = np.where(np.isnan(surface), -np.inf, surface + log_prior)
        mass += np.exp(log_joint - logsumexp(log_joint)) / BATCHES
    variance = np.nan_to_num(total.var(axis=0, ddof=1))
    return explored.independence * float(np.sqrt(np.sum(mass * variance)))


def response_grids(task: Task) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of beta, lapse and bias on the lattice: along an axis if free, one value if not."""
    fixed = task.response(np.array([axis.positions[0] for axis in task.space.response]))
    free = {axis.name: axis.values for axis in task.space.response}
    beta, lapse, bias = (free.get(name, np.array([value])) for name, value in fixed._asdict().items())
    return beta, lapse, bias


def _shape(axes: tuple[FreeParameter, ...]) -> tuple[int, ...]:
    return tuple(axis.nodes for axis in axes)
