"""Step 6 of a trial: how many copies of each slot's particle go on, and in which slots."""

import numpy as np

from holmes_fit.models.filters.state import step


@step
def systematic_offspring(total_weight, first, slots, successors):
    """Count each slot's copies: how many of the points (first + j) / P fall into its share of the weight.

    Returns how many slots have none, and how many have several.
    """
    successor, weight = slots.successor, successors.weight
    n_slots = len(successor)
    per_point = n_slots / total_weight
    upper_end = 0.0
    placed = np.int64(0)
    last = 0
    n_dead, n_several = np.int64(0), np.int64(0)
    for slot in range(n_slots):
        own = weight[successor[slot]]
        upper_end += own * per_point
        last = slot if own > 0.0 else last
        placed_by_now = np.int64(min(np.ceil(upper_end - first), 1.0 * n_slots))
        slots.offspring[slot] = placed_by_now - placed
        n_dead, n_several = _register(slot, n_dead, n_several, slots, successors)
        placed = placed_by_now
    if placed < n_slots:
        slots.offspring[last] += n_slots - placed  # rounding: the last point lay beyond the end
        return _register_all(slots, successors)
    return n_dead, n_several


@step
def multinomial_offspring(point, slots, successors):
    """Count each slot's copies when every slot draws its parent on its own. Returns what systematic resampling does."""
    offspring, upper_end = slots.offspring, slots.upper_end
    total = 0.0
    last = 0
    for slot in range(len(offspring)):
        own = successors.weight[slots.successor[slot]]
        total += own
        upper_end[slot] = total
        last = slot if own > 0.0 else last
        offspring[slot] = 0
    for slot in range(len(offspring)):
        parent = np.searchsorted(upper_end, point[slot] * total, side="right")
        offspring[min(parent, last)] += 1  # rounding: a point can lie at the very end
    return _register_all(slots, successors)


@step
def _register(slot, n_dead, n_several, slots, successors):
    """Enter a slot in the list of the dead or of those with several copies, if it belongs there."""
    copies = slots.offspring[slot]
    slots.dead[n_dead] = slot
    slots.several[n_several] = slot
    successors.copies[slots.successor[slot]] += copies
    return n_dead + (copies == 0), n_several + (copies > 1)


@step
def _register_all(slots, successors):
    """Enter all slots in the two lists anew."""
    n_dead, n_several = np.int64(0), np.int64(0)
    for slot in range(len(slots.successor)):
        successors.copies[slots.successor[slot]] = 0
    for slot in range(len(slots.successor)):
        n_dead, n_several = _register(slot, n_dead, n_several, slots, successors)
    return n_dead, n_several


@step
def find_parents(n_several, slots):
    """Write beside each dead slot the slot that is copied there.

    Survivors keep their slot. Further copies go to the dead slots in order, those of the first survivor first.
    """
    parent = slots.parent
    n_spare = 0
    for place in range(n_several):
        slot = slots.several[place]
        n_more = slots.offspring[slot] - 1
        parent[n_spare] = parent[n_spare + 1] = slot  # most often it is one or two
        for spare in range(n_spare + 2, n_spare + n_more):
            parent[spare] = slot
        n_spare += n_more


@step
def keep_history(trial, n_dead, slots, leaves, ancestors):
    """Note where every slot's path ended, and whose particle it holds when the trial is over."""
    for slot in range(len(slots.node)):
        leaves[trial, slot] = slots.node[slot]
        ancestors[trial, slot] = slot
    for pair in range(n_dead):
        ancestors[trial, slots.dead[pair]] = slots.parent[pair]
