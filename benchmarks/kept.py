"""How studies resume, and what their tables have in common.

The rows of all that is done are in CSV tables, written as soon as they are there. Stopped, the same command
goes on with what is missing, on any machine that has the tables.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import read_table
from holmes_fit.studies.work import each_done

Rows = list[dict[str, Any]]
Job = tuple[Any, ...]


class Kept:
    """Tables in a folder, one for each of ``kinds``; the columns ``job`` say to which job a row belongs.

    A job is in all tables or in none: it is done when it is in the last, which is written last.
    """

    def __init__(
        self, folder: Path, *kinds: str, job: Sequence[str], text: Sequence[str] = (), digits: str | None = None
    ):
        self.folder, self.kinds, self.job, self.digits = folder, kinds, list(job), digits
        paths = {kind: folder / f"{kind}.csv" for kind in kinds}
        self.tables = {
            kind: read_table(path, text) if path.exists() else pd.DataFrame() for kind, path in paths.items()
        }

    @property
    def table(self) -> pd.DataFrame:
        """The last table."""
        return self.tables[self.kinds[-1]]

    def do(
        self, function: Callable[[Job], dict[str, Rows] | Rows], jobs: Iterable[Job], workers: int | None = None
    ) -> None:
        """Do every job that is missing; the function returns the rows of all tables by kind, or those of the last."""
        done = set(self.table[self.job].itertuples(index=False, name=None)) if len(self.table) else set()
        missing = [job for job in jobs if job not in done]
        begun = time.monotonic()
        for number, (job, found) in enumerate(each_done(function, missing, workers=workers), start=1):
            self._add(job, found if isinstance(found, dict) else {self.kinds[-1]: found})
            print(*job, f"{number} of {len(missing)}, {(time.monotonic() - begun) / 60:.0f} min", flush=True)

    def _add(self, job: Job, found: dict[str, Rows]) -> None:
        """Write the rows of a job, in place of any that were left when an earlier run was stopped."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for kind in self.kinds:
            earlier = self.tables[kind]
            if len(earlier):
                earlier = earlier[(earlier[self.job] != list(job)).any(axis=1)]
            table = pd.concat([earlier, pd.DataFrame(found[kind])], ignore_index=True)
            if len(table):
                table = table.sort_values(self.job, kind="stable", ignore_index=True)
            self.tables[kind] = table
            with written_whole(self.folder / f"{kind}.csv") as path:
                table.to_csv(path, index=False, float_format=self.digits)


def by_cell(
    table: pd.DataFrame, cells: Sequence[str], measure: Callable[[pd.DataFrame], dict[str, Any]]
) -> pd.DataFrame:
    """Return what is measured of the rows of every cell, in the order of the table."""
    groups = table.groupby(list(cells), sort=False)
    return pd.DataFrame([{**dict(zip(cells, cell, strict=True)), **measure(own)} for cell, own in groups])


def write_summaries(folder: Path, tables: dict[str, pd.DataFrame]) -> None:
    """Write tables with as many digits as one reads, and print them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.round(4).to_csv(folder / f"{name}.csv", index=False)
        print(table.round(3).to_string(index=False), end="\n\n")


def judged(table: pd.DataFrame, tests: list[str], family: float) -> pd.DataFrame:
    """Return a table with verdicts: ``family`` is the chance of a false alarm over all tests of all rows together."""
    smallest = table[tests].min(axis=1)
    return table.assign(verdict=np.where(smallest < family / (len(tests) * len(table)), "fails", "passes"))
