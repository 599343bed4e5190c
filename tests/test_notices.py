"""What check says is probably wrong: faults that were made are named, each by itself; honest data are not."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.study_files import study_folder
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.notices import ALPHA, COIN, LEARNS, _like_coins, notices_of, refused
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names, read_protocol
from holmes_fit.trials.reading import Check, check_data
from holmes_fit.trials.sequences import sequences_of
from holmes_fit.trials.writing import as_in_file
from tests.commands import Shell

CARDS = '[features]\nx1 = "binary"\nx2 = "binary"\nx3 = "binary"\nx4 = "binary"\n'
RESTARTING = '[columns]\nrestart = ["part"]\n'


@pytest.fixture(scope="module")
def honest() -> pd.DataFrame:
    """Twenty people who predict the weather."""
    cohort = simulate("weather_prediction", "rescorla_wagner", 20, seed=3, missed=0.02).cohort
    table = as_in_file(cohort.trials, cohort.protocol)
    return table.astype(dict.fromkeys(["x1", "x2", "x3", "x4", "choice", "outcome"], "Int64"))


def checked(folder: Path, table: pd.DataFrame, protocol: str = CARDS) -> Check:
    table.to_csv(folder / "data.csv", index=False)
    return check_data(folder / "data.csv", read_protocol(protocol))


def kinds(check: Check) -> list[str]:
    assert check.problems == ()
    return [notice.kind for notice in check.notices]


# --- Honest data


@pytest.mark.parametrize("name", protocol_names())
def test_simulated_people_give_no_notice(name: str) -> None:
    for seed, subjects in ((11, 5), (12, 20)):
        sequences = sequences_of(simulate(name, "flat", subjects, seed=seed, missed=0.03).cohort)
        assert notices_of(sequences) == ()
        assert list(refused(sequences)) == []


@pytest.mark.parametrize("name", ["compositional_3", "weather_prediction"])
def test_the_example_cohorts_give_no_notice(name: str) -> None:
    assert kinds(check_data(study_folder("data") / f"{name}.csv", name)) == []


# --- Faults


def restarted_within_a_task(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    return table.assign(part=(table["trial"] - 1) // 16), RESTARTING + CARDS


def named_by_trial(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    items = sorted({str(trial) for trial in table["trial"]})
    return table.assign(item=table["trial"]), CARDS + f"item = {{ levels = {json.dumps(items)} }}\n"


def three_names_a_problem(table: pd.DataFrame, protocol: str) -> tuple[pd.DataFrame, str]:
    """Replace the cards by one of 27 names, three in each of nine problems."""
    part = (table["trial"] - 1) // 23
    guesses = at_random(table, part.diff() != 0)  # nobody knows a new problem
    table = table.assign(part=part, name=[f"n{n}" for n in 3 * part + table["x1"] + table["x2"]], choice=guesses)
    return table, protocol + f"[features]\nname = {{ levels = {json.dumps([f'n{n}' for n in range(27)])} }}\n"


def with_cue(table: pd.DataFrame, values: pd.Series) -> tuple[pd.DataFrame, str]:
    return table.assign(extra=values.astype("Int64").fillna(0)), CARDS + 'extra = "binary"\n'


def answered(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["choice"].notna()].assign(trial=lambda own: own.groupby("subject").cumcount() + 1)


def of_some(table: pd.DataFrame, n: int) -> pd.Series:
    return table["subject"].isin(table["subject"].unique()[:n])


def at_random(table: pd.DataFrame, where: pd.Series) -> pd.Series:
    coin = pd.Series(np.random.default_rng(5).integers(0, 2, len(table)), index=table.index)
    return table["choice"].mask(where & table["choice"].notna(), coin)


def bandit(table: pd.DataFrame, better: Callable[[pd.DataFrame], pd.Series | int]) -> tuple[pd.DataFrame, str]:
    """Make the outcome a reward, with .8 after the better option and .2 after the other one."""
    rng = np.random.default_rng(6)
    takes_better = pd.Series(rng.random(len(table)) < 0.9, index=table.index)
    choice = pd.Series(np.where(takes_better, better(table), 1 - better(table)), index=table.index)
    reward = (rng.random(len(table)) < np.where(takes_better, 0.8, 0.2)).astype(int)
    return table.assign(choice=choice, outcome=reward), CARDS


FAULTS: dict[str, tuple[Callable[[pd.DataFrame], tuple[pd.DataFrame, str]], str, str]] = {
    "a restart where people go on": (restarted_within_a_task, "remembered", "after a restart (part), as if they"),
    "a cue that names the trial": (named_by_trial, "unrepeated_cues", "Cue item: on only 0% of a learner's trials"),
    "a name for every problem": (
        lambda table: three_names_a_problem(table, RESTARTING),
        "unused_levels",
        "a learner sees 3 of its 27 levels",
    ),
    "names that come and go": (lambda table: three_names_a_problem(table, ""), "stretches", "in one stretch of the"),
    "the answer as a cue": (
        lambda table: with_cue(answered(table), answered(table)["choice"]),
        "answer_in_cue",
        "Cue extra tells the answer on each trial",
    ),
    "whether it was right, as a cue": (
        lambda table: with_cue(table, table["choice"] == table["outcome"]),
        "answer_in_cue",
        "Cue extra tells whether the answer was right",
    ),
    "the outcome as a cue": (
        lambda table: with_cue(table, table["outcome"]),
        "outcome_in_cue",
        "Cue extra alone tells every outcome, and the others tell some of them, yet in the second half",
    ),
    "an outcome that never varies": (
        lambda table: (table.assign(outcome=1), CARDS),
        "outcome",
        "The outcome is 1 on all 4,000 trials",
    ),
    "an outcome that never varies for some": (
        lambda table: (table.assign(outcome=table["outcome"].mask(of_some(table, 2), 0)), CARDS),
        "outcome_of_people",
        "2 of 20 people (s01, s02): the outcome is the same",
    ),
    "choices of another file": (
        lambda table: (table.assign(choice=at_random(table, table["trial"] > 0)), CARDS),
        "unrelated",
        "Choices do not follow outcomes: ",
    ),
    "keys turned round for some": (
        lambda table: (table.assign(choice=table["choice"].mask(of_some(table, 3), 1 - table["choice"])), CARDS),
        "turned_round",
        "Are their keys (see [choice.by]) turned round?",
    ),
    "a coding turned round": (
        lambda table: (table.assign(choice=1 - table["choice"]), CARDS),
        "turned_round",
        "Are the codings of choice and outcome turned round?",
    ),
    "a bandit": (
        lambda table: bandit(table, lambda _: 1),
        "decided_by_answers",
        "Does the outcome depend on the answer",
    ),
    "an outcome that is the answer at first": (
        lambda table: (table.assign(outcome=table["outcome"].mask(table["trial"] == 1, table["choice"])), CARDS),
        "known_from_the_start",
        "before anything was shown",
    ),
    "a bandit with counterbalanced arms": (
        lambda table: bandit(table, lambda own: of_some(own, 10).astype(int)),
        "turned_round",
        "Or does the outcome depend on the answer",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_gives_its_notice_and_no_other(fault: str, honest: pd.DataFrame, tmp_path: Path) -> None:
    spoil, kind, words = FAULTS[fault]
    check = checked(tmp_path, *spoil(honest))
    assert kinds(check) == [kind]
    assert words in check.notices[0].text


def test_data_are_honest_before_they_are_spoilt(honest: pd.DataFrame, tmp_path: Path) -> None:
    check = checked(tmp_path, honest)
    assert kinds(check) == []
    assert check.cohort is not None
    assert check.cohort.notices == ()


def test_people_who_answer_like_coins_are_named_together(honest: pd.DataFrame, tmp_path: Path) -> None:
    """A coin is told from a learner in most cases, though not in all."""
    check = checked(tmp_path, honest.assign(choice=at_random(honest, of_some(honest, 8))))
    assert kinds(check) == ["coin"]
    n = int(check.notices[0].text.split()[0])
    assert 3 <= n <= 8
    assert f"and {n - 3} more" not in check.notices[0].text.split("): no better than a coin")[1]


def test_restarts_that_are_right_are_left_alone(tmp_path: Path) -> None:
    cohort = simulate("shepard", "rescorla_wagner", 20, seed=1).cohort
    assert notices_of(sequences_of(cohort)) == ()


# --- What is refused


def test_feedback_that_depends_on_the_answer_is_refused(honest: pd.DataFrame, tmp_path: Path) -> None:
    only_after_1 = honest.assign(outcome=honest["outcome"].astype("Int64").mask(honest["choice"] != 1))
    check = checked(tmp_path, only_after_1)
    assert check.cohort is None
    (problem,) = check.problems
    assert "column outcome: saw feedback that depends on the answer, for 20 of 20 people" in str(problem)
    assert "an outcome that does not depend on the answer" in problem.advice


def test_feedback_on_some_trials_is_not_refused(honest: pd.DataFrame, tmp_path: Path) -> None:
    mostly = honest["choice"].eq(1) & (honest["trial"] % 4 > 0) | (honest["trial"] % 4 == 0)
    tests = honest["trial"] > 150
    for hidden in (~mostly, tests):
        outcome = honest["outcome"].astype("Int64").mask(hidden)
        assert checked(tmp_path, honest.assign(outcome=outcome)).problems == ()


def test_three_options_are_refused_by_name(honest: pd.DataFrame, tmp_path: Path) -> None:
    check = checked(tmp_path, honest.assign(choice=honest["choice"].mask(honest["trial"] % 3 == 0, 2)))
    assert check.cohort is None
    text = str(check.problems[0])
    assert "saw 3 different values: 0, 1, 2" in text
    assert "one of two answers" in text


# --- How often honest people are named


def test_people_who_learn_are_seldom_taken_for_coins() -> None:
    """At the least that counts as learning, and by one measure alone, no more often than is said."""
    rng, n, people = np.random.default_rng(8), 200, 20_000
    level = 0.01  # larger than for a cohort, so that it can be counted
    counts = np.full(people, n)
    measures = {name: (rng.binomial(n, 0.5, people), counts) for name in ("late", "last", "most")}
    learning = {"hits": (rng.binomial(n, LEARNS, people), counts), **measures}
    named = int(_like_coins(learning, LEARNS, level).sum())
    assert named <= level * people + 4 * np.sqrt(level * people)
    coins = {"hits": (rng.binomial(n, 0.5, people), counts), **measures}
    assert _like_coins(coins, LEARNS, level).mean() > 0.5


def test_guessers_are_seldom_taken_for_people_who_remember() -> None:
    """On first trials after a restart, whatever the base rate of outcomes and the bias of the guesses."""
    rng, found, tried = np.random.default_rng(9), 0, 0
    protocol = load_protocol("shepard")
    cohort = simulate(protocol, "rescorla_wagner", 15, seed=2).cohort
    sequences = sequences_of(cohort)
    first = sequences.position == 0
    for rate in (0.5, 0.8):
        for _ in range(150):
            sequences.outcome[first] = rng.random(first.sum()) < rate
            sequences.choice[first] = rng.random(first.sum()) < rate
            vars(sequences).pop("hit", None)
            found += any(notice.kind in ("remembered", "known_from_the_start") for notice in notices_of(sequences))
            tried += 1
    assert found <= 2 * ALPHA * tried + 4 * np.sqrt(2 * ALPHA * tried)
    assert COIN >= ALPHA


# --- The command


def test_check_ends_with_3_and_says_what_to_look_at(honest: pd.DataFrame, tmp_path: Path, shell: Shell) -> None:
    path, protocol = tmp_path / "data.csv", tmp_path / "cards.toml"
    honest.assign(outcome=1).to_csv(path, index=False)
    protocol.write_text(CARDS)
    _, err = shell("check", path, "--protocol", protocol, code=3)
    assert "Look at this before anything is fitted:\n  The outcome is 1 on all 4,000 trials" in err
    found = json.loads(shell("check", path, "--protocol", protocol, "--json", code=3)[0])
    assert [notice["kind"] for notice in found["notices"]] == ["outcome"]
    assert found["exit_code"] == 3
