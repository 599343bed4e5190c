"""Which rows of a file count, and which people: what a protocol's ``rows`` and ``exclusions.people`` say."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, nearest, plain
from holmes_fit.trials.cells import is_nothing, match_labels, numbers
from holmes_fit.trials.checking import Sheet
from holmes_fit.trials.cohorts import ROWS_LEFT_OUT
from holmes_fit.trials.protocols.layout import RowRule
from holmes_fit.trials.text_tables import ABSENT, TextColumn

EVERYONE = "everyone"
PERSON = "person left out"


def without_named_people(sheet: Sheet) -> Sheet:
    """Leave out the people whom the protocol names, with its reasons."""
    named = sheet.protocol.exclusions.people
    subject = sheet.column(sheet.protocol.columns.subject)
    if not named or subject is None:
        return sheet
    reason_of = {name.strip(): reason for name, reason in named.items()}
    gone = np.array([text.strip() in reason_of for text in subject.texts], dtype=np.bool_)
    rows = subject.lookup(gone, False)
    count = np.bincount(subject.codes[rows], minlength=len(subject.texts))
    for text, n in zip(subject.texts, count, strict=True):
        if text.strip() in reason_of:
            seen, allowed = reason_of[text.strip()], f"nobody by that name ({n:,} rows)"
            sheet.reading.left_out.append((text, "people", seen, allowed, PERSON))
    known = {text.strip() for text in subject.texts}
    for name in [name for name in reason_of if name not in known]:
        note = f"exclusions.people: nobody is called {plain(name)!r} in these files. {nearest(name, known)}"
        sheet.reading.notes.append(note.strip())
    return _kept(sheet, ~rows, "exclusions.people")


def with_rows_that_count(sheet: Sheet, done: tuple[str, ...] = ()) -> Sheet:
    """Apply the rules for rows whose columns there are, except those that are done, one after the other."""
    for verb, name, rule in sheet.protocol.rows.rules:
        column = sheet.column(name)
        if column is None or name in done:
            continue
        meets = _meeting(sheet, name, column, rule)
        stays = meets if verb == "keep" else ~meets
        key = f"rows.{verb}.{plain(name)}"
        n_rows, n_people = int((~stays).sum()), _people_in(sheet, ~stays)
        seen = f"{n_rows:,} of {len(sheet.table):,} rows"
        advice = "" if n_rows or verb == "keep" else _nearest_value(rule, column)
        sheet.reading.notes.append(f"{key} ({rule}): {seen} left out. {advice}".strip())
        if n_rows:
            allowed = f"{plain(name)} {'is' if verb == 'keep' else 'is not'}: {rule}"
            sheet.reading.left_out.append(
                (
                    EVERYONE,
                    key,
                    f"{seen}, of {n_people:,} {'person' if n_people == 1 else 'people'}",
                    allowed,
                    ROWS_LEFT_OUT,
                )
            )
        sheet = _kept(sheet, stays, key)
    return sheet


def _meeting(sheet: Sheet, name: str, column: TextColumn, rule: RowRule) -> NDArray[np.bool_]:
    """Return the rows whose cell is what a rule is about; a cell whose file lacks the column is empty."""
    texts = column.texts
    listed = match_labels(texts, rule.values) >= 0
    empty = np.array([is_nothing(text) for text in texts], dtype=np.bool_) & ~listed
    meets = listed.copy()
    if rule.empty is not None:
        meets |= empty == rule.empty
    if rule.has_range:
        values = numbers(texts)
        low, high = -np.inf if rule.min is None else rule.min, np.inf if rule.max is None else rule.max
        meets |= (values >= low) & (values <= high)
        odd = np.isnan(values) & ~empty & ~listed
        allowed = "a number, or empty, as the rule for rows is about a range"
        sheet.table.report(sheet.reading.problems, name, column.lookup(odd, False), allowed)
    return column.lookup(meets, rule.empty is True)


def _nearest_value(rule: RowRule, column: TextColumn) -> str:
    advice = [nearest(value, column.texts[:1000]) for value in rule.values]
    return next(filter(None, advice), "")


def _people_in(sheet: Sheet, rows: NDArray[np.bool_]) -> int:
    subject = sheet.column(sheet.protocol.columns.subject)
    return 0 if subject is None else len(np.setdiff1d(subject.codes[rows], [ABSENT]))


def _kept(sheet: Sheet, rows: NDArray[np.bool_], key: str) -> Sheet:
    """Return the sheet with some of its rows; people of whom none is left are left out."""
    if rows.all():
        return sheet
    if not rows.any():
        seen = Quoted(f"none of {len(rows):,} rows left")
        sheet.reading.problems.add(f"protocol {sheet.protocol.name}, key {key}", seen, "rules that leave some rows")
        return sheet
    before = sheet.column(sheet.protocol.columns.subject)
    sheet = replace(sheet, table=sheet.table.taken(np.flatnonzero(rows)))
    after = sheet.column(sheet.protocol.columns.subject)
    if key.startswith("rows.") and before is not None and after is not None:
        staying = set(after.texts)
        for name in [text for text in before.texts if text not in staying]:
            sheet.reading.left_out.append((name, key, "0 rows that count", "at least 1", PERSON))
    return sheet
