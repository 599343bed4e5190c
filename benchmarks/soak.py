"""Does memory stay flat? A thousand small fits in one process, each cohort into a run folder of its own.

Run with ``python -m benchmarks.soak``. The first cohorts warm up: code is compiled, modules are loaded, pools of memory
find their size. From then on memory may not grow by more than ``LIMIT``.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

import psutil

from holmes_fit.fitting.cohort import fit
from tests.small_fits import OBSERVER, people, small_preset

MODELS = ("flat", "holmes", "rescorla_wagner", "bias")
PEOPLE = 25
COHORTS = 10
WARM_UP = 2  # cohorts
LIMIT = 12.0  # MB from the end of the warm-up to the end: 15 kB a fit, less than the arrays of any one of them


def megabytes() -> float:
    """Return the memory of this process."""
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def main() -> int:
    memory = []
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        preset = small_preset(Path(folder))
        for cohort in range(COHORTS):
            fits = fit(
                people(PEOPLE, seed=cohort),
                MODELS,
                Path(folder) / f"run_{cohort}",
                preset=preset,
                observer=OBSERVER,
                workers=1,
            )
            if len(fits.models) != PEOPLE * len(MODELS) or len(fits.failures):
                raise SystemExit(f"Not everyone was fitted:\n{fits.failures}")
            memory.append(megabytes())
            done, seconds = (cohort + 1) * PEOPLE * len(MODELS), time.perf_counter() - begun
            print(f"{done:5d} fits, {seconds:5.0f} s, {memory[-1]:6.1f} MB", flush=True)
    growth = memory[-1] - memory[WARM_UP - 1]
    print(f"Memory grew by {growth:.1f} MB after the warm-up (limit {LIMIT:g} MB).")
    return 1 if growth > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
