"""Checking what rows have to do with each other: who a learner is, and what stays the same within a person."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, plain, shown
from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.checking import Sheet
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


def check_length(sheet: Sheet, learner: NDArray[np.int64]) -> None:
    """Report learners with more trials than the models can count."""
    counts = np.bincount(learner)
    for number_ in np.flatnonzero(counts > MAX_TRIALS)[:SHOWN]:
        row = int(np.argmax(learner == number_))
        seen = Quoted(f"{counts[number_]:,} trials")
        sheet.reading.problems.add(described_learner(sheet, row), seen, f"at most {MAX_TRIALS:,} trials for a learner")


def _person(sheet: Sheet, row: int) -> str:
    return f"subject {_cell(sheet, sheet.protocol.columns.subject, row)}"


def described_learner(sheet: Sheet, row: int) -> str:
    """Return who a row is about, for a message."""
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
    sheet.table.report(sheet.reading.problems, sheet.protocol.answers, silent, allowed, lambda _: advice, seen)


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
