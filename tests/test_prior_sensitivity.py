"""Evidences under narrower and wider priors, against closed forms, and what is said of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from holmes_fit.groups.comparison.omnibus import random_effects
from holmes_fit.groups.comparison.prior_sensitivity import (
    evidence_under,
    prior_sensitivity,
    sensitivity_in_words,
)
from holmes_fit.models.parameters import Parameter
from holmes_fit.runs.schema import of
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.spaces import FreeParameter
from tests.toy_lattices import gaussian_lattices, log_axis, point_lattices

SEED = 20265
NOISE = 0.3


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0])
def test_evidence_is_that_of_a_normal_prior_of_that_width(width: float) -> None:
    rng = np.random.default_rng(SEED)
    measured = rng.normal(0, 0.6, size=(7, 2))
    axes = [log_axis("alpha", nodes=80, sd=0.5), log_axis("omega", nodes=90, sd=0.4)]
    found = evidence_under(gaussian_lattices(measured, NOISE**2 * np.eye(2), axes, level=-40.0), width)
    spread = np.hypot(NOISE, width * np.array([0.5, 0.4]))
    assert found == pytest.approx(norm.logpdf(measured, 0, spread).sum(axis=1) - 40, abs=1e-4)


@pytest.mark.parametrize(("width", "low", "high"), [(0.5, 0.25, 0.75), (1.0, 0.0, 1.0), (2.0, 0.0, 1.0)])
def test_a_uniform_prior_stays_within_its_bounds(width: float, low: float, high: float) -> None:
    parameter = Parameter("choice_probability", 0.0, 1.0, "identity", 0.5, "")
    axis = FreeParameter(parameter, Distribution("uniform", 0.0, 1.0), 200)
    measured = np.array([[0.5], [0.3], [0.9]])
    found = evidence_under(gaussian_lattices(measured, np.array([[0.01]]), [axis]), width)
    mass = norm.cdf(high, measured[:, 0], 0.1) - norm.cdf(low, measured[:, 0], 0.1)
    assert found == pytest.approx(np.log(mass / (high - low)), abs=1e-3)


def test_a_loguniform_prior_is_narrowed_about_its_middle_on_the_log_scale() -> None:
    narrow = Distribution("loguniform", 0.01, 100.0).wider(0.5)
    assert (narrow.first, narrow.second) == pytest.approx((0.1, 10.0))


def test_a_model_without_parameters_has_no_prior() -> None:
    evidence = np.array([-50.0, -61.0, -43.0])
    for width in (0.5, 2.0):
        assert evidence_under(point_lattices(evidence, "bias"), width) == pytest.approx(evidence)


def test_random_effects_are_those_of_quadrature() -> None:
    evidence = np.random.default_rng(SEED).normal([0.0, 1.0], 1.2, size=(12, 2))
    grid = (np.arange(4000) + 0.5) / 4000
    odds = np.logaddexp(np.log1p(-grid)[:, None] + evidence[:, 0], np.log(grid)[:, None] + evidence[:, 1]).sum(axis=1)
    mass = np.exp(odds - logsumexp(odds))
    equal = (logsumexp(evidence, axis=1) - np.log(2)).sum()
    risk = 1 / (1 + np.exp(logsumexp(odds) - np.log(len(grid)) - equal))
    found = random_effects(evidence, np.random.default_rng(SEED))
    sd = np.sqrt(mass @ grid**2 - (mass @ grid) ** 2)
    error = 4.5 / np.sqrt(len(found.frequency))
    assert found.frequency[:, 1].mean() == pytest.approx(mass @ grid, abs=error * sd)
    assert found.exceedance[1] == pytest.approx(mass[grid > 0.5].sum(), abs=error / 2)
    assert found.risk == pytest.approx(risk, rel=0.1)
    assert found.protected[1] == pytest.approx((1 - found.risk) * found.exceedance[1] + found.risk / 2)


def test_the_table_has_every_width_and_model() -> None:
    """A model that fits better, but whose prior lies where nobody is unless it is wide."""
    rng = np.random.default_rng(SEED)
    far = gaussian_lattices(rng.normal(1.6, 0.1, size=(12, 1)), NOISE**2 * np.eye(1), [log_axis(sd=0.5)], level=4.0)
    plain = point_lattices(np.full(12, -0.5), "flat", error=0.2)
    table = prior_sensitivity([plain, far])
    assert tuple(table.columns) == of("prior_sensitivity.csv").columns
    assert list(table["prior_width"]) == [0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
    for width, own in table.groupby("prior_width"):
        rows = own.set_index("model")
        total = evidence_under(far, float(str(width))).sum()
        assert rows.loc["holmes", "log_evidence"] == pytest.approx(total)
        assert own["difference"].max() == 0
        assert rows.loc["flat", "log_evidence_error"] == pytest.approx(0.2 * np.sqrt(12))
        assert own["frequency"].sum() == pytest.approx(1)
        assert (own["frequency_lower"] < own["frequency"]).all()
    assert list(table.loc[table["difference"] == 0, "model"]) == ["flat", "holmes", "holmes"]
    assert sensitivity_in_words(table).startswith(
        "With priors half and twice as wide, the most frequent by people's own"
    )
    assert sensitivity_in_words(table).endswith("with the priors of the fit: the answer depends on them.")


def test_words_say_when_the_answer_is_the_same() -> None:
    table = pd.DataFrame(
        {
            "model": ["flat", "holmes"] * 3,
            "prior_width": [0.5, 0.5, 1.0, 1.0, 2.0, 2.0],
            "frequency": [0.3, 0.7, 0.2, 0.8, 0.25, 0.75],
        }
    )
    assert sensitivity_in_words(table) == (
        "With priors half and twice as wide, holmes is still the most frequent by people's own evidences: 70% and 75%, "
        "against 80% with the priors of the fit."
    )
