"""Right answers by covariates: against a closed form, a cluster bootstrap, known effects, and what cannot be told."""

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

from holmes_fit.groups.pooling.behaviour import behaviour_in_words, regress, regress_behaviour, right_answers
from holmes_fit.runs.schema import of
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Cohort, build_cohort

SEED = 20264
Answers = tuple[NDArray[np.float64], NDArray[np.intp]]


def answers_of(chances: NDArray[np.float64], n: int, rng: np.random.Generator) -> Answers:
    correct = rng.random((len(chances), n)) < chances[:, None]
    return correct.astype(np.float64).ravel(), np.repeat(np.arange(len(chances)), n)


def people_of(group: NDArray[np.int64], rng: np.random.Generator, shares: tuple[float, float] = (0.6, 0.75)) -> NDArray:
    """People who differ within groups whose mean shares of right answers are known, so that log odds are, too."""
    mean = np.where(group == 1, shares[1], shares[0])
    return rng.beta(8 * mean, 8 * (1 - mean))


def with_ones(*columns: NDArray) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(columns[0])), *columns]).astype(np.float64)


def test_two_groups_are_as_in_the_closed_form() -> None:
    """With as many answers from everyone, log odds of a group's share, and a variance from people's own sums."""
    rng = np.random.default_rng(SEED)
    group, n = np.array([0, 1, 1, 0, 1, 1, 0, 0, 1]), 30
    correct, person = answers_of(people_of(group, rng), n, rng)
    found, warning = regress(correct, with_ones(group), person)
    assert warning == ""
    odds, variances = [], []
    for which in (0, 1):
        right = correct.reshape(-1, n).sum(axis=1)[group == which]
        share, people = right.sum() / (len(right) * n), len(right)
        odds.append(logit(share))
        away = (right - n * share) / (1 - 1 / people)  # as far as someone is from the group of the others
        variances.append(np.sum(away**2) / (people * n * share * (1 - share)) ** 2)
    error = np.sqrt(sum(variances))
    assert found[:, 0] == pytest.approx([odds[0], odds[1] - odds[0]], abs=1e-6)
    assert found[:, 1] == pytest.approx([np.sqrt(variances[0]), error], rel=1e-6)
    half = stats.t.ppf(0.975, 7) * error
    assert found[1, 2:4] == pytest.approx([odds[1] - odds[0] - half, odds[1] - odds[0] + half], abs=1e-5)
    assert found[1, 4] == pytest.approx(2 * stats.t.sf(abs(odds[1] - odds[0]) / error, 7), rel=1e-5)


def test_errors_are_those_of_resampled_people() -> None:
    """A bootstrap of people knows nothing of estimating equations. Answers as units would give a third of the error."""
    rng = np.random.default_rng(SEED)
    group = np.arange(60) % 2
    correct, person = answers_of(people_of(group, rng), 80, rng)
    found, _ = regress(correct, with_ones(group), person)
    shares = correct.reshape(60, 80).mean(axis=1)
    drawn = [rng.choice(shares[group == which], (4000, 30)).mean(axis=1) for which in (0, 1)]
    assert found[1, 1] == pytest.approx(np.std(logit(drawn[1]) - logit(drawn[0])), rel=0.1)


def test_intervals_hold_a_known_effect() -> None:
    """Twelve people: with errors for many people, 90% of 300 intervals would."""
    rng = np.random.default_rng(SEED)
    group, truth = np.arange(12) % 2, logit(0.75) - logit(0.6)
    held = 0
    for _ in range(300):
        found, _ = regress(*_in_order(answers_of(people_of(group, rng), 25, rng), with_ones(group)))
        held += found[1, 2] <= truth <= found[1, 3]
    assert stats.binomtest(int(held), 300, 0.95).pvalue > 0.001
    assert held / 300 > 0.92


def _in_order(answers: Answers, columns: NDArray[np.float64]) -> tuple[NDArray, NDArray, NDArray]:
    return answers[0], columns, answers[1]


def test_a_number_and_a_group_are_told_apart() -> None:
    """A known slope on the log odds of people who are otherwise alike; answers in any order."""
    rng = np.random.default_rng(SEED)
    age, group = rng.normal(size=400), rng.integers(0, 2, 400)
    correct, person = answers_of(expit(0.4 + 0.5 * age - 0.3 * group), 50, rng)
    found, _ = regress(correct, with_ones(age, group), person)
    assert np.all(np.abs(found[:, 0] - [0.4, 0.5, -0.3]) < 4 * found[:, 1])
    assert found[:, 1].max() < 0.05
    order = rng.permutation(len(person))
    again, _ = regress(correct[order], with_ones(age, group), person[order])
    assert again == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize(
    ("group", "shares", "message"),
    [
        ([0, 0, 1], (0.5, 0.5), "3 people with answers are too few for 2 coefficients"),
        ([0, 0, 1, 1, 1], (1.0, 1.0), "every answer is right"),
        ([0, 0, 1, 1, 1], (0.0, 0.0), "every answer is wrong"),
        ([0, 0, 0, 0, 1], (0.5, 0.5), "a coefficient depends on one person alone"),
        ([0, 0, 1, 1, 1], (0.5, 1.0), "is always right, or never"),
        ([1, 1, 1, 1, 1], (0.5, 0.5), "do not differ in every covariate"),
    ],
)
def test_what_answers_cannot_tell_is_said(group: list[int], shares: tuple[float, float], message: str) -> None:
    chances = np.where(np.array(group) == 1, shares[1], shares[0])
    correct, person = answers_of(chances, 20, np.random.default_rng(SEED))
    found, warning = regress(correct, with_ones(np.array(group)), person)
    assert message in warning
    assert np.isnan(found).all()


# --------------------------------------------------------------------------------------------------- from a cohort
@pytest.fixture(scope="module")
def cohort() -> Cohort:
    made = simulate("weather_prediction", "rescorla_wagner", groups={"old": 4, "young": 4}, seed=SEED, missed=0.1)
    people = made.cohort.subjects.assign(age=[60.0, 70.0, 65.0, 80.0, 20.0, 30.0, 25.0, 22.0])
    return build_cohort(made.cohort.trials, made.cohort.protocol, people)


def test_answers_that_count_are_given_and_have_feedback(cohort: Cohort) -> None:
    trials = cohort.trials.copy()
    trials.loc[trials.index[::7], "feedback"] = False
    changed = build_cohort(trials, cohort.protocol, cohort.subjects)
    subjects = list(cohort.subjects["subject"])[1:]
    found = right_answers(changed, subjects)
    expected = [
        (str(row.subject), float(row.choice == row.outcome))
        for row in changed.trials.itertuples()
        if row.subject in subjects and not pd.isna(row.choice) and row.feedback
    ]
    assert list(found.itertuples(index=False, name=None)) == expected
    assert 0 < len(expected) < len(trials)


def test_each_right_side_is_one_regression(cohort: Cohort) -> None:
    subjects = list(cohort.subjects["subject"])
    formulas = ["alpha ~ group", "omega ~  group", "beta ~ group + age"]
    table = regress_behaviour(cohort, formulas, subjects)
    assert tuple(table.columns) == of("behaviour.csv").columns
    assert list(table["formula"].unique()) == ["correct ~ group", "correct ~ group + age"]
    assert list(table["term"]) == ["Intercept", "group[T.young]", "Intercept", "group[T.young]", "age"]
    assert set(table["n_subjects"]) == {8}
    assert set(table["n_answers"]) == {len(right_answers(cohort, subjects))}
    assert (table["lower"] < table["estimate"]).all()
    assert (table["estimate"] < table["upper"]).all()


def test_words_have_each_covariate_or_say_why_not(cohort: Cohort) -> None:
    subjects = list(cohort.subjects["subject"])
    row = regress_behaviour(cohort, ["alpha ~ group"], subjects).iloc[1]
    words = behaviour_in_words(regress_behaviour(cohort, ["alpha ~ group"], subjects))
    start = "Right answers without a model (correct ~ group, log odds): group[T.young] "
    assert words.startswith(f"{start}{row['estimate']:+.2f} (95% {row['lower']:+.2f} to {row['upper']:+.2f}, p = .")
    few = behaviour_in_words(regress_behaviour(cohort, ["alpha ~ group"], subjects[2:5]))
    assert few.endswith("not estimated, as 3 people with answers are too few for 2 coefficients and their errors.")
