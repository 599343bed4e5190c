"""Mixtures of models against exact posteriors of their frequencies, and what Monte Carlo errors do to them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import beta as beta_distribution

from holmes_fit._support.errors import InputError
from holmes_fit.groups.pooling.mixture import EvidenceErrors, Mixture, errors_of, impute, mix_models
from holmes_fit.groups.pooling.sampling import Sampling
from tests.toy_lattices import gaussian_lattices, log_axis, point_lattices

SEED = 20261
SMALL = Sampling(chains=4, tune=400, draws=500, seed=SEED, cores=1)
FREQUENCY = (np.arange(1000) + 0.5) / 1000


def exact_mass(log_ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the posterior of the second model's frequency on a grid, given everyone's log Bayes factor for it."""
    ratio = np.exp(log_ratio)
    log_mass = np.log(FREQUENCY[:, None] * ratio + 1 - FREQUENCY[:, None]).sum(axis=1)
    return np.exp(log_mass - logsumexp(log_mass))


def exact_probability(log_ratio: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
    log_odds = np.log(FREQUENCY) - np.log1p(-FREQUENCY)
    return mass @ expit(log_odds[:, None] + log_ratio)


def exact_draws(log_ratio: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return evenly spaced quantiles of the exact posterior: draws x two models."""
    below = np.cumsum(exact_mass(log_ratio))
    second = np.interp((np.arange(n) + 0.5) / n, below, FREQUENCY)
    return np.stack([1 - second, second], axis=-1)


LOG_RATIO = np.random.default_rng(SEED).normal(0.7, 1.2, size=15)


def test_grid_of_the_exact_posterior_is_a_beta_mixture() -> None:
    """Where people are surely of one model or the other, the posterior of the frequency is a Beta distribution."""
    mass = exact_mass(np.array([50.0] * 6 + [-50.0] * 3))
    wanted = beta_distribution(1 + 6, 1 + 3)
    assert mass @ FREQUENCY == pytest.approx(wanted.mean(), abs=1e-4)
    assert mass @ FREQUENCY**2 == pytest.approx(wanted.var() + wanted.mean() ** 2, abs=1e-4)


def errors_without_bias(sd: NDArray[np.float64]) -> EvidenceErrors:
    return EvidenceErrors(sd, np.zeros(sd.shape))


def imputed_exactly(errors: NDArray[np.float64], n: int) -> tuple[float, float, NDArray[np.float64]]:
    """Average exact posteriors over errors: mean and SD of the frequency, and everyone's probability."""
    rng = np.random.default_rng(SEED + 1)
    first, second, probability = 0.0, 0.0, np.zeros(len(LOG_RATIO))
    for _ in range(n):
        drawn = errors * rng.standard_normal(errors.shape)
        moved = LOG_RATIO + drawn[:, 1] - drawn[:, 0]
        mass = exact_mass(moved)
        first += mass @ FREQUENCY / n
        second += mass @ FREQUENCY**2 / n
        probability += exact_probability(moved, mass) / n
    return first, np.sqrt(second - first**2), probability


@pytest.mark.parametrize("error", [0.0, 0.3, 0.8])
def test_imputed_errors_give_the_average_of_exact_posteriors(error: float) -> None:
    people = len(LOG_RATIO)
    log_likelihood = np.stack([np.zeros(people), LOG_RATIO], axis=-1)
    draws = exact_draws(LOG_RATIO, 1000)
    errors = errors_without_bias(np.full((people, 2), error))
    found = impute(np.broadcast_to(log_likelihood, (1000, people, 2)), draws, errors, 200, SEED)
    mean, sd, probability = imputed_exactly(errors.sd, 200)
    # Both sides average over 200 errors of their own, whose posterior means have an SD of at most 0.15.
    assert found.frequency[:, 1].mean() == pytest.approx(mean, abs=4 * 0.15 * np.sqrt(2 / 200))
    assert found.frequency[:, 1].std() == pytest.approx(sd, rel=0.1)
    spread = 0.25 * error  # of a probability over errors: at most the slope of a logistic curve, times sqrt(2)
    np.testing.assert_allclose(found.probability[:, 1], probability, atol=4 * spread * np.sqrt(2 * 2 / 200) + 2e-3)
    assert (found.effective > 0.1).mean() > 0.95


def test_errors_make_people_less_certain() -> None:
    """Probabilities move towards even odds, as they must when evidence is partly luck; the frequency gets no surer."""
    people = 12
    log_ratio = np.repeat([2.5, -2.5], 6)
    log_likelihood = np.broadcast_to(np.stack([np.zeros(people), log_ratio], axis=-1), (1000, people, 2))
    draws = exact_draws(log_ratio, 1000)
    none, some = (
        impute(log_likelihood, draws, errors_without_bias(np.full((people, 2), error)), 150, SEED)
        for error in (0.0, 0.8)
    )
    certainty = np.abs(none.probability[:, 1] - 0.5) - np.abs(some.probability[:, 1] - 0.5)
    assert np.all(certainty > 0)
    assert some.frequency[:, 1].std() > none.frequency[:, 1].std()


def test_errors_that_are_too_large_are_seen() -> None:
    people = 40
    rng = np.random.default_rng(SEED)
    log_ratio = rng.normal(0, 1, size=people)
    log_likelihood = np.broadcast_to(np.stack([np.zeros(people), log_ratio], axis=-1), (1000, people, 2))
    errors = errors_without_bias(np.full((people, 2), 12.0))
    found = impute(log_likelihood, exact_draws(log_ratio, 1000), errors, 40, SEED)
    assert (found.effective < 0.1).mean() > 0.05


@pytest.mark.parametrize("model", [0, 1])
def test_a_bias_is_taken_out_of_the_evidences(model: int) -> None:
    """Evidences of one model that are too low by half a nat: frequencies are those of the evidences set right."""
    people = len(LOG_RATIO)
    log_likelihood = np.stack([np.zeros(people), LOG_RATIO], axis=-1)
    bias = np.zeros((people, 2))
    bias[:, model] = -0.5
    errors = EvidenceErrors(np.zeros((people, 2)), bias)
    draws = exact_draws(LOG_RATIO, 1000)
    found = impute(np.broadcast_to(log_likelihood, (1000, people, 2)), draws, errors, 10, SEED)
    corrected = LOG_RATIO + (0.5 if model == 1 else -0.5)
    mass = exact_mass(corrected)
    mean, before = mass @ FREQUENCY, exact_mass(LOG_RATIO) @ FREQUENCY
    assert abs(mean - before) > 0.03  # or there would be nothing to see
    # Evenly spaced draws, weighted: their number is felt through 1000 places in a posterior whose SD is about 0.1.
    assert found.frequency[:, 1].mean() == pytest.approx(mean, abs=0.005)
    np.testing.assert_allclose(found.probability[:, 1], exact_probability(corrected, mass), atol=0.005)
    # Probabilities that are made of the draws that are kept are the same.
    joint = np.log(found.frequency[:, None]) + found.imputed
    by_hand = np.exp(joint - logsumexp(joint, axis=2, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(by_hand, found.probability, atol=0.005)


def test_errors_are_those_of_the_lattices_people_by_models() -> None:
    pair = [replace(point_lattices(np.zeros(3), name, error), log_evidence_bias=np.full(3, -error / 2))
            for name, error in (("flat", 0.2), ("holmes", 0.6))]  # fmt: skip
    errors = errors_of(pair)
    np.testing.assert_allclose(errors.sd, [[0.2, 0.6]] * 3)
    np.testing.assert_allclose(errors.bias, [[-0.1, -0.3]] * 3)


def test_models_on_different_people_are_refused() -> None:
    one = point_lattices(np.zeros(5), "flat")
    other = point_lattices(np.zeros(6), "holmes")
    with pytest.raises(InputError, match=r"1 people in only one of flat and holmes: \['s05'\]"):
        mix_models([one, other])


def test_one_model_or_one_person_is_no_mixture() -> None:
    with pytest.raises(InputError, match="at least two models"):
        mix_models([point_lattices(np.zeros(5), "flat")])
    with pytest.raises(InputError, match="saw one person; allowed: at least two people"):
        mix_models([point_lattices(np.zeros(1), "flat"), point_lattices(np.zeros(1), "holmes")])


@pytest.mark.slow
def test_frequency_alone_agrees_with_the_exact_posterior() -> None:
    """Two models without free parameters, two cohorts: the posterior of each frequency is known."""
    for own in (LOG_RATIO[:9], LOG_RATIO[9:]):
        flat, holmes = point_lattices(np.zeros(len(own)), "flat"), point_lattices(own, "holmes")
        found = mix_models([flat, holmes], sampling=SMALL)
        mass = exact_mass(own)
        mean = mass @ FREQUENCY
        sd = np.sqrt(mass @ (FREQUENCY - mean) ** 2)
        drawn = found.frequency[:, 1]
        assert drawn.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(400))
        assert drawn.std() == pytest.approx(sd, rel=4 / np.sqrt(800))
        np.testing.assert_allclose(found.probability[:, 1], exact_probability(own, mass), atol=0.02)
        assert not found.warnings


@pytest.fixture(scope="module")
def mixture() -> Mixture:
    """Two models that differ in their level: by much for half of the people, by little for the others."""
    rng = np.random.default_rng(SEED)
    measured = rng.normal(0.2, 0.7, size=(16, 1))
    axis = log_axis(nodes=40)
    level = np.where(np.arange(16) < 8, 4.0, -1.0)
    flat = gaussian_lattices(measured, np.array([[0.16]]), [axis], "flat", error=0.3)
    holmes = gaussian_lattices(measured, np.array([[0.16]]), [axis], "holmes", level, error=0.3)
    return mix_models([flat, holmes], sampling=SMALL)


@pytest.mark.slow
def test_a_mixture_with_groups_of_parameters_is_the_sum_that_it_says(mixture: Mixture) -> None:
    """Draws have the density of the mixture: the probability of each person follows from the draws by Bayes' rule."""
    joint = np.log(mixture.sampled_frequency[:, None]) + mixture.log_likelihood
    by_hand = np.exp(joint - logsumexp(joint, axis=2, keepdims=True)).mean(axis=0)
    # The errors of the evidences, 0.3 nats in both models, move nobody by more than this.
    assert np.abs(by_hand - mixture.probability).max() < 0.1
    assert np.all(mixture.probability[:8, 1] > 0.9)
    assert mixture.probability[8:, 1].max() < mixture.probability[:8, 1].min()
    # A frequency is, on average, that of the people's probabilities, drawn towards one half by its prior.
    wanted = (1 + by_hand[:, 1].sum()) / (2 + 16)
    assert mixture.sampled_frequency[:, 1].mean() == pytest.approx(wanted, abs=0.02)
    assert not mixture.warnings
