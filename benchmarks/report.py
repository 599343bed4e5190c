"""How long a report takes and how much memory, for invented runs: ``python -m benchmarks.report 25 500``."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from holmes_fit.reporting.writing import report
from tests.sample_run import Sample, make_run

TRIALS = 200
GROUPS = ("control", "patient")


def measure(n_people: int, folder: Path) -> None:
    run = make_run(folder / f"run_{n_people}", Sample(n_people, TRIALS, groups=GROUPS))
    begun, busy = time.perf_counter(), time.process_time()
    [path] = report(run, folder / f"cohort_{n_people}.pdf")
    taken, busy = time.perf_counter() - begun, time.process_time() - busy
    # Linux counts kilobytes, and the peak is that of the whole process, the making of the run included.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    print(f"{n_people:5d} people: {taken:6.1f} s ({busy:.1f} s of one core), {peak:5.0f} MB at most, PDF {size:.1f} MB")


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for text in arguments or ["25", "500"]:
            measure(int(text), Path(name))


if __name__ == "__main__":
    main(sys.argv[1:])
