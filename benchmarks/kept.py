"""How studies resume: the rows of all that is done are in CSV tables, written as soon as they are there.

Stopped, the same command goes on with what is missing, on any machine that has the tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import read_table
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.tasks import do_all

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
        with closing(do_all(function, missing, workers=workers)) as results:
            for number, (index, found) in enumerate(results, start=1):
                job = missing[index]
                if isinstance(found, Failure):
                    raise RuntimeError(f"{job}: {found.kind}: {found.message}\n{found.traceback}")
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
