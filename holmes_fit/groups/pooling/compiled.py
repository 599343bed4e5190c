"""The log-density of group models and its slopes, compiled: what NUTS walks on.

It is that of the PyMC model in ``model``, on the same unconstrained scales and up to a constant: a mixture of groups,
one for each latent-cause model, or a single group, which is a mixture of one. The frequencies of the models have a
Dirichlet prior under which all are equally likely.

Everyone's likelihood under a group is a sum over all nodes of the lattice, at every step of NUTS. Nearly all of the
time goes into reading the lattices from memory. So the sums that the slopes need are taken in the same pass, while a
row of a lattice is still in the cache, and lattices are in single precision, as they are in the records of a run.

The axes of a lattice stand in two groups, left and right, each weighted jointly: a lattice is rows x columns. Axes
whose mean depends on the person are all on the left. Nothing here is compiled for a certain number of models, axes,
nodes or people, so that it is compiled once for all group models, and kept beside the particle filter.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST = float(np.finfo(np.float32).tiny)  # below this, relative to the highest, a sum in single precision can be zero

# Expressions of whole arrays would take several times as long to compile as the loops below, and so would a way from
# Python into every function, with as many arrays as these are given: only the last one has it.
_inner: Any = partial(njit, cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
compiled: Any = _inner(error_model="numpy")


class Grid(NamedTuple):
    """All axes of the merged lattices of all models, one after another, in each model those on the left first."""

    positions: Floats  # of all nodes as they were fitted
    first_node: Integers  # where an axis begins among the nodes, and among the merged cells; and the end of the last
    first_cell: Integers
    cell_of: Integers  # the merged cell of each node
    lost_variance: Floats  # by axis; see ``MergedAxis``
    first_axis: Integers  # where a model begins among the axes; and the end of the last
    n_left: Integers  # by model, how many axes are on the left
    # Where a model begins among the rows, and among the columns, of the lattices of all models; and the end of the last
    first_row: Integers
    first_column: Integers


class Scaled(NamedTuple):
    """A group prior on the scales of search: an entry for each parameter of a model, or for each axis of all models."""

    mean: Floats
    mean_sd: Floats
    lowest_mean: Floats
    highest_mean: Floats
    log_excess: Floats
    log_excess_sd: Floats
    least_spread: Floats
    effect_sd: Floats  # of each of the effects on its mean


class People(NamedTuple):
    """The people."""

    # The lattices of all models, people x rows x columns each, relative to everyone's highest
    likelihood: NDArray[np.float32]
    first_value: Integers  # where a model begins in ``likelihood``; and the end of the last
    highest: Floats  # models x people, the highest log-likelihood of each person
    columns: Floats  # people x effects: what the means of some axes depend on, and which axes
    axis_of_effect: Integers


class Work(NamedTuple):
    """What is found on the way to the density, and needed again on the way back to its slopes."""

    shares: Floats  # weights of all nodes, and of all merged cells: a row for each person, or one for all
    cells: Floats
    total: Floats  # models x people: the sum over the lattice, relative to the highest
    # Sums over columns, by row, and over rows, by column: those of all people, model after model
    over_right: NDArray[np.float32]
    over_left: NDArray[np.float32]


@compiled
def cell_weights(grid, first, last, mean, spread, shares, cells):
    """Put a normal density at the nodes of some axes, made to sum to 1 over each, into shares and merged cells."""
    for axis in range(first, last):
        begin, end = grid.first_node[axis], grid.first_node[axis + 1]
        factor = -0.5 / (spread[axis] ** 2 - grid.lost_variance[axis])
        nearest = np.inf
        for node in range(begin, end):
            nearest = min(nearest, (grid.positions[node] - mean[axis]) ** 2)
        total = 0.0
        for node in range(begin, end):
            shares[node] = np.exp(factor * ((grid.positions[node] - mean[axis]) ** 2 - nearest))
            total += shares[node]
        for cell in range(grid.first_cell[axis], grid.first_cell[axis + 1]):
            cells[cell] = 0.0
        for node in range(begin, end):
            shares[node] /= total
            cells[grid.cell_of[node]] += shares[node]


@compiled
def jointly(grid, first, last, cells):
    """Return the products of the weights of all combinations of cells, the last axis running fastest."""
    size = 1
    for axis in range(first, last):
        size *= grid.first_cell[axis + 1] - grid.first_cell[axis]
    joint = np.empty(size)
    joint[0] = 1.0
    known = 1
    for axis in range(first, last):
        begin, own = grid.first_cell[axis], grid.first_cell[axis + 1] - grid.first_cell[axis]
        for i in range(known - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
            before = joint[i]
            for j in range(own):
                joint[i * own + j] = before * cells[begin + j]
        known *= own
    return joint


@compiled
def slopes_of_joint(grid, first, last, cells, slope, by_cell):
    """Put slopes by the weights of single axes into ``by_cell``, from those by their products, which are used up."""
    for axis in range(last - 1, first - 1, -1):
        begin, own = grid.first_cell[axis], grid.first_cell[axis + 1] - grid.first_cell[axis]
        before = jointly(grid, first, axis, cells)
        for i in range(len(before)):
            earlier = 0.0
            for j in range(own):
                above = slope[i * own + j]
                earlier += above * cells[begin + j]
                by_cell[begin + j] += above * before[i]
            slope[i] = earlier


@compiled
def slopes_of_weights(grid, first, last, mean, spread, shares, by_cell, by_mean, by_spread):
    """Add slopes by mean and spread to those that are there, from slopes by the weights of cells."""
    for axis in range(first, last):
        begin, end = grid.first_node[axis], grid.first_node[axis + 1]
        average = 0.0
        for node in range(begin, end):
            average += shares[node] * by_cell[grid.cell_of[node]]
        variance = spread[axis] ** 2 - grid.lost_variance[axis]
        for node in range(begin, end):
            slope = shares[node] * (by_cell[grid.cell_of[node]] - average)
            distance = grid.positions[node] - mean[axis]
            by_mean[axis] += slope * distance / variance
            by_spread[axis] += slope * distance**2 / variance**2 * spread[axis]


@_inner(fastmath={"reassoc", "contract", "nsz"})
def weighted_sums(likelihood, rows, columns, left, right, over_right, over_left):
    """Put the sums of likelihood x right, by row, and of left x likelihood, by column, into the last two."""
    for column in range(columns):
        over_left[column] = 0.0
    for row in range(rows):
        own = likelihood[row * columns : (row + 1) * columns]
        total = np.float32(0.0)
        for column in range(columns):
            total += own[column] * right[column]
        over_right[row] = total
        weight = np.float32(left[row])
        for column in range(columns):
            over_left[column] += weight * own[column]


@compiled
def forward(grid, people, model, centres, spread, log_likelihood, work):
    """Put everyone's log-likelihood under the group of one model aside, and what ``backward`` needs for its slopes.

    ``centres`` are the group's means by axis, a row for each person, or one for all; ``work`` is written to as well.
    """
    first, last = grid.first_axis[model], grid.first_axis[model + 1]
    middle, n_people = first + grid.n_left[model], people.highest.shape[1]
    rows, columns = sides(grid, model)
    cell_weights(grid, middle, last, centres[0], spread, work.shares[0], work.cells[0])
    right = _in_single_precision(jointly(grid, middle, last, work.cells[0]))
    left = np.ones(1)
    for person in range(n_people):
        if person < len(centres):
            cell_weights(grid, first, middle, centres[person], spread, work.shares[person], work.cells[person])
            left = jointly(grid, first, middle, work.cells[person])
        own = people.likelihood[people.first_value[model] + person * rows * columns :]
        over_right = work.over_right[n_people * grid.first_row[model] + person * rows :]
        over_left = work.over_left[n_people * grid.first_column[model] + person * columns :]
        weighted_sums(own, rows, columns, left, right, over_right, over_left)
        total = 0.0
        for row in range(rows):
            total += left[row] * over_right[row]
        work.total[model, person] = total
        log_likelihood[model, person] = np.log(max(total, LEAST)) + people.highest[model, person]


@compiled
def sides(grid, model):
    """Return how many rows and columns a lattice of a model has."""
    return grid.first_row[model + 1] - grid.first_row[model], grid.first_column[model + 1] - grid.first_column[model]


@compiled
def _in_single_precision(values):
    found = np.empty(len(values), dtype=np.float32)
    for place in range(len(values)):
        found[place] = values[place]
    return found


@compiled
def backward(grid, model, centres, spread, work, counts, by_mean, by_spread):
    """Add the slopes of the group of one model to those by everyone's mean (or that of all), and by the spread.

    ``forward`` has filled ``work``; ``counts`` (people x models) says how much each log-likelihood counts.
    """
    first, last = grid.first_axis[model], grid.first_axis[model + 1]
    middle, people = first + grid.n_left[model], len(counts)
    rows, columns = sides(grid, model)
    first_row, first_column = people * grid.first_row[model], people * grid.first_column[model]
    by_cell = np.zeros(work.cells.shape)
    by_right, by_left = np.zeros(columns), np.zeros(rows)
    for person in range(people):
        total = work.total[model, person]
        relative = counts[person, model] / total if total > LEAST else 0.0
        for column in range(columns):
            by_right[column] += relative * work.over_left[first_column + person * columns + column]
        for row in range(rows):
            by_left[row] += relative * work.over_right[first_row + person * rows + row]
        if person == people - 1 or len(centres) > 1:
            row = min(person, len(centres) - 1)
            shares, cells, own = work.shares[row], work.cells[row], by_cell[row]
            slopes_of_joint(grid, first, middle, cells, by_left, own)
            slopes_of_weights(grid, first, middle, centres[row], spread, shares, own, by_mean[row], by_spread)
            by_left[:] = 0.0
    slopes_of_joint(grid, middle, last, work.cells[0], by_right, by_cell[0])
    slopes_of_weights(grid, middle, last, centres[0], spread, work.shares[0], by_cell[0], by_mean[0], by_spread)


@compiled
def shares_of(logs, shares):
    """Put shares in proportion to exponentials aside, and return the logarithm of the sum of these."""
    highest, total = -np.inf, 0.0
    for each in range(len(logs)):
        highest = max(highest, logs[each])
    for each in range(len(logs)):
        shares[each] = np.exp(logs[each] - highest)
        total += shares[each]
    for each in range(len(logs)):
        shares[each] /= total
    return highest + np.log(total)


@compiled
def log_frequencies(free):
    """Return the logarithms of the frequencies of models, from free numbers: one less than there are models."""
    n_models, last = len(free) + 1, 0.0
    found = np.empty(n_models)
    for model in range(n_models - 1):
        found[model] = free[model]
        last += found[model]
    found[n_models - 1] = -last
    log_sum = shares_of(found, np.empty(n_models))
    for model in range(n_models):
        found[model] -= log_sum
    return found


@compiled
def follow(log_frequency, log_likelihood, chances):
    """Return the log-likelihood of a mixture, and put the chances (people x models) of models to be theirs aside."""
    value = 0.0
    n_models, n_people = log_likelihood.shape
    own = np.empty(n_models)
    for person in range(n_people):
        for model in range(n_models):
            own[model] = log_frequency[model] + log_likelihood[model, person]
        value += shares_of(own, chances[person])
    return value


@compiled
def slopes_of_frequencies(log_frequency, chances, slope):
    """Put the slopes by the free numbers of the frequencies aside."""
    n_people, n_models = chances.shape
    by_frequency, total = np.ones(n_models), 0.0
    for person in range(n_people):
        for model in range(n_models):
            by_frequency[model] += chances[person, model]
    for model in range(n_models):
        total += by_frequency[model]
    for model in range(n_models):
        by_frequency[model] -= np.exp(log_frequency[model]) * total
    for model in range(n_models - 1):
        slope[model] = by_frequency[model] - by_frequency[n_models - 1]


@compiled
def centres_of(mean, effects, people):
    """Return the means by axis: a row for each person if there are effects, or one for all."""
    centres = np.empty((len(people.columns) if len(effects) else 1, len(mean)))
    for row in range(len(centres)):
        for axis in range(len(mean)):
            centres[row, axis] = mean[axis]
        for number in range(len(effects)):
            centres[row, people.axis_of_effect[number]] += people.columns[row, number] * effects[number]
    return centres


@compiled
def empty_work(grid, people, n_rows):
    """Return room for what is found on the way."""
    n_models, n_people = people.highest.shape
    return Work(
        shares=np.empty((n_rows, len(grid.positions))),
        cells=np.empty((n_rows, grid.first_cell[-1])),
        total=np.empty((n_models, n_people)),
        over_right=np.empty(n_people * grid.first_row[-1], dtype=np.float32),
        over_left=np.empty(n_people * grid.first_column[-1], dtype=np.float32),
    )


@compiled
def slopes_of_effects(priors, people, effects, by_mean, slope):
    """Put the slopes by the effects aside."""
    for number in range(len(effects)):
        by_effect = 0.0
        for person in range(len(by_mean)):
            by_effect += by_mean[person, people.axis_of_effect[number]] * people.columns[person, number]
        slope[number] = by_effect - effects[number] / priors.effect_sd[people.axis_of_effect[number]] ** 2


@compiled
def slopes_of_group(priors, share, mean, spread, log_excess, by_mean, by_spread, slope):
    """Put the slopes by means and spreads aside, and return the logarithm of their prior."""
    n_axes = len(mean)
    log_shares, squares, squares_of_excess = 0.0, 0.0, 0.0
    for axis in range(n_axes):
        away = (mean[axis] - priors.mean[axis]) / priors.mean_sd[axis]
        away_excess = (log_excess[axis] - priors.log_excess[axis]) / priors.log_excess_sd[axis]
        log_shares += np.log(share[axis]) + np.log(1 - share[axis])
        squares += away**2
        squares_of_excess += away_excess**2
        of_mean = 0.0
        for row in range(len(by_mean)):
            of_mean += by_mean[row, axis]
        of_mean -= away / priors.mean_sd[axis]
        width = priors.highest_mean[axis] - priors.lowest_mean[axis]
        slope[axis] = of_mean * width * share[axis] * (1 - share[axis]) + 1 - 2 * share[axis]
        of_spread = by_spread[axis] * np.exp(2 * log_excess[axis]) / spread[axis]
        slope[n_axes + axis] = of_spread - away_excess / priors.log_excess_sd[axis]
    return log_shares - 0.5 * squares - 0.5 * squares_of_excess


@compiled
def log_density(point, grid, priors, people):
    """Return the log-density at a point, and its slopes.

    The point has, one after another, free numbers for the frequencies (none if there is one model), the means of all
    axes as log odds between their bounds, the logarithms of their excess spreads, and the effects.
    """
    n_models, n_people = people.highest.shape
    n_axes, n_free = len(priors.mean), n_models - 1
    odds, log_excess, effects = point[n_free:], point[n_free + n_axes :], point[n_free + 2 * n_axes :]
    share, mean, spread = np.empty(n_axes), np.empty(n_axes), np.empty(n_axes)
    for axis in range(n_axes):
        share[axis] = 1 / (1 + np.exp(-odds[axis]))
        mean[axis] = priors.lowest_mean[axis] + (priors.highest_mean[axis] - priors.lowest_mean[axis]) * share[axis]
        spread[axis] = np.sqrt(priors.least_spread[axis] ** 2 + np.exp(2 * log_excess[axis]))

    centres = centres_of(mean, effects, people)
    work = empty_work(grid, people, len(centres))
    log_likelihood, chances = np.empty((n_models, n_people)), np.empty((n_people, n_models))
    for model in range(n_models):
        forward(grid, people, model, centres, spread, log_likelihood, work)
    log_frequency = log_frequencies(point[:n_free])
    value = follow(log_frequency, log_likelihood, chances)
    by_mean, by_spread = np.zeros(centres.shape), np.zeros(n_axes)
    for model in range(n_models):
        backward(grid, model, centres, spread, work, chances, by_mean, by_spread)

    slope = np.empty(len(point))
    slopes_of_frequencies(log_frequency, chances, slope)
    slopes_of_effects(priors, people, effects, by_mean, slope[n_free + 2 * n_axes :])
    log_prior = slopes_of_group(priors, share, mean, spread, log_excess, by_mean, by_spread, slope[n_free:])
    logs, squares = 0.0, 0.0
    for model in range(n_models):
        logs += log_frequency[model]
    for number in range(len(effects)):
        squares += (effects[number] / priors.effect_sd[people.axis_of_effect[number]]) ** 2
    return value + logs + log_prior - 0.5 * squares, slope
