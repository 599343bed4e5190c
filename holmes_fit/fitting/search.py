"""The highest point of a log-likelihood or log posterior, by several optimisers behind one keep-best loop.

The function is expensive and a little rough, and it is the same every time at the same point. Its values on a lattice
are known before the search begins. Every optimiser only proposes points; one :class:`_Search` evaluates them, and is
the only place that counts, remembers, keeps the best and ends the search.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import optuna

Array = NDArray[np.float64]
Objective = Callable[[Array], float]
Method = Literal["nelder_mead", "tpe", "cmaes", "random"]
METHODS: tuple[Method, ...] = get_args(Method)

FINEST = 0.02  # of a step: a smaller simplex resolves differences that no data can
MOST_REPEATS = 20  # proposals for each new point; an optimiser that only goes back to known points has ended


class Evaluation(NamedTuple):
    """A point on the scales of search, and the value there; minus infinity where the function has none."""

    position: Array
    value: float

    @property
    def has_value(self) -> bool:
        return math.isfinite(self.value)


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    best: Evaluation  # the highest of all points, those known before included
    evaluations: tuple[Evaluation, ...]  # the new points, in the order of evaluation
    # The best point that each run saw, in the order of the runs: whether different starts lead to the same place. A run
    # that was refused its first point has none.
    ends: tuple[Evaluation, ...]


def maximise(
    objective: Objective,
    low: ArrayLike,
    high: ArrayLike,
    starts: Sequence[Evaluation],
    evaluations: int,
    method: Method,
    seed: int,
    step: ArrayLike | None = None,
    runs: int = 3,
) -> SearchResult:
    """Search a box for the highest value of a function; one that is not finite counts as the worst.

    ``starts`` are points whose values are known, which cost nothing, and ``step`` is how far apart they are along each
    axis. ``"nelder_mead"`` goes uphill from as many of the best starts as there are ``runs``; ``"tpe"`` and ``"cmaes"``
    are Optuna's samplers and learn from the starts; ``"random"`` draws evenly from the box. These make one run.
    """
    lowest, highest = np.array(low, dtype=np.float64, ndmin=1), np.array(high, dtype=np.float64, ndmin=1)
    steps = (highest - lowest) / 10 if step is None else np.array(step, dtype=np.float64, ndmin=1)
    search = _Search(objective, lowest, highest, steps, runs, seed, evaluations)
    search.know(starts)
    if not search.known and evaluations < 1:
        raise ValueError("a search needs a point that is known, or one evaluation")
    optimise = {"nelder_mead": _nelder_mead, "tpe": _tpe, "cmaes": _cmaes, "random": _random}[method]
    ends = optimise(search) if lowest.size else [search.run(lambda function: function(lowest))]
    return SearchResult(search.best, tuple(search.new), tuple(end for end in ends if end is not None))


class _BudgetSpent(Exception):
    """Ends an optimiser from within the function that it evaluates."""


@dataclass
class _Search:
    """The function as an optimiser sees it, and what else it is told."""

    objective: Objective
    low: Array  # the box
    high: Array
    step: Array
    runs: int
    seed: int
    budget: int
    known: list[Evaluation] = field(default_factory=list)  # before the search, best first
    new: list[Evaluation] = field(default_factory=list)
    _values: dict[bytes, float] = field(default_factory=dict)
    _end: Evaluation | None = None  # the best that the present run saw
    _last: int = 0  # the number of evaluations at which it ends
    _proposals: int = 0  # that it may still make

    @property
    def left(self) -> int:
        return self.budget - len(self.new)

    @property
    def middle(self) -> Array:
        return (self.low + self.high) / 2

    @property
    def best(self) -> Evaluation:
        return max((*self.known, *self.new), key=lambda point: point.value)

    def know(self, starts: Sequence[Evaluation]) -> None:
        """Take in points that were evaluated before."""
        for start in starts:
            position = np.array(start.position, dtype=np.float64, ndmin=1)
            if position.shape != self.low.shape or np.any(position < self.low) or np.any(position > self.high):
                raise ValueError(f"the start {position} lies outside the box from {self.low} to {self.high}")
            self.known.append(self._remember(position, float(start.value)))
        self.known.sort(key=lambda point: -point.value)

    def run(self, optimiser: Callable[[Objective], object], evaluations: int | None = None) -> Evaluation | None:
        """Let an optimiser evaluate up to so many new points, all that are left by default; return the best it saw."""
        allowed = self.left if evaluations is None else min(evaluations, self.left)
        self._end = None
        self._last = len(self.new) + allowed
        self._proposals = MOST_REPEATS * max(allowed, 1)
        with suppress(_BudgetSpent):
            optimiser(self)
        return self._end

    def __call__(self, position: Array) -> float:
        """Return the value at a point, or end the run if it may not be evaluated."""
        inside = np.clip(position, self.low, self.high) + 0.0  # not -0.0, which is the same point in other bytes
        self._proposals -= 1
        value = self._values.get(inside.tobytes())
        if value is None:
            if len(self.new) >= self._last:
                raise _BudgetSpent
            self.new.append(self._remember(inside, float(self.objective(inside.copy()))))
            value = self.new[-1].value
        if self._end is None or value > self._end.value:
            self._end = Evaluation(inside, value)
        if self._proposals <= 0:
            raise _BudgetSpent
        return value

    def _remember(self, position: Array, value: float) -> Evaluation:
        point = Evaluation(position + 0.0, value if math.isfinite(value) else -math.inf)
        self._values[point.position.tobytes()] = point.value
        return point


Ends = Sequence[Evaluation | None]  # of the runs of an optimiser


def _nelder_mead(search: _Search) -> Ends:
    """SciPy's simplex from several starts, which share the budget; what they leave goes to the best point of all."""
    starts = _far_apart(search) or _first_with_value(search)
    ends = []
    for index, start in enumerate(starts):
        share = search.left // (len(starts) - index)
        ends.append(search.run(partial(_simplex, search, start.position, search.step), share))
    if starts and search.left:
        search.run(partial(_simplex, search, search.best.position, search.step / 2))
    return ends


def _far_apart(search: _Search) -> list[Evaluation]:
    """Return the best points of which no two are neighbours, as these would climb the same hill."""
    chosen: list[Evaluation] = []
    for point in search.known:
        away = [np.abs(point.position - other.position) > 1.25 * search.step for other in chosen]
        if len(chosen) < search.runs and point.has_value and all(map(np.any, away)):
            chosen.append(point)
    return chosen


def _first_with_value(search: _Search) -> list[Evaluation]:
    """Try the middle of the box, then points at random, until there is one from which to go uphill."""
    rng = np.random.default_rng(search.seed)

    def look(function: Objective) -> None:
        position = search.middle
        while not math.isfinite(function(position)):
            position = rng.uniform(search.low, search.high)

    search.run(look)
    return [search.best] if search.best.has_value else []


def _simplex(search: _Search, start: Array, step: Array, function: Objective) -> None:
    from scipy.optimize import minimize

    # The first simplex opens towards the far side of the box, so that bounds cannot flatten it.
    above, below = search.high - start, start - search.low
    inwards = np.where(above >= below, np.minimum(step, above), -np.minimum(step, below))
    minimize(
        lambda position: -function(position),  # infinity, the worst, where there is no value
        start,
        method="Nelder-Mead",
        bounds=list(zip(search.low, search.high, strict=True)),
        options={
            "initial_simplex": np.vstack([start, start + np.diag(inwards)]),
            "xatol": FINEST * float(step.min()),
            "fatol": math.inf,  # the simplex is small enough, whatever the roughness within it
        },
    )


def _random(search: _Search) -> Ends:
    rng = np.random.default_rng(search.seed)

    def propose(function: Objective) -> None:
        while True:
            function(rng.uniform(search.low, search.high))

    return [search.run(propose)]


def _tpe(search: _Search) -> Ends:
    """Optuna's tree-structured Parzen estimators."""
    from optuna.samplers import TPESampler

    return [search.run(partial(_ask_and_tell, search, TPESampler(seed=_optunas_seed(search.seed))))]


def _cmaes(search: _Search) -> Ends:
    """Optuna's CMA-ES, from the best point known and as wide as the distance between starts."""
    from optuna.samplers import CmaEsSampler

    start = search.known[0].position if search.known and search.known[0].has_value else search.middle
    width = float(np.mean(search.step / (search.high - search.low)))  # Optuna maps the box onto the unit cube
    seed = _optunas_seed(search.seed)
    with warnings.catch_warnings():
        # Optuna 6 will drop x0 and sigma0; pyproject.toml stays below it.
        warnings.filterwarnings("ignore", "`(x0|sigma0)` has been deprecated", FutureWarning)
        sampler = CmaEsSampler(x0=_named(start), sigma0=width, seed=seed, warn_independent_sampling=False)
    return [search.run(partial(_ask_and_tell, search, sampler))]


def _ask_and_tell(search: _Search, sampler: optuna.samplers.BaseSampler, function: Objective) -> None:
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna.trial import TrialState, create_trial

    def told(value: float) -> dict[str, Any]:
        """TPE ranks a point without a value below all others; CMA-ES asks for another one in its place."""
        return {"values": [value]} if math.isfinite(value) else {"state": TrialState.PRUNED}

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it announces what it makes
    try:
        study = optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)
    bounds = zip(search.low.tolist(), search.high.tolist(), strict=True)
    box: dict[str, optuna.distributions.BaseDistribution] = {
        f"x{index}": FloatDistribution(low, high) for index, (low, high) in enumerate(bounds)
    }
    for position, value in search.known:
        study.add_trial(create_trial(params=_named(position), distributions=box, **told(value)))
    while True:
        trial = study.ask(box)
        value = function(np.array([trial.params[name] for name in box]))
        study.tell(trial, **told(value))


def _named(position: Array) -> dict[str, float]:
    return {f"x{index}": float(value) for index, value in enumerate(position)}


def _optunas_seed(seed: int) -> int:
    """Return a seed within the 32 bits that Optuna takes."""
    return int(np.random.SeedSequence(seed).generate_state(1)[0])
