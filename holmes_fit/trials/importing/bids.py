"""Files of events in BIDS: one TSV a run, the person and the run in the file's name, one row an event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holmes_fit._support.errors import Quoted, plain
from holmes_fit.trials.cells import number
from holmes_fit.trials.files import in_natural_order
from holmes_fit.trials.importing.sheets import (
    Findings,
    Format,
    Sheet,
    as_text,
    counted,
    lacking,
    listed,
    names_of,
    with_column,
)

if TYPE_CHECKING:
    import pandas as pd

ENTITY = re.compile(r"([A-Za-z]+)-([A-Za-z0-9+]+)")
NAMES = {"ses": "session", "acq": "acquisition", "rec": "reconstruction", "dir": "direction"}
PARTICIPANTS = "participants"
ORDER = ("subject", "session", "task", "run")


def _marks(columns: set[str], name: str) -> str:
    if name.lower() == PARTICIPANTS and "participant_id" in columns:
        return "a table of participants"
    return "columns onset and duration" if {"onset", "duration"} <= columns else ""


def is_events_file(name: str) -> bool:
    """Return whether a file's name, without its suffix, is that of a table of events."""
    return name.lower().endswith("_events")


def prepare(sheets: list[Sheet], findings: Findings) -> list[Sheet]:
    """Take people, sessions and runs from the files' names, order events by onset, and join ``participants.tsv``.

    ``sub-01_ses-1_task-x_run-2_events.tsv`` holds ``onset`` and ``duration`` in seconds, often ``trial_type`` and
    ``response_time``, and what else a lab wants; ``n/a`` is a missing value ("Task events" and "Common principles",
    Brain Imaging Data Structure specification). A file at the top that names no person has events of everyone, and
    nobody's answers. Where an onset is missing, as in files of behaviour alone, the event stays where it is.
    """
    sheets = [sheet.with_table(sheet.table.replace("n/a", "")) for sheet in sheets]
    people = [sheet for sheet in sheets if sheet.name.lower() == PARTICIPANTS]
    runs = [run for sheet in sheets if sheet not in people and (run := _run(sheet, findings)) is not None]
    if not people:
        findings.note("all files", "no participants.tsv was given, so that nothing is joined")
    for sheet in people:
        runs = _joined(runs, sheet, findings)
    return sorted(runs, key=lambda run: tuple(in_natural_order(_cell(run, name)) for name in ORDER))


def _cell(run: Sheet, name: str) -> str:
    return str(run.table[name].iloc[0]) if name in run.table and len(run.table) else ""


def _run(sheet: Sheet, findings: Findings) -> Sheet | None:
    entities: dict[str, str] = dict(ENTITY.findall(sheet.name))
    if sheet.found and "sub" not in entities and is_events_file(sheet.name):
        findings.note(sheet.file, "left aside, as its name tells no person", len(sheet.table))
        return None
    if "sub" not in entities or not is_events_file(sheet.name):
        allowed = "a name such as sub-01_task-learning_run-1_events.tsv, which tells the person"
        findings.problems.add(sheet.file, Quoted(f"the name {plain(sheet.name)}"), allowed)
        return None
    if "onset" not in sheet.table:
        lacking(sheet, "no column onset", "a table of events", findings)
        return None
    table = with_column(sheet.table, "subject", f"sub-{entities.pop('sub')}", sheet.file, findings)
    for key, value in entities.items():
        table = with_column(table, NAMES.get(key, key), value, sheet.file, findings)
    onset = table["onset"].map(number).astype("float64")
    for row in onset[onset.isna() & (table["onset"].str.strip() != "")].index[:20]:
        findings.problems.add(sheet.place(row, "onset"), table["onset"][row], "a time in seconds, or n/a")
    ordered = table.loc[onset.ffill().sort_values(kind="stable", na_position="first").index]
    moved = int((ordered.index != table.index).sum())
    if moved:
        findings.note(sheet.file, "rows put in the order of their onsets", moved)
    if "trial_type" in table:
        findings.note(sheet.file, f"events by trial_type: {counted(ordered['trial_type'])}", len(ordered))
    return sheet.with_table(ordered)


def _joined(runs: list[Sheet], people: Sheet, findings: Findings) -> list[Sheet]:
    table = people.table
    if "participant_id" not in table:
        lacking(people, "no column participant_id", "the column by which people are joined", findings)
        return runs
    for row in table.index[table["participant_id"].duplicated()][:20]:
        findings.problems.add(
            people.place(row, "participant_id"), table["participant_id"][row], "each participant once"
        )
    if findings.problems:
        return runs
    table = table.set_index("participant_id")
    known = [run for run in runs if _cell(run, "subject") in table.index]
    unknown = dict.fromkeys(_cell(run, "subject") for run in runs if run not in known)
    if unknown:
        findings.note(people.file, f"no row for {listed(unknown)}; their columns stay empty")
    findings.note(people.file, f"columns joined by participant: {listed(table.columns)}", len(table))
    return [run.with_table(_with_person(run, table, findings)) for run in runs]


def _with_person(run: Sheet, people: pd.DataFrame, findings: Findings) -> pd.DataFrame:
    table, subject = run.table, _cell(run, "subject")
    for name in names_of(people):
        cell = as_text(people[name][subject]) if subject in people.index else ""
        table = with_column(table, name, cell, run.file, findings)
    return table


BIDS = Format("bids", _marks, prepare, subjects=(("subject",),))
