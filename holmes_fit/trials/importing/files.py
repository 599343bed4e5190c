"""From paths to tables of text: folders, archives, compressed files, and what their bytes say that they are."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from holmes_fit._support.borders import read_bytes
from holmes_fit._support.errors import Quoted, plain
from holmes_fit.trials.files import DataPath, Reading, given_paths, in_natural_order, is_there, read_files
from holmes_fit.trials.importing.bids import PARTICIPANTS, is_events_file
from holmes_fit.trials.importing.sheets import (
    Findings,
    Sheet,
    as_text,
    flattened,
    table_of,
)
from holmes_fit.trials.importing.workbooks import LARGEST, check_cells, read_parquet, read_workbook
from holmes_fit.trials.text_tables import tidy_names

if TYPE_CHECKING:
    import pandas as pd

MOST_MEMBERS = 20_000
WORKBOOK = "[Content_Types].xml"  # a member that only workbooks have
SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".xlsx", ".xlsm", ".parquet", ".gz", ".zip", ".jzip")
RECORD_KEYS = {"trial_type", "trial_index", "sender", "sender_type"}  # of a record, where others hold lists of records
PATHS = "a file, several, or a folder"
SUMMARY = re.compile(rb"[\r\n]extraInfo[\r\n]")  # above what holds for the whole session
JSON = re.compile(rb'[\s\xef\xbb\xbf\xff\xfe\0]*([\[{]|"\[?\{\\")')  # also as a text within a text
LAST_LINE = re.compile(rb'(?<=[\r\n])("?END OF FILE"?)\s*\Z')  # of files of Gorilla: a single cell


@dataclass(frozen=True, eq=False)
class Content:
    """The bytes of a file under the name that messages give it; it can be read as a path can."""

    file: str
    data: bytes
    found: bool  # in a folder or an archive, not named by the user

    def __str__(self) -> str:
        return self.file

    def read_bytes(self) -> bytes:
        return self.data

    @property
    def name(self) -> str:
        """The name without folder and suffixes."""
        name = PurePosixPath(self.file.replace("\\", "/")).name
        while PurePosixPath(name).suffix.lower() in SUFFIXES:
            name = PurePosixPath(name).stem
        return name


def read_sheets(paths: DataPath | Iterable[DataPath], sheet: str | None, findings: Findings) -> list[Sheet]:
    """Return every table in the files that are given, in the natural order of their names."""
    contents = list(_Opening(findings).contents(paths))
    if any(is_events_file(content.name) for content in contents):
        contents = _of_events(contents, findings)
    return [table for content in contents for table in _sheets_of(content, sheet, findings)]


def _of_events(contents: list[Content], findings: Findings) -> list[Content]:
    """Leave aside what lies beside the events in BIDS: tables without a header, and descriptions of columns."""
    wanted = [
        content
        for content in contents
        if not content.found
        or content.data.startswith(b"[")  # records of another program
        or (
            (is_events_file(content.name) or content.name.lower() == PARTICIPANTS) and not content.data.startswith(b"{")
        )
    ]
    if len(wanted) < len(contents):
        findings.note("all files", f"left aside {len(contents) - len(wanted):,} files that hold no events")
    return wanted


class _Opening:
    """Opens files, folders and archives, and keeps count of what has been unpacked."""

    def __init__(self, findings: Findings) -> None:
        self._findings, self._unpacked = findings, 0
        self._opened: set[Path] = set()

    def contents(self, paths: DataPath | Iterable[DataPath]) -> Iterator[Content]:
        for path in given_paths("paths", paths, PATHS, self._findings.problems):
            try:
                yield from self._in_folder(path) if path.is_dir() else self._file(path, found=False)
            except (OSError, ValueError) as error:  # no access, or a name that the file system cannot hold
                self._findings.problems.add(_named(path), Quoted(str(error)), "a file or folder that can be read")

    def _in_folder(self, folder: Path) -> Iterator[Content]:
        inside = [path.relative_to(folder) for path in folder.rglob("*")]
        visible = [path for path in inside if not any(part.startswith(".") for part in path.parts)]
        files = sorted(
            (path for path in visible if (folder / path).is_file()), key=lambda path: in_natural_order(str(path))
        )
        fitting = [path for path in files if path.suffix.lower() in SUFFIXES]
        aside = [path for path in files if path not in set(fitting)]
        name, root = _named(folder), folder.resolve()
        away = [path for path in fitting if not (folder / path).resolve().is_relative_to(root)]
        fitting = [path for path in fitting if path not in set(away)]
        if away:
            seen = f"left aside {len(away):,} links that lead out of the folder, such as {plain(str(away[0]))}"
            self._findings.note(name, seen)
        if aside:
            self._findings.note(name, f"left aside {len(aside):,} other files, such as {plain(str(aside[0]))}")
        if not fitting:
            seen = Quoted("only links that lead out of the folder" if away else "a folder without such files")
            self._findings.problems.add(name, seen, f"files {', '.join(SUFFIXES)}")
        for path in fitting:
            yield from self._file(folder / path, found=True)

    def _file(self, path: Path, found: bool) -> Iterator[Content]:
        name = _named(path)
        if not is_there(path, PATHS, self._findings.problems):
            return
        if path.resolve() in self._opened:
            self._findings.problems.add(name, Quoted("the same file more than once"), "each file once")
            return
        self._opened.add(path.resolve())
        content = Content(name, read_bytes(path, LARGEST, or_pipe=not found), found)
        if content.data.startswith(b"\x1f\x8b"):
            unzipped = self._gunzipped(content)
            if unzipped is None:
                return
            content = unzipped
        if content.data.startswith(b"PK"):
            yield from self._members(content)
        else:
            yield content

    def _gunzipped(self, content: Content) -> Content | None:
        try:
            with gzip.open(io.BytesIO(content.data)) as stream:
                data = stream.read(LARGEST - self._unpacked + 1)
        except (OSError, EOFError, zlib.error) as error:
            self._refuse(content.file, f"a damaged gzip file ({plain(str(error))})", "a file that can be unpacked")
            return None
        self._unpacked += len(data)
        if self._unpacked > LARGEST:
            self._too_large(content.file)
            return None
        return Content(content.file, data, content.found)

    def _members(self, archive: Content) -> Iterator[Content]:
        """Give a workbook as it is, and the files of another archive."""
        opened = self._opened_archive(archive)
        members = [] if opened is None else [info for info in opened.infolist() if not info.is_dir()]
        if opened is None or not self._fit(members, archive):
            return
        if any(info.filename == WORKBOOK for info in members):
            if all(self._unpack(opened, info, archive.file) is not None for info in members):
                yield archive
            return
        by_name = sorted(members, key=lambda info: in_natural_order(info.filename))
        wanted = [info for info in by_name if _is_data(info.filename)]
        if len(wanted) < len(members):
            aside = len(members) - len(wanted)
            self._findings.note(archive.file, f"left aside {aside:,} other files in the archive")
        if not wanted:
            self._refuse(archive.file, "an archive without such files", f"files {', '.join(SUFFIXES[:-3])} in it")
        for info in wanted:
            yield from self._member(opened, info, archive)

    def _opened_archive(self, archive: Content) -> zipfile.ZipFile | None:
        try:
            return zipfile.ZipFile(io.BytesIO(archive.data))
        except Exception as error:  # zipfile raises whatever a damaged archive makes it stumble on
            seen = f"a damaged archive ({plain(str(error))})"
            self._refuse(archive.file, seen, "a zip archive or a workbook that can be opened")
            return None

    def _fit(self, members: Sequence[zipfile.ZipInfo], archive: Content) -> bool:
        """Check the sizes that an archive declares, before anything is unpacked."""
        declared = sum(info.file_size for info in members)
        fits = len(members) <= MOST_MEMBERS and self._unpacked + declared <= LARGEST
        if fits:
            self._unpacked += declared
        else:
            self._too_large(archive.file, f"{len(members):,} files of {declared:,} bytes, unpacked")
        return fits

    def _member(self, opened: zipfile.ZipFile, info: zipfile.ZipInfo, archive: Content) -> Iterator[Content]:
        name = f"{archive.file}/{_named(info.filename)}"
        data = self._unpack(opened, info, name)
        if data is None:
            return
        content = Content(name, data, found=True)
        if data.startswith(b"\x1f\x8b"):
            unzipped = self._gunzipped(content)
            yield from [] if unzipped is None else [unzipped]
        elif data.startswith(b"PK") and WORKBOOK.encode() in data:
            yield from self._members(content)
        elif data.startswith(b"PK"):
            self._refuse(name, "an archive in an archive", "data files in it", "Unpack the inner one first.")
        else:
            yield content

    def _unpack(self, opened: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bytes | None:
        """Return the bytes of a member, of which never more are unpacked than it declares."""
        if info.flag_bits & 1:
            self._refuse(name, "a file with a password", "files without one", "Unpack the archive first.")
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others cannot be unpacked in steps
            self._refuse(name, "an unusual compression", "plain zip files", "Unpack the archive first.")
        else:
            try:
                with opened.open(info) as stream:
                    return stream.read(info.file_size + 1)
            except Exception as error:  # the decompressors raise a dozen kinds of error
                self._refuse(name, f"a damaged file ({plain(str(error))})", "a file that can be unpacked")
        return None

    def _too_large(self, file: str, seen: str = "more than that, unpacked") -> None:
        allowed = f"at most {MOST_MEMBERS:,} files of {LARGEST:,} bytes in all, unpacked"
        self._refuse(file, seen, allowed, "Unpack it yourself, and give the files that are needed.")

    def _refuse(self, file: str, seen: str, allowed: str, advice: str = "") -> None:
        self._findings.problems.add(file, Quoted(seen), allowed, advice)


def _named(path: Path | str) -> str:
    return plain(str(path), limit=4_096)  # whole, as folders may tell the people


def _is_data(name: str) -> bool:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return not hidden and PurePosixPath(name).suffix.lower() in SUFFIXES[:-2]


def _sheets_of(content: Content, sheet: str | None, findings: Findings) -> Iterator[Sheet]:
    data, problems = content.data, findings.problems
    table: pd.DataFrame | None = None
    if JSON.match(data):
        yield from _read_json(content, findings)
    elif data.startswith(b"PK"):
        table = read_workbook(data, content.file, sheet, findings)
    elif data.startswith(b"PAR1"):
        table = read_parquet(data, content.file, problems)
    elif data.startswith(b"\xd0\xcf\x11\xe0"):
        advice = "Save it again in Excel, as .xlsx or CSV and without a password."
        problems.add(content.file, Quoted("a workbook with a password, or of an old Excel"), "an .xlsx file", advice)
    elif content.found and (why := _without_trials(data)):
        findings.note(content.file, f"left aside, as it {why}")
    else:
        table = _read_text(content, findings)
    if table is not None:
        yield from _pasted(content, table, findings)


def _without_trials(data: bytes) -> str:
    """Return why a text file holds no trials; nothing if it may."""
    if data.strip() and b"\n" not in data.strip():
        return "is a header without rows"
    return "sums up a loop of PsychoPy, without the order of trials" if SUMMARY.search(data) else ""


def _pasted(content: Content, table: pd.DataFrame, findings: Findings) -> Iterator[Sheet]:
    """Give the table of a file, or several, where files of people were pasted together with their headers."""
    names = [name for name in table.columns if not name.startswith("unnamed_")]
    alike = table[table[names[0]].str.strip("\ufeff") == names[0]] if len(names) > 1 else table[:0]
    headers = table.index.isin([row for row, cells in alike[names[1:]].iterrows() if cells.tolist() == names[1:]])
    if not headers.any():
        yield Sheet(content.file, content.name, table, found=content.found)
        return
    findings.note(
        content.file, "dropped headers between rows; what follows each is read as a file of its own", int(headers.sum())
    )
    for part, (_, rows) in enumerate(table[~headers].groupby(headers.cumsum()[~headers]), start=1):
        yield Sheet(f"{content.file}, part {part}", content.name, rows, part, content.found)


def _read_text(content: Content, findings: Findings) -> pd.DataFrame | None:
    import pandas as pd

    reading = Reading()
    head = content.data.partition(b"\n")[0]
    padding = max((head.count(mark) * mark for mark in (b",", b";", b"\t")), key=len)
    whole = replace(content, data=LAST_LINE.sub(rb"\1" + padding, content.data))
    text = read_files([whole], [], reading)
    findings.problems.found += reading.problems.found
    for note in reading.notes:
        findings.note(content.file, note.removeprefix(f"{content.file}: "))
    n_columns = len(text.columns)
    if not len(text) or not check_cells(len(text) * n_columns, n_columns, content.file, findings.problems):
        return None
    names = tidy_names([as_text(name) for name in text.columns], content.file, findings.problems)
    clean = [replace(column, texts=tuple(map(as_text, column.texts))) for column in text.columns.values()]
    columns = {name: column.cells() for name, column in zip(names, clean, strict=True)}
    return pd.DataFrame(columns, index=text.line, dtype="str")


def _read_json(content: Content, findings: Findings) -> Iterator[Sheet]:
    """Give a table for each person of a JSON file: one value, or several one after the other, as in JSON lines."""
    problems = findings.problems
    try:
        text = content.data.decode(json.detect_encoding(content.data)).lstrip("\ufeff")
        values = [inner for value in _values(text) for inner in (_values(value) if isinstance(value, str) else [value])]
        sequences = list(_sequences(values))
        if not all(check_cells(len(each) * _keys(each), _keys(each), content.file, problems) for each in sequences):
            return
        tables = [table_of([flattened(record) for record in each], content.file, problems) for each in sequences]
    except RecursionError:
        problems.add(content.file, Quoted("brackets nested too deeply"), "JSON records of trials")
        return
    except ValueError as error:  # not the encoding that it seems, no JSON, a key twice, or a number of a million digits
        allowed = "JSON: a list of records, a list of such lists, or one of them in each line"
        problems.add(content.file, Quoted(plain(str(error), 200)), allowed)
        return
    if not tables:
        if content.found:
            findings.note(content.file, "left aside, as there is no list of records in it")
        else:
            problems.add(content.file, Quoted("no list of records"), "a list of records, one a trial")
    for part, table in enumerate(tables, start=1):
        several = len(tables) > 1
        file = f"{content.file}, list {part}" if several else content.file
        yield Sheet(file, content.name, table, part if several else 0, content.found)


def _keys(sequence: list[dict[str, Any]]) -> int:
    return len({key for record in sequence for key in record})


def _values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(object_pairs_hook=_each_key_once)
    at = 0
    while at < len(text):
        if text[at].isspace() or text[at] == ",":
            at += 1
        else:
            value, at = decoder.raw_decode(text, at)
            yield value


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"a record that has the key {plain(next(key for key in keys if keys.count(key) > 1))!r} twice")
    return record


def _sequences(values: list[Any]) -> Iterator[list[dict[str, Any]]]:
    """Give the lists of records in the values of a file; single records, one a line, are one list."""
    loose = [value for value in values if isinstance(value, dict) and RECORD_KEYS & value.keys()]
    if loose:
        yield loose
    for value in values:
        if isinstance(value, dict) and not RECORD_KEYS & value.keys():
            yield from _in_wrapper(value)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            yield value
        elif isinstance(value, list):
            yield from _sequences([item for item in value if isinstance(item, list)])


def _in_wrapper(value: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Give the one list of records in a record of a study; what else the record says holds for each of them."""
    value = {key: _parsed(item) for key, item in value.items()}
    lists = {key: item for key, item in value.items() if _is_records(item)}
    if len(lists) == 1:
        ((key, records),) = lists.items()
        others = {name: item for name, item in value.items() if name != key}
        yield [{**others, **record} for record in records]


def _parsed(item: Any) -> Any:
    """Return the list that is saved as a text within a record, as servers do with what they are sent."""
    is_list = isinstance(item, str) and item.lstrip().startswith("[")
    values = list(_values(item)) if is_list else []
    return values[0] if len(values) == 1 else item


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
