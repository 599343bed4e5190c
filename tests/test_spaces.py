"""Spaces: lattices and priors on the scale of search, and parameters that are complete whatever is fitted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from holmes_fit.models.parameters import ALPHA, OMEGA
from holmes_fit.models.registry import DEPTH_SCALE, MODELS
from holmes_fit.models.responses.choices import BETA, BIAS, LAPSE
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.preset import load_preset
from holmes_fit.settings.spaces import FreeParameter, Space

SEED = 3
PRIOR = Distribution("lognormal", 0.5, 1)
A, W = FreeParameter(ALPHA, PRIOR, 12), FreeParameter(OMEGA, PRIOR, 8)
B = FreeParameter(BETA, Distribution("lognormal", 2.5, 0.7), 24)
AXES = [
    *(A, W, B),
    FreeParameter(LAPSE, Distribution("uniform", 0, 1), 8),
    FreeParameter(BIAS, Distribution("normal", 0, 1), 5),
    FreeParameter(DEPTH_SCALE, Distribution("uniform", 0, 1), 1),
]


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_nodes_are_the_centres_of_equal_cells(axis: FreeParameter) -> None:
    edges = np.linspace(axis.low, axis.high, axis.nodes + 1)
    np.testing.assert_allclose(axis.positions, (edges[1:] + edges[:-1]) / 2)
    assert axis.spacing == pytest.approx(edges[1] - edges[0])
    np.testing.assert_allclose(axis.parameter.to_scale(axis.values), axis.positions)


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_the_prior_is_normalised_over_nodes_and_between_bounds(axis: FreeParameter) -> None:
    assert logsumexp(axis.log_weights) == pytest.approx(0, abs=1e-12)
    fine = replace(axis, nodes=5000)
    assert np.exp(fine.log_density(fine.positions)).sum() * fine.spacing == pytest.approx(1, abs=1e-4)
    assert np.isneginf(axis.log_density([axis.low - 0.01, axis.high + 0.01])).all()


@given(low=st.floats(0.05, 1), high=st.floats(1.1, 5))
def test_the_bounds_themselves_have_a_density(low: float, high: float) -> None:
    axis = FreeParameter(replace(ALPHA, low=low, high=high), PRIOR, 4)
    assert np.isfinite(axis.log_density([axis.low, axis.high])).all()
    natural = axis.to_natural([axis.low, axis.high])
    assert natural.min() >= low
    assert natural.max() <= high
    np.testing.assert_allclose(natural, [low, high], rtol=1e-12)


def test_draws_stay_within_the_bounds_of_the_fit() -> None:
    axis = FreeParameter(replace(ALPHA, low=0.4, high=1.0), PRIOR, 4)
    drawn = axis.draw(np.random.default_rng(SEED), 200)
    assert drawn.min() >= 0.4
    assert drawn.max() <= 1


def test_values_are_complete() -> None:
    space = Space(MODELS["holmes"], (A,), (B,), {"depth_scale": 0.7, "lapse": 0.02, "bias": 0.1}, {"omega": "alpha"})
    assert space.model_values({"alpha": 0.3}) == {"alpha": 0.3, "omega": 0.3, "depth_scale": 0.7}
    assert space.response_values({"beta": 2.0}) == {"beta": 2.0, "lapse": 0.02, "bias": 0.1}
    assert [axis.name for axis in space.free] == ["alpha", "beta"]
    with pytest.raises(KeyError, match="alpha"):
        space.model_values({})


def test_nothing_need_be_free() -> None:
    fixed = {"alpha": 1.0, "omega": 0.5, "beta": 3.0, "lapse": 0.02, "bias": 0.0}
    space = Space(MODELS["flat"], (), (), fixed, {})
    assert space.model_values({}) == {"alpha": 1.0, "omega": 0.5}


def test_a_model_that_predicts_choices_has_no_response() -> None:
    space = load_preset("default").space(MODELS["bias"])
    assert space.response == ()
    assert space.response_values({}) == {}


FIXED = {"depth_scale": 1.0, "lapse": 0.02, "bias": 0.0}


@pytest.mark.parametrize(
    ("learning", "response", "fixed", "tied", "message"),
    [
        ((A,), (B,), FIXED, {}, "must be free, fixed or tied, once"),
        ((A, W), (B,), {**FIXED, "omega": 1.0}, {}, "must be free, fixed or tied, once"),
        ((A, W, B), (), FIXED, {}, "must be free, fixed or tied, once"),
        ((A,), (B,), FIXED, {"omega": "beta"}, r"must be tied to one of \['alpha'\]"),
        ((A,), (B,), FIXED, {"omega": "omega"}, r"must be tied to one of \['alpha'\]"),
    ],
)
def test_a_space_that_does_not_hold_together_is_refused(learning, response, fixed, tied, message) -> None:
    with pytest.raises(ValueError, match=message):
        Space(MODELS["holmes"], learning, response, fixed, tied)


def test_bounds_cut_off_little_of_the_default_priors() -> None:
    """Else they were others than their reasons speak of."""
    preset = load_preset("default")
    axes = {axis.name: axis for model in MODELS.values() for axis in preset.space(model).free}
    for axis in axes.values():
        on_scale = stats.norm(axis.parameter.to_scale(axis.prior.first), axis.prior.second)
        assert on_scale.cdf(axis.high) - on_scale.cdf(axis.low) > 0.97, axis.name
