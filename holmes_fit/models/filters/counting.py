"""Step 5 of a trial, for those who go on: a survivor has a state that nobody else holds, and counts the trial in.

The last survivor of a state takes it over, when all others have their copies. States without a survivor are free again.
"""

import numpy as np

from holmes_fit.models.filters.state import BLOCK, NOBODY, ROOT, blocks_of, step, words_a_leaf

_NO_BRANCH = np.int32(2**31 - 1)  # stands in a block where there is no branch
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@step
def go_on(states, tree, n_cues, n_successors, seen, slots, successors):
    """Let every successor that survives have a state of its own, and count the trial in there.

    New runs replace the old ones.
    """
    heir, alive, copies = slots.heir, successors.alive, successors.copies
    for run in range(slots.n_runs[0]):
        heir[run] = NOBODY
    n_alive = 0
    for own in range(n_successors):
        run = successors.run[own]
        is_alive = copies[own] > 0
        heir[run] = own if is_alive else heir[run]
        alive[n_alive] = own
        n_alive += is_alive
    _give_back(states, slots)
    slots.n_runs[0] = n_alive
    slots.begin[0] = 0
    for run in range(n_alive):
        own = alive[run]
        state = successors.state[own]
        if heir[successors.run[own]] != own:
            state = _take_state(states)
            _copy_state(states, successors.state[own], state, False, n_cues)
        _count_path(states, tree, state, successors.node[own], True)
        _count_trial(states, n_cues, state, successors.node[own], successors.leaf[own], seen)
        slots.state[run] = state
        slots.begin[run + 1] = slots.begin[run] + copies[own]
        successors.run[own] = run


@step
def _take_state(states):
    """Return a state that nobody holds."""
    height = states.n_free[0] - 1
    states.n_free[0] = height
    state = states.free[height]
    states.most[2] = max(states.most[2], np.int64(state) + 1)
    return state


@step
def _give_back(states, slots):
    """Let go of the states of runs without an heir."""
    height = states.n_free[0]
    for run in range(slots.n_runs[0]):
        states.free[height] = slots.state[run]
        height += slots.heir[run] == NOBODY
    states.n_free[0] = height


@step
def _copy_state(states, source, target, shared_counts, n_cues):
    """Copy one state over another: the part in use, and nothing else. The last path is left to whoever takes one."""
    leaves, ends = states.leaves, states.ends_as_words
    n_words = np.uint64(words_a_leaf(n_cues))
    room = np.uint64(states.leaf_room) * n_words
    states.n_leaves[target] = states.n_leaves[source]
    source_leaf = n_words + np.uint64(source) * room
    target_leaf = n_words + np.uint64(target) * room
    for block in range((np.uint64(states.n_leaves[source]) * n_words + BLOCK - _ONE) // BLOCK):
        for word in range(BLOCK):
            leaves[target_leaf + block * BLOCK + word] = leaves[source_leaf + block * BLOCK + word]
    if shared_counts:
        states.table[target] = states.table[source]
        return
    states.table[target] = target
    states.n_levels[target] = states.n_levels[source]
    for level in range(states.n_levels[source]):
        n_branches = states.n_branches[source, level]
        states.n_branches[target, level] = n_branches
        source_row, target_row = row_of(states, source, level) // _TWO, row_of(states, target, level) // _TWO
        for word in range(BLOCK // _TWO):
            ends[target_row + word] = ends[source_row + word]
        for word in range(BLOCK // _TWO, blocks_of(n_branches) * (BLOCK // _TWO)):
            ends[target_row + word] = ends[source_row + word]


@step
def line_up(n_dead, slots, successors):
    """Let dead slots point to what their parents have become, and put the slots of one state side by side."""
    successor, order, filled = slots.successor, slots.order, slots.filled
    for pair in range(n_dead):
        successor[slots.dead[pair]] = successor[slots.parent[pair]]
    for run in range(slots.n_runs[0]):
        filled[run] = slots.begin[run]
    for slot in range(len(order)):
        run = successors.run[successor[slot]]
        order[filled[run]] = slot
        filled[run] += 1


@step
def go_on_apart(states, tree, n_cues, n_dead, seen, slots, successors):
    """Let every slot have a state of its own: that of its number. Only the tables of branch counts are shared."""
    for pair in range(n_dead):
        slot, parent = slots.dead[pair], slots.parent[pair]
        _copy_state(states, parent, slot, True, n_cues)
        successors.node[slot] = successors.node[parent]
        successors.leaf[slot] = successors.leaf[parent]
    for slot in range(len(slots.order)):
        _count_path(states, tree, slot, successors.node[slot], False)
        _count_trial(states, n_cues, slot, successors.node[slot], successors.leaf[slot], seen)


@step
def _count_path(states, tree, state, node, counts_branches):
    """Remember the path to a node as the last one, and count its branches, if that has not been done yet."""
    states.depth[state] = tree.level[node] + 1
    while node != ROOT:
        level = tree.level[node]
        states.trail[state, level] = node
        if counts_branches:
            count_branch(states, state, level, tree.branch[node])
        node = np.uint32(tree.parent[node])


@step
def count_branch(states, table, level, branch):
    """Count a branch that was taken at a level, and open it if it is new."""
    ends = states.ends
    row = row_of(states, table, level)
    for new_level in range(states.n_levels[table], level + 1):
        states.n_branches[table, new_level] = 0
        states.n_levels[table] = new_level + 1
    n_branches = np.uint64(states.n_branches[table, level])
    place = np.uint64(branch)
    if place == n_branches:
        if place % BLOCK == 0:
            for entry in range(row + place, row + place + BLOCK):
                ends[entry] = _NO_BRANCH
        ends[row + place] = ends[row + place - _ONE] if place > 0 else 0
        n_branches += _ONE
        states.n_branches[table, level] = n_branches
        states.most[0] = max(states.most[0], np.int64(n_branches))
    for entry in range(BLOCK):  # a number of turns that is always the same is done at once
        ends[row + entry] += np.int32((entry >= place) & (entry < n_branches))
    for entry in range(max(place, BLOCK), n_branches):
        ends[row + entry] += 1


@step
def row_of(states, table, level):
    """Return where the ends of a table's branches at a level begin."""
    return (np.uint64(table) * np.uint64(states.trail.shape[1]) + np.uint64(level)) * np.uint64(states.row_length)


@step
def count_of(states, row, branch):
    """Return how often a branch was taken."""
    end = row + np.uint64(branch)
    return states.ends[end] - (states.ends[end - _ONE] if branch > 0 else 0)


@step
def _count_trial(states, n_cues, state, node, leaf, seen):
    """Count the trial in at a leaf (Eqs. nupdate_full and bupdate_full), which is new if the state has none there."""
    n_words = np.uint64(words_a_leaf(n_cues))
    place = _ONE + np.uint64(state) * np.uint64(states.leaf_room) + np.uint64(leaf)
    first = place * n_words
    if leaf == states.n_leaves[state]:
        states.n_leaves[state] = leaf + 1
        states.most[1] = max(states.most[1], leaf + 1)
        states.leaves[first] = node
        for word in range(_ONE, n_words):
            states.leaves[first + word] = 0
    for word in range(np.uint64(len(seen.words))):
        states.leaves[first + _ONE + word] += seen.words[word]
