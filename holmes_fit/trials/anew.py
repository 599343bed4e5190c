"""Cues whose names change from problem to problem: levels given to names in the order of their appearance."""

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, plain, shown
from holmes_fit.trials.cells import is_nothing
from holmes_fit.trials.checking import Sheet
from holmes_fit.trials.text_tables import TextColumn


def number_anew(sheet: Sheet, name: str, subject: TextColumn, order: NDArray[np.intp]) -> NDArray[np.int32] | None:
    """Return the number of the level of each row, from 0, by the first row in ``order`` that has the name.

    Names are numbered anew for each person and each value of the columns that the feature says.
    """
    feature = sheet.protocol.features[name]
    column = sheet.column(name)
    if column is None or not feature.anew or not feature.levels or not sheet.has(*feature.anew):
        return None
    stretch = subject.codes.astype(np.int64)
    for part in [sheet.table.columns[each].tidied() for each in feature.anew]:
        stretch = np.unique(stretch * (len(part.texts) + 1) + part.codes, return_inverse=True)[1].astype(np.int64)
    number = _numbers_in_order(stretch, column.tidied().codes, order)
    empty = column.lookup(np.array([is_nothing(text) for text in column.texts], dtype=np.bool_), False)
    problems, levels = sheet.reading.problems, ", ".join(map(plain, feature.levels))
    sheet.table.report(problems, name, empty, "a name (a feature cannot be empty)")
    _report_too_many(sheet, name, np.flatnonzero((number >= len(feature.levels)) & ~empty), number, levels)
    return np.where(number < len(feature.levels), number, 0).astype(np.int32)


def _numbers_in_order(
    stretch: NDArray[np.int64], codes: NDArray[np.int32], order: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Return for each row how many other names the stretch had before the first row with its name."""
    pair = np.unique(stretch * (int(codes.max(initial=0)) + 2) + codes, return_inverse=True)[1]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    first = np.full(int(pair.max(initial=-1)) + 1, len(order), dtype=np.int64)
    np.minimum.at(first, pair, place)
    of_pair = stretch[order[first]]  # the stretch in which a name first appears
    ranked = np.lexsort((first, of_pair))
    counts = np.bincount(of_pair)
    number = np.empty(len(ranked), dtype=np.int64)
    number[ranked] = np.arange(len(ranked)) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers: NDArray[np.int64] = number[pair]
    return numbers


def _report_too_many(sheet: Sheet, name: str, rows: NDArray[np.intp], number: NDArray[np.int64], levels: str) -> None:
    columns = (sheet.protocol.columns.subject, *(sheet.protocol.features[name].anew or ()))
    table = sheet.table

    def seen(row: int) -> Quoted:
        cells = {each: table.columns[each].texts[table.columns[each].codes[row]] for each in dict.fromkeys(columns)}
        where = ", ".join(f"{plain(each)} {shown(text, limit=40)}" for each, text in cells.items())
        column = table.columns[name]
        return Quoted(f"{shown(column.texts[column.codes[row]])}, name {number[row] + 1} within {where}")

    allowed = f"as many names as there are levels: {levels}"
    advice = "Add levels, or name under anew the columns whose every new value brings new names."
    table.report(sheet.reading.problems, name, rows, allowed, lambda _: advice, seen)
