"""Files of Gorilla: one row an event, for everyone who did a task or a questionnaire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holmes_fit._support.errors import Quoted, plain, shown
from holmes_fit.trials.cells import number
from holmes_fit.trials.importing.sheets import (
    Findings,
    Format,
    Sheet,
    column_of,
    counted,
    free_name,
    lacking,
    listed,
    names_of,
    without,
)

if TYPE_CHECKING:
    import pandas as pd

PERSON = "Participant Private ID"
INDEX = "Event Index"
TRIAL = "Trial Number"
QUESTIONS = ("Question Key", "Object Name")  # of the two builders of questionnaires
MARKERS = ("BEGIN TASK", "END TASK", "BEGIN QUESTIONNAIRE", "END QUESTIONNAIRE", "BEGIN", "END")
SPREADSHEET = "Spreadsheet: "  # the second task builder puts it before the columns of the task's own table
TIMED_OUT = ("timedout", "timed out", "timeout")
VISIT = ("Tree Node Key", "Repeat Key")  # of a person, numbered from 1
# A trial is a stretch of events that agree in these.
ONE_TRIAL = ("subject", *VISIT, TRIAL, "Spreadsheet Row", "display", "Display")
# Who chooses by one of these says which events are answers.
ANSWER_COLUMNS = ("Zone Type", "Zone Name", "Response Type", "Object Name")


def _marks(columns: set[str], name: str) -> str:
    return f"column {PERSON}" if PERSON in columns else ""


def prepare(sheets: list[Sheet], findings: Findings) -> list[Sheet]:
    """Leave out the rows that mark beginnings and ends, order events, and join the answers of questionnaires.

    Every row is an event of a person (``Participant Private ID``) in a node of the experiment (``Tree Node Key``),
    numbered by ``Event Index``; ``Trial Number``, ``Screen Name``, ``Zone Type`` (or ``Response Type``), ``Response``,
    ``Correct`` and ``Reaction Time`` (ms) say what happened, and the columns of the task's spreadsheet follow. The last
    row of a file says ``END OF FILE`` ("Data analysis" and "Data columns", support pages of Gorilla).
    """
    lean = [_without_markers(sheet, findings) for sheet in sheets]
    tasks = [_in_order(sheet, findings) for sheet in lean if TRIAL in sheet.table]
    if not tasks:
        seen = Quoted(f"no column {TRIAL!r} in {listed(sheet.file for sheet in sheets)}")
        advice = "Questionnaires become columns of the people; give them together with the task."
        findings.problems.add("data", seen, "at least one file of a task", advice)
    for sheet in lean:
        if TRIAL not in sheet.table:
            tasks = _joined(tasks, sheet, findings)
    return tasks


def _without_markers(sheet: Sheet, findings: Findings) -> Sheet:
    table, file = sheet.table, sheet.file
    if PERSON not in table:
        lacking(sheet, f"no column {PERSON!r}", "a file of Gorilla", findings)
        return sheet
    if INDEX in table:
        last = table[INDEX].str.strip().str.upper() == "END OF FILE"
        if not last.any():
            findings.note(file, "no row END OF FILE: the file may not be whole")
        table = without(table, last, "the row END OF FILE", file, findings)
    marks = table[[name for name in (TRIAL, *QUESTIONS) if name in table]].isin(MARKERS).any(axis=1)
    table = without(table, marks, "marks of a beginning or an end", file, findings)
    names = {name: name.removeprefix(SPREADSHEET) for name in names_of(table) if name.startswith(SPREADSHEET)}
    names = {old: new for old, new in names.items() if new and new not in table}
    if names:
        findings.note(file, f"{SPREADSHEET.strip()} taken off the names of {listed(names.values())}")
    return sheet.with_table(table.rename(columns=names))


def _in_order(sheet: Sheet, findings: Findings) -> Sheet:
    """Return the events in the order of their numbers, person by person and node by node."""
    table = sheet.table
    if INDEX not in table or PERSON not in table:
        return sheet
    index = table[INDEX].map(number).astype("float64")
    for row in index[index.isna()].index[:20]:
        findings.problems.add(sheet.place(row, INDEX), table[INDEX][row], "the number of an event, or END OF FILE")
    visits = [name for name in (PERSON, *VISIT) if name in table]
    visit = table.groupby(visits, sort=False).ngroup()
    ordered = table.iloc[np.lexsort((index.to_numpy(), visit.to_numpy()))]
    moved = int((ordered.index != table.index).sum())
    if moved:
        findings.note(sheet.file, f"rows put in the order of {INDEX}, person by person", moved)
    return sheet.with_table(ordered)


def _joined(tasks: list[Sheet], questions: Sheet, findings: Findings) -> list[Sheet]:
    """Add the answers to a questionnaire to every trial of the person."""
    if PERSON not in questions.table or not tasks:
        return tasks
    question = next((name for name in QUESTIONS if name in questions.table), "")
    is_long = bool(question) and "Response" in questions.table
    taken = {name for task in tasks for name in names_of(task.table)}
    wide = _by_person(questions, question, findings) if is_long else _one_row_each(questions, taken, findings)
    names = set(names_of(wide))
    wide = wide.rename(columns={name: free_name(name, taken | names, " (questionnaire)") for name in taken & names})
    findings.note(questions.file, f"columns joined by participant: {listed(wide.columns) or 'none'}", len(wide))
    return [task.with_table(task.table.join(wide, on=PERSON).fillna("")) for task in tasks]


def _by_person(questions: Sheet, question: str, findings: Findings) -> pd.DataFrame:
    """Return the answers that stand below each other, a row a question, beside each other, a row a person."""
    part = column_of(questions.table, "Key")  # the second builder has rows for several parts of an answer
    name = questions.table[question].mask(~part.isin(["", "value"]), questions.table[question] + "-" + part)
    table = questions.table.assign(**{question: name})
    table = table[(name != "") & (table["Response"] != "")]
    again = table.duplicated([PERSON, question], keep="last")
    table = without(table, again, "answers that were given anew later", questions.file, findings)
    return table.pivot(index=PERSON, columns=question, values="Response").fillna("")


def _one_row_each(questions: Sheet, taken: set[str], findings: Findings) -> pd.DataFrame:
    """Return the answers that stand beside each other; the columns that tasks have as well say nothing of answers."""
    again = questions.table.duplicated(PERSON, keep="last")
    table = without(questions.table, again, "rows of people who have a later one", questions.file, findings)
    shared = [name for name in names_of(table) if name in taken and name != PERSON]
    findings.note(questions.file, f"columns that the task has as well left out: {listed(shared) or 'none'}")
    return table.set_index(PERSON).drop(columns=shared)


def select(sheet: Sheet, explicit: bool, findings: Findings) -> pd.DataFrame:
    """Make one row of the events of a trial: the answer, or the end of the time that there was for it.

    An answer is an event whose ``Zone Type`` begins with ``response``, or whose ``Response Type`` is ``response``;
    with columns of answers named by the user, every event that is kept. Of several attempts the first one counts.
    """
    table, file = sheet.table, sheet.file
    late = column_of(table, "Timed Out").str.lower().isin(["1", "true"])
    late |= column_of(table, "Response Type").str.lower().isin(TIMED_OUT)
    if explicit:
        answer = ~late
    elif "Zone Type" in table:
        answer = table["Zone Type"].str.lower().str.startswith("response") & ~late
    else:
        answer = (column_of(table, "Response Type").str.lower() == "response") & ~late
    keys = table[[name for name in ONE_TRIAL if name in table]]
    trial = (keys != keys.shift()).any(axis=1).cumsum()
    missed = late & ~answer.groupby(trial).transform("any") & ~trial.where(late).duplicated()
    later = answer & (column_of(table, "Attempt").map(number).fillna(1) > 1)
    table = without(table, later, "second and later attempts", file, findings)
    table = without(table, ~(answer | missed)[table.index], "events that are no answers", file, findings)
    if missed.any():
        findings.note(file, "trials that ended by a time limit kept without a response", int(missed.sum()))
        for name in ("Response", "Correct"):
            table = table.assign(**{name: column_of(table, name).mask(missed[table.index], "")})
    _check_one_answer(sheet, table, trial[table.index], findings)
    return table


def _check_one_answer(sheet: Sheet, table: pd.DataFrame, trial: pd.Series, findings: Findings) -> None:
    more = trial[trial.duplicated()]
    if more.empty:
        return
    where = next(
        (name for name in ("Screen Name", "Screen", *ANSWER_COLUMNS) if table.get(name, trial[:0]).nunique() > 1), ""
    )
    row = more.index[0]
    person, number_ = plain(table["subject"][row]), shown(table[TRIAL][row])
    seen = Quoted(f"{len(more):,} trials with more than one answer, such as trial {number_} of {person}")
    advice = ""
    if where:
        values = table[where][trial.isin(more)]
        advice = f"Say which one is the choice by the argument keep and the column {where}, out of {counted(values)}."
    findings.problems.add(f"{sheet.file}, row {row}", seen, "one answer for a trial", advice)


GORILLA = Format("gorilla", _marks, prepare, select, by=ANSWER_COLUMNS, subjects=(("participantprivateid",),))
