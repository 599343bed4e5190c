"""Tables in binary files: Excel workbooks by openpyxl, Parquet by pyarrow; both are extras of the package."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holmes_fit._support.errors import Problems, Quoted, nearest, plain
from holmes_fit.trials.importing.sheets import Findings, as_text, listed
from holmes_fit.trials.text_tables import tidy_names

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 512 * 2**20  # bytes that all files of one import may hold, unpacked
MOST_CELLS = 50_000_000
MOST_COLUMNS = 10_000
EXTRA = "Install what reads it: pip install 'holmes-fit[tables]'."


def check_cells(cells: int, columns: int, file: str, problems: Problems) -> bool:
    """Report a table with more cells than could be held, and return whether it is small enough."""
    fits = cells <= MOST_CELLS and columns <= MOST_COLUMNS
    if not fits:
        seen = Quoted(f"{cells:,} cells in {columns:,} columns")
        problems.add(file, seen, f"at most {MOST_CELLS:,} cells and {MOST_COLUMNS:,} columns")
    return fits


def read_workbook(data: bytes, file: str, wanted: str | None, findings: Findings) -> pd.DataFrame | None:
    """Return the one sheet with content of an Excel file, or the one that is wanted, as text."""
    problems = findings.problems
    try:
        import openpyxl
    except ImportError:
        problems.add(file, Quoted("an Excel file"), "a file that can be read here", EXTRA)
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and checks that openpyxl does not know are no data
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            if wanted is not None and wanted not in sheets:
                problems.add(f"{file}, sheet", wanted, f"one of {listed(sheets)}", nearest(wanted, sheets))
                return None
            names = list(sheets) if wanted is None else [wanted]
            filled = {name: rows for name in names if (rows := _rows(sheets[name], file, problems))}
            # Remarks on a sheet of their own are no table
            filled = {name: rows for name, rows in filled.items() if _is_table(rows)} or filled
    except Exception as error:  # openpyxl raises whatever a damaged file makes it stumble on
        _damaged(file, "Excel", error, problems)
        return None
    if len(filled) > 1:
        seen = Quoted(f"{len(filled)} sheets with content: {listed(filled)}")
        problems.add(file, seen, "one sheet", "Name it by the argument sheet.")
        return None
    for name, rows in filled.items():
        n_above = _rows_above(rows)
        if n_above:
            findings.note(file, f"skipped what stands above the header in row {rows[n_above][0]}", n_above)
            del rows[:n_above]
        if len(sheets) > 1:
            findings.note(file, f"read sheet {plain(name)} of {listed(sheets)}")
        if (n_empty := rows[-1][0] - len(rows) - n_above) > 0:
            findings.note(file, "skipped rows without any entry", n_empty)
    return _table(next(iter(filled.values()), []), file, problems)


def _rows(sheet: Any, file: str, problems: Problems) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, with their numbers."""
    sheet.reset_dimensions()  # the size that a file gives for its sheets may be wrong
    rows, cells = [], 0
    for line, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells += len(values)
        if not check_cells(cells, len(values), file, problems):
            return []
        texts = [as_text(value.isoformat() if hasattr(value, "isoformat") else value) for value in values]
        while texts and not texts[-1].strip():
            texts.pop()
        if texts:
            rows.append((line, texts))
    return rows


def _rows_above(rows: list[tuple[int, list[str]]]) -> int:
    """Return how many rows of a single entry, such as a title, stand above a header with a table below it."""
    n = next((i for i, (_, texts) in enumerate(rows) if len(texts) > 1), 0)
    return n if len(rows) - n > 1 else 0


def _is_table(rows: list[tuple[int, list[str]]]) -> bool:
    return len(rows) > 1 and max(len(texts) for _, texts in rows) > 1


def _table(rows: Sequence[tuple[int, list[str]]], file: str, problems: Problems) -> pd.DataFrame | None:
    import pandas as pd

    if len(rows) < 2:
        problems.add(file, Quoted("a header without rows" if rows else "an empty workbook"), "a header and rows")
        return None
    width = len(rows[0][1])
    for line, texts in [row for row in rows if len(row[1]) > width][:20]:
        problems.add(f"{file}, row {line}", Quoted(f"{len(texts)} cells"), f"{width} cells, as in the header")
    names = tidy_names(rows[0][1], file, problems)
    if problems:
        return None
    cells = [texts + [""] * (width - len(texts)) for _, texts in rows[1:]]
    return pd.DataFrame(cells, columns=names, index=[line for line, _ in rows[1:]], dtype="str")


def read_parquet(data: bytes, file: str, problems: Problems) -> pd.DataFrame | None:
    """Return a Parquet file as text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        problems.add(file, Quoted("a Parquet file"), "a file that can be read here", EXTRA)
        return None
    try:
        opened = pq.ParquetFile(pa.BufferReader(data))
        columns_ = opened.metadata.num_columns
        if not check_cells(opened.metadata.num_rows * columns_, columns_, file, problems):
            return None
        batches, size = [], 0
        for batch in opened.iter_batches(batch_size=1_000):  # a value that is stored once may stand in every row
            batches.append(batch)
            size += batch.nbytes
            if size > LARGEST:
                problems.add(file, Quoted("more than that, unpacked"), f"at most {LARGEST:,} bytes")
                return None
        content = pa.Table.from_batches(batches, opened.schema_arrow)
        names = tidy_names([plain(name, 200) for name in content.column_names], file, problems)
        columns = {name: list(_texts(column)) for name, column in zip(names, content.columns, strict=True)}
    except Exception as error:  # pyarrow raises several errors of its own and of Python's
        _damaged(file, "Parquet", error, problems)
        return None
    if not content.num_rows:
        problems.add(file, Quoted("a table without rows"), "a row for each trial")
    if problems:
        return None
    import pandas as pd

    return pd.DataFrame(columns, index=range(1, content.num_rows + 1), dtype="str")


def _texts(column: Any) -> Iterator[str]:
    for value in column.to_pylist():
        yield as_text(value.isoformat() if hasattr(value, "isoformat") else value)


def _damaged(file: str, kind: str, error: Exception, problems: Problems) -> None:
    seen = Quoted(f"a damaged file ({plain(type(error).__name__)}: {plain(str(error), 120)})")
    problems.add(file, seen, f"a file of {kind} that can be opened")
