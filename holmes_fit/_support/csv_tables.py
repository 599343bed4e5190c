"""Tables as CSV files for people: written whole or not at all, and read back as they were."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.borders import read_bytes

if TYPE_CHECKING:
    import pandas as pd

MOST_CELLS = 50_000_000


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write any table as a CSV file (UTF-8, commas), whole or not at all.

    Numbers have as many digits as it takes to read the same number back; what is missing is empty.
    """
    # A carriage return within a cell is not quoted by itself, and would end the line.
    quoting: Literal[0, 1] = csv.QUOTE_ALL if _holds_returns(table) else csv.QUOTE_MINIMAL
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, encoding="utf-8", lineterminator="\n", quoting=quoting)


def _holds_returns(table: pd.DataFrame) -> bool:
    import pandas as pd

    columns = [table[name] for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    texts = [*table.columns, *(value for column in columns for value in column.unique())]
    return any("\r" in text for text in texts if isinstance(text, str))


def read_table(path: str | os.PathLike[str], text: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table that :func:`write_table` wrote.

    The columns ``text`` hold text, whatever it looks like: people may be called ``001``, ``1e3`` or ``NA``.
    """
    import pandas as pd

    content = read_bytes(path)
    if content.count(b",") + content.count(b"\n") > MOST_CELLS:
        raise ValueError(f"more than {MOST_CELLS:,} cells")
    # pandas reads every number back exactly as it was from 3.1 on.
    return pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(text, "str"), keep_default_na=False, na_values=[""])
