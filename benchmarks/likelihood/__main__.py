"""The commands of the bench."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.likelihood.cases import FROM_FILE, KEPT, Case, make_cases, read_cases, write_cases
from benchmarks.likelihood.references import check_tempering, make_references
from benchmarks.likelihood.scores import FILTERS, errors_of, score, summary


def main() -> None:
    parser = argparse.ArgumentParser(description="The bench of the choice likelihood.")
    parser.add_argument("command", choices=["cases", "references", "check", "score"])
    parser.add_argument("--weather", type=Path, help="the file of real people; without it they are skipped")
    parser.add_argument("--only", nargs="+", help="estimators to score; all of the registry unless named")
    parser.add_argument("--filters", type=int, default=FILTERS, help="in each set; 64 unless given")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the folder of the tables")
    parser.add_argument("--cases", nargs="+", help="names of the cases; all unless named")
    parser.add_argument("--again", type=int, help="try references that did not come out with chains so often as long")
    given = parser.parse_args()
    if given.command == "cases":
        write_cases(make_cases(given.weather), given.keep)
    elif given.command == "references":
        make_references(chosen_cases(given.keep, given.cases), given.weather, given.keep, given.again)
    elif given.command == "check":
        check_tempering(chosen_cases(given.keep, given.cases), given.weather, given.keep)
    else:
        table = score(chosen_cases(given.keep, given.cases), given.weather, given.only, given.filters, given.keep)
        show(table, given.keep)


def chosen_cases(keep: Path, names: list[str] | None) -> list[Case]:
    """Return the cases that were named, or all."""
    return [case for case in read_cases(keep) if names is None or case.name in names]


def show(table: pd.DataFrame, keep: Path) -> None:
    """Print how far estimators are from the references, and keep the summaries."""
    references = pd.read_csv(keep / "references.csv", dtype={"case": str})
    about = pd.read_csv(keep / "cases.csv", dtype={"case": str})[["case", "task", "origin", "model"]]
    errors = errors_of(table, references).merge(about, on="case")
    errors["task"] = errors["task"].where(errors["origin"] != FROM_FILE, "real people")
    overall, by_task = summary(errors, []), summary(errors, ["task", "model"])
    overall.round(4).to_csv(keep / "summary.csv", index=False)
    by_task.round(4).to_csv(keep / "summary_by_task.csv", index=False)
    print(by_task.round(3).to_string(index=False))
    print(overall.round(3).to_string(index=False))


if __name__ == "__main__":
    with threadpool_limits(1):  # so that processor time is that of one thread
        main()
