"""The log-density of group models and its slopes, compiled: what NUTS walks on.

It is that of the PyMC model in ``model``, on the same unconstrained scales and up to a constant: a mixture of groups,
one for each latent-cause model, or a single group, which is a mixture of one.

Everyone's likelihood under a group is a sum over all nodes of the lattice, at every step of NUTS. Nearly all of the
time goes into reading the lattices from memory. So the sums that the slopes need are taken in the same pass, while a
row of a lattice is still in the cache, and lattices are in single precision, as they are in the records of a run.

The axes of a lattice stand in two groups, left and right, each weighted jointly: a lattice is rows x columns. Axes
whose mean depends on the person are all on the left. Nothing here is compiled for a certain number of models, axes,
nodes or people, so that it is compiled once for all group models, and kept beside the particle filter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAST = float(np.finfo(np.float32).tiny)  # below this, relative to the highest, a sum in single precision can be zero

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Grid(NamedTuple):
    """All axes of the merged lattices of all models, one after another, in each model those on the left first.

    Parameters
    ----------
    positions
        Of all nodes as they were fitted.
    first_node, first_cell
        Where an axis begins among the nodes, and among the merged cells; and the end of the last.
    cell_of
        The merged cell of each node.
    lost_variance
        By axis; see ``MergedAxis``.
    first_axis
        Where a model begins among the axes; and the end of the last.
    n_left
        By model, how many axes are on the left.
    """

    positions: Floats
    first_node: Integers
    first_cell: Integers
    cell_of: Integers
    lost_variance: Floats
    first_axis: Integers
    n_left: Integers


class Priors(NamedTuple):
    """What is held likely beforehand: by axis, as in ``Scaled``; by effect, its SD; and of the frequencies."""

    mean: Floats
    mean_sd: Floats
    lowest_mean: Floats
    highest_mean: Floats
    log_excess: Floats
    log_excess_sd: Floats
    least_spread: Floats
    effect_sd: Floats
    concentration: float


class People(NamedTuple):
    """The people.

    Parameters
    ----------
    likelihood
        The lattices of all models, people x rows x columns each, relative to everyone's highest.
    first_value
        Where a model begins in ``likelihood``; and the end of the last.
    highest
        Models x people, the highest log-likelihood of each person.
    columns, axis_of_effect
        People x effects: what the means of some axes depend on, and which axes.
    group_of, n_groups
        Everyone's group, and how many of them have frequencies of their own.
    """

    likelihood: NDArray[np.float32]
    first_value: Integers
    highest: Floats
    columns: Floats
    axis_of_effect: Integers
    group_of: Integers
    n_groups: int


@njit(cache=True, nogil=True)
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
        cells[grid.first_cell[axis] : grid.first_cell[axis + 1]] = 0.0
        for node in range(begin, end):
            shares[node] /= total
            cells[grid.cell_of[node]] += shares[node]


@njit(cache=True, nogil=True)
def jointly(grid, first, last, cells):
    """Return the products of the weights of all combinations of cells, the last axis running fastest."""
    joint = np.ones(1)
    for axis in range(first, last):
        own = cells[grid.first_cell[axis] : grid.first_cell[axis + 1]]
        joint = (joint.reshape(-1, 1) * own.reshape(1, -1)).ravel()
    return joint


@njit(cache=True, nogil=True)
def slopes_of_joint(grid, first, last, cells, slope, by_cell):
    """Put slopes by the weights of single axes into ``by_cell``, from those by their products."""
    for axis in range(last - 1, first - 1, -1):
        own = cells[grid.first_cell[axis] : grid.first_cell[axis + 1]]
        before = jointly(grid, first, axis, cells)
        earlier = np.zeros(len(before))
        for i in range(len(before)):
            for j in range(len(own)):
                above = slope[i * len(own) + j]
                earlier[i] += above * own[j]
                by_cell[grid.first_cell[axis] + j] += above * before[i]
        slope = earlier


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def weighted_sums(likelihood, left, right, over_right, over_left):
    """Put the sums of likelihood x right, by row, and of left x likelihood, by column, into the last two."""
    rows, columns = likelihood.shape
    over_left[:] = 0.0
    for row in range(rows):
        total = np.float32(0.0)
        for column in range(columns):
            total += likelihood[row, column] * right[column]
        over_right[row] = total
        weight = left[row]
        for column in range(columns):
            over_left[column] += weight * likelihood[row, column]


@njit(cache=True, nogil=True)
def forward(grid, model, likelihood, highest, centres, spread):
    """Return everyone's log-likelihood under the group of one model, and what ``backward`` needs to find its slopes.

    Parameters
    ----------
    grid, model
        The axes, and whose of them are meant.
    likelihood, highest
        People x rows x columns, and people.
    centres
        The group's means, by axis: a row for each person, or one for all.
    spread
        Of the group, by axis.
    """
    people, rows, columns = likelihood.shape
    first, last = grid.first_axis[model], grid.first_axis[model + 1]
    middle = first + grid.n_left[model]
    shares, cells = np.empty((len(centres), len(grid.positions))), np.empty((len(centres), grid.first_cell[-1]))
    log_likelihood, total = np.empty(people), np.zeros(people)
    over_right = np.empty((people, rows), dtype=np.float32)
    over_left = np.empty((people, columns), dtype=np.float32)
    cell_weights(grid, middle, last, centres[0], spread, shares[0], cells[0])
    right = jointly(grid, middle, last, cells[0]).astype(np.float32)
    left = np.ones(1)
    for person in range(people):
        if person < len(centres):
            cell_weights(grid, first, middle, centres[person], spread, shares[person], cells[person])
            left = jointly(grid, first, middle, cells[person])
        weighted_sums(likelihood[person], left.astype(np.float32), right, over_right[person], over_left[person])
        for row in range(rows):
            total[person] += left[row] * over_right[person, row]
        log_likelihood[person] = np.log(max(total[person], LEAST)) + highest[person]
    return log_likelihood, (shares, cells, total, over_right, over_left)


@njit(cache=True, nogil=True)
def backward(grid, model, centres, spread, sums, counts, by_mean, by_spread):
    """Add the slopes of the group of one model to those by everyone's mean (or that of all), and by the spread.

    Parameters
    ----------
    grid, model, centres, spread
        As in ``forward``.
    sums
        What it has returned.
    counts
        By person, how much the log-likelihood counts.
    by_mean, by_spread
        What is added to.
    """
    shares, cells, total, over_right, over_left = sums
    first, last = grid.first_axis[model], grid.first_axis[model + 1]
    middle = first + grid.n_left[model]
    by_cell = np.zeros(cells.shape)
    by_right, by_left = np.zeros(over_left.shape[1]), np.zeros(over_right.shape[1])
    for person in range(len(total)):
        relative = counts[person] / total[person] if total[person] > LEAST else 0.0
        by_right += relative * over_left[person]
        by_left += relative * over_right[person]
        if person == len(total) - 1 or len(centres) > 1:
            row = min(person, len(centres) - 1)
            slopes_of_joint(grid, first, middle, cells[row], by_left, by_cell[row])
            slopes_of_weights(
                grid, first, middle, centres[row], spread, shares[row], by_cell[row], by_mean[row], by_spread
            )
            by_left[:] = 0.0
    slopes_of_joint(grid, middle, last, cells[0], by_right, by_cell[0])
    slopes_of_weights(grid, middle, last, centres[0], spread, shares[0], by_cell[0], by_mean[0], by_spread)


@njit(cache=True, nogil=True)
def log_frequencies(free):
    """Return the logarithms of frequencies (groups x models) from free numbers, one less a group."""
    groups, models = free.shape[0], free.shape[1] + 1
    found = np.zeros((groups, models))
    for group in range(groups):
        found[group, : models - 1] = free[group]
        found[group, models - 1] = -np.sum(free[group])
        highest = found[group].max()
        found[group] -= highest + np.log(np.sum(np.exp(found[group] - highest)))
    return found


@njit(cache=True, nogil=True)
def follow(log_frequency, group_of, log_likelihood, chances):
    """Return the log-likelihood of a mixture, and put the chances of each model to be a person's (x people) aside."""
    value = 0.0
    for person in range(log_likelihood.shape[1]):
        joint = log_frequency[group_of[person]] + log_likelihood[:, person]
        highest = joint.max()
        total = np.sum(np.exp(joint - highest))
        chances[:, person] = np.exp(joint - highest) / total
        value += highest + np.log(total)
    return value


@njit(cache=True, nogil=True)
def log_density(point, grid, priors, people):
    """Return the log-density at a point, and its slopes.

    The point has, one after another, free numbers for the frequencies of each group (none if there is one model), the
    means of all axes as log odds between their bounds, the logarithms of their excess spreads, and the effects.
    """
    n_models, n_people = people.highest.shape
    n_axes, n_free = len(priors.mean), people.n_groups * (n_models - 1)
    free = point[:n_free].reshape(people.n_groups, n_models - 1)
    odds, log_excess = point[n_free : n_free + n_axes], point[n_free + n_axes : n_free + 2 * n_axes]
    effects = point[n_free + 2 * n_axes :]
    share = 1 / (1 + np.exp(-odds))
    width = priors.highest_mean - priors.lowest_mean
    mean = priors.lowest_mean + width * share
    excess = np.exp(2 * log_excess)
    spread = np.sqrt(priors.least_spread**2 + excess)

    rows = n_people if len(effects) else 1
    centres = np.empty((rows, n_axes))
    centres[:] = mean
    for number in range(len(effects)):
        centres[:, people.axis_of_effect[number]] += people.columns[:, number] * effects[number]

    log_likelihood, chances = np.empty((n_models, n_people)), np.empty((n_models, n_people))
    sums = []
    for model in range(n_models):
        lattices = _lattices(grid, people, model)
        log_likelihood[model], own = forward(grid, model, lattices, people.highest[model], centres, spread)
        sums.append(own)
    log_frequency = log_frequencies(free)
    value = follow(log_frequency, people.group_of, log_likelihood, chances)
    by_mean, by_spread = np.zeros(centres.shape), np.zeros(n_axes)
    for model in range(n_models):
        backward(grid, model, centres, spread, sums[model], chances[model], by_mean, by_spread)

    slope = np.empty(len(point))
    by_frequency = np.full(log_frequency.shape, priors.concentration)
    for person in range(n_people):
        by_frequency[people.group_of[person]] += chances[:, person]
    for group in range(people.n_groups):
        total = by_frequency[group].sum()
        relative = by_frequency[group] - np.exp(log_frequency[group]) * total
        slope[group * (n_models - 1) : (group + 1) * (n_models - 1)] = relative[:-1] - relative[-1]
    away, away_excess = (mean - priors.mean) / priors.mean_sd, (log_excess - priors.log_excess) / priors.log_excess_sd
    of_mean = by_mean.sum(axis=0) - away / priors.mean_sd
    slope[n_free : n_free + n_axes] = of_mean * width * share * (1 - share) + 1 - 2 * share
    slope[n_free + n_axes : n_free + 2 * n_axes] = by_spread * excess / spread - away_excess / priors.log_excess_sd
    for number in range(len(effects)):
        by_effect = np.sum(by_mean[:, people.axis_of_effect[number]] * people.columns[:, number])
        slope[n_free + 2 * n_axes + number] = by_effect - effects[number] / priors.effect_sd[number] ** 2
    value += priors.concentration * log_frequency.sum() * (n_models > 1)
    value += np.sum(np.log(share) + np.log(1 - share)) - 0.5 * np.sum(away**2) - 0.5 * np.sum(away_excess**2)
    return value - 0.5 * np.sum((effects / priors.effect_sd) ** 2), slope


@njit(cache=True, nogil=True)
def _lattices(grid, people, model):
    """Return the lattices of one model, people x rows x columns."""
    first, last = grid.first_axis[model], grid.first_axis[model + 1]
    rows, columns = 1, 1
    for axis in range(first, last):
        cells = grid.first_cell[axis + 1] - grid.first_cell[axis]
        if axis < first + grid.n_left[model]:
            rows *= cells
        else:
            columns *= cells
    own = people.likelihood[people.first_value[model] : people.first_value[model + 1]]
    return own.reshape(people.highest.shape[1], rows, columns)
