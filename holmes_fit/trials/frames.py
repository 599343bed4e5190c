"""A table in memory as text, cell by cell, as if it had been read from a file."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeGuard, cast

import numpy as np
import pandas as pd

from holmes_fit._support.errors import Problems, Quoted, plain
from holmes_fit.trials.files import DataPath, Reading, find_files, read_files
from holmes_fit.trials.text_tables import TableBuilder, TextColumn, TextTable, printable, tidy_names

EXTRA = "Install what reads it: pip install 'holmes-fit[tables]'."


class ArrowTable(Protocol):
    """A table that another library hands over as a stream of Arrow (the Arrow PyCapsule interface)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Frame = pd.DataFrame | ArrowTable
Data = DataPath | Frame


def is_frame(value: object) -> TypeGuard[Frame]:
    """Return whether a value is a table in memory, of pandas or of what hands its tables over as Arrow does."""
    return isinstance(value, pd.DataFrame) or hasattr(value, "__arrow_c_stream__")


def read_data(
    data: Data | Iterable[DataPath],
    argument: str,
    expected: Sequence[str],
    reading: Reading,
    beside: Data | None = None,
) -> TextTable:
    """Read files or a table in memory as text, without any file that lies ``beside``."""
    if is_frame(data):
        return read_frame(data, argument, reading.problems)
    paths, other = cast("DataPath | Iterable[DataPath]", data), cast("DataPath | None", beside)
    return read_files(find_files(paths, reading, None if is_frame(beside) else other), expected, reading)


def read_frame(frame: Frame, argument: str, problems: Problems) -> TextTable:
    """Return a table as text, with the positions of its rows, counted from 0, for the lines of a file.

    Numbers that are whole in all of a column are written without a point, as pandas makes floats of whole numbers as
    soon as one is missing. Levels of the index that have a name are columns, too.
    """
    place = f"{argument} ({plain(type(frame).__name__)}, rows from 0)"
    table = frame if isinstance(frame, pd.DataFrame) else _of_arrow(frame, place, problems)
    if table is None:
        return TableBuilder().table()
    table = table.reset_index([name for name in table.index.names if name is not None and name not in table.columns])
    names = tidy_names([printable(str(name)) for name in table.columns], place, problems)
    if table.empty:
        problems.add(place, Quoted("a table without rows" if names else "a table without columns"), "a row a trial")
    if table.empty or len(set(names)) < len(names):
        return TableBuilder().table()
    columns = {name: _column(table.iloc[:, i]) for i, name in enumerate(names)}
    file, row = np.zeros(len(table), np.int32), np.arange(len(table), dtype=np.int32)
    return TextTable((place,), file, row, columns, stems=("",))


def _of_arrow(frame: ArrowTable, place: str, problems: Problems) -> pd.DataFrame | None:
    try:
        import pyarrow as pa
    except ImportError:
        problems.add(place, Quoted("a table of Arrow"), "a table that can be read here", EXTRA)
        return None
    try:
        table: pd.DataFrame = pa.table(frame).to_pandas(types_mapper=_kept_whole)
    except Exception as error:  # whatever the library behind the table raises
        problems.add(place, Quoted(plain(str(error), 200)), "a table with columns that have names")
        return None
    return table


def _kept_whole(kind: Any) -> pd.ArrowDtype | None:
    """Return the type of a column: whole numbers stay whole where some are missing."""
    return pd.ArrowDtype(kind) if str(kind).startswith(("int", "uint")) else None


def _column(cells: pd.Series) -> TextColumn:
    if not isinstance(cells.dtype, pd.CategoricalDtype | pd.StringDtype) and cells.dtype.kind not in "iufb":
        cells = cells.map(_text, na_action="ignore")  # objects that cannot be compared, or as 1, 1.0 and True are
    codes = pd.factorize(cells)[0]  # in the order of the distinct values, which it returns with other types
    texts = _texts(cells.dropna().unique()) + (
        [""] if (codes < 0).any() else []
    )  # the last one is for -1, what is missing
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return TextColumn(tuple(number), np.array([number[text] for text in texts], dtype=np.int32)[codes])


def _texts(values: Any) -> list[str]:
    if pd.api.types.is_float_dtype(values):
        numbers = np.asarray(values, dtype=np.float64)
        if ((numbers == np.round(numbers)) & (np.abs(numbers) < 1e15)).all():
            values = numbers.astype(np.int64)
    return list(map(_text, values))


def _text(value: object) -> str:
    return printable(str(value))
