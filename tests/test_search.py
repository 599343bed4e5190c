"""Search: every optimiser finds the top within its budget and the box, and one loop keeps the best of all it saw."""

import itertools
import math
import random
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes_fit.fitting.search import METHODS, Evaluation, maximise

SEED = 11
LOW, HIGH = np.array([-3.0, -4.0]), np.array([1.6, 1.6])
STEP = (HIGH - LOW) / 8
BUDGET = 60


def lattice(function: Callable, low=LOW, high=HIGH, nodes: int = 8) -> list[Evaluation]:
    along = [(np.arange(nodes) + 0.5) / nodes] * len(low)
    points = [low + (high - low) * np.array(place) for place in itertools.product(*along)]
    return sorted((Evaluation(point, function(point)) for point in points), key=lambda point: -point.value)


def quadratic(top: np.ndarray) -> Callable:
    return lambda x: float(-(x - top) @ np.array([[2, 1.2], [1.2, 1.5]]) @ (x - top))


def banana(top: np.ndarray) -> Callable:
    return lambda x: float(-((x[0] - top[0]) ** 2) - 5 * (x[1] - top[1] - (x[0] - top[0]) ** 2) ** 2)


# Well within the 0.3 nats that a fit may miss, wherever the top is; random search is there to be compared with.
@pytest.mark.parametrize(
    ("method", "tolerance"), [("nelder_mead", 0.15), ("tpe", 0.15), ("cmaes", 0.15), ("random", 0.5)]
)
@pytest.mark.parametrize("shape", [quadratic, banana])
def test_the_top_is_found(shape: Callable, method: str, tolerance: float) -> None:
    tops = np.random.default_rng(SEED).uniform(LOW, HIGH, size=(4, 2))
    for number, top in enumerate(tops):
        function = shape(top)
        result = maximise(function, LOW, HIGH, lattice(function), BUDGET, method, seed=number, step=STEP)
        assert result.best.value > -tolerance, top


@pytest.mark.parametrize("method", ["nelder_mead", "tpe", "cmaes"])
def test_a_corner_can_be_the_top(method: str) -> None:
    function = quadratic(HIGH + 1)
    result = maximise(function, LOW, HIGH, lattice(function), BUDGET, method, SEED, STEP)
    assert (result.best.position <= HIGH).all()
    # TPE seldom proposes the very corner; all come closer to it than the nodes are.
    assert (result.best.position > HIGH - STEP / 2).all()


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15)
@given(data=st.data())
def test_neither_budget_nor_box_is_left(method: str, data: st.DataObject) -> None:
    axes = data.draw(st.integers(0, 3))
    sides = st.lists(st.floats(-5, 5), min_size=axes, max_size=axes)
    low = np.array(data.draw(sides), dtype=float)
    high = low + np.array(data.draw(st.lists(st.floats(0.01, 9), min_size=axes, max_size=axes)), dtype=float)
    top = np.array(data.draw(sides), dtype=float)
    budget, seed = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 2**40))
    seen: list[np.ndarray] = []

    def function(x: np.ndarray) -> float:
        seen.append(x.copy())
        return math.nan if x.sum() > 4 else float(-np.abs(x - top).sum())

    starts = lattice(function, low, high, nodes=2) if data.draw(st.booleans()) else []
    seen.clear()
    result = maximise(function, low, high, starts, budget, method, seed)
    assert len(seen) == len(result.evaluations) <= budget
    assert all((low <= x).all() and (x <= high).all() for x in seen)
    points = [tuple(x) for x in (*seen, *(start.position for start in starts))]
    assert len(points) == len(set(points))  # nothing is paid for twice
    values = [point.value for point in (*starts, *result.evaluations)]
    finite = [value for value in values if math.isfinite(value)]
    assert result.best.value == (max(finite) if finite else -math.inf)
    assert all(end.value <= result.best.value for end in result.ends)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_points_without_a_value_are_the_worst(method: str, bad: float) -> None:
    top = np.array([-0.5, -1.0])
    function = quadratic(top)

    def with_holes(x: np.ndarray) -> float:
        return bad if x[0] > 0 or x[1] < -2 else function(x)

    result = maximise(with_holes, LOW, HIGH, lattice(with_holes), BUDGET, method, SEED, STEP)
    assert math.isfinite(result.best.value)
    assert result.best.value > -0.5
    nothing = maximise(lambda x: bad, LOW, HIGH, [], 10, method, SEED)
    assert nothing.best.value == -math.inf
    assert len(nothing.evaluations) == 10


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides(method: str) -> None:
    function = banana(np.array([0.0, 0.0]))
    one, same, other = (maximise(function, LOW, HIGH, lattice(function), 20, method, seed, STEP) for seed in (1, 1, 2))
    assert [tuple(point.position) for point in one.evaluations] == [tuple(point.position) for point in same.evaluations]
    assert one.best.value == same.best.value
    moved = [tuple(point.position) for point in one.evaluations] != [
        tuple(point.position) for point in other.evaluations
    ]
    assert moved == (method != "nelder_mead")  # which draws nothing


@pytest.mark.parametrize("method", METHODS)
def test_the_result_is_never_worse_than_the_best_start(method: str) -> None:
    starts = [Evaluation(np.array([0.0, 0.0]), -1.0), Evaluation(np.array([1.0, 1.0]), 5.0)]
    result = maximise(lambda x: -10.0, LOW, HIGH, starts, 8, method, SEED, STEP)
    assert result.best.value == 5
    assert result.best.position.tolist() == [1, 1]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_left_to_spend_is_fine(method: str) -> None:
    start = Evaluation(np.array([0.0, 0.0]), -1.0)
    result = maximise(pytest.fail, LOW, HIGH, [start], 0, method, SEED, STEP)
    assert (result.best.value, result.evaluations) == (-1.0, ())


@pytest.mark.parametrize("method", METHODS)
def test_without_axes_there_is_one_point(method: str) -> None:
    result = maximise(lambda x: 3.0 + x.size, [], [], [], 5, method, SEED)
    assert (result.best.value, len(result.evaluations)) == (3.0, 1)
    known = maximise(pytest.fail, [], [], [Evaluation(np.empty(0), 2.0)], 5, method, SEED)
    assert (known.best.value, known.evaluations) == (2.0, ())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", [1, 3])
def test_one_and_three_axes(axes: int, method: str) -> None:
    low, high = -np.ones(axes), np.full(axes, 2.0)
    top = np.linspace(0.2, 1.1, axes)

    def function(x: np.ndarray) -> float:
        return float(-((x - top) ** 2).sum())

    starts = lattice(function, low, high, nodes=5)
    result = maximise(function, low, high, starts, BUDGET, method, SEED, np.full(axes, 0.6))
    assert result.best.value > starts[0].value or starts[0].value == 0
    assert np.abs(result.best.position - top).max() < 0.3  # half the distance between nodes


def test_ends_show_whether_starts_agree() -> None:
    tops = np.array([[-2.0, -3.0], [0.5, 0.5]])

    def two_hills(x: np.ndarray) -> float:
        return float(np.max(np.array([0, -1]) - 4 * ((x - tops) ** 2).sum(axis=1)))

    result = maximise(two_hills, LOW, HIGH, lattice(two_hills), 200, "nelder_mead", SEED, STEP, runs=8)
    ends = np.array([end.position for end in result.ends])
    reached = np.abs(ends[:, None] - tops).max(axis=2) < 0.1
    assert reached.any(axis=1).all()
    assert reached.any(axis=0).all()
    one_hill = maximise(quadratic(tops[0]), LOW, HIGH, lattice(quadratic(tops[0])), 200, "nelder_mead", SEED, STEP)
    assert len(one_hill.ends) == 3
    assert all(end.value > -0.01 for end in one_hill.ends)


@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_the_function_is_not_swallowed(method: str) -> None:
    def broken(x: np.ndarray) -> float:
        raise ZeroDivisionError("the function itself")

    with pytest.raises(ZeroDivisionError, match="the function itself"):
        maximise(broken, LOW, HIGH, [], 5, method, SEED)


@pytest.mark.parametrize("method", ["tpe", "cmaes"])
@pytest.mark.parametrize("verbosity", [optuna.logging.INFO, optuna.logging.WARNING])
def test_optuna_leaves_nothing_changed(method: str, verbosity: int, capfd: pytest.CaptureFixture[str]) -> None:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(verbosity)
    try:
        np.random.seed(SEED)  # noqa: NPY002
        random.seed(SEED)
        states = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
        maximise(quadratic(HIGH - 1), LOW, HIGH, [], 15, method, SEED)
        assert optuna.logging.get_verbosity() == verbosity
        assert (repr(np.random.get_state()), random.getstate()) == states  # noqa: NPY002
        assert "".join(capfd.readouterr()) == ""
    finally:
        optuna.logging.set_verbosity(before)


def test_a_start_outside_the_box_is_refused() -> None:
    with pytest.raises(ValueError, match="lies outside the box"):
        maximise(quadratic(HIGH), LOW, HIGH, [Evaluation(HIGH + 1, 0.0)], 5, "random", SEED)
    with pytest.raises(ValueError, match="a search needs a point"):
        maximise(quadratic(HIGH), LOW, HIGH, [], 0, "random", SEED)
