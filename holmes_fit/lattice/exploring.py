"""Where a person's likelihood is computed: everywhere a little, and more where the mass is.

1. Every second node along each learning axis gets a few replicates.
2. Nodes that may matter get the full number; more, if the likelihood turns out to be noisy at its optimum.
3. Where the posterior is narrow for this spacing, the nodes between are computed too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.lattice.nodes import BATCHES, Explored, first_nodes, spread_of_batches
from holmes_fit.lattice.posterior import posterior_of
from holmes_fit.lattice.task import Task, log_prior_mass

FIRST_SHARE = 4  # the first look takes a quarter of the replicates
SAFE_DISTANCE = 4.0  # nats below the best node at which a node needs no more replicates, if it had no noise
NARROW = 0.75  # posterior SD, in spacings of the computed nodes, below which the nodes between are needed
MOST_REFINEMENTS = 30  # nodes between others
LEAST_MASS = 1e-4  # of a node that is worth computing


def explore(task: Task, replicates: int) -> Explored:
    """Compute a person's likelihood, with R replicates at the nodes that matter."""
    explored = Explored(task)
    nodes = _grid_nodes(first_nodes(explored.learning_shape))
    if not task.is_noisy:
        explored.extend(nodes, BATCHES)
    else:
        explored.extend(nodes, max(BATCHES, replicates // FIRST_SHARE // BATCHES * BATCHES))
        raise_replicates(explored, replicates)
    _refine(explored)
    return explored


def raise_replicates(explored: Explored, replicates: int) -> None:
    """Compute more replicates at the nodes that matter."""
    explored.extend(_nodes_that_matter(explored), replicates)


def _nodes_that_matter(explored: Explored) -> list[tuple[int, ...]]:
    """Return the nodes whose mass may turn out not to be negligible, given how noisy they are."""
    log_joint = logsumexp(explored.log_mean.sum(axis=0), axis=0) - np.log(BATCHES) + log_prior_mass(explored.task.space)
    log_mass = logsumexp(log_joint.reshape(*explored.learning_shape, -1), axis=-1)
    noise = spread_of_batches(explored) / np.sqrt(BATCHES)  # of the mean of the batches
    matters = log_mass > np.nanmax(log_mass) - SAFE_DISTANCE - 2 * noise
    return [tuple(int(i) for i in node) for node in np.argwhere(matters)]


def _refine(explored: Explored) -> None:
    """Compute nodes between others, where the posterior is too narrow for the spacing."""
    on_learning = posterior_of(explored).mass.reshape(*explored.learning_shape, -1).sum(axis=-1)
    if not _is_narrow(on_learning):
        return
    wanted = np.where(explored.computed, 0.0, on_learning)
    order = np.argsort(-wanted, axis=None, kind="stable")[:MOST_REFINEMENTS]
    nodes = [np.unravel_index(place, wanted.shape) for place in order if wanted.flat[place] > LEAST_MASS]
    explored.extend([tuple(int(i) for i in node) for node in nodes], int(explored.replicates.max()))
    explored.is_refined = bool(nodes)


def _is_narrow(on_learning: NDArray[np.float64]) -> bool:
    """Say whether the SD along an axis is below what the first nodes, two apart, can resolve."""
    for axis, length in enumerate(on_learning.shape):
        other = tuple(i for i in range(on_learning.ndim) if i != axis)
        marginal, place = on_learning.sum(axis=other), np.arange(length)
        mean = np.sum(marginal * place)
        if length > 2 and np.sqrt(np.sum(marginal * (place - mean) ** 2)) < 2 * NARROW:
            return True
    return False


def _grid_nodes(along: list[NDArray[np.intp]]) -> list[tuple[int, ...]]:
    grids = np.meshgrid(*along, indexing="ij") if along else []
    return [tuple(int(i) for i in node) for node in zip(*(grid.ravel() for grid in grids), strict=True)] or [()]
