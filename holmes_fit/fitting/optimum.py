"""The best-fitting point: maximum likelihood and maximum a posteriori, found from the lattice.

A search moves over the learning parameters alone; at each point the response parameters are solved, given the traces.
All points of a search share their draws. The best of many noisy values is partly luck, so a few of the best points meet
again on fresh draws, and the winner is scored on yet others: that score is what is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

from holmes_fit.fitting.lattice.explored import Explored
from holmes_fit.fitting.lattice.nodes import ResponseNodes, node_position
from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.fitting.lattice.task import SCORE, SEARCH, SELECTION, Task
from holmes_fit.fitting.search import Evaluation, SearchResult, maximise
from holmes_fit.likelihood.answers import AnswerLikelihood, likelihood_of
from holmes_fit.likelihood.traces import Replicates, Traces
from holmes_fit.settings.spaces import FreeParameter
from holmes_fit.settings.tables import SearchSettings

Goal = Literal["ml", "map"]
GOALS: tuple[Goal, ...] = ("ml", "map")

FINALISTS = 3  # points that meet again on fresh draws
SELECTION_FACTOR = 2  # ... on so many times the replicates of the search
SCORE_BATCHES = 8  # the winner's score is measured in so many batches of R replicates
KNOTS = 129
STEP = 1e-4  # on the scales of search, over which slopes are measured


class Point(NamedTuple):
    """A position of the learning and of the response parameters, on their scales, and what a search made of it."""

    learning: NDArray[np.float64]
    response: NDArray[np.float64]
    value: float


@dataclass(frozen=True)
class Optimum:
    """The winner of one search, and how the search went."""

    point: Point  # the winner, with its value on the draws of the selection
    # Where each start ended, with the values of the search's own draws: convergence over starts
    ends: tuple[Evaluation, ...]


@dataclass(frozen=True)
class Score:
    """A point's likelihood on fresh draws."""

    traces: Traces  # all batches together
    likelihood: AnswerLikelihood
    log_likelihood: float  # its logarithm at the point, and the SD of its Monte Carlo error
    error: float
    batch_sd: float  # the SD over independent batches of R replicates: the noise of one evaluation
    effective_replicates: float  # how many of the R replicates of a batch carry its mean, on average


def find_optima(explored: Explored, posterior: Posterior, effort: SearchSettings) -> dict[Goal, Optimum]:
    """Search for the maximum of the likelihood and of the posterior from the best nodes."""
    return search_from(explored, Solver(explored.task), _best_nodes(explored.task, posterior, effort.starts), effort)


def search_from(
    explored: Explored, solver: Solver, starts: list[NDArray[np.float64]], effort: SearchSettings
) -> dict[Goal, Optimum]:
    """Search for both maxima from some positions of the learning parameters."""
    profile = _Profile(explored, solver)
    searches: dict[Goal, SearchResult] = {}
    for number, goal in enumerate(GOALS):
        share = (effort.evaluations - profile.n_evaluated) // (len(GOALS) - number)
        searches[goal] = _search(profile, goal, starts, share, effort)
    # A point that is good for one goal is a candidate for the other, too.
    best = {goal: profile.known(goal)[0].learning for goal in GOALS}
    found: dict[Goal, Optimum] = {}
    for goal, search in searches.items():
        rivals = [best[goal], *best.values(), starts[0], *(end.position for end in search.ends)]
        found[goal] = Optimum(_winner(profile, goal, rivals), search.ends)
    return found


def score(explored: Explored, point: Point) -> Score:
    """Score a point on fresh draws, in batches of as many replicates as the fit has used."""
    task, replicates = explored.task, explored.replicates
    n_batches = SCORE_BATCHES if task.is_noisy else 1
    lent = explored.lent(point.learning)
    traces = task.traces(point.learning, Replicates(replicates * n_batches, SCORE))
    together, *batches = (
        likelihood_of(each, task.kind, lent, task.space.answers) for each in (traces, *traces.batches(n_batches))
    )
    rule = task.rule(point.response)
    batch_sd = float(np.std([batch.at(rule) for batch in batches], ddof=1)) if n_batches > 1 else 0.0
    effective = float(replicates)  # to an averaged observer all of them count alike
    if task.kind != "expected":
        effective = float(np.mean([batch.effective_replicates(rule) for batch in batches]))
    return Score(
        traces=traces,
        likelihood=together,
        log_likelihood=together.at(rule),
        error=float(batch_sd / np.sqrt(n_batches)),
        batch_sd=batch_sd,
        effective_replicates=effective,
    )


class Solver:
    """The best response parameters of a person, given traces: the best node of their grid, then uphill from there."""

    def __init__(self, task: Task):
        self.task = task
        self._axes = task.space.response
        self._nodes = ResponseNodes(task)
        self._priors = [prior_curve(axis) for axis in self._axes]

    def solve(self, learning: NDArray[np.float64], likelihood: AnswerLikelihood, goal: Goal) -> Point:
        """Return the best point with these learning parameters, which the likelihood is at."""
        offset = 0.0
        if goal == "map":
            axes = self.task.space.learning
            offset = float(sum(axis.log_density(at) for axis, at in zip(axes, learning, strict=True)))
        if not self._axes:
            return Point(learning, np.empty(0), likelihood.at(self.task.rule(np.empty(0))) + offset)

        def downhill(position: NDArray[np.float64]) -> float:
            value = likelihood.at(self.task.rule(position))
            if goal == "map":
                value += sum(float(curve(at)) for curve, at in zip(self._priors, position, strict=True))
            return -value

        bounds = [(axis.low, axis.high) for axis in self._axes]
        start = self.best_node(likelihood, goal)
        end = minimize(downhill, start, method="L-BFGS-B", bounds=bounds, options={"eps": STEP})
        return Point(learning, np.asarray(end.x), -float(end.fun) + offset)

    def best_node(self, likelihood: AnswerLikelihood, goal: Goal) -> NDArray[np.float64]:
        """Return the best position of the response parameters on their grid."""
        surface = with_prior(self.on_nodes(likelihood), self._axes, range(len(self._axes)) if goal == "map" else ())
        return node_position(self._axes, np.unravel_index(np.argmax(surface), surface.shape))

    def on_nodes(self, likelihood: AnswerLikelihood) -> NDArray[np.float64]:
        """Return the log-likelihood at all nodes of the response parameters."""
        knots = self._nodes.knots
        return knots.at_nodes(likelihood.on_grid(knots.values)).reshape([axis.nodes for axis in self._axes])


def with_prior(
    surface: NDArray[np.float64], axes: Sequence[FreeParameter], numbers: Iterable[int]
) -> NDArray[np.float64]:
    """Return log-likelihoods at the nodes with the log prior of some of the axes."""
    for number in numbers:
        surface = surface + axes[number].log_weights.reshape([-1 if i == number else 1 for i in range(len(axes))])
    return surface


def prior_curve(axis: FreeParameter) -> CubicSpline:
    """Return the log prior of a response parameter, as a curve through many points of it."""
    knots = np.linspace(axis.low, axis.high, KNOTS)
    return CubicSpline(knots, axis.log_density(knots))


class _Profile:
    """The likelihood as a function of the learning parameters, response parameters solved; each point computed once."""

    def __init__(self, explored: Explored, solver: Solver):
        self.explored = explored
        self.task = explored.task
        self.solve = solver.solve
        self.points: dict[bytes, dict[Goal, Point]] = {}

    @property
    def n_evaluated(self) -> int:
        return len(self.points)

    def at(self, position: NDArray[np.float64], goal: Goal) -> float:
        key = position.tobytes()
        if key not in self.points:
            likelihood = self.likelihood(position, Replicates(self.explored.replicates, SEARCH))
            self.points[key] = {each: self.solve(position, likelihood, each) for each in GOALS}
        return self.points[key][goal].value

    def likelihood(self, position: NDArray[np.float64], replicates: Replicates) -> AnswerLikelihood:
        return self.task.likelihood(position, replicates, self.explored.lent(position))

    def known(self, goal: Goal) -> list[Point]:
        """Return all points so far, best first."""
        return sorted((point[goal] for point in self.points.values()), key=lambda point: -point.value)


def _best_nodes(task: Task, posterior: Posterior, count: int) -> list[NDArray[np.float64]]:
    """Return the best learning nodes for either goal, response parameters at their best, no two of them neighbours."""
    shape = tuple(axis.nodes for axis in task.space.learning)
    if not shape:
        return [np.empty(0)]
    with np.errstate(divide="ignore"):
        surfaces = posterior.log_likelihood, np.log(posterior.mass)
    profiles = [surface.reshape(*shape, -1).max(axis=-1) for surface in surfaces]
    orders = [np.argsort(-profile, axis=None, kind="stable") for profile in profiles]
    chosen: list[tuple[int, ...]] = []
    for place in np.column_stack(orders).ravel():
        node = tuple(int(i) for i in np.unravel_index(place, shape))
        if len(chosen) < count and all(
            max(abs(a - b) for a, b in zip(node, other, strict=True)) > 2 for other in chosen
        ):
            chosen.append(node)
    return [node_position(task.space.learning, node) for node in chosen]


def _search(
    profile: _Profile, goal: Goal, starts: list[NDArray[np.float64]], evaluations: int, effort: SearchSettings
) -> SearchResult:
    axes = profile.task.space.learning
    before = profile.n_evaluated
    for position in starts:
        profile.at(position, goal)
    return maximise(
        lambda position: profile.at(position, goal),
        [axis.low for axis in axes],
        [axis.high for axis in axes],
        [Evaluation(point.learning, point.value) for point in profile.known(goal)],
        max(evaluations - (profile.n_evaluated - before), 0),
        effort.method,
        seed=profile.task.seed,
        step=[2 * axis.spacing for axis in axes],
        runs=effort.starts,
    )


def _winner(profile: _Profile, goal: Goal, rivals: list[NDArray[np.float64]]) -> Point:
    """Let the best points meet on fresh draws, which none of them was chosen by."""
    task = profile.task
    if not task.is_noisy:
        return profile.known(goal)[0]
    positions = {position.tobytes(): position for position in rivals}
    fresh = Replicates(SELECTION_FACTOR * profile.explored.replicates, SELECTION)
    finalists = [
        profile.solve(position, profile.likelihood(position, fresh), goal)
        for position in [*positions.values()][:FINALISTS]
    ]
    return max(finalists, key=lambda point: point.value)
