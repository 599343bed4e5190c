"""Raw files of seven labs, read as they are: each by its protocol, to the arrays that are computed here by hand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

from holmes_fit.cli.check_text import check_as_text
from holmes_fit.fitting.cohort import fit
from holmes_fit.reporting.writing import report
from holmes_fit.runs.fitted import fitted_run
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.observations import MISSED
from holmes_fit.trials.protocols.catalogue import protocol_names, read_protocol
from holmes_fit.trials.protocols.codings import Coding, Feature
from holmes_fit.trials.protocols.kept import kept_form
from holmes_fit.trials.protocols.layout import KINDS, NewColumn, RowRule, Rows
from holmes_fit.trials.protocols.schema import Columns, Exclusions, Protocol, RtWindow
from holmes_fit.trials.reading import check_data, read_cohort
from holmes_fit.trials.writing import write_trials
from tests.lab_files import LABS, Lab
from tests.small_fits import OBSERVER, small_preset

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "holmes_fit" / "trials" / "templates"


def read(tmp_path: Path, lab: Lab) -> Cohort:
    return read_cohort(lab.write(tmp_path), read_protocol(lab.protocol))


def read_text(tmp_path: Path, protocol: str, text: str) -> Cohort:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    return read_cohort(path, read_protocol(protocol))


def assert_same(left: Cohort, right: Cohort) -> None:
    pd.testing.assert_frame_equal(left.trials, right.trials)
    assert [(each.subject, each.restart) for each in left.learners] == [
        (each.subject, each.restart) for each in right.learners
    ]
    for ours, theirs in zip(left.learners, right.learners, strict=True):
        np.testing.assert_array_equal(ours.choices, theirs.choices)
        for name in ("cues", "outcome", "feedback"):
            np.testing.assert_array_equal(getattr(ours.observations, name), getattr(theirs.observations, name))


@pytest.mark.parametrize("name", LABS)
def test_a_lab_s_files_are_read_as_they_are(tmp_path: Path, name: str) -> None:
    lab = LABS[name]
    cohort = read(tmp_path, lab)
    assert tuple(cohort.subjects["subject"]) == lab.subjects
    assert (len(cohort.learners), len(cohort.trials)) == (lab.learners, lab.trials)
    assert set(cohort.trials["choice"].dropna()) == {0, 1}
    for learner in cohort.learners:
        own = cohort.trials.iloc[learner.rows]
        assert own["trial"].tolist() == list(range(1, len(own) + 1))


@pytest.mark.parametrize("name", LABS)
def test_what_a_run_keeps_reads_back_the_same(tmp_path: Path, name: str) -> None:
    cohort = read(tmp_path, LABS[name])
    write_trials(cohort.trials, cohort.protocol, tmp_path / "kept.csv")
    kept = kept_form(cohort.protocol)
    assert kept_form(kept) is kept
    again = read_cohort(tmp_path / "kept.csv", kept)
    assert_same(cohort, again)
    write_trials(again.trials, kept, tmp_path / "twice.csv")
    assert (tmp_path / "twice.csv").read_bytes() == (tmp_path / "kept.csv").read_bytes()


@pytest.mark.parametrize("name", LABS)
def test_a_protocol_survives_the_way_into_a_run_and_back(name: str) -> None:
    protocol = read_protocol(LABS[name].protocol)
    assert protocol.rearrangements
    assert Protocol.model_validate_json(protocol.model_dump_json(exclude_unset=True)) == protocol


@pytest.mark.parametrize("name", protocol_names())
def test_keys_that_are_not_used_leave_no_trace_in_what_is_written(name: str) -> None:
    from holmes_fit.trials.protocols.catalogue import load_protocol

    written = load_protocol(name).model_dump_json()
    for key in ("order", "rows", "wide", "new_columns", "people", "above", "below", "exactly", "anew", "unit"):
        assert f'"{key}"' not in written
    assert '"trial":"trial"' in written


@pytest.mark.parametrize("name", ["packed", "ratings"])
def test_raw_files_are_fitted_and_the_run_goes_on_and_is_read_back(tmp_path: Path, name: str) -> None:
    cohort = read(tmp_path, LABS[name])
    choices = {"models": ["flat"], "preset": small_preset(tmp_path), "observer": OBSERVER, "workers": 1}
    fits = fit(cohort, out=tmp_path / "run", **choices)  # type: ignore[arg-type]
    before = (tmp_path / "run" / "fits.csv").read_bytes()
    fit(read(tmp_path, LABS[name]), out=tmp_path / "run", **choices)  # type: ignore[arg-type]
    assert (tmp_path / "run" / "fits.csv").read_bytes() == before
    back = fitted_run(fits.folder).cohort
    assert back.protocol == cohort.protocol
    assert_same(back, cohort)
    written = pd.read_csv(fits.folder / "exclusions.csv", dtype=str, keep_default_na=False)
    assert written.to_numpy().tolist() == cohort.exclusions.to_numpy().tolist()
    if name == "packed":
        report(fits.folder, tmp_path / "data.pdf", pages=["data"])
        text = " ".join(" ".join(page.extract_text() for page in PdfReader(tmp_path / "data.pdf").pages).split())
        assert "The protocol left out rows of the files before all else; the table below says which." in text
        assert "took something out of 1 person" in text
        assert "rows.drop.phase" in text


@pytest.mark.parametrize("name", ["packed", "events"])
def test_check_says_how_many_rows_each_rule_left_out(tmp_path: Path, name: str) -> None:
    result = check_data(LABS[name].write(tmp_path), read_protocol(LABS[name].protocol))
    lines = list(check_as_text(result))
    excluded = lines.index(next(line for line in lines if line.startswith("excluded")))
    expected = {"packed": "1 person; answers of 0 people", "events": "0 people; answers of 2 people"}[name]
    assert lines[excluded] == f"excluded   {expected}"
    assert not any(line.startswith("  everyone: rows") for line in lines)
    rules = {"packed": ["drop.phase ('practice'): 8 of 72"], "events": ["keep.event ('trial'): 16 of 34"]}[name]
    assert all(f"note       rows.{rule} rows left out." in lines for rule in rules)


# --- what each lab's protocol says, by hand
def test_packed_stimuli_become_cues_in_the_order_of_block_and_trial(tmp_path: Path) -> None:
    cohort = read(tmp_path, LABS["packed"])
    first = cohort.learners[0]
    stimuli = [(trial + block) % 8 for block in (1, 2) for trial in range(8)]
    expected = [[int(digit) for digit in f"{number:03b}"] for number in stimuli]
    np.testing.assert_array_equal(first.observations.cues, expected)
    np.testing.assert_array_equal(first.observations.outcome, np.array(expected)[:, 0])
    assert cohort.trials.loc[first.rows, "block"].tolist() == ["1"] * 8 + ["2"] * 8
    people, rows = cohort.exclusions.to_dict("records")
    assert people == {
        **{"subject": "9", "rule": "people", "seen": "asked to stop", "allowed": "nobody by that name (36 rows)"},
        "consequence": "person left out",
    }
    assert rows == {
        **{"subject": "everyone", "rule": "rows.drop.phase", "seen": "8 of 72 rows, of 2 people"},
        **{"allowed": "phase is not: 'practice'", "consequence": "rows left out"},
    }
    assert "rows.drop.phase ('practice'): 8 of 72 rows left out." in cohort.notes


def test_event_rows_go_and_files_name_their_people(tmp_path: Path) -> None:
    cohort = read(tmp_path, LABS["events"])
    anna, ben = cohort.learners
    for learner in (anna, ben):
        np.testing.assert_array_equal(learner.observations.cues[:, 0], [0, 0, 1, 1] * 2)
        np.testing.assert_array_equal(learner.observations.cues[:, 1:], [[1, 0], [0, 1]] * 4)
        np.testing.assert_array_equal(learner.choices, [0, 0, 1, MISSED, 0, 0, 1, 1])  # the fourth took 100 ms
    assert "rows.keep.event ('trial'): 16 of 34 rows left out." in cohort.notes
    assert "rows.drop.stimulus (empty): 2 of 18 rows left out." in cohort.notes
    assert "0.2 to 3 s" in set(cohort.exclusions["allowed"])


def test_test_trials_without_feedback_come_after_training(tmp_path: Path) -> None:
    learner = read(tmp_path, LABS["causal"]).learners[0]
    np.testing.assert_array_equal(learner.observations.feedback, [True] * 8 + [False] * 3)
    np.testing.assert_array_equal(learner.observations.cues[:, 0], [1, 0] * 4 + [1, 0, 1])


def test_names_become_levels_in_the_order_in_which_a_problem_shows_them(tmp_path: Path) -> None:
    cohort = read(tmp_path, LABS["names"])
    assert set(cohort.trials["fruit"]) == {"first", "second", "third"}
    for learner in cohort.learners:
        assert cohort.trials.loc[learner.rows, "fruit"].tolist() == ["first", "second", "third"] * 2


def test_parts_between_separators_become_cues(tmp_path: Path) -> None:
    learner = read(tmp_path, LABS["six"]).learners[0]
    expected = [[int(digit) for digit in f"{(trial * 11) % 64:06b}"] for trial in range(1, 13)]
    np.testing.assert_array_equal(learner.observations.cues, expected)


def test_dates_and_times_order_the_trials(tmp_path: Path) -> None:
    cohort = read(tmp_path, LABS["clock"])
    own = cohort.trials.iloc[cohort.learners[0].rows]
    assert own["date"].tolist() == ["31/3/2024"] * 4 + ["1/4/2024"] * 4
    assert own["shown_at"].tolist() == ["9:05:00.5", "10:05:01.5", "11:05:02.5", "12:05:03.5"] * 2


def test_wide_ratings_become_long_answers(tmp_path: Path) -> None:
    cohort = read(tmp_path, LABS["ratings"])
    rated = [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    expected = [int((50 if t == 4 else rated[t % 10]) > 50) for t in range(1, 13)]
    np.testing.assert_array_equal(cohort.learners[0].choices, expected)
    np.testing.assert_array_equal(cohort.learners[1].choices, expected[:9])
    assert cohort.trials["rating"].tolist()[:4] == ["15", "25", "35", "50"]
    assert cohort.subjects["age"].tolist() == [30, 30]
    assert "wide: left out 3 trials in whose columns a row has no entry." in cohort.notes
    expected_note = "Column rating: 2 cells are exactly 50, which counts as choice 0 (exactly, under [choice])."
    assert expected_note in cohort.notes


# --- the documents
def test_the_documents_name_every_key_and_their_example_is_read(tmp_path: Path) -> None:
    documents = (ROOT / "data" / "README.md").read_text() + (TEMPLATES / "my_task.toml").read_text()
    tables = (Protocol, Columns, Coding, Feature, Exclusions, RtWindow, Rows, RowRule, NewColumn)
    keys = {key for table in tables for key in table.model_fields} - {"name"}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", documents)] == []
    for word in KINDS:
        assert f'"{word}"' in documents
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "data" / "README.md").read_text(), re.DOTALL)
    header = "event,block,trial,stimulus,key_left,key_right,category,rt\n"
    trials = "trial,0,1,circle-red,f,,A,500\nfixation,1,,,,,,\ntrial,1,1,circle-red,f,,A,500\n"
    for person in ("p07", "p13"):
        (tmp_path / f"exp1_{person}.csv").write_text(f"{header}{trials}trial,1,2,square-blue,,j,B,50\n")
    cohort = read_cohort(tmp_path, read_protocol(example))
    (learner,) = cohort.learners
    assert learner.subject == "p07"
    np.testing.assert_array_equal(learner.observations.cues, [[0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(learner.choices, [0, MISSED])


def test_the_lines_of_the_template_that_are_examples_are_read(tmp_path: Path) -> None:
    template = (TEMPLATES / "my_task.toml").read_text()
    plain, _ = template.split("# How trials are made")
    examples = {  # the line that each takes the place of, if any
        '# order = "decimal" ': "",
        "# above = 50": "coding = { left = 0, right = 1 }\nmissing",
        "# exactly = 1": "",
        "# fruit = ": "",
        '# rt = { column = "rt", unit': "rt = {",
        "# people = ": "",
        "# [rows]": "",
        "# keep.phase": "",
        "# drop.flag": "",
        "# [new_columns]": "",
        "# shade": "",
        "# size": "",
        "# key = ": "",
        "# person": "",
        "# [wide]": "",
        "# rating": "",
    }
    for example, replaced in examples.items():
        assert plain.count(example) == 1, example
        if replaced:
            first = replaced.split("\n")[0]
            plain = plain.replace(f"\n{first}", f"\n# {first}", 1)
        plain = plain.replace(example, example.removeprefix("# "))
    protocol = read_protocol(plain)
    assert protocol.columns.kinds == ("decimal",)
    assert protocol.rearrangements == (
        *("wide", "new_columns", "rows", "columns.order", "choice.above", "features.fruit.anew"),
    )
    assert protocol.exclusions.people == {"p07": "fell asleep"}


# --- one key at a time
PLAIN = "[features]\nx = 'binary'\n"


def in_order(tmp_path: Path, columns: str, header: str, cells: list[str]) -> list[str]:
    """Return the marks of rows in the order in which trials come."""
    rows = "".join(f"s,{cell},{i % 2},{i % 2},{i % 2},{i}\n" for i, cell in enumerate(cells))
    cohort = read_text(tmp_path, f"[columns]\n{columns}\n{PLAIN}", f"subject,{header},x,choice,outcome,mark\n{rows}")
    assert cohort.trials["trial"].tolist() == list(range(1, len(cells) + 1))
    return cohort.trials["mark"].tolist()


ORDERS = {
    "decimals": ("trial = 'at'\norder = 'decimal'", "at", ["1.5", "-2", "1.25", '"1,3"', "1e1"], "12304"),
    "the file": ("order = 'file'", "trial", ["3", "x", ""], "012"),
    "clock": ("trial = 'at'\norder = 'time'", "at", ["12:01 AM", "9:15", "08:59:59.5", "09:15:01", "9:14 PM"], "02134"),
    "dates": (
        *("trial = 'at'\norder = 'time'", "at"),
        *(["2024-03-05 10:00", "2024-03-05T09:59:59.25", "2023-12-31", "2024-03-05 11:00+02:00"], "2310"),
    ),
    "American dates": (
        *("trial = 'at'\norder = 'month first'", "at"),
        *(["12/1/2023 1:00 PM", "11/30/2023", "12/1/2023 9:00"], "120"),
    ),
    "block, then trial": ("trial = ['block', 'nr']", "block,nr", ["2,1", "1,1", "4,1", "2,2", "3,1", "1,2"], "150342"),
    "words, then decimals": (
        *("trial = ['phase', 'at']\norder = { phase = ['before', 'after'], at = 'decimal' }", "phase,at"),
        *(["after,0.1", "before,7.5", "before,7.25"], "210"),
    ),
}


@pytest.mark.parametrize(("columns", "header", "cells", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_trials_can_be_ordered_by_anything(
    tmp_path: Path, columns: str, header: str, cells: list[str], expected: str
) -> None:
    assert in_order(tmp_path, columns, header, cells) == list(expected)


ALL_AT_ONCE = """
[columns]
trial = ["half", "nr"]
order = { half = ["early", "late!"] }
choice = "rated"
outcome = "came"
restart = ["task"]
covariates = ["hand"]

[wide]
early = "e{nr}"
late = "l{nr}"
shown = "cue {nr}"
other = "other {nr}"
came = "came{nr}"

[new_columns]
subject = { file_name = true, separator = "_", part = -1 }
half = { of = "which", characters = [1, 5] }
rated = { of = ["early", "late"] }
fruit = { of = "shown", separator = "/", part = 2 }
cues = { of = "shown", separator = "/", part = 1 }
first = { of = "cues", characters = 1 }
second = { of = "cues", characters = 2 }

[features]
fruit = { levels = ["A", "B"], anew = "task" }
first = "binary"
second = { coding = { "0" = 1, "1" = 0 } }

[choice]
below = 3
exactly = 1
missing = ["?"]
[outcome]
above = 0.5

[rows]
keep.task = { min = 1 }
keep.rt = { max = 900, empty = true }
drop.which = { values = ["warmup"], empty = true }

[exclusions]
rt = { unit = "ms", min = 0.2 }
min_answered = 1
[exclusions.people]
eve = "repeated"
"""


def test_all_keys_work_together(tmp_path: Path) -> None:
    header = "task,which,rt,hand,e1,e2,l1,l2,cue 1,cue 2,other 1,other 2,came1,came2\n"
    rows = [
        "1,late!,500,left,,,5,1,01/kiwi,11/fig,,,1,0",
        "1,early,500,left,3,?,,,10/fig,00/kiwi,,,0,1",
        "1,warmup,500,left,9,9,,,10/fig,00/kiwi,,,0,1",
        "2,early,100,left,2,2,,,00/pear,01/plum,,,1,",
        "2,late!,901,left,,,2,2,00/pear,01/plum,,,1,1",
        "0,early,500,left,2,2,,,00/pear,01/plum,,,1,1",
        "2,,500,left,2,2,,,00/pear,01/plum,,,1,1",
    ]
    for name in ("kim", "eve"):
        (tmp_path / f"study_{name}.csv").write_text(header + "\n".join(rows) + "\n")
    cohort = read_cohort(tmp_path, read_protocol(ALL_AT_ONCE))
    first, second = cohort.learners
    assert (first.subject, first.restart, second.restart) == ("kim", "1", "2")
    np.testing.assert_array_equal(first.choices, [1, MISSED, 0, 1])  # early before late, 3 itself counts as 1
    np.testing.assert_array_equal(second.choices, [MISSED, MISSED])  # answers after 100 ms are too fast
    np.testing.assert_array_equal(first.observations.cues, [[1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0]])
    np.testing.assert_array_equal(second.observations.cues, [[1, 0, 0, 1], [0, 1, 0, 0]])
    np.testing.assert_array_equal(first.observations.outcome, [0, 1, 1, 0])
    np.testing.assert_array_equal(second.observations.feedback, [True, False])
    assert cohort.subjects.to_dict("list") == {"subject": ["kim"], "hand": ["left"]}
    assert cohort.exclusions[["subject", "rule", "seen"]].to_numpy().tolist() == [
        ["eve", "people", "repeated"],
        ["everyone", "rows.keep.task", "2 of 14 rows, of 1 person"],
        ["everyone", "rows.keep.rt", "2 of 12 rows, of 1 person"],
        ["everyone", "rows.drop.which", "4 of 10 rows, of 1 person"],
        ["kim", "rt", "2 answers outside"],
    ]
    write_trials(cohort.trials, cohort.protocol, tmp_path / "kept.csv")
    assert_same(cohort, read_cohort(tmp_path / "kept.csv", kept_form(cohort.protocol)))


def test_rules_may_ask_what_the_table_of_participants_says(tmp_path: Path) -> None:
    data, people = tmp_path / "data.csv", tmp_path / "people.csv"
    data.write_text("subject,trial,x,choice,outcome\na,1,0,1,1\nb,1,1,1,1\nb,2,1,1,1\n")
    people.write_text("subject,usable\na,yes\nb,no\n")
    protocol = read_protocol(f"{PLAIN}[rows]\nkeep.usable = 'yes'")
    cohort = read_cohort(data, protocol, people)
    assert cohort.subjects["subject"].tolist() == ["a"]
    person = ["b", "rows.keep.usable", "0 rows that count", "at least 1", "person left out"]
    assert cohort.exclusions.iloc[0].tolist() == person


def test_answers_in_several_columns_that_disagree_are_counted(tmp_path: Path) -> None:
    protocol = f"[columns]\nchoice = 'answer'\n[new_columns]\nanswer = {{ of = ['a', 'b', 'c'] }}\n{PLAIN}"
    cohort = read_text(tmp_path, protocol, "subject,trial,x,a,b,c,outcome\ns,1,0,,NA,1,1\ns,2,0,0,1,,1\ns,3,0,,,,1\n")
    np.testing.assert_array_equal(cohort.learners[0].choices, [1, 0, MISSED])
    assert "answer: 1 rows have different entries in a, b, c; the first that is not empty counts." in cohort.notes


def test_cells_exactly_at_the_threshold_are_missing_unless_said_otherwise(tmp_path: Path) -> None:
    text = "subject,trial,x,choice,outcome\ns,1,0,51,1\ns,2,0,50,1\ns,3,0,49.9,1\ns,4,0,,1\n"
    for said, expected, meaning in (
        ("above = 50", [1, MISSED, 0, MISSED], "missing"),
        ("below = 50", [0, MISSED, 1, MISSED], "missing"),
        ("below = 50\nexactly = 1", [0, 1, 1, MISSED], "choice 1"),
    ):
        cohort = read_text(tmp_path, f"{PLAIN}[choice]\n{said}", text)
        np.testing.assert_array_equal(cohort.learners[0].choices, expected)
        note = f"Column choice: 1 cell is exactly 50, which counts as {meaning} (exactly, under [choice])."
        assert note in cohort.notes
        assert cohort.trials["choice_in_file"].tolist() == ["51", "50", "49.9", ""]
