"""Posterior predictive checks: against plain counts and probabilities, and with models that are right and wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit, logit

from holmes_fit._support.errors import InputError
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.comparison.answers import FittedModel
from holmes_fit.groups.comparison.compare import compare
from holmes_fit.groups.comparison.predictive import (
    distance_p_value,
    individual_draws,
    predictive_checks,
    two_sided,
)
from holmes_fit.groups.comparison.predictive_cells import MEASURES, make_cells, targets
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.registry import response_of
from holmes_fit.models.tracing import trace_cohort
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.knowledge import PeopleDraws
from holmes_fit.settings.preset import load_preset, with_fixed
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.summaries import learning_curve
from tests.small_fits import OBSERVER, SMALL

SEED = 20264
RULE = {"beta": 2.0, "lapse": 0.05, "bias": 0.0}


def known(cohort: Cohort, **values: float) -> PeopleDraws:
    """Return everyone with the same parameters, known exactly."""
    subjects = tuple(cohort.subjects["subject"])
    return PeopleDraws(subjects, tuple(values), np.tile(list(values.values()), (len(subjects), 1, 1)))


def fitted(
    name: str, observer: Observer = OBSERVER, averaged: int = 1, rule: Mapping[str, float] = RULE
) -> FittedModel:
    rule = {} if MODELS[name].predicts_choices else rule
    return FittedModel(with_fixed(load_preset("quick"), rule, [MODELS[name]]).space(MODELS[name]), observer, averaged)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Three people who learn, fitted with two models; the observers of the filters are averaged ones."""
    folder = tmp_path_factory.mktemp("predictive")
    preset = folder / "small.toml"
    preset.write_text(SMALL.replace("[search]", '[likelihood]\nkind = "expected"\n\n[search]'))
    values = {"alpha": 0.5, "omega": 0.1, "beta": 3.0, "lapse": 0.02}
    cohort = simulate("conditioning", "flat", 3, values, missed=0.1, seed=SEED, observer=OBSERVER).cohort
    fit(cohort, ["flat", "bias"], folder / "run", preset=preset, observer=OBSERVER, workers=1)
    return read_run(folder / "run")


# ------------------------------------------------------------------------------------------------- cells
def test_cells_are_parts_blocks_and_conditions() -> None:
    cohort = simulate("shepard", "bias", 2, seed=SEED).cohort
    cells = make_cells(cohort)
    trials = cohort.trials
    number = {(cell.by, cell.condition, cell.label): at for at, cell in enumerate(cells.cells)}
    types = [f"type {name}" for name in ("I", "II", "III", "IV", "V", "VI")]
    assert [cell.label for cell in cells.cells if cell.by == "condition"] == types
    assert len(number) == 7 * 8 + 7 * 6 + 6
    inside = cells.of(np.arange(len(trials), dtype=np.intp)).astype(bool)
    condition, block = trials["condition"].to_numpy(), trials["block"].to_numpy()
    within = trials["problem_trial"].to_numpy()
    np.testing.assert_array_equal(inside[number["condition", "", "type IV"]], condition == "type IV")
    np.testing.assert_array_equal(inside[number["block", "", "6"]], block == 6)
    np.testing.assert_array_equal(inside[number["block", "type I", "2"]], (block == 2) & (condition == "type I"))
    np.testing.assert_array_equal(
        inside[number["trial", "type II", "13-24"]], (condition == "type II") & (within > 12) & (within <= 24)
    )


def test_phases_come_in_the_order_of_the_task_and_blocks_as_numbers() -> None:
    phases = [cell.label for cell in make_cells(simulate("shape_color", "bias", 1).cohort).cells if cell.by == "phase"]
    assert phases == ["training", "test"]
    cohort = simulate("conditioning", "bias", 1, seed=SEED).cohort
    trials = cohort.trials.assign(block=[str(10 - trial // 5) for trial in range(40)], condition="")
    trials.loc[0, "block"] = " NA"
    cells = make_cells(build_cohort(trials, cohort.protocol))
    blocks = [at for at, cell in enumerate(cells.cells) if cell.by == "block"]
    assert [cells.cells[at].label for at in blocks] == [str(number) for number in range(3, 11)]
    assert not any(cell.by == "condition" or cell.condition for cell in cells.cells)
    assert cells.of(np.arange(40, dtype=np.intp))[blocks].sum(axis=1).tolist() == [5.0] * 7 + [4.0]


def test_answers_without_feedback_are_scored_where_the_outcome_is_known() -> None:
    cohort = simulate("conditioning", "bias", 1, seed=SEED).cohort
    trials = cohort.trials.copy()
    trials.loc[10:19, "feedback"] = False
    trials.loc[15:19, "outcome"] = pd.NA
    trials.loc[[3, 12, 17], "choice"] = pd.NA
    silent = build_cohort(trials, cohort.protocol)
    correct, choice, no_feedback = targets(silent)
    outcome = cohort.trials["outcome"].to_numpy(dtype=np.int8)
    scored = np.setdiff1d(np.arange(40), [3, 12, *range(15, 20)])
    assert np.flatnonzero(correct != -1).tolist() == scored.tolist()
    np.testing.assert_array_equal(correct[scored], outcome[scored])
    assert np.flatnonzero(choice == 1).tolist() == np.setdiff1d(np.arange(40), [3, 12, 17]).tolist()
    assert np.flatnonzero(no_feedback != -1).tolist() == [10, 11, 13, 14]
    draws = {"bias": known(silent, choice_probability=0.9)}
    checks, summary = predictive_checks(silent, [fitted("bias")], draws, datasets=5, workers=1)
    assert summary["measure"].tolist() == list(MEASURES)
    unseen = checks[(checks["measure"] == "no_feedback_correct") & (checks["by"] == "trial")]
    assert unseen["n_answers"].tolist() == [4]
    assert unseen["label"].tolist() == ["11-15"]
    hits = (trials["choice"] == trials["outcome"])[[10, 11, 13, 14]].mean()
    assert unseen["observed"].tolist() == [hits]
    shown = predictive_checks(cohort, [fitted("bias")], draws, datasets=5, workers=1)[0]
    assert set(shown["measure"]) == {"correct", "choice"}


# ------------------------------------------------------------------------------------------------- numbers
def test_bins_are_those_of_plain_sums() -> None:
    """Observed shares as a learning curve has them; simulated ones as the probabilities of a plain delta rule say."""
    groups = {"control": 2, "patient": 1}
    cohort = simulate("weather_prediction", "rescorla_wagner", groups=groups, missed=0.1, seed=SEED).cohort
    rates = {"learning_rate": 0.2}
    checks, _ = predictive_checks(
        cohort, [fitted("rescorla_wagner")], {"rescorla_wagner": known(cohort, **rates)}, datasets=200, workers=1
    )
    own = checks[(checks["by"] == "block") & (checks["measure"] == "correct")]
    curve = learning_curve(cohort)  # by the file's own blocks
    assert own["group"].unique().tolist() == ["everyone", "control", "patient"]
    for group, part in curve.groupby("group"):
        mine = own[own["group"] == group]
        np.testing.assert_allclose(mine["observed"], part["accuracy"])
        assert mine["n_answers"].tolist() == part["answers"].tolist()
    # Block 2 of everyone, from nothing but the table.
    expected, variance, answers = 0.0, 0.0, 0
    for _, trials in cohort.trials.groupby("subject"):
        weights = np.zeros(5)
        for trial in trials.itertuples():
            cues = np.array([trial.x1, trial.x2, trial.x3, trial.x4, 1], dtype=float)
            p_hat = expit(weights @ cues)
            p_one = RULE["lapse"] / 2 + (1 - RULE["lapse"]) * expit(RULE["beta"] * logit(p_hat))
            weights += 0.2 * (trial.outcome - p_hat) * cues
            if str(trial.block) == "2" and not pd.isna(trial.choice):
                p_hit = p_one if trial.outcome == 1 else 1 - p_one
                expected, variance, answers = expected + p_hit, variance + p_hit * (1 - p_hit), answers + 1
    chosen = (checks["by"] == "block") & (checks["label"] == "2") & (checks["group"] == "everyone")
    (row,) = checks[chosen & (checks["measure"] == "correct")].itertuples()
    error = np.sqrt(variance / 200) / answers
    assert row.n_answers == answers
    assert abs(row.simulated - expected / answers) < 4 * error
    # The band is that of a sum of independent answers, which is nearly normal.
    assert row.upper - row.lower == pytest.approx(2 * 1.96 * np.sqrt(variance) / answers, rel=0.3)


def test_ratings_are_scored_by_how_far_they_are_towards_the_outcome() -> None:
    """Against the table and the trace of a plain delta rule; ratings scatter about what is predicted."""
    rule = {"precision": 12.0, "shift": 0.3, "slope": 1.0}
    values = {"learning_rate": 0.2, **rule}
    cohort = simulate("renewal", "rescorla_wagner", 2, values, missed=0.1, seed=SEED).cohort
    model, response = MODELS["rescorla_wagner"], response_of(cohort.protocol)
    space = with_fixed(load_preset("quick"), rule, [model], response).space(model, response)
    draws = {"rescorla_wagner": known(cohort, learning_rate=0.2)}
    checks, _ = predictive_checks(cohort, [FittedModel(space, OBSERVER)], draws, datasets=200, workers=1)
    p_hat = trace_cohort(cohort, "rescorla_wagner", {"learning_rate": 0.2}, replicates=1)["p_hat"]
    trials = cohort.trials.assign(expected=expit(logit(p_hat) + rule["shift"]))
    for phase in ("acquisition", "extinction"):
        scored = trials[(trials["phase"] == phase) & trials["choice"].notna() & trials["feedback"]]
        one = scored["outcome"] == 1
        observed, expected = (scored[name].where(one, 1 - scored[name]).mean() for name in ("choice", "expected"))
        (row,) = checks[(checks["label"] == phase) & (checks["measure"] == "correct")].itertuples()
        assert row.n_answers == len(scored)
        assert row.observed == pytest.approx(observed, abs=1e-5)
        assert row.simulated == pytest.approx(expected, abs=0.005 + 4 * 0.15 / np.sqrt(200 * len(scored)))


def test_p_values_are_ranks_among_all_cohorts() -> None:
    simulated = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]])
    np.testing.assert_allclose(two_sided(np.array([0.05, 0.5, 0.25]), simulated), [2 / 5, 1.0, 1.0])
    far = distance_p_value(np.array([0.9, 0.5]), simulated[:2])
    near = distance_p_value(np.array([0.25, 0.5]), simulated[:2])
    assert (far, near) == (1 / 5, 1.0)


def test_p_values_are_uniform_under_the_truth() -> None:
    """Cohorts from a filter with known parameters: p-values of the whole curve come as often as they say."""
    values = {"alpha": 0.5, "omega": 0.2}
    times, small, whole = 100, [], []
    for time in range(times):
        cohort = simulate("conditioning", "flat", 2, {**values, **RULE}, seed=SEED + time, observer=OBSERVER).cohort
        draws = {"flat": known(cohort, **values)}
        checks, summary = predictive_checks(cohort, [fitted("flat")], draws, datasets=39, seed=time, workers=1)
        whole.append(summary.set_index("measure").loc["correct", "p_value"])
        small.append((checks["p_value"] <= 0.1).mean())
    for level in (0.2, 0.5, 0.8):
        error = np.sqrt(level * (1 - level) / times)
        assert abs(np.mean(np.array(whole) <= level) - level) < 3 * error
    # Single bins have few possible values, so that small p-values are rarer than they may be.
    assert np.mean(small) < 0.1 + 3 * np.std(small, ddof=1) / np.sqrt(times)


def test_bands_hold_what_people_of_a_group_share() -> None:
    """Draws of one number belong together: the same parameters, mixed up between people, give a narrower band."""
    cohort = simulate("weather_prediction", "bias", 12, seed=SEED).cohort
    rng = np.random.default_rng(SEED)
    subjects, shared = tuple(cohort.subjects["subject"]), rng.uniform(0.2, 0.8, size=100)
    joint = np.repeat(shared[None, :, None], len(subjects), axis=0)
    apart = np.stack([rng.permutation(own) for own in joint])
    widths = []
    for values in (joint, apart):
        draws = {"bias": PeopleDraws(subjects, ("choice_probability",), values)}
        checks, _ = predictive_checks(cohort, [fitted("bias")], draws, datasets=100, workers=1)
        own = checks[(checks["measure"] == "choice") & (checks["by"] == "trial")]
        widths.append(float((own["upper"] - own["lower"]).mean()))
    assert widths[0] == pytest.approx(0.6, abs=0.15)  # that of the group, all but choosing
    assert widths[1] < 0.6 * widths[0]


def test_a_model_that_does_not_learn_is_found_out() -> None:
    cohort = simulate("weather_prediction", "rescorla_wagner", 4, {"beta": 3.0}, seed=SEED).cohort
    share = float(cohort.trials["choice"].mean())
    checks, summary = predictive_checks(
        cohort, [fitted("bias")], {"bias": known(cohort, choice_probability=share)}, datasets=60, workers=1
    )
    by_measure = summary.set_index("measure")
    assert by_measure.loc["correct", "p_value"] == pytest.approx(1 / 61)
    assert by_measure.loc["correct", "share_inside"] < 0.5
    assert by_measure.loc["correct", "rmse"] > 0.1
    late = checks[(checks["by"] == "block") & (checks["label"] == "4") & (checks["measure"] == "correct")]
    assert late["p_value"].tolist() == pytest.approx([2 / 61])
    assert (late["observed"] > late["upper"]).all()


# ------------------------------------------------------------------------------------------------- runs
def test_a_run_gives_back_what_it_has_fitted(run: Run) -> None:
    cohort = simulate(
        "conditioning",
        "flat",
        3,
        {"alpha": 0.5, "omega": 0.1, "beta": 3.0, "lapse": 0.02},
        missed=0.1,
        seed=SEED,
        observer=OBSERVER,
    ).cohort
    for read, made in zip(FittedRun(run).cohort.learners, cohort.learners, strict=True):
        np.testing.assert_array_equal(read.choices, made.choices)
        np.testing.assert_array_equal(read.observations.cues, made.observations.cues)
    draws = FittedRun(run).draws("flat")
    record = run.load_record(("flat", draws.subjects[1]))
    assert record is not None
    np.testing.assert_array_equal(draws.values[1], record.arrays["draws"])
    assert draws.parameters == ("alpha", "omega", "beta", "lapse")
    assert draws.without(draws.subjects[:2]).subjects == draws.subjects[2:]
    model = FittedModel.of(FittedRun(run), "flat")
    assert (model.space.fixed, model.space.tied, model.observer) == ({"bias": 0.0}, {}, OBSERVER)
    assert (model.averaged, FittedModel.of(FittedRun(run), "bias").averaged) == (8, 1)


def test_draws_under_the_group_are_those_of_its_file(tmp_path: Path) -> None:
    """As pooling writes them, in a group of ``pool_MODEL.nc``."""
    values = np.arange(12.0).reshape(2, 3, 2)
    individuals = xr.Dataset(
        {"value": (("subject", "sample", "parameter"), values)}, {"subject": ["7", "é"], "parameter": ["alpha", "beta"]}
    )
    individuals.to_netcdf(tmp_path / "pool_flat.nc", group="individuals", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "pool_flat.nc", group="individuals", engine="h5netcdf") as kept:
        draws = individual_draws(kept).without(["7"])
    assert (draws.subjects, draws.parameters) == (("é",), ("alpha", "beta"))
    np.testing.assert_array_equal(draws.values, values[1:])
    assert draws.some(0, 2) == [{"alpha": 6.0, "beta": 7.0}, {"alpha": 10.0, "beta": 11.0}]


def checks_of(run: Run, draws: dict[str, PeopleDraws], **how: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    fitted = FittedRun(run)
    return predictive_checks(fitted.cohort, [FittedModel.of(fitted, name) for name in draws], draws, **how)


def test_results_do_not_depend_on_workers_or_on_other_models(run: Run) -> None:
    draws = {name: FittedRun(run).draws(name) for name in ("flat", "bias")}
    done: list[tuple[int, int]] = []
    checks, summary = checks_of(run, draws, datasets=30, workers=1, progress=lambda *at: done.append(at))
    assert done == [(number, 6) for number in range(1, 7)]
    assert summary["n_bins"].eq(8).all()
    again, _ = checks_of(run, draws, datasets=30, workers=2)
    pd.testing.assert_frame_equal(checks, again)
    alone, _ = checks_of(run, {"bias": draws["bias"]}, datasets=30, workers=1)
    pd.testing.assert_frame_equal(checks[checks["model"] == "bias"].reset_index(drop=True), alone)
    other, _ = checks_of(run, draws, datasets=30, seed=1, workers=1)
    assert not checks["simulated"].equals(other["simulated"])
    pd.testing.assert_series_equal(checks["observed"], other["observed"])


def test_averaged_observers_vary_less() -> None:
    """The mean of many filters is nearly always the same, so that only the answers themselves differ."""
    cohort = simulate("conditioning", "flat", 1, seed=SEED).cohort
    certain = {"beta": 2000.0, "lapse": 1e-9, "bias": 0.0}  # answers follow the prediction strictly
    draws = {"flat": known(cohort, alpha=1.0, omega=0.5)}
    spread = {}
    for averaged in (1, 64):
        model = fitted("flat", Observer(particles=5), averaged, certain)
        checks, _ = predictive_checks(cohort, [model], draws, datasets=60, workers=1)
        own = checks[(checks["by"] == "trial") & (checks["measure"] == "choice")]
        spread[averaged] = float((own["upper"] - own["lower"]).mean())
    assert spread[64] < 0.7 * spread[1]


def test_what_cannot_be_used_is_named(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="argument datasets: saw 1; allowed") as caught:
        compare(run, datasets=1, workers=0)
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError, match="the file that a fit has written"):
        _ = FittedRun(Run(tmp_path, run.manifest)).cohort
