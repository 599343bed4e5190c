"""Check a file of a million rows: seconds and peak memory. The limits are 20 s and 1 GB.

Run it with ``python benchmarks/read_rows.py [ROWS]``.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import check_data

PROTOCOL = """
[columns]
restart = ["session"]
covariates = ["group"]

[features]
x1 = "binary"
x2 = "binary"
x3 = "binary"
color = { levels = ["red", "green", "blue"], copies = 2 }

[choice]
coding = { left = 0, right = 1 }

[exclusions]
rt = { min = 0.2, max = 5.0 }
min_answered = 10
"""


def write_rows(path: Path, n_rows: int, trials: int = 200) -> None:
    """Write people of five sessions each, with missed answers and reaction times that hardly repeat."""
    rng = np.random.default_rng(1)
    row = np.arange(n_rows)
    person = row // (5 * trials)
    table = pd.DataFrame(
        {
            "subject": np.char.add("P", person.astype(str)),
            "session": row // trials % 5 + 1,
            "trial": row % trials + 1,
            **{name: rng.integers(2, size=n_rows) for name in ("x1", "x2", "x3")},
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "choice": rng.choice(["left", "right", ""], n_rows, p=[0.48, 0.48, 0.04]),
            "outcome": rng.integers(2, size=n_rows),
            "rt": rng.lognormal(-0.2, 0.5, n_rows).round(6),
            "group": np.where(person % 2, "patient", "control"),
            "comment": "",
        }
    )
    table.to_csv(path, index=False)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(n_rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        # The file is made in another process, so that this one's peak is that of reading.
        writer = multiprocessing.get_context("spawn").Process(target=write_rows, args=(path, n_rows))
        writer.start()
        writer.join()
        before = peak_megabytes()
        start = time.perf_counter()
        check = check_data(path, read_protocol(PROTOCOL))
        seconds = time.perf_counter() - start
        size = path.stat().st_size / 2**20
    assert check.cohort is not None, check.problems[:5]
    print(f"{check.rows:,} rows ({size:.0f} MB), {len(check.cohort.learners):,} learners: {seconds:.1f} s")
    print(f"peak memory {peak_megabytes():.0f} MB ({before:.0f} MB before reading)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
