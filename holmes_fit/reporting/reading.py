"""Reading a table of a run that may be there or not, whatever its people are called."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from holmes_fit._support.csv_tables import read_table
from holmes_fit._support.errors import InputError, Problem, plain

# Columns that hold text, whatever it looks like, in any of the tables.
# fmt: off
TEXT = (
    "above", "against", "at_bound", "below", "by", "chosen", "condition", "consequence", "criterion", "estimator",
    "explanation", "formula", "formulas", "goal", "group", "label", "level", "like", "measure", "model", "name",
    "parameter", "parameter_a", "parameter_b", "prior", "quantity", "reason", "restart", "rule", "scale", "seen",
    "standing", "subject", "term", "truth", "verdict", "warning",
)
# fmt: on
NUMBERS_ALL_THE_SAME = {"trees.csv": ("level",), "recovery_people.csv": ("truth",)}

Table = pd.DataFrame | None


def read_if_there(path: Path) -> Table:
    """Read a table, or nothing if it is not there; texts that are not there are empty."""
    if not path.is_file():
        return None
    text = [name for name in TEXT if name not in NUMBERS_ALL_THE_SAME.get(path.name, ())]
    try:
        table = read_table(path, text)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        where = f"table {plain(str(path), limit=200)}"
        raise InputError([Problem(where, plain(str(error), limit=200), "a table as it was written")]) from error
    return table.fillna({name: "" for name in text if name in table})
