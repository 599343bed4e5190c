"""The particle filter, compiled: one kernel for every variant of the prior. ``plain`` says the same in plain words.

How it is fast: it thinks once for all particles that think the same. After resampling, many of the slots hold copies of
one particle, and copies that take the same path stay the same. So a slot only points to a *state*, and what a state
becomes on a path is its *successor*, which is weighed once for all slots that hold it:

    slot          0  1  2  3  4  5  6  7       every slot draws a path of its own
    state         A  A  B  A  C  C  A  B
    ends at leaf  x  y  x  x  z  z  x  w
    successor     Ax Ay Bx Ax Cz Cz Ax Bw      five hypotheses to look up and weigh instead of eight
    survivors     Ax Ax Bx Ax Ax Cz Ax Cz      a dead slot is given a pointer, nothing is copied yet

Only then are states written to, by the successors that survive: the last one of a state takes it over, the others are
given a copy first, and states without a survivor are free again. Nobody writes into a state that somebody else holds.
In the published variant with shared branch counts every slot has a state of its own, and paths count as they are drawn.

Besides, counts are integers, four to a 64-bit word, and Omega + count, or its logarithm, comes from a table.
Likelihoods are products where no product of this sequence can leave the range of floating-point numbers, and sums of
logarithms elsewhere. Slots of one state stand side by side, so that their paths are drawn from the same few numbers.
Indices that can never be negative are unsigned, which spares the test for it. Sums over particles are in the order of
the slots. Nothing is allocated on a trial, except when arrays double.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from holmes_fit.models.filters import draws
from holmes_fit.models.filters.counting import go_on, go_on_apart, line_up
from holmes_fit.models.filters.paths import sample_paths, tell_apart
from holmes_fit.models.filters.resampling import (
    find_parents,
    keep_history,
    multinomial_offspring,
    systematic_offspring,
)
from holmes_fit.models.filters.settings import History, Settings
from holmes_fit.models.filters.state import (
    forget,
    inner,
    is_full,
    is_tree_full,
    new_going,
    new_seen,
    new_slots,
    new_states,
    new_successors,
    new_tree,
    step,
    widened,
    widened_tree,
)
from holmes_fit.models.filters.weighing import (
    add_up,
    find_leaves,
    look_up_logs,
    look_up_products,
    weigh_logs,
    weigh_products,
)
from holmes_fit.trials.observations import Observations

_SAFE_LOG = 300.0  # half of the largest logarithm that a floating-point number can have, and less


def p_hat_traces(
    observations: Observations, settings: Settings, key: np.uint64, replicates: int, first_replicate: int = 0
) -> NDArray[np.float64]:
    """Return p-hat (replicates x trials) from independent filters over the same trials."""
    replicate = np.arange(first_replicate, first_replicate + replicates, dtype=np.int64)
    return traces_of_luck(observations, settings, key, np.repeat(replicate[:, None], observations.n_trials, axis=1))


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
    luck = np.full(p_hat.shape, replicate, dtype=np.int64)
    leaves = np.empty((observations.n_trials, settings.particles), dtype=np.int32)
    ancestors = np.empty_like(leaves)
    nodes = _run(*_arrays(observations), settings, key, luck, p_hat, leaves, ancestors)
    return p_hat[0], History(leaves, ancestors, *nodes)


def _arrays(observations: Observations) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_], bool]:
    return observations.cues, observations.outcome, observations.feedback, observations.length_normalized


@njit(cache=True)
def _run(cues, outcome, feedback, length_normalized, settings, key, luck, p_hat, leaves, ancestors):
    """Filter once a row of ``luck``. ``leaves`` and ``ancestors`` are filled unless they are empty.

    Returns parent, branch and level of the nodes of the last row's tree.
    """
    n_trials, n_cues = cues.shape
    n_slots = settings.particles
    tables = _tables(settings, n_trials, n_cues, length_normalized)
    states, tree = new_states(n_slots, settings.max_depth, n_cues), new_tree()
    slots, going, successors, seen = new_slots(n_slots), new_going(n_slots), new_successors(n_slots), new_seen(n_cues)
    trials = (cues, outcome, feedback, length_normalized)
    # A trial adds at most one branch a level to a table for each particle that writes into it.
    most_new = (n_slots if settings.shared_counts else 1, n_slots * settings.max_depth)

    for row in range(p_hat.shape[0]):
        forget(states, tree, slots, settings.shared_counts)
        trial = np.int64(0)  # a plain 0 would be a type of its own, and all be compiled once more for it
        while trial < n_trials:
            if is_full(states, most_new[0], settings.max_branches):
                states = widened(states, most_new[0])
            if is_tree_full(tree, most_new[1], states.row_length):
                tree = widened_tree(tree, most_new[1], states.row_length)
            memory = (states, tree, slots, going, successors, seen)
            history = (p_hat[row], leaves, ancestors)
            trial = _filter(trials, settings, tables, key, luck[row], trial, most_new, memory, history)
    size = tree.size[0]
    return tree.parent[:size].copy(), tree.branch[:size].copy(), tree.level[:size].copy()


@inner(_nrt=False, error_model="numpy")
def _filter(trials, settings, tables, key, luck, first_trial, most_new, memory, history):
    """Filter from one trial on as far as the memory goes, and return the trial that comes next."""
    cues, outcome, feedback, length_normalized = trials
    states, tree, slots, going, successors, seen = memory
    p_hat, leaves, ancestors = history
    n_cues = cues.shape[1]
    for trial in range(first_trial, len(cues)):
        if is_full(states, most_new[0], settings.max_branches) or is_tree_full(tree, most_new[1], states.row_length):
            return trial
        replicate = luck[trial]
        _read_trial(cues, outcome, feedback, trial, seen)

        sample_paths(states, tree, settings, tables, key, replicate, trial, slots, going)
        count = tell_apart(tree, slots, successors)
        find_leaves(states, tree, n_cues, count, successors)
        if tables.multiplies:
            look_up_products(states, outcome[trial], settings.omega, tables, seen, count, successors)
            weigh_products(feedback[trial], count, successors)
        else:
            look_up_logs(states, outcome[trial], settings.omega, tables, seen, count, successors)
            weigh_logs(feedback[trial], length_normalized, n_cues, count, successors)
        p_hat[trial], total_weight = add_up(slots, successors)
        if settings.multinomial:
            draws.fill_resampling(key, replicate, trial, slots.point)
            n_dead, n_several = multinomial_offspring(slots.point, slots, successors)
        else:
            first = draws.uniform(key, replicate, trial, 0, 0, draws.RESAMPLE)
            n_dead, n_several = systematic_offspring(total_weight, first, slots, successors)
        find_parents(n_several, slots)
        if leaves.size > 0:
            keep_history(trial, n_dead, slots, leaves, ancestors)
        if settings.shared_counts:
            go_on_apart(states, tree, n_cues, n_dead, seen, slots, successors)
        else:
            go_on(states, tree, n_cues, count, seen, slots, successors)
            line_up(n_dead, slots, successors)
    return len(cues)


class _Tables(NamedTuple):
    """Numbers that depend on the settings alone: by level, and by count."""

    concentration: NDArray[np.float64]
    stop_probability: NDArray[np.float64]
    log_count: NDArray[np.float64]
    log_total: NDArray[np.float64]
    by_count: NDArray[np.float64]
    by_visits: NDArray[np.float64]
    multiplies: bool  # whether no product of likelihoods can leave the range of floating-point numbers


@inner()
def _tables(settings, n_trials, n_cues, length_normalized):
    """Look up beforehand what trials will ask for.

    By level: alpha_l (Eq. depth_decay), and the probability of stopping after level l (Eq. stopping).
    """
    level = np.arange(settings.max_depth)
    concentration = settings.alpha * np.exp(-settings.depth_scale * settings.alpha * level)
    count = np.arange(n_trials + 1)
    log_total = np.log(2.0 * settings.omega + count)
    largest_log = max(abs(np.log(settings.omega)), abs(np.log(2.0 * settings.omega + n_trials)))
    return _Tables(
        concentration=concentration,
        stop_probability=1.0 / (1.0 + concentration) if settings.stops else np.zeros(settings.max_depth),
        log_count=np.log(settings.omega + count),
        log_total=log_total,
        by_count=settings.omega + count,
        by_visits=np.exp(-n_cues * log_total),
        multiplies=not length_normalized and n_cues * largest_log < _SAFE_LOG,
    )


@step
def _read_trial(cues, outcome, feedback, trial, seen):
    """Note which entries of a tally this trial speaks of, and the words that count it in.

    Counts never reach 2**16, so adding two words adds the four counts in each of them.
    """
    n_cues = len(seen.entry)
    for word in range(len(seen.words)):
        seen.words[word] = 0
    for cue in range(n_cues):
        entry = 2 * cue + cues[trial, cue]
        seen.entry[cue] = entry
        seen.counts[entry] = 1
    if feedback[trial]:
        seen.counts[2 * n_cues + outcome[trial]] = 1
    seen.counts[2 * n_cues + 2] = 1
