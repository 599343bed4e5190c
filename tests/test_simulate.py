"""Simulated cohorts: they read back the same, depend on nothing they should not, and follow the rules they claim."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import holmes_fit as hf
from holmes_fit._support.errors import InputError, Problems
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.parameters import ALPHA
from holmes_fit.models.registry import DEPTH_SCALE, MODELS, Observer
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.settings.distributions import Distribution, parse_population
from holmes_fit.studies.simulation import Simulation, simulate, write_simulation
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names, read_protocol
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import check_data, read_cohort

QUICK = Observer(particles=10)
Z = 4.5  # standard errors; a correct program goes beyond once in 150,000 times

CORRECT = """
[columns]
correct = "hit"
restart = ["problem"]
covariates = ["site"]
[correct]
coding = { no = 0, yes = 1 }
[choice.by]
column = "keys"
codings = { a = { left = 0, right = 1 }, b = { left = 1, right = 0 } }
[features]
size = { coding = { small = 0, big = 1 } }
color = "binary"
shape = { levels = ["round", "square"], copies = 2 }
[generator]
kind = "shepard"
types = ["I", "II"]
blocks = 2
[generator.dimensions]
size = ["small", "big"]
color = [0, 1]
shape = ["round", "square"]
"""


def assert_same_arrays(one: Cohort, other: Cohort) -> None:
    assert [(a.subject, a.restart) for a in one.learners] == [(b.subject, b.restart) for b in other.learners]
    for a, b in zip(one.learners, other.learners, strict=True):
        np.testing.assert_array_equal(a.choices, b.choices)
        np.testing.assert_array_equal(a.observations.cues, b.observations.cues)
        np.testing.assert_array_equal(a.observations.outcome, b.observations.outcome)
        np.testing.assert_array_equal(a.observations.feedback, b.observations.feedback)
        assert a.observations.length_normalized == b.observations.length_normalized


def written_and_read(simulation: Simulation, folder: Path) -> Cohort:
    write_simulation(simulation, folder / "cohort.csv", folder / "cohort.truth.csv")
    check = check_data(folder / "cohort.csv", simulation.cohort.protocol)
    assert not check.problems
    assert check.cohort is not None
    return check.cohort


@pytest.mark.parametrize("name", protocol_names())
def test_what_is_written_reads_back_the_same(name: str, tmp_path: Path) -> None:
    simulation = simulate(name, "flat", 2, missed=0.1, seed=3, observer=QUICK)
    assert not all(learner.answered.all() for learner in simulation.cohort.learners)
    assert_same_arrays(written_and_read(simulation, tmp_path), simulation.cohort)


def test_a_file_with_correct_reads_back_the_same(tmp_path: Path) -> None:
    simulation = simulate(read_protocol(CORRECT), "flat", 6, missed=0.2, seed=5, observer=QUICK)
    trials = simulation.cohort.trials
    assert (trials["feedback"] == trials["choice"].notna()).all()
    assert trials["keys"].nunique() == 2
    read = written_and_read(simulation, tmp_path)
    assert_same_arrays(read, simulation.cohort)
    assert read.subjects["site"].isna().all()
    assert simulation.cohort.subjects["site"].isna().all()


def test_groups_read_back_the_same(tmp_path: Path) -> None:
    simulation = simulate("weather_prediction", "bias", groups={"a": 1, "b, [c]": 2}, observer=QUICK)
    read = written_and_read(simulation, tmp_path)
    pd.testing.assert_frame_equal(read.subjects, simulation.cohort.subjects)
    assert read.subjects["group"].tolist() == ["a", "b, [c]", "b, [c]"]
    truth = pd.read_csv(tmp_path / "cohort.truth.csv")
    assert truth["group"].tolist() == read.subjects["group"].tolist()


def test_simulated_trials_say_so() -> None:
    assert (simulate("conditioning", "bias", 2).cohort.trials["source"] == "simulated").all()


def person(simulation: Simulation, number: int) -> pd.DataFrame:
    names = simulation.truth["subject"]
    trials = simulation.cohort.trials
    return trials[trials["subject"] == names[number]].drop(columns="subject").reset_index(drop=True)


@pytest.mark.parametrize("name", ["conditioning", "shepard"])
def test_a_person_does_not_depend_on_the_others(name: str) -> None:
    values = {"alpha": "lognormal:0.8,0.5", "beta": "uniform:1,5"}
    few = simulate(name, "flat", 2, values, missed=0.1, seed=1, observer=QUICK)
    many = simulate(name, "flat", 12, values, missed=0.1, seed=1, observer=QUICK)
    for number in range(2):
        pd.testing.assert_frame_equal(person(few, number), person(many, number))
    pd.testing.assert_frame_equal(few.truth, many.truth.head(2))


def test_names_get_longer_but_people_stay_the_same() -> None:
    few, many = (simulate("conditioning", "bias", n, seed=2) for n in (3, 100))
    assert few.truth["subject"].tolist() == ["s01", "s02", "s03"]
    assert many.truth["subject"].iloc[[0, -1]].tolist() == ["s001", "s100"]
    pd.testing.assert_frame_equal(person(few, 2), person(many, 2))


def test_people_differ_and_so_do_seeds() -> None:
    simulation = simulate("conditioning", "flat", 3, observer=QUICK)
    other = simulate("conditioning", "flat", 3, seed=1, observer=QUICK)
    assert not person(simulation, 0).equals(person(simulation, 1))
    assert not person(simulation, 0).equals(person(other, 0))


def test_trials_do_not_depend_on_parameters_and_answers_not_on_missed_ones() -> None:
    one = simulate("reversal", "flat", 1, {"alpha": 0.1}, observer=QUICK)
    other = simulate("reversal", "flat", 1, {"alpha": 3.0, "lapse": 0.5}, observer=QUICK)
    assert one.cohort.trials["outcome"].equals(other.cohort.trials["outcome"])
    some = simulate("reversal", "flat", 1, {"alpha": 0.1}, missed=0.3, observer=QUICK).cohort.trials["choice"]
    assert some[some.notna()].equals(one.cohort.trials["choice"][some.notna()])


def test_a_fit_sees_other_draws_than_the_simulation() -> None:
    learner = simulate("conditioning", "bias", 1).cohort.learners[0]
    keys = {int(stream_key(0, name)) for name in ("simulate/1/filter/", learner.subject, '["s01", ""]')}
    assert len(keys) == 3


@pytest.mark.parametrize("model", list(MODELS))
def test_every_model_can_be_simulated(model: str) -> None:
    simulation = simulate("conditioning", model, 2, observer=QUICK)
    expected = {parameter.name for parameter in MODELS[model].parameters}
    expected |= set() if MODELS[model].predicts_choices else {"beta", "lapse", "bias"}
    assert expected <= set(simulation.truth.columns)
    assert simulation.truth["model"].tolist() == [model, model]


def test_choices_follow_the_response_rule() -> None:
    """Within every range of probabilities, as many choices of 1 as the rule says, up to the binomial error."""
    values = {"learning_rate": 0.3, "beta": 1.5, "lapse": 0.1, "bias": 0.4}
    cohort = simulate("weather_prediction", "rescorla_wagner", 20, values, seed=4).cohort
    model, response = MODELS["rescorla_wagner"], {name: values[name] for name in ("beta", "lapse", "bias")}
    p_hat = [model.p_hat(learner.observations, values, QUICK, np.uint64(0))[0] for learner in cohort.learners]
    probability = choice_probability(np.concatenate(p_hat), **response)
    chosen = np.concatenate([learner.choices for learner in cohort.learners])
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)):
        here = (probability >= low) & (probability < high)
        error = np.sqrt((probability[here] * (1 - probability[here])).sum())
        assert abs((chosen[here] - probability[here]).sum()) < Z * error


def test_a_particle_filter_is_run_for_each_learner() -> None:
    cohort = simulate("shepard", "holmes", 1, {"beta": 20.0, "lapse": 1e-6}, seed=6, observer=QUICK).cohort
    values = {"alpha": 1.0, "omega": 0.5, "depth_scale": 1.0}
    for learner in cohort.learners:
        key = stream_key(6, f"simulate/1/filter/{learner.restart}")
        p_hat = MODELS["holmes"].p_hat(learner.observations, values, QUICK, key)[0]
        sure = np.abs(p_hat - 0.5) > 0.3  # where the other choice has a probability below 1e-12
        np.testing.assert_array_equal(learner.choices[sure], p_hat[sure] > 0.5)


def test_the_bias_model_chooses_with_its_probability() -> None:
    choices = simulate("conditioning", "bias", 100, {"choice_probability": 0.3}).cohort.trials["choice"]
    assert abs(choices.mean() - 0.3) < Z * np.sqrt(0.3 * 0.7 / len(choices))


def test_answers_are_missed_at_the_rate() -> None:
    missed = simulate("conditioning", "bias", 100, missed=0.2, seed=1).cohort.trials["choice"].isna()
    assert abs(missed.mean() - 0.2) < Z * np.sqrt(0.2 * 0.8 / len(missed))


def test_everyone_answers_once_at_least() -> None:
    trials = simulate("conditioning", "bias", 30, missed=0.99).cohort.trials
    assert trials.groupby("subject")["choice"].count().min() == 1


def test_models_are_mixed_by_their_shares() -> None:
    simulation = simulate("conditioning", subjects=200, mix={"bias": 0.25, "rescorla_wagner": 0.75}, seed=8)
    share = (simulation.truth["model"] == "bias").mean()
    assert abs(share - 0.25) < Z * np.sqrt(0.25 * 0.75 / 200)
    by_model = simulation.truth.groupby("model")
    assert by_model["learning_rate"].count().to_dict() == {"bias": 0, "rescorla_wagner": (1 - share) * 200}
    assert by_model["choice_probability"].count().to_dict() == {"bias": share * 200, "rescorla_wagner": 0}


def test_a_group_has_its_own_values_before_those_of_everyone() -> None:
    values = {"choice_probability": 0.2, "b.choice_probability": 0.7}
    truth = simulate("shepard", "bias", values=values, groups={"a": 1, "b": 2}).truth
    assert truth["choice_probability"].tolist() == [0.2, 0.7, 0.7]


@pytest.mark.parametrize(
    ("population", "transform", "mean", "sd"),
    [
        (Distribution("lognormal", 0.8, 0.5), np.log, np.log(0.8), 0.5),
        (Distribution("logitnormal", 0.02, 0.5), lambda p: np.log(p / (1 - p)), np.log(0.02 / 0.98), 0.5),
        (Distribution("uniform", 1.0, 5.0), lambda x: x, 3.0, 4 / np.sqrt(12)),
        (Distribution("loguniform", 0.1, 10.0), np.log10, 0.0, 2 / np.sqrt(12)),
    ],
)
def test_populations_have_the_centre_and_spread_they_name(population, transform, mean, sd) -> None:
    rng = np.random.default_rng(0)
    drawn = transform(np.array([population.draw(rng) for _ in range(4000)]))
    assert abs(drawn.mean() - mean) < Z * sd / np.sqrt(len(drawn))
    # The kurtosis of none of them exceeds the normal's, whose SD of the SD this is.
    assert abs(drawn.std() - sd) < Z * sd / np.sqrt(2 * len(drawn))


def test_the_truth_is_what_its_file_says(tmp_path: Path) -> None:
    simulation = simulate("conditioning", "flat", 5, {"alpha": "lognormal:0.8,0.5"}, observer=QUICK)
    write_simulation(simulation, tmp_path / "a.csv", tmp_path / "a.truth.csv")
    truth = pd.read_csv(tmp_path / "a.truth.csv")
    assert truth["alpha"].tolist() == simulation.truth["alpha"].tolist()
    assert truth["particles"].unique().tolist() == [10]


@pytest.mark.parametrize(
    "value",
    [
        "lognormal", "lognormal:1", "lognormal:1,2,3", "lognormal:0,1", "lognormal:1,-1", "lognormal:1,6",
        "lognormal:a,b", "normal:1,1", "logitnormal:0.5,1", "uniform:2,1", "uniform:0,1", "loguniform:1,1",
        "uniform:1,inf", "0", "-1", "nan", "inf", "", "1,5", True, None, float("nan"), [1],
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_drawn_is_refused(value: object) -> None:
    problems = Problems()
    assert parse_population(value, ALPHA, "argument alpha", problems) is None
    assert "lognormal:MEDIAN,SD_OF_THE_LOG" in str(problems.found[0])


def test_a_population_must_stay_within_the_parameter() -> None:
    problems = Problems()
    assert parse_population("uniform:0,1", DEPTH_SCALE, "x", problems) == Distribution("uniform", 0, 1)
    assert parse_population("lognormal:0.5,1", DEPTH_SCALE, "x", problems) is None
    assert parse_population("uniform:0,2", DEPTH_SCALE, "x", problems) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "homes"}, "Did you mean 'holmes'"),
        ({"values": {"alpa": 1}}, "Did you mean 'alpha'"),
        ({"values": {"learning_rate": 1}}, "the parameters alpha, omega"),
        ({"values": {"alpha": 0}}, "such as 1e-6"),
        ({"values": {"a.alpha": 1}}, "group 'a'"),
        ({"subjects": 0}, "a whole number from 1"),
        ({"subjects": 2.5}, "a whole number from 1"),
        ({"missed": 1.0}, "from 0 to less than 1"),
        ({"seed": -1}, "argument seed"),
        ({"mix": {"flat": 0.5, "holmes": 0.6}}, "add up to 1.1"),
        ({"mix": {"flat": -0.5, "holmes": 1.5}}, "a share from 0 to 1"),
        ({"mix": {}}, "add up to 0"),
        ({"groups": {"a": 2}}, "no covariate 'group'"),
        ({"groups": {}}, "at least one group"),
        ({"protocol": read_protocol('[features]\nx = "binary"')}, "no generator"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(**{"protocol": "conditioning"} | arguments)


def test_all_bad_arguments_are_named_at_once() -> None:
    with pytest.raises(InputError, match="argument alpha") as raised:
        simulate("conditioning", values={"alpha": -1, "omega": "x", "gamma": 1}, missed=-1, seed=-1, subjects=0)
    assert len(raised.value.problems) == 6


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    simulate("conditioning", "bias", 3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_names_of_the_package_stay_functions() -> None:
    import holmes_fit.studies.simulation  # noqa: F401 - a module of the same name would take the function's place

    for name in ("simulate", "read_cohort", "load_protocol", "protocol_names", "trace", "trace_cohort"):
        assert callable(getattr(hf, name))
        assert callable(getattr(hf, name))


def test_traces_have_a_row_for_each_trial_and_replicate() -> None:
    cohort = simulate("shepard", "bias", 2).cohort
    traces = hf.trace_cohort(cohort, "flat", {"alpha": 2.0}, replicates=3, seed=1, observer=QUICK)
    assert list(traces.columns) == ["subject", "restart", "trial", "replicate", "p_hat"]
    assert len(traces) == 3 * len(cohort.trials)
    assert not traces.duplicated(["subject", "restart", "trial", "replicate"]).any()
    learner = cohort.learners[4]
    own = traces[(traces["subject"] == learner.subject) & (traces["restart"] == learner.restart)]
    again = hf.trace_cohort(cohort, "flat", {"alpha": 2.0}, replicates=1, seed=1, observer=QUICK)
    same = again[(again["subject"] == learner.subject) & (again["restart"] == learner.restart)]
    np.testing.assert_array_equal(own[own["replicate"] == 0]["p_hat"], same["p_hat"])
    assert own["p_hat"].between(0, 1).all()
    assert own.groupby("replicate")["p_hat"].first().eq(0.5).all()


def test_a_persons_trace_does_not_depend_on_the_others(tmp_path: Path) -> None:
    simulation = simulate("shepard", "bias", 3)
    write_simulation(simulation, tmp_path / "all.csv", tmp_path / "all.truth.csv")
    rows = (tmp_path / "all.csv").read_text().splitlines()
    (tmp_path / "last.csv").write_text("\n".join([rows[0], *(row for row in rows if row.startswith("s03"))]))
    protocol: Protocol = load_protocol("shepard")
    everyone, last = (
        hf.trace_cohort(read_cohort(tmp_path / name, protocol), "holmes", replicates=2, observer=QUICK)
        for name in ("all.csv", "last.csv")
    )
    mine = everyone[everyone["subject"] == "s03"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, last)


def test_bad_arguments_of_a_trace_are_named_at_once() -> None:
    cohort = simulate("conditioning", "bias", 1).cohort
    with pytest.raises(InputError, match="argument alpha") as raised:
        hf.trace_cohort(cohort, "flat", {"alpha": -1, "beta": 3}, replicates=0, seed=-1)
    assert len(raised.value.problems) == 4
    with pytest.raises(InputError, match=r"argument cohort: saw 'pilot\.csv'; allowed: a cohort"):
        hf.trace_cohort("pilot.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "seen"),
    [
        ({"conditions": ["a", "b"]}, r"protocol reversal, restart: saw \[\]; allowed: 'condition' among the columns"),
        (
            {"conditions": ["a", "a"]},
            r"argument conditions \(2 times\): saw 'a'; allowed: a name for each condition, which no other",
        ),
        ({"conditions": ["a"]}, r"argument conditions: saw \['a'\]; allowed: two conditions or more"),
        (
            {"conditions": ["a", "b"], "values": {"c.alpha": 1}},
            r"saw group 'c'; allowed: one of the groups and conditions",
        ),
    ],
)
def test_conditions_that_cannot_be_are_named(how: dict[str, Any], seen: str) -> None:
    with pytest.raises(InputError, match=seen):
        simulate("reversal", "flat", 2, **how)
