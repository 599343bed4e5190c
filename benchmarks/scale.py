"""How do time and memory grow with the number of people?

Run with ``python -m benchmarks.scale FOLDER``; nothing else should be running. Cohorts of several sizes are simulated;
each is then fitted and pooled by commands of one process, whose CPU seconds and largest memory are measured. Writes
``scale.csv`` and ``scale.png``. The exponent is that of the people in time, or memory, from one size to the next: 1 is
twice as much for twice as many. It may be ``LIMIT`` at most. What an earlier call has compiled is used.
"""

import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks import command
from holmes_fit.reporting.style import use_style

PROTOCOL = "weather_prediction"
SIZES = {"bias": (10, 50, 200, 1000, 5000), "flat": (10, 50, 200, 500)}
PRESETS = {"bias": "default", "flat": "quick"}
STEPS = ("fit", "pool")
LIMIT = 1.1
MEASURES = {"seconds": "CPU seconds", "megabytes": "largest memory, MB"}
UNIT = 1 if sys.platform == "darwin" else 1024  # of what the system says of memory, in bytes


def measured(*arguments: str) -> dict[str, float]:
    """Call holmes-fit, and return the CPU seconds that it took, and the most memory that it held."""
    child = subprocess.Popen([sys.executable, "-m", "holmes_fit", *arguments, "--quiet"])
    _, status, usage = os.wait4(child.pid, 0)
    code = child.returncode = os.waitstatus_to_exitcode(status)
    if code not in (0, 3):  # 3: there are results, with warnings
        raise SystemExit(f"holmes-fit {arguments[0]} ended with {code}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss * UNIT / 2**20}


def measured_cohort(model: str, people: int) -> list[dict[str, object]]:
    """Simulate a cohort, and measure every step."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = f"{folder}/people.csv", f"{folder}/run"
        cohort = ("--protocol", PROTOCOL, "--subjects", str(people), "--model", model, "--seed", "1")
        measured("simulate", *cohort, "--out", data)
        given = {
            "fit": (data, "--protocol", PROTOCOL, "--models", model, "--preset", PRESETS[model], "--workers", "1"),
            "pool": (run,),
        }
        given["fit"] += ("--out", run)
        rows: list[dict[str, object]] = []
        for step in STEPS:
            found = {name: round(value, 2) for name, value in measured(step, *given[step]).items()}
            rows.append({"model": model, "step": step, "people": people, **found})
            print(rows[-1], flush=True)
    return rows


def exponents(table: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents from each size to the next."""
    rows = []
    for (model, step), own in table.groupby(["model", "step"], sort=False):
        for (_, few), (_, many) in pairwise(own.sort_values("people").iterrows()):
            more = np.log(many["people"] / few["people"])
            found = {name: np.log(many[name] / few[name]) / more for name in MEASURES}
            rows.append({"model": model, "step": step, "from": few["people"], "to": many["people"], **found})
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame, measure: str, ax: Axes) -> Axes:
    """Draw a line for each model and step, beside one of exponent 1."""
    for (model, step), own in table.groupby(["model", "step"], sort=False):
        ax.plot(own["people"], own[measure], marker="o", markersize=3, label=f"{model}, {step}")
    people = np.array([table["people"].min(), table["people"].max()])
    ax.plot(people, table[measure].min() * people / people[0], color="#bbbbbb", linestyle=":", label="in proportion")
    ax.set(xscale="log", yscale="log", xlabel="people", ylabel=MEASURES[measure])
    return ax


def main(folder: Path, most: int = 5000) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [(model, people) for model, each in SIZES.items() for people in each if people <= most]
    table = pd.DataFrame([row for model, people in sizes for row in measured_cohort(model, people)])
    table.to_csv(folder / "scale.csv", index=False)
    with use_style():
        figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
        for measure, ax in zip(MEASURES, axes, strict=True):
            draw(table, measure, ax)
        axes[0].legend(frameon=False)
        figure.savefig(folder / "scale.png", dpi=150)
    found = exponents(table)
    print(found.round(2).to_string(index=False))
    worst = found[list(MEASURES)].max().max()
    print(f"The largest exponent is {worst:.2f} (limit {LIMIT}).")
    sys.exit(1 if worst > LIMIT else 0)


if __name__ == "__main__":
    command(main)
