"""Probabilities as they are printed: never surer than their draws."""

import math

import pytest

from holmes_fit._support.numbers import hundredths, listed, p_value, probability, share


@pytest.mark.parametrize(
    ("value", "draws", "printed"),
    [
        (0.9731, math.inf, ".973"),
        (0.5, 10, ".500"),
        (1.0, math.inf, ">.999"),
        (0.0, math.inf, "<.001"),
        (1.0, 4000, ">.999"),
        (0.0, 4000, "<.001"),
        (0.9999, 4000, ">.999"),
        (1.0, 1000, ">.997"),
        (0.0, 1000, "<.003"),
        (1.0, 100, ">.970"),
        (0.0, 250, "<.012"),
        (0.02, 250, ".020"),
        (1.0, 2, ">.500"),
        (math.nan, 100, "–"),
        (0.0, math.nan, "<.001"),
    ],
)
def test_a_probability_is_no_surer_than_its_draws(value: float, draws: float, printed: str) -> None:
    assert probability(value, draws) == printed


def test_nothing_is_printed_as_certain() -> None:
    for draws in (math.inf, 20_000, 4000, 400, 50, 1):
        for value in (0.0, 1e-9, 0.4999, 0.5, 1 - 1e-9, 1.0):
            assert probability(value, draws) not in (".000", "1.000", "0.000")


@pytest.mark.parametrize(("value", "printed"), [(0.0312, "= .031"), (0.0, "< .001"), (1.0, "> .999"), (math.nan, "–")])
def test_p_values_have_their_sign(value: float, printed: str) -> None:
    assert p_value(value) == printed


def test_power_is_never_certain() -> None:
    printed = [hundredths(value) for value in (0.0, 0.004, 0.014, 0.81, 0.996, 1.0, math.nan)]
    assert printed == ["<0.01", "<0.01", "0.01", "0.81", ">0.99", ">0.99", "–"]


def test_shares_and_lists() -> None:
    assert [share(value) for value in (0.0, 0.002, 0.93, 0.9999, 1.0, math.nan)] == [
        "0%", "<1%", "93%", ">99%", "100%", "–",
    ]  # fmt: skip
    assert [listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
