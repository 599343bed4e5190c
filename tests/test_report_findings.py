"""What the report concludes from its tables: how sure it sounds, and which of several models it is about."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit._support.numbers import share
from holmes_fit.models.registry import MODELS, descriptions
from holmes_fit.reporting.blocks import Panel, Text
from holmes_fit.reporting.learning import to_criterion
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.run_data import CohortData, read_data
from holmes_fit.reporting.sections import appendix, behaviour, comparison, methods, recovery, summary
from holmes_fit.reporting.sections import data as data_page
from holmes_fit.reporting.sections import people as people_page
from holmes_fit.reporting.warnings import every_warning, warned
from holmes_fit.runs.described import ABOUT
from holmes_fit.runs.folder import open_run, read_run
from holmes_fit.runs.schema import frame
from holmes_fit.settings.preset import load_preset
from tests.sample_run import Sample, make_run

WORDS = Words({ABOUT: descriptions(MODELS.values())}, list(MODELS))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("findings") / "run", Sample(6, 8, records=False, warned=False))


def changed(run: Path, name: str, **values: float) -> CohortData:
    """The data of a run in which HOLMES has other values in a table; the files stay as they are."""
    data = CohortData(read_run(run))
    table = pd.read_csv(run / name)
    for column, value in values.items():
        table.loc[table["model"] == "holmes", column] = value
    data.tables[name.removesuffix(".csv")] = table
    return data


@pytest.mark.parametrize(
    ("protected", "start"),
    [
        (0.96, "HOLMES describes an estimated "),
        (0.94, "HOLMES is favoured, though not beyond doubt: it describes an estimated "),
        (0.76, "HOLMES is favoured, though not beyond doubt: it describes an estimated "),
        (0.74, "No model stands out: HOLMES describes an estimated "),
    ],
)
def test_the_answer_is_no_surer_than_the_tables(run: Path, protected: float, start: str) -> None:
    data = changed(run, "comparison.csv", protected_exceedance=protected)
    assert comparison.finding(data).startswith(start)
    assert comparison.finding(data).endswith(" among flat, Rescorla–Wagner, bias and HOLMES.")


def test_two_models_are_not_told_apart(tmp_path: Path) -> None:
    sample = Sample(6, 8, models=("flat", "holmes"), records=False, warned=False)
    data = changed(make_run(tmp_path / "run", sample), "comparison.csv", protected_exceedance=0.74)
    assert comparison.finding(data).startswith("Flat and HOLMES are not told apart: HOLMES describes an estimated ")
    assert comparison.finding(data).endswith(" among flat and HOLMES.")


def test_probabilities_are_no_surer_than_their_draws(run: Path) -> None:
    """All of 2,100 effective draws leave room for 3 / 2,100."""
    data = changed(run, "comparison.csv", exceedance=1.0, protected_exceedance=1.0)
    assert comparison.mixture_draws(data) == 2100
    assert "most frequent of them with probability >.998, and >.998 once chance" in comparison.words(data)


def test_families_are_weighed_and_those_left_out_are_named(run: Path) -> None:
    data = CohortData(read_run(run))
    told, missing = comparison._by_families(data)
    latent = data["families"].query("group == 'everyone' and family == 'latent-cause'").iloc[0]
    assert f"latent-cause {share(latent['mean'])} ({share(latent['lower'])} to {share(latent['upper'])})" in told
    assert "are the most frequent with a protected probability of ." in told
    assert missing == "No exemplar model was weighed, so that nothing is said of those."
    assert not list(comparison._by_families(data.within("control")))
    assert comparison.words(data).endswith(missing)


def test_the_best_of_the_others_is_named(run: Path) -> None:
    """Where the best of the other models is no baseline, and explains the choices as well."""
    data = CohortData(read_run(run))
    for above, doubted in ((-2.0, True), (50.0, False)):
        table = data["comparison"].set_index("model")
        table.loc["flat", "log_evidence"] = table.loc["holmes", "log_evidence"] - above
        table["log_evidence"] = table["log_evidence"].where(table.index.isin(["flat", "holmes"]), -1e4)
        data.tables["comparison"] = table.reset_index()
        words = comparison.words(data)
        assert "Against the best of the others and the baselines" in words
        assert ("flat explains the choices about as well, or better" in words) == doubted


def test_another_answer_with_other_priors_is_said(run: Path) -> None:
    data = changed(run, "prior_sensitivity.csv", frequency=0.1)
    table = data["prior_sensitivity"]
    table.loc[table["prior_width"] == 1, "frequency"] = [0.1, 0.7, 0.1, 0.1]
    [told] = comparison.with_other_priors(data)
    assert told.endswith("with those of the fit HOLMES (70%): the answer depends on the priors.")


@pytest.mark.parametrize(
    ("mean", "lower90", "start"),
    [
        (0.8, 0.51, "HOLMES describes an estimated 80% of people in the group control"),
        (0.9, 0.49, "HOLMES is favoured, though not beyond doubt: it describes an estimated 90% of people in the "),
        (0.73, 0.2, "No model stands out: HOLMES describes an estimated 73% of people in the group "),
    ],
)
def test_the_answer_for_a_group_is_no_surer_than_its_frequencies(
    run: Path, mean: float, lower90: float, start: str
) -> None:
    data = CohortData(read_run(run)).within("control")
    table = pd.read_csv(run / "frequencies.csv").query("group == 'control'").assign(group="everyone")
    table.loc[table["model"] == "holmes", ["mean", "lower90"]] = mean, lower90
    data.tables["frequencies"] = table
    assert comparison.finding(data).startswith(start)


@pytest.mark.parametrize(
    ("over", "doubted"), [(3.1, False), (2.9, True), (-40.0, True)], ids=["better", "no better", "worse"]
)
def test_a_baseline_that_does_as_well_is_named(run: Path, over: float, doubted: bool) -> None:
    words = comparison.words(changed(run, "comparison.csv", over_rescorla_wagner=over, over_bias=50.0))
    told = f"{over:+.1f} ± 1.1 nats over Rescorla–Wagner and +50.0 ± 1.1 nats over bias".replace("-", "−")
    assert told in words
    assert ("so that Rescorla–Wagner explains the choices about as well, or better." in words) == doubted


@pytest.mark.parametrize(("rmse", "told"), [(0.001, " By RMS error, no model is closer."), (0.9, " is closer.")])
def test_it_is_said_what_closer_means(run: Path, rmse: float, told: str) -> None:
    words = behaviour._finding(changed(run, "predictive_summary.csv", rmse=rmse))
    assert ". By RMS error, " in words
    assert words.endswith(told)


def test_a_model_with_more_in_its_band_is_named(run: Path) -> None:
    data = changed(run, "predictive_summary.csv", share_inside=0.65)
    table = data["predictive_summary"]
    for others, told in ((0.69, ", and 69% in that of flat"), (0.6, "")):
        table.loc[table["model"] != "holmes", "share_inside"] = others * (table["model"] == "flat")
        assert f"only 65% of the parts lie in the model's 95% band{told}. By RMS" in behaviour._finding(data)


def with_trials(run: Path, lengths: Sequence[int], right_at_the_end: bool) -> CohortData:
    """The data of a run whose people stop after so many trials, at random before, and then right or at random still."""
    rng = np.random.default_rng(3)
    rows = []
    for place, n in enumerate(lengths):
        outcome = rng.integers(0, 2, n)
        choice = np.where(rng.random(n) < 0.5, outcome, 1 - outcome)
        choice[-9:] = outcome[-9:] if right_at_the_end else choice[-9:]
        about = {"subject": f"s{place:02d}", "restart": "", "trial": np.arange(1, n + 1), "model": "holmes"}
        rows.append(pd.DataFrame({**about, "choice": choice, "outcome": outcome, "prediction_error": 0.1}))
    data = CohortData(read_run(run), tables={"trials_fitted": pd.concat(rows, ignore_index=True)})
    data.__dict__["cohort"] = None  # its file has other trials
    return data


def test_a_task_that_ends_at_a_criterion_is_recognised(run: Path) -> None:
    data = with_trials(run, [40, 60, 80, 100, 100], right_at_the_end=True)
    learners = to_criterion(data)
    assert learners["reached"].tolist() == [True, True, True, False, False]
    trials = data["trials_fitted"]
    hits = (trials["choice"] == trials["outcome"]).groupby(trials["subject"]).mean()
    assert data_page._criterion(data) == (
        "As in a task that ends at a criterion, 3 of 5 learners stopped early and right, after 80 trials in the "
        f"median; up to there they were right on {share(hits.iloc[:3].mean())} of their answers."
    )
    assert ", most of them never;" in data_page._criterion(with_trials(run, [40, 50, 60, 70, 70, 70, 70, 70], True))
    for lengths, is_right in (([40, 60, 80, 100, 100], False), ([100] * 5, True), ([90, 100, 100], True)):
        assert not len(to_criterion(with_trials(run, lengths, is_right)))


def test_a_page_has_three_warnings_and_the_appendix_all(tmp_path: Path) -> None:
    data = CohortData(read_run(make_run(tmp_path / "run", Sample(6, 8, label="a first look", records=False))))
    every = every_warning(data)
    first = every[:3]
    assert [text.partition(":")[0] for text in first] == ["A first look.", "Group model of HOLMES", "Mixture of models"]
    kinds = ("label", "failures", "noise", "pooling", "mixture", "recovery")
    *shown, reference = warned(data, *kinds).texts
    assert shown == first
    assert reference == f"{len(every) - 3 - 1} more warnings: see the appendix of the whole report."  # one of answers
    assert {block.text for block in appendix.APPENDIX.section(data).blocks if isinstance(block, Text)} >= {*every}
    assert len(warned(data, "noise", "failures", "pooling").texts) == 3


def test_what_everybody_has_is_said_once_and_marks_nobody(run: Path) -> None:
    data = CohortData(read_run(run))
    table = data["models"]
    noisy = [f"noisy likelihood: the log evidence is uncertain by {place}.5 nats" for place in range(len(table))]
    table["warning"] = np.where(table["model"] == "holmes", noisy, "")
    table.loc[(table["model"] == "flat") & (table["subject"] == "s02"), "warning"] = "few answers (3): the prior"
    assert data.common == {"holmes: noisy likelihood: the log evidence is uncertain by # nats"}
    assert data.marked == {"s02": ("flat: few answers (3): the prior",)}
    assert warned(data, "noise").texts[0].startswith("Noisy likelihood: HOLMES for all 6 people. Evidence is")
    assert "Not marked, as everybody has it: noisy likelihood (HOLMES)." in people_page._reading(
        data, people_page.Cells(data)
    )
    table["warning"] = table["warning"].where(table["subject"] != "s01", "")
    data = CohortData(data.run, tables={"models": table})
    assert "Noisy likelihood: HOLMES for 5 of 6 people (s02, s03, s04, s05, s06)" in warned(data, "noise").texts[0]
    assert set(data.marked) == {"s02", "s03", "s04", "s05", "s06"}


def test_only_people_who_could_be_fitted_are_counted_in_the_answer(tmp_path: Path) -> None:
    sample = Sample(5, 8, models=("holmes",), groups=(), pooled=False, compared=False, recovered=False, records=False)
    data = CohortData(read_run(make_run(tmp_path / "run", sample)))
    assert data["failures"]["subject"].nunique() == 1
    assert summary.headlines(data)[0] == "4 people were fitted with one model, HOLMES."


def test_the_methods_of_one_group_say_how_many_there_are_in_all(run: Path) -> None:
    [first, *_] = methods.methods_text(CohortData(read_run(run)).within("control"))
    assert first.startswith("We fitted the choices of 3 people (the group control; 6 people in all groups) in the task")


def test_power_is_shown_for_one_pair_of_models_and_one_rule_a_figure(run: Path) -> None:
    power = pd.read_csv(run / "recovery" / "power.csv")
    pairs = [("rescorla_wagner", "flat"), ("flat", "holmes"), ("holmes", "flat"), ("holmes", "rescorla_wagner")]
    rules = ("protected exceedance above .95", "95% interval above .5")
    tables = [
        power.assign(model=model, against=against, rule=rule, power=power["power"] * (place + 1) / 10)
        for place, (model, against) in enumerate(pairs)
        for rule in rules
    ]
    data = CohortData(read_run(run))
    data.tables["power"] = pd.concat(tables, ignore_index=True)
    drawn = [figure for figure in recovery.RECOVERY.section(data).figures() if figure.name.startswith("recovery_power")]
    assert [panel.name for panel in drawn] == ["recovery_power_1", "recovery_power_2"]
    for panel, rule in zip(drawn, rules, strict=True):
        assert isinstance(panel, Panel)
        assert panel.table is not None
        assert panel.title == f"Power to find that HOLMES is more frequent than flat: {rule}"
        assert set(zip(panel.table["model"], panel.table["against"], strict=True)) == {("holmes", "flat")}
        assert set(panel.table["rule"]) == {rule}
        assert not panel.table.duplicated(["group_size", "frequency"]).any()


def test_parameters_that_one_person_hardly_tells_are_named_with_what_helps(run: Path) -> None:
    data = CohortData(read_run(run))
    correlations = {"alpha": 0.39, "omega": 0.76, "beta": 0.59, "lapse": 0.6}
    rows = [("holmes", name, "mean", "correlation", value, 20) for name, value in correlations.items()]
    removed = {"alpha": 0.36, "omega": 0.35, "beta": 0.4, "lapse": 0.5}
    rows += [("holmes", name, "mean", "variance_removed", value, 20) for name, value in removed.items()]
    rows += [("holmes", "omega", "pooled", "correlation", 0.1, 20), ("flat", "omega", "mean", "correlation", 0.1, 20)]
    rows += [("holmes", "beta", "mean", "rmse", 0.1, 20), ("flat", "omega", "mean", "variance_removed", 0.1, 20)]
    data.tables["recovery"] = pd.DataFrame(rows, columns=["model", "parameter", "estimator", "measure", "value", "n"])
    said = recovery._weakly_identified(data)
    start = "Weakly identified by one person's choices alone: "
    assert said.startswith(f"{start}α (r = 0.39) and β (r = 0.59). What helps: a longer ")
    data.tables["recovery"]["n"] = 19  # too few for a correlation
    assert recovery._weakly_identified(data).startswith(f"{start}Ω (35% of the prior's variance removed). What helps")
    data.tables["recovery"]["value"] = 0.8
    assert recovery._weakly_identified(data) == ""


def study_of(run: Path, folder: Path, like: Sequence[str], **changed: Any) -> CohortData:
    """A run with a recovery study that depends on the same as the run, but for what is changed."""
    identity = {**read_run(run).manifest.identity, "kind": "recovery", **changed}
    with open_run(folder, identity=identity, about={"label": ""}, keys=[]) as study:
        study.write_table(
            "truth.csv", frame("truth.csv", ({"subject": f"r{i}", "like": one} for i, one in enumerate(like)))
        )
        study.write_table("recovery.csv", pd.read_csv(run / "recovery" / "recovery.csv"))
    return read_data(run, recovery=folder)


def test_it_is_said_on_which_trials_a_study_was_made_and_how_people_were_fitted(run: Path, tmp_path: Path) -> None:
    own = list(CohortData(read_run(run)).everyone["subject"])
    same = study_of(run, tmp_path / "same", own)
    assert recovery.how_made(same) == "simulated with the trials of this study and fitted as the real ones were"
    quick = load_preset("quick").model_dump(mode="json", exclude_none=True)
    other = study_of(run, tmp_path / "other", ["", ""], preset=quick)
    made = "simulated with trials that its protocol makes and fitted otherwise than the real ones (preset quick)"
    assert recovery.how_made(other) == made
    assert f"in people from each model, {made}." in " ".join(methods.methods_text(other))
    by_hand = CohortData(read_run(run))
    assert recovery.how_made(by_hand) == "simulated and fitted"


def test_a_study_of_another_protocol_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"saw a study of the protocol shepard; allowed: one of weather_prediction"):
        study_of(run, tmp_path / "study", [""], protocol={"name": "shepard", "sha256": ""})


def test_few_simulated_people_are_not_judged_by_their_correlations(run: Path) -> None:
    data = CohortData(read_run(run))
    assert "is recovered best (r = " in recovery._weakest(data)
    table = data["recovery"]
    rows = [
        {"model": "holmes", "parameter": name, "estimator": "mean", "measure": "variance_removed", "value": value}
        for name, value in (("alpha", -0.1), ("omega", 0.4), ("beta", 0.8))
    ]
    data.tables["recovery"] = pd.concat([table, pd.DataFrame(rows)], ignore_index=True).assign(n=12)
    assert recovery._weakest(data) == (
        "Under HOLMES, a person's choices tell β best (80% of the prior's variance removed) and α least (0%)."
    )


def test_calibration_is_claimed_only_where_it_was_tested(run: Path) -> None:
    for verdict, is_claimed in (("passes", True), ("no test: truths are not from the fitting prior", False)):
        data = CohortData(read_run(run))
        data.tables["sbc_summary"] = pd.read_csv(run / "recovery" / "sbc_summary.csv").assign(verdict=verdict)
        assert ("simulation-based calibration" in " ".join(methods.methods_text(data))) == is_claimed


def test_a_recovery_that_has_not_come_to_its_end_is_none(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Sample(3, 6, label="a first look", records=False))
    assert recovery.RECOVERY.lacking(CohortData(read_run(folder))) == ""
    (folder / "recovery" / "recovery.csv").unlink()
    data = CohortData(read_run(folder))
    assert data.recovery_label == ""
    assert not data.has("confusion")
    assert recovery.RECOVERY.lacking(data) == recovery.NO_RECOVERY


def test_groups_of_a_recovery_study_that_have_not_converged_are_told(run: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    keys = [("pool", "flat"), ("pool", "holmes"), ("mixture", "everyone")]
    with open_run(study, identity={"kind": "recovery"}, about={"label": ""}, keys=keys) as opened:
        for key, texts in zip(keys, (["R-hat 1.05"], [], ["effective draws 90", "R-hat 1.02"]), strict=True):
            opened.save_record(key, {"warnings": texts}, {})
    [text] = warned(CohortData(read_run(run), study), "recovery").texts
    assert text.startswith("Recovery study: 2 of its group models and mixtures are not to be relied on (")
    assert ("R-hat 1.05; and so on)." in text) != ("effective draws 90; R-hat 1.02; and so on)." in text)


def test_people_with_the_same_warning_share_a_row_of_the_appendix() -> None:
    noisy = "noisy likelihood: batch SD {} nats with {} replicates, above 0.5"
    warned = {
        "s1": (f"flat: {noisy.format('1.20', 64)}", f"holmes: {noisy.format('0.60', 64)}"),
        "s2": (f"holmes: {noisy.format('10.30', 64)}", "holmes: few answers (3)"),
        "s3": (f"holmes: {noisy.format('2.00', 128)}",),
    }
    assert list(appendix.warning_rows(warned, WORDS)) == [
        ["flat", noisy.format("1.20", 64), "s1"],
        ["HOLMES", noisy.format("0.60 to 10.30", "64 to 128"), "s1, s2, s3"],
        ["HOLMES", "few answers (3)", "s2"],
    ]


def test_a_long_list_of_people_with_a_warning_goes_on_in_another_row() -> None:
    names = [f"person number {number:03d}" for number in range(300)]
    (first, *others) = appendix.warning_rows(dict.fromkeys(names, ("flat: few answers (3)",)), WORDS)
    assert first[:2] == ["flat", "few answers (3)"]
    assert others
    assert all(row[:2] == ["", ""] for row in others)
    assert " ".join(row[2] for row in [first, *others]) == ", ".join(names)
