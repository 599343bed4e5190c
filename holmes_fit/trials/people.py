"""The people: covariates from the trials' own columns and from a table of participants."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, nearest, plain, shown
from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.checking import Sheet
from holmes_fit.trials.files import Reading
from holmes_fit.trials.frames import Data, read_data
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.structure import NO_VALUE, distinct_values, values_of_subjects
from holmes_fit.trials.text_tables import ABSENT, TextColumn, TextTable


def read_people(participants: Data, protocol: Protocol, reading: Reading) -> TextTable | None:
    """Read a table of participants: one row a person, with the same subject column as the trials."""
    name = protocol.columns.subject
    table = read_data(participants, "participants", [name], reading)
    if not len(table):
        return None
    if name not in table.columns:
        seen = Quoted(f"no column {plain(name)!r}")
        allowed = "the column by which the participants are joined"
        reading.problems.add(f"{table.files[0]}, header", seen, allowed, nearest(name, table.columns))
        return None
    subject = table.columns[name]
    first = np.unique(subject.codes, return_index=True)[1]
    again = np.setdiff1d(np.arange(len(table)), first)
    table.report(reading.problems, name, again, "each subject once")
    return table


def join_people(sheet: Sheet, people: TextTable) -> Sheet:
    """Add the columns of participants that the protocol names and the trials lack; report where the two disagree."""
    protocol, table = sheet.protocol, sheet.table
    subject = sheet.column(protocol.columns.subject)
    if subject is None:
        return sheet
    row_of_text = _rows_of(subject.texts, people.columns[protocol.columns.subject])
    row = subject.lookup(row_of_text, ABSENT)
    _report_unmatched(sheet, subject, row, people)
    wanted = [*protocol.columns.covariates, *protocol.columns.optional_covariates]
    wanted += [coding.by.column for _, coding in protocol.codings.values() if coding.by]
    wanted += [name for _, name, _ in protocol.rows.rules]
    columns, origins = dict(table.columns), dict(table.origins)
    for name in dict.fromkeys(wanted):
        if name in people.columns and name in columns:
            _report_disagreement(sheet, name, people, row)
        elif name in people.columns:
            theirs = people.columns[name]
            columns[name] = TextColumn(theirs.texts, np.append(theirs.codes, np.int32(ABSENT))[row])
            origins[name] = (people, row)
    return replace(sheet, table=replace(table, columns=columns, origins=origins))


def _rows_of(texts: tuple[str, ...], theirs: TextColumn) -> NDArray[np.intp]:
    rows = {theirs.texts[code]: row for row, code in enumerate(theirs.codes.tolist())}
    return np.array([rows.get(text, ABSENT) for text in texts], dtype=np.intp)


def _report_unmatched(sheet: Sheet, subject: TextColumn, row: NDArray[np.intp], people: TextTable) -> None:
    name = sheet.protocol.columns.subject
    first = np.unique(subject.codes, return_index=True)[1]
    known = people.columns[name].texts
    allowed = f"a subject of {people.files[0]}"
    sheet.table.report(
        sheet.reading.problems, name, first[row[first] == ABSENT], allowed, lambda text: nearest(text, known)
    )
    idle = len(set(known) - set(subject.texts))
    if idle:
        sheet.reading.notes.append(f"{people.files[0]}: {idle:,} people without trials.")


def _report_disagreement(sheet: Sheet, name: str, people: TextTable, row: NDArray[np.intp]) -> None:
    ours, theirs = sheet.table.columns[name], people.columns[name]
    _, position = distinct_values([*ours.texts, *theirs.texts])
    mine = ours.lookup(position[: len(ours.texts)], NO_VALUE)
    other = np.append(theirs.lookup(position[len(ours.texts) :], NO_VALUE), NO_VALUE)[row]
    differs = np.flatnonzero((mine != NO_VALUE) & (other != NO_VALUE) & (mine != other))
    once = differs[np.unique(row[differs], return_index=True)[1]]

    def seen(number_: int) -> Quoted:
        here = ours.texts[ours.codes[number_]]
        there = theirs.texts[theirs.codes[row[number_]]]
        return Quoted(f"{shown(here)}, but {shown(there)} in {people.place(int(row[number_]), name)}")

    sheet.table.report(sheet.reading.problems, name, once, "the same value in both files", None, seen)


def covariate_names(sheet: Sheet) -> list[str]:
    """Return the covariates of the protocol that there are."""
    columns = sheet.protocol.columns
    return [name for name in (*columns.covariates, *columns.optional_covariates) if name in sheet.table.columns]


def subject_table(sheet: Sheet, people: TextTable | None) -> pd.DataFrame:
    """Return one row a person: subject, the covariates of the protocol, and every other column of participants."""
    subject = sheet.table.columns[sheet.protocol.columns.subject]
    values = {name: values_of_subjects(sheet, name) for name in covariate_names(sheet)}
    if people is not None:
        rows = _rows_of(subject.texts, people.columns[sheet.protocol.columns.subject])
        for name, column in people.columns.items():
            if name not in values and name != sheet.protocol.columns.subject:
                cells = np.append(column.cells(), "")[rows]
                kept = f"{name}_in_file" if name == "subject" else name
                values[kept] = [None if is_nothing(cell) else cell for cell in cells]
    table = pd.DataFrame({"subject": pd.array(list(subject.texts), dtype="str")})
    for name, cells_ in values.items():
        table[name] = _with_type(cells_)
    return table


def _with_type(cells: list[str | None]) -> pd.Series:
    """Return numbers where every cell that is not empty holds one, else text."""
    given = [cell for cell in cells if cell is not None]
    as_numbers = [number(cell) for cell in given]
    if given and None not in as_numbers:
        return pd.Series([np.nan if cell is None else number(cell) for cell in cells], dtype="float64")
    return pd.Series(cells, dtype="str")
