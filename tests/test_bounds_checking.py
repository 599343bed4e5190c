"""The kernel once more with numba's bounds checking: no index may leave its array.

Bounds checking is decided when numba compiles, so this runs in a process and with a cache of its own. This file is
both the test and the program that it runs.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SEED = 20240917
ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    surroundings = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    done = subprocess.run(
        [sys.executable, __file__], env=surroundings, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout}\n{done.stderr}"
    assert "bounds are checked" in done.stdout
    assert f"{len(list(stress_runs()))} runs stayed within bounds" in done.stdout


def stress_runs() -> Iterator[dict[str, Any]]:
    """Every variant with every switch, at sizes where arrays are smallest or have to grow."""
    sizes = [
        {"n_cues": 4},
        {"n_cues": 0, "alpha": 5.0},
        {"n_cues": 5, "particles": 1},
        {"n_cues": 2, "particles": 2, "max_depth": 1},
        {"n_cues": 3, "max_branches": 1},
        {"n_cues": 6, "max_branches": 2, "length_normalized": True},
        {"n_cues": 4, "alpha": 50.0, "max_branches": 100, "n_trials": 150},
        {"n_cues": 1, "alpha": 1000.0, "omega": 1e-3},
        {"n_cues": 4, "alpha": 1.0, "n_trials": 600, "hidden": 0.5},
        {"n_cues": 30, "alpha": 1e-3, "omega": 1e3, "n_trials": 1},
    ]
    for model in ("flat", "flat_sticky", "holmes", "holmes_no_stick", "holmes_no_stop", "holmes_structure_only"):
        for size, resampling, branch_counts, sticky_by in product(
            sizes, ("systematic", "multinomial"), ("particle", "shared"), ("branch", "node")
        ):
            switches = {"resampling": resampling, "branch_counts": branch_counts, "sticky_by": sticky_by}
            yield {"model": model} | size | switches


def run_within_bounds(run: dict[str, Any]) -> None:
    from holmes_fit.models.contract import sequence
    from holmes_fit.models.filters import kernel
    from holmes_fit.models.filters.draws import stream_key
    from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer

    model = MODELS[run["model"]]
    assert isinstance(model, LatentCauseModel)
    shape = {name: run[name] for name in ("n_cues", "n_trials", "hidden", "length_normalized") if name in run}
    limits = ("particles", "max_depth", "max_branches", "resampling", "branch_counts", "sticky_by")
    observer = Observer(**{"particles": 12} | {name: run[name] for name in limits if name in run})
    values = {"alpha": run.get("alpha", 1.0), "omega": run.get("omega", 0.5), "depth_scale": 0.2}
    observations = sequence(SEED, **shape)
    settings = model.settings(values, observer)
    kernel.p_hat_traces(observations, settings, stream_key(SEED), replicates=2)
    kernel.trace_with_history(observations, settings, stream_key(SEED))


def show_that_bounds_are_checked() -> None:
    from numba import njit

    @njit
    def read(array: Any, index: int) -> float:
        return array[index]

    try:
        read(np.zeros(3), 3)
    except IndexError:
        print("bounds are checked")
    else:
        raise SystemExit("numba read beyond the end of an array without complaint: this run shows nothing")


def main() -> None:
    show_that_bounds_are_checked()
    n_runs = 0
    for run in stress_runs():
        try:
            run_within_bounds(run)
        except IndexError as error:
            raise SystemExit(f"{run}: {error}") from error
        n_runs += 1
    print(f"{n_runs} runs stayed within bounds")


if __name__ == "__main__":
    main()
