"""Keep the small part of a replication: the comparisons, the differences and the report.

Run as ``python -m paper.keep RUN FOLDER``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pandas as pd

from paper.results import write_csv
from paper.run import REPORT
from paper.studies import STUDIES, Reading

READINGS: tuple[Reading, ...] = ("as_written", "as_published")
KEPT = ("summary", "comparison", "headlines")


def keep(run: Path, folder: Path) -> list[Path]:
    """Copy what is worth keeping of ``run`` into ``folder``: one table of each kind for all studies and readings."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in KEPT:
        tables = []
        for reading in READINGS:
            for study in STUDIES:
                path = run / reading / study / f"{name}.csv"
                if path.is_file():
                    table = pd.read_csv(path)
                    table.insert(0, "reading", reading)
                    tables.append(table)
        together = pd.concat(tables, ignore_index=True)
        numbers = together.select_dtypes("float").columns
        together[numbers] = together[numbers].round(5)
        written.append(write_csv(together, folder / f"{name}.csv"))
    for name in ("differences.csv", REPORT):
        written.append(Path(shutil.copyfile(run / name, folder / name)))
    return written


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
