"""Checking what rows have to do with each other: the order of trials, and what stays the same within a person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, plain, shown
from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.checking import CheckedCells, Sheet
from holmes_fit.trials.observations import MAX_TRIALS
from holmes_fit.trials.text_tables import SHOWN

NO_VALUE = -1


def number_learners(sheet: Sheet) -> NDArray[np.int64]:
    """Return the number of each row's learner: person by person, and within a person restart by restart."""
    columns = sheet.protocol.columns
    subject = sheet.table.columns[columns.subject].codes.astype(np.int64)
    parts = [sheet.table.columns[name].tidied().codes for name in columns.restart]
    learner = subject
    for part in parts:
        learner = np.unique(learner * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1]
    return learner.astype(np.int64)


def check_trial_order(sheet: Sheet, cells: CheckedCells, learner: NDArray[np.int64], every_row: bool) -> None:
    """Report trial numbers that repeat within a learner or, unless gaps are allowed, leave some out.

    Learners with a trial number that could not be read are passed over, and gaps if rows could not be read at all.
    """
    assert cells.trial is not None
    order = np.lexsort((cells.trial, learner))
    unsure = np.zeros(int(learner.max(initial=0)) + 1, dtype=np.bool_)
    unsure[learner[~cells.trial_known]] = True
    order = order[~unsure[learner[order]]]
    earlier, later = order[:-1], order[1:]
    step = np.where(learner[earlier] == learner[later], cells.trial[later] - cells.trial[earlier], 1)
    _report_repeats(sheet, cells.trial, earlier[step == 0], later[step == 0])
    if every_row and not sheet.protocol.allow_gaps:
        _report_gaps(sheet, cells.trial, earlier[step > 1], later[step > 1])
    _check_length(sheet, learner)
    if not sheet.protocol.columns.restart and not sheet.reading.problems:
        starts = cells.trial[order[np.unique(learner[order], return_index=True)[1]]]
        if starts.min(initial=starts[0]) < starts.max(initial=starts[0]):
            note = (
                f"People start at different trial numbers, {starts.min()} to {starts.max()}; are first trials missing?"
            )
            sheet.reading.notes.append(note)


def _report_repeats(sheet: Sheet, trial: NDArray[np.int64], earlier: NDArray[np.intp], later: NDArray[np.intp]) -> None:
    table = sheet.table
    before = dict(zip(later.tolist(), earlier.tolist(), strict=True))

    def seen(row: int) -> Quoted:
        other = before[row]
        place = f"row {table.line[other]}"
        if table.file[row] != table.file[other]:
            place += f" of {table.files[table.file[other]]}"
        return Quoted(f"{trial[row]} again for {_learner(sheet, row)} (also in {place})")

    advice = "If numbers start again with each block or problem, name its column under restart in the protocol."
    allowed = "each trial number once for a learner"
    table.report(sheet.reading.problems, sheet.protocol.columns.trial, later, allowed, lambda _: advice, seen)


def _report_gaps(sheet: Sheet, trial: NDArray[np.int64], earlier: NDArray[np.intp], later: NDArray[np.intp]) -> None:
    before = dict(zip(later.tolist(), earlier.tolist(), strict=True))

    def seen(row: int) -> Quoted:
        return Quoted(f"{trial[row]} after {trial[before[row]]} for {_learner(sheet, row)}")

    advice = "Rows that were left out break the learning sequence; if they were never shown, set allow_gaps = true."
    allowed = "numbers without gaps"
    sheet.table.report(sheet.reading.problems, sheet.protocol.columns.trial, later, allowed, lambda _: advice, seen)


def _check_length(sheet: Sheet, learner: NDArray[np.int64]) -> None:
    counts = np.bincount(learner)
    for number_ in np.flatnonzero(counts > MAX_TRIALS)[:SHOWN]:
        row = int(np.argmax(learner == number_))
        seen = Quoted(f"{counts[number_]:,} trials")
        sheet.reading.problems.add(_learner(sheet, row), seen, f"at most {MAX_TRIALS:,} trials for a learner")


def _person(sheet: Sheet, row: int) -> str:
    return f"subject {_cell(sheet, sheet.protocol.columns.subject, row)}"


def _learner(sheet: Sheet, row: int) -> str:
    restarts = [f"{plain(name)} {_cell(sheet, name, row)}" for name in sheet.protocol.columns.restart]
    return ", ".join([_person(sheet, row), *restarts])


def _cell(sheet: Sheet, name: str, row: int) -> str:
    column = sheet.table.columns[name]
    return shown(column.texts[column.codes[row]], limit=40)


def check_answers(sheet: Sheet, answered: NDArray[np.bool_]) -> None:
    """Report people who never answered, unless a rule of the protocol takes them out."""
    columns = sheet.protocol.columns
    if sheet.protocol.exclusions.min_answered is not None:
        return
    subject = sheet.table.columns[columns.subject]
    n_answers = np.bincount(subject.codes, weights=answered, minlength=len(subject.texts))
    first = np.unique(subject.codes, return_index=True)[1]
    silent = first[n_answers[subject.codes[first]] == 0]
    trials = np.bincount(subject.codes)

    def seen(row: int) -> Quoted:
        return Quoted(f"no answer in {trials[subject.codes[row]]} trials for {_person(sheet, row)}")

    advice = "To leave such people out, set min_answered = 1 under [exclusions]."
    allowed = "at least one answer"
    sheet.table.report(sheet.reading.problems, columns.choice, silent, allowed, lambda _: advice, seen)


def values_of_subjects(sheet: Sheet, name: str) -> list[str | None]:
    """Return the one value of a covariate for each person, and report rows that differ from it."""
    subject = sheet.table.columns[sheet.protocol.columns.subject]
    column = sheet.table.columns[name]
    distinct, position = distinct_values(column.texts)
    value = column.lookup(position, NO_VALUE)
    given = np.flatnonzero(value != NO_VALUE)
    people, first = np.unique(subject.codes[given], return_index=True)
    of_person = np.full(len(subject.texts), NO_VALUE, dtype=np.int64)
    of_person[people] = value[given[first]]
    differs = (value != NO_VALUE) & (value != of_person[subject.codes])

    def seen(row: int) -> Quoted:
        had = distinct[of_person[subject.codes[row]]]
        return Quoted(
            f"{shown(column.texts[column.codes[row]])} for {_person(sheet, row)}, who had {shown(had)} before"
        )

    sheet.table.report(sheet.reading.problems, name, differs, "one value for a person", None, seen)
    return [None if i == NO_VALUE else distinct[i] for i in of_person]


def distinct_values(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct values among ``texts``, and for each text which one it is (-1 if empty).

    Numbers count as the same if they are, so ``68`` and ``68.0`` do not differ.
    """
    first: dict[float | str, int] = {}
    distinct: list[str] = []
    position = np.full(len(texts), NO_VALUE, dtype=np.int64)
    for i, text in enumerate(texts):
        if not is_nothing(text):
            value = number(text)
            key = text.strip() if value is None else value
            if key not in first:
                first[key] = len(distinct)
                distinct.append(text.strip())
            position[i] = first[key]
    return distinct, position
