"""The particle filter, compiled: one kernel for every variant of the prior. ``plain`` says the same in plain words.

How it is fast. Counts are integers, and Omega + count, or its logarithm, comes from a table. Likelihoods are products
where no product of this sequence can leave the range of floating-point numbers, and sums of logarithms elsewhere. A
particle that survives resampling stays where it is; a copy goes only into the place of a dead one, and only the part
in use is copied.
Four 16-bit counts sit in one 64-bit word and are added and copied together. Paths are drawn level by level for all
particles, so that what is read lies side by side; and where particles differ, both ways are computed and one is
selected, because a wrongly predicted jump costs more than a few additions. Indices that can never be negative are
unsigned, which spares the test for it. Nothing is allocated on a trial, except when arrays double.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holmes_fit.filters import draws
from holmes_fit.filters.settings import History, Settings
from holmes_fit.filters.state import (
    COUNTS,
    N_BRANCHES,
    ROOT,
    TOTAL,
    forget,
    is_full,
    is_tree_full,
    new_particles,
    new_tree,
    new_work,
    open_node,
    step,
    widened,
    widened_tree,
    words_a_leaf,
)
from holmes_fit.observations import Observations

_COUNTS_A_WORD = np.uint64(4)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SAFE_LOG = 300.0  # half of the largest logarithm that a floating-point number can have, and less


def p_hat_traces(
    observations: Observations, settings: Settings, key: np.uint64, replicates: int, first_replicate: int = 0
) -> NDArray[np.float64]:
    """Return p-hat (replicates x trials) from independent filters over the same trials."""
    replicate = np.arange(first_replicate, first_replicate + replicates, dtype=np.int64)
    luck = np.repeat(replicate[:, np.newaxis], observations.n_trials, axis=1)
    return traces_of_luck(observations, settings, key, luck)


def traces_of_luck(
    observations: Observations, settings: Settings, key: np.uint64, luck: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return p-hat (rows x trials) from filters that draw on every trial as the replicate that ``luck`` names there.

    Filters whose luck is the same up to a trial do the same up to it; a new number is fresh luck from there on.
    """
    p_hat = np.empty(luck.shape)
    none = np.empty((0, 0), dtype=np.int32)
    _run(*_arrays(observations), settings, key, luck, p_hat, none, none)
    return p_hat


def trace_with_history(
    observations: Observations, settings: Settings, key: np.uint64, replicate: int = 0
) -> tuple[NDArray[np.float64], History]:
    """Return one filter's p-hat together with everything its particles did."""
    p_hat = np.empty((1, observations.n_trials))
    leaves = np.empty((observations.n_trials, settings.particles), dtype=np.int32)
    ancestors = np.empty_like(leaves)
    luck = np.full(p_hat.shape, replicate, dtype=np.int64)
    parent, branch = _run(*_arrays(observations), settings, key, luck, p_hat, leaves, ancestors)
    return p_hat[0], History(leaves, ancestors, parent, branch, _levels(parent))


def _arrays(observations: Observations) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_], bool]:
    return observations.cues, observations.outcome, observations.feedback, observations.length_normalized


def _levels(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    level = np.full(len(parent), -1, dtype=np.int32)
    for node in range(1, len(parent)):
        level[node] = level[parent[node]] + 1
    return level


@njit(cache=True)
def _run(cues, outcome, feedback, length_normalized, settings, key, luck, p_hat, leaves, ancestors):
    """Filter once a row of ``luck``. ``leaves`` and ``ancestors`` are filled unless they are empty.

    Returns parent and branch of the nodes of the last row's tree.
    """
    n_trials, n_cues = cues.shape
    n_particles = settings.particles
    concentration, stop_probability = _level_tables(settings)
    log_count = np.log(settings.omega + np.arange(n_trials + 1))
    log_total = np.log(2.0 * settings.omega + np.arange(n_trials + 1))
    multiplies = not length_normalized and n_cues * _largest_log(settings.omega, n_trials) < _SAFE_LOG
    by_count = settings.omega + np.arange(n_trials + 1)
    by_visits = np.exp(-n_cues * log_total)
    particles = new_particles(n_particles, settings.max_depth, n_cues)
    tree = new_tree()
    work = new_work(n_particles, n_cues)
    # A trial adds at most one branch a level to a table for each particle that writes into it.
    most_new_branches = n_particles if settings.shared_counts else 1

    for row in range(p_hat.shape[0]):
        forget(particles, tree)
        for trial in range(n_trials):
            replicate = luck[row, trial]
            if is_full(particles, most_new_branches, settings.max_branches):
                particles = widened(particles, most_new_branches)
            if is_tree_full(tree, n_particles * settings.max_depth, particles.row_length):
                tree = widened_tree(tree, n_particles * settings.max_depth, particles.row_length)
            _read_trial(cues, outcome, feedback, trial, work)

            _sample_paths(particles, tree, settings, concentration, stop_probability, key, replicate, trial, work)
            _find_leaves(particles, tree, n_cues, work)
            if multiplies:
                _look_up_products(particles, outcome[trial], settings.omega, by_count, by_visits, work)
                p_hat[row, trial], total_weight = _weigh_products(feedback[trial], work)
            else:
                highest = _look_up_logs(particles, outcome[trial], settings.omega, log_count, log_total, work)
                p_hat[row, trial], total_weight = _weigh_logs(feedback[trial], length_normalized, highest, work)
            if settings.multinomial:
                draws.fill_resampling(key, replicate, trial, work.point)
                _multinomial_offspring(work)
            else:
                point = draws.uniform(key, replicate, trial, 0, 0, draws.RESAMPLE)
                _systematic_offspring(total_weight, point, work)
            n_dead = _find_heirs(work)
            if leaves.size > 0:
                leaves[trial] = work.node
                ancestors[trial] = np.arange(n_particles)
                ancestors[trial][work.dead[:n_dead]] = work.heir[:n_dead]
            _copy_heirs(particles, n_dead, settings.shared_counts, n_cues, work)
    return tree.parent[: tree.size[0]].copy(), tree.branch[: tree.size[0]].copy()


@njit(cache=True)
def _level_tables(settings):
    """Return alpha_l (Eq. depth_decay) and the probability of stopping after level l (Eq. stopping), by level."""
    level = np.arange(settings.max_depth)
    concentration = settings.alpha * np.exp(-settings.depth_scale * settings.alpha * level)
    stop_probability = 1.0 / (1.0 + concentration) if settings.stops else np.zeros(settings.max_depth)
    return concentration, stop_probability


@njit(cache=True)
def _largest_log(omega, n_trials):
    """Return the largest magnitude that the logarithm of Omega + count or of 2 Omega + visits can have."""
    return max(abs(np.log(omega)), abs(np.log(2.0 * omega + n_trials)))


@step
def _read_trial(cues, outcome, feedback, trial, work):
    """Note which entries of a tally this trial speaks of, and the words that count it in.

    Counts never reach 2**16, so adding two words adds the four counts in each of them.
    """
    n_cues = len(work.seen)
    for word in range(len(work.seen_words)):
        work.seen_words[word] = 0
    for cue in range(n_cues):
        entry = 2 * cue + cues[trial, cue]
        work.seen[cue] = entry
        work.seen_counts[entry] = 1
    if feedback[trial]:
        work.seen_counts[2 * n_cues + outcome[trial]] = 1
    work.seen_counts[2 * n_cues + 2] = 1


# ------------------------------------------------------------------------------------------------- step 1: the prior


@step
def _sample_paths(particles, tree, settings, concentration, stop_probability, key, replicate, trial, work):
    """Draw every particle's path from the prior, count it, and leave in ``work.node`` where it ends."""
    most, tables, n_levels, counts = particles.most, particles.table, particles.n_levels, particles.counts
    last_depth, path, child = particles.depth, particles.path, tree.child
    going, on_last_path, depth, node = work.going, work.on_last_path, work.depth, work.node
    omega, max_depth, max_branches = settings.omega, settings.max_depth, settings.max_branches
    sticky, by_node = settings.sticky, settings.sticky_by_node
    row_length, fan = np.uint64(particles.row_length), np.uint64(tree.fan)
    level_length = np.uint64(settings.particles) * row_length

    for particle in range(settings.particles):
        going[particle] = particle
        node[particle] = ROOT
        on_last_path[particle] = True
    n_going = settings.particles
    level = 0
    while n_going > 0:
        is_last_level = level + 1 == max_depth
        n_next = 0
        for position in range(n_going):
            particle = going[position]
            u_branch, u_stop = draws.pair(key, replicate, trial, particle, level)
            table = tables[particle]
            row = np.uint64(level) * level_length + table * row_length
            if level == n_levels[table]:
                n_levels[table] = level + 1
                counts[row + N_BRANCHES] = 0
                counts[row + TOTAL] = 0
            n_branches = counts[row + N_BRANCHES]
            total = counts[row + TOTAL]

            # Stickiness favours the branch of the last path, where that path reached this level (Eq. stickiness).
            last_branch = path[level, particle]
            is_boosted = sticky & (level < last_depth[particle])
            if by_node:
                is_boosted = is_boosted & on_last_path[particle]
            favourite = last_branch if is_boosted else np.uint32(0)
            boost = omega if is_boosted else 0.0
            bonus = boost * counts[row + COUNTS + favourite]

            # Old branches by their counts, a new one by alpha_l (Eq. ncrp_existingnew): one turn of a wheel that has
            # the bonus first, then the counts, then the new branch.
            new = concentration[level] if n_branches < max_branches else 0.0
            point = u_branch * (bonus + total + new) - bonus
            whole = np.int64(point)
            upper_end = np.int64(0)
            branch = np.int64(0)
            for place in range(row + COUNTS, row + COUNTS + np.uint64(n_branches)):
                upper_end += counts[place]
                branch += upper_end <= whole
            branch = np.int64(favourite) if point < 0.0 else branch
            if branch == n_branches:
                branch = _open_branch(counts, row, n_branches, new, most)
            counts[row + TOTAL] = total + 1
            counts[row + COUNTS + np.uint64(branch)] += 1
            path[level, particle] = branch
            if by_node:
                on_last_path[particle] = is_boosted & (last_branch == branch)

            way = node[particle] * fan + np.uint64(branch)
            if child[way] < 0:
                open_node(tree, node[particle], branch)
            node[particle] = child[way]

            # The stop test before level l uses alpha_(l-1), the concentration of the level just entered (Eq. stopping).
            stops = is_last_level | (u_stop < stop_probability[level])
            depth[particle] = level + 1
            going[n_next] = particle
            n_next += not stops
        n_going = n_next
        level += 1
    for particle in range(settings.particles):
        last_depth[particle] = depth[particle]


@step
def _open_branch(counts, row, n_branches, new, most):
    """Open a branch and return it. The first branch at a level is certain, whatever alpha_l is."""
    if new == 0.0 and n_branches > 0:
        return np.int64(n_branches - 1)  # rounding: the wheel stopped at its very end
    most[0] = max(most[0], n_branches + 1)
    counts[row + N_BRANCHES] = n_branches + 1
    counts[row + COUNTS + np.uint64(n_branches)] = 0
    return np.int64(n_branches)


@step
def _find_leaves(particles, tree, n_cues, work):
    """Find every particle's statistics at the end of its path, and make empty ones where it has none there yet.

    Particles that descend from one ancestor keep a leaf in the same slot, so the last one's slot is a good guess.
    """
    n_leaves, leaves = particles.n_leaves, particles.leaves
    node, start, tree_slot = work.node, work.start, tree.slot
    n_words = np.uint64(words_a_leaf(n_cues))
    for particle in range(len(node)):
        own = np.uint64(particle * particles.leaf_room) * n_words
        wanted = node[particle]
        known = n_leaves[particle]
        slot = np.uint64(tree_slot[wanted])
        if slot >= known or leaves[own + slot * n_words] != wanted:
            slot = np.uint64(0)
            while slot < known and leaves[own + slot * n_words] != wanted:
                slot += _ONE
            tree_slot[wanted] = slot
        start[particle] = own + slot * n_words
        if slot == known:
            particles.most[1] = max(particles.most[1], known + 1)
            n_leaves[particle] = known + 1
            leaves[start[particle]] = wanted
            for word in range(start[particle] + _ONE, start[particle] + n_words):
                leaves[word] = 0


# ------------------------------------------------------------------------------- steps 2 to 5: predict, weigh, update


@step
def _look_up_products(particles, outcome, omega, by_count, by_visits, work):
    """Read every particle's leaf as it was before this trial (Eqs. bernoulli_pred and likelihood), and count it in.

    The two share one pass because they touch the same memory. The cues' likelihood is the product of Omega + count over
    the cues, divided by 2 Omega + visits once a cue: ``by_visits``.
    """
    leaves, tallies = particles.leaves, particles.tallies
    seen, seen_words, start = work.seen, work.seen_words, work.start
    n_cues = len(seen)
    for particle in range(len(start)):
        first_word = start[particle] + _ONE
        first = first_word * _COUNTS_A_WORD
        past_cues = first + _TWO * np.uint64(n_cues)
        absent, present, visits = tallies[past_cues], tallies[past_cues + _ONE], tallies[past_cues + _TWO]
        likelihood = by_visits[visits]
        for cue in range(n_cues):
            likelihood *= by_count[tallies[first + seen[cue]]]
        work.cues[particle] = likelihood
        total = 2.0 * omega + present + absent
        work.p_outcome[particle] = (omega + present) / total
        work.seen_outcome[particle] = (omega + (present if outcome else absent)) / total
        for word in range(len(seen_words)):
            leaves[first_word + np.uint64(word)] += seen_words[word]


@step
def _weigh_products(feedback, work):
    """Return p-hat (Eqs. predweight and prediction) and the sum of the weights (Eq. particle_weight)."""
    cues, seen_outcome, p_outcome, weight = work.cues, work.seen_outcome, work.p_outcome, work.weight
    predicted = 0.0
    total = 0.0
    total_weight = 0.0
    for particle in range(len(weight)):
        predicted += cues[particle] * p_outcome[particle]
        total += cues[particle]
        weight[particle] = cues[particle] * seen_outcome[particle] if feedback else cues[particle]
        total_weight += weight[particle]
    return predicted / total, total_weight


@step
def _look_up_logs(particles, outcome, omega, log_count, log_total, work):
    """Do what ``_look_up_products`` does, with logarithms, and return the highest log-likelihood of the cues."""
    leaves, tallies = particles.leaves, particles.tallies
    seen, seen_words, start = work.seen, work.seen_words, work.start
    n_cues = len(seen)
    highest = -np.inf
    for particle in range(len(start)):
        first_word = start[particle] + _ONE
        first = first_word * _COUNTS_A_WORD
        past_cues = first + _TWO * np.uint64(n_cues)
        absent, present, visits = tallies[past_cues], tallies[past_cues + _ONE], tallies[past_cues + _TWO]
        log_likelihood = -n_cues * log_total[visits]
        for cue in range(n_cues):
            log_likelihood += log_count[tallies[first + seen[cue]]]
        work.cues[particle] = log_likelihood
        highest = log_likelihood if log_likelihood > highest else highest
        work.p_outcome[particle] = (omega + present) / (2.0 * omega + present + absent)
        work.seen_outcome[particle] = log_count[present if outcome else absent] - log_total[present + absent]
        for word in range(len(seen_words)):
            leaves[first_word + np.uint64(word)] += seen_words[word]
    return highest


@step
def _weigh_logs(feedback, length_normalized, highest, work):
    """Do what ``_weigh_products`` does, with logarithms, or with their means if likelihoods are length-normalised.

    They are taken relative to the particle whose cues are most likely, so that the weights cannot all vanish.
    """
    cues, seen_outcome, p_outcome, weight = work.cues, work.seen_outcome, work.p_outcome, work.weight
    n_cues = len(work.seen)
    cue_scale = 1.0 / max(n_cues, 1) if length_normalized else 1.0
    all_scale = 1.0 / (n_cues + 1) if length_normalized else 1.0
    predicted = 0.0
    total = 0.0
    total_weight = 0.0
    for particle in range(len(weight)):
        log_cues = cues[particle] - highest
        cue_weight = np.exp(cue_scale * log_cues)
        predicted += cue_weight * p_outcome[particle]
        total += cue_weight
        weight[particle] = np.exp(all_scale * (log_cues + seen_outcome[particle])) if feedback else cue_weight
        total_weight += weight[particle]
    return predicted / total, total_weight


# ----------------------------------------------------------------------------------------------- step 6: resampling


@step
def _systematic_offspring(total_weight, first, work):
    """Count each particle's copies: how many of the points (first + j) / P fall into its share of the weight."""
    weight, offspring = work.weight, work.offspring
    n_particles = len(weight)
    per_point = n_particles / total_weight
    upper_end = 0.0
    placed = np.int64(0)
    last = 0
    for particle in range(n_particles):
        upper_end += weight[particle] * per_point
        last = particle if weight[particle] > 0.0 else last
        placed_by_now = np.int64(min(np.ceil(upper_end - first), 1.0 * n_particles))
        offspring[particle] = placed_by_now - placed
        placed = placed_by_now
    offspring[last] += n_particles - placed  # rounding: the last point lay beyond the end


@step
def _multinomial_offspring(work):
    """Count each particle's copies when every slot draws its parent on its own."""
    weight, point, upper_end, offspring = work.weight, work.point, work.upper_end, work.offspring
    total = 0.0
    last = 0
    for particle in range(len(weight)):
        total += weight[particle]
        upper_end[particle] = total
        last = particle if weight[particle] > 0.0 else last
        offspring[particle] = 0
    for slot in range(len(weight)):
        parent = np.searchsorted(upper_end, point[slot] * total, side="right")
        offspring[min(parent, last)] += 1  # rounding: a point can lie at the very end


@step
def _find_heirs(work):
    """List the dead slots in order, beside each the particle that is copied there, and return how many there are.

    Survivors keep their slot. Further copies go to the dead slots, those of the first survivor first.
    """
    offspring, first_child, dead, heir = work.offspring, work.first_child, work.dead, work.heir
    n_particles = len(offspring)
    for child in range(n_particles):
        first_child[child] = 0
    n_dead = 0
    placed = 0
    for slot in range(n_particles):
        dead[n_dead] = slot
        n_dead += offspring[slot] == 0
        first_child[placed] = slot  # if this slot is dead, the next one writes over it
        placed += offspring[slot]
    n_spare = 0
    parent = np.int64(-1)
    for child in range(n_particles):
        own_parent = max(parent, np.int64(first_child[child]))
        heir[n_spare] = own_parent
        n_spare += own_parent == parent
        parent = own_parent
    return n_dead


@step
def _copy_heirs(particles, n_dead, shared_counts, n_cues, work):
    """Copy survivors over the dead: the part in use, and nothing else."""
    table, n_levels, depth, path = particles.table, particles.n_levels, particles.depth, particles.path
    counts, counts_as_words = particles.counts, particles.counts_as_words
    n_leaves, leaves = particles.n_leaves, particles.leaves
    n_words = words_a_leaf(n_cues)
    room = np.uint64(particles.leaf_room * n_words)
    row_length = np.uint64(particles.row_length)
    level_length = np.uint64(len(table)) * row_length
    for pair in range(n_dead):
        slot, parent = work.dead[pair], work.heir[pair]
        n_leaves[slot] = n_leaves[parent]
        for word in range(np.uint64(n_leaves[parent] * n_words)):
            leaves[slot * room + word] = leaves[parent * room + word]
        depth[slot] = depth[parent]
        for level in range(depth[parent]):
            path[level, slot] = path[level, parent]
        if shared_counts:
            table[slot] = table[parent]
        else:
            n_levels[slot] = n_levels[parent]
            for level in range(np.uint64(n_levels[parent])):
                source = level * level_length + parent * row_length
                target = level * level_length + slot * row_length
                for word in range(np.uint64((counts[source + N_BRANCHES] + 3) // 2)):
                    counts_as_words[target // _TWO + word] = counts_as_words[source // _TWO + word]
