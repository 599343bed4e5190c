"""Do 95% intervals hold the truth 95% of the time? People drawn from the fitting prior, fitted with the defaults.

Run with ``python -m benchmarks.coverage compositional_3 200 runs/coverage_3``. Stopped, the same command goes on. The
summaries are kept in reports/fitting.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from holmes_fit.fitting.person import fit_person
from holmes_fit.fitting.plan import code_identity
from holmes_fit.lattice import Task
from holmes_fit.models import find_model
from holmes_fit.presets import Preset, load_preset
from holmes_fit.runs import Run, open_run
from holmes_fit.simulation import simulate
from holmes_fit.workers import do_all

SEED = 20_000  # of the simulations; fits have their own


def fit_one(task: tuple[str, str, Preset, int]) -> list[dict[str, Any]]:
    """Simulate one person with values from the prior, fit them, and compare: a row a parameter."""
    protocol, model, preset, number = task
    space = preset.space(find_model(model))
    rng = np.random.default_rng([SEED, number])
    truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
    cohort = simulate(protocol, model, 1, truth, seed=SEED + number).cohort
    fitted = fit_person(Task(cohort.learners, space, seed=number), preset)
    rows = []
    for index, axis in enumerate(space.free):
        found = next(entry for entry in fitted.facts["parameters"] if entry["name"] == axis.name)
        rows.append(
            {
                "person": number,
                "parameter": axis.name,
                "truth": truth[axis.name],
                "truth_on_scale": float(axis.parameter.to_scale(truth[axis.name])),
                **{key: found[key] for key in ("ml", "map", "mean_on_scale", "sd_on_scale", "lower", "upper")},
                "rank": float(np.mean(fitted.arrays["draws"][:, index] < truth[axis.name])),
                **{key: fitted.facts[key] for key in ("batch_sd", "effective_replicates", "replicates", "refined")},
            }
        )
    return rows


def run_study(run: Run, protocol: str, model: str, preset: Preset, people: int) -> pd.DataFrame:
    """Fit everyone who is missing, and return all rows."""
    missing = sorted(int(number) for (number,) in run.progress().missing)
    tasks = [(protocol, model, preset, number) for number in missing]
    with closing(do_all(fit_one, tasks)) as results:
        for done, (index, rows) in enumerate(results, start=1):
            if not isinstance(rows, list):
                raise RuntimeError(rows.traceback)
            run.save_record((f"{missing[index]:04d}",), {"rows": rows})
            print(f"{people - len(missing) + done} of {people}", flush=True)
    return pd.DataFrame([row for record in run.records() for row in record.facts["rows"]])


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return coverage with the 99% interval that chance allows, recovery, and width, a row a parameter."""
    table = []
    for name, of_one in rows.groupby("parameter", sort=False):
        covered = (of_one["lower"] <= of_one["truth"]) & (of_one["truth"] <= of_one["upper"])
        low, high = binom.interval(0.99, len(of_one), 0.95)
        error = of_one["mean_on_scale"] - of_one["truth_on_scale"]
        table.append(
            {
                "parameter": name,
                "people": len(of_one),
                "coverage": covered.mean(),
                "allowed_low": low / len(of_one),
                "allowed_high": high / len(of_one),
                "coverage_batch_sd_below_1": covered[of_one["batch_sd"] < 1].mean(),
                "share_batch_sd_below_1": (of_one["batch_sd"] < 1).mean(),
                "correlation": np.corrcoef(of_one["mean_on_scale"], of_one["truth_on_scale"])[0, 1],
                "rmse": np.sqrt((error**2).mean()),
                "bias": error.mean(),
                "posterior_sd": of_one["sd_on_scale"].mean(),
                "prior_sd": of_one["truth_on_scale"].std(),
            }
        )
    return pd.DataFrame(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("people", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="holmes")
    parser.add_argument("--preset", default="default")
    given = parser.parse_args()
    preset = load_preset(given.preset)
    identity = {
        "protocol": given.protocol,
        "model": given.model,
        "preset": preset.model_dump(mode="json"),
        **code_identity(),
    }
    keys = [(f"{number:04d}",) for number in range(given.people)]
    with open_run(given.out, identity=identity, about={}, keys=keys) as run:
        rows = run_study(run, given.protocol, given.model, preset, given.people)
        run.write_table("people.csv", rows)
        run.write_table("summary.csv", summary(rows))
    print(summary(rows).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
