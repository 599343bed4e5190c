"""Recovery studies: what the tables hold, that it agrees with the truth within chance, and going on after a stop."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy import special, stats

import holmes_fit as hf
from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.fitting import cohort as fitting_cohort
from holmes_fit.fitting.cohort import fit, read_fits
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit, fit_person
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS as ALL_MODELS
from holmes_fit.models.registry import LatentCauseModel, descriptions
from holmes_fit.models.tracing import learner_key
from holmes_fit.reporting.identification import strength
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.style import use_style
from holmes_fit.runs.described import ABOUT
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.recovery import figures, findings
from holmes_fit.studies.recovery.choosing import CONFUSION, MODEL_RECOVERY
from holmes_fit.studies.recovery.estimates import ERRORS, NO_TEST, PEOPLE, RECOVERY, SBC, SUMMARY, TOO_FEW, measure_of
from holmes_fit.studies.recovery.findings import in_words
from holmes_fit.studies.recovery.people import Generated, draw_truths, follows_prior, simulate_people
from holmes_fit.studies.recovery.power import POWER, RULES
from holmes_fit.studies.recovery.results import Recovery, read_recovery
from holmes_fit.studies.recovery.setup import set_up_recovery
from holmes_fit.studies.recovery.study import recover
from holmes_fit.studies.statistics import Estimate
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.protocols.catalogue import load_protocol
from tests.small_fits import OBSERVER, people, small_preset
from tests.small_recovery import MODELS, exact_preset_file, with_short_searches, without_figures, without_pymc

SEED = 12
PEOPLE_OF_A_MODEL = 20
TABLES = {
    "recovery_people.csv": PEOPLE,
    "recovery.csv": RECOVERY,
    "error_correlations.csv": ERRORS,
    "confusion.csv": CONFUSION,
    "model_recovery.csv": MODEL_RECOVERY,
    "power.csv": POWER,
    "sbc.csv": SBC,
    "sbc_summary.csv": SUMMARY,
}


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exact_preset_file(tmp_path_factory.mktemp("preset"))


@pytest.fixture(scope="module")
def study(preset: Path, tmp_path_factory: pytest.TempPathFactory) -> Recovery:
    """Two models whose likelihoods are exact, truths from the fitting prior."""
    out = tmp_path_factory.mktemp("recovery") / "study"
    options = {"models": MODELS, "subjects": PEOPLE_OF_A_MODEL, "preset": preset, "workers": 1}
    with pytest.MonkeyPatch.context() as patch:
        with_short_searches(patch)
        without_pymc(patch)
        return recover("conditioning", out=out, seed=SEED, **options)  # type: ignore[arg-type]


@pytest.fixture
def light(study: Recovery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out of a study what another test looks at."""
    with_short_searches(monkeypatch)
    without_figures(monkeypatch)


@pytest.fixture
def no_pymc(light: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return without_pymc(monkeypatch)


# --- a small recovery, judged by its own Monte Carlo error
def free_parameters(study: Recovery) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (model, parameter), own in study.people.groupby(["model", "parameter"], sort=False):
        yield str(model), str(parameter), own


def test_posterior_means_are_right_on_average(study: Recovery) -> None:
    for _, _, own in free_parameters(study):
        error = own["mean_on_scale"] - own["truth_on_scale"]
        assert abs(error.mean()) < 4 * error.std(ddof=1) / np.sqrt(len(own))


def test_posteriors_are_as_wide_as_the_errors_are(study: Recovery) -> None:
    for _, _, own in free_parameters(study):
        error = (own["mean_on_scale"] - own["truth_on_scale"]).to_numpy()
        excess = error**2 - own["sd_on_scale"].to_numpy() ** 2
        assert abs(excess.mean()) < 4 * excess.std(ddof=1) / np.sqrt(len(own))


def test_intervals_hold_the_truth_as_often_as_they_say(study: Recovery) -> None:
    low, high = stats.binom.interval(0.9999, PEOPLE_OF_A_MODEL, 0.95)
    for model, parameter, own in free_parameters(study):
        assert low <= own["covered"].sum() <= high
        assert measure_of(study.parameters, model, parameter, "coverage").value == own["covered"].mean()


def test_ranks_are_uniform(study: Recovery) -> None:
    summary = study.sbc_summary
    assert (summary["n"] == PEOPLE_OF_A_MODEL).all()
    assert (summary["verdict"] == "passes").all(), summary


def test_a_choice_rate_is_recovered_as_well_as_quadrature_does(study: Recovery, preset: Path) -> None:
    """How many answers are 1 is all there is to know, so that posteriors are sums over a fine grid of rates."""
    (axis,) = load_preset(preset).space(ALL_MODELS["bias"]).free
    grid = axis.low + (np.arange(4000) + 0.5) / 4000 * (axis.high - axis.low)
    log_prior = stats.norm.logpdf(grid, 0, 1.5)
    answers = study.fits("bias").trials.query("model == 'bias'").groupby("subject", sort=False)["choice"]
    ones, n = answers.sum().to_numpy()[:, None], answers.count().to_numpy()[:, None]
    mass = special.softmax(log_prior + ones * special.log_expit(grid) + (n - ones) * special.log_expit(-grid), axis=1)
    mean, square = mass @ grid, mass @ grid**2
    prior = special.softmax(log_prior)
    people = study.people.query("model == 'bias'")
    # The lattice has 31 cells, whose width is small against everyone's posterior.
    assert axis.spacing < np.sqrt(square - mean**2).min()
    np.testing.assert_allclose(people["mean_on_scale"], mean, atol=0.05 * axis.spacing)  # a cell is .3
    removed = 1 - (square - mean**2).mean() / (prior @ grid**2 - (prior @ grid) ** 2)
    found = measure_of(study.parameters, "bias", "choice_probability", "variance_removed")
    assert found.value == pytest.approx(removed, abs=0.005)
    correlation = measure_of(study.parameters, "bias", "choice_probability", "correlation")
    assert correlation.value == pytest.approx(np.corrcoef(people["truth_on_scale"], mean)[0, 1], abs=0.005)
    assert correlation.lower < correlation.value < correlation.upper


def test_the_right_model_wins_over_all_people(study: Recovery) -> None:
    table = study.model_recovery
    wrong = table[(table["criterion"] == "evidence") & (table["truth"] != table["model"])]
    assert len(wrong) == 2
    assert (wrong["difference_upper"] < 0).all()
    models = study.fits("bias").models.pivot(index="subject", columns="model", values="log_evidence")
    row = wrong[wrong["truth"] == "bias"].iloc[0]
    assert row["total"] == pytest.approx(models["rescorla_wagner"].sum())
    assert row["difference"] == pytest.approx((models["rescorla_wagner"] - models["bias"]).sum())


# --- what the tables hold
def test_all_tables_have_their_columns(study: Recovery) -> None:
    for name, columns in TABLES.items():
        assert (study.folder / name).read_text().splitlines()[0].split(",") == list(columns)
    assert list(study.truth.columns)[:5] == ["subject", "model", "parameter", "value", "on_scale"]
    assert study.models == MODELS
    assert set(study.power["model"]) == {"bias"}
    assert len(study.error_correlations) == 4  # learning rate and beta, by estimator


def test_people_have_their_truth_and_their_estimates(study: Recovery) -> None:
    table = study.people
    assert len(table) == PEOPLE_OF_A_MODEL * 3
    truth = study.truth.set_index(["subject", "parameter"])
    keys = pd.MultiIndex.from_frame(table[["subject", "parameter"]])
    assert (table["truth"].to_numpy() == truth.loc[keys, "value"].to_numpy()).all()
    assert (table["truth_on_scale"].to_numpy() == truth.loc[keys, "on_scale"].to_numpy()).all()
    for model in MODELS:
        own = table[table["model"] == model].set_index(["subject", "parameter"])
        fits = study.fits(model).parameters
        fits = fits[fits["model"] == model].set_index(["subject", "parameter"]).loc[own.index]
        for name in ("ml", "map", "mean", "lower", "upper", "mean_on_scale", "sd_on_scale", "at_bound"):
            assert (own[name] == fits[name]).all(), name
    rates = table[table["parameter"] == "choice_probability"]
    assert np.allclose(rates["ml_on_scale"], np.log(rates["ml"] / (1 - rates["ml"])))
    # The stand-in for pooling leaves people as they are alone, but for the rounding of their lattices.
    assert np.allclose(table["pooled_on_scale"], table["mean_on_scale"], atol=1e-3)


def test_measures_follow_from_the_people(study: Recovery) -> None:
    for model, parameter, own in free_parameters(study):
        for estimator in ("ml", "map", "mean", "pooled"):
            on_scale, natural = own[f"{estimator}_on_scale"], own[estimator]
            expected = {
                "correlation": stats.pearsonr(on_scale, own["truth_on_scale"]).statistic,
                "rank_correlation": stats.spearmanr(on_scale, own["truth_on_scale"]).statistic,
                "bias": (on_scale - own["truth_on_scale"]).mean(),
                "rmse_natural": np.sqrt(((natural - own["truth"]) ** 2).mean()),
            }
            for measure, value in expected.items():
                found = measure_of(study.parameters, model, parameter, measure, estimator)
                assert found.value == pytest.approx(value)
                assert found.lower < found.upper
        removed = measure_of(study.parameters, model, parameter, "variance_removed").value
        assert removed == pytest.approx(1 - (own["sd_on_scale"] ** 2).mean() / own["prior_sd_on_scale"].iloc[0] ** 2)
        at_bound = measure_of(study.parameters, model, parameter, "at_bound", "ml").value
        assert at_bound == (own["at_bound"] != "").mean()


def test_errors_that_go_together(study: Recovery) -> None:
    people = study.people[study.people["model"] == "rescorla_wagner"]
    errors = (people["mean_on_scale"] - people["truth_on_scale"]).groupby(people["parameter"]).apply(np.array)
    found = study.error_correlations.set_index("estimator").loc["mean"]
    assert (found["parameter_a"], found["parameter_b"]) == ("learning_rate", "beta")
    assert found["correlation"] == pytest.approx(np.corrcoef(errors["learning_rate"], errors["beta"])[0, 1])


def test_confusion_counts_who_was_chosen(study: Recovery) -> None:
    confusion = study.confusion.set_index(["criterion", "truth", "chosen"]).sort_index()
    assert (confusion.groupby(["criterion", "truth"])["count"].sum() == PEOPLE_OF_A_MODEL).all()
    assert confusion.groupby(["criterion", "chosen"])["inversion"].sum().to_numpy() == pytest.approx(1.0)
    models = study.fits("bias").models.pivot(index="subject", columns="model", values="log_evidence")
    expected = (models["bias"] > models["rescorla_wagner"]).sum()
    assert confusion.loc[("evidence", "bias", "bias"), "count"] == expected
    shares = confusion["share"]["evidence"]
    inverted = shares["bias", "bias"] / (shares["bias", "bias"] + shares["rescorla_wagner", "bias"])
    assert confusion.loc[("evidence", "bias", "bias"), "inversion"] == pytest.approx(inverted)
    # The stand-in for the mixture goes by the evidence.
    assert (confusion.loc["pooled", "count"] == confusion.loc["evidence", "count"]).all()


def test_figures_are_drawn(study: Recovery) -> None:
    names = {path.stem for path in study.figures}
    expected = {"estimates_bias", "estimates_rescorla_wagner", "sbc_bias", "sbc_rescorla_wagner"}
    assert names == expected | {"recovery", "confusion", "power"}
    for path in study.figures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert "<svg" in path.with_suffix(".svg").read_text()[:1000]


def made_up_tables(models: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Tables such as a study of these models has, with the same numbers everywhere."""
    interval = {"lower": 0.2, "upper": 0.7}
    inversion = {"inversion": 0.5, "inversion_lower": 0.2, "inversion_upper": 0.7}
    counted = {"n": 100, "count": 50, "share": 0.5, **interval, **inversion}
    confusion = [
        {"criterion": criterion, "truth": truth, "chosen": chosen, **counted}
        for criterion, truth, chosen in product(("evidence", "pooled"), models, models)
    ]
    recovery = [
        {
            "model": model,
            "parameter": parameter,
            "estimator": "mean",
            "measure": measure,
            "n": 9,
            "value": 0.5,
            **interval,
        }
        for model, parameter in product(models, ("alpha", "omega", "beta", "lapse"))
        for measure in ("correlation", "variance_removed", "coverage")
    ]
    power = [
        {"model": models[-1], "against": models[0], "rule": rule, "group_size": size, "frequency": share, "power": 0.5}
        for rule, size, share in product(RULES, (10, 80), (0.5, 1.0))
    ]
    tables = {"confusion": confusion, "parameters": recovery, "power": [{**row, **interval} for row in power]}
    empty = {
        "people": pd.DataFrame({"model": models, "pooled": np.nan}),
        "sbc": pd.DataFrame(columns=list(SBC)),
        "sbc_summary": pd.DataFrame(columns=list(SUMMARY)),
    }
    return {name: pd.DataFrame(rows) for name, rows in tables.items()} | empty


@pytest.mark.parametrize(
    "models",
    [["flat", "holmes"], ["rescorla_wagner", "holmes_structure_only"], ["flat", "holmes", "bias"], list(ALL_MODELS)],
    ids=["two", "long names", "three", "all"],
)
def test_figures_have_room_for_any_models(models: list[str]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    words = Words({ABOUT: descriptions(ALL_MODELS[name] for name in models)}, models)
    study: Any = SimpleNamespace(models=models, words=words, **made_up_tables(models))
    drawn = {name: (draw, rows) for name, draw, rows in figures._figures(study)}
    with use_style():
        for name in ("confusion", "recovery", "power"):
            draw, rows = drawn[name]
            figure = Figure(figsize=(6.9, rows * figures.PANEL + 0.4))
            draw(figure)
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            # Numbers beside axes can be those of ticks that lie outside, which are not drawn.
            texts = [
                each for each in figure.findobj(Text) if re.search("[a-z]|\n", each.get_text()) and each.get_visible()
            ]
            level = [text for text in texts if text.get_rotation() in (0, 90)]  # boxes of others hold empty corners
            boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in level]
            for text, box in boxes:
                assert box.x0 >= 0, (name, text)
                assert box.x1 <= figure.bbox.x1, (name, text)
            for (one, a), (other, b) in combinations(boxes, 2):
                assert not a.padded(-1).overlaps(b.padded(-1)), (name, one, other)


def test_a_study_is_read_again(study: Recovery) -> None:
    pd.testing.assert_frame_equal(hf.read_recovery(study.folder).parameters, study.parameters)
    with pytest.raises(InputError, match=r"a run of something else; allowed: a study of holmes-fit recover"):
        read_recovery(study.folder / "from_bias")
    assert json.loads((study.folder / "manifest.json").read_text())["identity"]["kind"] == "recovery"


def test_words_say_what_is_identified(study: Recovery) -> None:
    text = in_words(study)
    lines = text.splitlines()
    assert f"People simulated from bias, fitted with bias: {PEOPLE_OF_A_MODEL} people (few, so that all" in text
    (rate,) = [line for line in lines if line.strip().startswith("choice_probability:")]
    correlation = measure_of(study.parameters, "bias", "choice_probability", "correlation").value
    removed = measure_of(study.parameters, "bias", "choice_probability", "variance_removed").value
    judged = strength(correlation, removed, PEOPLE_OF_A_MODEL)
    assert f"{judged} by one person's choices: r {correlation:.2f} (" in rate
    assert any(
        line.startswith("Truth bias: the right model, person by person, by their own evidence ") for line in lines
    )
    assert "Calibration: ranks of the truth show no departure from uniform for all 3 parameters." in text
    assert study.summary == text + "\n"
    assert [strength(r, np.nan, 60) for r in (0.9, 0.8, 0.7, 0.4, 0.1)] == [
        "well identified",
        "well identified",
        "fairly identified",
        "weakly identified",
        "hardly identified",
    ]


@pytest.mark.parametrize(("people", "judged"), [(19, "well identified"), (20, "hardly identified")])
def test_a_few_people_are_not_judged_by_their_correlation(
    study: Recovery, monkeypatch: pytest.MonkeyPatch, people: int, judged: str
) -> None:
    values = {"correlation": -0.46, "variance_removed": 0.83, "coverage": 1.0, "at_bound": 0.0}
    monkeypatch.setattr(findings, "measure_of", lambda table, model, name, measure, *_: Estimate(values[measure], 0, 1))
    monkeypatch.setattr(findings, "_count", lambda *_: people)
    said = in_words(study)
    assert f"choice_probability: {judged} by one person's choices: r -0.46 (" in said
    assert ("With fewer than 20 people r can be anything" in said) == (people < 20)


def test_models_whose_calibration_was_not_tested_are_named(study: Recovery) -> None:
    summary = study.sbc_summary
    fixed = summary.assign(verdict=summary["verdict"].where(summary["model"] == "bias", NO_TEST))
    lines = list(findings._calibration_lines(cast("Recovery", SimpleNamespace(sbc_summary=fixed))))
    (other,) = set(summary["model"]) - {"bias"}
    assert f"Calibration was not tested for {other}: their truths are not from the fitting prior." in lines
    assert lines[0] == "Calibration: ranks of the truth show no departure from uniform for the one parameter."


def test_models_with_too_few_people_for_a_test_are_named(study: Recovery) -> None:
    summary = study.sbc_summary
    few = summary.assign(verdict=summary["verdict"].where(summary["model"] == "bias", TOO_FEW))
    (other,) = set(summary["model"]) - {"bias"}
    lines = list(findings._calibration_lines(cast("Recovery", SimpleNamespace(sbc_summary=few))))
    tested = "ranks of the truth show no departure from uniform for the one parameter that could be tested."
    assert lines[0] == f"Calibration: {tested} There are too few people of {other} to tell."


# --- draws
def test_simulations_and_fits_share_no_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[int] = set()
    original = LatentCauseModel.p_hat

    def spying(self: LatentCauseModel, observations: object, values: object, observer: object, key: int, *more: object):
        used.add(int(key))
        return original(self, observations, values, observer, key, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(LatentCauseModel, "p_hat", spying)
    preset = load_preset(small_preset(tmp_path))
    plan = set_up_recovery("conditioning", models=("flat",), subjects=2, preset=preset, seed=SEED, observer=OBSERVER)
    of_people = set(used)
    used.clear()
    fit_person(plan.fits["flat"].task(("flat", "flat_001")), preset)
    assert len(of_people) == 2
    assert used
    assert not used & of_people


def test_no_name_makes_them_share() -> None:
    """Draws of people are named by a path, those of fits by a list: no two texts are the same."""
    plan = set_up_recovery("conditioning", models=("bias",), subjects=1, seed=SEED)
    (learner,) = plan.fits["bias"].cohort.learners
    name = json.dumps([learner.subject, learner.restart])
    assert learner_key(learner, SEED) == stream_key(SEED, name)
    assert name.startswith("[")
    assert learner_key(learner, SEED) != stream_key(SEED, f"recover/{learner.subject}/filter/{learner.restart}")


def test_people_do_not_depend_on_how_many_there_are() -> None:
    few, many = (
        set_up_recovery("conditioning", models=("bias",), subjects=n, seed=SEED).fits["bias"].cohort.trials
        for n in (2, 4)
    )
    assert few["choice"].equals(many["choice"].iloc[: len(few)])
    other = set_up_recovery("conditioning", models=("bias",), subjects=2, seed=SEED + 1).fits["bias"].cohort.trials
    assert not few["choice"].equals(other["choice"])


# --- truths
def test_truths_come_from_the_prior_between_the_bounds() -> None:
    space = load_preset("default").space(ALL_MODELS["holmes"])
    truths = draw_truths(space, 150, seed=SEED)
    for axis in space.free:
        values = np.array([truth.values[axis.name] for truth in truths])
        assert (values >= axis.parameter.low).all()
        assert (values <= axis.parameter.high).all()
        mass = np.append(0, np.cumsum(np.exp(axis.log_weights)))
        edges = axis.low + np.arange(axis.nodes + 1) * axis.spacing
        found = stats.kstest(axis.parameter.to_scale(values), lambda at, e=edges, m=mass: np.interp(at, e, m))
        assert found.pvalue > 1e-4
    assert {truth.values["depth_scale"] for truth in truths} == {1.0}


def test_given_populations_are_used_and_calibration_is_not_judged(preset: Path) -> None:
    population = {"learning_rate": "loguniform:0.1,0.2", "beta": 3}
    plan = set_up_recovery("conditioning", models=MODELS, subjects=5, preset=preset, population=population)
    values = [truth.values for truth in plan.truths["rescorla_wagner"]]
    assert all(0.1 <= each["learning_rate"] <= 0.2 for each in values)
    assert {each["beta"] for each in values} == {3.0}
    assert {each["lapse"] for each in values} == {0.02}
    assert plan.follows_prior == {"rescorla_wagner": False, "bias": True}
    assert plan.origin == "population"


def test_a_population_that_is_the_prior_is_the_prior() -> None:
    space = load_preset("default").space(ALL_MODELS["flat"])
    assert follows_prior(space, {"alpha": Distribution("lognormal", 0.5, 1.0), "bias": Distribution("fixed", 0.0)})
    assert not follows_prior(space, {"alpha": Distribution("lognormal", 0.5, 0.9)})
    assert not follows_prior(space, {"bias": Distribution("fixed", 0.1)})
    assert follows_prior(space, {"learning_rate": Distribution("fixed", 0.1)})  # it has none
    one = draw_truths(space, 3, seed=SEED)
    other = draw_truths(space, 3, seed=SEED, population={"alpha": Distribution("lognormal", 0.5, 1.0)})
    assert [truth.values for truth in one] == [truth.values for truth in other]


def test_averaged_observers_answer_by_the_mean_of_many_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    space = load_preset("quick").space(ALL_MODELS["flat"])
    truths = draw_truths(space, 1, seed=SEED)
    sequences = Generated(load_protocol("conditioning"), SEED)
    asked: list[int] = []
    original = LatentCauseModel.p_hat

    def spying(self: LatentCauseModel, *arguments: object):
        asked.append(int(arguments[4]))  # type: ignore[call-overload]
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LatentCauseModel, "p_hat", spying)
    for averaged in (1, 16):
        simulate_people(truths, sequences, seed=SEED, observer=OBSERVER, averaged=averaged)
    assert asked == [1, 16]


# --- trials of others
@pytest.fixture(scope="module")
def pilot() -> Cohort:
    return people(3, seed=SEED, missed=0.2)


def test_trials_are_copied_with_their_missed_answers(pilot: Cohort) -> None:
    plan = set_up_recovery(like=pilot, models=("bias", "rescorla_wagner"), subjects=4, seed=SEED)
    for model in plan.models:
        copied = plan.fits[model].cohort
        for number, like in enumerate(["s01", "s02", "s03", "s01"], start=1):
            own = copied.trials[copied.trials["subject"] == f"{model}_{number:03d}"].reset_index(drop=True)
            source = pilot.trials[pilot.trials["subject"] == like].reset_index(drop=True)
            for name in ("trial", "cue", "outcome", "feedback"):
                assert own[name].equals(source[name])
            assert own["choice"].isna().equals(source["choice"].isna())
            assert not own["choice"].equals(source["choice"])
    assert [truth.like for truth in plan.truths["bias"]] == ["s01", "s02", "s03", "s01"]


def test_restarts_and_excluded_answers_are_copied() -> None:
    source = people(1, "shepard", missed=0.1)
    trials = source.trials.assign(excluded_choice=pd.array([1] * len(source.trials), dtype="Int8"))
    with_excluded = build_cohort(trials, source.protocol)
    copied = set_up_recovery(like=with_excluded, models=("bias",), subjects=1).fits["bias"].cohort
    assert "excluded_choice" not in copied.trials
    assert [learner.restart for learner in copied.learners] == [learner.restart for learner in source.learners]
    assert len(copied.learners) > 1


def test_values_and_trials_come_from_a_run(pilot: Cohort, preset: Path, no_pymc: list[str], tmp_path: Path) -> None:
    run = fit(pilot, MODELS, tmp_path / "run", preset=preset, seed=SEED, workers=1)
    study = recover(from_run=run, models=("bias",), seed=SEED, workers=1)
    assert study.folder == tmp_path / "run" / "recovery"
    truth = study.truth.set_index("subject")
    assert truth["like"].tolist() == ["s01", "s02", "s03"]
    for like, value in zip(truth["like"], truth["value"], strict=True):
        record = run.run.load_record(("bias", like))
        assert record is not None
        assert value in record.arrays["draws"][:, 0]
    assert study.run.manifest.identity["preset"] == run.run.manifest.identity["preset"]
    assert (study.sbc_summary["verdict"] == NO_TEST).all()
    assert "not whether posteriors are calibrated" in in_words(study)
    assert set_up_recovery(from_run=run).models == MODELS  # none of them has latent causes
    more = set_up_recovery(from_run=tmp_path / "run", models=("bias",), subjects=7)
    values = [each.values["choice_probability"] for each in more.truths["bias"]]
    assert len(set(values)) == 7


# --- stopping and going on
def contents(folder: Path) -> dict[str, bytes]:
    endings = (".csv", ".png", ".svg")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.suffix in endings}


def test_a_stopped_study_goes_on_and_ends_the_same(
    preset: Path, no_pymc: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = no_pymc
    options = {"models": MODELS, "subjects": 3, "preset": preset, "seed": SEED, "workers": 1}
    told: list[tuple[int, int]] = []
    recover("conditioning", out=tmp_path / "whole", progress=lambda *now: told.append(now), **options)  # type: ignore[arg-type]
    assert told[0] == (0, 17)
    assert told[-1] == (17, 17)  # 12 fits, 2 pooled groups, 3 mixtures
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert sorted(made) == ["mixture"] * 3 + ["pool"] * 2

    for stop_at in (4, 8, 14):

        def stop(done: int, total: int, at: int = stop_at) -> None:
            if done == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            recover("conditioning", out=tmp_path / "stopped", progress=stop, **options)  # type: ignore[arg-type]
    made.clear()
    recover("conditioning", out=tmp_path / "stopped", **options)  # type: ignore[arg-type]
    assert len(made) == 3  # two of the five groups were there
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")

    made.clear()
    monkeypatch.setattr(fitting_cohort, "fit_person", None)
    recover("conditioning", out=tmp_path / "stopped", **options)  # type: ignore[arg-type]
    assert made == []
    with pytest.raises(InputError, match=r"saw seed = 12; allowed: seed = 13, as asked for now"):
        recover("conditioning", out=tmp_path / "stopped", **options | {"seed": 13})  # type: ignore[arg-type]


def test_people_are_really_pooled(preset: Path, light: None, tmp_path: Path) -> None:
    sampling = Sampling(chains=2, tune=150, draws=150, cores=1, seed=SEED)
    options = {"models": ("bias",), "subjects": 6, "preset": preset, "sampling": sampling, "workers": 1}
    study = recover("conditioning", out=tmp_path / "study", seed=SEED, **options)  # type: ignore[arg-type]
    people = study.people
    assert people["pooled"].notna().all()
    assert (people["pooled_lower"] < people["pooled"]).all()
    assert (people["pooled"] < people["pooled_upper"]).all()
    inside = (people["pooled_lower"] <= people["truth"]) & (people["truth"] <= people["pooled_upper"])
    assert people["pooled_covered"].tolist() == inside.tolist()
    # A group of people is no wider than the prior, so that they are known at least as well, if only just.
    assert people["pooled_sd_on_scale"].mean() < 1.1 * people["sd_on_scale"].mean()
    assert study.confusion["criterion"].unique().tolist() == ["evidence"]  # with one model, there is no mixture
    assert (tmp_path / "study" / "from_bias" / "pool_bias.nc").exists()
    before = contents(tmp_path / "study")
    recover("conditioning", out=tmp_path / "study", seed=SEED, **options)  # type: ignore[arg-type]
    assert contents(tmp_path / "study") == before


def test_too_few_people_are_not_pooled_and_it_is_said(preset: Path, light: None, tmp_path: Path) -> None:
    study = recover("conditioning", models=MODELS, subjects=1, out=tmp_path / "study", preset=preset, workers=1)
    assert study.people["pooled"].isna().all()
    assert set(study.confusion["criterion"]) == {"evidence"}
    text = in_words(study)
    assert "No pooling of those simulated from bias: model bias: saw one person; allowed: at least 3 people." in text
    assert "No mixture of models of everyone: mixture: saw 2 people; allowed: at least 3 people." in text
    assert "too few people to tell" in text
    assert "choice_probability: " in text
    assert "by one person's choices: no r of one person; they remove" in text


def test_people_who_cannot_be_fitted_are_left_out(
    preset: Path, no_pymc: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_once(task: Task, settings: Preset) -> PersonFit:
        if (task.space.model.name, task.learners[0].subject) == ("bias", "bias_002"):
            raise HolmesFitError("it cannot be done")
        return fit_person(task, settings)

    monkeypatch.setattr(fitting_cohort, "fit_person", fails_once)
    study = recover("conditioning", models=MODELS, subjects=4, out=tmp_path / "study", preset=preset, workers=1)
    assert study.people.loc[study.people["model"] == "bias", "subject"].unique().tolist() == [
        "bias_001",
        "bias_003",
        "bias_004",
    ]
    confusion = study.confusion.set_index(["criterion", "truth", "chosen"]).sort_index()
    assert confusion.loc[("evidence", "bias", "bias"), "n"] == 3
    assert confusion.loc[("pooled", "bias", "bias"), "n"] == 3
    assert confusion.loc[("evidence", "rescorla_wagner", "bias"), "n"] == 4
    assert len(read_fits(study.folder / "from_bias").failures) == 1


# --- what cannot be used
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "arguments protocol, like, from_run: saw nothing; allowed: one of them"),
        ({"protocol": "conditioning", "from_run": "x"}, "saw protocol and from_run; allowed: one of them"),
        ({"protocol": "conditoning"}, "conditioning"),
        ({"protocol": "conditioning", "subjects": 0}, "argument subjects: saw 0"),
        ({"protocol": "conditioning", "seed": -1}, "argument seed: saw -1"),
        ({"protocol": "conditioning", "models": ["holms"]}, "argument models: saw 'holms'"),
        ({"protocol": "conditioning", "models": []}, "argument models: saw nothing"),
        ({"protocol": "conditioning", "preset": "defalt"}, "preset: saw 'defalt'"),
        ({"protocol": "conditioning", "fix": {"lapze": 0.1}}, "Did you mean 'lapse'?"),
        ({"protocol": "conditioning", "population": {"alfa": 1}}, "Did you mean 'alpha'?"),
        ({"protocol": "conditioning", "population": {"alpha": "normal:1,2"}}, "argument alpha: saw 'normal:1,2'"),
        ({"from_run": "nowhere"}, "folder nowhere: saw no such folder"),
        ({"from_run": "nowhere", "population": {"alpha": 1}}, "nothing, as the values come from the fitted run"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        set_up_recovery(**arguments)  # type: ignore[arg-type]


def test_a_study_needs_a_folder_and_a_run_of_fits(study: Recovery) -> None:
    with pytest.raises(InputError, match=r"argument out: saw nothing; allowed: the folder of the study"):
        recover("conditioning", subjects=1)
    with pytest.raises(InputError, match=r"a run of something else; allowed: a run of holmes-fit fit"):
        set_up_recovery(from_run=study.folder)
    with pytest.raises(InputError, match=r"saw 'flat'; allowed: a model of the run: rescorla_wagner, bias"):
        set_up_recovery(from_run=study.folder / "from_bias", models=("flat",))


def test_a_protocol_without_a_generator_needs_data(pilot: Cohort) -> None:
    silent = pilot.protocol.model_copy(update={"generator": None})
    with pytest.raises(InputError, match=r"saw no generator; .* Or give data whose trials are to be copied"):
        set_up_recovery(silent)


def test_groups_are_pooled_as_the_preset_says(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "quick"\n[pooling]\nspread = 0.8\ndraws = 70\n')
    own, usual = (
        set_up_recovery("conditioning", models=MODELS, subjects=3, preset=preset) for preset in (path, "quick")
    )
    assert (own.prior, own.sampling.draws) == (GroupPrior(spread=0.8), 70)
    assert usual.prior == GroupPrior()
    assert own.identity()["group_prior"] != usual.identity()["group_prior"]  # another study, which has its own folder
