"""Cells of the response parameters, divided into parts where the likelihood is narrower than they are.

Seventy ratings tell where a person's ratings lie to a tenth of what a cell spans: one point of the cell would miss it.
So the likelihood of a cell is its mean over the cell's parts. Where it is narrow, and how narrow, is seen from some
nodes of the learning parameters: from the highest point of the likelihood at their mean trace, and the curvature there.

What a lattice says of a parameter is its cell, no more: its mass is even within. Conditions of a person that share a
parameter, too, share its cell and not its place within.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from holmes_fit.fitting.lattice.task import Task
from holmes_fit.likelihood.density import log_odds_of
from holmes_fit.likelihood.specialised import Axes, Specialised
from holmes_fit.likelihood.traces import Traces

TRIED = 16  # nodes of the learning parameters, at most
WORTH = 30.0, 15.0  # nats below the best: by the coarse grid, which may miss the highest points, and by those points
REACH = 5.0  # SDs around the highest point that are divided
MOST, MOST_OF_FILTERS = 32_768, 4_096  # points of the response parameters at a node

Vector = NDArray[np.float64]


class Top(NamedTuple):
    """The highest point of a likelihood of the response parameters, on their scales."""

    height: float
    at: Vector
    narrow: Vector  # SDs of each parameter, the others fixed,
    wide: Vector  # and by itself


def parts_of(task: Task, traces: Sequence[Traces], coarse: Axes) -> list[NDArray[np.intp]]:
    """Return, for each free parameter, the numbers of parts of its cells.

    Traces are those of nodes; ``coarse`` is a grid of the parameters of the response to begin with.
    """
    axes = task.space.response
    if task.space.answers.parts == 1 or not axes:
        return [np.ones(axis.nodes, dtype=np.intp) for axis in axes]
    tops = _tops(task, [Surface(task, each) for each in traces], coarse)
    low = np.min([top.at - REACH * top.wide for top in tops], axis=0)
    high = np.max([top.at + REACH * top.wide for top in tops], axis=0)
    step = np.min([top.narrow for top in tops], axis=0)
    spacing = np.array([axis.spacing for axis in axes])
    counts = np.clip(np.ceil(spacing / step), 1, task.space.answers.parts)
    most = MOST_OF_FILTERS if task.is_noisy else MOST
    while True:
        found = []
        for number, axis in enumerate(axes):
            is_near = np.abs(axis.positions - (low + high)[number] / 2) < (high - low + spacing)[number] / 2
            found.append(np.where(is_near, counts[number], 1).astype(np.intp))
        if math.prod(int(each.sum()) for each in found) <= most or counts.max() == 1:
            return found
        counts[counts.argmax()] -= 1


class Surface:
    """The log-likelihood of a person's answers at a mean trace, as a function of the response parameters."""

    def __init__(self, task: Task, traces: Traces):
        self._task, self._by = task, Specialised(task.space.answers)
        self._learners = []
        for p_hat, answers in zip(*traces, strict=True):
            coded = task.space.answers.coded(answers)
            given = ~np.isnan(coded)
            mean = log_odds_of(p_hat).mean(axis=0, keepdims=True)
            self._learners.append((np.ascontiguousarray(mean[:, given]), coded[given]))

    def on_grid(self, axes: Axes) -> Vector:
        return np.asarray(np.sum([self._by.on_grid(*each, axes)[0] for each in self._learners], axis=0))

    def at(self, position: Vector) -> float:
        rule = self._task.rule(position)
        return float(sum(self._by.by_replicate(*each, rule)[0] for each in self._learners))

    def top(self, start: Vector) -> Top:
        """Climb from a position, within the bounds."""
        axes = self._task.space.response
        bounds = [(axis.low, axis.high) for axis in axes]
        at = np.asarray(minimize(lambda position: -self.at(position), start, method="L-BFGS-B", bounds=bounds).x)
        curvature = -self._second_derivatives(at, np.array([axis.spacing for axis in axes]) / 50)
        widest = np.array([axis.high - axis.low for axis in axes])
        narrow = 1 / np.sqrt(np.maximum(np.diag(curvature), 1 / widest**2))
        is_peak = np.linalg.eigvalsh(curvature)[0] > 0
        wide = np.sqrt(np.diag(np.linalg.inv(curvature))) if is_peak else widest
        return Top(self.at(at), at, narrow, np.minimum(wide, widest))

    def _second_derivatives(self, at: Vector, step: Vector) -> Vector:
        """Return them by differences."""
        found = np.empty((len(at), len(at)))
        for i, j in np.ndindex(found.shape):
            one, other = np.eye(len(at))[i] * step, np.eye(len(at))[j] * step
            corners = [a * b * self.at(at + a * one + b * other) for a in (1, -1) for b in (1, -1)]
            found[i, j] = sum(corners) / (4 * step[i] * step[j])
        return found


def _tops(task: Task, surfaces: Sequence[Surface], coarse: Axes) -> list[Top]:
    """Return the highest points that matter, of some of the surfaces."""
    grids = [surface.on_grid(coarse) for surface in surfaces]
    heights = np.array([grid.max() for grid in grids])
    near = np.flatnonzero(heights >= heights.max() - WORTH[0])
    tried = {int(number) for number in near[np.linspace(0, len(near) - 1, min(TRIED, len(near))).round().astype(int)]}
    names = [parameter.name for parameter in task.space.answers.parameters]
    tops = []
    for number in sorted(tried | {int(heights.argmax())}):
        place = np.unravel_index(grids[number].argmax(), grids[number].shape)
        values = {name: own[i] for name, own, i in zip(names, coarse, place, strict=True)}
        start = [axis.parameter.to_scale(values[axis.name]) for axis in task.space.response]
        tops.append(surfaces[number].top(np.array(start)))
    best = max(top.height for top in tops)
    return [top for top in tops if top.height > best - WORTH[1]]
