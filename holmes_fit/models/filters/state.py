"""The memory of the compiled filter: states of mind, the tree that they share, and the arrays that one trial works in.

Whatever lies beyond a length in use is stale, left there by a state that nobody holds any more. So levels, branches and
leaves are set, not added to, when they are first used. Arrays double when some state could run out of room on the next
trial.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Compiles what only compiled code calls, and spares it a way in from Python: to open that many tuples of arrays would
# take as long to compile as the rest.
inner: Any = partial(njit, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)

# Compiles a step of the filter. The step borrows its arrays and neither makes nor keeps any, so numba need not count
# references to them: with a dozen arrays a step, that would take longer than many of the steps.
step: Any = inner(_nrt=False, forceinline=True, error_model="numpy")

ROOT = 0  # the node above level 0
NOBODY = np.uint32(0xFFFF_FFFF)

BLOCK = np.uint64(8)  # branches are counted in blocks of so many, which are compared with a number at once

_FIRST_BRANCHES = 8
_FIRST_LEAVES = 8
_FIRST_NODES = 256
_ONE = np.uint64(1)


class States(NamedTuple):
    """What particles know. A state belongs to all slots whose particles have the same history.

    Branch counts live in tables: one a state, unless the copies of a particle share theirs. They are kept as sums up to
    and with each branch, which is where the branch ends on a wheel: a row of ends for a table and a level. A leaf takes
    several 64-bit words: its node, then its tally of 16-bit counts. The tally holds for cue c how often it was absent
    (2c) and present (2c + 1), then the same for the outcome, then the number of visits. Before the leaves of the first
    state stands a blank one, which is read where a state has no leaf yet.
    """

    most: NDArray[np.int32]  # three entries: branches at any level of any table, leaves of any state, states in use
    free: NDArray[np.uint32]  # states that nobody holds: a stack
    n_free: NDArray[np.int32]  # one entry: its height
    table: NDArray[np.uint32]  # state -> its table
    n_levels: NDArray[np.int32]  # table
    n_branches: NDArray[np.uint32]  # table, level
    ends: NDArray[np.int32]  # table x level x blocks of branches: counts up to this branch
    ends_as_words: NDArray[np.uint64]  # the same memory, two ends a word
    row_length: int
    depth: NDArray[np.int32]  # state: levels of its last path, 0 before the first trial
    trail: NDArray[np.uint32]  # state, level: nodes of its last path
    n_leaves: NDArray[np.int32]  # state
    leaves: NDArray[np.uint64]  # a blank leaf, then state x leaf x words
    tallies: NDArray[np.uint16]  # the same memory, four counts a word
    leaf_room: int  # leaves a state has room for


class Tree(NamedTuple):
    """The register of nodes, common to all states: a node is a parent and a branch, hence its whole prefix."""

    size: NDArray[np.int32]  # one entry: the number of nodes
    parent: NDArray[np.int32]  # node
    branch: NDArray[np.int32]  # node
    level: NDArray[np.int32]  # node
    leaf: NDArray[np.uint32]  # node: which of its leaves this was for the state that came by last
    successor: NDArray[np.uint32]  # node: the last successor that ends there
    child: NDArray[np.int32]  # node x branch -> node, or -1
    fan: int  # branches that a node has room for


class Slots(NamedTuple):
    """The particles by number, and who holds what. Slots of one state stand side by side in ``order``: its *run*."""

    order: NDArray[np.uint32]
    n_runs: NDArray[np.int32]  # one entry
    state: NDArray[np.uint32]  # run
    begin: NDArray[np.uint32]  # run: where it begins in ``order``; one more entry for the end of the last
    heir: NDArray[np.uint32]  # run: the successor that takes its state over
    filled: NDArray[np.uint32]  # run: its first place in ``order`` that is not filled yet
    node: NDArray[np.uint32]  # slot: where its path has got to
    successor: NDArray[np.uint32]  # slot: what its particle becomes on this trial
    point: NDArray[np.float64]  # slot: its draw for multinomial resampling
    upper_end: NDArray[np.float64]  # slot: sum of the weights up to its own
    offspring: NDArray[np.int32]  # slot: how many copies of its particle go on
    dead: NDArray[np.uint32]  # slots without offspring, and beside each of them ...
    parent: NDArray[np.uint32]  # ... the slot whose particle is copied there
    several: NDArray[np.uint32]  # slots with more than one copy


class Going(NamedTuple):
    """The slots whose paths still go on, in the order of their runs, while paths are drawn level by level.

    Places are worked on in blocks. The last block of a run may reach into the next run, which then works on its places
    again, or beyond the end, where there is room for it.
    """

    slot: NDArray[np.uint32]
    state: NDArray[np.uint32]  # run
    begin: NDArray[np.uint32]  # run
    u_branch: NDArray[np.float64]
    u_stop: NDArray[np.float64]
    branch: NDArray[np.int32]
    n_before: NDArray[np.uint32]  # how many of the slots before this place go on
    way: NDArray[np.int64]  # by slot: the way into a node that has to be opened, or -1


class Successors(NamedTuple):
    """What the states become on this trial: a state and the leaf that its path leads to, each pair once."""

    state: NDArray[np.uint32]
    run: NDArray[np.uint32]
    node: NDArray[np.uint32]
    leaf: NDArray[np.uint32]  # which of the state's leaves that is; one that it lacks comes after all others
    copies: NDArray[np.int32]  # how many slots hold it after resampling
    alive: NDArray[np.uint32]  # a list of those that some slot holds then
    cues: NDArray[np.float64]  # likelihood of the cues, or its logarithm
    seen_outcome: NDArray[np.float64]  # likelihood of the outcome, or its logarithm
    p_outcome: NDArray[np.float64]  # its own prediction
    predicted: NDArray[np.float64]  # its prediction, weighted by the cues
    weight: NDArray[np.float64]


class Seen(NamedTuple):
    """What a trial shows."""

    entry: NDArray[np.uint32]  # cue: the entry of a tally that this trial speaks of
    words: NDArray[np.uint64]  # what counts this trial into a tally
    counts: NDArray[np.uint16]  # the same memory, four counts a word


@step
def words_a_leaf(n_cues):
    """Return how many 64-bit words a leaf takes: its node, then four counts a word."""
    return 1 + (2 * n_cues + 3 + 3) // 4


@inner()
def new_states(n_states, max_depth, n_cues):
    """Make room for states that know nothing."""
    ends = np.zeros(n_states * max_depth * _FIRST_BRANCHES, dtype=np.int32)
    leaves = np.zeros((1 + n_states * _FIRST_LEAVES) * words_a_leaf(n_cues), dtype=np.uint64)
    return States(
        most=np.ones(3, dtype=np.int32),
        free=np.empty(n_states + 1, dtype=np.uint32),
        n_free=np.zeros(1, dtype=np.int32),
        table=np.zeros(n_states, dtype=np.uint32),
        n_levels=np.zeros(n_states, dtype=np.int32),
        n_branches=np.zeros((n_states, max_depth), dtype=np.uint32),
        ends=ends,
        ends_as_words=ends.view(np.uint64),
        row_length=_FIRST_BRANCHES,
        depth=np.zeros(n_states, dtype=np.int32),
        trail=np.zeros((n_states, max_depth), dtype=np.uint32),
        n_leaves=np.zeros(n_states, dtype=np.int32),
        leaves=leaves,
        tallies=leaves.view(np.uint16),
        leaf_room=_FIRST_LEAVES,
    )


@inner()
def new_tree():
    """Make room for a tree that has only its root."""
    return _tree_with_room(_FIRST_NODES, _FIRST_BRANCHES)


@inner()
def new_slots(n_slots):
    """Make room for particles."""
    return Slots(
        order=np.empty(n_slots, dtype=np.uint32),
        n_runs=np.zeros(1, dtype=np.int32),
        state=np.empty(n_slots, dtype=np.uint32),
        begin=np.empty(n_slots + 1, dtype=np.uint32),
        heir=np.empty(n_slots, dtype=np.uint32),
        filled=np.empty(n_slots, dtype=np.uint32),
        node=np.empty(n_slots, dtype=np.uint32),
        successor=np.empty(n_slots, dtype=np.uint32),
        point=np.empty(n_slots),
        upper_end=np.empty(n_slots),
        offspring=np.empty(n_slots, dtype=np.int32),
        dead=np.empty(n_slots + 1, dtype=np.uint32),
        parent=np.empty(n_slots + 2, dtype=np.uint32),
        several=np.empty(n_slots + 1, dtype=np.uint32),
    )


@inner()
def new_going(n_slots):
    """Make room for paths that are being drawn."""
    room = n_slots + int(BLOCK)
    return Going(
        slot=np.zeros(room, dtype=np.uint32),
        state=np.empty(n_slots, dtype=np.uint32),
        begin=np.empty(n_slots + 1, dtype=np.uint32),
        u_branch=np.zeros(room),
        u_stop=np.empty(n_slots),
        branch=np.empty(room, dtype=np.int32),
        n_before=np.empty(n_slots + 1, dtype=np.uint32),
        way=np.full(n_slots, -1, dtype=np.int64),
    )


@inner()
def new_successors(n_slots):
    """Make room for what states become."""
    return Successors(
        state=np.empty(n_slots, dtype=np.uint32),
        run=np.empty(n_slots, dtype=np.uint32),
        node=np.empty(n_slots, dtype=np.uint32),
        leaf=np.empty(n_slots, dtype=np.uint32),
        copies=np.empty(n_slots, dtype=np.int32),
        alive=np.empty(n_slots + 1, dtype=np.uint32),
        cues=np.empty(n_slots),
        seen_outcome=np.empty(n_slots),
        p_outcome=np.empty(n_slots),
        predicted=np.empty(n_slots),
        weight=np.empty(n_slots),
    )


@inner()
def new_seen(n_cues):
    """Make room for what a trial shows."""
    words = np.empty(words_a_leaf(n_cues) - 1, dtype=np.uint64)
    return Seen(entry=np.empty(n_cues, dtype=np.uint32), words=words, counts=words.view(np.uint16))


@inner()
def forget(states, tree, slots, shared_counts):
    """Start anew: all slots hold one blank state, or a state each where they write into tables of their own."""
    n_slots = len(slots.order)
    n_runs = n_slots if shared_counts else 1
    slots.n_runs[0] = n_runs
    slots.begin[n_runs] = n_slots
    for slot in range(n_slots):
        slots.order[slot] = slot
        states.free[slot] = n_slots - 1 - slot  # the lowest number on top
    for run in range(n_runs):
        slots.begin[run] = run
        slots.state[run] = run
        states.table[run] = run
        states.n_levels[run] = 0
        states.depth[run] = 0
        states.n_leaves[run] = 0
    states.n_free[0] = n_slots - n_runs
    states.most[2] = max(states.most[2], n_runs)
    tree.size[0] = 1
    for way in range(tree.fan):
        tree.child[way] = -1  # below the root


@step
def is_full(states, most_new_branches, max_branches):
    """Say whether some state could run out of room when it adds a leaf, and so many branches at a level."""
    branches = min(max_branches, states.most[0] + most_new_branches)
    return branches > states.row_length or states.most[1] == states.leaf_room


@step
def copy_rows(source, source_begin, source_length, target, target_begin, target_length, n_rows):
    """Copy rows into longer ones, entry by entry: slices would compile the words of errors that cannot happen."""
    for row in range(n_rows):
        for entry in range(source_length):
            target[target_begin + row * target_length + entry] = source[source_begin + row * source_length + entry]


@inner()
def widened(states, most_new_branches):
    """Return the same states with more room: for branches, for leaves, or for both."""
    n_states, max_depth = states.trail.shape
    in_use = states.most[2]
    needed = int(blocks_of(states.most[0] + most_new_branches) * BLOCK)
    row_length = 2 * needed if needed > states.row_length else states.row_length
    ends = np.zeros(n_states * max_depth * row_length, dtype=np.int32)
    copy_rows(states.ends, 0, states.row_length, ends, 0, row_length, in_use * max_depth)
    n_words = len(states.leaves) // (1 + n_states * states.leaf_room)
    room = states.leaf_room * n_words
    times = 2 if states.most[1] == states.leaf_room else 1
    leaves = np.zeros(n_words + n_states * times * room, dtype=np.uint64)
    copy_rows(states.leaves, n_words, room, leaves, n_words, times * room, in_use)
    return States(
        most=states.most,
        free=states.free,
        n_free=states.n_free,
        table=states.table,
        n_levels=states.n_levels,
        n_branches=states.n_branches,
        ends=ends,
        ends_as_words=ends.view(np.uint64),
        row_length=row_length,
        depth=states.depth,
        trail=states.trail,
        n_leaves=states.n_leaves,
        leaves=leaves,
        tallies=leaves.view(np.uint16),
        leaf_room=times * states.leaf_room,
    )


@step
def blocks_of(n_branches):
    """Return how many blocks so many branches take."""
    return (np.uint64(n_branches) + BLOCK - _ONE) // BLOCK


@step
def is_tree_full(tree, n_nodes, n_branches):
    """Say whether the tree could run out of room for so many more nodes, and so many branches below each node."""
    return tree.size[0] + n_nodes > len(tree.parent) or n_branches > tree.fan


@inner()
def widened_tree(tree, n_nodes, n_branches):
    """Return the same tree with room for twice as many nodes."""
    size = tree.size[0]
    wider = _tree_with_room(2 * (size + n_nodes), n_branches)
    wider.size[0] = size
    for node in range(size):
        wider.parent[node], wider.branch[node] = tree.parent[node], tree.branch[node]
        wider.level[node], wider.leaf[node] = tree.level[node], tree.leaf[node]
        wider.successor[node] = tree.successor[node]
        for branch in range(n_branches):
            wider.child[node * n_branches + branch] = -1
    for node in range(1, size):
        wider.child[wider.parent[node] * n_branches + wider.branch[node]] = node
    return wider


@inner()
def _tree_with_room(n_nodes, n_branches):
    tree = Tree(
        size=np.ones(1, dtype=np.int32),
        parent=np.empty(n_nodes, dtype=np.int32),
        branch=np.empty(n_nodes, dtype=np.int32),
        level=np.empty(n_nodes, dtype=np.int32),
        leaf=np.empty(n_nodes, dtype=np.uint32),
        successor=np.empty(n_nodes, dtype=np.uint32),
        child=np.empty(n_nodes * n_branches, dtype=np.int32),
        fan=n_branches,
    )
    tree.parent[ROOT] = tree.branch[ROOT] = tree.level[ROOT] = -1
    return tree


@step
def open_node(tree, parent, branch):
    """Enter a new node in the register."""
    node = tree.size[0]
    tree.size[0] = node + 1
    tree.parent[node] = parent
    tree.branch[node] = branch
    tree.level[node] = tree.level[parent] + 1
    tree.leaf[node] = 0
    tree.successor[node] = 0
    for way in range(node * tree.fan, (node + 1) * tree.fan):
        tree.child[way] = -1
    tree.child[np.int64(parent) * tree.fan + branch] = node
