"""The numbers that the compiled density of group models works on: axes, priors, people, and room for what it finds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
    """The people."""

    # The lattices of all models, people x rows x columns each, relative to everyone's highest
    likelihood: NDArray[np.float32]
    first_value: Integers  # where a model begins in ``likelihood``; and the end of the last
    highest: Floats  # models x people, the highest log-likelihood of each person
    columns: Floats  # people x effects: what the means of some axes depend on, and which axes
    axis_of_effect: Integers
    group_of: Integers  # everyone's group, and how many of them have frequencies of their own
    n_groups: int


class Work(NamedTuple):
    """What is found on the way to the density, and needed again on the way back to its slopes."""

    shares: Floats  # weights of all nodes, and of all merged cells: a row for each person, or one for all
    cells: Floats
    total: Floats  # models x people: the sum over the lattice, relative to the highest
    # Sums over columns, by row, and over rows, by column: those of all people, model after model
    over_right: NDArray[np.float32]
    over_left: NDArray[np.float32]
