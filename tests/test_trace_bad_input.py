"""``holmes_fit.trace``: what it refuses, in words, and what it takes."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import holmes_fit
from holmes_fit._support.errors import InputError
from holmes_fit.trials.observations import MAX_TRIALS

GOOD = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
COUNT = r"a whole number from 1 to 2147483647\."
MODELS = (
    r"flat, flat_sticky, holmes, holmes_no_stick, holmes_no_stop, holmes_structure_only, rational, alcove, gcm, "
    r"sustain, configural, pearce_hall, rescorla_wagner, win_stay, bias\."
)
BINARY = r"0 and 1\."
SHAPE = r"trials x features, 1 to 65535 trials and a column each\."


def with_entry(value: float, row: int = 1, column: int = 2) -> NDArray[np.float64]:
    matrix = GOOD.astype(float)
    matrix[row, column] = value
    return matrix


def trace(X: Any = GOOD, **arguments: Any) -> NDArray[np.float64]:
    """A small filter; arguments of any kind, since some are to be wrong."""
    return holmes_fit.trace(X, **({"particles": 10, "replicates": 2} | arguments))


# The matrix ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (with_entry(2), rf"argument X: saw 2\.0 at \[1, 2\]; allowed: {BINARY}"),
        (with_entry(-1), rf"argument X: saw -1\.0 at \[1, 2\]; allowed: {BINARY}"),
        (with_entry(0.5, 0, 0), rf"argument X: saw 0\.5 at \[0, 0\]; allowed: {BINARY}"),
        (with_entry(np.nan), rf"argument X: saw nan at \[1, 2\]; allowed: {BINARY}"),
        (with_entry(np.inf), rf"argument X: saw inf at \[1, 2\]; allowed: {BINARY}"),
        (GOOD + 1, rf"argument X: saw 2 at \[0, 0\] and 6 more; allowed: {BINARY}"),
        (GOOD[0], rf"argument X: saw shape \(3,\); allowed: {SHAPE}"),
        (GOOD[np.newaxis], rf"argument X: saw shape \(1, 4, 3\); allowed: {SHAPE}"),
        (1, rf"argument X: saw shape \(\); allowed: {SHAPE}"),
        ([], rf"argument X: saw shape \(0,\); allowed: {SHAPE}"),
        (GOOD[:0], rf"argument X: saw shape \(0, 3\); allowed: {SHAPE}"),
        (GOOD[:, :0], rf"argument X: saw shape \(4, 0\); allowed: {SHAPE}"),
        (np.zeros((MAX_TRIALS + 1, 1)), rf"argument X: saw shape \(65536, 1\); allowed: {SHAPE}"),
        ([[1, 0], [1]], r"argument X: saw rows of unequal length; allowed: a rectangular array of 0 and 1\."),
        ([["1", "0"]], r"argument X: saw entries of type <U1; allowed: numbers 0 and 1\."),
        ([[1, None]], r"argument X: saw entries of type object; allowed: numbers 0 and 1\."),
        (None, r"argument X: saw entries of type object; allowed: numbers 0 and 1\."),
        (GOOD + 0j, r"argument X: saw entries of type complex128; allowed: numbers 0 and 1\."),
    ],
)
def test_a_matrix_that_is_not_one(matrix: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace(matrix)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (3, r"argument outcome: saw 3; allowed: a column of X, -3 to 2\."),
        (-4, r"argument outcome: saw -4; allowed: a column of X, -3 to 2\."),
        (1.0, r"argument outcome: saw 1\.0; allowed: the number of a column of X\."),
        (True, r"argument outcome: saw True; allowed: the number of a column of X\."),
        ("last", r"argument outcome: saw 'last'; allowed: the number of a column of X\."),
        (None, r"argument outcome: saw None; allowed: the number of a column of X\."),
    ],
)
def test_an_outcome_that_is_no_column(outcome: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace(outcome=outcome)


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ([1, 1, 0], r"argument feedback: saw shape \(3,\); allowed: one entry a trial, \(4,\)\."),
        (np.ones((4, 1)), r"argument feedback: saw shape \(4, 1\); allowed: one entry a trial, \(4,\)\."),
        (1, r"argument feedback: saw shape \(\); allowed: one entry a trial, \(4,\)\."),
        ([1, 0, 2, 1], rf"argument feedback: saw 2 at \[2\]; allowed: {BINARY}"),
        ([1, 0, np.nan, 1], rf"argument feedback: saw nan at \[2\]; allowed: {BINARY}"),
        (["yes"] * 4, r"argument feedback: saw entries of type <U3; allowed: numbers 0 and 1\."),
        ([[1], [1, 0]], r"argument feedback: saw rows of unequal length; allowed: a rectangular array of 0 and 1\."),
    ],
)
def test_a_feedback_that_is_not_one_entry_a_trial(feedback: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace(feedback=feedback)


# Numbers and switches ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["alpha", "omega"])
@pytest.mark.parametrize("value", [0, 0.0, -1, -0.5, np.nan, np.inf, -np.inf, "1", None, True, np.array([1.0])])
def test_a_concentration_or_pseudocount_that_is_no_positive_number(name: str, value: Any) -> None:
    seen = re.escape(repr(value))
    with pytest.raises(
        InputError, match=rf"argument {name}: saw {seen}; allowed: a number above 0 \(1e-12 to 1e\+12\)\."
    ):
        trace(**{name: value})


@pytest.mark.parametrize("name", ["particles", "replicates", "max_depth", "max_branches"])
@pytest.mark.parametrize("value", [0, -3, 1.5, 200.0, np.nan, "200", None, True, 2**31])
def test_a_count_that_is_none(name: str, value: Any) -> None:
    seen = re.escape(repr(value))
    with pytest.raises(InputError, match=rf"argument {name}: saw {seen}; allowed: {COUNT}"):
        trace(**{name: value})


@pytest.mark.parametrize("value", [-1, 0.5, "0", None])
def test_a_seed_that_is_none(value: Any) -> None:
    seen = re.escape(repr(value))
    with pytest.raises(InputError, match=rf"argument seed: saw {seen}; allowed: a whole number from 0 to 2147483647\."):
        trace(seed=value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "holmess"}, rf"argument model: saw 'holmess'; allowed: {MODELS} Did you mean 'holmes'\?"),
        ({"model": "Flat"}, rf"argument model: saw 'Flat'; allowed: {MODELS} Did you mean 'flat'\?"),
        ({"model": ""}, rf"argument model: saw ''; allowed: {MODELS}$"),
        ({"model": None}, rf"argument model: saw None; allowed: {MODELS}$"),
        ({"model": ["flat"]}, rf"argument model: saw \['flat'\]; allowed: {MODELS}$"),
        (
            {"resampling": "stratified"},
            r"argument resampling: saw 'stratified'; allowed: 'systematic' or 'multinomial'\.",
        ),
        ({"branch_counts": "both"}, r"argument branch_counts: saw 'both'; allowed: 'particle' or 'shared'\."),
        ({"sticky_by": "leaf"}, r"argument sticky_by: saw 'leaf'; allowed: 'branch' or 'node'\."),
        ({"depth_scale": -0.1}, r"argument depth_scale: saw -0\.1; allowed: a number from 0 to 1\."),
        ({"depth_scale": 1.1}, r"argument depth_scale: saw 1\.1; allowed: a number from 0 to 1\."),
        (
            {"model": "flat", "depth_scale": 0.5},
            r"argument depth_scale: saw 0\.5; allowed: the parameters of flat: alpha, omega\.",
        ),
        (
            {"depth_scal": 0.5},
            r"argument depth_scal: saw 0\.5; allowed: the parameters of holmes: alpha, omega, depth_scale\. "
            r"Did you mean 'depth_scale'\?",
        ),
        (
            {"model": "rescorla_wagner", "learning_rate": 0},
            r"argument learning_rate: saw 0; allowed: a number above 0 \(1e-12 to 1e\+12\)\.",
        ),
        (
            {"model": "bias", "choice_probability": 1.0},
            r"argument choice_probability: saw 1\.0; allowed: a number between 0 and 1\.",
        ),
    ],
)
def test_an_unknown_model_or_switch(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace(**arguments)


# All at once ---------------------------------------------------------------------------------------------------------
def places(arguments: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError, match=r"^argument X: saw") as caught:
        trace(**arguments)
    return [problem.where.removeprefix("argument ") for problem in caught.value.problems]


def test_all_problems_come_at_once() -> None:
    arguments: dict[str, Any] = {
        **{"X": with_entry(np.nan), "outcome": 5, "feedback": [1, 1], "alpha": 0, "omega": -1, "seed": -1},
        **dict.fromkeys(("particles", "replicates", "max_depth", "max_branches"), 0),
        **dict.fromkeys(("resampling", "branch_counts", "sticky_by"), "none"),
        **{"depth_scale": 2, "stickiness": 1},
    }
    assert sorted(places(arguments)) == sorted(arguments)


def test_an_unknown_model_comes_with_whatever_can_be_told_without_it() -> None:
    arguments: dict[str, Any] = {"X": with_entry(7), "particles": 0, "replicates": 0, "alpha": -1, "model": "x"}
    assert sorted(places(arguments)) == sorted(arguments)


def test_a_long_value_is_cut_to_one_line() -> None:
    with pytest.raises(InputError, match=r"argument model: saw 'xxx.*…; allowed") as caught:
        trace(model="x" * 5_000 + "\n")
    assert len(str(caught.value)) < 400
    assert len(str(caught.value).splitlines()) == 1


# Numbers too small or too large to be computed with ------------------------------------------------------------------
EXTREMES = [(alpha, omega) for alpha in (1e-300, 1.0, 1e300, 1.7e308) for omega in (1e-320, 1e-17, 1e17, 1.7e308)]

# In a process of its own: what cannot be computed must not take the tests down with it.
TRY_EXTREMES = f"""
import itertools, numpy, holmes_fit
for (alpha, omega), resampling in itertools.product({EXTREMES}, ("systematic", "multinomial")):
    try:
        p_hat = holmes_fit.trace(
            [[1, 1]] * 5 + [[1, 0]] * 5, model="flat", alpha=alpha, omega=omega, particles=10, resampling=resampling
        )
        assert ((p_hat > 0) & (p_hat < 1)).all(), f"{{alpha}}, {{omega}}, {{resampling}}: {{p_hat[0]}}"
    except holmes_fit.InputError as error:
        assert "argument alpha" in str(error) or "argument omega" in str(error), error
print("done")
"""


def test_extreme_numbers_are_refused_or_computed() -> None:
    command = [sys.executable, "-c", TRY_EXTREMES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "done\n", f"exit {done.returncode}: {done.stdout}{done.stderr}"


# What is taken -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "matrix",
    [
        GOOD.tolist(),
        tuple(map(tuple, GOOD.tolist())),
        GOOD.astype(bool),
        GOOD.astype(float),
        GOOD.astype(np.int8),
        GOOD.astype(np.uint64),
        np.asfortranarray(GOOD),
        np.repeat(GOOD, 2, axis=0)[::2],
        pd.DataFrame(GOOD, columns=["shape", "colour", "outcome"]),
        pd.DataFrame(GOOD.astype(bool)),
    ],
    ids=["list", "tuple", "bool", "float", "int8", "uint64", "Fortran", "strided", "frame", "frame of bool"],
)
def test_kinds_of_matrix(matrix: Any) -> None:
    np.testing.assert_array_equal(trace(matrix), trace(GOOD))


@pytest.mark.parametrize(
    "feedback",
    [
        [1, 0, 1, 1],
        (True, False, True, True),
        np.array([1.0, 0.0, 1.0, 1.0]),
        np.array([True, False, True, True]),
        pd.Series([1, 0, 1, 1], index=[9, 8, 7, 6]),
    ],
    ids=["list", "tuple", "float", "bool", "series"],
)
def test_kinds_of_feedback(feedback: Any) -> None:
    without_second = trace(feedback=np.array([1, 0, 1, 1]))
    np.testing.assert_array_equal(trace(feedback=feedback), without_second)
    assert (without_second != trace()).any()


def test_all_outcomes_are_shown_unless_told_otherwise() -> None:
    np.testing.assert_array_equal(trace(), trace(feedback=[1, 1, 1, 1]))


@pytest.mark.parametrize("column", [0, 1, 2, -1, -2, -3, np.int64(1)])
def test_the_outcome_may_be_any_column(column: int) -> None:
    cues_first = np.column_stack([np.delete(GOOD, column, axis=1), GOOD[:, column]])
    np.testing.assert_array_equal(trace(GOOD, outcome=column), trace(cues_first))


def test_a_column_alone_is_an_outcome_without_cues() -> None:
    assert trace([[1], [0], [1]]).shape == (2, 3)


def test_the_longest_sequence_is_taken() -> None:
    p_hat = trace(np.ones((MAX_TRIALS, 1)), model="flat", alpha=1e-12, replicates=1)
    assert p_hat[0, -1] == pytest.approx((0.5 + MAX_TRIALS - 1) / MAX_TRIALS, abs=1e-12)


def test_defaults_are_those_of_the_page() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, (30, 4))
    task: dict[str, Any] = {"outcome": 3, "feedback": np.ones(30), "model": "holmes", "learner": ""}
    values = {"alpha": 1.0, "omega": 0.5, "depth_scale": 1.0}
    sizes = {"particles": 200, "replicates": 8, "seed": 0, "max_depth": 20, "max_branches": 20}
    switches = {"resampling": "systematic", "branch_counts": "particle", "sticky_by": "branch"}
    written_out = holmes_fit.trace(matrix, length_normalized=False, **task, **values, **sizes, **switches)
    np.testing.assert_array_equal(holmes_fit.trace(matrix), written_out)
    assert written_out.shape == (8, 30)


def test_arguments_arrive_where_they_belong() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, (60, 4))
    changes: dict[str, Any] = {"outcome": 0, "feedback": [1, 0] * 30, "model": "holmes_no_stick", "learner": "anna"}
    changes |= {"alpha": 2.0, "omega": 1.0, "depth_scale": 0.0, "particles": 11, "seed": 1, "length_normalized": True}
    changes |= {"max_depth": 1, "max_branches": 1, "resampling": "multinomial"}
    changes |= {"branch_counts": "shared", "sticky_by": "node"}
    one_by_one = [{}, *({name: value} for name, value in changes.items())]
    traces = [trace(matrix, **{"alpha": 1.5, "depth_scale": 0.2} | change) for change in one_by_one]
    assert len({one.tobytes() for one in traces}) == len(traces) == 16


def test_baselines_ignore_alpha_and_omega() -> None:
    assert (trace(model="bias", alpha=3.0, choice_probability=0.25) == 0.25).all()
    np.testing.assert_array_equal(trace(model="rescorla_wagner", omega=3.0), trace(model="rescorla_wagner"))


def test_the_matrix_is_not_changed() -> None:
    matrix = GOOD.astype(np.uint8)
    trace(matrix, outcome=0)
    np.testing.assert_array_equal(matrix, GOOD)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("alpha", 10**400, r"argument alpha: saw 1000.*; allowed: a number above 0"),
        ("learner", b"a", r"argument learner: saw b'a'; allowed: a text"),
        ("resampling", np.array([1, 2]), r"argument resampling: saw array.*; allowed: 'systematic' or 'multinomial'"),
        ("length_normalized", "no", r"argument length_normalized: saw 'no'; allowed: True or False"),
    ],
)
def test_values_of_another_type(name: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trace(**{name: value})
