"""Steps 2 to 4 of a trial: look up what every successor expects, predict, and weigh it by what was seen."""

import numpy as np

from holmes_fit.models.filters.state import step, words_a_leaf

_COUNTS_A_WORD = np.uint64(4)
_ONE = np.uint64(1)
_TWO = np.uint64(2)


@step
def find_leaves(states, tree, n_cues, n_successors, successors):
    """Find which of its state's leaves a successor stands at.

    States that descend from one ancestor keep a leaf in the same place, so the last one's place is a good guess.
    """
    leaves = states.leaves
    n_words = np.uint64(words_a_leaf(n_cues))
    for successor in range(n_successors):
        state, wanted = successors.state[successor], successors.node[successor]
        own = _ONE + np.uint64(state) * np.uint64(states.leaf_room)
        known = np.uint64(states.n_leaves[state])
        leaf = np.uint64(tree.leaf[wanted])
        if leaf >= known or leaves[(own + leaf) * n_words] != wanted:
            leaf = np.uint64(0)
            while leaf < known and leaves[(own + leaf) * n_words] != wanted:
                leaf += _ONE
            tree.leaf[wanted] = leaf
        successors.leaf[successor] = leaf


@step
def _first_word(states, n_cues, state, leaf):
    """Return where a leaf's tally begins: that of the blank leaf, if the state has none there yet."""
    place = _ONE + np.uint64(state) * np.uint64(states.leaf_room) + np.uint64(leaf)
    place = place if leaf < states.n_leaves[state] else np.uint64(0)
    return place * np.uint64(words_a_leaf(n_cues)) + _ONE


@step
def look_up_products(states, outcome, omega, tables, seen, n_successors, successors):
    """Read every successor's leaf as it was before this trial (Eqs. bernoulli_pred and likelihood).

    The cues' likelihood is the product of Omega + count over the cues, divided by 2 Omega + visits once a cue:
    ``by_visits``.
    """
    tallies, entry, by_count, by_visits = states.tallies, seen.entry, tables.by_count, tables.by_visits
    n_cues = len(entry)
    for own in range(n_successors):
        first = _first_word(states, n_cues, successors.state[own], successors.leaf[own]) * _COUNTS_A_WORD
        past_cues = first + _TWO * np.uint64(n_cues)
        absent, present, visits = tallies[past_cues], tallies[past_cues + _ONE], tallies[past_cues + _TWO]
        likelihood = by_visits[visits]
        for cue in range(n_cues):
            likelihood *= by_count[tallies[first + entry[cue]]]
        successors.cues[own] = likelihood
        total = 2.0 * omega + present + absent
        successors.p_outcome[own] = (omega + present) / total
        successors.seen_outcome[own] = (omega + (present if outcome else absent)) / total


@step
def weigh_products(feedback, n_successors, successors):
    """Weigh predictions by the cues (Eq. predweight), and successors by all that was seen (Eq. particle_weight)."""
    cues, seen_outcome = successors.cues, successors.seen_outcome
    for own in range(n_successors):
        successors.predicted[own] = cues[own] * successors.p_outcome[own]
        successors.weight[own] = cues[own] * seen_outcome[own] if feedback else cues[own]


@step
def look_up_logs(states, outcome, omega, tables, seen, n_successors, successors):
    """Do what ``look_up_products`` does, with logarithms."""
    tallies, entry, log_count, log_total = states.tallies, seen.entry, tables.log_count, tables.log_total
    n_cues = len(entry)
    for own in range(n_successors):
        first = _first_word(states, n_cues, successors.state[own], successors.leaf[own]) * _COUNTS_A_WORD
        past_cues = first + _TWO * np.uint64(n_cues)
        absent, present, visits = tallies[past_cues], tallies[past_cues + _ONE], tallies[past_cues + _TWO]
        log_likelihood = -n_cues * log_total[visits]
        for cue in range(n_cues):
            log_likelihood += log_count[tallies[first + entry[cue]]]
        successors.cues[own] = log_likelihood
        successors.p_outcome[own] = (omega + present) / (2.0 * omega + present + absent)
        successors.seen_outcome[own] = log_count[present if outcome else absent] - log_total[present + absent]


@step
def weigh_logs(feedback, length_normalized, n_cues, n_successors, successors):
    """Do what ``weigh_products`` does, with logarithms, or with their means if likelihoods are length-normalised.

    They are taken relative to the successor whose cues are most likely, so that the weights cannot all vanish.
    """
    cues, seen_outcome = successors.cues, successors.seen_outcome
    cue_scale = 1.0 / max(n_cues, 1) if length_normalized else 1.0
    all_scale = 1.0 / (n_cues + 1) if length_normalized else 1.0
    highest = -np.inf
    for own in range(n_successors):
        highest = max(highest, cues[own])
    for own in range(n_successors):
        log_cues = cues[own] - highest
        cues[own] = np.exp(cue_scale * log_cues)
        successors.predicted[own] = cues[own] * successors.p_outcome[own]
        successors.weight[own] = np.exp(all_scale * (log_cues + seen_outcome[own])) if feedback else cues[own]


@step
def add_up(slots, successors):
    """Return p-hat (Eq. prediction) and the sum of the weights, slot by slot."""
    predicted = 0.0
    total = 0.0
    total_weight = 0.0
    for slot in range(len(slots.successor)):
        own = slots.successor[slot]
        predicted += successors.predicted[own]
        total += successors.cues[own]
        total_weight += successors.weight[own]
    return predicted / total, total_weight
