"""The command of the bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from threadpoolctl import threadpool_limits

import benchmarks.likelihood
from benchmarks import command
from benchmarks.likelihood.cases import FROM_FILE, KEPT, read_cases
from benchmarks.likelihood.scores import FILTERS, errors_of, score, summary

__doc__ = benchmarks.likelihood.__doc__


def main(
    weather: Path | None = None,
    keep: Path = KEPT,
    names: Annotated[list[str] | None, typer.Option("--case")] = None,
    estimators: Annotated[list[str] | None, typer.Option("--estimator")] = None,
    filters: int = FILTERS,
) -> None:
    """Score estimators, print how far they are from the references, and keep the summaries."""
    cases = [case for case in read_cases(keep) if not names or case.name in names]
    table = score(cases, weather, estimators, filters, keep)
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
        command(main)
