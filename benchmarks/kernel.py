"""How fast is the filter? Ratios within one run, because machines differ and are noisy.

The floor does only what no filter of this kind can do without: it draws the uniforms that the kernel consumes, with
the kernel's generator, looks up one logarithm a feature in the same table, and takes the exponentials of the weights.
Kernel and floor are timed in turns, and each is represented by its fastest run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from benchmarks.tasks import compositional, shape_color
from holmes_fit.filters import draws, kernel
from holmes_fit.filters.settings import Settings
from holmes_fit.models import MODELS, LatentCauseModel, Observer
from holmes_fit.observations import Observations, observations_from_matrix

KEY = draws.stream_key(0, "benchmark")
VALUES = {"alpha": 1.0, "omega": 0.5}


@njit(cache=True)
def floor(cues, length_normalized, key, pairs, replicates, n_particles, table):
    """Draw, look up and take exponentials. ``pairs[trial]`` is the number of pairs of uniforms that a trial takes."""
    n_trials, n_cues = cues.shape
    counts = np.zeros((n_particles, 2 * n_cues + 2), dtype=np.uint16)
    seen = np.empty(n_cues + 1, dtype=np.uint32)
    log_weight = np.empty(n_particles)
    kept = 0.0
    for replicate in range(replicates):
        for trial in range(n_trials):
            for cue in range(n_cues):
                seen[cue] = 2 * cue + cues[trial, cue]
            seen[n_cues] = 2 * n_cues
            for number in range(pairs[trial]):
                branch, stop = draws.pair(key, replicate, trial, number, 0)
                kept += branch + stop
            kept += draws.uniform(key, replicate, trial, 0, 0, draws.RESAMPLE)
            for particle in range(n_particles):
                total = 0.0
                for feature in range(n_cues + 1):
                    total += table[counts[particle, seen[feature]]]
                log_weight[particle] = total
            for particle in range(n_particles):
                kept += np.exp(log_weight[particle])
                if length_normalized:
                    kept += np.exp(0.5 * log_weight[particle])
    return kept


def settings_of(name: str, particles: int = 200) -> Settings:
    model = MODELS[name]
    assert isinstance(model, LatentCauseModel)
    return model.settings(VALUES, Observer(particles=particles))


def pairs_a_trial(observations: Observations, settings: Settings) -> np.ndarray:
    """Count the pairs of uniforms that the kernel draws: one for every level that a particle enters."""
    _, history = kernel.trace_with_history(observations, settings, KEY)
    return (history.level[history.leaves] + 1).sum(axis=1)


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


def filter_call(observations: Observations, settings: Settings, replicates: int = 1) -> Callable[[], object]:
    return lambda: kernel.p_hat_traces(observations, settings, KEY, replicates)


def floor_call(observations: Observations, settings: Settings, replicates: int) -> Callable[[], object]:
    pairs = pairs_a_trial(observations, settings)
    table = np.log(settings.omega + np.arange(observations.n_trials + 1))
    cues, length_normalized = observations.cues, observations.length_normalized
    return lambda: floor(cues, length_normalized, KEY, pairs, replicates, settings.particles, table)


def against_floor(replicates: int = 2) -> None:
    print("Cost per particle and trial, P = 200, alpha 1, Omega .5 (target: at most 2.5 floors)")
    tasks = {
        "shape-colour, 172 trials, 23 features": (shape_color(), True),
        "3-level compositional, 160 trials, 8 features": (compositional(3), False),
    }
    for task, (matrix, length_normalized) in tasks.items():
        observations = observations_from_matrix(matrix, length_normalized=length_normalized)
        for name in ("flat", "holmes"):
            settings = settings_of(name)
            calls = {
                "kernel": filter_call(observations, settings, replicates),
                "floor": floor_call(observations, settings, replicates),
            }
            best = fastest(calls)
            unit = 1e9 / (replicates * observations.n_trials * settings.particles)
            ratio = best["kernel"] / best["floor"]
            print(
                f"  {task:46s} {name:7s} kernel {best['kernel'] * unit:6.1f} ns"
                f"   floor {best['floor'] * unit:5.1f} ns   ratio {ratio:.2f}"
            )


def exponent(sizes: list[int], calls: dict[str, Callable[[], object]]) -> float:
    seconds = list(fastest(calls, 6.0).values())
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def scaling() -> None:
    print("Exponent of cost (target: at most 1.1)")
    task = compositional(3)
    trials, particles = [80, 320, 1280, 5120], [50, 200, 800, 3200]
    for name in ("flat", "holmes"):
        longer = {
            str(n): filter_call(observations_from_matrix(np.resize(task, (n, 8))), settings_of(name)) for n in trials
        }
        larger = {str(n): filter_call(observations_from_matrix(task), settings_of(name, n)) for n in particles}
        print(f"  {name:7s} in trials, 80 to 5,120:      {exponent(trials, longer):.2f}")
        print(f"  {name:7s} in particles, 50 to 3,200:   {exponent(particles, larger):.2f}")


def in_fresh_process(code: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


MEMORY = """
import json, re, numpy as np
from benchmarks.kernel import KEY, settings_of
from benchmarks.tasks import compositional
from holmes_fit.filters import kernel
from holmes_fit.observations import observations_from_matrix

def megabytes(entry):
    return int(re.search(entry + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

kernel.p_hat_traces(observations_from_matrix(compositional(2)), settings_of("{model}"), KEY, 1)
long = observations_from_matrix(np.resize(compositional(3), (5120, 8)))
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


if __name__ == "__main__":
    against_floor()
    scaling()
    memory()
    start()
