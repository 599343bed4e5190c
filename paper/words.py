"""What the report says in words, from ``words.toml``. Numbers are filled in from the run."""

import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

from paper.summaries import picked

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
NAMES: dict[str, str] = WORDS["names"]  # of readings
METRICS: dict[str, str] = WORDS["metrics"]

# How texts name tasks.
TASKS = {"5+1": ["5 + 1"], "10+3": ["10 + 3"]}
TASKS |= {f"{first}-5": [f"{level}-level" for level in range(first, 6)] for first in (2, 3)}


class Listed(list[float]):
    """Numbers that are formatted one by one, as in "0.1, 0.2 and 0.3"; with errors, as in "+0.1 (± 0.2)"."""

    errors: list[float] | None = None

    def __format__(self, spec: str) -> str:
        texts = [format(value, spec or "+.3f") for value in self]
        if self.errors is not None:
            texts = [f"{text} (± {error:.3f})" for text, error in zip(texts, self.errors, strict=True)]
        return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1]) if part).replace("-", "−")


class Cells:
    """Numbers of a table by the names of their rows, for ``str.format``: ``{cells[2-5|recall]:.2f}``.

    ``columns`` are the columns that the parts of a name are looked up in; ``task`` may name several.
    """

    def __init__(self, table: pd.DataFrame, *columns: str, value: str = "value", error: str = ""):
        self._table, self._columns, self._value, self._error = table, columns, value, error

    def __getitem__(self, name: str) -> Listed:
        parts = dict(zip(self._columns, name.split("|"), strict=True))
        task = parts.pop("task", "")
        rows = picked(self._table, **parts)
        if task:
            rows = rows.set_index("task").loc[TASKS.get(task, [task])]
        found = Listed(rows[self._value])
        found.errors = list(rows[self._error]) if self._error else None
        return found


def departures(
    written: pd.DataFrame, published: pd.DataFrame, changes: pd.DataFrame, tests: pd.DataFrame
) -> list[tuple[str, str]]:
    """Return title and text of every difference between the paper's text and its code, or what the text leaves open."""
    keys = ("study", "task", "model", "metric")
    numbers = {
        "written": Cells(written, *keys),
        "published": Cells(published, *keys),
        "distance": Cells(written.assign(value=written["value"].abs()), *keys),
        "change": Cells(changes, "reading", "task", "metric", value="change", error="change_se"),
        "p": Cells(tests, "metric", value="p_unpaired"),
    }
    return [(each["title"], each["text"].format(**numbers)) for each in WORDS["departures"]]
