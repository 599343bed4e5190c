"""What the results in any run folder have in common, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holmes_fit.runs.folder import Run
from holmes_fit.runs.schema import of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunResults:
    """Results in their run folder. Tables are read from there when they are asked for."""

    run: Run

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.root

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return str(self.run.manifest.about.get("label", ""))


class StoredTable:
    """A table of a run folder, as an attribute of its results that is read when it is asked for."""

    def __init__(self, name: str):
        self._name = name
        self.__doc__ = f"``{name}``: {of(name).about}."

    def __get__(self, results: RunResults | None, _: type) -> pd.DataFrame:
        if results is None:
            return self  # type: ignore[return-value]  # help() asks the class
        return results.run.read_table(self._name)
