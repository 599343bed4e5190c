"""What the surviving particles say: which cause was at work on each trial, and the tree that they grew.

Particles die and are replaced by copies, so the history of the particles that are alive at the end is read backwards:
from each of them through the slots that its ancestors had. A particle that died has no say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters.settings import History
from holmes_fit.trials.observations import Observations

if TYPE_CHECKING:
    import pandas as pd

NO_NODE = -1
ENOUGH_TRIALS = 0.1  # the share of trials that must have a node at a depth for it to be read there


def surviving_leaves(history: History) -> NDArray[np.int32]:
    """Return the leaf of every trial (rows) in the history of every final particle (columns)."""
    slots = np.arange(history.ancestors.shape[1])
    leaves = np.empty_like(history.leaves)
    for trial in range(len(leaves) - 1, -1, -1):
        slots = history.ancestors[trial, slots]
        leaves[trial] = history.leaves[trial, slots]
    return leaves


def nodes_at(history: History, leaves: NDArray[np.int32], depth: int) -> NDArray[np.int32]:
    """Return the node at ``depth`` on the way to each leaf; ``NO_NODE`` where the path ended above it."""
    ancestor = np.arange(len(history.parent), dtype=np.int32)
    for _ in range(max(0, int(history.level.max()) - depth)):
        ancestor = np.where(history.level[ancestor] > depth, history.parent[ancestor], ancestor)
    ancestor[history.level < depth] = NO_NODE
    return ancestor[leaves]


def assignments(history: History, depth: int = 0) -> NDArray[np.int32]:
    """Return the node that most surviving particles assign each trial to, at one depth (0 for the flat model).

    Only particles whose path reaches that depth vote. Ties go to the lowest node; without a voter there is
    ``NO_NODE``.
    """
    return _majority(nodes_at(history, surviving_leaves(history), depth))


def readable_assignments(history: History, depth: int, anchor: int) -> tuple[NDArray[np.int32], int]:
    """Return the assignments at ``depth``, or at the next shallower depth that can be read, and that depth.

    A depth can be read if at least a tenth of the trials have a node there, and so does the ``anchor`` trial.
    """
    leaves = surviving_leaves(history)
    for candidate in range(depth, 0, -1):
        assigned = _majority(nodes_at(history, leaves, candidate))
        if np.mean(assigned != NO_NODE) >= ENOUGH_TRIALS and assigned[anchor] != NO_NODE:
            return assigned, candidate
    return _majority(nodes_at(history, leaves, 0)), 0  # every path has a level 0


def _majority(nodes: NDArray[np.int32]) -> NDArray[np.int32]:
    n_trials, n_particles = nodes.shape
    known, codes = np.unique(nodes, return_inverse=True)
    cells = np.repeat(np.arange(n_trials), n_particles) * len(known) + codes.ravel()
    votes = np.bincount(cells, minlength=n_trials * len(known)).reshape(n_trials, len(known))
    votes[:, known == NO_NODE] = 0
    return np.where(votes.any(axis=1), known[votes.argmax(axis=1)], NO_NODE).astype(np.int32)


def tree_table(history: History, observations: Observations, cue_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the tree of the surviving particles, a row a node, parents before children; node 0 is the root.

    ``visits`` and ``leaf_visits`` are the trials whose path goes through a node, and ends there: means over particles.
    Rates are shares of those trials: of outcomes where one was shown, missing where none was, and of each cue.
    """
    import pandas as pd

    names = list(cue_names) if cue_names is not None else [f"cue_{cue}" for cue in range(observations.n_cues)]
    leaves = surviving_leaves(history)
    kept = _nodes_on_paths(history, np.unique(leaves))  # in the order of their numbers, so parents before children
    leaf_visits = _visits_by_trial(np.searchsorted(kept, leaves), len(kept))
    through = leaf_visits.copy()
    for place in range(len(kept) - 1, 0, -1):
        through[np.searchsorted(kept, history.parent[kept[place]])] += through[place]

    shown = observations.feedback
    visits = through.sum(axis=1)
    with np.errstate(invalid="ignore"):
        outcome_rate = through[:, shown] @ observations.outcome[shown] / through[:, shown].sum(axis=1)
        cue_rates = through @ observations.cues / visits[:, None]
    table = pd.DataFrame(
        {
            "node": kept,
            "parent": history.parent[kept],
            "level": history.level[kept],
            "branch": history.branch[kept],
            "visits": visits,
            "leaf_visits": leaf_visits.sum(axis=1),
            "outcome_rate": outcome_rate,
        }
    ).join(pd.DataFrame(cue_rates, columns=names))
    return table[table["level"] >= 0].sort_values(["level", "node"], ignore_index=True)


def _nodes_on_paths(history: History, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the leaves and all nodes above them, the root included."""
    on_path = np.zeros(len(history.parent), dtype=bool)
    level_by_level = leaves
    while len(level_by_level):
        on_path[level_by_level] = True
        level_by_level = np.unique(history.parent[level_by_level])
        level_by_level = level_by_level[level_by_level >= 0]
    return np.flatnonzero(on_path).astype(np.int32)


def _visits_by_trial(leaves: NDArray[np.intp], n_nodes: int) -> NDArray[np.float64]:
    """Return for every node (rows) and trial (columns) the share of particles whose path ended there."""
    n_trials, n_particles = leaves.shape
    cells = leaves.ravel() * n_trials + np.repeat(np.arange(n_trials), n_particles)
    return np.bincount(cells, minlength=n_nodes * n_trials).reshape(n_nodes, n_trials) / n_particles
