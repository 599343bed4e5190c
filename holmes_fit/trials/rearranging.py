"""From the columns of a file to those that the protocol speaks of: wide tables made long, and new columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Quoted, nearest, plain
from holmes_fit.trials.cells import is_nothing
from holmes_fit.trials.files import Reading
from holmes_fit.trials.protocols.layout import NewColumn, matcher, placeholders
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.text_tables import ABSENT, SHOWN, TextColumn, TextTable, recoded, stacked

FILE_NAME = "the name of the file"

# The column of each trial for one name of the long table, by the numbers of the trial
Columns = Mapping[tuple[int, ...], str]


def rearranged(table: TextTable, protocol: Protocol, reading: Reading) -> TextTable:
    """Return the table with a row for each trial, and with the new columns of the protocol; report what it lacks."""
    if protocol.wide:
        table = made_long(table, protocol.wide, reading)
    for name, new in protocol.new_columns.items():
        if _is_free(table, name, reading):
            table = _with_new_column(table, name, new, reading)
    return table


def _is_free(table: TextTable, name: str, reading: Reading) -> bool:
    if name in table.columns:
        allowed = "a name for the new column that no column of the files has"
        reading.problems.add(f"{table.files[0]}, header", name, allowed, "Change the name in the protocol.")
    return name not in table.columns


def made_long(table: TextTable, wide: Mapping[str, str], reading: Reading) -> TextTable:
    """Return a table that has columns for each trial with a row for each trial; report columns that it lacks."""
    numbers = placeholders(next(iter(wide.values())))
    columns = {name: _columns_of(table, pattern, numbers, reading) for name, pattern in wide.items()}
    _report_lacking(table, wide, columns, reading)
    trials = sorted({trial for found in columns.values() for trial in found})
    used = {column for found in columns.values() for column in found.values()}
    kept = {name: column for name, column in table.columns.items() if name not in used}
    free = [_is_free(replace(table, columns=kept), name, reading) for name in (*wide, *numbers)]
    if not trials or not all(free):
        return table
    rows = np.repeat(np.arange(len(table)), len(trials))
    long = replace(table, columns=kept).taken(rows)
    for name, found in columns.items():
        column, source = _alternating(table, [found.get(trial) for trial in trials])
        long = long.with_column(name, column, source)
    for place, name in enumerate(numbers):
        texts = [str(trial[place]) for trial in trials]
        codes = np.tile(np.arange(len(trials), dtype=np.int32), len(table))
        long = replace(long, columns={**long.columns, name: recoded(texts, codes)})
    return _without_empty_trials(long, list(wide), reading)


def _columns_of(table: TextTable, pattern: str, numbers: Sequence[str], reading: Reading) -> Columns:
    """Return the columns of a pattern by their numbers, in the order of ``numbers``."""
    find, names = matcher(pattern), placeholders(pattern)
    found: dict[tuple[int, ...], str] = {}
    for column in table.columns:
        if match := find.fullmatch(column):
            by_name = dict(zip(names, map(int, match.groups()), strict=True))
            trial = tuple(by_name[name] for name in numbers)
            if trial in found:
                seen = Quoted(f"{plain(found[trial])!r} and {plain(column)!r}")
                allowed = f"one column {plain(pattern)} for a number"
                reading.problems.add(f"{table.files[0]}, header", seen, allowed)
            found[trial] = column
    if not found:
        seen = Quoted(f"no column like {plain(pattern)!r}")
        allowed = "a column for each trial, with a whole number in the place of the braces"
        spare = nearest(find.sub("", pattern), table.columns)
        reading.problems.add(f"{table.files[0]}, header", seen, allowed, spare)
    return found


def _report_lacking(
    table: TextTable, wide: Mapping[str, str], columns: Mapping[str, Columns], reading: Reading
) -> None:
    trials = {trial for found in columns.values() for trial in found}
    for name, found in columns.items():
        lacking = sorted(trials - found.keys()) if found else []
        for trial in lacking[:SHOWN]:
            numbers = dict(zip(placeholders(next(iter(wide.values()))), trial, strict=True))
            wanted = wide[name]
            for placeholder, number in numbers.items():
                wanted = wanted.replace(f"{{{placeholder}}}", str(number))
            allowed = "every column of a trial, as the others have that number"
            reading.problems.add(f"{table.files[0]}, header", Quoted(f"no column {plain(wanted)!r}"), allowed)


def _alternating(table: TextTable, names: Sequence[str | None]) -> tuple[TextColumn, TextColumn]:
    """Return the column that takes its cells from several in turn, and which one each comes from."""
    empty = TextColumn(("",), np.zeros(len(table), dtype=np.int32))
    texts, codes = stacked([empty, *(empty if name is None else table.columns[name] for name in names)])
    in_turn = np.column_stack(codes[1:]).ravel()
    in_turn[in_turn == ABSENT] = 0  # a file that lacks the column has nothing to say about the trial
    sources = np.tile(np.arange(len(names), dtype=np.int32), len(table))
    return recoded(texts, in_turn), TextColumn(tuple(name or "" for name in names), sources)


def _without_empty_trials(table: TextTable, names: Sequence[str], reading: Reading) -> TextTable:
    """Leave out the trials that nobody can have had, as none of their columns has an entry."""
    entry = np.zeros(len(table), dtype=np.bool_)
    for name in names:
        entry |= _is_filled(table.columns[name])
    if entry.all():
        return table
    reading.notes.append(f"wide: left out {(~entry).sum():,} trials in whose columns a row has no entry.")
    return table.taken(np.flatnonzero(entry))


def _is_filled(column: TextColumn) -> NDArray[np.bool_]:
    return column.lookup(np.array([not is_nothing(text) for text in column.texts], dtype=np.bool_), False)


def _with_new_column(table: TextTable, name: str, new: NewColumn, reading: Reading) -> TextTable:
    if new.file_name:
        whole = TextColumn(table.stems, table.file)
        source = TextColumn((FILE_NAME,), np.zeros(len(table), dtype=np.int32))
    else:
        found = [each for each in new.of or () if each in table.columns]
        if not found:
            return table
        whole, source = _first_filled(table, name, found, reading)
    lacking = _lacking(whole, new)
    parts = ["" if lacks else new.part_of(text) or "" for text, lacks in zip(whole.texts, lacking, strict=True)]
    codes = np.where(whole.lookup(lacking, False), np.int32(ABSENT), whole.codes)
    return table.with_column(name, recoded(parts, codes), source)


def _lacking(column: TextColumn, new: NewColumn) -> NDArray[np.bool_]:
    """Return the texts that have an entry, but not the part of which a column is made."""
    lacks = [not is_nothing(text) and not new.part_of(text) for text in column.texts]
    return np.array(lacks, dtype=np.bool_)


def _first_filled(table: TextTable, name: str, names: Sequence[str], reading: Reading) -> tuple[TextColumn, TextColumn]:
    """Return for each row the first cell that is not empty, or that of the first column, and where it comes from."""
    texts, codes = stacked([table.columns[each] for each in names])
    source = np.zeros(len(table), dtype=np.int32)
    chosen, filled = codes[0].copy(), _is_filled(table.columns[names[0]])
    differing = np.zeros(len(table), dtype=np.bool_)
    for number, each in enumerate(names[1:], start=1):
        own = _is_filled(table.columns[each])
        differing |= own & filled & (codes[number] != chosen)
        taken = ~filled & (own | (chosen == ABSENT))
        source[taken], chosen[taken] = number, codes[number][taken]
        filled |= own
    for each in names:
        lacking = np.unique(table.file[table.columns[each].codes == ABSENT])
        if len(lacking):
            files = (
                f"{table.files[lacking[0]]} and {len(lacking) - 1:,} more"
                if len(lacking) > 1
                else table.files[lacking[0]]
            )
            reading.notes.append(f"{plain(name)}: no column {plain(each)!r} in {files}; the others count there.")
    if differing.any():
        listed = ", ".join(map(plain, names))
        seen = f"{differing.sum():,} rows have different entries in {listed}"
        reading.notes.append(f"{plain(name)}: {seen}; the first that is not empty counts.")
    return TextColumn(texts, chosen), TextColumn(tuple(names), source)


def check_sources(table: TextTable, protocol: Protocol, reading: Reading) -> None:
    """Report cells that lack the part of which a new column is made, and files whose name does."""
    for name, new in protocol.new_columns.items():
        if name not in table.sources or not (new.is_part or new.file_name):
            continue
        if new.file_name:
            _check_file_names(table, name, new, reading)
        else:
            for source, rows in _cells_of(table, name):
                column = table.columns[source]
                wrong = rows & column.lookup(_lacking(column, new), False)
                allowed = f"a cell with {new}, from which the column {plain(name)} is made"
                table.report(reading.problems, source, wrong, allowed)


def _check_file_names(table: TextTable, name: str, new: NewColumn, reading: Reading) -> None:
    first: dict[str, str] = {}
    for file, stem in [(table.files[i], table.stems[i]) for i in np.unique(table.file)]:
        made_of = f"from which the column {plain(name)} is made"
        if not new.part_of(stem):
            allowed = f"a file whose name has {new}, {made_of}" if new.is_part else f"a file with a name, {made_of}"
            reading.problems.add(file, stem, allowed)
        elif stem in first:
            seen = Quoted(f"the name {plain(stem)!r}, as {first[stem]} has")
            reading.problems.add(file, seen, f"one file of that name, {made_of}")
        first.setdefault(stem, file)


def _cells_of(table: TextTable, name: str) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Give the columns of which a column is made, and the rows in which it is."""
    source = table.sources[name]
    for number, each in enumerate(source.texts):
        yield each, source.codes == number
