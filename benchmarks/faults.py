"""Do the tests notice a mistake? Deliberate faults, one at a time, each with the tests that must fail.

Run with ``python -m benchmarks.faults``, or with names of ``faults.toml``, or parts of them. The tree is copied, so
nothing here changes. First the named tests must pass without a fault, else a failure would show nothing.

A fault in the kernel is run without compiling it, unless ``--compiled`` is given: the same lines run, only slower, and
a short test takes less time than compiling the kernel anew for every fault.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Annotated

import typer

from benchmarks import ROOT, command

LIST = ROOT / "benchmarks" / "faults.toml"
FOLDERS = ("holmes_fit", "paper", "tests", "benchmarks", "data", "protocols", "fitting", "reports")
FILES = ("pyproject.toml", "README.md", "Makefile", "requirements.lock")
LIMIT = 3600  # seconds for a test

PASSED, FAILED = 0, 1  # exit codes of pytest; any other says that the tests did not run
# A fault that cannot be run at all is a mistake in the list, and a test that took too long on a busy machine says
# nothing: neither is caught.
NOT_A_FAULT = ("SyntaxError", "NameError", "UnboundLocalError", "TypingError", "LoweringError", "Timeout")


@dataclass(frozen=True)
class Fault:
    """An exact replacement in one file, and the tests that must notice it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def is_in_kernel(self) -> bool:
        return self.file.startswith("holmes_fit/models/filters/")

    def applied(self, source: str) -> str:
        """Return the source with the fault."""
        found = source.count(self.old)
        if found != 1 or self.old == self.new:
            raise ValueError(f"fault {self.name!r}: its text stands {found} times in {self.file}, not once: {self.old}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a fault: ``caught``, ``MISSED`` or ``BROKEN``, and why."""

    fault: Fault
    verdict: str
    reason: str
    seconds: float


def read_faults() -> list[Fault]:
    """Return the faults on the list."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


def copy_tree(target: Path) -> Path:
    """Copy what the tests need."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    for name in FILES:
        shutil.copy2(ROOT / name, target / name)
    return target


def run_tests(tree: Path, tests: tuple[str, ...], compiled: bool) -> tuple[int, str]:
    """Run tests in a copy of the tree, and return pytest's exit code and output."""
    surroundings = os.environ | {
        "PYTHONPATH": str(tree),  # before the installed package, which is the original
        "PYTHONDONTWRITEBYTECODE": "1",  # compiled modules of two faults could have the same date and size
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
    }
    surroundings.pop("NUMBA_CACHE_DIR", None)  # the tests have a cache for every state of the sources
    options = ["-x", "-q", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", "--timeout", str(LIMIT)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=tree,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def try_fault(fault: Fault, trees: Queue[Path], compiled: bool) -> Outcome:
    """Apply a fault to a copy of the tree that is free, run its tests, and put the file back."""
    tree = trees.get()
    path = tree / fault.file
    original = path.read_text(encoding="utf-8")
    begun = time.perf_counter()
    try:
        path.write_text(fault.applied(original), encoding="utf-8")
        code, output = run_tests(tree, fault.tests, compiled or not fault.is_in_kernel)
    finally:
        path.write_text(original, encoding="utf-8")
        trees.put(tree)
    verdict, reason = judged(code, output)
    return Outcome(fault, verdict, reason, time.perf_counter() - begun)


def judged(code: int, output: str) -> tuple[str, str]:
    """Return the verdict on a fault, and the first line that says why."""
    lines = re.findall(r"^E +(?!AssertionError: *$)(\S.*)$", output, flags=re.MULTILINE)
    reason = lines[0][:100] if lines else output.strip()[-100:]
    if code == PASSED:
        return "MISSED", "its tests pass"
    if code != FAILED or any(name in line for line in lines for name in NOT_A_FAULT):
        return "BROKEN", reason
    return "caught", reason


def check_without_faults(tree: Path, faults: list[Fault], compiled: bool) -> None:
    """End here unless the tests pass as long as there is no fault, and look at the copy."""
    seen = subprocess.run(
        [sys.executable, "-c", "import holmes_fit; print(holmes_fit.__file__)"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    if not Path(seen.stdout.strip()).is_relative_to(tree):
        raise SystemExit(f"The tests would not see the faults: they import {seen.stdout.strip()}.")
    for in_kernel in (False, True):
        tests = dict.fromkeys(test for fault in faults if fault.is_in_kernel == in_kernel for test in fault.tests)
        code, output = run_tests(tree, tuple(tests), compiled or not in_kernel) if tests else (PASSED, "")
        if code != PASSED:
            raise SystemExit(f"{output}\nThe tests do not pass without a fault, so they would show nothing.")


def main(names: Annotated[list[str] | None, typer.Argument()] = None, workers: int = 2, compiled: bool = False) -> None:
    faults = [each for each in read_faults() if not names or any(name in each.name for name in names)]
    for fault in faults:
        fault.applied((ROOT / fault.file).read_text(encoding="utf-8"))
    missed = 0
    with tempfile.TemporaryDirectory(prefix="holmes_fit_faults_") as folder:
        trees: Queue[Path] = Queue()
        for number in range(workers):
            trees.put(copy_tree(Path(folder).resolve() / str(number)))
        check_without_faults(trees.queue[0], faults, compiled)
        print(f"The tests pass without a fault. {len(faults)} faults:", flush=True)
        with ThreadPoolExecutor(workers) as pool:
            tries = [pool.submit(try_fault, fault, trees, compiled) for fault in faults]
            for done in as_completed(tries):
                outcome = done.result()
                missed += outcome.verdict != "caught"
                print(f"{outcome.verdict:6s} {outcome.seconds:4.0f} s  {outcome.fault.name}", flush=True)
                print(f"               {outcome.reason}", flush=True)
    print(f"{len(faults) - missed} of {len(faults)} faults caught.")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    command(main)
