"""Regressions of individual estimates: against formulas, another implementation, and simulated groups."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.stats import t as student
from statsmodels.stats.meta_analysis import combine_effects

from holmes_fit.errors import InputError
from holmes_fit.pooling.second_level import LEAST_SAID, regress, regress_estimates, second_level, without_prior
from holmes_fit.runs import open_run

SEED = 20263
PRIOR_MEAN, PRIOR_SD = -0.7, 0.95


def estimates(
    measured: NDArray[np.float64], variance: NDArray[np.float64], parameter: str = "alpha", model: str = "holmes"
) -> pd.DataFrame:
    """Return fits of people about whom normal likelihoods say this: posteriors under a normal prior."""
    precision = 1 / variance + 1 / PRIOR_SD**2
    return pd.DataFrame(
        {
            "subject": [f"s{number:02d}" for number in range(len(measured))],
            "model": model,
            "parameter": parameter,
            "standing": "free",
            "scale": "log",
            "mean_on_scale": (measured / variance + PRIOR_MEAN / PRIOR_SD**2) / precision,
            "sd_on_scale": np.sqrt(1 / precision),
            "prior": f"lognormal:{float(np.exp(PRIOR_MEAN))!r},{PRIOR_SD}",
            "prior_sd_on_scale": PRIOR_SD,
            "low": np.exp(PRIOR_MEAN - 8),
            "high": np.exp(PRIOR_MEAN + 8),
        }
    )


def cohort(
    rng: np.random.Generator, effect: float, people: int = 30, between: float = 0.5
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Return the fits of two groups, and the columns of the design; some people's choices say much, others' little."""
    is_patient = np.arange(people) % 2
    variance = np.exp(rng.normal(np.log(0.5), 1.0, size=people))
    truth = -0.3 + effect * is_patient + between * rng.normal(size=people)
    fits = estimates(truth + np.sqrt(variance) * rng.normal(size=people), variance)
    return fits, np.column_stack([np.ones(people), is_patient])


def people_of(fits: pd.DataFrame, **covariates: object) -> pd.DataFrame:
    return pd.DataFrame({"subject": fits["subject"].unique(), **covariates})


def test_the_prior_is_taken_out_again() -> None:
    measured, variance = np.array([-2.0, 0.0, 1.5]), np.array([0.1, 0.5, 2.0])
    estimate, error = without_prior(estimates(measured, variance))
    np.testing.assert_allclose(estimate, measured, atol=1e-3)
    np.testing.assert_allclose(error, variance, rtol=1e-9)


def test_choices_that_say_nothing_count_for_nothing() -> None:
    fits = estimates(np.array([0.0, 0.0, 0.0]), np.array([0.5, 1e4, 0.5]))
    fits.loc[2, "sd_on_scale"] = 1.1 * PRIOR_SD  # wider than the prior: two bumps, or noise
    estimate, variance = without_prior(fits)
    assert np.isfinite(estimate).tolist() == [True, False, False]
    assert np.isfinite(variance).tolist() == [True, False, False]
    edge = estimates(np.zeros(1), PRIOR_SD**2 * np.array([1 / LEAST_SAID - 1 - 1e-6]))
    assert np.isfinite(without_prior(edge)[0]).all()


def test_intervals_of_an_effect_cover_it_and_plain_means_are_too_small() -> None:
    """At 95%, and the mean estimate is the true effect; the posterior means themselves miss a third of it."""
    rng = np.random.default_rng(SEED)
    effect, times = 0.6, 300
    found, naive, covered = np.empty(times), np.empty(times), np.empty(times, dtype=bool)
    for time in range(times):
        fits, columns = cohort(rng, effect)
        estimate, variance = without_prior(fits)
        says = np.isfinite(variance)
        result = regress(estimate[says], variance[says], columns[says])
        found[time] = result.estimate[1]
        covered[time] = result.lower[1] <= effect <= result.upper[1]
        naive[time] = sm.OLS(fits["mean_on_scale"].to_numpy(), columns).fit().params[1]
    error = found.std(ddof=1) / np.sqrt(times)
    assert abs(found.mean() - effect) < 3 * error
    assert abs(covered.mean() - 0.95) < 3 * np.sqrt(0.95 * 0.05 / times)
    assert naive.mean() + 5 * error < effect


def test_variance_between_people_is_that_of_another_implementation() -> None:
    rng = np.random.default_rng(SEED)
    variance = np.exp(rng.normal(-1, 0.7, size=25))
    estimate = rng.normal(0.4, np.sqrt(0.3 + variance))
    other = combine_effects(estimate, variance, method_re="iterated")
    result = regress(estimate, variance, np.ones((25, 1)))
    assert result.between == pytest.approx(other.tau2, rel=1e-4)
    assert result.estimate[0] == pytest.approx(other.mean_effect_re, rel=1e-5)
    same = regress(np.linspace(-0.01, 0.01, 25), variance, np.ones((25, 1)))
    assert same.between == 0.0


def test_errors_are_those_of_hc3_with_weights() -> None:
    """(X'WX)⁻¹ [Σ wᵢ² eᵢ² / (1 - hᵢ)² xᵢxᵢ'] (X'WX)⁻¹, with h the leverages of the weighted columns."""
    rng = np.random.default_rng(SEED)
    fits, columns = cohort(rng, 0.6, people=12)
    estimate, variance = without_prior(fits)
    result = regress(estimate, variance, columns)
    weight = 1 / (result.between + variance)
    bread = np.linalg.inv(columns.T @ np.diag(weight) @ columns)
    coefficients = bread @ columns.T @ (weight * estimate)
    residual = estimate - columns @ coefficients
    leverage = weight * np.einsum("ij,jk,ik->i", columns, bread, columns)
    meat = columns.T @ np.diag((weight * residual / (1 - leverage)) ** 2) @ columns
    error = np.sqrt(np.diag(bread @ meat @ bread))
    np.testing.assert_allclose(result.estimate, coefficients)
    np.testing.assert_allclose(result.standard_error, error)
    half = student.ppf(0.975, 10) * error
    np.testing.assert_allclose(result.lower, coefficients - half)
    np.testing.assert_allclose(result.upper, coefficients + half)
    np.testing.assert_allclose(result.p, 2 * student.sf(np.abs(coefficients / error), 10))


def test_holm_is_over_all_terms_but_intercepts() -> None:
    rng = np.random.default_rng(SEED)
    fits = pd.concat(
        [estimates(rng.normal(size=14), np.full(14, 0.3), name, model) for model in ("flat", "holmes") for name in "ab"]
    )
    people = people_of(fits, group=["control", "patient"] * 7, age=rng.normal(50, 10, size=14))
    table = regress_estimates(fits, people, ["a ~ group + age", "b ~ age"])
    assert table["term"].tolist() == 2 * ["Intercept", "group[T.patient]", "age", "Intercept", "age"]
    assert table["n_subjects"].eq(14).all()
    tested = table[table["term"] != "Intercept"]
    assert table.loc[table["term"] == "Intercept", "p_holm"].isna().all()
    # The smallest is multiplied by 6, the next by 5, and so on; none is smaller than the one before.
    ordered = tested.sort_values("p")
    by_hand = np.minimum(1, np.maximum.accumulate(ordered["p"].to_numpy() * np.arange(6, 0, -1)))
    np.testing.assert_allclose(ordered["p_holm"], by_hand)


def test_too_few_people_leave_the_row_empty() -> None:
    fits = estimates(np.zeros(6), np.array([0.5, 1e6, 1e6, 1e6, 1e6, 0.5]))
    table = regress_estimates(fits, people_of(fits, group=list("aaabbb")), ["alpha ~ group"])
    assert table["n_subjects"].tolist() == [2, 2]
    assert table[["estimate", "standard_error", "p", "p_holm"]].isna().all().all()


def test_one_person_alone_in_a_group_has_no_robust_error() -> None:
    rng = np.random.default_rng(SEED)
    fits = estimates(rng.normal(size=6), np.full(6, 0.4))
    table = regress_estimates(fits, people_of(fits, group=list("aaaaab")), ["alpha ~ group"])
    assert table["estimate"].notna().all()
    assert table[["standard_error", "p", "p_holm"]].isna().all().all()


def test_everything_that_cannot_be_used_is_named() -> None:
    fits = estimates(np.linspace(-1, 1, 6), np.full(6, 0.4))
    people = people_of(fits, group=list("aaabbb"), site="here", age=[30.0, 40.0, np.nan, 50.0, 60.0, 70.0])
    with pytest.raises(InputError, match="saw 'gamma'; allowed: a free parameter: alpha") as caught:
        regress_estimates(fits, people, ["gamma ~ group", "delta ~ group"])
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError, match="covariate site: saw 'here' for everyone"):
        regress_estimates(fits, people, ["alpha ~ site"])
    with pytest.raises(InputError, match="covariate age: saw no value for 1 of 6 people"):
        regress_estimates(fits, people, ["alpha ~ age"])
    with pytest.raises(InputError, match=r"covariate grup: .*Did you mean 'group'"):
        regress_estimates(fits, people, ["alpha ~ grup"])
    with pytest.raises(InputError, match="a second formula for alpha"):
        regress_estimates(fits, people, ["alpha ~ group", "alpha ~ age"])


def test_a_run_is_read_and_people_can_be_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    numbered = [estimates(rng.normal(size=9), np.full(9, 0.3), model=model) for model in ("flat", "holmes")]
    fits = pd.concat(numbered, ignore_index=True)
    fits["subject"] = fits["subject"].str.removeprefix("s")  # names that look like numbers
    people = people_of(fits, group=list("ababababa"))
    with open_run(tmp_path / "run", identity={"kind": "fit"}, about={}, keys=[]) as run:
        run.write_table("fits.csv", fits)
        run.write_table("subjects.csv", people)
        everyone = second_level(run, ["alpha ~ group"])
        pd.testing.assert_frame_equal(everyone, regress_estimates(fits, people, ["alpha ~ group"]))
        fewer = second_level(run, ["alpha ~ group"], models=["holmes"], leave_out=["03"])
        assert fewer["model"].unique().tolist() == ["holmes"]
        assert fewer["n_subjects"].tolist() == [8, 8]
        with pytest.raises(InputError, match=r"saw 'bias'; allowed: a model of the run: flat, holmes") as caught:
            second_level(run, ["alpha ~ group"], models=["bias"], leave_out=["nobody"])
        assert len(caught.value.problems) == 2
