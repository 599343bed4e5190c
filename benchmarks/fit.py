"""How long does a cohort take, and how much memory? The example cohort: 24 people, 160 trials, flat and HOLMES.

Run with ``python -m benchmarks.fit``; nothing else should be running. The limits are for two cores.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from holmes_fit._support.study_files import study_folder
from holmes_fit.fitting.cohort import fit
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.reading import read_cohort

LIMITS = {"quick": 1.25, "default": 5.0}  # minutes


def megabytes(who: int) -> float:
    """Return the largest memory that this process, or any one of its children, has had."""
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> None:
    cohort = read_cohort(study_folder("data") / "compositional_3.csv", "compositional_3")
    for preset, limit in LIMITS.items():
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            fits = fit(cohort, ["flat", "holmes"], Path(folder) / "run", preset=preset, workers=2)
            minutes = (time.perf_counter() - begun) / 60
            noisy = fits.models["warning"].str.contains("noisy").mean()
            size = sum(path.stat().st_size for path in Path(folder).rglob("*")) / 2**20
        print(
            f"{preset:8s} {minutes:5.2f} minutes (limit {limit:g}), {noisy:.0%} noisy, folder {size:.0f} MB", flush=True
        )
    print("memory, by the number of people (a short task, quick):")
    for people in (10, 40, 160):
        simulated = simulate("conditioning", "flat", people, seed=1).cohort
        with tempfile.TemporaryDirectory() as folder:
            fit(simulated, ["flat"], Path(folder) / "run", preset="quick", workers=2)
        own, worker = megabytes(resource.RUSAGE_SELF), megabytes(resource.RUSAGE_CHILDREN)
        print(f"{people:4d} people: {own:.0f} MB here, {worker:.0f} MB in the largest worker", flush=True)


if __name__ == "__main__":
    sys.exit(main())
