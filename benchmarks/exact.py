"""How long do models without particles take? 95 people with 33,440 trials in all, and 1,000 people who do not learn.

Run with ``python -m benchmarks.exact``, or with the names of models. CPU seconds are what counts where others work,
too: they are those of one process, and two workers need half of the time.
"""

import sys
import tempfile
import time

from holmes_fit.fitting.cohort import fit
from holmes_fit.models.registry import MODELS
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Cohort

LIMIT, LIMIT_OF_BIAS = 2 * 180.0, 60.0  # CPU seconds: three minutes of two cores, a minute of one


def seconds(cohort: Cohort, model: str) -> float:
    """Return the CPU seconds of a fit, with one process."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        fit(cohort, [model], f"{folder}/run", workers=1, progress=False)
        return time.process_time() - begun


def main(names: list[str]) -> int:
    exact = [name for name, model in MODELS.items() if not model.uses_particles]
    short = simulate("conditioning", "bias", 1, seed=1).cohort
    people = simulate("weather_prediction", "flat", 95, seed=1).cohort
    share = 33_440 / len(people.trials)  # time is linear in trials
    too_long = []
    for name in names or exact:
        seconds(short, name)  # compiles
        taken = share * seconds(people, name)
        print(f"{name:16s} {taken:6.1f} CPU seconds for 95 people and 33,440 trials (limit {LIMIT:g})", flush=True)
        too_long += [name] if taken > LIMIT else []
    if not names or "bias" in names:
        taken = seconds(simulate("weather_prediction", "bias", 1000, seed=1).cohort, "bias")
        print(f"1,000 people x bias: {taken:.1f} CPU seconds (limit {LIMIT_OF_BIAS:g})")
        too_long += ["bias"] if taken > LIMIT_OF_BIAS else []
    return len(too_long)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
