"""Knowledge about parameters: draws, quantiles, moments and probabilities are those of one distribution."""

import numpy as np
import pytest

from holmes_fit.runs.knowledge import Knowledge, Marginal
from tests.toy_lattices import log_axis

SEED = 20271


def test_moments_quantiles_and_probabilities_are_those_of_the_draws() -> None:
    rng = np.random.default_rng(SEED)
    axes = (log_axis("alpha", 6, 2.0), log_axis("omega", 5, 1.0))
    known = Knowledge(axes, rng.dirichlet(np.ones(30)).reshape(6, 5))
    draws = known.draw(200_000, rng)
    for number, axis in enumerate(axes):
        marginal, own = known.marginal(number), draws[:, number]
        on_scale = axis.parameter.to_scale(own)
        for moments, values in ((marginal.moments, on_scale), (marginal.natural_moments, own)):
            error = values.std() / np.sqrt(len(values))
            assert moments == pytest.approx((values.mean(), values.std()), abs=5 * error)
        shares = np.array([0.025, 0.3, 0.5, 0.975])
        below = np.mean(own[:, None] < marginal.quantiles(shares), axis=0)
        np.testing.assert_allclose(below, shares, atol=5 * 0.5 / np.sqrt(len(own)))
        np.testing.assert_allclose(marginal.below(marginal.positions_at(shares)), shares, atol=1e-12)


def test_mass_in_one_cell_is_as_wide_as_the_cell() -> None:
    axis = log_axis(nodes=8)
    assert Marginal(axis, np.eye(8)[3]).moments == pytest.approx((axis.positions[3], axis.spacing / np.sqrt(12)))
