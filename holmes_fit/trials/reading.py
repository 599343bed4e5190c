"""From files to a cohort: read, check everything, report all problems at once, apply the rules, encode."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, Quoted, plain, shown
from holmes_fit.trials.anew import number_anew
from holmes_fit.trials.cells import MISSING, number
from holmes_fit.trials.checking import CheckedCells, Sheet, check_cells, check_columns
from holmes_fit.trials.cohorts import EXCLUSION_COLUMNS, ROWS_LEFT_OUT, Cohort, Notice, build_cohort, restart_labels
from holmes_fit.trials.files import DataPath, Reading, check_path
from holmes_fit.trials.frames import Data, is_frame, read_data
from holmes_fit.trials.notices import notices_of, refused
from holmes_fit.trials.people import covariate_names, join_people, read_people, subject_table
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.schema import RESERVED, Protocol
from holmes_fit.trials.rearranging import check_sources, rearranged
from holmes_fit.trials.row_rules import with_rows_that_count, without_named_people
from holmes_fit.trials.rules import apply_rules, outside_window
from holmes_fit.trials.sequences import sequences_of
from holmes_fit.trials.structure import check_answers, check_length, number_learners
from holmes_fit.trials.text_tables import SHOWN, TextTable
from holmes_fit.trials.trial_order import TrialOrder, check_trial_order, order_of_trials, trial_numbers

FORMULA = re.compile(r"[=+@\t\r-].", re.DOTALL)  # how cells begin that spreadsheets evaluate


@dataclass(frozen=True)
class Check:
    """What came of checking data: a cohort, or the problems that keep it from being one."""

    files: tuple[str, ...]  # how much could be read, with or without problems
    rows: int
    subjects: int
    problems: tuple[Problem, ...]  # everything that has to be put right
    notes: tuple[str, ...]  # what is worth knowing and needs no action
    notices: tuple[Notice, ...]  # what is probably wrong, though the data can be read
    cohort: Cohort | None  # the data, if there are no problems


def read_cohort(
    data: Data | Iterable[DataPath], protocol: Protocol | str | Path, participants: Data | None = None
) -> Cohort:
    """Read participants' data.

    Parameters
    ----------
    data
        A CSV file, several, or a folder of them; or a DataFrame, of pandas or of polars and others that hand their
        tables over as Arrow does, for which ``pyarrow`` is needed.
    protocol
        A protocol, the name of a shipped one, or the path of a TOML file.
    participants
        A CSV or a DataFrame with one row a person, from which covariates are joined by subject.

    Raises
    ------
    InputError
        Listing every problem: file, row (the line in a text editor; in a DataFrame the position, from 0), column, the
        value seen, what is allowed.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> cohort = hf.read_cohort("data/weather_prediction.csv", "weather_prediction")
    >>> cohort.trials[["subject", "trial", "x1", "x2", "x3", "x4", "choice", "outcome"]].head(2)
      subject  trial  x1  x2  x3  x4  choice  outcome
    0     ...
    1     ...
    >>> cohort.subjects["group"].value_counts().to_dict()
    {'control': 10, 'patient': 10}
    """
    check = check_data(data, protocol, participants)
    if check.cohort is None:
        raise InputError(check.problems)
    return check.cohort


def check_data(
    data: Data | Iterable[DataPath], protocol: Protocol | str | Path, participants: Data | None = None
) -> Check:
    """Read and check participants' data, without raising for what is wrong with them.

    The parameters are those of :func:`read_cohort`. A protocol that cannot be read still raises.
    """
    if not isinstance(protocol, Protocol):
        protocol = load_protocol(protocol)
    reading = Reading()
    if participants is not None and not is_frame(participants):
        allowed = "a CSV file or a DataFrame"
        participants = participants if check_path("participants", participants, allowed, reading.problems) else None
    table = read_data(data, "data", protocol.file_columns, reading, participants)
    people = None if participants is None else read_people(participants, protocol, reading)
    n_rows = len(table)
    table = rearranged(table, protocol, reading) if n_rows else table
    subject = table.columns.get(protocol.columns.subject)
    cohort = _check_table(table, people, protocol, reading) if n_rows else None
    return Check(
        files=table.files,
        rows=n_rows,
        subjects=0 if subject is None else len(subject.texts),
        problems=tuple(reading.problems),
        notes=tuple(reading.notes),
        notices=() if reading.problems or cohort is None else cohort.notices,
        cohort=None if reading.problems else cohort,
    )


def _check_table(table: TextTable, people: TextTable | None, protocol: Protocol, reading: Reading) -> Cohort | None:
    every_row = not reading.problems
    sheet = _rows_that_count(Sheet(table, protocol, reading), people)
    check_columns(sheet)
    check_sources(sheet.table, protocol, reading)
    cells = check_cells(sheet)
    order = order_of_trials(sheet)
    columns = protocol.columns
    learner = None
    if sheet.has(columns.subject, *columns.restart):
        learner = number_learners(sheet)
        check_length(sheet, learner)
    if learner is not None and order is not None and sheet.has(*columns.trial_columns):
        check_trial_order(sheet, order, learner, every_row)
        cells.features.update(_features_anew(sheet, order, learner))
    answered = None
    if cells.choice is not None and sheet.has(columns.subject, protocol.answers):
        answered = cells.answered & ~outside_window(cells.answered, cells.rt, protocol.exclusions.rt)
        check_answers(sheet, answered)
    subjects = subject_table(sheet, people) if sheet.has(columns.subject) else None
    _note_similar_names(sheet)
    if subjects is not None:
        _note_formulas(sheet, subjects)
    if reading.problems or learner is None or order is None or subjects is None or answered is None:
        return None
    trials = _tidy_table(sheet, cells, trial_numbers(sheet, order, learner), learner, answered)
    return _with_rules(trials, subjects, sheet)


def _rows_that_count(sheet: Sheet, people: TextTable | None) -> Sheet:
    """Leave out people and rows by the rules of the protocol, and join the participants."""
    sheet = without_named_people(sheet)
    in_files = tuple(sheet.table.columns)
    sheet = with_rows_that_count(sheet)
    if people is None:
        return sheet
    return with_rows_that_count(join_people(sheet, people), done=in_files)


def _features_anew(sheet: Sheet, order: TrialOrder, learner: NDArray[np.int64]) -> dict[str, NDArray[np.int32]]:
    """Return the features whose levels are given out in the order of appearance, restart after restart."""
    subject = sheet.table.columns[sheet.protocol.columns.subject]
    rows = order.sorted_rows(learner)
    anew = {name: number_anew(sheet, name, subject, rows) for name in sheet.protocol.features}
    return {name: codes for name, codes in anew.items() if codes is not None}


def _note_similar_names(sheet: Sheet) -> None:
    subject = sheet.column(sheet.protocol.columns.subject)
    alike: dict[str, list[str]] = {}
    for text in subject.texts if subject else ():
        alike.setdefault(text.strip().casefold(), []).append(text)
    for names in [names for names in alike.values() if len(names) > 1][:5]:
        listed = " and ".join(shown(name) for name in names)
        sheet.reading.notes.append(f"Subjects {listed} count as different people; are they?")


def _note_formulas(sheet: Sheet, subjects: pd.DataFrame) -> None:
    """Point out names that a spreadsheet would take for formulas; they are kept as they are."""
    restarts = [sheet.column(name) for name in sheet.protocol.columns.restart]
    texts = [*subjects.columns, *(text for column in restarts for text in (column.texts if column else ()))]
    texts += [text for name in subjects for text in subjects[name].unique() if isinstance(text, str)]
    formulas = [text for text in texts if FORMULA.match(text) and number(text) is None]
    if formulas:
        sheet.reading.notes.append(
            f"{shown(formulas[0])}{f' and {len(formulas) - 1:,} more names begin' if formulas[1:] else ' begins'} like "
            "a formula: a spreadsheet that opens a table of results evaluates it. Import such columns there as text."
        )


def _with_rules(trials: pd.DataFrame, subjects: pd.DataFrame, sheet: Sheet) -> Cohort | None:
    staying, exclusions = apply_rules(trials, sheet.protocol)
    if not staying:
        seen = Quoted(f"{len(subjects)} people, all left out by the rules")
        sheet.reading.problems.add(f"protocol {sheet.protocol.name}, exclusions", seen, "rules that leave someone")
        return None
    exclusions = pd.concat([_left_out(sheet), exclusions], ignore_index=True)
    if len(staying) < len(subjects):
        trials = trials[trials["subject"].isin(staying)]
        subjects = subjects[subjects["subject"].isin(staying)].reset_index(drop=True)
    cohort = build_cohort(trials, sheet.protocol, subjects, exclusions)
    blind = sum(not learner.observations.feedback.any() for learner in cohort.learners)
    if blind:
        sheet.reading.notes.append(f"{blind:,} learners never saw an outcome.")
    sequences = sequences_of(cohort)
    sheet.reading.problems.found += refused(sequences)
    return replace(cohort, notes=tuple(sheet.reading.notes), notices=notices_of(sequences))


def _left_out(sheet: Sheet) -> pd.DataFrame:
    """Return what was left out before anything was checked: first people, then rows."""
    people = [row for row in sheet.reading.left_out if row[-1] != ROWS_LEFT_OUT]
    rows = [row for row in sheet.reading.left_out if row[-1] == ROWS_LEFT_OUT]
    return pd.DataFrame(people + rows, columns=list(EXCLUSION_COLUMNS), dtype="str")


def _tidy_table(
    sheet: Sheet,
    cells: CheckedCells,
    trial: NDArray[np.int64],
    learner: NDArray[np.int64],
    answered: NDArray[np.bool_],
) -> pd.DataFrame:
    """Return the trials in the tidy form, learner by learner and trial by trial."""
    assert cells.choice is not None
    assert cells.outcome is not None
    table, protocol = sheet.table, sheet.protocol
    restarts = {name: table.columns[name].tidied().cells() for name in protocol.columns.restart}
    feedback = cells.outcome != MISSING
    if cells.feedback is not None:
        feedback &= cells.feedback == 1
    data: dict[str, object] = {
        "subject": pd.array(table.columns[protocol.columns.subject].cells(), dtype="str"),
        "restart": pd.array(restart_labels(restarts, len(table)), dtype="str"),
        "trial": trial,
        "choice": _nullable(cells.choice, answered),
        "outcome": _nullable(cells.outcome, cells.outcome != MISSING),
        "feedback": feedback,
    }
    discarded = cells.answered & ~answered
    if discarded.any():
        data["excluded_choice"] = _nullable(cells.choice, discarded)
    data |= {name: pd.array(values, dtype="str") for name, values in restarts.items() if name != "restart"}
    for name in protocol.features:
        values = list(protocol.features[name].tidy.values())
        data[name] = np.array(values, dtype=np.int8 if protocol.features[name].levels is None else object)[
            cells.features[name]
        ]
    data |= _kept_columns(sheet)
    return pd.DataFrame(data).iloc[np.lexsort((trial, learner))].reset_index(drop=True)


def _nullable(codes: NDArray[np.number[Any]], given: NDArray[np.bool_]) -> pd.api.extensions.ExtensionArray:
    if codes.dtype.kind == "f":
        return pd.arrays.FloatingArray(np.where(given, codes, 0.0), ~given)
    return pd.arrays.IntegerArray(np.where(given, codes, 0).astype(np.int8), ~given)


def _kept_columns(sheet: Sheet) -> dict[str, object]:
    """Return the columns that have no part in the encoding, as they are in the file."""
    protocol, table = sheet.protocol, sheet.table
    columns = protocol.columns
    used = {columns.subject, *columns.restart, *protocol.features} | set(
        columns.trial if columns.numbers_trials else ()
    )
    used |= {protocol.response.column} if protocol.response else set()
    used |= {column for column, coding in protocol.codings.values() if coding.threshold is None}
    others = [name for name in table.columns if name not in used]
    names = _names_beside(RESERVED, others)
    unnamed = [name for name in others if name not in protocol.required_columns and name not in covariate_names(sheet)]
    if unnamed:
        listed = ", ".join(plain(names[name]) for name in unnamed[:SHOWN])
        more = f" and {len(unnamed) - SHOWN:,} more" if len(unnamed) > SHOWN else ""
        sheet.reading.notes.append(f"Columns that the protocol does not name are kept as they are: {listed}{more}.")
    return {names[name]: pd.array(table.columns[name].cells(), dtype="str") for name in others}


def _names_beside(taken: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """Return a name for each column of the file that no column of the tidy table has."""
    own, given = set(taken), {name: name for name in names}
    for name in own & given.keys():
        while given[name] in own or given[name] in given:
            given[name] += "_in_file"
    return given
