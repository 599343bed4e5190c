"""Tables in memory: read as a file of them would be, by pandas and by Arrow, with the positions of their rows."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holmes_fit._support.errors import InputError
from holmes_fit.fitting.cohort import fit
from holmes_fit.trials.importing.draft import draft_protocol
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import check_data, read_cohort
from tests.fuzzing import EFFORT, assert_clear, tried

PROTOCOL = read_protocol("""
[columns]
covariates = ["group"]
[features]
tone = "binary"
color = { levels = ["red", "green"] }
[choice]
coding = { left = 0, right = 1 }
[exclusions]
rt = { min = 0.1, max = 2.0 }
""")


class Streamed:
    """A table of a library that is not installed here: all that is known of it is that it streams Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def frame() -> pd.DataFrame:
    """Two people with eight trials each: numbers, words, and a missing one of each."""
    table = pd.DataFrame({"subject": [7] * 8 + [12] * 8, "trial": [*range(1, 9)] * 2, "tone": [0, 1] * 8})
    table["color"] = pd.Categorical(["red", "green", "green", "red"] * 4)
    table["choice"] = pd.Series([None, "left", "right", "right"] * 4, dtype="str")
    table["outcome"] = [0.0, 1.0, 1.0, np.nan] * 4
    table["rt"] = np.array([0.512, 0.3, 1.25, 3.0] * 4, dtype="float32")
    table["group"] = ["a"] * 8 + ["b"] * 8
    table["day"] = pd.Timestamp("2024-03-01")
    return table


def streamed(table: pd.DataFrame) -> Streamed:
    """The same as polars would have it: whole numbers stay whole where one is missing, words are views."""
    arrow = pa.Table.from_pandas(table.astype({"outcome": "Int64"}), preserve_index=False)
    words = arrow["choice"].cast(pa.string_view())
    return Streamed(arrow.set_column(arrow.column_names.index("choice"), "choice", words))


FORMS: dict[str, Callable[[pd.DataFrame], object]] = {
    "pandas": lambda table: table,
    "words": lambda table: table.astype({"subject": "str", "trial": "object", "color": "string"}),
    "indexed": lambda table: table.set_index(["subject", "trial"]),
    "any index": lambda table: table.set_index(table.index * 3),
    "Arrow": streamed,
    "pyarrow": lambda table: pa.Table.from_pandas(table),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_read_as_its_file_is(form: str, tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "t.csv", index=False)
    from_file = read_cohort(tmp_path / "t.csv", PROTOCOL)
    cohort = read_cohort(FORMS[form](frame()), PROTOCOL)
    for mine, other in zip(cohort.learners, from_file.learners, strict=True):
        assert (mine.subject, mine.choices.tolist()) == (other.subject, other.choices.tolist())
        np.testing.assert_array_equal(mine.observations.cues, other.observations.cues)
        np.testing.assert_array_equal(mine.observations.feedback, other.observations.feedback)
    columns = ["subject", "trial", "choice", "outcome", "feedback", "excluded_choice", "tone", "color"]
    pd.testing.assert_frame_equal(cohort.trials[columns], from_file.trials[columns])
    pd.testing.assert_frame_equal(cohort.subjects, from_file.subjects)
    pd.testing.assert_frame_equal(cohort.exclusions, from_file.exclusions)


def test_a_run_of_a_table_is_that_of_its_file(tmp_path: Path) -> None:
    frame().drop(columns="day").to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "run"
    first = fit(read_cohort(frame().drop(columns="day"), PROTOCOL), ["bias"], out, preset="quick", workers=1)
    trials, fits = (out / "trials.csv").read_bytes(), first.parameters
    again = fit(read_cohort(tmp_path / "t.csv", PROTOCOL), ["bias"], out, preset="quick", workers=1)  # the same request
    assert (out / "trials.csv").read_bytes() == trials
    pd.testing.assert_frame_equal(again.parameters, fits)
    assert read_cohort(out / "trials.csv", PROTOCOL).trials.equals(read_cohort(tmp_path / "t.csv", PROTOCOL).trials)


def test_people_can_be_a_table() -> None:
    people = pd.DataFrame({"subject": [12, 7, 9], "group": ["b", "a", "c"], "iq": [101.0, np.nan, 99.0]})
    cohort = read_cohort(frame().drop(columns="group"), PROTOCOL, people)
    assert cohort.subjects["group"].tolist() == ["a", "b"]
    assert cohort.subjects["iq"].isna().tolist() == [True, False]
    assert cohort.notes[0] == "participants (DataFrame, rows from 0): 1 people without trials."
    people.loc[1, "group"] = "z"
    with pytest.raises(InputError, match=r"row 0, column group: saw 'a', but 'z' in participants \(Data.*, row 1, col"):
        read_cohort(frame(), PROTOCOL, people)


def test_problems_name_the_position() -> None:
    table = frame().sort_index(ascending=False)
    table.iloc[3, table.columns.get_loc("choice")] = "up"
    table.iloc[5, table.columns.get_loc("trial")] = 1
    check = check_data(table.drop(columns="color"), PROTOCOL)
    said = "\n".join(map(str, check.problems))
    assert check.files == ("data (DataFrame, rows from 0)",)
    assert "data (DataFrame, rows from 0), row 3, column choice: saw 'up'; allowed: left, right" in said
    assert "row 7, column trial: saw 1 again for subject '12' (also in row 5)" in said
    assert "header: saw no column 'color'" in said


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame(), "data (DataFrame, rows from 0): saw a table without columns; allowed: a row a trial"),
        (frame()[:0], "data (DataFrame, rows from 0): saw a table without rows; allowed: a row a trial"),
        (pd.concat([frame(), frame()], axis=1), "header: saw 'choice'; allowed: each column name once"),
        (frame()["choice"], "data (Series, rows from 0): saw Cannot import schema"),
        (pa.chunked_array([[1, 2]]), "data (ChunkedArray, rows from 0): saw Cannot import schema"),
        ([frame(), frame()], "allowed: a CSV file, several, or a folder; or one DataFrame, not in a list"),
        (frame().to_numpy(), "argument data: saw"),
    ],
)
def test_what_is_no_table_of_trials(table: Any, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as error:
        read_cohort(table, PROTOCOL)
    assert_clear(error.value)


def test_a_table_has_no_name_to_make_a_column_of() -> None:
    protocol = read_protocol('[new_columns]\nsubject = { file_name = true }\n[features]\ntone = "binary"')
    with pytest.raises(InputError, match=r"data \(DataFrame, rows from 0\): saw ''; allowed: a file with a name"):
        read_cohort(frame().drop(columns="subject"), protocol)


def test_only_arrow_needs_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    other = streamed(frame())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"Install what reads it: pip install 'holmes-fit\[tables\]'"):
        read_cohort(other, PROTOCOL)


def test_a_draft_reads_the_table_that_it_was_made_of() -> None:
    table = frame().drop(columns="day").assign(outcome=[True, False, None, True] * 4)
    for form in (table, Streamed(pa.Table.from_pandas(table, preserve_index=False))):
        protocol = read_protocol(draft_protocol(form, "mine").toml)
        assert protocol.outcome.coding == {"False": 0, "True": 1}
        assert read_cohort(form, protocol).learners[0].observations.outcome.tolist() == [1, 0, 0, 1] * 2


CELLS = st.one_of(
    st.sampled_from([None, "", 0, 1, True, 1.0, 2.5, float("nan"), float("inf"), "left", "right", pd.NA, pd.NaT, b"x"]),
    st.sampled_from(["\ud800", "a\0b", 10**30, [1], {"a": 1}, np.array([1, 2]), 1j, "red", "7"]),
)


@settings(max_examples=100 * EFFORT, deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), name=st.sampled_from([*frame().columns, "x", 3]))
def test_any_cells(rows: list[tuple[object, object]], name: object) -> None:
    table = frame().astype("object")
    for i, (cell, other) in enumerate(rows):
        table[name] = table.get(name, None)
        table.iat[i, table.columns.get_loc(name)] = cell
        table.iat[i + 6, 4] = other
    cohort = tried(lambda: read_cohort(table, PROTOCOL))
    if isinstance(cohort, InputError):
        assert_clear(cohort)
    else:
        assert len(cohort.trials) == 16
