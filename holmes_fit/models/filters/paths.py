"""Step 1 of a trial: every slot draws a path from the prior, and slots that are still the same get one successor.

Slots of one state stand side by side, so that their paths are drawn from the same few numbers: a wheel for a state and
a level. Where particles differ, both ways are computed and one is selected, because a wrongly predicted jump costs more
than a few additions.
"""

import numpy as np

from holmes_fit.models.filters import draws
from holmes_fit.models.filters.counting import count_branch, count_of, row_of
from holmes_fit.models.filters.state import BLOCK, ROOT, open_node, step

_FEW = np.uint64(1)  # so many slots are not worth a block
_BEYOND = 2.0**31 - 2.0  # more than any count, and less than what stands where there is no branch
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@step
def sample_paths(states, tree, settings, tables, key, replicate, trial, slots, going):
    """Draw every slot's path from the prior, level by level, and leave in ``slots.node`` where it ends."""
    n_runs = np.int64(slots.n_runs[0])
    for slot in range(settings.particles):
        going.slot[slot] = slots.order[slot]
        slots.node[slot] = ROOT
    for run in range(n_runs):
        going.state[run] = slots.state[run]
        going.begin[run] = slots.begin[run]
    going.begin[n_runs] = settings.particles
    level = np.int64(0)
    while n_runs > 0:
        count = going.begin[n_runs]
        draws.fill_pairs(key, replicate, trial, level, going.slot, count, going.u_branch, going.u_stop)
        for run in range(n_runs):
            _choose_branches(states, tree, settings, tables.concentration[level], level, run, slots, going)
        if _take_branches(tree, count, slots, going):
            _open_nodes(tree, slots, going)
        is_last_level = level + 1 == settings.max_depth
        n_runs = np.int64(0) if is_last_level else _keep_going(tables.stop_probability[level], count, n_runs, going)
        level += 1


@step
def _choose_branches(states, tree, settings, alpha, level, run, slots, going):
    """Choose a branch at a level for every slot of a run."""
    state, begin, end = going.state[run], np.uint64(going.begin[run]), np.uint64(going.begin[run + 1])
    table = states.table[state]
    row = row_of(states, table, level)
    n_branches = states.n_branches[table, level] if level < states.n_levels[table] else np.uint32(0)
    total = states.ends[row + np.uint64(n_branches) - _ONE] if n_branches > 0 else np.int32(0)

    # Stickiness favours the branch of the last path, where that path reached this level (Eq. stickiness).
    is_boosted = settings.sticky and level < states.depth[state]
    favourite = tree.branch[states.trail[state, level]] if is_boosted else np.int32(0)
    bonus = settings.omega * count_of(states, row, favourite) if is_boosted else 0.0
    last_node = states.trail[state, level - 1] if is_boosted and level > 0 else np.uint32(ROOT)

    # Old branches by their counts, a new one by alpha_l (Eq. ncrp_existingnew): one turn of a wheel that has the bonus
    # first, then the counts, then the new branch. The first branch at a level is certain.
    new = alpha if n_branches < settings.max_branches else 0.0
    last_branch = np.int32(np.int32(n_branches) - np.int32(new == 0.0 and n_branches > 0))
    wheel = (row, total, new, bonus, favourite, last_branch, last_node)
    if n_branches <= BLOCK:
        _turn(states.ends, wheel, BLOCK, settings.sticky_by_node, begin, end, slots, going)
    elif n_branches <= _TWO * BLOCK:
        _turn(states.ends, wheel, _TWO * BLOCK, settings.sticky_by_node, begin, end, slots, going)
    else:
        _turn(states.ends, wheel, np.uint64(n_branches), settings.sticky_by_node, begin, end, slots, going)
    if settings.shared_counts:
        count_branch(states, table, level, going.branch[begin])


@step
def _turn(ends, wheel, n_ends, by_node, begin, end, slots, going):
    """Turn the wheel for the slots of a run. A block of them with a constant number of ends is done at once."""
    if end - begin <= _FEW:
        for place in range(begin, end):
            _turn_once(ends, wheel, n_ends, by_node, place, slots, going)
    else:
        for block in range(begin, end, BLOCK):
            for place in range(block, block + BLOCK):
                _turn_once(ends, wheel, n_ends, by_node, place, slots, going)


@step
def _turn_once(ends, wheel, n_ends, by_node, place, slots, going):
    """Turn the wheel for one slot; if it did not leave the bonus, it stopped at the favourite."""
    row, total, new, bonus, favourite, last_branch, last_node = wheel
    own_bonus = 0.0 if by_node and slots.node[going.slot[place]] != last_node else bonus
    point = going.u_branch[place] * (own_bonus + total + new) - own_bonus
    whole = np.int32(min(point, _BEYOND))
    branch = np.int32(0)
    for entry in range(n_ends):
        branch += np.int32(ends[row + entry] <= whole)
    branch = min(branch, last_branch)  # rounding: the wheel may stop at its very end
    going.branch[place] = favourite if point < 0.0 else branch


@step
def _take_branches(tree, count, slots, going):
    """Let slots take their branches, and say whether one of them leads into a new node."""
    node, child, fan = slots.node, tree.child, np.uint64(tree.fan)
    is_new_node = False
    for place in range(np.uint64(count)):
        slot = going.slot[place]
        way = np.uint64(node[slot]) * fan + np.uint64(going.branch[place])
        if child[way] < 0:
            going.way[slot] = way
            is_new_node = True
        else:
            node[slot] = child[way]
    return is_new_node


@step
def _keep_going(stop_probability, count, n_runs, going):
    """Keep the slots whose paths go on, and the runs that still have some; return how many runs there are.

    The stop test before level l uses alpha_(l-1), the concentration of the level just entered (Eq. stopping).
    """
    n_next = np.uint64(0)
    for place in range(np.uint64(count)):
        going.n_before[place] = n_next
        going.slot[n_next] = going.slot[place]
        n_next += np.uint64(not going.u_stop[place] < stop_probability)
    going.n_before[count] = n_next
    n_runs_next = 0
    begin = np.uint32(0)
    for run in range(n_runs):
        end = going.n_before[going.begin[run + 1]]
        going.state[n_runs_next] = going.state[run]
        going.begin[n_runs_next] = begin
        n_runs_next += end > begin
        begin = end
    going.begin[n_runs_next] = begin
    return n_runs_next


@step
def _open_nodes(tree, slots, going):
    """Open nodes in the order of the slots that want them, whatever the order of their states."""
    for slot in range(len(slots.node)):
        way = going.way[slot]
        if way >= 0:
            if tree.child[way] < 0:
                open_node(tree, way // tree.fan, way % tree.fan)
            slots.node[slot] = tree.child[way]
            going.way[slot] = -1


@step
def tell_apart(tree, slots, successors):
    """Give slots of one state that end at the same leaf one successor, and return how many successors there are."""
    order, node, successor, last = slots.order, slots.node, slots.successor, tree.successor
    count, begin = np.uint64(0), np.uint64(0)
    for run in range(slots.n_runs[0]):
        first, end = count, np.uint64(slots.begin[run + 1])
        for place in range(begin, end):
            slot = order[place]
            leaf = node[slot]
            own = np.uint64(last[leaf])
            if own < first or own >= count or successors.node[own] != leaf:
                own = count
                count += _ONE
                last[leaf] = own
                successors.node[own] = leaf
                successors.run[own] = run
                successors.state[own] = slots.state[run]
                successors.copies[own] = 0
            successor[slot] = own
        begin = end
    return count
