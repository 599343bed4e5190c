"""The bench of the choice likelihood: its estimators against answers that are known otherwise."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.likelihood.estimators import ESTIMATORS, OFFSETS, around, with_error
from holmes_fit.likelihood.answers import likelihood_of
from holmes_fit.likelihood.traces import Traces
from tests.rules import Response

SEED = 20261118
RESPONSE = Response(beta=3.0, lapse=0.1, bias=0.2)
N_TRIALS, FILTERS = 40, 32


def some_traces(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Filters at a point and around it, with three common directions and noise, and choices that fit the first one."""
    directions = rng.standard_normal((3, N_TRIALS))
    shared = rng.standard_normal((len(OFFSETS), FILTERS, 3)) @ directions
    p_hat = expit(shared + 0.3 * rng.standard_normal(shared.shape))
    return p_hat, (rng.random(N_TRIALS) < p_hat[0, 0]).astype(np.int8)


def test_the_point_itself_comes_first_and_counts_most() -> None:
    lent = around()
    assert OFFSETS[0] == (0, 0)
    assert sorted(lent.lenders) == list(range(9))
    assert np.argmax(lent.kernel[np.argsort(lent.lenders)]) == 0


def test_plain_is_the_plain_mean_at_the_point() -> None:
    p_hat, choices = some_traces(np.random.default_rng(SEED))
    direct = likelihood_of(Traces((p_hat[0], p_hat[0][:, ::-1]), (choices, choices))).at(RESPONSE)
    assert ESTIMATORS["plain"]((p_hat, p_hat[:, :, ::-1]), (choices, choices), RESPONSE) == pytest.approx(direct)


def test_neighbours_that_are_all_alike_change_nothing() -> None:
    p_hat, choices = some_traces(np.random.default_rng(SEED))
    alike = np.broadcast_to(p_hat[0], p_hat.shape)
    for lent, own in (("lent: plain", "plain"), ("lent: gaussian", "gaussian"), ("lent: halves", "half")):
        values = [ESTIMATORS[name]((alike,), (choices,), RESPONSE) for name in (lent, own)]
        assert values[0] == pytest.approx(values[1], abs=1e-4)


def test_the_error_of_an_estimate_is_what_repeating_it_shows() -> None:
    rng = np.random.default_rng(SEED)
    directions = rng.standard_normal((3, N_TRIALS))
    choices = (rng.random(N_TRIALS) < expit(rng.standard_normal(3) @ directions)).astype(np.int8)
    found = []
    for _ in range(40):
        shared = rng.standard_normal((len(OFFSETS), FILTERS, 3)) @ directions
        p_hat = expit(shared + 0.3 * rng.standard_normal(shared.shape))
        found.append(with_error((p_hat,), (choices,), RESPONSE, ESTIMATORS["lent: halves"]))
    spread = np.std([each.value for each in found], ddof=1)
    stated = np.sqrt(np.mean([each.error**2 for each in found]))
    assert 0.7 < stated / spread < 1.4  # an SD of 40 values is known to within an eighth, and so is the other


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_gives_a_number_and_adds_learners_up(name: str) -> None:
    p_hat, choices = some_traces(np.random.default_rng(SEED))
    missed = np.where(np.arange(N_TRIALS) == 5, np.int8(-1), choices)
    one = ESTIMATORS[name]((p_hat,), (missed,), RESPONSE)
    two = ESTIMATORS[name]((p_hat, p_hat), (missed, missed), RESPONSE)
    assert -N_TRIALS * 5 < one < 0
    assert two == pytest.approx(2 * one, rel=1e-6)
