"""The schema of every table of results: what ``tables.toml`` says of its columns, for writers and readers.

``of("fits.csv").columns`` are the columns of a table in their order. A table that is not listed, such as the people's
own data, has the columns that it has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from holmes_fit._support.csv_tables import read_table

if TYPE_CHECKING:
    import pandas as pd

TEXT = "text"
OPTIONAL = "?"  # stands behind the name of a column that only some runs have
ENDS = ("_lower", "_upper")  # of the interval of a number that is explained


class Column(NamedTuple):
    """One column of a table."""

    name: str
    kind: str  # "text", "whole" or "number", or "truth" for True and False; any but text may be missing
    meaning: str
    optional: bool = False  # only in runs that have a use for it


class Table(NamedTuple):
    """One table of results."""

    file: str
    after: str  # the command that writes it
    each: tuple[str, ...]  # the columns that tell rows apart
    fields: tuple[Column, ...]
    more: str  # what further columns hold; none are allowed, if it is empty
    about: str

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields if not field.optional)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns with those that only some runs have."""
        return tuple(field.name for field in self.fields)

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that hold text, whatever it looks like: people may be called ``001``, ``1e3`` or ``NA``."""
        return tuple(field.name for field in self.fields if field.kind == TEXT)


@cache
def tables() -> Mapping[str, Table]:
    """Return all tables by the name of their file, in the order of the flow."""
    content = tomllib.loads((files("holmes_fit.runs") / "tables.toml").read_text(encoding="utf-8"))
    common = {
        name: Column(name, kind, meaning)
        for kind, listed in content.pop("columns").items()
        for name, meaning in listed.items()
    }
    return {
        file: Table(
            file,
            said["after"],
            tuple(said["each"].split()),
            tuple(_column(name, said.get("own", {}), common) for name in said["columns"].split()),
            said.get("more", ""),
            said["about"],
        )
        for file, said in content.items()
    }


def _column(name: str, own: Mapping[str, str], common: Mapping[str, Column]) -> Column:
    if name.endswith(OPTIONAL):
        return _column(name.removesuffix(OPTIONAL), own, common)._replace(optional=True)
    if name in own:
        kind, meaning = own[name].split(": ", 1)
        return Column(name, kind, meaning)
    if name.removesuffix(ENDS[0]).removesuffix(ENDS[1]) in own:
        return Column(name, "number", f"{'lower' if name.endswith(ENDS[0]) else 'upper'} end of its 95% interval")
    return common[name]


def of(file: str) -> Table:
    """Return the schema of a table."""
    return tables()[file]


def read(path: Path, text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table by the schema of its name; texts that are missing are empty. ``text`` names further ones.

    It raises a ValueError if it is no such table: a column is missing, or holds something else than finite numbers.
    """
    listed = (*text, *(tables()[path.name].text if path.name in tables() else ()))
    table = read_table(path, listed)
    if path.name in tables():
        _check(tables()[path.name], table)
    return table.fillna({name: "" for name in listed if name in table})


def _check(schema: Table, table: pd.DataFrame) -> None:
    """Refuse a table without a column of the schema, or with something else than finite numbers in one of numbers."""
    import pandas as pd

    missing = [name for name in schema.columns if name not in table]
    if missing:
        raise ValueError(f"{schema.file} lacks columns {missing}")
    for field in schema.fields:
        if field.kind == TEXT or field.name not in table:
            continue
        values = table[field.name]
        try:
            numbers = pd.to_numeric(values[values.notna() & (values != "")])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{schema.file} has something else than numbers in its column {field.name}") from error
        if np.isinf(numbers.to_numpy(dtype=np.float64)).any():
            raise ValueError(f"{schema.file} has numbers that are not finite in its column {field.name}")


def frame(file: str, rows: Iterable[object]) -> pd.DataFrame:
    """Return rows, by the names of columns or in their order, as a table of that name."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(of(file).columns))


def ordered(file: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its columns in the order of the schema, further ones behind them.

    It raises a ValueError if it is no such table: a column is missing, unknown, or holds text instead of numbers.
    """
    if file not in tables():
        return table
    schema = of(file)
    _check(schema, table)
    unknown = [name for name in table.columns if name not in schema.all_columns]
    if unknown and not schema.more:
        raise ValueError(f"{file} has others {unknown} than its columns")
    present = [name for name in schema.all_columns if name in table]
    return table[[*present, *unknown]]
