"""Reading a table of a run that may be there or not, whatever its people are called."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from holmes_fit._support.errors import InputError, Problem, plain
from holmes_fit.runs.schema import read, tables

Table = pd.DataFrame | None


def read_if_there(path: Path) -> Table:
    """Read a table, or nothing if it is not there; texts that are not there are empty."""
    if not path.is_file():
        return None
    # In a table that has no schema, such as that of covariates, names mean what they mean elsewhere.
    text = () if path.name in tables() else {name for table in tables().values() for name in table.text}
    try:
        return read(path, text)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        where = f"table {plain(str(path), limit=200)}"
        raise InputError([Problem(where, plain(str(error), limit=200), "a table as it was written")]) from error
