"""The highest point of a log-likelihood or log posterior, by several optimisers behind one keep-best loop.

The function is expensive and a little rough, and it is the same every time at the same point. Its values on a lattice
are known before the search begins. Every optimiser only proposes points; one :class:`_Recorder` evaluates them, and
is the only place that counts, remembers, keeps the best and ends the search.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import optuna

Array = NDArray[np.float64]
Objective = Callable[[Array], float]
Method = Literal["nelder_mead", "tpe", "cmaes", "random"]
Ends = Sequence["Evaluation | None"]
METHODS: tuple[Method, ...] = get_args(Method)

FINEST = 0.02  # of a step: a smaller simplex resolves differences that no data can
MOST_REPEATS = 20  # proposals for each new point; an optimiser that only goes back to known points has ended


class Evaluation(NamedTuple):
    """A point on the scales of search, and the value there; minus infinity where the function has none."""

    position: Array
    value: float


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    best: Evaluation  # the highest of all points, those known before included
    evaluations: tuple[Evaluation, ...]  # the new points, in the order of evaluation
    # The best point that each run saw, in the order of the runs: whether different starts lead to the same place. A run
    # that was refused its first point has none.
    ends: tuple[Evaluation, ...]


@dataclass(frozen=True)
class _Task:
    """What an optimiser is told: the box, points known (best first, finite values only), a step, and a seed."""

    low: Array
    high: Array
    known: tuple[Evaluation, ...]
    without_value: tuple[Evaluation, ...]
    step: Array
    runs: int
    seed: int


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
    recorder = _Recorder(objective, lowest, highest, evaluations)
    known = [recorder.know(start) for start in starts]
    if not known and evaluations < 1:
        raise ValueError("a search needs a point that is known, or one evaluation")
    if lowest.size == 0:
        return recorder.result([recorder.run(lambda function: function(lowest), evaluations)])
    steps = (highest - lowest) / 10 if step is None else np.array(step, dtype=np.float64, ndmin=1)
    finite = sorted((point for point in known if math.isfinite(point.value)), key=lambda point: -point.value)
    without_value = [point for point in known if not math.isfinite(point.value)]
    optimise = {"nelder_mead": _nelder_mead, "tpe": _tpe, "cmaes": _cmaes, "random": _random}[method]
    ends = optimise(recorder, _Task(lowest, highest, tuple(finite), tuple(without_value), steps, runs, seed))
    return recorder.result(ends)


class _BudgetSpent(Exception):
    """Ends an optimiser from within the function that it evaluates."""


@dataclass
class _Recorder:
    """The function as an optimiser sees it."""

    objective: Objective
    low: Array
    high: Array
    budget: int
    _values: dict[bytes, float] = field(default_factory=dict)
    _best: Evaluation | None = None
    _new: list[Evaluation] = field(default_factory=list)
    _end: Evaluation | None = None
    _last: int = 0  # the number of evaluations at which the present run ends
    _proposals: int = 0  # that the present run may still make

    @property
    def left(self) -> int:
        return self.budget - len(self._new)

    def know(self, point: Evaluation) -> Evaluation:
        """Take in a point that was evaluated before."""
        position = np.array(point.position, dtype=np.float64, ndmin=1)
        if position.shape != self.low.shape or np.any(position < self.low) or np.any(position > self.high):
            raise ValueError(f"the start {position} lies outside the box from {self.low} to {self.high}")
        return self._remember(position, float(point.value))

    def run(self, optimiser: Callable[[Objective], object], evaluations: int) -> Evaluation | None:
        """Let an optimiser evaluate up to so many new points, and return the best point that it saw."""
        self._end = None
        self._last = len(self._new) + min(evaluations, self.left)
        self._proposals = MOST_REPEATS * max(evaluations, 1)
        with suppress(_BudgetSpent):
            optimiser(self)
        return self._end

    def __call__(self, position: Array) -> float:
        """Return the value at a point, or end the run if it may not be evaluated."""
        inside = np.clip(position, self.low, self.high) + 0.0  # not -0.0, which is the same point in other bytes
        self._proposals -= 1
        value = self._values.get(inside.tobytes())
        if value is None:
            if len(self._new) >= self._last:
                raise _BudgetSpent
            point = self._remember(inside, float(self.objective(inside.copy())))
            self._new.append(point)
        else:
            point = Evaluation(inside, value)
        self._end = _better(self._end, point)
        if self._proposals <= 0:
            raise _BudgetSpent
        return point.value

    def _remember(self, position: Array, value: float) -> Evaluation:
        point = Evaluation(position + 0.0, value if math.isfinite(value) else -math.inf)
        self._values[point.position.tobytes()] = point.value
        self._best = _better(self._best, point)
        return point

    @property
    def best(self) -> Evaluation:
        assert self._best is not None, "a search evaluates a point or is given one"
        return self._best

    def result(self, ends: Sequence[Evaluation | None]) -> SearchResult:
        return SearchResult(self.best, tuple(self._new), tuple(end for end in ends if end is not None))


def _better(old: Evaluation | None, new: Evaluation) -> Evaluation:
    return new if old is None or new.value > old.value else old


def _nelder_mead(recorder: _Recorder, task: _Task) -> Ends:
    """SciPy's simplex from several starts, which share the budget; what they leave goes to the best point of all."""
    starts = _far_apart(task.known, task.step, task.runs) or _first_with_value(recorder, task)
    ends = []
    for index, start in enumerate(starts):
        share = recorder.left // (len(starts) - index)
        ends.append(recorder.run(partial(_simplex, start.position, task.step, task), share))
    if starts and recorder.left:
        recorder.run(partial(_simplex, recorder.best.position, task.step / 2, task), recorder.left)
    return ends


def _far_apart(known: tuple[Evaluation, ...], step: Array, count: int) -> list[Evaluation]:
    """Return the best points of which no two are neighbours, as these would climb the same hill."""
    chosen: list[Evaluation] = []
    for point in known:
        if len(chosen) < count and all(
            np.any(np.abs(point.position - other.position) > 1.25 * step) for other in chosen
        ):
            chosen.append(point)
    return chosen


def _first_with_value(recorder: _Recorder, task: _Task) -> list[Evaluation]:
    """Try the middle of the box, then points at random, until there is one from which to go uphill."""
    rng = np.random.default_rng(task.seed)

    def look(function: Objective) -> None:
        position = (task.low + task.high) / 2
        while not math.isfinite(function(position)):
            position = rng.uniform(task.low, task.high)

    recorder.run(look, recorder.left)
    return [recorder.best] if math.isfinite(recorder.best.value) else []


def _simplex(start: Array, step: Array, task: _Task, function: Objective) -> None:
    from scipy.optimize import minimize

    # The first simplex opens towards the far side of the box, so that bounds cannot flatten it.
    above, below = task.high - start, start - task.low
    inwards = np.where(above >= below, np.minimum(step, above), -np.minimum(step, below))
    minimize(
        lambda position: -function(position),  # infinity, the worst, where there is no value
        start,
        method="Nelder-Mead",
        bounds=list(zip(task.low, task.high, strict=True)),
        options={
            "initial_simplex": np.vstack([start, start + np.diag(inwards)]),
            "xatol": FINEST * float(step.min()),
            "fatol": math.inf,  # the simplex is small enough, whatever the roughness within it
        },
    )


def _random(recorder: _Recorder, task: _Task) -> Ends:
    rng = np.random.default_rng(task.seed)

    def propose(function: Objective) -> None:
        while True:
            function(rng.uniform(task.low, task.high))

    return [recorder.run(propose, recorder.left)]


def _tpe(recorder: _Recorder, task: _Task) -> Ends:
    """Optuna's tree-structured Parzen estimators."""
    from optuna.samplers import TPESampler

    sampler = TPESampler(seed=_seed(task))
    return [recorder.run(partial(_ask_and_tell, sampler, task), recorder.left)]


def _cmaes(recorder: _Recorder, task: _Task) -> Ends:
    """Optuna's CMA-ES, from the best point known and as wide as the distance between starts."""
    from optuna.samplers import CmaEsSampler

    start = task.known[0].position if task.known else (task.low + task.high) / 2
    width = float(np.mean(task.step / (task.high - task.low)))  # Optuna maps the box onto the unit cube
    with warnings.catch_warnings():
        # Optuna 6 will drop x0 and sigma0; pyproject.toml stays below it.
        warnings.filterwarnings("ignore", "`(x0|sigma0)` has been deprecated", FutureWarning)
        sampler = CmaEsSampler(x0=_named(start), sigma0=width, seed=_seed(task), warn_independent_sampling=False)
    return [recorder.run(partial(_ask_and_tell, sampler, task), recorder.left)]


def _ask_and_tell(sampler: optuna.samplers.BaseSampler, task: _Task, function: Objective) -> None:
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna.trial import TrialState, create_trial

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # it announces what it makes
    try:
        study = optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(verbosity)
    bounds = zip(task.low.tolist(), task.high.tolist(), strict=True)
    box: dict[str, optuna.distributions.BaseDistribution] = {
        f"x{index}": FloatDistribution(low, high) for index, (low, high) in enumerate(bounds)
    }
    for position, value in task.known:
        study.add_trial(create_trial(params=_named(position), distributions=box, value=value))
    for position, _ in task.without_value:
        study.add_trial(create_trial(params=_named(position), distributions=box, state=TrialState.PRUNED))
    while True:
        trial = study.ask(box)
        value = function(np.array([trial.params[name] for name in box]))
        if math.isfinite(value):
            study.tell(trial, value)
        else:  # TPE ranks it below all that have a value; CMA-ES asks for another one in its place
            study.tell(trial, state=TrialState.PRUNED)


def _named(position: Array) -> dict[str, float]:
    return {f"x{index}": float(value) for index, value in enumerate(position)}


def _seed(task: _Task) -> int:
    """Return a seed within the 32 bits that Optuna takes."""
    return int(np.random.SeedSequence(task.seed).generate_state(1)[0])
