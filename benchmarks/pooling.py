"""How long do ``holmes-fit pool`` and ``holmes-fit compare`` take, for 6 and 25 people with two models?

The start of the processes is included. First nothing is compiled, not even the particle filter; then other processes
find what was compiled. Run with ``python -m benchmarks.pooling``; nothing else should be running. ``--keep FOLDER``
writes the table there.
"""

import shutil
import tempfile
from pathlib import Path

import pandas as pd

from benchmarks import command
from benchmarks.whole_way import call
from holmes_fit.fitting.cohort import fit
from holmes_fit.studies.simulation import simulate

LIMITS = {"nothing": {6: 30, 25: 60}, "everything": {6: 15, 25: 40}}  # seconds of both commands, on two cores


def make_run(folder: Path, people: int) -> Path:
    """Simulate people and fit them quickly."""
    cohort = simulate("compositional_3", "holmes", people, {"omega": "lognormal:0.3,0.5"}, seed=7).cohort
    fit(cohort, ["flat", "holmes"], folder, preset="quick", workers=2)
    return folder


def time_commands(run: Path, people: int, folder: Path) -> pd.DataFrame:
    """Pool and compare copies of a run, first with nothing compiled, then with what that has left."""
    cache = {"NUMBA_CACHE_DIR": f"{folder}/numba", "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor"}
    rows = []
    for state in LIMITS:
        copy = str(shutil.copytree(run, folder / state))
        for name in ("pool", "compare"):
            rows.append({"people": people, "compiled": state, "command": name, **call([name, copy], cache)})
    return pd.DataFrame(rows)


def both_commands(table: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of both commands together, and how many they may take."""
    total = table.groupby(["people", "compiled"], sort=False)["seconds"].sum().reset_index()
    total["limit"] = [LIMITS[state][people] for people, state in zip(total["people"], total["compiled"], strict=True)]
    return total


def main(keep: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folders = {people: Path(name) / str(people) for people in LIMITS["nothing"]}
        runs = {people: make_run(folder / "run", people) for people, folder in folders.items()}
        seconds = pd.concat([time_commands(runs[people], people, folder) for people, folder in folders.items()])
    print(seconds.to_string(index=False), "\n")
    print(both_commands(seconds).to_string(index=False))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        seconds.to_csv(keep / "pooling_seconds.csv", index=False)


if __name__ == "__main__":
    command(main)
