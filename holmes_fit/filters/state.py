"""The memory of the compiled filter: particles, the tree that they share, and the arrays that one trial works in.

Whatever lies beyond a length in use is stale, left there by a particle that died. So levels, branches and leaves are
set, not added to, when they are first used. Arrays double when some particle could run out of room on the next trial.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Compiles a step of the filter. The step borrows its arrays and neither makes nor keeps any, so numba need not count
# references to them: with a dozen arrays a step, that would take longer than many of the steps.
step: Any = njit(cache=True, _nrt=False)  # type: ignore[call-overload]

ROOT = 0  # the node above level 0

# A row of branch counts: how many branches there are, the sum of their counts, then the counts.
N_BRANCHES, TOTAL, COUNTS = np.uint64(0), np.uint64(1), np.uint64(2)

_HEAD = 2  # entries of a row before the counts
_FIRST_BRANCHES = 6
_FIRST_LEAVES = 8
_FIRST_NODES = 256


class Particles(NamedTuple):
    """Every particle's hypothesis.

    Branch counts live in tables: one a particle, unless the copies of a particle share theirs. A row of counts belongs
    to a level and a table; rows stand level by level. A leaf takes several 64-bit words: its node, then its tally of
    16-bit counts. The tally holds for cue c how often it was absent (2c) and present (2c + 1), then the same for the
    outcome, then the number of visits.
    """

    most: NDArray[np.int32]  # two entries: branches at any level of any table, leaves of any particle
    table: NDArray[np.uint32]  # particle -> its table
    n_levels: NDArray[np.int32]  # table
    counts: NDArray[np.int32]  # level x table x row of [N_BRANCHES, TOTAL, counts ...]
    counts_as_words: NDArray[np.uint64]  # the same memory, two counts a word
    row_length: int
    depth: NDArray[np.int32]  # particle: levels of its last path, 0 before the first trial
    path: NDArray[np.uint32]  # level, particle: branches of its last path
    n_leaves: NDArray[np.int32]  # particle
    leaves: NDArray[np.uint64]  # particle x leaf x words
    tallies: NDArray[np.uint16]  # the same memory, four counts a word
    leaf_room: int  # leaves a particle has room for


class Tree(NamedTuple):
    """The register of nodes, common to all particles: a node is a parent and a branch, hence its whole prefix."""

    size: NDArray[np.int32]  # one entry: the number of nodes
    parent: NDArray[np.int32]  # node
    branch: NDArray[np.int32]  # node
    slot: NDArray[np.uint32]  # node: which of its leaves this is for the particle that came by last
    child: NDArray[np.int32]  # node x branch -> node, or -1
    fan: int  # branches that a node has room for


class Work(NamedTuple):
    """What one trial works in; nothing here outlives the trial."""

    seen: NDArray[np.uint32]  # cue: the entry of a tally that this trial speaks of
    seen_words: NDArray[np.uint64]  # what counts this trial into a tally
    seen_counts: NDArray[np.uint16]  # the same memory, four counts a word
    going: NDArray[np.uint32]  # the particles whose path still goes on
    on_last_path: NDArray[np.bool_]  # particle: whether its path has been that of the last trial so far
    depth: NDArray[np.int32]  # particle: levels of its new path
    node: NDArray[np.uint32]  # particle: where its path has got to
    start: NDArray[np.uint64]  # particle: the first word of its leaf
    cues: NDArray[np.float64]  # particle: likelihood of the cues, or its logarithm
    seen_outcome: NDArray[np.float64]  # particle: likelihood of the outcome, or its logarithm
    p_outcome: NDArray[np.float64]  # particle: its own prediction
    weight: NDArray[np.float64]  # particle
    point: NDArray[np.float64]  # particle: its draw for multinomial resampling
    upper_end: NDArray[np.float64]  # particle: sum of the weights up to its own
    offspring: NDArray[np.int32]  # particle: how many copies go on
    first_child: NDArray[np.uint32]
    dead: NDArray[np.uint32]  # slots without offspring, and beside each of them ...
    heir: NDArray[np.uint32]  # ... the particle that is copied there


@step
def words_a_leaf(n_cues):
    """Return how many 64-bit words a leaf takes: its node, then four counts a word."""
    return 1 + (2 * n_cues + 3 + 3) // 4


@njit(cache=True)
def new_particles(n_particles, max_depth, n_cues):
    """Make room for particles that know nothing."""
    counts = np.zeros(max_depth * n_particles * (_HEAD + _FIRST_BRANCHES), dtype=np.int32)
    leaves = np.zeros(n_particles * _FIRST_LEAVES * words_a_leaf(n_cues), dtype=np.uint64)
    return Particles(
        most=np.ones(2, dtype=np.int32),
        table=np.zeros(n_particles, dtype=np.uint32),
        n_levels=np.zeros(n_particles, dtype=np.int32),
        counts=counts,
        counts_as_words=counts.view(np.uint64),
        row_length=_HEAD + _FIRST_BRANCHES,
        depth=np.zeros(n_particles, dtype=np.int32),
        path=np.zeros((max_depth, n_particles), dtype=np.uint32),
        n_leaves=np.zeros(n_particles, dtype=np.int32),
        leaves=leaves,
        tallies=leaves.view(np.uint16),
        leaf_room=_FIRST_LEAVES,
    )


@njit(cache=True)
def new_tree():
    """Make room for a tree that has only its root."""
    return _tree_with_room(_FIRST_NODES, _HEAD + _FIRST_BRANCHES)


@njit(cache=True)
def new_work(n_particles, n_cues):
    """Make room for the numbers of one trial."""
    seen_words = np.empty(words_a_leaf(n_cues) - 1, dtype=np.uint64)
    return Work(
        seen=np.empty(n_cues, dtype=np.uint32),
        seen_words=seen_words,
        seen_counts=seen_words.view(np.uint16),
        going=np.empty(n_particles, dtype=np.uint32),
        on_last_path=np.empty(n_particles, dtype=np.bool_),
        depth=np.empty(n_particles, dtype=np.int32),
        node=np.empty(n_particles, dtype=np.uint32),
        start=np.empty(n_particles, dtype=np.uint64),
        cues=np.empty(n_particles),
        seen_outcome=np.empty(n_particles),
        p_outcome=np.empty(n_particles),
        weight=np.empty(n_particles),
        point=np.empty(n_particles),
        upper_end=np.empty(n_particles),
        offspring=np.empty(n_particles, dtype=np.int32),
        first_child=np.empty(n_particles + 1, dtype=np.uint32),
        dead=np.empty(n_particles + 1, dtype=np.uint32),
        heir=np.empty(n_particles + 1, dtype=np.uint32),
    )


@njit(cache=True)
def forget(particles, tree):
    """Start anew: lengths go to zero, what lies beyond them stays where it is."""
    particles.table[:] = np.arange(len(particles.table))
    particles.n_levels[:] = 0
    particles.depth[:] = 0
    particles.n_leaves[:] = 0
    tree.size[0] = 1
    tree.child[: tree.fan] = -1  # below the root


@step
def is_full(particles, most_new_branches, max_branches):
    """Say whether some particle could run out of room when it adds a leaf, and so many branches at a level."""
    branches = min(max_branches, particles.most[0] + most_new_branches)
    return _HEAD + branches > particles.row_length or particles.most[1] == particles.leaf_room


@njit(cache=True)
def widened(particles, most_new_branches):
    """Return the same particles with more room: for branches, for leaves, or for both."""
    n_particles = len(particles.table)
    n_rows = len(particles.counts) // particles.row_length
    needed = _HEAD + particles.most[0] + most_new_branches
    row_length = 2 * needed if needed > particles.row_length else particles.row_length
    counts = np.zeros((n_rows, row_length), dtype=np.int32)
    counts[:, : particles.row_length] = particles.counts.reshape((n_rows, particles.row_length))
    room = len(particles.leaves) // n_particles
    times = 2 if particles.most[1] == particles.leaf_room else 1
    leaves = np.zeros((n_particles, times * room), dtype=np.uint64)
    leaves[:, :room] = particles.leaves.reshape((n_particles, room))
    return Particles(
        most=particles.most,
        table=particles.table,
        n_levels=particles.n_levels,
        counts=counts.reshape(counts.size),
        counts_as_words=counts.reshape(counts.size).view(np.uint64),
        row_length=row_length,
        depth=particles.depth,
        path=particles.path,
        n_leaves=particles.n_leaves,
        leaves=leaves.reshape(leaves.size),
        tallies=leaves.reshape(leaves.size).view(np.uint16),
        leaf_room=times * particles.leaf_room,
    )


@step
def is_tree_full(tree, n_nodes, n_branches):
    """Say whether the tree could run out of room for so many more nodes, and so many branches below each node."""
    return tree.size[0] + n_nodes > len(tree.parent) or n_branches > tree.fan


@njit(cache=True)
def widened_tree(tree, n_nodes, n_branches):
    """Return the same tree with room for twice as many nodes."""
    size = tree.size[0]
    wider = _tree_with_room(2 * (size + n_nodes), n_branches)
    wider.size[0] = size
    wider.parent[:size] = tree.parent[:size]
    wider.branch[:size] = tree.branch[:size]
    wider.slot[:size] = tree.slot[:size]
    for node in range(1, size):
        wider.child[wider.parent[node] * n_branches + wider.branch[node]] = node
    return wider


@njit(cache=True)
def _tree_with_room(n_nodes, n_branches):
    return Tree(
        size=np.ones(1, dtype=np.int32),
        parent=np.full(n_nodes, -1, dtype=np.int32),
        branch=np.full(n_nodes, -1, dtype=np.int32),
        slot=np.zeros(n_nodes, dtype=np.uint32),
        child=np.full(n_nodes * n_branches, -1, dtype=np.int32),
        fan=n_branches,
    )


@step
def open_node(tree, parent, branch):
    """Enter a new node in the register."""
    node = tree.size[0]
    tree.size[0] = node + 1
    tree.parent[node] = parent
    tree.branch[node] = branch
    tree.slot[node] = 0
    for way in range(node * tree.fan, (node + 1) * tree.fan):
        tree.child[way] = -1
    tree.child[np.int64(parent) * tree.fan + branch] = node
