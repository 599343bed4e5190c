"""Drafts of protocols: right for the shipped tables and for imported ones, and open about what cannot be known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes_fit._support.errors import InputError
from holmes_fit._support.study_files import study_folder
from holmes_fit.trials.importing.draft import Draft, draft_protocol
from holmes_fit.trials.importing.reading import import_files
from holmes_fit.trials.new_study import TEMPLATES
from holmes_fit.trials.protocols.catalogue import load_protocol, read_protocol
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import read_cohort
from holmes_fit.trials.text_tables import printable
from tests.fuzzing import EFFORT, assert_clear, mutated, rng_for, tried
from tests.lab_files import LABS


def drafted(table: pd.DataFrame) -> tuple[Protocol, Draft]:
    draft = draft_protocol(table, "mine")
    protocol = read_protocol(draft.toml)
    for text in (*draft.reasons, *draft.undecided):
        assert f"# - {text[:100]}" in draft.toml
    return protocol, draft


def table_of(**columns: Any) -> pd.DataFrame:
    """Two people, eight trials each, with a binary cue; columns are added or replaced, ``None`` takes one away."""
    both = {
        "subject": ["a"] * 8 + ["b"] * 8,
        "trial": [*range(1, 9)] * 2,
        "tone": [0, 1] * 8,
        "choice": [0, 0, 1, 1] * 4,
        "outcome": [0, 1, 1, 0] * 4,
    }
    return pd.DataFrame({name: cells for name, cells in (both | columns).items() if cells is not None})


def questions(**columns: Any) -> str:
    return "\n".join(drafted(table_of(**columns))[1].undecided)


@pytest.mark.parametrize("name", ["weather_prediction", "compositional_3"])
def test_shipped_data(name: str) -> None:
    path = study_folder("data") / f"{name}.csv"
    protocol, draft = drafted(import_files(path).table)
    shipped = load_protocol(name)
    assert list(protocol.features) == list(shipped.features)
    assert all(feature.bits == {"0": (0,), "1": (1,)} for feature in protocol.features.values())
    ours, theirs = read_cohort(path, protocol), read_cohort(path, shipped)
    for mine, other in zip(ours.learners, theirs.learners, strict=True):
        assert mine.choices.tolist() == other.choices.tolist()
        assert mine.observations.outcome.tolist() == other.observations.outcome.tolist()
    assert len(draft.undecided) == 1
    if name == "compositional_3":
        assert draft.undecided[0].startswith("features.level_1: it has the numbers 0, 1, 2, 3, which may be")
    else:
        assert protocol.columns.optional_covariates == ("group",)
        assert draft.undecided[0].startswith("block (1, 2, 3, 4): kept as it is")


def test_the_example_of_a_new_study() -> None:
    path = TEMPLATES / "example.csv"
    protocol, draft = drafted(import_files(path).table)
    template = load_protocol(TEMPLATES / "my_task.toml")
    assert protocol.columns == template.columns
    assert protocol.choice.coding == protocol.outcome.coding == template.choice.coding
    assert protocol.features["big"] == template.features["big"]
    assert protocol.features["shape"] == template.features["shape"]
    assert protocol.features["color"].coding == {"blue": 0, "red": 1}
    assert [text.split(":")[0] for text in draft.undecided] == ["features.shape", "features.color"]
    assert '# rt = { column = "rt", min = 0.1, max = 5.0 }' in draft.toml
    assert len(read_cohort(path, protocol).learners) == 8


def test_words_are_coded() -> None:
    words = table_of(choice=["Sun", "Rain", "missed", ""] * 4, outcome=["Rain", "Sun"] * 8, tone=["on", "off"] * 8)
    protocol, _ = drafted(words)
    assert protocol.choice.coding == protocol.outcome.coding == {"Sun": 0, "Rain": 1}
    assert protocol.choice.missing == ("missed",)
    assert protocol.features["tone"].coding == {"off": 0, "on": 1}


def test_outcomes_with_words_of_their_own_are_matched_by_what_was_right() -> None:
    keys, cards = ["f", "j", "j", "f"] * 4, ["wet", "wet", "dry", "dry"] * 4
    right = [int((key == "f") == (card == "wet")) for key, card in zip(keys, cards, strict=True)]
    protocol, draft = drafted(table_of(choice=keys, outcome=cards, correct=right))
    assert protocol.outcome.coding == {"wet": 0, "dry": 1}
    assert "outcome.coding: wet is 0, as f is; so it is in 100% of the right answers by correct" in draft.reasons
    assert "outcome.coding: dry is 0, as f is; that is a guess" in questions(choice=keys, outcome=cards)


def test_of_several_outcomes_the_one_that_makes_answers_right_is_taken() -> None:
    table = pd.concat([table_of().assign(trial=table_of()["trial"] + 8 * i) for i in range(4)], ignore_index=True)
    table = table.rename(columns={"outcome": "Actual.Outcome"})
    table["category"] = [1, 2, 2] * 21 + [1]
    table["acc"] = (table["choice"] == table["Actual.Outcome"]).astype(int)
    table["choice_text"] = table["choice"].map({0: "no", 1: "yes"})
    protocol, draft = drafted(table)
    assert protocol.columns.outcome == "Actual.Outcome"
    assert list(protocol.features) == ["tone", "category"]
    assert any("no cue: choice_text, as it says the same as choice" in text for text in draft.reasons)


def test_correct_stands_in_for_an_outcome() -> None:
    protocol, _ = drafted(table_of(outcome=None, accuracy=["True", "False"] * 8))
    assert protocol.columns.correct == "accuracy"
    codes = drafted(table_of(outcome=None, choice=None, key_press=[65, 76, None, 65] * 4, correct=[1, 0, None, 0] * 4))
    assert codes[0].columns.choice == "key_press"  # as jsPsych 6 writes keys
    assert codes[0].choice.coding == {"65": 0, "76": 1}
    assert protocol.correct.coding == {"False": 0, "True": 1}


def test_cues_and_what_is_none() -> None:
    protocol, draft = drafted(
        table_of(
            color=["red", "green", "blue", "red"] * 4,
            same=["r", "g", "b", "r"] * 4,
            pair=[f"{i % 2}{'rgbr'[i % 4]}" for i in range(16)],
            reward=[0, 1] * 8,
            odd=[0] * 15 + [None],
            size=[1, 2, 5, 7, 2, 1, 7, 5] * 2,
            gap=[1, None] * 8,
            age=[20] * 8 + [30] * 8,
        )
    )
    assert list(protocol.features) == ["tone", "same"]
    assert protocol.features["same"].levels == ("b", "g", "r")
    assert "no cue: color, as it says the same as same" in draft.reasons
    assert "no cue: reward, as its name says that it describes the trial, or comes after the choice" in draft.reasons
    assert protocol.columns.optional_covariates == ("age",)
    assert any(text.startswith("features.size: it has the numbers 1, 2, 5, 7") for text in draft.undecided)
    assert any(text.startswith("no cue: pair, as it follows from tone, same") for text in draft.reasons)


def test_the_items_of_a_questionnaire_are_no_covariates() -> None:
    items = {f"q{i}": ["no"] * 8 + ["yes"] * 8 for i in range(9)}
    for n, covariates in ((8, ("sex", *[f"q{i}" for i in range(8)])), (9, ("sex",))):
        given = {"sex": ["f"] * 8 + ["m"] * 8, "text.started": [0.1] * 8 + [0.2] * 8, **dict(list(items.items())[:n])}
        protocol, draft = drafted(table_of(**given))
        assert protocol.columns.optional_covariates == covariates
    assert any(text.startswith("no covariates: q0, q1") for text in draft.reasons)


def test_marks_of_odd_trials_are_no_cues() -> None:
    rows = pd.concat([table_of(), *[table_of().assign(trial=table_of()["trial"] + 8 * i) for i in range(1, 4)]])
    rows["odd"] = [1, *[0] * 63]
    assert any("in 1.6% of the rows only" in text for text in drafted(rows)[1].undecided)
    _, draft = drafted(rows.rename(columns={"odd": "catch"}))
    asked = "catch 1: 1 rows look as if they were set apart; if they do not count, take the # away before drop.catch"
    assert asked in draft.undecided
    assert '# [rows]\n# drop.catch = ["1"]\n' in draft.toml


def test_what_is_undecided_is_said() -> None:
    assert "columns.subject: no filled column" in questions(subject=None)
    assert "columns.trial: no column of whole numbers" in questions(trial=None)
    assert "columns.trial: the numbers in trial repeat within a person" in questions(trial=[1, 2, 3, 4] * 4)
    assert "columns.choice: choice has 4 values (0, 1, 2, 3); every one needs" in questions(choice=[0, 1, 2, 3] * 4)
    assert "ratings can have a threshold, such as above = 50" in questions(choice=[0, 30, 50, 100] * 4)
    assert 'columns.outcome: no column with two values has a name such as "outcome"' in questions(outcome=None)
    assert "features: no column looks like a cue" in questions(tone=None)
    phases = questions(phase=["training"] * 6 + ["test"] * 2 + ["training"] * 6 + ["test"] * 2)
    assert "phase (test, training): kept as it is" in phases
    assert "phase test: if no outcome was shown there" in phases


def test_rows_that_are_no_trials_are_passed_over() -> None:
    """The cues of fixations are empty, and their answers none; practice may look like trials."""
    rows = pd.DataFrame({"choice": ["go", None, 0, 1], "outcome": [None, None, 1, 0], "tone": [None, None, 0, 1]})
    rows = rows.assign(sender=["form", "fixation", "trial", "trial"], loop=["practice", "main", "main", "main"])
    table = pd.concat([rows] * 8, ignore_index=True).assign(subject=["a"] * 16 + ["b"] * 16, trial=[*range(1, 17)] * 2)
    protocol, draft = drafted(table)
    assert (protocol.columns.choice, list(protocol.features), protocol.allow_gaps) == ("choice", ["tone"], True)
    assert draft.undecided[0] == (
        "rows: 16 with sender form, fixation have neither an outcome nor two answers; they are left out as no trials, "
        "by keep.sender"
    )
    cohort = read_cohort(table, protocol)
    assert len(cohort.trials) == 16
    assert draft_protocol(table, "mine", all_rows=True).undecided[1].startswith("columns.choice: choice has 3 values")
    both = draft_protocol(table_of(block=["practice"] * 4 + ["main"] * 12), "mine")
    asked = "block practice: 4 rows look like practice; if they do not count, take the # away before drop.block"
    assert both.undecided[0] == asked
    assert '# [rows]\n# drop.block = ["practice"]\n' in both.toml
    without = read_protocol(both.toml.replace("# [rows]\n# drop", "[rows]\ndrop"))
    assert without.rows.drop["block"].values == ("practice",)


@pytest.mark.parametrize(("kinds", "trials"), [(["", "", "", "rest"], [""]), (["", "a", "a", "rest"], ["", "a"])])
def test_rows_without_a_kind_may_be_trials(kinds: list[str], trials: list[str]) -> None:
    answers = {"choice": [0, 1, 1, None] * 4, "outcome": [0, 1, 0, None] * 4}
    table = table_of(trial_type=kinds * 4, **answers)
    protocol, draft = drafted(table)
    assert draft.trials == {"trial_type": trials}
    assert len(read_cohort(table, protocol).trials) == 12


def test_what_was_shown_may_be_called_feedback() -> None:
    answers, shown = ["L", "R", "-", "R"] * 4, ["L", "L", "R", "-"] * 4
    protocol, draft = drafted(table_of(choice=None, outcome=None, Response=answers, Feedback=shown, won=[1, 0] * 8))
    assert (protocol.columns.outcome, protocol.columns.feedback) == ("Feedback", None)
    assert protocol.outcome.coding == protocol.choice.coding == {"L": 0, "R": 1}
    assert protocol.outcome.missing == ("-",)
    assert "outcome: Feedback, as it has the values of the answers, L, R" in draft.reasons
    assert 'no column with two values has a name such as "outcome"' in questions(outcome=None, correct=[0, 1, 2, 3] * 4)


def test_counters_are_no_cues() -> None:
    row = [i % 8 + 10 for i in range(16)]
    assert "no cue: row, as it never repeats within a learner, as counters do" in drafted(table_of(row=row))[1].reasons


def test_gaps_feedback_and_problems() -> None:
    protocol, draft = drafted(
        table_of(
            trial=[1, 2, 3, 5, 1, 2, 3, 4] * 2,
            problem=([1] * 4 + [2] * 4) * 2,
            feedback=["yes", "no"] * 8,
            tone=[0, 1, 1, 0] * 4,
        )
    )
    assert protocol.columns.restart == ("problem",)
    assert protocol.columns.feedback == "feedback"
    assert protocol.feedback.coding == {"no": 0, "yes": 1}
    assert protocol.allow_gaps
    assert any(text.startswith("allow_gaps: the numbers of 2 learners leave trials out") for text in draft.undecided)


def test_tables_that_are_none() -> None:
    with pytest.raises(InputError, match="argument table: saw 3; allowed: a DataFrame with a row a trial"):
        draft_protocol(3, "x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"table \(DataFrame, rows from 0\): saw a table without rows"):
        draft_protocol(table_of()[:0], "x")
    with pytest.raises(InputError, match="header: saw 'subject'; allowed: each column name once"):
        draft_protocol(pd.concat([table_of(), table_of()], axis=1), "x")


SEVEN = {
    "packed": ("phase practice|columns.trial|block|phase|features.type|features.stim", ["stim_1", "stim_2", "stim_3"]),
    "events": ("rows|columns.trial|features.stimulus|features", []),
    "causal": ("rows|columns.order|phase|phase test", ["cause_a", "cause_b"]),
    "names": ("columns.outcome", ["fruit"]),
    "six": ("imputed 1|features.exemplar", [f"exemplar_{i}" for i in range(1, 7)]),
    "clock": ("columns.trial", ["card_1", "card_2"]),
    "ratings": ("response|features.cue", ["cue"]),
}


@pytest.mark.parametrize("lab", SEVEN)
def test_drafts_read_the_files_of_seven_labs(lab: str, tmp_path: Path) -> None:
    """They need no editing to be read; what a person has to decide is said, and nothing else."""
    table = import_files(LABS[lab].write(tmp_path)).table
    protocol, draft = drafted(table)
    undecided, features = SEVEN[lab]
    assert "|".join(text.partition(":")[0].partition(" (")[0] for text in draft.undecided) == undecided
    assert list(protocol.features) == features
    cohort = read_cohort(table, protocol)
    assert cohort.subjects["subject"].nunique() >= len(LABS[lab].subjects)
    assert len(cohort.trials) >= LABS[lab].trials


def test_what_is_made_of_the_columns_of_a_file(tmp_path: Path) -> None:
    """Decided as the lab decided, a draft reads what the lab's own protocol reads."""
    wide = import_files(LABS["ratings"].write(tmp_path)).table
    protocol, _ = drafted(wide)
    assert protocol.wide == {"cue": "cue_{trial}", "rating": "rating_{trial}", "outcome": "outcome.{trial}"}
    assert protocol.response is not None
    assert (protocol.response.column, protocol.response.high, protocol.response.step) == ("rating", 100, 1)
    packed = import_files(LABS["packed"].write(tmp_path)).table
    toml = draft_protocol(packed, "mine").toml.replace("restart = []", 'restart = ["type"]')
    toml = toml.replace("# [rows]\n# drop", "[rows]\ndrop") + '[exclusions.people]\n9 = "asked to stop"\n'
    ours, theirs = read_cohort(packed, read_protocol(toml)), read_cohort(packed, read_protocol(LABS["packed"].protocol))
    for mine, other in zip(ours.learners, theirs.learners, strict=True):
        assert mine.choices.tolist() == other.choices.tolist()
        assert mine.observations.cues.tolist() == other.observations.cues.tolist()
    events = drafted(import_files(LABS["events"].write(tmp_path)).table)[0]
    assert events.new_columns["answer"].of == ("key_left", "key_right")
    causal = drafted(import_files(LABS["causal"].write(tmp_path)).table)[0]
    assert causal.columns.trial == ("phase", "trial")
    assert causal.columns.order == {"phase": ("test", "training")}
    names = drafted(import_files(LABS["names"].write(tmp_path)).table)[0]
    assert (names.features["fruit"].levels, names.features["fruit"].anew) == (("1", "2", "3"), ("problem",))


def test_answers_in_several_columns_are_joined_where_no_column_has_them_all() -> None:
    left, right = [0, None] * 8, [None, 1] * 8
    keys = {"choice": None, "key_1": left, "key_2": right}
    assert drafted(table_of(**keys))[0].new_columns["answer"].of == ("key_1", "key_2")
    assert not drafted(table_of(**keys | {"choice": [0, 1] * 8}))[0].new_columns
    assert not drafted(table_of(**keys | {"key_2": [None, 1, 1, 1] * 4, "key_1": [0, 0, None, 0] * 4}))[0].new_columns


def test_cells_with_several_cues() -> None:
    shown = [f"{shape}-{size}-{color}" for shape in ("dot", "star") for size in ("big",) for color in ("red", "blue")]
    protocol, draft = drafted(table_of(tone=None, card=(shown * 4)))
    assert list(protocol.features) == ["card_1", "card_2"]
    assert (protocol.new_columns["card_1"].part, protocol.new_columns["card_2"].part) == (1, 3)
    assert "features.card: its cells have parts, card_1 (dot, star), card_2 (blue, red)" in "\n".join(draft.undecided)
    both = drafted(table_of(tone=None, card=shown * 4, shape=[name.split("-")[0] for name in shown * 4]))[0]
    assert list(both.features) == ["card_2", "shape"]
    assert list(both.new_columns) == ["card_2"]
    assert list(drafted(table_of(tone=None, card=["a-b", "c-d", "e"] * 5 + ["e"]))[0].features) == ["card"]
    assert list(drafted(table_of(tone=None, card=["11", "23", "34"] * 5 + ["11"]))[0].new_columns) == []


def test_columns_that_are_numbered_but_no_trials() -> None:
    cards = {f"x{i}": [0, 1, i % 2, 1] * 4 for i in range(1, 6)}
    assert not drafted(table_of(tone=None, **cards))[0].wide
    one_row = pd.DataFrame({"id": ["a", "b"], **{f"x{i}": [0, 1] for i in range(1, 6)}})
    assert not drafted(one_row)[0].wide
    two = {f"b{block}_t{trial}_{what}": [0, 1] for block in (1, 2) for trial in (1, 2, 3) for what in ("resp", "cue")}
    protocol, _ = drafted(pd.DataFrame({"id": ["a", "b"], **two}))
    assert protocol.wide == {"resp": "b{block}_t{trial}_resp", "cue": "b{block}_t{trial}_cue"}
    assert protocol.columns.trial == ("block", "trial")


def test_trials_in_another_order_than_the_file() -> None:
    blocks = [2] * 4 + [1] * 4
    protocol, draft = drafted(table_of(trial=[1, 2, 3, 4] * 4, block=blocks * 2))
    assert protocol.columns.trial == ("block", "trial")
    assert any("the file is in another order. Which one is right?" in text for text in draft.undecided)
    protocol, draft = drafted(table_of(trial=[1, 2, 3, 4] * 4, block=sorted(blocks) * 2))
    assert any("block, trial order the trials together" in text for text in draft.reasons)


NAMES = st.one_of(
    st.sampled_from(["subject", "trial", "problem", "block", "choice", "outcome", "correct", "feedback", "rt", "cue"]),
    st.sampled_from(
        [f"{name}_{i}" for name in ("cue", "key", "b1_t") for i in range(1, 5)] + ["reward", "phase", "rating"]
    ),
    st.sampled_from(["restart", "excluded_choice", "group", "Key Resp.keys", "a.b", 'q"uote', "new\nline", "é", " x "]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
)
CELLS = st.one_of(
    st.sampled_from(["", "0", "1", "left", "right", "NA", "timeout", "Yes", "no", "1.0", "-2", "1e400", "é", '"\n\\']),
    st.sampled_from(["a-b", "a-c", "b-b", "101", "111", "1-2-3", "9:05", "practice", "7", "33", "x"]),
    st.sampled_from([None, 0, 1, 2.5, float("nan"), True, [1], pd.NaT, pd.NA, np.int64(3), np.array([1, 2])]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
)


@settings(max_examples=150 * EFFORT, deadline=None)
@given(
    names=st.lists(NAMES, min_size=1, max_size=8, unique_by=lambda name: printable(name).strip()),
    rows=st.lists(st.lists(CELLS, min_size=8, max_size=8), min_size=1, max_size=8),
)
def test_any_table_has_a_draft(names: list[str], rows: list[list[object]]) -> None:
    table = pd.DataFrame([row[: len(names)] for row in rows], columns=names, dtype="object")
    drafted(table)


@pytest.mark.parametrize("lab", LABS)
def test_spoilt_files_have_a_draft_that_reads_them_or_says_why_not(lab: str, tmp_path: Path) -> None:
    rng = rng_for(f"draft {lab}")
    read = 0
    for _ in range(12 * EFFORT):
        paths = LABS[lab].write(tmp_path)
        for path in paths:
            path.write_bytes(mutated(path.read_bytes(), rng, most=2))
        imported = tried(lambda paths=paths: import_files(paths))
        if isinstance(imported, InputError):
            assert_clear(imported)
            continue
        protocol, _ = drafted(imported.table)
        cohort = tried(lambda table=imported.table, protocol=protocol: read_cohort(table, protocol))
        read += not isinstance(cohort, InputError)
        if isinstance(cohort, InputError):
            assert_clear(cohort)
    assert read
