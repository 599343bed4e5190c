"""The commands of the bench."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.likelihood.cases import KEPT, make_cases, read_cases, write_cases
from benchmarks.likelihood.references import make_references


def main() -> None:
    parser = argparse.ArgumentParser(description="The bench of the choice likelihood.")
    parser.add_argument("command", choices=["cases", "references", "score"])
    parser.add_argument("--weather", type=Path, help="the file of real people; without it they are skipped")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the folder of the tables")
    given = parser.parse_args()
    if given.command == "cases":
        write_cases(make_cases(given.weather), given.keep)
    elif given.command == "references":
        make_references(read_cases(given.keep), given.weather, given.keep)


if __name__ == "__main__":
    main()
