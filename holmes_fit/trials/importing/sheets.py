"""What all importers share: tables of text with the file they came from, notes of what was done, and small tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from holmes_fit._support.errors import Problems, Quoted, plain
from holmes_fit.trials.text_tables import printable, tidy_names

if TYPE_CHECKING:
    import pandas as pd

IN_FILE = "_in_file"  # added to a column whose name the import needs for itself
# Names that services give to people, or to their visits; those of people come first, and one is enough
SERVICES = (
    *("prolificpid", "prolificid", "prolificsubjectid", "workerid"),
    *("sonaid", "srid", "runid", "jatosstudyresultid"),
)
PEOPLE = (
    (
        "subject",
        "subjectid",
        "subjectnr",
        "subjid",
        "subid",
        "participant",
        "participantid",
        "participantnr",
        "ppnr",
        "ppid",
    ),
    SERVICES,
)


class Note(NamedTuple):
    """One thing that an import did: in which file, by which rule, to how many rows."""

    file: str
    rule: str
    rows: int | None = None

    def __str__(self) -> str:
        count = "" if self.rows is None else f" ({self.rows:,} {'row' if self.rows == 1 else 'rows'})"
        return f"{self.file}: {self.rule}{count}"


@dataclass
class Findings:
    """What is found while importing: problems, which stop it in the end, and notes, which do not."""

    problems: Problems = field(default_factory=Problems)
    notes: list[Note] = field(default_factory=list)

    def note(self, file: str, rule: str, rows: int | None = None) -> None:
        self.notes.append(Note(plain(file, 300), plain(rule, 1_000), rows))


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of text as it was read, one row a record; its index holds the lines, or the numbers of the records."""

    file: str  # as messages give it
    name: str  # without folder and suffix
    table: pd.DataFrame
    part: int = 0  # counts the people of a file that holds several, from 1
    found: bool = False  # in a folder or an archive, not named by the user
    called: str = ""  # by its folder, where other files have its name

    @property
    def person(self) -> str:
        """The person's name, where no column tells it."""
        return f"{self.called or self.name}-{self.part}" if self.part else self.called or self.name

    def with_table(self, table: pd.DataFrame) -> Sheet:
        return replace(self, table=table)

    def place(self, row: object, column: str) -> str:
        return f"{self.file}, row {row}, column {plain(column)}"


@dataclass(frozen=True)
class Format:
    """How the files of one program are told from others, and how their rows become trials."""

    kind: str
    marks: Callable[[set[str], str], str]  # columns, file's name -> why it is of this kind, or ""
    prepare: Callable[[list[Sheet], Findings], list[Sheet]] = lambda sheets, findings: sheets
    select: Callable[[Sheet, bool, Findings], pd.DataFrame] = lambda sheet, explicit, findings: sheet.table
    by: tuple[str, ...] = ()  # who chooses by one of these columns takes over from `select`
    # Columns that name the person, in small letters and without signs, the best ones first
    subjects: tuple[tuple[str, ...], ...] = ()
    of_people: str | None = None  # a pattern of columns that may say something about the person in rows without a trial


def as_text(value: object) -> str:
    """Return a value of JSON or of a spreadsheet as the text of a cell; nothing is empty."""
    if value is None or (isinstance(value, float) and value != value):  # NaN
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return printable(json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value))


def flattened(record: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the texts of a record by column; entries of nested records get names such as ``response.Q0``.

    Raises
    ------
    ValueError
        If two entries get the same name.
    """
    flat: dict[str, str] = {}
    for key, value in record.items():
        inner = flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": as_text(value)}
        if again := flat.keys() & inner.keys():
            raise ValueError(f"two entries that are both called {plain(min(again))!r}")
        flat |= inner
    return flat


def table_of(records: Sequence[Mapping[str, str]], file: str, problems: Problems) -> pd.DataFrame:
    """Return records as a table of text; names of columns lose the blanks around them, and must then still differ."""
    import pandas as pd

    table = pd.DataFrame(list(records), index=range(1, len(records) + 1), dtype="str").fillna("")
    table.columns = pd.Index(tidy_names([as_text(name) for name in table.columns], file, problems), dtype="str")
    return table


def free_name(name: str, taken: Iterable[str], suffix: str = IN_FILE) -> str:
    """Return a name with as many suffixes as it takes to be different from those that are taken."""
    known = set(taken)
    while name in known:
        name += suffix
    return name


def with_column(table: pd.DataFrame, name: str, cells: Any, file: str, findings: Findings) -> pd.DataFrame:
    """Add a column of the import's own; one of that name that the file has is kept under another."""
    if name in table:
        free = free_name(name, names_of(table))
        findings.note(file, f"column {plain(name)} of the file renamed to {plain(free)}")
        table = table.rename(columns={name: free})
    table = table.copy(deep=False)
    table[name] = cells
    return table


def unpacked(sheet: Sheet, findings: Findings) -> Sheet:
    """Spread cells that hold a JSON object, such as the answers of a form, over a column for each entry."""
    table = sheet.table
    for name in names_of(table):
        like_objects = table[name][table[name].str.match(r"\s*\{")]
        objects = {row: entries for row, cell in like_objects.items() if (entries := _entries(cell, name)) is not None}
        if not objects:
            continue
        spread = table_of(list(objects.values()), sheet.file, findings.problems)
        spread.index = list(objects)
        taken = [new for new in spread if new in table]
        if taken:
            findings.problems.add(f"{sheet.file}, column {plain(name)}", taken, "entries with names of their own")
            continue
        table = table.assign(**{name: table[name].mask(table.index.isin(list(objects)), "")})
        table = table.join(spread).fillna("")
        if len(spread.columns):
            findings.note(sheet.file, f"objects in column {plain(name)} spread over {listed(spread)}", len(objects))
    return sheet.with_table(table)


def _entries(cell: str, name: str) -> dict[str, str] | None:
    try:
        return flattened(json.loads(cell), f"{name}.")
    except (ValueError, RecursionError):  # no JSON after all: it stays as it is
        return None


def listed(names: Iterable[object], most: int = 8) -> str:
    """Return names as one line of a note, the first ones and how many there are."""
    shown = [plain(str(name), 40) or "(empty)" for name in names]
    more = f" and {len(shown) - most:,} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def counted(cells: pd.Series) -> str:
    """Return the values of a column with their numbers of rows, for a note."""
    return listed(f"{value or '(empty)'} {n:,}" for value, n in cells.value_counts(sort=False).items())


def names_of(table: pd.DataFrame) -> list[str]:
    """Return the names of the columns."""
    return [str(name) for name in table.columns]


def column_of(table: pd.DataFrame, name: str) -> pd.Series:
    """Return a column, or empty cells where there is none of that name."""
    import pandas as pd

    return table[name] if name in table else pd.Series("", index=table.index, dtype="str")


def without(table: pd.DataFrame, rows: pd.Series, rule: str, file: str, findings: Findings) -> pd.DataFrame:
    """Return the table without some rows, and note by which rule they went."""
    n = int(rows.sum())
    if n:
        findings.note(file, f"dropped {rule}", n)
    return table[~rows]


def lacking(sheet: Sheet, what: str, allowed: str, findings: Findings) -> None:
    """Report a file that is not laid out as its kind should be."""
    advice = f"It has the columns {listed(sheet.table.columns)}."
    findings.problems.add(f"{sheet.file}, header", Quoted(what), allowed, advice)
