"""Where a person's likelihood is computed: at every second node, and between them where the posterior is narrow.

If it is exact, a node costs little, and all are computed: some models jump from one point to the next.

Every node has the same number of filters, whatever they show. To give more to those that look good would make the
evidence too low: lucky ones would be measured again and unlucky ones not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.explored import Explored
from holmes_fit.fitting.lattice.nodes import Node, first_nodes, grid_nodes
from holmes_fit.fitting.lattice.posterior import mass_of
from holmes_fit.fitting.lattice.task import Task

NARROW = 0.75  # posterior SD, in spacings of the computed nodes, below which the nodes between are needed
MOST_REFINEMENTS = 30  # nodes between others
LEAST_MASS = 1e-4  # of a node that is worth computing


def explore(task: Task, replicates: int) -> Explored:
    """Compute a person's likelihood, with R replicates at every node."""
    explored = Explored(task, replicates)
    if not task.is_noisy:
        explored.add(grid_nodes([np.arange(length) for length in explored.learning_shape]))
        return explored
    explored.add(grid_nodes(first_nodes(explored.learning_shape)))
    between = _nodes_between(explored)
    if between:
        explored.add(between)
        explored.is_refined = True
    return explored


def _nodes_between(explored: Explored) -> list[Node]:
    """Return the nodes between others that are worth computing; none unless the posterior is narrow for the spacing."""
    on_learning = mass_of(explored).reshape(*explored.learning_shape, -1).sum(axis=-1)
    if not _is_narrow(on_learning):
        return []
    wanted = on_learning.copy()
    for node in explored.nodes:
        wanted[node] = 0.0
    order = np.argsort(-wanted, axis=None, kind="stable")[:MOST_REFINEMENTS]
    nodes = [np.unravel_index(place, wanted.shape) for place in order if wanted.flat[place] > LEAST_MASS]
    return [tuple(int(i) for i in node) for node in nodes]


def _is_narrow(on_learning: NDArray[np.float64]) -> bool:
    """Say whether the SD along an axis is below what the first nodes, two apart, can resolve."""
    for axis, length in enumerate(on_learning.shape):
        other = tuple(i for i in range(on_learning.ndim) if i != axis)
        marginal, place = on_learning.sum(axis=other), np.arange(length)
        mean = np.sum(marginal * place)
        if length > 2 and np.sqrt(np.sum(marginal * (place - mean) ** 2)) < 2 * NARROW:
            return True
    return False
