"""The normal density over traces, and answers integrated over it: against quadrature, plain Monte Carlo and numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from holmes_fit.likelihood.density import COMPONENTS, TraceDensity, density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.laplace import factorise, solved
from holmes_fit.likelihood.specialised import Specialised, functions_of
from holmes_fit.models.responses.choices import CHOICES, Choices, choice_probability
from tests.rules import Response

SEED = 20263
BY, laplace = Specialised(CHOICES), functions_of(Choices)
RESPONSES = [Response(2.3, 0.07, -0.4), Response(1.0, 0.001, 0.0), Response(6.0, 0.3, 0.5)]
DRAWS = 100_000


def a_density(components: int, residual: float, trials: int = 50, seed: int = SEED) -> TraceDensity:
    """Filters that differ by about a logit, as they do on deep tasks."""
    rng = np.random.default_rng([seed, components])
    loadings = rng.normal(0, 0.8 / np.sqrt(max(components, 1)), (trials, components))
    return TraceDensity(rng.normal(0, 1.2, trials), loadings, np.full(trials, residual))


def answers_to(density: TraceDensity, response: Response, seed: int = SEED) -> NDArray[np.float64]:
    """Answer as a trace of the density would, and miss one trial in ten."""
    rng = np.random.default_rng([seed, 1])
    trials, components = density.loadings.shape
    log_odds = density.mean + density.loadings @ rng.standard_normal(components)
    log_odds += np.sqrt(density.variance) * rng.standard_normal(trials)
    signs = np.where(rng.random(trials) < choice_probability(expit(log_odds), *response), 1.0, -1.0)
    return np.where(rng.random(trials) < 0.1, np.nan, signs)


def log_probability(
    log_odds: NDArray[np.float64], signs: NDArray[np.float64], response: Response
) -> NDArray[np.float64]:
    """Return the log probability of the answers given traces (rows), from the response rule alone."""
    given = ~np.isnan(signs)
    chosen = choice_probability(expit(log_odds[..., given]), *response, choice=(signs[given] > 0).astype(np.int8))
    return np.log(chosen).sum(axis=-1)


def whole(density: TraceDensity, signs: NDArray[np.float64], response: Response) -> float:
    return BY.integral(density, signs, response)


# ------------------------------------------------------------------------------------------------- the integral
@pytest.mark.parametrize(("response", "limit"), [*zip(RESPONSES, (0.05, 0.02, 0.4), strict=True)])
def test_one_component_against_quadrature(response: Response, limit: float) -> None:
    """Over people: Laplace's method is only nearly right, and less so where many answers are lapses."""
    errors = []
    for number in range(20):
        density = a_density(1, 0.0, seed=SEED + number)
        signs = answers_to(density, response, seed=SEED + number)
        exact = by_quadrature(density, signs, response)
        errors.append(whole(density, signs, response) - exact)
    assert np.sqrt(np.mean(np.square(errors))) < limit


def by_quadrature(density: TraceDensity, signs: NDArray[np.float64], response: Response) -> float:
    at = np.linspace(-6, 6, 601)
    highest = float(log_probability(density.mean + at[:, None] * density.loadings[:, 0], signs, response).max())

    def integrand(a: float) -> float:
        log_odds = density.mean + density.loadings[:, 0] * a
        return float(np.exp(log_probability(log_odds, signs, response) - highest) * norm.pdf(a))

    return highest + float(np.log(quad(integrand, -8, 8, limit=400, epsabs=1e-12)[0]))


@pytest.mark.parametrize("response", RESPONSES)
def test_a_residual_against_quadrature(response: Response) -> None:
    """Independent residuals factor into trials, each a sum over a few hundred points."""
    density = a_density(0, 0.5)
    signs = answers_to(density, response)
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    log_odds = density.mean[:, None] + np.sqrt(0.5) * nodes
    chosen = choice_probability(expit(log_odds), *response, choice=(signs[:, None] > 0).astype(np.int8))
    by_trial = np.log(chosen @ weights / weights.sum())
    given = ~np.isnan(signs)
    # A logistic curve with a smaller slope is off by up to 2% of a probability, this way and that, trial by trial.
    assert whole(density, signs, response) == pytest.approx(by_trial[given].sum(), abs=0.02 * np.sqrt(given.sum()))


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize("residual", [0.0, 0.2])
def test_three_components_against_plain_monte_carlo(response: Response, residual: float) -> None:
    density = a_density(3, residual, trials=40)
    signs = answers_to(density, response)
    rng = np.random.default_rng([SEED, 7])
    values = []
    for _ in range(10):
        drawn = density.mean + rng.standard_normal((DRAWS // 10, 3)) @ density.loadings.T
        drawn += np.sqrt(residual) * rng.standard_normal(drawn.shape)
        values.append(log_probability(drawn, signs, response))
    log_values = np.concatenate(values)
    exact = logsumexp(log_values) - np.log(DRAWS)
    weights = np.exp(log_values - exact)
    error = weights.std() / np.sqrt(DRAWS)
    assert error < 0.05  # so that plain draws have found the integral
    assert whole(density, signs, response) == pytest.approx(exact, abs=4 * error + 0.1)


def test_a_component_matters_and_so_do_residuals() -> None:
    """What is integrated over is worth nats, next to which the tolerances above are small."""
    density, response = a_density(3, 0.5), RESPONSES[0]
    signs = answers_to(density, response)
    at_mean = log_probability(density.mean, signs, response)
    without_residual = density._replace(variance=np.zeros(50))
    assert whole(density, signs, response) > at_mean + 1
    assert abs(whole(density, signs, response) - whole(without_residual, signs, response)) > 0.2


@pytest.mark.parametrize("components", [0, 2])
def test_nothing_to_integrate_over_is_the_plain_log_probability(components: int) -> None:
    density = a_density(0, 0.0)._replace(loadings=np.zeros((50, components)))
    signs = answers_to(density, RESPONSES[0])
    for response in RESPONSES:
        assert whole(density, signs, response) == pytest.approx(log_probability(density.mean, signs, response))
    assert whole(density, np.full(50, np.nan), RESPONSES[0]) == 0.0


@pytest.mark.parametrize("variance", [0.0, 0.7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("log_odds", [-4.0, -0.3, 2.0])
def test_the_derivatives_of_a_choice(log_odds: float, sign: float, variance: float) -> None:
    step = 1e-4
    below, here, above = (
        laplace.over_residual(sign, log_odds + d, variance, np.array(RESPONSES[0])) for d in (-step, 0.0, step)
    )
    assert here[1] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-6)
    assert here[2] == pytest.approx((above[1] - below[1]) / (2 * step), abs=1e-6)


def test_the_surface_has_the_gradient_and_curvature_that_it_writes() -> None:
    density, response = a_density(3, 0.2), RESPONSES[0]
    signs = answers_to(density, response)
    gradient, curvature = np.empty(3), np.empty((3, 3))

    def height(a: NDArray[np.float64]) -> float:
        return float(laplace.surface(a, *density, signs, np.array(response), False, np.empty(3), np.empty((3, 3))))

    def slope(a: NDArray[np.float64]) -> NDArray[np.float64]:
        own = np.empty(3)
        laplace.surface(a, *density, signs, np.array(response), False, own, np.empty((3, 3)))
        return own

    at = np.array([0.4, -0.9, 1.3])
    laplace.surface(at, *density, signs, np.array(response), False, gradient, curvature)
    np.testing.assert_allclose(gradient, approx_fprime(at, height, 1e-6), atol=1e-4)
    np.testing.assert_allclose(-curvature, approx_fprime(at, slope, 1e-6), atol=1e-4)


@pytest.mark.parametrize("number", range(6))
def test_the_highest_point_is_found_even_where_answers_are_lapses(number: int) -> None:
    """Answers against the prediction: the surface is far from concave, and no search from there gets higher."""
    density = a_density(5, 0.1, seed=SEED + number)
    density = density._replace(mean=3 * density.mean)
    response = Response(5.0, 0.3, 0.0)
    signs = -answers_to(density, response, seed=SEED + number)
    gradient, curvature = np.empty(5), np.empty((5, 5))

    def depth(a: NDArray[np.float64]) -> float:
        return -float(laplace.surface(a, *density, signs, np.array(response), True, gradient, curvature))

    _, at, factor = laplace.integral(np.zeros(5), *density, signs, np.array(response))
    assert depth(at) <= depth(np.zeros(5))
    assert depth(at) <= minimize(depth, at, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}).fun + 1e-4
    laplace.surface(at, *density, signs, np.array(response), False, gradient, curvature)
    np.testing.assert_allclose(factor @ factor.T, curvature, atol=1e-9)


def test_the_factor_solves() -> None:
    rng = np.random.default_rng(SEED)
    root = rng.normal(size=(6, 6))
    matrix, right, factor = root @ root.T + np.eye(6), rng.normal(size=6), np.zeros((6, 6))
    assert factorise(matrix, factor)
    np.testing.assert_allclose(factor @ factor.T, matrix)
    np.testing.assert_allclose(solved(factor, right), np.linalg.solve(matrix, right))
    assert not factorise(matrix - 2 * np.linalg.eigvalsh(matrix)[0] * np.eye(6), factor)


def test_the_grid_has_the_integral_of_each_point() -> None:
    beta, lapse, bias = np.array([0.3, 1.0, 3.0, 9.0]), np.array([0.001, 0.05, 0.3]), np.array([-0.5, 0.2])
    density = a_density(4, 0.2)
    signs = answers_to(density, RESPONSES[0])
    grid = BY.integral_on_grid(density, signs, (beta, lapse, bias))
    for index in np.ndindex(grid.shape):
        response = Response(beta[index[0]], lapse[index[1]], bias[index[2]])
        # Another start of the search ends where it would gain less than a millionth of a nat: 1e-3 SDs away.
        assert grid[index] == pytest.approx(whole(density, signs, response), abs=2e-3)


def test_a_point_alone_finds_the_top_that_a_grid_finds() -> None:
    """Where traces differ much and many answers are lapses there are several tops, and the way up matters."""
    response = Response(6.0, 0.3, 0.0)
    beta, lapse, bias = np.geomspace(0.2, response.beta, 12), np.array([response.lapse]), np.array([response.bias])
    starts_matter = 0
    for number in range(40):
        density = a_density(12, 0.2, trials=80, seed=SEED + number)
        density = density._replace(loadings=4 * density.loadings)
        signs = answers_to(density, response, seed=SEED + number)
        on_grid = BY.integral_on_grid(density, signs, (beta, lapse, bias))[-1, 0, 0]
        assert whole(density, signs, response) == pytest.approx(on_grid, abs=0.05)
        starts_matter += abs(laplace.integral(np.zeros(12), *density, signs, np.array(response))[0] - on_grid) > 0.05
    assert starts_matter >= 10


# ------------------------------------------------------------------------------------------------- trial by trial
@pytest.mark.parametrize("response", RESPONSES)
def test_before_each_trial_is_the_integral_of_the_answers_so_far(response: Response) -> None:
    density = a_density(3, 0.2)
    signs = answers_to(density, response)
    total, expected, uncertain = BY.before_each_trial(density, signs, response)
    assert total[0] == 0.0
    assert total[-1] == pytest.approx(whole(density, signs, response), abs=2e-3)
    for trial in (1, 7, 30, 49):
        so_far = np.where(np.arange(50) < trial, signs, np.nan)
        assert total[trial] == pytest.approx(whole(density, so_far, response), abs=2e-3)
    assert expected[0] == density.mean[0]
    np.testing.assert_allclose(uncertain[0], density.variance[0] + np.sum(density.loadings[0] ** 2))
    assert np.all(uncertain >= density.variance)


def test_before_each_trial_looks_at_earlier_answers_only() -> None:
    density, response = a_density(3, 0.2), RESPONSES[0]
    signs = answers_to(density, response)
    changed = np.where(np.arange(50) < 30, signs, -signs)
    before, after = (BY.before_each_trial(density, each, response) for each in (signs, changed))
    np.testing.assert_array_equal(before[0][:31], after[0][:31])
    np.testing.assert_array_equal(before[1][:31], after[1][:31])
    np.testing.assert_array_equal(before[2][:31], after[2][:31])
    assert not np.allclose(before[1][31:], after[1][31:])


def test_what_is_known_of_log_odds_is_their_posterior() -> None:
    """One component: mean and variance of a trial's log odds, given earlier answers, by sums over a fine grid."""
    density, response = a_density(1, 0.0), RESPONSES[0]
    signs = answers_to(density, response)
    _, expected, uncertain = BY.before_each_trial(density, signs, response)
    at = np.linspace(-6, 6, 4001)
    traces = density.mean + at[:, None] * density.loadings[:, 0]
    away, ratio = np.empty(50), np.empty(50)
    for trial in range(50):
        so_far = np.where(np.arange(50) < trial, signs, np.nan)
        log_mass = log_probability(traces, so_far, response) + norm.logpdf(at)
        mass = np.exp(log_mass - logsumexp(log_mass))
        mean = mass @ traces[:, trial]
        variance = mass @ (traces[:, trial] - mean) ** 2
        away[trial], ratio[trial] = (expected[trial] - mean) / np.sqrt(variance), uncertain[trial] / variance
    # A highest point is not quite a mean, nor is the curvature there the variance: less so, the more answers there are.
    assert np.abs(away).max() < 0.4
    assert np.abs(away[25:]).max() < 0.2
    assert np.abs(np.log(ratio)).max() < np.log(2.5)
    assert np.abs(np.log(ratio[25:])).max() < np.log(1.25)


# ------------------------------------------------------------------------------------------------- the density
def filters(rows: int, trials: int, directions: int, seed: int = SEED) -> NDArray[np.float64]:
    rng = np.random.default_rng([seed, rows, trials])
    common = rng.standard_normal((rows, directions)) @ rng.standard_normal((directions, trials))
    return common + rng.normal(0, 1, trials)


def covariance_of(density: TraceDensity) -> NDArray[np.float64]:
    return density.loadings @ density.loadings.T + np.diag(density.variance)


@pytest.mark.parametrize(("rows", "trials"), [(12, 60), (200, 60), (20, 20), (48, 300)])
@pytest.mark.parametrize("directions", [1, 5, 20])
def test_few_directions_give_the_whole_sample_covariance(rows: int, trials: int, directions: int) -> None:
    """In numpy's words, for filters that are many or few against the trials."""
    log_odds = filters(rows, trials, directions)
    density = density_of(log_odds.mean(axis=0), deviations_of(log_odds))
    assert density.loadings.shape == (trials, min(directions, rows - 1, trials))
    np.testing.assert_allclose(covariance_of(density), np.cov(log_odds.T), atol=1e-8)
    np.testing.assert_allclose(density.variance, 0.0, atol=1e-8)
    np.testing.assert_array_equal(density.mean, log_odds.mean(axis=0))


@pytest.mark.parametrize(("rows", "trials"), [(60, 200), (500, 40)])
def test_many_directions_keep_the_variance_of_every_trial(rows: int, trials: int) -> None:
    log_odds = filters(rows, trials, trials)
    density = density_of(log_odds.mean(axis=0), deviations_of(log_odds))
    assert density.loadings.shape == (trials, COMPONENTS)
    np.testing.assert_allclose(np.diag(covariance_of(density)), np.var(log_odds, axis=0, ddof=1))
    assert density.variance.min() > 0
    values, vectors = np.linalg.eigh(np.cov(log_odds.T))
    largest = (vectors[:, -COMPONENTS:] * values[-COMPONENTS:]) @ vectors[:, -COMPONENTS:].T
    np.testing.assert_allclose(density.loadings @ density.loadings.T, largest, atol=1e-8)


def test_deviations_of_several_points_are_pooled() -> None:
    first, second = filters(10, 30, 4), filters(10, 30, 4, seed=SEED + 1) + 5.0
    pooled = np.concatenate([deviations_of(first), deviations_of(second)])
    density = density_of(np.zeros(30), pooled)
    np.testing.assert_allclose(covariance_of(density), (np.cov(first.T) + np.cov(second.T)) / 2, atol=1e-8)


@pytest.mark.parametrize("rows", [2, 3, 48])
def test_the_mean_square_of_deviations_is_the_unbiased_variance(rows: int) -> None:
    log_odds = filters(rows, 25, 3).astype(np.float32)
    deviations = deviations_of(log_odds)
    np.testing.assert_allclose(np.mean(deviations**2, axis=0), np.var(log_odds.astype(float), axis=0, ddof=1))
    np.testing.assert_allclose(deviations.mean(axis=0), 0.0, atol=1e-6)


def test_filters_that_agree_have_no_directions() -> None:
    log_odds = np.tile(np.linspace(-2, 2, 30), (6, 1))
    density = density_of(log_odds[0], deviations_of(log_odds))
    assert density.loadings.shape == (30, 0)
    np.testing.assert_allclose(density.variance, 0.0, atol=1e-20)


def test_certain_predictions_have_finite_log_odds() -> None:
    np.testing.assert_allclose(log_odds_of([0.0, 0.5, 1.0]), [np.log(1e-12), 0.0, -np.log(1e-12)], rtol=1e-4)
