"""Checking the cells of a table against a protocol, and turning them into numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, nearest, plain
from holmes_fit.trials.cells import MISSING, UNKNOWN, is_nothing, match_labels, numbers
from holmes_fit.trials.files import Reading
from holmes_fit.trials.protocols.codings import Coding
from holmes_fit.trials.protocols.schema import CodedColumn, Protocol
from holmes_fit.trials.text_tables import ABSENT, SHOWN, TextColumn, TextTable

EMPTY_MEANS: dict[CodedColumn, str] = {
    "choice": ", or empty for a missed answer",
    "outcome": ", or empty for a trial without feedback",
    "correct": ", or empty for a trial without feedback",
    "feedback": "",
}

A_ROUNDING = 1e-6  # of a step, by which a rating may be off it
A_SLIP = 0.05  # one odd value in no more of the rows than that is a slip, not a third outcome


@dataclass(frozen=True)
class Sheet:
    """A table with the protocol that says what it should hold."""

    table: TextTable
    protocol: Protocol
    reading: Reading

    def column(self, name: str) -> TextColumn | None:
        return self.table.columns.get(name)

    def has(self, *names: str) -> bool:
        """Return whether every file has the columns."""
        return all(name in self.table.columns and ABSENT not in self.table.columns[name].codes for name in names)


@dataclass(frozen=True)
class CheckedCells:
    """The cells as numbers; ``None`` where a column is missing.

    ``choice``, ``outcome`` and ``feedback`` are 0 or 1, ``MISSING`` for empty cells, ``UNKNOWN`` for those that are
    reported. ``features`` are the numbers of their labels, without those that are numbered anew.
    """

    choice: NDArray[np.int8] | NDArray[np.float64] | None  # or the share of the scale, NaN where it is not known
    outcome: NDArray[np.int8] | None
    feedback: NDArray[np.int8] | None
    features: dict[str, NDArray[np.int32]]
    rt: NDArray[np.float64] | None

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Where there is an answer; it must have been checked."""
        assert self.choice is not None
        return ~np.isnan(self.choice) if self.choice.dtype.kind == "f" else self.choice != MISSING


def check_columns(sheet: Sheet) -> None:
    """Report every column that a file lacks, with the nearest that it has."""
    table, protocol = sheet.table, sheet.protocol
    spare = [name for name in table.columns if name not in protocol.required_columns]
    # Of several columns of which one is made, another one can be there instead.
    spare_of = {each for new in protocol.new_columns.values() if len(new.of or ()) > 1 for each in new.of or ()}
    spare_of -= set(protocol.required_columns)
    for name in protocol.file_columns:
        column = table.columns.get(name)
        if column is None:
            lacking = np.arange(len(table.files))
        elif name in table.origins or name in spare_of:  # a table of participants is checked elsewhere
            continue
        else:
            lacking = np.unique(table.file[column.codes == ABSENT])
        advice = nearest(name, spare)
        if name in protocol.columns.covariates:
            advice = f"{advice} A table of participants can have it instead.".strip()
        _report_lacking(sheet, lacking, f"column {plain(name)!r}", advice)
    for new in protocol.new_columns.values():
        if new.of and len(new.of) > 1:
            absent = [table.columns[each].codes == ABSENT for each in new.of if each in table.columns]
            lacking = np.unique(table.file[np.logical_and.reduce(absent)]) if absent else np.empty(0, dtype=np.int32)
            _report_lacking(sheet, lacking, f"column {' or '.join(repr(plain(each)) for each in new.of)}")


def _report_lacking(sheet: Sheet, files: NDArray[np.integer[Any]], what: str, advice: str = "") -> None:
    allowed = f"the columns that the protocol names: {', '.join(map(plain, sheet.protocol.file_columns))}"
    for file in files[:SHOWN]:
        sheet.reading.problems.add(f"{sheet.table.files[file]}, header", Quoted(f"no {what}"), allowed, advice)
    if len(files) > SHOWN:
        seen = Quoted(f"{len(files) - SHOWN:,} more files without the {what}")
        sheet.reading.problems.add("data", seen, "that column in every file")


def check_cells(sheet: Sheet) -> CheckedCells:
    """Check every cell that the protocol speaks of, and report those that it does not allow."""
    protocol = sheet.protocol
    for name in (protocol.columns.subject, *protocol.columns.restart):
        _check_filled(sheet, name)
    choice, shares = _coded(sheet, "choice"), _shares(sheet)
    outcome, feedback = _coded(sheet, "outcome"), _coded(sheet, "feedback")
    if protocol.columns.correct is not None:
        outcome = _outcome_from_correct(sheet, choice)
    _check_feedback(sheet, outcome, feedback)
    features = {name: codes for name in protocol.features if (codes := _feature(sheet, name)) is not None}
    return CheckedCells(choice if shares is None else shares, outcome, feedback, features, _reaction_times(sheet))


def _check_filled(sheet: Sheet, name: str) -> None:
    column = sheet.column(name)
    if column is not None:
        blank = np.array([not text.strip() for text in column.texts], dtype=np.bool_)
        sheet.table.report(sheet.reading.problems, name, column.lookup(blank, False), "a name, not an empty cell")


def _coded(sheet: Sheet, role: CodedColumn) -> NDArray[np.int8] | None:
    """Return the codes of a column: 0 or 1, MISSING, or UNKNOWN where that is reported."""
    if role not in sheet.protocol.codings:
        return None
    name, coding = sheet.protocol.codings[role]
    column = sheet.column(name)
    table_of_row = _coding_of_row(sheet, coding)
    if column is None or table_of_row is None:
        return None
    if coding.threshold is None:
        values = np.array([_values(column, codes, coding.missing) for codes in coding.tables.values()], dtype=np.int8)
    else:
        values = _beside_threshold(sheet, role, column, coding.threshold)[None]
    values = np.pad(values, ((0, 1), (0, 1)), constant_values=MISSING)  # the last column is for ABSENT cells,
    values[-1] = UNKNOWN  # the last row for rows that do not say which coding they use
    coded: NDArray[np.int8] = values[table_of_row, column.codes]
    wrong = (coded == UNKNOWN) & (table_of_row >= 0)
    if role == "feedback":
        wrong |= (coded == MISSING) & (column.codes != ABSENT)
    if wrong.any():
        _report_uncoded(sheet, role, wrong)
    return coded


def _shares(sheet: Sheet) -> NDArray[np.float64] | None:
    """Return answers on a scale as shares of it, and report those that are none."""
    scale = sheet.protocol.response
    column = sheet.column(scale.column) if scale else None
    if scale is None or column is None:
        return None
    texts = numbers(column.texts)
    missing = match_labels(column.texts, (), scale.missing) == MISSING
    texts[missing] = np.nan
    shares = (texts - scale.low) / (scale.high - scale.low)
    wrong = np.isnan(texts) & ~missing
    allowed = "a number"
    if scale.has_ends:
        wrong |= (shares < 0) | (shares > 1)
        allowed += f" from {scale.low:g} to {scale.high:g}"
        if scale.step is not None:
            wrong |= np.abs(shares * scale.steps - np.round(shares * scale.steps)) > A_ROUNDING
            allowed += f" in steps of {scale.step:g}"
    allowed += ", or empty for a missed answer"
    problems = sheet.reading.problems
    sheet.table.report(problems, scale.column, column.lookup(wrong, False), allowed)
    given = column.lookup(texts, np.nan)
    given = given[~np.isnan(given)]
    if len(given) > 1 and not wrong.any() and (given == given[0]).all():
        where = f"{', '.join(sheet.table.files[:3])}, column {plain(scale.column)}"
        advice = "Such answers say nothing about learning. Is it the right column?"
        problems.add(where, Quoted(f"{given[0]:g} in all {len(given):,} answers"), "answers that differ", advice)
    return column.lookup(np.where(wrong, np.nan, shares), np.nan)


def _values(column: TextColumn, codes: dict[str, int], missing: tuple[str, ...]) -> NDArray[np.int8]:
    position = match_labels(column.texts, list(codes), missing)
    return np.array([*codes.values(), UNKNOWN, MISSING], dtype=np.int8)[position]  # -1 is MISSING, -2 is UNKNOWN


def _beside_threshold(sheet: Sheet, role: CodedColumn, column: TextColumn, threshold: float) -> NDArray[np.int8]:
    """Return the code of each text of a column of ratings, and say how many rows are exactly at the threshold."""
    name, coding = sheet.protocol.codings[role]
    ratings = numbers(column.texts)
    above, below = (1, 0) if coding.below is None else (0, 1)
    exactly = MISSING if coding.exactly == "missing" else coding.exactly
    codes = np.select(
        [ratings > threshold, ratings < threshold, ratings == threshold], [above, below, exactly], UNKNOWN
    )
    codes[match_labels(column.texts, (), coding.missing) == MISSING] = MISSING
    n_exactly = int(column.lookup(ratings == threshold, False).sum())
    if n_exactly:
        meaning = "missing" if coding.exactly == "missing" else f"{role} {coding.exactly}"
        at = f"{n_exactly:,} {'cell is' if n_exactly == 1 else 'cells are'} exactly {threshold:g}"
        sheet.reading.notes.append(f"Column {plain(name)}: {at}, which counts as {meaning} (exactly, under [{role}]).")
    return codes.astype(np.int8)


def _coding_of_row(sheet: Sheet, coding: Coding) -> NDArray[np.int32] | None:
    """Return which of the codings each row uses, -1 where that is not known."""
    if coding.by is None:
        return np.zeros(len(sheet.table), dtype=np.int32)
    column = sheet.column(coding.by.column)
    if column is None:
        return None
    known = list(coding.by.codings)
    position = column.lookup(match_labels(column.texts, known), MISSING)
    wrong = (position < 0) & (column.codes != ABSENT)
    allowed = f"a coding of the protocol: {', '.join(map(plain, known))}"
    sheet.table.report(sheet.reading.problems, coding.by.column, wrong, allowed, lambda text: nearest(text, known))
    return np.maximum(position, MISSING)


def _report_uncoded(sheet: Sheet, role: CodedColumn, wrong: NDArray[np.bool_]) -> None:
    name, coding = sheet.protocol.codings[role]
    problems, column = sheet.reading.problems, sheet.table.columns[name]
    if coding.threshold is not None:
        sheet.table.report(problems, name, wrong, f"a number{EMPTY_MEANS[role]}")
        return
    labels = list(dict.fromkeys(label for codes in coding.tables.values() for label in codes))
    allowed = f"{', '.join(map(plain, labels))}{EMPTY_MEANS[role]}"
    values = {text.strip() for text in column.texts if not is_nothing(text)} - set(coding.missing)
    is_slip = len(values - set(labels)) == 1 and wrong.sum() <= max(1, A_SLIP * len(wrong))
    if role in ("choice", "outcome") and len(values) > 2 and not is_slip:
        seen = Quoted(f"{len(values):,} different values: {', '.join(map(plain, sorted(values)[:10]))}")
        advice = (
            "The models predict one binary outcome from binary choices: after the cues comes one of two answers, then "
            f"one of two outcomes, whatever was answered. Ratings, or more than two {role}s, must become two classes: "
            f"give every value the code 0 or 1 under [{role}] in the protocol, or a threshold such as above = 50. "
            "Ratings of what is expected can also be fitted as they are, with a table [response]. "
            "Tasks that cannot be told in this way, such as bandits with three arms, are not for these models."
        )
        problems.add(f"{', '.join(sheet.table.files[:3])}, column {plain(name)}", seen, f"two {role}s", advice)
    sheet.table.report(problems, name, wrong, allowed, lambda text: nearest(text.strip(), labels))


def _outcome_from_correct(sheet: Sheet, choice: NDArray[np.int8] | None) -> NDArray[np.int8] | None:
    """Return the chosen option where the answer was correct, the other one where not; unknown after a missed answer."""
    correct = _coded(sheet, "correct")
    if correct is None or choice is None:
        return None
    known = (correct >= 0) & (choice >= 0)
    missed = int(((correct >= 0) & (choice == MISSING)).sum())
    if missed:
        sheet.reading.notes.append(
            f"{missed:,} missed answers leave the outcome unknown, as it follows from choice and correct; "
            "they count as trials without feedback."
        )
    return np.where(known, np.where(correct == 1, choice, 1 - choice), MISSING).astype(np.int8)


def _check_feedback(sheet: Sheet, outcome: NDArray[np.int8] | None, feedback: NDArray[np.int8] | None) -> None:
    name = sheet.protocol.columns.outcome
    if name is not None and outcome is not None and feedback is not None:
        lacking = (feedback == 1) & (outcome == MISSING) & (sheet.table.columns[name].codes != ABSENT)
        allowed = "an outcome, as the row says that feedback was given"
        sheet.table.report(sheet.reading.problems, name, lacking, allowed)


def _feature(sheet: Sheet, name: str) -> NDArray[np.int32] | None:
    column = sheet.column(name)
    if column is None or sheet.protocol.features[name].anew:
        return None
    labels = list(sheet.protocol.features[name].bits)
    position = column.lookup(match_labels(column.texts, labels), 0)
    allowed = f"{', '.join(map(plain, labels))} (a feature cannot be empty)"
    sheet.table.report(sheet.reading.problems, name, position < 0, allowed, lambda text: nearest(text.strip(), labels))
    return position


def _reaction_times(sheet: Sheet) -> NDArray[np.float64] | None:
    rule = sheet.protocol.exclusions.rt
    column = sheet.column(rule.column) if rule else None
    if rule is None or column is None:
        return None
    values = numbers(column.texts)
    wrong = np.isnan(values) & np.array([not is_nothing(text) for text in column.texts], dtype=np.bool_)
    allowed = "a reaction time, or empty"
    if any("," in text for text in column.texts):
        sheet.reading.notes.append(f"Column {plain(rule.column)}: commas were read as decimal commas.")
    sheet.table.report(sheet.reading.problems, rule.column, column.lookup(wrong, False), allowed)
    return column.lookup(values / 1000 if rule.unit == "ms" else values, np.nan)
