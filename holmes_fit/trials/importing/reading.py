"""From raw files to one table of trials: open, recognise, choose, name the people, number their trials."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from holmes_fit._support.atomic import check_outputs, written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import Problems, Quoted, check_kind, nearest, plain
from holmes_fit._support.notebooks import InNotebook
from holmes_fit.trials.files import DataPath
from holmes_fit.trials.importing.bids import BIDS
from holmes_fit.trials.importing.files import read_sheets
from holmes_fit.trials.importing.guesses import ROLES, bare_name
from holmes_fit.trials.importing.people import FILE_NAME, check_named, told_apart, with_subject, with_what_was_said
from holmes_fit.trials.importing.recognise import FORMATS, of_kind, recognise
from holmes_fit.trials.importing.sheets import (
    Findings,
    Format,
    Note,
    Sheet,
    as_text,
    column_of,
    counted,
    listed,
    names_of,
    with_column,
    without,
)

if TYPE_CHECKING:
    import pandas as pd

Choice = Mapping[str, Iterable[object] | object]


@dataclass(frozen=True)
class Imported(InNotebook):
    """Trials as one table of text, and what was done to the files to get it."""

    main_table: ClassVar = ("table",)

    table: pd.DataFrame  # a row a trial: subject, trial, and the files' own columns
    notes: tuple[Note, ...]
    kind: str

    def __repr__(self) -> str:
        n, rows = self.table["subject"].nunique() if "subject" in self.table else 0, len(self.table)
        people = f"{n:,} {'person' if n == 1 else 'people'}, " if n else ""
        return f"<Imported: {people}{rows:,} {'row' if rows == 1 else 'rows'}, {self.kind}>"

    def write(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the table as a CSV and the notes beside it, and return both paths."""
        check_outputs([Path(path)], force=True)
        table, notes = Path(path), Path(path).with_suffix(".import.md")
        write_table(self.table, table)
        with written_whole(notes) as temporary:
            lines = [f"# How {table.name} was imported", "", *(f"- {note}" for note in self.notes), ""]
            temporary.write_text("\n".join(lines), encoding="utf-8")
        return table, notes


@dataclass(frozen=True)
class _Options:
    keep: dict[str, list[str]]
    drop: dict[str, list[str]]
    subject: str | None
    rename: dict[str, str]


def import_files(
    paths: DataPath | Iterable[DataPath],
    kind: str = "auto",
    *,
    keep: Choice | None = None,
    drop: Choice | None = None,
    subject: str | None = None,
    rename: Mapping[str, str] | None = None,
    sheet: str | None = None,
) -> Imported:
    """Read raw files of an experiment into one table with a row a trial, for a protocol to read.

    Parameters
    ----------
    paths
        A file, several, or a folder; CSV, TSV, JSON, Excel or Parquet, also in gz and zip.
    kind
        The program that wrote them: ``"jspsych"``, ``"psychopy"``, ``"gorilla"``, ``"labjs"``, ``"bids"`` or
        ``"table"`` (tidy already); ``"auto"`` tells it from the columns.
    keep, drop
        Rows to keep or to leave out by the values of a column: ``{"trial_type": ["image-keyboard-response"]}``; capital
        letters do not matter. In files of PsychoPy the column ``loop`` names the loop of each row.
    subject
        The column that names the person, if it is not the usual one, or ``"file name"``.
    rename
        New names of columns, ``{"key_resp.keys": "choice"}``.
    sheet
        The sheet of a workbook that has several.

    Raises
    ------
    InputError
        Listing everything that is wrong: file, row, column, the value seen, what is allowed.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> imported = hf.import_files("data/weather_prediction.csv", keep={"group": "patient"})
    >>> imported.kind, len(imported.table)
    ('table', 2000)
    >>> for note in imported.notes:
    ...     print(note)
    data/weather_prediction.csv: read as table: no column that another program writes (4,000 rows)
    data/weather_prediction.csv: kept group patient (2,000 rows)
    """
    findings = Findings()
    options = _checked_options(kind, keep, drop, subject, rename, sheet, findings.problems)
    findings.problems.raise_if_any()
    sheets = read_sheets(paths, sheet, findings)
    findings.problems.raise_if_any()
    if kind == "auto":
        form, sheets = recognise(sheets, findings)
    else:
        form, sheets = FORMATS[kind], of_kind(sheets, kind, findings)
    findings.problems.raise_if_any()
    table = _trials(form, sheets, options, findings)
    return Imported(table, tuple(findings.notes), form.kind)


def _checked_options(
    kind: object, keep: object, drop: object, subject: object, rename: object, sheet: object, problems: Problems
) -> _Options:
    kinds = ("auto", *FORMATS)
    if kind not in kinds:
        problems.add("argument kind", kind, f"one of {', '.join(kinds)}", nearest(str(kind), kinds))
    for name, text in (("subject", subject), ("sheet", sheet)):
        check_kind(name, text, str | None, "a name", problems)
    choices = [_checked_choice(name, given, problems) for name, given in (("keep", keep), ("drop", drop))]
    names: dict[str, str] = {}
    if check_kind("rename", rename, Mapping | None, "a mapping such as {'key_resp.keys': 'choice'}", problems):
        names = {str(old): str(new).strip() for old, new in dict(rename or {}).items()}  # type: ignore[call-overload]
    if not all(names.values()) or len(set(names.values())) < len(names):
        problems.add("argument rename", names, "a new name for each column, none of them twice")
    return _Options(choices[0], choices[1], subject if isinstance(subject, str) else None, names)


def _compared(text: str) -> str:
    """Return a value as values are compared: without blanks around it, and True as true."""
    return text.strip().casefold()


def _checked_choice(name: str, given: object, problems: Problems) -> dict[str, list[str]]:
    allowed = "a mapping from a column to the values, such as {'trial_type': ['image-keyboard-response']}"
    if not check_kind(name, given, Mapping | None, allowed, problems):
        return {}
    choice: dict[str, list[str]] = {}
    for column, values in dict(given or {}).items():  # type: ignore[call-overload]
        several = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
        choice[str(column)] = [_compared(as_text(value)) for value in (values if several else [values])]
        if not choice[str(column)]:
            problems.add(f"argument {name}, column {plain(str(column))}", Quoted("no value"), allowed)
    return choice


def _trials(form: Format, sheets: list[Sheet], options: _Options, findings: Findings) -> pd.DataFrame:
    import pandas as pd

    sheets = told_apart(form.prepare(sheets, findings))
    if not sheets:
        findings.problems.add("data", Quoted("no file that could be used"), f"files of {form.kind}", _advice(findings))
    findings.problems.raise_if_any()
    _check_names(sheets, options, findings.problems)
    findings.problems.raise_if_any()
    with_people = form.kind != "table" or options.subject is not None or _is_file_a_person(sheets)
    parts = [(sheet, _selected(sheet, form, options, with_people, findings)) for sheet in sheets]
    findings.problems.raise_if_any()
    if not any(len(table) for _, table in parts):
        seen = Quoted(f"no row in {listed([sheet.file for sheet in sheets], 3)}")
        findings.problems.add("data", seen, "at least one trial after all rules", _advice(findings))
        findings.problems.raise_if_any()
    if with_people and form is not BIDS:  # there the columns session and run tell the files apart
        parts = _with_files(parts, findings)
    table = pd.concat([table for _, table in parts if len(table)], ignore_index=True).fillna("").astype("str")
    return _renamed(_numbered(table, form, findings) if form.kind != "table" else table, options, findings)


def _is_file_a_person(sheets: list[Sheet]) -> bool:
    """Return whether nothing but the files' names can tell people apart."""
    names = {bare_name(name) for sheet in sheets for name in names_of(sheet.table)}
    return len(sheets) > 1 and not names & ROLES["subject"].keys()


def _selected(sheet: Sheet, form: Format, options: _Options, with_people: bool, findings: Findings) -> pd.DataFrame:
    """Return the rows of a file that are trials, with their person."""
    named = with_subject(sheet, form, options.subject, findings) if with_people else sheet
    chosen = named.table.loc[_chosen(sheet, options, findings).index]  # options speak of the files' own names
    explicit = any(column in options.keep for column in form.by)
    table = form.select(named.with_table(chosen), explicit, findings)
    if form.by and not explicit and form.by[0] in table:
        findings.note(sheet.file, f"kept {form.by[0]} {counted(table[form.by[0]])}", len(table))
    if with_people:
        check_named(named.with_table(table), findings)
        table = with_what_was_said(table, named, form, findings)
    return without(table, ~(table != "").any(axis=1), "rows without any entry", sheet.file, findings)


def _advice(findings: Findings) -> str:
    choose = "Choose rows yourself by the argument keep."
    dropped = [str(note) for note in findings.notes if note.rule.startswith(("dropped", "left aside"))]
    return f"What went: {'; '.join(plain(note, 200) for note in dropped[:5])}. {choose}" if dropped else choose


def _check_names(sheets: list[Sheet], options: _Options, problems: Problems) -> None:
    """Report columns and values in the options that no file has."""
    known = {name: None for sheet in sheets for name in names_of(sheet.table)}
    wanted = [("keep", name) for name in options.keep] + [("drop", name) for name in options.drop]
    wanted += [("rename", name) for name in options.rename]
    wanted += [("subject", options.subject)] if options.subject not in (None, FILE_NAME) else []
    for option, name in wanted:
        if name not in known and not (option == "rename" and name in ("subject", "trial")):
            allowed = f"a column of the files: {listed(known, 20)}"
            problems.add(f"argument {option}", name, allowed, nearest(str(name), known))
    for option, choice in (("keep", options.keep), ("drop", options.drop)):
        for name in choice.keys() & known.keys():
            there = {cell: None for sheet in sheets for cell in column_of(sheet.table, name).unique()}
            for value in [value for value in choice[name] if value not in map(_compared, there)]:
                allowed = f"a value of that column: {listed(there, 20)}"
                problems.add(f"argument {option}, column {plain(name)}", value, allowed, nearest(value, there))


def _chosen(sheet: Sheet, options: _Options, findings: Findings) -> pd.DataFrame:
    table = sheet.table
    for name, values in options.keep.items():
        table = table[column_of(table, name).map(_compared).isin(values)]
        findings.note(sheet.file, f"kept {plain(name)} {listed(values)}", len(table))
    for name, values in options.drop.items():
        gone = column_of(table, name).map(_compared).isin(values)
        table = table[~gone]
        findings.note(sheet.file, f"dropped {plain(name)} {listed(values)}, as asked", int(gone.sum()))
    return table


def _with_files(parts: list[tuple[Sheet, Any]], findings: Findings) -> list[tuple[Sheet, Any]]:
    """Add a column ``file`` where the trials of one person come from several files."""
    names = [sheet.person for sheet, _ in parts]
    if len(set(names)) < len(names):
        names = [sheet.file for sheet, _ in parts]
    files: dict[str, list[str]] = {}
    for name, (_, table) in zip(names, parts, strict=True):
        for person in table["subject"].unique():
            files.setdefault(person, []).append(name)
    several = {person: names for person, names in files.items() if len(names) > 1}
    if not several:
        return parts
    person, own = next(iter(several.items()))
    rule = f"people with several files: {len(several):,}, such as {plain(person)} with {listed(own, 4)}"
    findings.note("all files", f"{rule}; trials are numbered on in that order, and a column file tells them apart")
    return [
        (sheet, with_column(table, "file", name, sheet.file, findings))
        for name, (sheet, table) in zip(names, parts, strict=True)
    ]


def _numbered(table: pd.DataFrame, form: Format, findings: Findings) -> pd.DataFrame:
    """Number the trials of each person, and leave out columns without any entry."""
    empty = [name for name in table if (table[name].str.strip() == "").all()]
    if empty:
        findings.note("all files", f"dropped columns without any entry: {listed(empty)}")
    table = table.drop(columns=empty)
    order = (table.groupby("subject", sort=False).cumcount() + 1).astype("str")
    table = with_column(table, "trial", order, "all files", findings)
    findings.note(
        "all files", f"trials of each person numbered from 1, people: {table['subject'].nunique():,}", len(table)
    )
    first = [name for name in ("subject", "trial", "file") if name in table]
    return table[[*first, *(name for name in table if name not in first)]]


def _renamed(table: pd.DataFrame, options: _Options, findings: Findings) -> pd.DataFrame:
    for old in [old for old in options.rename if old not in table]:
        allowed = f"a column of the table: {listed(table.columns, 20)}"
        findings.problems.add("argument rename", old, allowed, nearest(old, table.columns))
    for old, new in options.rename.items():
        if new in table and new not in options.rename:
            findings.problems.add(f"argument rename, column {plain(old)}", new, "a name that no column has")
    findings.problems.raise_if_any()
    for old, new in options.rename.items():
        findings.note("all files", f"column {plain(old)} renamed to {plain(new)}")
    return table.rename(columns=options.rename)
