"""Parameters: bounds, scales, and definitions that contradict themselves."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holmes_fit.models.parameters import TO_NATURAL, Parameter

RATE = Parameter("rate", 0.05, 5.0, "log", 1.0, "a positive number")
CHANCE = Parameter("chance", 0.01, 0.99, "logit", 0.5, "a probability")
SHARE = Parameter("share", -1.0, 2.0, "identity", 0.5, "a number", free=False)
ALL = [RATE, CHANCE, SHARE]


def defined(**changes: Any) -> Parameter:
    values: dict[str, Any] = {"name": "rate", "low": 0.1, "high": 2.0, "scale": "log", "default": 1.0, "meaning": "x"}
    return Parameter(**(values | changes))


# Scales --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameter", "natural", "position"),
    [(RATE, 1.0, 0.0), (RATE, math.e, 1.0), (CHANCE, 0.5, 0.0), (CHANCE, 0.75, math.log(3)), (SHARE, -0.25, -0.25)],
)
def test_scales_at_known_points(parameter: Parameter, natural: float, position: float) -> None:
    assert parameter.to_scale(natural) == pytest.approx(position, abs=1e-12)
    assert parameter.to_natural(position) == pytest.approx(natural, rel=1e-12)


@pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.name)
@given(fraction=st.floats(0, 1))
def test_scales_map_back(parameter: Parameter, fraction: float) -> None:
    value = parameter.low + fraction * (parameter.high - parameter.low)
    assert float(parameter.to_natural(parameter.to_scale(value))) == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("parameter", ALL, ids=lambda parameter: parameter.name)
def test_scales_take_arrays_and_lists(parameter: Parameter) -> None:
    values = [parameter.low, parameter.default, parameter.high]
    positions = parameter.to_scale(values)
    assert positions.shape == (3,)
    np.testing.assert_array_equal(positions, parameter.to_scale(np.array(values)))
    np.testing.assert_allclose(parameter.to_natural(positions.tolist()), values, rtol=1e-12)


def test_a_parameter_is_free_unless_it_says_otherwise() -> None:
    assert [parameter.free for parameter in ALL] == [True, True, False]


# Values --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameter", "accepted", "rejected"),
    [
        (RATE, [1e-6, 0.05, 5.0, 1e6], [0.0, -1.0]),
        (CHANCE, [1e-6, 0.5, 1 - 1e-6], [0.0, 1.0, -0.5, 1.5]),
        (SHARE, [-1.0, 0.0, 2.0], [-1.001, 2.001]),
    ],
)
def test_values_that_a_model_can_be_computed_at(
    parameter: Parameter, accepted: list[float], rejected: list[float]
) -> None:
    assert all(parameter.accepts(value) for value in accepted)
    assert not any(parameter.accepts(value) for value in [*rejected, math.nan, math.inf, -math.inf])


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (RATE, "a number above 0 (1e-12 to 1e+12)"),
        (CHANCE, "a number between 0 and 1"),
        (SHARE, "a number from -1 to 2"),
    ],
)
def test_what_is_allowed_in_words(parameter: Parameter, words: str) -> None:
    assert parameter.allowed == words


# Definitions that cannot be ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": 2.0}, r"rate: needs low <= default <= high, has 2.0, 1.0, 2.0"),
        ({"low": 3.0}, r"rate: needs low <= default <= high, has 3.0, 1.0, 2.0"),
        ({"default": 0.05}, r"rate: needs low <= default <= high, has 0.1, 0.05, 2.0"),
        ({"default": 2.5}, r"rate: needs low <= default <= high, has 0.1, 2.5, 2.0"),
        ({"default": math.nan}, r"rate: needs low <= default <= high, has 0.1, nan, 2.0"),
        ({"low": math.nan}, r"rate: needs low <= default <= high, has nan, 1.0, 2.0"),
        ({"low": 0.0}, r"rate: bounds 0.0 and 2.0 lie outside the log scale"),
        ({"low": -1.0}, r"rate: bounds -1.0 and 2.0 lie outside the log scale"),
        ({"high": math.inf}, r"rate: bounds 0.1 and inf lie outside the log scale"),
        ({"scale": "logit"}, r"rate: bounds 0.1 and 2.0 lie outside the logit scale"),
        ({"scale": "logit", "high": 1.0}, r"rate: bounds 0.1 and 1.0 lie outside the logit scale"),
    ],
)
def test_definitions_that_contradict_themselves(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        defined(**changes)


def test_a_scale_that_does_not_map_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TO_NATURAL, "logit", lambda position: 1 / (1 + np.exp(-1.01 * np.asarray(position))))
    with pytest.raises(ValueError, match="chance: the logit scale does not map back onto itself"):
        Parameter("chance", 0.01, 0.99, "logit", 0.5, "a probability")
