"""How fast is the filter? Ratios within one run, because machines differ and are noisy.

``python -m benchmarks.kernel --against REVISION`` sets it beside the filter of another revision, which must give the
same traces to the bit. Calls are timed in turns, ``--seconds`` long, and each is represented by its fastest run.
"""

import importlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks import ROOT, command
from holmes_fit.models.filters import draws, kernel
from holmes_fit.models.filters.settings import Settings
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.observations import Observations, observations_from_matrix

KEY = draws.stream_key(0, "benchmark")
VALUES = {"alpha": 1.0, "omega": 0.5}
SETTINGS = [{"alpha": 0.3, "omega": 0.3}, VALUES, {"alpha": 2.0, "omega": 1.0}]
TASKS = ("compositional_3", "weather_prediction", "shape_color")
REPLICATES = 8  # as many filters as a fit runs at a node, and more
NAME = "holmes_fit_earlier"  # the package of another revision


@cache
def task_of(protocol: str) -> Observations:
    """One person's trials of a protocol."""
    return simulate(protocol, "bias", 1).cohort.learners[0].observations


def of_length(n_trials: int) -> Observations:
    """The trials of the 3-level task, over and over again."""
    seen = task_of("compositional_3")
    matrix = np.column_stack([seen.cues, seen.outcome])
    return observations_from_matrix(np.resize(matrix, (n_trials, matrix.shape[1])))


def settings_of(name: str, particles: int = 200, values: dict[str, float] = VALUES) -> Settings:
    model = MODELS[name]
    assert isinstance(model, LatentCauseModel)
    return model.settings(values, Observer(particles=particles))


def fastest(calls: dict[str, Callable[[], object]], seconds: float = 4.0) -> dict[str, float]:
    """Time calls in turns for so long, and return each one's fastest."""
    best = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def filter_call(
    observations: Observations, settings: Settings, replicates: int = 1, filters: ModuleType = kernel
) -> Callable[[], np.ndarray]:
    return lambda: filters.p_hat_traces(observations, settings, KEY, replicates)


def earlier_kernel(revision: str, folder: Path) -> ModuleType:
    """Import the kernel of another revision beside today's, from a package that has another name."""
    wanted = ["holmes_fit", "data", "protocols", "fitting", "reports"]
    archive = subprocess.run(["git", "archive", revision, *wanted], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    package = (folder / "holmes_fit").rename(folder / NAME)
    for path in package.rglob("*.py"):
        path.write_text(re.sub(r"\bholmes_fit\b", NAME, path.read_text("utf-8")), "utf-8")
    sys.path.insert(0, str(folder))
    (path,) = package.rglob("filters/kernel.py")  # the room around it has moved
    return importlib.import_module(".".join(path.relative_to(folder).with_suffix("").parts))


def cost(earlier: ModuleType | None, seconds: float) -> None:
    """Time the filter on three tasks at three settings, beside an earlier one that must say the same to the bit."""
    kernels = {"now": kernel} | ({"earlier": earlier} if earlier else {})
    print(f"Cost per particle and trial, P = 200, {REPLICATES} filters a call, three settings of alpha and Omega, ns")
    for task in TASKS:
        observations = task_of(task)
        for name in ("flat", "holmes"):
            times = {label: [] for label in kernels}
            for values in SETTINGS:
                settings = settings_of(name, values=values)
                calls = {
                    label: filter_call(observations, settings, REPLICATES, each) for label, each in kernels.items()
                }
                traces = [call() for call in calls.values()]
                assert all(np.array_equal(each, traces[0]) for each in traces), f"{task}, {name}: other traces"
                for label, best in fastest(calls, seconds).items():
                    times[label].append(1e9 * best / (REPLICATES * observations.n_trials * settings.particles))
            print(f"  {task:18s} {name:7s} " + "   ".join(_row(label, each) for label, each in times.items()), end="")
            print(f"   earlier / now {sum(times['earlier']) / sum(times['now']):.2f}" if earlier else "", flush=True)


def _row(label: str, nanoseconds: list[float]) -> str:
    return f"{label} " + " ".join(f"{each:5.1f}" for each in nanoseconds)


def many_particles(seconds: float) -> None:
    print("Cost of 2,000 particles over that of 200, 3-level task, alpha 1, Omega .5")
    observations = task_of("compositional_3")
    for name in ("flat", "holmes"):
        calls = {str(n): filter_call(observations, settings_of(name, n), REPLICATES) for n in (200, 2000)}
        best = fastest(calls, 2 * seconds)
        print(f"  {name:7s} {best['2000'] / best['200']:.1f}", flush=True)


def exponent(sizes: list[int], calls: dict[str, Callable[[], object]]) -> float:
    seconds = list(fastest(calls, 6.0).values())
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def scaling() -> None:
    print("Exponent of cost (target: at most 1.1)")
    trials, particles = [80, 320, 1280, 5120], [50, 200, 800, 3200]
    for name in ("flat", "holmes"):
        longer = {str(n): filter_call(of_length(n), settings_of(name)) for n in trials}
        larger = {str(n): filter_call(task_of("compositional_3"), settings_of(name, n)) for n in particles}
        print(f"  {name:7s} in trials, 80 to 5,120:      {exponent(trials, longer):.2f}")
        print(f"  {name:7s} in particles, 50 to 3,200:   {exponent(particles, larger):.2f}")


def in_fresh_process(code: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


MEMORY = """
import json, re
from benchmarks.kernel import KEY, of_length, settings_of
from holmes_fit.models.filters import kernel

def megabytes(entry):
    return int(re.search(entry + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

kernel.p_hat_traces(of_length(80), settings_of("{model}"), KEY, 1)
long = of_length(5120)
open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
before = megabytes("VmRSS")
kernel.p_hat_traces(long, settings_of("{model}", 1000), KEY, 1)
print(json.dumps({{"mb": megabytes("VmHWM") - before}}))
"""

FIRST_CALL = """
import json, time, sys
begin = time.perf_counter()
import holmes_fit
imported = time.perf_counter()
heavy = [name for name in ("pymc", "optuna", "matplotlib", "pandas", "numba") if name in sys.modules]
holmes_fit.trace([[0, 1], [1, 0]] * 10)
print(json.dumps({"import": imported - begin, "first_call": time.perf_counter() - imported, "heavy": len(heavy)}))
"""


def memory() -> None:
    print("Peak memory, 5,120 trials and 1,000 particles, above the level before (target: at most 100 MB)")
    for model in ("flat", "holmes"):
        print(f"  {model:7s} {in_fresh_process(MEMORY.format(model=model))['mb']:.0f} MB")


def start() -> None:
    runs = [in_fresh_process(FIRST_CALL) for _ in range(5)]
    print("Starting up, fastest of 5 (targets: import under 0.3 s, first call with a warm cache under 2 s)")
    print(
        f"  import holmes_fit   {min(run['import'] for run in runs):.2f} s, heavy packages loaded: {runs[0]['heavy']}"
    )
    print(f"  first call          {min(run['first_call'] for run in runs):.2f} s")


def main(against: str = "", seconds: float = 4.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cost(earlier_kernel(against, Path(folder)) if against else None, seconds)
    many_particles(seconds)
    scaling()
    memory()
    start()


if __name__ == "__main__":
    command(main)
