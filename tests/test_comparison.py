"""Comparisons: frequencies, exceedance and the omnibus risk against exact sums, and what a run folder gets."""

import itertools
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from holmes_fit import simulate
from holmes_fit._support.errors import InputError
from holmes_fit._support.numbers import probability
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.comparison.compare import _chosen, compare
from holmes_fit.groups.comparison.omnibus import RandomEffects, frequencies_by_group, omnibus_risk
from holmes_fit.groups.comparison.tables import _mixture_columns
from holmes_fit.groups.comparison.words import in_words
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.models.registry import MODELS
from holmes_fit.runs.folder import Run, read_run

SEED = 20263
RNG = np.random.default_rng(SEED)
DRAWS = 4000


def log_evidence_of_counts(evidence: NDArray[np.float64]) -> float:
    """Return log p(choices | Dirichlet(1) frequencies) exactly: a sum over all ways to divide people over models.

    With ``n`` people in each model, the mean of ``f_1^n_1 ... f_K^n_K`` over the simplex is known.
    """
    people, models = evidence.shape
    terms = []
    for assignment in itertools.product(range(models), repeat=people):
        counts = np.bincount(assignment, minlength=models)
        log_mean = gammaln(models) + gammaln(counts + 1).sum() - gammaln(people + models)
        terms.append(evidence[np.arange(people), assignment].sum() + log_mean)
    return float(logsumexp(terms))


def exact_risk(evidence: NDArray[np.float64]) -> float:
    equal = float((logsumexp(evidence, axis=1) - np.log(evidence.shape[1])).sum())
    return float(1 / (1 + np.exp(log_evidence_of_counts(evidence) - equal)))


def sampled(evidence: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return evidences as draws, and draws of the frequencies of everyone."""
    repeated = np.repeat(evidence[None], DRAWS, axis=0)
    start = np.full((DRAWS, evidence.shape[1]), 1 / evidence.shape[1])
    everyone = np.zeros(len(evidence), dtype=np.intp)
    return repeated, frequencies_by_group(repeated, start, everyone, 1, RNG)[:, 0]


@pytest.mark.parametrize(
    "evidence",
    [
        RNG.normal(0.0, 0.5, size=(8, 2)),  # nobody can tell
        RNG.normal([0.0, 2.0], 1.0, size=(9, 2)),  # the second model is better
        RNG.normal([0.0, 1.5, -1.0], 1.0, size=(7, 3)),
    ],
    ids=["even", "second", "three"],
)
def test_the_omnibus_risk_equals_a_sum_over_all_assignments(evidence: NDArray[np.float64]) -> None:
    repeated, frequency = sampled(evidence)
    risks = [
        omnibus_risk(part, share, RNG)
        for part, share in zip(np.split(repeated, 20), np.split(frequency, 20), strict=True)
    ]
    error = np.std(risks, ddof=1) / np.sqrt(20)
    assert np.mean(risks) == pytest.approx(exact_risk(evidence), abs=4.5 * error + 1e-4)


def test_protected_exceedance_equals_quadrature() -> None:
    evidence = RNG.normal([0.0, 1.0], 1.2, size=(10, 2))
    grid = (np.arange(4000) + 0.5) / 4000
    log_mass = np.logaddexp(np.log1p(-grid)[:, None] + evidence[:, 0], np.log(grid)[:, None] + evidence[:, 1]).sum(
        axis=1
    )
    above_half = np.exp(logsumexp(log_mass[grid > 0.5]) - logsumexp(log_mass))
    equal = (logsumexp(evidence, axis=1) - np.log(2)).sum()
    risk = 1 / (1 + np.exp(logsumexp(log_mass) - np.log(len(grid)) - equal))
    wanted = (1 - risk) * above_half + risk / 2

    repeated, frequency = sampled(evidence)
    found = RandomEffects.of(repeated, frequency, RNG).protected
    assert found.sum() == pytest.approx(1)
    # The share of draws has a binomial error; that of the risk is smaller by far.
    assert found[1] == pytest.approx(wanted, abs=4.5 * np.sqrt(0.25 / DRAWS))


def test_frequencies_by_group_are_those_of_each_group_alone() -> None:
    evidence = np.concatenate([RNG.normal([0.0, 1.5], 0.8, size=(9, 2)), RNG.normal([0.0, -1.0], 0.8, size=(7, 2))])
    group_of = np.repeat([0, 1], [9, 7])
    repeated = np.repeat(evidence[None], DRAWS, axis=0)
    found = frequencies_by_group(repeated, np.full((DRAWS, 2), 0.5), group_of, 2, RNG)[:, :, 1]
    grid = (np.arange(4000) + 0.5) / 4000
    for group in (0, 1):
        own = evidence[group_of == group]
        log_mass = np.logaddexp(np.log1p(-grid)[:, None] + own[:, 0], np.log(grid)[:, None] + own[:, 1]).sum(axis=1)
        mass = np.exp(log_mass - logsumexp(log_mass))
        mean, sd = mass @ grid, np.sqrt(mass @ grid**2 - (mass @ grid) ** 2)
        assert found[:, group].mean() == pytest.approx(mean, abs=4.5 * sd / np.sqrt(DRAWS))
        assert found[:, group].std() == pytest.approx(sd, rel=4.5 / np.sqrt(DRAWS))


# --------------------------------------------------------------------------------------------------------- a run
@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six people who learn, in two groups, with two models that take no time."""
    cohort = simulate("weather_prediction", "rescorla_wagner", groups={"old": 3, "young": 3}, seed=SEED).cohort
    folder = tmp_path_factory.mktemp("comparison") / "run"
    fit(cohort, ["bias", "rescorla_wagner"], folder, preset="quick", workers=1)
    return read_run(folder)


@pytest.mark.slow
def test_a_run_is_compared_and_gets_its_tables(fitted: Run) -> None:
    sampling = Sampling(chains=2, tune=200, draws=200, seed=SEED, cores=1)
    models = fitted.read_table("models.csv", ("subject", "model", "warning"))
    models["warning"] = ["few answers (9)", "noisy likelihood: batch SD 2 nats", *[""] * (len(models) - 2)]
    fitted.write_table("models.csv", models)
    fitted.path("stamps/fit.json").unlink()  # it says that the table is as fit wrote it
    found = compare(fitted, sampling=sampling, datasets=20, workers=1)
    table = fitted.read_table("comparison.csv", ("model", "warning"))
    assert list(table["model"]) == ["rescorla_wagner", "bias"]
    assert table["frequency"].sum() == pytest.approx(1)
    assert table["over_bias"].iloc[0] > 10
    assert table["loso_difference"].max() == 0
    assert table["loso"].iloc[0] == pytest.approx(table["loso"].iloc[1] + -table["loso_difference"].iloc[1])
    for _, row in table.iterrows():
        own = models[models["model"] == row["model"]]
        assert row["noisy"] == own["warning"].str.startswith("noisy").sum()
        assert row["log_evidence"] == pytest.approx(own["log_evidence"].sum())
        assert row["bic"] == pytest.approx(own["bic"].sum())
    people = fitted.read_table("model_probabilities.csv", ("subject", "group", "model", "warning"))
    np.testing.assert_allclose(people.groupby("subject")["probability"].sum(), 1)
    assert set(people["group"]) == {"old", "young"}
    frequencies = fitted.read_table("frequencies.csv", ("group", "model"))
    assert list(frequencies["group"].unique()) == ["everyone", "old", "young"]
    np.testing.assert_allclose(frequencies.groupby("group")["mean"].sum(), 1)
    differences = fitted.read_table("frequency_differences.csv", ("model", "above", "below"))
    assert list(differences["above"] + differences["below"]) == ["youngold", "youngold"]
    sensitivity = fitted.read_table("prior_sensitivity.csv", ("model",)).query("prior_width == 1").set_index("model")
    by_model = table.set_index("model")["log_evidence"]
    assert dict(sensitivity["log_evidence"]) == pytest.approx(dict(by_model), abs=0.01)  # the priors of the fit
    assert len(fitted.read_table("predictive.csv")) > 10
    assert fitted.path("mixture.nc").exists()
    assert repr(found) == "<Comparison: bias, rescorla_wagner, 6 people>"
    words = in_words(found)
    first = table.iloc[0]
    start = "" if first["protected_exceedance"] > 0.95 else "no model stands out: "
    start = start if not 0.75 < first["protected_exceedance"] <= 0.95 else "rescorla_wagner is favoured, though not"
    assert words.startswith(f"Among bias and rescorla_wagner, {start or 'rescorla_wagner describes an estimated '}")
    ahead = f"Its evidence summed over people is {table['log_evidence'].diff().abs().iloc[1]:.1f} ± "
    assert (
        f"{ahead}{np.hypot(*table['log_evidence_error']):.1f} nats above that of bias, the best of the others." in words
    )
    assert fitted.read_table("families.csv")["family"].tolist()[:2] == ["heuristic", "error-driven"]
    first, evidence = table.iloc[0], people.pivot(index="subject", columns="model", values="log_evidence")
    likeliest = people.pivot(index="subject", columns="model", values="probability").idxmax(axis=1)
    assert first["likeliest_for"] == (likeliest == "rescorla_wagner").sum()
    assert first["most_evidence_for"] == (evidence.idxmax(axis=1) == "rescorla_wagner").sum()
    assert (
        "By posterior probability in the mixture, which knows the group, it is the likeliest model of "
        f"{first['likeliest_for']:.0f} of 6 people; for "
    ) in words
    assert f" is above 0.95. By their own evidence alone, it is that of {first['most_evidence_for']:.0f}. " in words
    assert f"with probability {probability(first['exceedance'], found.mixture.diagnostics.ess_bulk)}, or" in words
    assert "1.000" not in words.partition("\n")[0]
    assert first["over_bias_error"] == pytest.approx(np.hypot(*table["log_evidence_error"]))
    assert "young" in words
    assert "With priors half and twice as wide, rescorla_wagner is still the most frequent by people's own" in words


@pytest.mark.slow
def test_what_has_not_changed_is_neither_sampled_nor_simulated_again(
    fitted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = Sampling(chains=2, tune=100, draws=100, seed=SEED + 1, cores=1)
    first = compare(fitted, sampling=sampling, datasets=20)
    before = {path.name: path.read_bytes() for path in fitted.root.glob("*.csv")}
    counted: list[object] = []
    module = import_module("holmes_fit.groups.comparison.compare")
    simulating = module.predictive_checks
    monkeypatch.setattr(
        module, "predictive_checks", lambda *given, **options: counted.append(1) or simulating(*given, **options)
    )
    again = compare(fitted, sampling=sampling, datasets=20, workers=1)
    assert (first.mixture.is_new, again.mixture.is_new, counted) == (True, False, [])
    assert {path.name: path.read_bytes() for path in fitted.root.glob("*.csv")} == before
    pd.testing.assert_frame_equal(again.checks, first.checks)
    pd.testing.assert_frame_equal(again.check_summary, first.check_summary)
    more = compare(fitted, sampling=sampling, datasets=21)
    assert (more.mixture.is_new, len(counted)) == (False, 1)
    other = compare(fitted, sampling=replace(sampling, seed=SEED + 2), datasets=21)
    assert (other.mixture.is_new, len(counted)) == (True, 2)


def test_likeliest_and_most_evidence_are_told_apart() -> None:
    """Someone whose own evidence is for one model can follow the other by all that the group says."""
    lattices = [SimpleNamespace(log_evidence=np.array(values)) for values in ([0.0, -1.0, 0.0], [-3.0, -0.5, -4.0])]
    mixture = SimpleNamespace(
        models=("flat", "holmes"), lattices=lattices, probability=np.array([[0.9, 0.1], [0.7, 0.3], [0.9, 0.1]])
    )
    everyone = np.tile([0.8, 0.2], (10, 1))
    shares = SimpleNamespace(frequency=everyone, exceedance=np.array([1.0, 0.0]), protected=np.array([0.9, 0.1]))
    columns = _mixture_columns(SimpleNamespace(mixture=mixture, shares=shares), "flat")  # type: ignore[arg-type]
    assert (columns["likeliest_for"], columns["most_evidence_for"]) == (3, 2)


def test_baselines_compete_unless_they_are_left_out() -> None:
    fitted = ("flat", "holmes", "rescorla_wagner", "bias")
    assert _chosen(None, fitted) == list(fitted)
    assert _chosen(["holmes", "flat"], fitted) == ["holmes", "flat"]


def test_a_model_that_is_not_known_here_is_named(fitted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may come from a program that has added a model of its own."""
    monkeypatch.delitem(MODELS, "bias")
    with pytest.raises(InputError, match="argument model: saw 'bias'; allowed: flat, "):
        compare(fitted)


def test_what_cannot_be_compared_is_named(fitted: Run) -> None:
    everyone = sorted({key[1] for key in fitted.manifest.keys})
    with pytest.raises(InputError, match="models of the run: bias, rescorla_wagner"):
        compare(fitted, ["flat", "holmes"])
    with pytest.raises(InputError, match="at least two models to compare"):
        compare(fitted, "bias")
    with pytest.raises(InputError, match="saw 'nobody'; allowed: someone who was fitted"):
        compare(fitted, leave_out="nobody")
    with pytest.raises(InputError, match="a covariate of the run: group"):
        compare(fitted, by="groop")
    with pytest.raises(InputError, match="saw only old; allowed: at least two groups with people in them"):
        compare(fitted, by="group", leave_out=everyone[3:])
    with pytest.raises(InputError, match="saw 2 people; allowed: at least 3 people"):
        compare(fitted, leave_out=everyone[2:])
    with pytest.raises(InputError, match="saw one person"):
        compare(fitted, leave_out=everyone[1:])
