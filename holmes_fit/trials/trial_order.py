"""The order of trials: by one column or several, whole numbers, decimals, times or words; or that of the file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, nearest, plain
from holmes_fit.trials.cells import match_labels, numbers
from holmes_fit.trials.checking import Sheet
from holmes_fit.trials.protocols.layout import Kind
from holmes_fit.trials.structure import described_learner
from holmes_fit.trials.text_tables import TextColumn

LARGEST_TRIAL = 10**9
HALF_A_DAY = 12 * 3600.0

ALLOWED: dict[Kind, str] = {
    "whole": "a whole number, such as 1, 2, 3",
    "decimal": "a number, such as 12.5",
    "time": "a time or a date, such as 09:31:05, 2024-03-05 or 2024-03-05 09:31:05",
    "day first": "a date with the day first, such as 05/03/2024 or 5.3.2024 09:31",
    "month first": "a date with the month first, such as 03/05/2024 or 3/5/2024 09:31 PM",
}
OTHERWISE = (
    "If trials are ordered by something else, say so under [columns]: order = 'decimal' or 'time', or 'file' for the "
    "order of the rows."
)

_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:[.,][0-9]{1,9})?))?(?:\s*([AaPp])\.?[Mm]\.?)?", re.ASCII)
_DATE = re.compile(r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})(?:[ T,]+(.+))?", re.ASCII)


@dataclass(frozen=True)
class TrialOrder:
    """What orders the rows of a learner: a value in each of the columns, the first column first."""

    values: tuple[NDArray[np.float64], ...]
    known: NDArray[np.bool_]  # the rows whose values could all be read

    def sorted_rows(self, learner: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the rows learner by learner, and in the order of their trials; without columns, that of the file."""
        return np.lexsort((*reversed(self.values), learner))


def order_of_trials(sheet: Sheet) -> TrialOrder | None:
    """Read the columns that order the trials, and report cells that cannot; nothing if there is no such column."""
    values, known = [], np.ones(len(sheet.table), dtype=np.bool_)
    for name, kind in zip(sheet.protocol.columns.trial_columns, sheet.protocol.columns.kinds, strict=True):
        column = sheet.column(name)
        if column is None:
            return None
        of_text = _values(column.texts, kind)
        unread = np.isnan(of_text)
        wrong = column.lookup(unread, False)
        allowed, advice = _allowed(kind)
        sheet.table.report(sheet.reading.problems, name, wrong, allowed, advice)
        values.append(column.lookup(np.where(unread, 0.0, of_text), 0.0))
        known &= column.lookup(~unread, False)
    return TrialOrder(tuple(values), known)


def _allowed(kind: Kind | tuple[str, ...]) -> tuple[str, Callable[[str], str] | None]:
    if isinstance(kind, tuple):
        return f"one of the words in their order: {', '.join(map(plain, kind))}", lambda text: nearest(text, kind)
    return ALLOWED[kind], (lambda text: OTHERWISE if text.strip() else "") if kind == "whole" else None


def _values(texts: Sequence[str], kind: Kind | tuple[str, ...]) -> NDArray[np.float64]:
    """Return for each text a number that orders it, NaN where it is not of the kind."""
    if isinstance(kind, tuple):
        position = match_labels(texts, kind)
        return np.where(position >= 0, position, np.nan)
    if kind == "whole":
        values = numbers(texts)
        return np.where((np.abs(values) <= LARGEST_TRIAL) & (values == np.round(values)), values, np.nan)
    if kind == "decimal":
        return numbers(texts)
    reader = _moment if kind == "time" else _day_first if kind == "day first" else _month_first
    return np.array([reader(text.strip()) for text in texts], dtype=np.float64)


def _moment(text: str) -> float:
    """Return the seconds of a clock time, or of an ISO 8601 date since 1970."""
    if match := _CLOCK.fullmatch(text):
        return _clock(match)
    try:
        moment = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return np.nan
    if len(text) < len("2024-03-05") or not text[:4].isdecimal() or text[4] != "-":  # 20240305 is a number
        return np.nan
    return _seconds(moment)


def _seconds(moment: datetime) -> float:
    # Local times of a file are compared with each other only, so the zone does not matter unless the file says one.
    return (moment.replace(tzinfo=None) - (moment.utcoffset() or _ZERO) - _EPOCH).total_seconds()


_EPOCH = datetime(1970, 1, 1)
_ZERO = _EPOCH - _EPOCH


def _clock(match: re.Match[str]) -> float:
    hour, minute, second = int(match[1]), int(match[2]), float((match[3] or "0").replace(",", "."))
    if match[4]:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    return np.nan if hour > 23 or minute > 59 or second >= 60 else 3600.0 * hour + 60.0 * minute + second


def _day_first(text: str) -> float:
    return _date(text, day=1, month=2)


def _month_first(text: str) -> float:
    return _date(text, day=2, month=1)


def _date(text: str, day: int, month: int) -> float:
    match = _DATE.fullmatch(text)
    if not match:
        return np.nan
    clock = _CLOCK.fullmatch(match[4].strip()) if match[4] else None
    if match[4] and clock is None:
        return np.nan
    try:
        date = datetime(int(match[3]), int(match[month]), int(match[day]))
    except ValueError:
        return np.nan
    return _seconds(date) + (_clock(clock) if clock else 0.0)


def trial_numbers(sheet: Sheet, order: TrialOrder, learner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of trials: those of the file where it has whole ones, else 1, 2, 3 for each learner."""
    if sheet.protocol.columns.numbers_trials:
        return order.values[0].astype(np.int64)
    rows = order.sorted_rows(learner)
    counts = np.bincount(learner)
    firsts = np.cumsum(counts) - counts
    number = np.empty(len(rows), dtype=np.int64)
    number[rows] = np.arange(len(rows)) - np.repeat(firsts, counts) + 1
    return number


def check_trial_order(sheet: Sheet, order: TrialOrder, learner: NDArray[np.int64], every_row: bool) -> None:
    """Report trials that cannot be told apart within a learner or, unless gaps are allowed, numbers left out.

    Learners with a trial that could not be read are passed over, and gaps if rows could not be read at all.
    """
    if not order.values:
        return
    unsure = np.zeros(int(learner.max(initial=0)) + 1, dtype=np.bool_)
    unsure[learner[~order.known]] = True
    rows = order.sorted_rows(learner)
    rows = rows[~unsure[learner[rows]]]
    earlier, later = rows[:-1], rows[1:]
    same = learner[earlier] == learner[later]
    earlier, later = earlier[same], later[same]
    repeats, gaps = _steps(order, sheet.protocol.columns.kinds, learner, earlier, later)
    _report_repeats(sheet, earlier[repeats], later[repeats])
    if every_row and not sheet.protocol.allow_gaps:
        _report_gaps(sheet, earlier[gaps], later[gaps])
    _note_unequal_starts(sheet, order, learner, rows)
    _check_midnight(sheet, order, learner)


def _steps(
    order: TrialOrder,
    kinds: Sequence[Kind | tuple[str, ...]],
    learner: NDArray[np.int64],
    earlier: NDArray[np.intp],
    later: NDArray[np.intp],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether the second of two successive trials is the first again, and whether whole numbers leave some out.

    Where a column before has a new value, as with a new block, numbers go on or begin with the learner's smallest.
    """
    same = np.ones(len(later), dtype=np.bool_)
    gaps = np.zeros(len(later), dtype=np.bool_)
    for values, kind in zip(order.values, kinds, strict=True):
        step = values[later] - values[earlier]
        if kind == "whole":
            smallest = np.full(int(learner.max(initial=0)) + 1, np.inf)
            np.minimum.at(smallest, learner, values)
            gaps |= np.where(same, step > 1, (step != 1) & (values[later] > smallest[learner[later]]))
        same &= step == 0
    return same, gaps


def _report_repeats(sheet: Sheet, earlier: NDArray[np.intp], later: NDArray[np.intp]) -> None:
    table = sheet.table
    before = dict(zip(later.tolist(), earlier.tolist(), strict=True))

    def seen(row: int) -> Quoted:
        other = before[row]
        place = f"row {table.line[other]}"
        if table.file[row] != table.file[other]:
            place += f" of {table.files[table.file[other]]}"
        return Quoted(f"{_trial(sheet, row)} again for {described_learner(sheet, row)} (also in {place})")

    columns = sheet.protocol.columns
    advice = (
        "If numbers start again with each block of the same task, order by both columns, as in "
        "trial = ['block', 'trial']; only if people have to learn anew, name the column under restart."
    )
    if not columns.numbers_trials:
        advice = "Name another column under trial that tells them apart, or set order = 'file'."
    table.report(
        sheet.reading.problems, columns.trial[-1], later, "each trial number once for a learner", lambda _: advice, seen
    )


def _report_gaps(sheet: Sheet, earlier: NDArray[np.intp], later: NDArray[np.intp]) -> None:
    before = dict(zip(later.tolist(), earlier.tolist(), strict=True))

    def seen(row: int) -> Quoted:
        return Quoted(f"{_trial(sheet, row)} after {_trial(sheet, before[row])} for {described_learner(sheet, row)}")

    advice = "Rows that were left out break the learning sequence; if they were never shown, set allow_gaps = true."
    name = sheet.protocol.columns.trial[-1]
    sheet.table.report(sheet.reading.problems, name, later, "numbers without gaps", lambda _: advice, seen)


def _trial(sheet: Sheet, row: int) -> str:
    columns = sheet.protocol.columns
    cells = [_text(sheet.table.columns[name], row) for name in columns.trial]
    if columns.numbers_trials:
        return f"{float(numbers(cells)[0]):.0f}"
    return ", ".join(f"{plain(name)} {cell}" for name, cell in zip(columns.trial, cells, strict=True))


def _text(column: TextColumn, row: int) -> str:
    return plain(column.texts[column.codes[row]].strip(), limit=40)


def _note_unequal_starts(sheet: Sheet, order: TrialOrder, learner: NDArray[np.int64], rows: NDArray[np.intp]) -> None:
    columns = sheet.protocol.columns
    if columns.numbers_trials and not columns.restart and not sheet.reading.problems:
        starts = order.values[0][rows[np.unique(learner[rows], return_index=True)[1]]].astype(np.int64)
        if starts.min() < starts.max():
            seen = f"People start at different trial numbers, {starts.min()} to {starts.max()}"
            sheet.reading.notes.append(f"{seen}; are first trials missing?")


def _check_midnight(sheet: Sheet, order: TrialOrder, learner: NDArray[np.int64]) -> None:
    """Report clocks that begin anew in the order of the file, where no date comes before them."""
    columns = sheet.protocol.columns
    if columns.kinds[0] != "time" or len(columns.kinds) > 1:
        return
    time = order.values[0]
    rows = np.argsort(learner, kind="stable")
    earlier, later = rows[:-1], rows[1:]
    of_clock = (time[earlier] < 2 * HALF_A_DAY) & (time[later] < 2 * HALF_A_DAY)
    passed = (learner[earlier] == learner[later]) & of_clock & (time[earlier] - time[later] > HALF_A_DAY)
    passed &= order.known[earlier] & order.known[later]
    before = dict(zip(later[passed].tolist(), earlier[passed].tolist(), strict=True))

    def seen(row: int) -> Quoted:
        times = f"{_text(sheet.table.columns[columns.trial[0]], row)} after {_trial(sheet, before[row])}"
        return Quoted(f"{times} in the file, for {described_learner(sheet, row)}")

    advice = "Name a column of dates before it, as in trial = ['date', 'time'], or set order = 'file'."
    allowed = "times of one day, as nothing says which day it is"
    sheet.table.report(sheet.reading.problems, columns.trial[0], later[passed], allowed, lambda _: advice, seen)
