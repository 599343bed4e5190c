"""Statistics of recovery, against SciPy, statsmodels, closed forms and plain loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats
from statsmodels.stats.proportion import proportion_confint

from holmes_fit._support.uniformity import SIMULATIONS, binned, chi_square_p, ecdf_band, ecdf_p, rank_of
from holmes_fit.groups.comparison.omnibus import random_effects
from holmes_fit.studies.recovery import power
from holmes_fit.studies.recovery.power import INTERVAL, PROTECTED, RULES, judged, log_likelihood, power_table
from holmes_fit.studies.statistics import (
    Measure,
    bias,
    bootstrapped,
    correlation,
    rank_correlation,
    rmse,
    share,
)

SEED = 71


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


# --- measures and intervals
def test_measures_agree_with_scipy_for_many_samples_at_once(rng: np.random.Generator) -> None:
    truth, estimate = rng.normal(size=(2, 7, 12)).round(1)  # with ties
    pairs = list(zip(truth, estimate, strict=True))
    assert correlation(truth, estimate) == pytest.approx([stats.pearsonr(*pair).statistic for pair in pairs])
    assert rank_correlation(truth, estimate) == pytest.approx([stats.spearmanr(*pair).statistic for pair in pairs])
    assert bias(truth, estimate) == pytest.approx([np.mean(b) - np.mean(a) for a, b in pairs])
    assert rmse(truth, estimate) == pytest.approx([np.linalg.norm(b - a) / np.sqrt(12) for a, b in pairs])


def test_truths_that_do_not_differ_have_no_correlation(rng: np.random.Generator) -> None:
    found = bootstrapped(correlation, np.full(9, 0.3), rng.normal(size=9), rng)
    assert np.isnan(found).all()


@pytest.mark.parametrize("measure", [correlation, rmse])
def test_bootstrap_intervals_agree_with_scipy(measure, rng: np.random.Generator) -> None:
    truth = rng.normal(size=60)
    estimate = 0.6 * truth + 0.5 * rng.normal(size=60)
    found = bootstrapped(measure, truth, estimate, rng)
    other = stats.bootstrap(
        (truth, estimate),
        lambda a, b, axis=-1: measure(a, b),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="percentile",
        rng=rng,
    )
    assert found.value == pytest.approx(float(measure(truth, estimate)))
    # An end of a 95% interval from 2,000 samples is uncertain by about sqrt(.025 .975 / 2000) / density: .06 SD.
    tolerance = 4 * 0.06 * other.standard_error
    assert found.lower == pytest.approx(other.confidence_interval.low, abs=tolerance)
    assert found.upper == pytest.approx(other.confidence_interval.high, abs=tolerance)


def test_missing_estimates_are_left_out_and_one_person_has_no_interval(rng: np.random.Generator) -> None:
    one, other = np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.5, np.nan, 3.0, 4.5])
    assert bootstrapped(bias, one, other, rng).value == 0.5
    alone = bootstrapped(bias, one[:1], other[:1], rng)
    assert alone.value == 0.5
    assert np.isnan(alone[1:]).all()
    assert np.isnan(bootstrapped(bias, one[2:3], other[2:3], rng)).all()


def test_shares_have_wilson_intervals() -> None:
    for count, n in ((0, 5), (3, 7), (40, 40)):
        assert share(count, n)[1:] == pytest.approx(proportion_confint(count, n, method="wilson"))
    assert np.isnan(share(0, 0)).all()


# --- ranks
def test_ties_are_broken_evenly(rng: np.random.Generator) -> None:
    draws = np.array([1.0, 2.0, 2.0, 2.0, 3.0])
    assert rank_of(0.5, draws, rng) == 0
    assert rank_of(9.0, draws, rng) == 5
    ranks = np.bincount([rank_of(2.0, draws, rng) for _ in range(4000)], minlength=6)
    assert ranks[[0, 5]].sum() == 0
    assert stats.chisquare(ranks[1:5]).pvalue > 1e-4


def test_bins_hold_what_whole_ranks_allow() -> None:
    found = binned(np.arange(11), 10, 4)  # eleven ranks in four bins
    assert found.counts.tolist() == [3, 3, 3, 2]
    assert found.expected == pytest.approx(found.counts)
    assert found.ends[-1] == 1


def test_with_one_draw_the_ecdf_test_is_the_binomial_test() -> None:
    ranks = np.array([0] * 13 + [1] * 27)
    assert ecdf_p(ranks, 1) == pytest.approx(stats.binomtest(13, 40).pvalue, abs=4 * np.sqrt(0.04 / SIMULATIONS))


@pytest.mark.parametrize("test", [chi_square_p, ecdf_p])
@pytest.mark.parametrize(("n", "n_draws"), [(60, 99), (200, 1000)])
def test_uniform_ranks_fail_as_often_as_they_should(test, n: int, n_draws: int, rng: np.random.Generator) -> None:
    p_values = np.array([test(rng.integers(n_draws + 1, size=n), n_draws) for _ in range(400)])
    rate = np.mean(p_values <= 0.05)
    assert abs(rate - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400) + 0.01  # counts are whole, so that .05 is not met exactly


@pytest.mark.parametrize("spread", [(0.5, 0.5), (2.0, 2.0), (1.6, 1.0)])  # too narrow, too wide, shifted
def test_wrong_posteriors_are_seen(spread: tuple[float, float], rng: np.random.Generator) -> None:
    ranks = np.floor(rng.beta(*spread, size=300) * 1001).astype(np.int64)
    assert ecdf_p(ranks, 1000) < 0.001
    assert chi_square_p(ranks, 1000) < 0.01


def test_bands_hold_uniform_ranks_everywhere_at_once(rng: np.random.Generator) -> None:
    n, n_draws = 80, 199
    band = ecdf_band(n, n_draws)
    ranks = rng.integers(n_draws + 1, size=(2000, n, 1))
    ecdf = np.mean((ranks + 1) / (n_draws + 1) <= band.points + 1e-9, axis=1)
    is_inside = np.all((band.lower <= ecdf + 1e-9) & (ecdf <= band.upper + 1e-9), axis=1)
    assert is_inside.mean() == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000) + 0.01)


# --- power


def found_of(log_bayes_factor: np.ndarray) -> dict[str, np.ndarray]:
    """What is found about groups x people, from log Bayes factors."""
    return judged(log_likelihood(log_bayes_factor).sum(axis=-2))


def test_exceedance_agrees_with_quadrature(rng: np.random.Generator) -> None:
    factors = rng.normal(0.4, 1.5, size=(3, 12))
    for group, found in zip(factors, found_of(factors)[INTERVAL], strict=True):

        def density(f: float, group: np.ndarray = group) -> float:
            return float(np.prod(f * np.exp(group) + 1 - f))

        above, total = (integrate.quad(density, low, 1)[0] for low in (0.5, 0))
        assert found == pytest.approx(above / total, abs=1e-3)


def test_with_certain_evidence_exceedance_is_that_of_a_beta() -> None:
    for followers in range(11):
        factors = np.where(np.arange(10) < followers, 50.0, -50.0)
        assert found_of(factors[None])[INTERVAL][0] == pytest.approx(
            stats.beta.sf(0.5, 1 + followers, 11 - followers), abs=2e-3
        )


def certain_protected(followers: np.ndarray, size: int) -> np.ndarray:
    """Protected exceedance when it is known who follows what: a mean of f^k (1 - f)^(n - k) against one half^n."""
    free = special.betaln(1 + followers, 1 + size - followers)
    risk = special.expit(size * np.log(0.5) - free)
    return (1 - risk) * stats.beta.sf(0.5, 1 + followers, 1 + size - followers) + risk / 2


def test_protected_exceedance_is_that_of_a_comparison(rng: np.random.Generator) -> None:
    """What studies count by is what random-effects model selection gives, by other means."""
    for shift, n in ((0.0, 8), (0.6, 12), (1.5, 20)):
        factors = rng.normal(shift, 1.2, size=n)
        found = found_of(factors[None])
        sampled = random_effects(np.column_stack([np.zeros(n), factors]), rng)
        error = 4.5 * np.sqrt(0.25 / len(sampled.frequency))
        assert found[INTERVAL][0] == pytest.approx(sampled.exceedance[1], abs=error)
        assert found[PROTECTED][0] == pytest.approx(sampled.protected[1], abs=error)
        assert abs(found[PROTECTED][0] - 0.5) < abs(found[INTERVAL][0] - 0.5)


def test_five_people_who_agree_are_not_enough() -> None:
    """However sure each of them is: unprotected exceedance would be .98."""
    found = found_of(np.full((1, 5), 50.0))
    assert found[INTERVAL][0] == pytest.approx(1 - 0.5**6, abs=2e-3)
    assert found[PROTECTED][0] == pytest.approx(certain_protected(np.array(5), 5), abs=2e-3)
    assert found[PROTECTED][0] < RULES[PROTECTED] < found[INTERVAL][0]


def certain(n: int) -> dict[str, pd.DataFrame]:
    return {
        model: pd.DataFrame({"flat": np.full(n, 0.0 if model == "flat" else -50.0), "holmes": np.full(n, -25.0)})
        for model in ("flat", "holmes")
    }


def test_with_certain_evidence_power_is_binomial() -> None:
    table = power_table(certain(5), SEED, sizes=(10, 20), frequencies=(0.5, 0.8))
    assert list(table.columns) == list(power.POWER)
    assert set(zip(table["model"], table["against"], strict=True)) == {("holmes", "flat")}
    for row in table.itertuples():
        followers = np.arange(row.group_size + 1)
        exceedance = stats.beta.sf(0.5, 1 + followers, 1 + row.group_size - followers)
        by_rule = {INTERVAL: exceedance, PROTECTED: certain_protected(followers, row.group_size)}
        found = by_rule[row.rule] > RULES[row.rule]
        expected = stats.binom.pmf(followers, row.group_size, row.frequency) @ found
        assert row.power == pytest.approx(expected, abs=4 * np.sqrt(0.25 / power.GROUPS))
    # People who are all alike leave nothing uncertain. Were counting groups not taken out, the ratio would be 1.
    counted = 2 * 1.96 * np.sqrt(table["power"] * (1 - table["power"]) / power.GROUPS_OF_COHORT)
    assert (table["upper"] - table["lower"]).sum() < 0.5 * counted.sum()


def test_power_is_less_certain_if_fewer_people_were_simulated(rng: np.random.Generator) -> None:
    widths = []
    for n in (8, 200):
        evidence = {
            model: pd.DataFrame({"flat": np.zeros(n), "holmes": rng.normal(shift, 1.5, size=n)})
            for model, shift in (("flat", -0.7), ("holmes", 0.7))
        }
        table = power_table(evidence, SEED, sizes=(20,), frequencies=(0.8,))
        widths.append((table["upper"] - table["lower"]).mean())
    assert widths[0] > 1.5 * widths[1]


def test_a_model_that_nobody_was_fitted_with_has_no_power() -> None:
    evidence = certain(3)
    evidence["flat"] = evidence["flat"].iloc[:0]
    assert power_table(evidence, SEED).empty


@pytest.mark.parametrize(
    ("people", "measure", "has_interval"),
    [
        (2, correlation, False),
        (4, correlation, False),
        (4, rank_correlation, False),
        (5, correlation, True),
        (1, rmse, False),
        (2, rmse, True),
    ],
)
def test_a_handful_of_people_gives_no_interval(people: int, measure: Measure, has_interval: bool) -> None:
    truth, estimate = np.arange(people) + 1.0, np.array([1.0, 3.0, 2.0, 5.0, 4.0])[:people]
    found = bootstrapped(measure, truth, estimate, np.random.default_rng(0))
    assert np.isfinite(found.value)
    assert np.isfinite([found.lower, found.upper]).all() == has_interval
