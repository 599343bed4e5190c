"""How long is the whole way, from a CSV to a PDF, and which steps take how much of it?

People are simulated, and then ``holmes-fit check``, ``fit``, ``pool``, ``compare`` and ``report`` are called as on the
command line, for cohorts of several sizes. Run with ``python -m benchmarks.whole_way FOLDER``; nothing else should be
running. What an earlier call has compiled is used. Writes ``seconds.csv`` and ``seconds.png`` there. ``--people 6,25``
takes other sizes, ``--preset default`` the default effort for the fits instead of the quick one.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from benchmarks import command
from holmes_fit.reporting.style import use_style

PROTOCOL = "compositional_3"
STEPS = ("check", "fit", "pool", "compare", "report")
COLOURS = ("#bbbbbb", "#7b4fa6", "#4477aa", "#66ccee", "#ccbb44")
SPREADS = {
    "mix": "flat=0.4,holmes=0.6",
    "alpha": "lognormal:0.8,0.5",
    "omega": "lognormal:0.3,0.5",
    "beta": "lognormal:3,0.3",
    "lapse": "logitnormal:0.02,0.5",
}


def commands(folder: Path, preset: str) -> dict[str, list[str]]:
    """Return the arguments of every step."""
    data, run = str(folder / "people.csv"), str(folder / "run")
    return {
        "check": ["check", data, "--protocol", PROTOCOL],
        "fit": ["fit", data, "--protocol", PROTOCOL, "--models", "flat,holmes", "--preset", preset, "--out", run],
        "pool": ["pool", run],
        "compare": ["compare", run],
        "report": ["report", run, "--out", str(folder / "report.pdf")],
    }


def call(arguments: list[str], environment: Mapping[str, str] | None = None) -> dict[str, float]:
    """Call holmes-fit, and return the seconds it took, those of all processors, and how it ended."""
    before, begun = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "holmes_fit", *arguments, "--quiet"]
    code = subprocess.run(command, env={**os.environ, **(environment or {})}, check=False).returncode
    if code not in (0, 3):  # 3: there are results, with warnings
        raise SystemExit(f"holmes-fit {arguments[0]} ended with {code}")
    seconds, after = time.perf_counter() - begun, os.times()
    processor = sum(getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system"))
    return {"seconds": round(seconds, 1), "processor": round(processor, 1), "exit_code": code}


def time_cohort(people: int, preset: str) -> list[dict[str, object]]:
    """Simulate a cohort, and time every step of its way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spreads = [part for option, value in SPREADS.items() for part in (f"--{option}", value)]
        cohort = ["--protocol", PROTOCOL, "--subjects", str(people), "--seed", "1"]
        call(["simulate", *cohort, *spreads, "--out", str(folder / "people.csv")])
        rows: list[dict[str, object]] = []
        for step, arguments in commands(folder, preset).items():
            rows.append({"people": people, "step": step, "preset": preset, **call(arguments)})
            print(rows[-1], flush=True)
    return rows


def draw(table: pd.DataFrame, ax: Axes) -> Axes:
    """Draw a bar for each cohort, divided into its steps."""
    by_step = table.pivot(index="people", columns="step", values="seconds")[list(STEPS)].sort_index(ascending=False)
    left = pd.Series(0.0, index=by_step.index)
    places = range(len(by_step))
    for step, colour in zip(STEPS, COLOURS, strict=True):
        ax.barh(places, by_step[step], left=left, color=colour, label=step)
        left += by_step[step]
    for place, total in zip(places, left, strict=True):
        ax.annotate(f" {total:.0f} s", (total, place), va="center")
    ax.set_yticks(places, [f"{people} people" for people in by_step.index])
    ax.set_xlim(0, 1.12 * left.max())
    ax.set_xlabel("seconds")
    ax.legend(ncols=len(STEPS), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return ax


def main(folder: Path, people: str = "6,25,100", preset: str = "quick") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [int(number) for number in people.split(",")]
    table = pd.DataFrame([row for size in sizes for row in time_cohort(size, preset)])
    table.drop(columns="exit_code").to_csv(folder / "seconds.csv", index=False)
    with use_style():
        figure, ax = plt.subplots(figsize=(7, 0.9 + 0.5 * len(sizes)), layout="constrained")
        draw(table, ax)
        figure.savefig(folder / "seconds.png", dpi=150)


if __name__ == "__main__":
    command(main)
