"""A CSV as text: every cell as it stands in the file, with the file and line it came from.

Columns are held as codes into their distinct texts. Checks then look at each text once, however many rows there are,
and a million rows fit into little memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import Problems, Quoted, plain

T = TypeVar("T", bound=np.generic)

ABSENT = -1  # the code of a cell whose file lacks the column
SHOWN = 20  # cells of a kind that are named one by one
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], "\ufffd")


def printable(text: str) -> str:
    """Return a text as a file can hold it: without control characters and halves of characters."""
    if text.isprintable():
        return text
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode()


def tidy_names(names: Sequence[str], file: str, problems: Problems) -> list[str]:
    """Return column names without blanks around them, unnamed ones with a number; report those that repeat."""
    tidy = [name.strip() for name in names]
    unnamed = (name for i in count(1) if (name := f"unnamed_{i}") not in tidy)
    tidy = [name or next(unnamed) for name in tidy]
    for name in sorted(name for name, times in Counter(tidy).items() if times > 1)[:SHOWN]:
        problems.add(f"{file}, header", name, "each column name once")
    return tidy


@dataclass(frozen=True)
class TextColumn:
    """A column as codes into its distinct texts."""

    texts: tuple[str, ...]
    codes: NDArray[np.int32]

    def lookup(self, values: NDArray[T], absent: object) -> NDArray[T]:
        """Return, for each row, the entry of ``values`` that belongs to the row's text."""
        return np.append(values, np.asarray(absent, dtype=values.dtype))[self.codes]  # ABSENT picks the last one

    def cells(self) -> NDArray[np.object_]:
        """Return the text of each row; a cell whose file lacks the column is empty."""
        return self.lookup(np.array(self.texts, dtype=object), "")

    def tidied(self) -> TextColumn:
        """Return the column without blanks around its texts."""
        numbers: defaultdict[str, int] = _numbering()
        codes = np.array([numbers[text.strip()] for text in self.texts], dtype=np.int32)
        return TextColumn(tuple(numbers), self.lookup(codes, ABSENT))

    def taken(self, rows: NDArray[np.intp]) -> TextColumn:
        """Return the column of some rows, with the texts that occur in them."""
        codes = self.codes[rows]
        used = np.zeros(len(self.texts) + 1, dtype=np.bool_)  # the last one is for ABSENT cells
        used[codes] = True
        number = np.where(used, np.cumsum(used) - 1, ABSENT).astype(np.int32)
        number[ABSENT] = ABSENT
        return TextColumn(tuple(compress(self.texts, used)), number[codes])


def stacked(columns: Sequence[TextColumn]) -> tuple[tuple[str, ...], list[NDArray[np.int32]]]:
    """Return the distinct texts of several columns, and the codes of each column into them."""
    numbers = _numbering()
    codes = [np.array([numbers[text] for text in column.texts], dtype=np.int32) for column in columns]
    return tuple(numbers), [column.lookup(own, ABSENT) for column, own in zip(columns, codes, strict=True)]


def recoded(texts: Iterable[str], codes: NDArray[np.int32]) -> TextColumn:
    """Return a column whose texts may repeat, each of them once, in the order in which rows first have them."""
    column = TextColumn(tuple(texts), codes).tidied()
    first = np.unique(column.codes[column.codes != ABSENT], return_index=True)
    order = first[0][np.argsort(first[1])]
    number = np.full(len(column.texts), ABSENT, dtype=np.int32)
    number[order] = np.arange(len(order))
    return TextColumn(tuple(column.texts[i] for i in order), column.lookup(number, ABSENT))


@dataclass(frozen=True)
class TextTable:
    """Rows of one or more files."""

    files: tuple[str, ...]  # the names of the files, as messages give them
    # For each row, the number of its file and the line on which it starts, as a text editor counts
    file: NDArray[np.int32]
    line: NDArray[np.int32]
    columns: dict[str, TextColumn]  # the columns by name
    # For columns that were joined from another table: that table, and for each row here the row there
    origins: dict[str, tuple[TextTable, NDArray[np.intp]]] = field(default_factory=dict)
    # For columns that were made of others: which one each cell comes from
    sources: dict[str, TextColumn] = field(default_factory=dict)
    stems: tuple[str, ...] = ()  # the names of the files without folder and ending, as they are

    def __len__(self) -> int:
        return len(self.line)

    def place(self, row: int, column: str) -> str:
        """Return the file, the row and the column of a cell, for a message."""
        if column in self.origins:
            table, rows = self.origins[column]
            return table.place(int(rows[row]), column)
        return f"{self.files[self.file[row]]}, row {self.line[row]}, column {self._named(row, column)}"

    def _named(self, row: int, column: str) -> str:
        source = column
        while source in self.sources and (code := self.sources[source].codes[row]) != ABSENT:
            source = self.sources[source].texts[code]
        return plain(column) if source == column else f"{plain(column)} (of {plain(source)})"

    def with_column(self, name: str, column: TextColumn, source: TextColumn) -> TextTable:
        """Return the table with a column that is made of others."""
        return replace(self, columns={**self.columns, name: column}, sources={**self.sources, name: source})

    def taken(self, rows: NDArray[np.intp]) -> TextTable:
        """Return some rows of the table."""
        return TextTable(
            self.files,
            self.file[rows],
            self.line[rows],
            {name: column.taken(rows) for name, column in self.columns.items()},
            {name: (table, there[rows]) for name, (table, there) in self.origins.items()},
            {name: TextColumn(column.texts, column.codes[rows]) for name, column in self.sources.items()},
            self.stems,
        )

    def report(
        self,
        problems: Problems,
        column: str,
        rows: NDArray[np.bool_] | NDArray[np.intp],
        allowed: str,
        advice: Callable[[str], str] | None = None,
        seen: Callable[[int], object] | None = None,
    ) -> None:
        """Add a problem for each of ``rows``, the first ones by their place and the others by their number.

        ``advice`` is made from the text of a cell; ``seen`` from the number of a row, if it is not that text.
        """
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.intp)
        if column in self.origins:  # one cell there stands behind many rows here
            numbers = numbers[np.unique(self.origins[column][1][numbers], return_index=True)[1]]
        values = self.columns[column]
        for row in numbers[:SHOWN].tolist():
            text = values.texts[values.codes[row]]
            problems.add(self.place(row, column), seen(row) if seen else text, allowed, advice(text) if advice else "")
        if len(numbers) > SHOWN:
            more = Quoted(f"{len(numbers) - SHOWN:,} more cells like these")
            problems.add(f"{self._files_of(numbers[SHOWN:])}, column {plain(column)}", more, allowed)

    def _files_of(self, rows: NDArray[np.intp]) -> str:
        files = np.unique(self.file[rows])
        return self.files[files[0]] if len(files) == 1 else f"{len(files)} files"


def _numbering() -> defaultdict[str, int]:
    """Return a dictionary that numbers its keys in the order in which they are asked for."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


class TableBuilder:
    """Collects rows, chunk by chunk and file by file, into a :class:`TextTable`."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._stems: list[str] = []
        self._file_parts: list[NDArray[np.int32]] = []
        self._line_parts: list[NDArray[np.int32]] = []
        self._numbers: dict[str, defaultdict[str, int]] = {}
        self._code_parts: dict[str, list[NDArray[np.int32]]] = {}
        self.rows = 0

    def start_file(self, name: str, stem: str = "") -> None:
        self._files.append(name)
        self._stems.append(stem)

    def add(self, header: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
        """Add rows of the file that was started last; each has the header's number of cells."""
        n = len(rows)
        for name in header:
            if name not in self._numbers:
                self._numbers[name] = _numbering()
                self._code_parts[name] = [_absent(self.rows)]
        for name, cells in zip(header, zip(*rows, strict=True), strict=True):
            number = self._numbers[name].__getitem__
            self._code_parts[name].append(np.fromiter(map(number, cells), np.int32, count=n))
        for name in self._numbers.keys() - set(header):
            self._code_parts[name].append(_absent(n))
        self._file_parts.append(np.full(n, len(self._files) - 1, dtype=np.int32))
        self._line_parts.append(np.array(lines, dtype=np.int32))
        self.rows += n

    def table(self) -> TextTable:
        columns = {
            name: TextColumn(tuple(numbers), _joined(self._code_parts.pop(name)))
            for name, numbers in self._numbers.items()
        }
        places = _joined(self._file_parts), _joined(self._line_parts)
        return TextTable(tuple(self._files), *places, columns, stems=tuple(self._stems))


def _absent(n: int) -> NDArray[np.int32]:
    return np.full(n, ABSENT, dtype=np.int32)


def _joined(parts: Iterable[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate([_absent(0), *parts])
