"""Bad data: each problem with its file, row, column, the value seen and what is allowed, all of them in one go."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.trials.cohorts import build_cohort
from holmes_fit.trials.protocols.catalogue import load_protocol, read_protocol
from holmes_fit.trials.reading import check_data, read_cohort
from tests.commands import raising

PROTOCOL = """
[columns]
covariates = ["group"]
[features]
x = "binary"
color = { levels = ["red", "green", "blue"] }
[choice]
coding = { left = 0, right = 1 }
"""

ROWS = """subject,trial,x,color,choice,outcome,group
a,1,0,red,left,1,g
a,2,1,green,right,0,g
a,3,1,blue,,0,g
b,1,1,red,left,,h
b,2,0,blue,right,1,h
"""


def problems_of(tmp_path: Path, text: str | bytes, protocol: str = PROTOCOL, people: str | None = None) -> list[str]:
    path = tmp_path / "pilot.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    coded = read_protocol(protocol)
    participants = None
    if people is not None:
        participants = tmp_path / "people.csv"
        participants.write_text(people)
    with pytest.raises(InputError, match="saw") as caught:
        read_cohort(path, coded, participants)
    return [str(problem).replace(f"{tmp_path}{os.sep}", "") for problem in caught.value.problems]


def test_the_data_are_fine_before_they_are_spoilt(tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(ROWS)
    assert len(read_cohort(path, read_protocol(PROTOCOL)).learners) == 2


ONE_CELL = {
    "unknown level": ("2,1,green", "2,1,gren", "row 3, column color: saw 'gren'", "Did you mean 'green'?"),
    "level that is nothing like one": (
        "2,1,green",
        "2,1,7",
        "row 3, column color: saw '7'",
        "allowed: red, green, blue",
    ),
    "NaN in a feature": ("3,1,blue", "3,nan,blue", "row 4, column x: saw 'nan'", "allowed: 0, 1 (a feature cannot be"),
    "empty feature": ("3,1,blue", "3,,blue", "row 4, column x: saw ''", "a feature cannot be empty"),
    "two in a feature": ("3,1,blue", "3,2,blue", "row 4, column x: saw '2'", "allowed: 0, 1"),
    "non-binary outcome": (
        "right,0,g",
        "right,0.5,g",
        "row 3, column outcome: saw '0.5'",
        "or empty for a trial without",
    ),
    "choice outside the coding": (
        *("a,1,0,red,left", "a,1,0,red,lefft", "row 2, column choice: saw 'lefft'"),
        "allowed: left, right, or empty for a missed answer. Did you mean 'left'?",
    ),
    "no subject": ("b,2,", " ,2,", "row 6, column subject: saw ' '", "a name, not an empty cell"),
    "trial in words": ("b,2,", "b,two,", "row 6, column trial: saw 'two'", "a whole number"),
    "half a trial": ("b,2,", "b,1.5,", "row 6, column trial: saw '1.5'", "a whole number"),
    "no trial": ("b,2,", "b,,", "row 6, column trial: saw ''", "a whole number"),
    "endless trial": ("b,2,", "b,1e400,", "row 6, column trial: saw '1e400'", "a whole number"),
    "repeated trial": (
        *("b,2,", "b,1,", "row 6, column trial: saw 1 again for subject 'b' (also in row 5)"),
        "each trial number once for a learner. If numbers start again",
    ),
    "gap": ("b,2,", "b,3,", "row 6, column trial: saw 3 after 1 for subject 'b'", "set allow_gaps = true"),
    "covariate that changes": (
        *("right,1,h", "right,1,g", "row 6, column group: saw 'g' for subject 'b', who had 'h' before"),
        "one value for a person",
    ),
    "short row": ("b,2,0,blue,right,1,h", "b,2,0,blue", "row 6: saw 4 cells", "allowed: 7 cells, as in the header"),
    "long row": (",right,1,h", ",right,1,h,0,5", "row 6: saw 9 cells", "decimal commas need semicolons"),
}


@pytest.mark.parametrize(("old", "new", "place", "rest"), ONE_CELL.values(), ids=ONE_CELL.keys())
def test_a_bad_cell_is_named_and_nothing_else(tmp_path: Path, old: str, new: str, place: str, rest: str) -> None:
    assert ROWS.count(old) == 1
    (problem,) = problems_of(tmp_path, ROWS.replace(old, new))
    assert problem.startswith(f"pilot.csv, {place}")
    assert rest in problem


def test_rows_are_lines_of_a_text_editor(tmp_path: Path) -> None:
    text = ROWS.replace("a,1,0,red,left,1,g\n", '\n\na,1,0,red,left,1,"g\n"\n').replace("b,2,0,blue", "b,2,0,blau")
    text = text.replace("1,g\n", '1,"g\n"\n').replace("0,g\n", '0,"g\n"\n')
    lines = text.splitlines()
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith(f"pilot.csv, row {1 + lines.index('b,2,0,blau,right,1,h')}, column color: saw 'blau'")


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_title_above_the_header(separator: str, tmp_path: Path) -> None:
    problems = problems_of(tmp_path, "Study 3\n\n" + ROWS.replace(",", separator))
    said = "pilot.csv, row 3: saw 7 cells; allowed: 1 cell, as in the header. Does a title stand above the header?"
    assert problems[0].startswith(said)


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "a.csv").write_text(ROWS.replace("red", "rot").replace("a,2", "a,5"))
    (folder / "c.csv").write_text(ROWS.replace("a,", "c,").replace("b,", "d,").replace("choice", "choise"))
    (folder / "e.csv").write_bytes(b"")
    (folder / "f.csv").write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="rot") as caught:
        read_cohort(folder, read_protocol(PROTOCOL))
    text = str(caught.value).replace(f"{folder}{os.sep}", "")
    for part in (
        "a.csv, row 2, column color; a.csv, row 5, column color: saw 'rot'",
        "c.csv, header: saw no column 'choice'",
        "Did you mean 'choise'?",
        "e.csv: saw an empty file",
        "f.csv: saw a binary file",
    ):
        assert part in text
    assert "column choice" not in text.replace("no column 'choice'", "")  # its cells are not blamed as well


def test_many_problems_of_a_kind_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"a,{i},2,red,left,1,g\n" for i in range(1, 101))
    problems = problems_of(tmp_path, ROWS.splitlines()[0] + "\n" + rows)
    assert len(problems) == 21
    assert problems[19].startswith("pilot.csv, row 21, column x")
    assert problems[20].startswith("pilot.csv, column x: saw 80 more cells like these")


@pytest.mark.parametrize(
    ("name", "wrong"), [("choice", "choise"), ("subject", "Subject"), ("x", "X"), ("group", "grp")]
)
def test_a_misspelt_column_suggests_the_nearest(tmp_path: Path, name: str, wrong: str) -> None:
    header, rest = ROWS.split("\n", 1)
    problems = problems_of(tmp_path, header.replace(name, wrong) + "\n" + rest)
    assert problems[0].startswith(
        f"pilot.csv, header: saw no column '{name}'; allowed: the columns that the protocol names: subject, trial,"
    )
    assert name == "x" or f"Did you mean '{wrong}'?" in problems[0]
    assert len(problems) == 1


def test_ratings_say_what_the_models_need(tmp_path: Path) -> None:
    text = ROWS.replace("left,1,g", "left,4,g").replace("right,1,h", "right,5,h")
    problems = problems_of(tmp_path, text)
    assert problems[0].startswith("pilot.csv, column outcome: saw 3 different values: 0, 4, 5; allowed: two outcomes.")
    assert "Ratings, or more than two outcomes, must become two classes" in problems[0]
    assert problems[1].startswith("pilot.csv, row 2, column outcome: saw '4'")
    assert len(problems) == 3


def test_ratings_can_be_made_two_classes(tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text(ROWS.replace("left,1,g", "left,4,g").replace("right,1,h", "right,5,h"))
    protocol = read_protocol(PROTOCOL + "[outcome]\ncoding = { 0 = 0, 4 = 1, 5 = 1 }")
    assert read_cohort(path, protocol).learners[0].observations.outcome.tolist() == [1, 0, 0]


def test_three_choices_say_what_the_models_need(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, ROWS.replace("left", "up"))
    assert "Ratings, or more than two choices" not in problems[0]  # two values, one of them unknown: a wrong coding
    problems = problems_of(tmp_path, ROWS.replace("left", "up").replace("1,blue,,", "1,blue,left,"))
    assert "Ratings, or more than two choices" in problems[0]


def test_a_subject_without_answers(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ROWS.replace("red,left,,h", "red,,,h").replace("blue,right,1", "blue,NA,1"))
    assert problem.startswith("pilot.csv, row 5, column choice: saw no answer in 2 trials for subject 'b'")
    assert "set min_answered = 1 under [exclusions]" in problem


def test_answers_outside_the_coding_are_not_also_called_missing(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, ROWS.replace("left", "1").replace("right", "2"))
    assert all("no answer" not in problem for problem in problems)


def test_no_one_is_left(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ROWS, PROTOCOL + "[exclusions]\nmin_answered = 100")
    assert problem.startswith("protocol protocol, exclusions: saw 2 people, all left out by the rules")


def test_feedback_that_shows_nothing(tmp_path: Path) -> None:
    protocol = PROTOCOL.replace("[columns]", "[columns]\nfeedback = 'shown'")
    text = "\n".join(f"{line},{'1' if i else 'shown'}" for i, line in enumerate(ROWS.splitlines()))
    (problem,) = problems_of(tmp_path, text, protocol)
    assert problem.startswith("pilot.csv, row 5, column outcome: saw ''; allowed: an outcome, as the row says")
    (problem,) = problems_of(tmp_path, text.replace("left,,h,1", "left,1,h,"), protocol)
    assert problem.startswith("pilot.csv, row 5, column shown: saw ''; allowed: 0, 1")


def test_a_reaction_time_that_is_no_number(tmp_path: Path) -> None:
    protocol = PROTOCOL + "[exclusions]\nrt = { max = 3 }"
    text = "\n".join(f"{line},{('rt', '0.5', 'fast', '', '1', '2')[i]}" for i, line in enumerate(ROWS.splitlines()))
    (problem,) = problems_of(tmp_path, text, protocol)
    assert problem.startswith("pilot.csv, row 3, column rt: saw 'fast'; allowed: a reaction time, or empty")


def test_an_unknown_counterbalancing(tmp_path: Path) -> None:
    protocol = PROTOCOL.replace("coding = { left = 0, right = 1 }", "") + (
        "[choice.by]\ncolumn = 'group'\n[choice.by.codings]\ng = { left = 0, right = 1 }"
    )
    problems = problems_of(tmp_path, ROWS, protocol)
    assert problems[0].startswith("pilot.csv, row 5, column group: saw 'h'; allowed: a coding of the protocol: g")
    assert len(problems) == 2


PEOPLE = "subject,age,group\na,20,g\nb,70,h\n"

BAD_PEOPLE: dict[str, tuple[Callable[[str], str], str]] = {
    "misspelt subject": (
        lambda p: p.replace("subject", "subjct"),
        "people.csv, header: saw no column 'subject'.*'subjct'",
    ),
    "someone missing": (lambda p: p.replace("b,70,h\n", ""), "pilot.csv, row 5, column subject: saw 'b'.*a subject of"),
    "someone twice": (lambda p: p + "a,21,g\n", "people.csv, row 4, column subject: saw 'a'.*each subject once"),
    "another group": (
        lambda p: p.replace("70,h", "70,g"),
        "row 5, column group: saw 'h', but 'g' in .*people.csv, row 3",
    ),
    "empty": (lambda p: "", "people.csv: saw an empty file"),
    "no rows": (lambda p: "subject,age\n", "people.csv: saw a header without rows"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD_PEOPLE.values(), ids=BAD_PEOPLE.keys())
def test_a_bad_table_of_participants(tmp_path: Path, spoil: Callable[[str], str], message: str) -> None:
    path, people = tmp_path / "pilot.csv", tmp_path / "people.csv"
    path.write_text(ROWS)
    people.write_text(spoil(PEOPLE))
    with pytest.raises(InputError, match=message) as caught:
        read_cohort(path, read_protocol(PROTOCOL), people)
    assert len(caught.value.problems) == 1


def test_a_bad_cell_of_participants_is_named_once_and_there(tmp_path: Path) -> None:
    protocol = PROTOCOL.replace("coding = { left = 0, right = 1 }", "") + (
        "[choice.by]\ncolumn = 'keys'\n[choice.by.codings]\nA = { left = 0, right = 1 }"
    )
    people = "subject,keys\na,A\nb,Q\n"
    (problem,) = problems_of(tmp_path, ROWS, protocol, people)
    assert problem.startswith("people.csv, row 3, column keys: saw 'Q'; allowed: a coding of the protocol: A")


def test_a_missing_covariate_may_come_from_participants(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ROWS.replace("group", "colour"))
    assert "A table of participants can have it instead." in problem


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "saw an empty file; allowed: a header and a row for each trial"),
    "blank": (b" \n\r\n  \n", "saw an empty file"),
    "only a mark": (b"\xef\xbb\xbf", "saw an empty file"),
    "header only": (ROWS.splitlines()[0].encode(), "saw a header without rows"),
    "separators only": (b",,,\n,,,\n", "saw an empty file"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100), "saw a binary file"),
    "NUL in a cell": (ROWS.replace("green", "gr\0en").encode(), "saw a binary file, or a damaged one"),
    "control characters": (bytes(range(1, 9)) * 10, "saw a binary file"),
    "half a UTF-16 file": (b"\xff\xfe" + ROWS.encode("utf-16-le")[:-1], "saw a binary file"),
    "column twice": (
        ROWS.replace("group", "trial", 1).encode(),
        "pilot.csv, header: saw 'trial'; allowed: each column",
    ),
    "open quote": (ROWS.replace("b,1,1", 'b,1,"1').encode(), "pilot.csv, row 5: saw unexpected end of data"),
    "text after a quote": (ROWS.replace("a,2,1", 'a,2,"1"1').encode(), "pilot.csv, row 3: saw .* expected after"),
    "endless cell": (ROWS.replace("green", "g" * 200_000).encode(), "pilot.csv, row 3: saw field larger than"),
    "prose": (b"Dear all,\nplease find the data attached.\nBest\n", "saw no column 'subject'"),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_table(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pilot.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_cohort(path, read_protocol(PROTOCOL))


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "pilot.xlsx"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(InputError, match=r"saw a binary file.*Save it as CSV, or import it"):
        read_cohort(path, read_protocol(PROTOCOL))


@pytest.mark.parametrize("data", [None, 3])
def test_data_are_in_files_or_a_table(data: Any) -> None:
    with pytest.raises(
        InputError, match=r"^argument data: saw (None|3); allowed: a CSV file, several, or a folder; or"
    ):
        read_cohort(data, "conditioning")


def test_places_without_files(tmp_path: Path) -> None:
    protocol = read_protocol(PROTOCOL)
    (tmp_path / "pilot.csv").write_text(ROWS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: saw a folder without \.csv, \.tsv, \.txt files"):
        read_cohort(tmp_path / "empty", protocol)
    with pytest.raises(InputError, match=r"saw no such file; allowed: a file or a folder\. Did you mean 'pilot.csv'"):
        read_cohort(tmp_path / "pilott.csv", protocol)
    with pytest.raises(InputError, match="data: saw no file"):
        read_cohort([], protocol)
    with pytest.raises(InputError, match="saw the same file more than once"):
        read_cohort([tmp_path / "pilot.csv"] * 2, protocol)
    for odd in ("n" * 5000, "\0", ""):
        with pytest.raises(InputError, match="saw"):
            read_cohort(tmp_path / "nowhere" / odd if odd else "", protocol)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, protocol = _written(tmp_path, ROWS), read_protocol(PROTOCOL)
    monkeypatch.setattr("builtins.open", raising(PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match=r"pilot\.csv: saw Permission denied; allowed: a file that can be read"):
        read_cohort(path, protocol)
    with pytest.raises(InputError, match=r"pilot\.csv: saw Permission denied; allowed: a file that can be read"):
        load_protocol(path)


def test_many_files_without_a_column_are_counted(tmp_path: Path) -> None:
    for i in range(30):
        (tmp_path / f"p{i}.csv").write_text(ROWS.replace("a,", f"a{i},").replace("b,", f"b{i},").replace("x,", "y,", 1))
    with pytest.raises(InputError, match="saw 10 more files without the column 'x'") as caught:
        read_cohort(tmp_path, read_protocol(PROTOCOL))
    assert len(caught.value.problems) == 21


def test_a_table_made_by_hand_is_checked_when_it_is_encoded() -> None:
    trials = pd.DataFrame({"subject": ["s"], "trial": 1, "x": 0, "color": "pink", "choice": 1, "outcome": 1})
    with pytest.raises(
        InputError, match="trial table, row 0, column color: saw 'pink'; allowed: 'red', 'green', 'blue'"
    ):
        build_cohort(trials.assign(feedback=True), read_protocol(PROTOCOL))


def test_names_in_messages_are_escaped_and_cut(tmp_path: Path) -> None:
    text = ROWS.replace("a,1,0,red", f'"{"s" * 300}\n\x1b[31m",1,0,pink').replace("group", "gr\x1boup")
    problems = problems_of(tmp_path, text)
    assert all(problem.isprintable() for problem in problems)
    assert all(len(problem) < 400 for problem in problems)


def test_other_columns_are_checked_when_one_is_missing(tmp_path: Path) -> None:
    check = check_data(
        _written(tmp_path, ROWS.replace("subject", "who").replace("red", "rot")), read_protocol(PROTOCOL)
    )
    text = "\n".join(map(str, check.problems))
    assert "no column 'subject'" in text
    assert "row 2, column color: saw 'rot'" in text
    assert (check.rows, check.subjects, check.cohort) == (5, 0, None)


def test_people_are_named_without_their_restarts_when_that_column_is_missing(tmp_path: Path) -> None:
    protocol = PROTOCOL.replace("[columns]", "[columns]\nrestart = ['session']")
    problems = problems_of(tmp_path, ROWS.replace("right,1,h", "right,1,g"), protocol)
    assert problems[0].startswith("pilot.csv, header: saw no column 'session'")
    assert problems[1].startswith("pilot.csv, row 6, column group: saw 'g' for subject 'b', who had 'h' before")


def test_the_same_trials_in_two_files(tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(ROWS)
    message = r"two\.csv, row 2, column trial: saw 1 again for subject 'a' \(also in row 2 of .*one\.csv\)"
    with pytest.raises(InputError, match=message) as caught:
        read_cohort(tmp_path, read_protocol(PROTOCOL))
    assert len(caught.value.problems) == 5


def _written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pilot.csv"
    path.write_text(text)
    return path


def test_a_learner_with_more_trials_than_the_filter_can_count(tmp_path: Path) -> None:
    rows = "".join(f"a,{i},0,red,left,1,g\n" for i in range(65_536))
    (problem,) = problems_of(tmp_path, ROWS.splitlines()[0] + "\n" + rows)
    assert problem.startswith("subject 'a': saw 65,536 trials; allowed: at most 65,535")
