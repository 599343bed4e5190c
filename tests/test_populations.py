"""Populations as priors: densities that integrate to 1 between the bounds, and draws that follow them."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from holmes_fit._support.errors import Problems
from holmes_fit.models.competitors.bias import CHOICE_PROBABILITY
from holmes_fit.models.parameters import ALPHA, Parameter
from holmes_fit.models.registry import DEPTH_SCALE
from holmes_fit.models.responses.choices import BIAS, LAPSE
from holmes_fit.settings.distributions import Distribution, parse_prior

SEED = 5
PRIORS = [
    ("lognormal:0.5,1", ALPHA),
    ("lognormal:0.001,0.3", ALPHA),  # nearly all of it lies below the bounds
    ("uniform:0,3", ALPHA),
    ("loguniform:0.01,1", ALPHA),
    ("logitnormal:0.03,1", LAPSE),
    ("uniform:0,1", LAPSE),
    ("loguniform:0.01,0.2", LAPSE),
    ("logitnormal:0.5,1.5", CHOICE_PROBABILITY),
    ("normal:0,1", BIAS),
    ("normal:7,0.5", BIAS),
    ("uniform:-1,9", BIAS),
    ("uniform:0.2,0.6", DEPTH_SCALE),
]


def prior(text: str, parameter: Parameter) -> Distribution:
    problems = Problems()
    parsed = parse_prior(text, parameter, "x", problems)
    assert parsed is not None, list(problems)
    return parsed


def density(population: Distribution, parameter: Parameter, position: float) -> float:
    natural = np.clip(parameter.to_natural(position), parameter.low, parameter.high)
    return float(np.exp(population.log_density(natural, parameter.scale, parameter.low, parameter.high)))


@pytest.mark.parametrize(("text", "parameter"), PRIORS)
def test_a_density_integrates_to_one_on_the_scale_of_search(text: str, parameter: Parameter) -> None:
    population = prior(text, parameter)
    low, high = (float(parameter.to_scale(bound)) for bound in (parameter.low, parameter.high))
    edges = [population.first, population.second] if "uniform" in text else []
    inside = [float(parameter.to_scale(edge)) for edge in edges if parameter.low < edge < parameter.high]
    total, _ = quad(lambda at: density(population, parameter, at), low, high, points=inside or None, limit=200)
    assert total == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("text", "parameter"), PRIORS)
def test_draws_follow_the_density(text: str, parameter: Parameter) -> None:
    population = prior(text, parameter)
    drawn = population.draw_between(parameter.low, parameter.high, np.random.default_rng(SEED), 400)
    assert drawn.min() >= parameter.low
    assert drawn.max() <= parameter.high
    grid = np.linspace(parameter.to_scale(parameter.low), parameter.to_scale(parameter.high), 20_001)
    middles = (grid[1:] + grid[:-1]) / 2
    natural = parameter.to_natural(middles)
    mass = np.exp(population.log_density(natural, parameter.scale, parameter.low, parameter.high)) * np.diff(grid)
    below = np.concatenate([[0], np.cumsum(mass)])
    # Kolmogorov and Smirnov's test of a correct sampler falls below 1e-5 once in 100,000 times.
    assert stats.kstest(parameter.to_scale(drawn), lambda at: np.interp(at, grid, below)).pvalue > 1e-5


def test_the_density_is_that_of_the_textbook() -> None:
    wide = Parameter("x", 1e-9, 1e9, "log", 1.0, "a bound so wide that nothing is cut off")
    at = np.array([0.1, 0.5, 2.0])
    found = Distribution("lognormal", 0.5, 1.2).log_density(at, "log", wide.low, wide.high)
    np.testing.assert_allclose(found, stats.norm.logpdf(np.log(at), np.log(0.5), 1.2))
    natural = Distribution("lognormal", 0.5, 1.2).log_density(at, "identity", wide.low, wide.high)
    np.testing.assert_allclose(natural, stats.lognorm.logpdf(at, 1.2, scale=0.5))


def test_there_is_no_density_beyond_the_support() -> None:
    population = Distribution("uniform", 0.2, 0.6)
    assert np.isneginf(population.log_density([0.1, 0.7], "identity", 0, 1)).all()
    assert population.support(0.5, 1) == (0.5, 0.6)
    assert population.support(0.6, 1) is None


def test_draws_depend_on_the_generator_alone() -> None:
    once, again = (Distribution("lognormal", 1, 1).draw_between(0.1, 3, np.random.default_rng(SEED), 5) for _ in "ab")
    assert once.tolist() == again.tolist()


@pytest.mark.parametrize(
    ("value", "parameter"),
    [
        ("0.5", ALPHA), (0.5, ALPHA), ("lognormal:0.5,0", ALPHA), ("lognormal:0,1", ALPHA), ("lognormal:1,6", ALPHA),
        ("lognormal:1,nan", ALPHA), ("normal:1,1", ALPHA), ("logitnormal:0.5,1", ALPHA), ("uniform:2,1", ALPHA),
        ("uniform:0,inf", ALPHA), ("loguniform:0,1", ALPHA), ("logitnormal:1,1", LAPSE), ("lognormal:1,1", BIAS),
        ("loguniform:1,2", BIAS), ("normal:0,-1", BIAS), ("", BIAS), ("beta:1,1", LAPSE), (None, LAPSE),
    ],
)  # fmt: skip
def test_a_prior_that_does_not_suit_its_scale_is_refused(value: object, parameter: Parameter) -> None:
    problems = Problems()
    assert parse_prior(value, parameter, "key prior", problems) is None
    assert "LOW,HIGH; SD above 0, up to 5" in str(problems.found[0])


def test_a_population_reads_as_it_is_written() -> None:
    assert [str(prior(text, parameter)) for text, parameter in PRIORS] == [text for text, _ in PRIORS]
