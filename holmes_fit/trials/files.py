"""From paths to text: which files there are, how they are encoded, and where their cells end."""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holmes_fit._support.borders import read_bytes
from holmes_fit._support.errors import Problems, Quoted, nearest, plain
from holmes_fit.trials.text_tables import SHOWN, TableBuilder, TextTable, tidy_names

DataPath = str | os.PathLike[str]

SUFFIXES = (".csv", ".tsv", ".txt")
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
HINT = re.compile(r'"?sep=.?"?\s*', re.IGNORECASE)  # a line for Excel, which says how to read the rest
CHUNK = 2_000  # rows that are held as Python strings at a time, if they are not longer than this in all
LONGEST = 2**20  # characters of a row; people's answers have a few hundred
TEXT_NEEDED = "a text file of comma-, semicolon- or tab-separated values"


class Readable(Protocol):
    """A file, or a part of an archive."""

    @property
    def name(self) -> str: ...

    def read_bytes(self) -> bytes: ...


@dataclass
class Reading:
    """What is found while reading: problems, which stop it in the end, and what does not."""

    problems: Problems = field(default_factory=Problems)
    notes: list[str] = field(default_factory=list)
    # What rules have left out before anything is checked, in the columns of the exclusions of a cohort
    left_out: list[tuple[str, str, str, str, str]] = field(default_factory=list)


@dataclass
class _Ragged:
    """Rows whose number of cells differs from the header's."""

    rows: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, cells: int) -> None:
        self.count += 1
        if self.count <= SHOWN:
            self.rows.append((line, cells))


def shown_path(path: Path | Readable) -> str:
    """Return a path as messages give it."""
    return plain(str(path), limit=200)


def check_path(name: str, value: object, allowed: str, problems: Problems) -> bool:
    """Check that an argument is a path, and return whether it is."""
    is_path, is_table = isinstance(value, str | os.PathLike), hasattr(value, "columns")
    if not is_path:
        problems.add(f"argument {name}", Quoted(f"a {type(value).__name__}") if is_table else value, allowed)
    return is_path


def given_paths(name: str, given: object, allowed: str, problems: Problems) -> list[Path]:
    """Return the paths that an argument gives, one or several."""
    is_one = isinstance(given, str | bytes | os.PathLike) or hasattr(given, "columns")
    several: list[Any] = list(given) if isinstance(given, Iterable) and not is_one else [given]
    if not several:
        problems.add(f"argument {name}", Quoted("no file"), allowed)
    return [Path(each) for each in several if check_path(name, each, allowed, problems)]


def is_there(path: Path, allowed: str, problems: Problems) -> bool:
    """Check that a file exists, and return whether it does."""
    if not path.exists():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        problems.add(shown_path(path), Quoted("no such file"), allowed, nearest(path.name, beside))
    return path.exists()


def find_files(data: DataPath | Iterable[DataPath], reading: Reading, beside: DataPath | None = None) -> list[Path]:
    """Return the files that ``data`` stands for: a file, several, or the CSVs of a folder, without ``beside``."""
    allowed = "a CSV file, several, or a folder; or one DataFrame, not in a list"
    files: list[Path] = []
    for path in given_paths("data", data, allowed, reading.problems):
        try:
            if path.is_dir():
                files += _files_in_folder(path, reading)
            elif is_there(path, "a file or a folder", reading.problems):
                files.append(path)
        except (OSError, ValueError) as error:  # no access, or a name that the file system cannot hold
            reading.problems.add(shown_path(path), Quoted(str(error)), "a file or folder that can be read")
    for file in sorted(file for file, times in Counter(files).items() if times > 1):
        reading.problems.add(shown_path(file), Quoted("the same file more than once"), "each file once")
    # A table of participants may lie in the same folder as the files of trials.
    return [file for file in dict.fromkeys(files) if beside is None or file != Path(beside)]


def _files_in_folder(folder: Path, reading: Reading) -> list[Path]:
    inside = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."]
    visible = sorted(inside, key=lambda path: in_natural_order(path.name))
    files = [path for path in visible if path.suffix.lower() in SUFFIXES]
    if not files:
        seen = Quoted(f"a folder without {', '.join(SUFFIXES)} files")
        reading.problems.add(shown_path(folder), seen, "a folder with one CSV file or more")
    left = [path.name for path in visible if path not in files]
    if files and left:
        reading.notes.append(f"{shown_path(folder)}: left aside {len(left)} other files, such as {plain(left[0])}.")
    return files


def in_natural_order(text: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts p2 before p10."""
    parts = re.split(r"([0-9]+)", text)
    return tuple((int(part[:18]), "") if i % 2 else (0, part) for i, part in enumerate(parts))


def read_files(paths: Sequence[Path | Readable], expected: Sequence[str], reading: Reading) -> TextTable:
    """Read every file into one table of text; the columns that are expected help to tell the separator."""
    builder = TableBuilder()
    for path in paths:
        _read_file(path, expected, builder, reading)
    return builder.table()


def _read_file(path: Path | Readable, expected: Sequence[str], builder: TableBuilder, reading: Reading) -> None:
    name = shown_path(path)
    opened = _opened(path, name, reading)
    if opened is None:
        return
    before = builder.rows, len(reading.problems.found)
    separator = _separator(_line_with_separator(opened), expected)
    builder.start_file(name, Path(path.name).stem)
    records = _Records(opened, separator, name, reading)
    header = _header(records.first(), name, reading)
    if header is not None:
        _read_rows(records, header, name, builder, reading)
    if before == (builder.rows, len(reading.problems.found)):
        seen = Quoted("an empty file" if header is None else "a header without rows")
        reading.problems.add(name, seen, "a header and a row for each trial")


def _opened(path: Path | Readable, name: str, reading: Reading) -> io.TextIOWrapper | None:
    try:
        content = read_bytes(path, or_pipe=True) if isinstance(path, Path) else path.read_bytes()
    except (OSError, ValueError) as error:
        seen = (error.strerror or "no access") if isinstance(error, OSError) else str(error)
        reading.problems.add(name, Quoted(seen), "a file that can be read")
        return None
    encoding = _encoding(content)
    if encoding is None:
        is_packed = content.startswith((b"PK", b"\xd0\xcf", b"\x1f\x8b", b"PAR1"))
        advice = "Save it as CSV, or import it, as workbooks and archives can be." if is_packed else ""
        reading.problems.add(name, Quoted("a binary file, or a damaged one"), TEXT_NEEDED, advice)
        return None
    if encoding == "cp1252":
        reading.notes.append(f"{name}: read as Latin-1 (Windows-1252), as it is not UTF-8.")
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline="")


def _encoding(content: bytes) -> str | None:
    """Return UTF-16 by its byte order mark, else UTF-8, else Latin-1; nothing if the content is no text."""
    by_mark = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    for encoding in ("utf-16",) if by_mark else ("utf-8-sig", "cp1252"):
        # Windows-1252 is what "Latin-1" files mostly are; the few bytes that it lacks are control characters.
        errors = "replace" if encoding == "cp1252" else "strict"
        try:
            text = content.decode(encoding, errors)
        except UnicodeDecodeError:
            continue
        return None if _is_binary(text) else encoding
    return None


def _is_binary(text: str) -> bool:
    start = text[:65_536]
    odd = sum(start.count(chr(code)) for code in range(32) if chr(code) not in "\t\n\r\f\v")
    return "\0" in text or odd > len(start) / 100


def _line_with_separator(opened: io.TextIOWrapper) -> str:
    """Return the header, or what may be it if a title stands above."""
    lines = iter(lambda: opened.readline(LONGEST), "")
    line = next((line for line in lines if any(mark in line for mark in SEPARATORS) and not HINT.fullmatch(line)), "")
    opened.seek(0)
    return line


def _separator(line: str, expected: Sequence[str]) -> str:
    """Return the separator that finds the most expected columns in the header, then the most columns at all."""

    def found(separator: str) -> tuple[int, int]:
        try:
            names = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
        except csv.Error:
            return 0, 0
        return len(set(names) & set(expected)), len(names)

    return max(SEPARATORS, key=found)


class _Lines:
    """The lines of a file, counted in characters since a number was set to 0, and never too many."""

    def __init__(self, opened: io.TextIOWrapper) -> None:
        self._opened = opened
        self.of_row = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._opened.readline(LONGEST + 1):
            self.of_row += len(line)
            if self.of_row > LONGEST:
                raise csv.Error(f"more than {LONGEST:,} characters in a row")
            yield line


class _Records:
    """The records of a file, in chunks, up to the first that cannot be parsed."""

    def __init__(self, opened: io.TextIOWrapper, separator: str, name: str, reading: Reading) -> None:
        self._lines = _Lines(opened)
        self._reader = csv.reader(self._lines, delimiter=separator, strict=True)
        self._separator, self._name, self._reading = separator, name, reading

    def chunks(self, size: int) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Give lists of records, and the lines on which they start."""
        reader, start = self._reader, self._reader.line_num + 1
        starts: list[int] = []
        rows: list[list[str]] = []
        length = 0
        try:
            for cells in reader:
                rows.append(cells)
                starts.append(start)
                start = reader.line_num + 1
                length, self._lines.of_row = length + self._lines.of_row, 0
                if len(rows) == size or length > LONGEST:
                    yield starts, rows
                    starts, rows, length = [], [], 0
        except csv.Error as error:
            advice = "Look for a quotation mark that is not closed, or is followed by something else than a separator."
            allowed = "cells that can be told apart"
            self._reading.problems.add(f"{self._name}, row {start}", Quoted(str(error)), allowed, advice)
        if rows:
            yield starts, rows

    def first(self) -> list[str]:
        """Return the first record that is neither blank nor a hint for Excel."""
        records = (rows[0] for _, rows in self.chunks(size=1))
        return next((cells for cells in records if any(cells) and not HINT.fullmatch(self._separator.join(cells))), [])


def _header(cells: list[str], name: str, reading: Reading) -> list[str] | None:
    header = [cell.strip() for cell in cells]
    while header and not header[-1]:  # spreadsheets leave separators at the end of lines
        header.pop()
    header = tidy_names(header, name, reading.problems)
    return header if 0 < len(set(header)) == len(header) else None


def _read_rows(records: _Records, header: list[str], name: str, builder: TableBuilder, reading: Reading) -> None:
    ragged = _Ragged()
    empty = 0
    width = len(header)
    for starts, rows in records.chunks(CHUNK):
        if set(map(len, rows)) != {width} or not all(map(any, rows)):
            filled = [(start, cells) for start, cells in zip(starts, rows, strict=True) if any(cells)]
            empty += sum(1 for cells in rows if cells and not any(cells))
            for start, cells in filled:
                if len(cells) < width or any(cells[width:]):
                    ragged.add(start, len(cells))
            whole = [(s, cells[:width]) for s, cells in filled if len(cells) >= width and not any(cells[width:])]
            starts, rows = [start for start, _ in whole], [cells for _, cells in whole]
        if rows:
            builder.add(header, rows, starts)
    if empty:
        reading.notes.append(f"{name}: skipped {empty:,} rows without any entry.")
    _report_ragged(ragged, width, name, reading)


def _report_ragged(ragged: _Ragged, width: int, name: str, reading: Reading) -> None:
    allowed = f"{width} {'cell' if width == 1 else 'cells'}, as in the header"
    advice = "Numbers with decimal commas need semicolons or tabs between columns."
    if width == 1:
        advice = "Does a title stand above the header? Take away all lines above it."
    for line, cells in ragged.rows:
        reading.problems.add(f"{name}, row {line}", Quoted(f"{cells} cells"), allowed, advice if cells > width else "")
    if ragged.count > SHOWN:
        reading.problems.add(name, Quoted(f"{ragged.count - SHOWN:,} more rows like these"), allowed)
