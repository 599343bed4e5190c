"""What the results in any run folder have in common, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from holmes_fit.runs.folder import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunResults:
    """Results in their run folder. Tables are read from there when they are asked for."""

    run: Run

    text_columns: ClassVar[tuple[str, ...]] = ()  # of all tables; a subject 001 is no number

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.root

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return str(self.run.manifest.about.get("label", ""))

    def _table(self, name: str, *more_text: str) -> pd.DataFrame:
        text = (*self.text_columns, *more_text)
        table = self.run.read_table(name, text)
        return table.fillna({column: "" for column in text if column in table})


class StoredTable:
    """A table of a run folder, as an attribute of its results that is read when it is asked for."""

    def __init__(self, name: str, holds: str, *text: str):
        self._name, self._text = name, text
        self.__doc__ = f"``{name}``: {holds}."

    def __get__(self, results: RunResults | None, _: type) -> pd.DataFrame:
        if results is None:
            return self  # type: ignore[return-value]  # help() asks the class
        return results._table(self._name, *self._text)
