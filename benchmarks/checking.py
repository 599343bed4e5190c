"""How long does it take to check a file of a million rows, and of two, and how much memory?

``python -m benchmarks.checking`` writes such files to a temporary folder and calls ``holmes-fit check`` on each in a
process of its own: people with problems that are learned afresh, cues of words, answers by keys, missed ones, reaction
times, and a column that the protocol does not name. Seconds are those of the processor, so that what else the machine
does counts little; those on the clock are shown beside them. Limits are for both.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks import command

LIMITS = {1_000_000: (20.0, 1.0), 2_000_000: (45.0, 2.0)}  # rows: seconds and gigabytes
PROBLEMS, TRIALS = 4, 50  # of a person, and of a problem
CHUNK = 100_000  # rows that are made at a time: on Linux, the memory of who calls counts as that of who is called

PROTOCOL = """
[columns]
choice = "key"
outcome = "answer"
restart = ["problem"]
covariates = ["group"]
[choice]
coding = { f = 0, j = 1 }
[outcome]
coding = { f = 0, j = 1 }
[features]
shape = { levels = ["circle", "square", "star"] }
size = { coding = { small = 0, large = 1 } }
[exclusions]
rt = { column = "rt", min = 0.1, max = 3.0 }
"""


def trials(first: int, rows: int) -> pd.DataFrame:
    """Return rows of people who guess on ten trials of each problem and then know it, from the first one on."""
    rng = np.random.default_rng(first)
    row = np.arange(first, first + rows)
    person, trial = row // (PROBLEMS * TRIALS), row % TRIALS
    shape = rng.choice(["circle", "square", "star"], rows)
    is_j = np.where(shape == "circle", 0.9, 0.1)
    answer = np.where(rng.random(rows) < is_j, "j", "f")
    key = np.where(rng.random(rows) < np.where(trial < 10, 0.5, is_j), "j", "f")
    return pd.DataFrame(
        {
            "subject": np.char.add("p", person.astype(str)),
            "group": np.where(person % 2, "control", "patient"),
            "problem": row // TRIALS % PROBLEMS + 1,
            "trial": trial + 1,
            "shape": shape,
            "size": rng.choice(["small", "large"], rows),
            "key": np.where(rng.random(rows) < 0.02, "", key),
            "answer": answer,
            "rt": rng.lognormal(-0.5, 0.5, rows).round(4),
            "stimulus": np.char.add(np.char.add("img/", (row % 97).astype(str)), ".png"),
        }
    )


def check(data: Path, protocol: Path) -> dict[str, float]:
    """Check a file, and return the seconds of the processor and on the clock, and the gigabytes at most."""
    called = [sys.executable, "-m", "holmes_fit", "check", str(data), "--protocol", str(protocol), "--quiet"]
    begun = time.perf_counter()
    _, status, used = os.wait4(os.posix_spawn(called[0], called, os.environ), 0)
    if status:
        raise SystemExit(f"holmes-fit check ended with {os.waitstatus_to_exitcode(status)}")
    kilobytes = used.ru_maxrss if sys.platform == "linux" else used.ru_maxrss / 1024
    return {
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "clock": round(time.perf_counter() - begun, 1),
        "gigabytes": round(kilobytes / 1024**2, 2),
    }


def main(sizes: Annotated[str, typer.Option("--rows")] = ",".join(map(str, LIMITS))) -> None:
    missed = False
    with tempfile.TemporaryDirectory() as name:
        data, protocol = Path(name, "trials.csv"), Path(name, "task.toml")
        protocol.write_text(PROTOCOL, encoding="utf-8")
        for rows in map(int, sizes.split(",")):
            for first in range(0, rows, CHUNK):
                part = trials(first, min(CHUNK, rows - first))
                part.to_csv(data, index=False, header=not first, mode="a" if first else "w")
            found = check(data, protocol)
            print({"rows": rows, "megabytes": round(data.stat().st_size / 1e6), **found}, flush=True)
            seconds, gigabytes = LIMITS.get(rows, (np.inf, np.inf))
            missed |= found["processor"] > seconds or found["gigabytes"] > gigabytes
    if missed:
        raise SystemExit(f"that is more than it may take, by rows, seconds and gigabytes: {LIMITS}")


if __name__ == "__main__":
    command(main)
