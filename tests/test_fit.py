"""A cohort fitted: what the tables hold, and that they do not depend on who works, when, and in which order."""

import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import holmes_fit
from holmes_fit.fitting.cohort import Fits, fit, read_fits
from holmes_fit.fitting.tables import TREES, cue_names
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.identity import RESULTS_VERSION
from holmes_fit.settings.preset import load_preset
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import read_cohort
from tests.small_fits import NODES, OBSERVER, exact_preset, in_other_order, people, small_preset

SEED = 5
TABLES = ("fits.csv", "models.csv", "trials_fitted.csv", "trees.csv", "search.csv", "failures.csv")
MODELS = ("holmes", "flat", "rescorla_wagner", "bias")


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_preset(tmp_path_factory.mktemp("preset"))


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return people(3, seed=SEED)


@pytest.fixture(scope="module")
def fits(cohort: Cohort, preset: Path, tmp_path_factory: pytest.TempPathFactory) -> Fits:
    """Three people and four models, in this process."""
    folder = tmp_path_factory.mktemp("runs") / "one"
    return fit(cohort, MODELS, folder, preset=preset, seed=SEED, observer=OBSERVER, workers=1)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


# --- the same bytes, whoever works
def test_two_workers_give_the_same_bytes(cohort: Cohort, fits: Fits, preset: Path, tmp_path: Path) -> None:
    fit(cohort, MODELS, tmp_path / "two", preset=preset, seed=SEED, observer=OBSERVER, workers=2)
    assert contents(tmp_path / "two") == contents(fits.folder)


def test_the_order_of_people_changes_nothing(cohort: Cohort, fits: Fits, preset: Path, tmp_path: Path) -> None:
    turned = in_other_order(cohort)
    other = fit(turned, MODELS, tmp_path / "turned", preset=preset, seed=SEED, observer=OBSERVER, workers=1)
    assert turned.trials["subject"].unique().tolist() == cohort.trials["subject"].unique().tolist()[::-1]
    assert contents(other.folder) == contents(fits.folder)


def test_a_person_does_not_depend_on_the_others(cohort: Cohort, fits: Fits, preset: Path, tmp_path: Path) -> None:
    alone = people(1, seed=SEED)  # simulated people are the same whoever else there is
    one = fit(alone, MODELS, tmp_path / "alone", preset=preset, seed=SEED, observer=OBSERVER, workers=1)
    for name in TABLES:
        lines = (fits.folder / name).read_text().splitlines()
        assert (one.folder / name).read_text().splitlines() == [lines[0], *(row for row in lines if row[:3] == "s01")]


def test_another_seed_gives_other_numbers(cohort: Cohort, fits: Fits, preset: Path) -> None:
    other = fit(cohort, ("flat", "bias"), preset=preset, seed=SEED + 1, observer=OBSERVER, workers=1)
    values = [run.models.set_index(["model", "subject"])["log_likelihood"] for run in (fits, other)]
    assert (values[0]["flat"] != values[1]["flat"]).all()
    assert (values[0]["bias"] == values[1]["bias"]).all()


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same_bytes(
    cohort: Cohort, fits: Fits, preset: Path, tmp_path: Path, cluster: object
) -> None:
    victims = [nanny.pid for nanny in cluster.workers.values()]  # type: ignore[attr-defined]

    def kill_one(done: int, total: int) -> None:
        if done == 2:
            os.kill(victims[0], signal.SIGKILL)

    fit(
        cohort,
        MODELS,
        tmp_path / "dask",
        preset=preset,
        seed=SEED,
        observer=OBSERVER,
        dask=cluster.scheduler_address,  # type: ignore[attr-defined]
        progress=kill_one,
    )
    assert contents(tmp_path / "dask") == contents(fits.folder)


# --- what the tables hold
def test_every_person_model_and_parameter_has_a_row(fits: Fits) -> None:
    expected = [
        (f"s0{person}", model, parameter)
        for person in (1, 2, 3)
        for model, parameters in (
            ("holmes", ["alpha", "omega", "depth_scale", "beta", "lapse", "bias"]),
            ("flat", ["alpha", "omega", "beta", "lapse", "bias"]),
            ("rescorla_wagner", ["learning_rate", "beta", "lapse", "bias"]),
            ("bias", ["choice_probability"]),
        )
        for parameter in parameters
    ]
    found = fits.parameters
    assert list(found[["subject", "model", "parameter"]].itertuples(index=False, name=None)) == expected
    free = found[found["standing"] == "free"]
    assert (free["low"] <= free["lower"]).all()
    assert (free["lower"] < free["median"]).all()
    assert (free["median"] < free["upper"]).all()
    assert (free["upper"] <= free["high"]).all()
    assert free[["ml", "map", "mean", "sd", "mean_on_scale", "sd_on_scale", "prior_sd_on_scale"]].notna().all(axis=None)
    fixed = found[found["standing"] == "fixed"]
    assert set(fixed["parameter"]) == {"bias", "depth_scale"}
    assert fixed[["mean", "sd", "lower", "upper"]].isna().all(axis=None)


def test_the_criteria_follow_from_the_likelihood(cohort: Cohort, fits: Fits) -> None:
    table = fits.models
    answered = cohort.trials.groupby("subject")["choice"].count()
    assert table["n_answered"].tolist() == table["subject"].map(answered).tolist()
    assert (table["n_answered"] < table["n_trials"]).any()
    assert dict(zip(table["model"], table["n_parameters"], strict=True)) == {
        "holmes": 4,
        "flat": 4,
        "rescorla_wagner": 3,
        "bias": 1,
    }
    known = table[table["model"].isin(["bias", "rescorla_wagner"])]  # whose likelihood is exact
    assert np.allclose(known["aic"], 2 * known["n_parameters"] - 2 * known["log_likelihood"])
    assert np.allclose(known["bic"], np.log(known["n_answered"]) * known["n_parameters"] - 2 * known["log_likelihood"])
    assert table.loc[table["model"].isin(["flat", "holmes"]), ["aic", "bic"]].isna().all().all()
    assert np.allclose(table["pseudo_r2"], 1 + table["log_likelihood"] / (table["n_answered"] * np.log(2)))
    assert table["hit_rate"].between(0, 1).all()
    exact = table["model"].isin(["bias", "rescorla_wagner"])
    assert (table.loc[exact, ["batch_sd", "log_likelihood_error", "log_evidence_error"]] == 0).all(axis=None)
    assert (table.loc[~exact, "batch_sd"] > 0).all()


def test_log_probabilities_of_the_choices_add_up(fits: Fits) -> None:
    trials = fits.trials
    total = trials.groupby(["subject", "model"], sort=False)["log_p_chosen"].sum()
    expected = fits.models.set_index(["subject", "model"])["log_likelihood_map"]
    assert np.allclose(total, expected.loc[total.index], rtol=0, atol=1e-9)


def test_fitted_trials_line_up_with_the_data(cohort: Cohort, fits: Fits) -> None:
    trials = fits.trials
    for _, rows in trials.groupby("model"):
        own = rows.reset_index(drop=True)
        for name in ("subject", "restart", "trial", "choice", "outcome"):
            expected = cohort.trials[name].astype(own[name].dtype)
            pd.testing.assert_series_equal(own[name], expected, check_names=False)
    assert np.allclose(trials["prediction_error"], trials["outcome"] - trials["p_hat"])
    chosen = np.where(trials["choice"] == 1, trials["p_choice"], 1 - trials["p_choice"])
    answered = trials["choice"].notna()
    # Laplace's method gives the probability of a choice that was made, the other follows from the density before it.
    apart = np.abs(np.exp(trials["log_p_chosen"]) - chosen)[answered]
    exact = trials.loc[answered, "model"].isin(["rescorla_wagner", "bias"])
    assert apart[exact].max() < 1e-9
    assert apart.max() < 0.05
    assert trials.loc[~answered, "log_p_chosen"].isna().all()
    assert trials.loc[~answered, "p_hat"].notna().all()


def test_no_prediction_error_where_no_outcome_was_shown(preset: Path) -> None:
    cohort = people(1)
    hidden = cohort.trials["trial"] > 30
    trials = cohort.trials.assign(feedback=~hidden)
    unseen = build_cohort(trials, cohort.protocol)
    fitted = fit(unseen, ("bias",), preset=preset, workers=1).trials
    assert (fitted["prediction_error"].isna() == hidden.to_numpy()).all()


def test_trees_have_the_names_of_the_cues(fits: Fits) -> None:
    trees = fits.trees
    assert list(trees.columns) == [*TREES, *cue_names(load_protocol("conditioning"))]
    assert set(trees["model"]) == {"flat", "holmes"}
    for _, tree in trees.groupby(["subject", "model"]):
        nodes = tree.set_index("node")
        below = nodes[nodes["level"] > 0]
        assert (nodes.loc[below["parent"], "level"].to_numpy() == below["level"] - 1).all()
        assert tree["visits"].ge(tree["leaf_visits"]).all()
        assert tree.loc[tree["level"] == 0, "visits"].sum() <= 40 + 1e-9
        assert tree.loc[tree["level"] == 0, "visits"].sum() > 36  # less what is too small to be shown


def test_cues_have_readable_names() -> None:
    features = {"shape": {"levels": ["round", "square"], "copies": 2}, "rain": "binary", "node": {"copies": 2}}
    protocol = Protocol.model_validate({"name": "x", "features": features})
    expected = ("shape=round", "shape=square", "shape=round.2", "shape=square.2", "rain", "node_cue", "node.2")
    assert cue_names(protocol) == expected
    assert len(expected) == sum(feature.width for feature in protocol.features.values())


def test_the_search_says_where_every_start_ended(fits: Fits) -> None:
    search = fits.search
    assert set(search["goal"]) == {"ml", "map"}
    assert {"alpha", "omega", "learning_rate", "choice_probability"} <= set(search.columns)
    assert search.loc[search["model"] == "flat", ["alpha", "omega"]].notna().all(axis=None)
    assert search.loc[search["model"] == "flat", "learning_rate"].isna().all()


# --- the run folder
def test_the_run_needs_no_other_file(cohort: Cohort, fits: Fits) -> None:
    protocol = Protocol.model_validate_json((fits.folder / "protocol.json").read_text())
    assert protocol == cohort.protocol
    again = read_cohort(fits.folder / "trials.csv", protocol)
    for one, other in zip(cohort.learners, again.learners, strict=True):
        assert (one.subject, one.restart) == (other.subject, other.restart)
        assert np.array_equal(one.observations.cues, other.observations.cues)
        assert np.array_equal(one.choices, other.choices)
    assert (fits.folder / "subjects.csv").read_text().split() == ["subject", "s01", "s02", "s03"]
    assert (fits.folder / "exclusions.csv").read_text().startswith("subject,rule,")


def test_the_manifest_says_what_results_depend_on(fits: Fits) -> None:
    manifest = json.loads((fits.folder / "manifest.json").read_text())
    identity = manifest["identity"]
    assert identity["models"] == list(MODELS)
    assert identity["seed"] == SEED
    assert identity["observer"]["particles"] == 20
    assert identity["preset"]["parameters"]["alpha"]["nodes"] == NODES["alpha"]
    assert identity["preset"]["likelihood"]["replicates"] == 8
    assert len(identity["trials"]) == len(identity["protocol"]["sha256"]) == len(manifest["about"]["code"]) == 64
    assert identity["results"] == RESULTS_VERSION
    assert set(manifest["identity"]["packages"]) >= {"numpy", "scipy", "numba"}
    assert "a first look" in manifest["about"]["label"]
    assert fits.label == manifest["about"]["label"]


def test_a_run_is_read_again(fits: Fits) -> None:
    again = holmes_fit.read_fits(fits.folder)
    pd.testing.assert_frame_equal(again.parameters, fits.parameters)
    assert repr(again) == f"Fits(run=Run(root={fits.folder!r}))"
    with pytest.raises(holmes_fit.InputError, match="no such folder"):
        read_fits(fits.folder / "none")


def test_without_a_folder_the_run_is_temporary(preset: Path) -> None:
    fitted = holmes_fit.fit(people(1), ("bias",), preset=preset, workers=1)
    assert fitted.folder.parent == Path(tempfile.gettempdir())
    assert len(fitted.models) == 1


def test_progress_is_told(preset: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    for _ in range(2):
        fit(people(2), ("bias",), tmp_path / "run", preset=preset, workers=1, progress=lambda *now: told.append(now))
    assert told == [(0, 2), (1, 2), (2, 2), (2, 2)]


def test_records_are_reused_and_not_made_again(
    cohort: Cohort, preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"preset": preset, "observer": OBSERVER, "workers": 1}
    fit(cohort, ("bias",), tmp_path / "run", **options)  # type: ignore[arg-type]
    before = contents(tmp_path / "run")
    monkeypatch.setattr("holmes_fit.fitting.cohort.fit_person", None)
    fit(cohort, ("bias",), tmp_path / "run", **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "run") == before


# --- people with several learners, missed answers, fixed parameters
def test_all_problems_of_a_person_share_one_parameter_set(preset: Path) -> None:
    cohort = people(1, "shepard")
    n_restarts = len(cohort.learners)
    assert n_restarts > 1
    fitted = fit(cohort, ("flat", "rescorla_wagner"), preset=preset, observer=OBSERVER, workers=1)
    assert len(fitted.models) == 2
    assert not fitted.parameters.duplicated(["subject", "model", "parameter"]).any()
    assert fitted.trials.groupby(["subject", "model"])["restart"].nunique().tolist() == [n_restarts] * 2
    assert fitted.trees.groupby("subject")["restart"].nunique().tolist() == [n_restarts]
    # Restarts begin anew: before anything is seen, Rescorla–Wagner is at even odds.
    first = fitted.trials[fitted.trials["model"] == "rescorla_wagner"].groupby("restart").head(1)
    assert len(first) == n_restarts
    assert (first["p_hat"] == 0.5).all()


def test_missed_answers_drop_out_of_the_likelihood_and_stay_in_learning(preset: Path) -> None:
    whole = people(1, missed=0)
    trials = whole.trials.copy()
    trials.loc[10:19, "choice"] = pd.NA
    partly = build_cohort(trials, whole.protocol)
    options = {"preset": preset, "fix": {"learning_rate": 0.3, "beta": 2.0, "lapse": 0.1}, "workers": 1}
    one, other = (fit(cohort, ("rescorla_wagner",), **options) for cohort in (whole, partly))  # type: ignore[arg-type]
    assert (one.trials["p_hat"] == other.trials["p_hat"]).all()
    kept = [*range(10), *range(20, len(trials))]
    assert np.isclose(other.models["log_likelihood"].item(), one.trials["log_p_chosen"].iloc[kept].sum(), atol=1e-9)
    assert other.models["n_answered"].item() == one.models["n_answered"].item() - 10


def test_fixed_parameters_hold(preset: Path) -> None:
    fixed = {"lapse": 0.02, "omega": 0.4}
    fitted = fit(people(1), ("flat", "rescorla_wagner"), preset=preset, fix=fixed, observer=OBSERVER, workers=1)
    table = fitted.parameters.set_index(["model", "parameter"])
    for key in (("flat", "lapse"), ("flat", "omega"), ("rescorla_wagner", "lapse")):
        assert table.loc[key, "standing"] == "fixed"
        assert table.loc[key, "ml"] == table.loc[key, "map"] == fixed[key[1]]
    assert fitted.models.set_index("model")["n_parameters"].to_dict() == {"flat": 2, "rescorla_wagner": 2}


def test_a_tied_parameter_is_said_to_be_tied(tmp_path: Path, preset: Path) -> None:
    path = tmp_path / "tied.toml"
    path.write_text(f'base = "{preset.as_posix()}"\n[parameters.omega]\ntied = "alpha"\n')
    table = fit(people(1), ("flat",), preset=path, observer=OBSERVER, workers=1).parameters
    table = table.set_index("parameter")
    assert table.loc["omega", "standing"] == "tied to alpha"
    for name in ("ml", "map", "mean", "lower", "upper"):
        assert table.loc["omega", name] == table.loc["alpha", name]


# --- baselines that can be known exactly
def test_bias_finds_the_choice_rate() -> None:
    cohort = people(3, seed=SEED)
    fitted = fit(cohort, ("bias",), preset=exact_preset(), workers=1)
    rates = cohort.trials.groupby("subject", sort=False)["choice"].mean().to_numpy(dtype=float)
    assert np.allclose(fitted.parameters["ml"], np.clip(rates, 0.01, 0.99), atol=1e-3)
    n = fitted.models["n_answered"]
    rate = np.clip(rates, 0.01, 0.99)
    expected = n * (rates * np.log(rate) + (1 - rates) * np.log(1 - rate))
    assert np.allclose(fitted.models["log_likelihood"], expected, atol=1e-3)


def test_rescorla_wagner_is_no_worse_than_a_dense_grid() -> None:
    cohort = people(1, seed=SEED)
    fitted = fit(cohort, ("rescorla_wagner",), preset=exact_preset(), workers=1)
    learner = cohort.learners[0]
    seen = learner.observations
    answered = learner.choices >= 0
    cues = np.column_stack([seen.cues, np.ones(seen.n_trials)])  # the last one is constant
    best = -np.inf
    for rate in np.geomspace(0.001, 10, 200):
        weights, p_hat = np.zeros(seen.n_cues + 1), np.empty(seen.n_trials)
        for trial in range(seen.n_trials):
            p_hat[trial] = expit(weights @ cues[trial])
            weights += rate * (seen.outcome[trial] - p_hat[trial]) * cues[trial]
        beta, lapse = np.geomspace(0.1, 20, 80)[:, None, None], np.linspace(0.001, 0.5, 60)[None, :, None]
        chosen = choice_probability(p_hat[answered], beta, lapse, 0.0, learner.choices[answered])
        best = max(best, float(np.log(chosen).sum(axis=-1).max()))
    assert fitted.models["log_likelihood"].item() > best - 0.01


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"cohort": "pilot.csv"}, "cohort"),
        ({"models": None}, "models"),
        ({"models": 3}, "models"),
        ({"fix": ["lapse"]}, "fix"),
    ],
)
def test_arguments_of_another_kind_are_named(given: dict[str, Any], place: str, cohort: Cohort) -> None:
    with pytest.raises(holmes_fit.InputError, match=rf"^argument {place}: saw .*; allowed: "):
        fit(**{"cohort": cohort, "models": ["flat"], "workers": 1} | given)


def test_a_preset_from_python_is_checked() -> None:
    preset = load_preset("quick")
    broken = preset.model_copy(update={"parameters": {}})
    with pytest.raises(holmes_fit.InputError, match="a prior, as it is fitted"):
        fit(people(1), ("bias",), preset=broken)


def test_the_run_can_be_read_while_nobody_works_on_it(fits: Fits) -> None:
    run = read_run(fits.folder)
    assert run.holder() is None
    assert len(run.progress().done) == 12
