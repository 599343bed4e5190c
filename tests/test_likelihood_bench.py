"""The bench of the choice likelihood: its integrals and its tempering against answers that are known otherwise."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from benchmarks.likelihood import integrals
from benchmarks.likelihood.cases import KEPT, make_cases, read_cases
from benchmarks.likelihood.estimators import ESTIMATORS, kde, log_probability, stacking_weights
from benchmarks.likelihood.responses import log_choice
from benchmarks.likelihood.scores import FILTERS
from benchmarks.likelihood.tempering import temper
from benchmarks.likelihood.traces import kernel_density, spread_of
from holmes_fit.likelihood import Response, Traces, likelihood_of

SEED = 20261118
RESPONSE = Response(beta=3.0, lapse=0.1, bias=0.2)
N_TRIALS = 60


def some_traces(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Filters with three common directions and noise of their own, and choices that fit the first one."""
    shared = rng.standard_normal((FILTERS, 3)) @ rng.standard_normal((3, N_TRIALS))
    p_hat = expit(shared + 0.3 * rng.standard_normal(shared.shape))
    return p_hat, (rng.random(N_TRIALS) < p_hat[0]).astype(np.int8)


def test_the_kept_cases_are_those_of_the_rules() -> None:
    drawn = make_cases(None)
    assert read_cases(KEPT)[: len(drawn)] == drawn


@pytest.mark.parametrize("variance", [0.0, 0.7])
@pytest.mark.parametrize("answer", [1.0, -1.0])
@pytest.mark.parametrize("log_odds", [-4.0, -0.3, 2.0])
def test_the_derivatives_of_a_response(log_odds: float, answer: float, variance: float) -> None:
    step = 1e-4
    below, here, above = (log_choice(answer, log_odds + d, variance, tuple(RESPONSE)) for d in (-step, 0.0, step))
    assert here[1] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
    assert here[2] == pytest.approx((above[1] - below[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("log_odds", [-2.0, 0.5, 3.0])
def test_a_residual_is_integrated(log_odds: float) -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    at = log_odds + np.sqrt(0.5) * nodes
    chosen = RESPONSE.lapse / 2 + (1 - RESPONSE.lapse) * expit(RESPONSE.beta * at + RESPONSE.bias)
    exact = float(np.sum(weights * chosen) / np.sum(weights))
    assert np.exp(log_choice(1.0, log_odds, 0.5, tuple(RESPONSE))[0]) == pytest.approx(exact, abs=0.02)


def test_bandwidth_0_is_the_plain_mean() -> None:
    p_hat, choices = some_traces(np.random.default_rng(SEED))
    plain = likelihood_of(Traces((p_hat, p_hat[:, ::-1]), (choices, choices))).at(RESPONSE)
    estimated = ESTIMATORS["plain"]((p_hat, p_hat[:, ::-1]), (choices, choices), RESPONSE, np.random.default_rng(0))
    assert estimated == pytest.approx(plain, abs=1e-8)
    nearly = kde((p_hat,), (choices,), RESPONSE, np.random.default_rng(0), bandwidth=1e-4, components=5)
    assert nearly == pytest.approx(likelihood_of(Traces((p_hat,), (choices,))).at(RESPONSE), abs=0.01)


@pytest.mark.parametrize("bandwidth", [0.3, 0.8, 1.0])
def test_a_kernel_density_keeps_mean_and_covariance(bandwidth: float) -> None:
    p_hat, _ = some_traces(np.random.default_rng(SEED))
    spread = spread_of(np.log(p_hat / (1 - p_hat)), components=FILTERS)  # all components: no residual is left
    density = kernel_density(spread, bandwidth)
    between = np.cov(density.centres.T) if len(density.centres) > 1 else 0.0
    np.testing.assert_allclose(density.centres.mean(axis=0), spread.mean, atol=1e-9)
    within = density.loadings @ density.loadings.T + np.diag(density.variance)
    np.testing.assert_allclose(between + within, np.cov(spread.log_odds.T), atol=1e-8)


def test_laplace_against_importance_sampling() -> None:
    rng = np.random.default_rng(SEED)
    response = Response(beta=2.0, lapse=0.02, bias=0.2)
    p_hat, choices = some_traces(rng)
    spread = spread_of(np.log(p_hat / (1 - p_hat)), components=5)
    answers = np.where(choices == 1, 1.0, -1.0)
    values = spread.mean, spread.loadings, spread.variance, answers, tuple(response)
    parts = [integrals.sampled(*values, rng.standard_normal((5_000, 5))) for _ in range(4)]
    assert np.ptp(parts) < 0.1  # so importance sampling has found the integral
    by_laplace = log_probability(kernel_density(spread, 1.0), answers, response)
    assert by_laplace == pytest.approx(logsumexp(parts) - np.log(4), abs=0.25)
    drawn = spread.mean + rng.standard_normal((200_000, 5)) @ spread.loadings.T
    by_draws = integrals.log_mean(integrals.at_centres(drawn, spread.variance, answers, tuple(response)))
    assert by_draws == pytest.approx(logsumexp(parts) - np.log(4), abs=0.25)


def test_lapses_do_not_lead_newton_astray() -> None:
    """Answers against the prediction, nearly all lapses: the surface is far from concave, and ends are still found."""
    rng = np.random.default_rng(SEED)
    p_hat, choices = some_traces(rng)
    spread = spread_of(4 * np.log(p_hat / (1 - p_hat)), components=5)
    response = (5.0, 0.3, 0.0)
    answers = -np.where(choices == 1, 1.0, -1.0)
    factor, gradient, curvature = np.zeros((5, 5)), np.empty(5), np.empty((5, 5))
    at, value = integrals.highest_point(*spread[1:], answers, response, -np.inf, factor)
    assert value >= integrals.surface(np.zeros(5), *spread[1:], answers, response, True, gradient, curvature)
    integrals.surface(at, *spread[1:], answers, response, True, gradient, curvature)
    assert np.abs(gradient).max() < 0.1


def test_stacking_finds_the_better_density() -> None:
    rng = np.random.default_rng(SEED)
    scores = rng.standard_normal((200, 3)) + np.array([0.0, 3.0, 0.0])
    weights = stacking_weights(scores)
    assert weights.sum() == pytest.approx(1.0)
    assert np.argmax(weights) == 1
    mixed = logsumexp(scores + np.log(np.maximum(weights, 1e-300)), axis=1).sum()
    assert mixed >= scores.sum(axis=0).max()


def test_tempering_against_enumeration() -> None:
    """Four kinds of luck a trial, and a likelihood that is a product over trials: the expectation is known."""
    rng = np.random.default_rng(SEED)
    table = 2.0 * rng.standard_normal((20, 4))

    def likelihood(luck: NDArray[np.int64]) -> NDArray[np.float64]:
        return table[np.arange(20), luck % 4].sum(axis=1)

    exact = float(np.sum(logsumexp(table, axis=1) - np.log(4)))
    runs = [temper(likelihood, 20, 32, 64, np.random.default_rng([SEED, run])) for run in range(8)]
    found = np.array([run.log_likelihood for run in runs])
    assert min(run.steps for run in runs) > 3  # else there would be nothing to show
    assert abs(found.mean() - exact) < 4 * found.std(ddof=1) / np.sqrt(len(found)) + 0.1
    assert found.std() < 1.0
    fresh = [likelihood(rng.integers(0, 1 << 32, (runs[0].filters, 20))) for _ in range(8)]
    assert found.std() < np.std([logsumexp(each) for each in fresh])  # as many filters, without tempering


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_gives_a_number_and_adds_learners_up(name: str) -> None:
    p_hat, choices = some_traces(np.random.default_rng(SEED))
    missed = np.where(np.arange(N_TRIALS) == 5, np.int8(-1), choices)
    one = ESTIMATORS[name]((p_hat,), (missed,), RESPONSE, np.random.default_rng(1))
    two = ESTIMATORS[name]((p_hat, p_hat), (missed, missed), RESPONSE, np.random.default_rng(1))
    assert -N_TRIALS * 5 < one < 0
    assert two == pytest.approx(2 * one, abs=2.0)
