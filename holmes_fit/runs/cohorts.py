"""The data that a run has fitted, as its folder keeps them."""

from __future__ import annotations

from dataclasses import replace

from holmes_fit._support.errors import InputError, Problem, plain
from holmes_fit.runs.folder import Run
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import read_cohort


def cohort_of(run: Run) -> Cohort:
    """Read the data that a run has fitted."""
    try:
        protocol = Protocol.model_validate_json(run.path("protocol.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        where = f"run {plain(str(run.root), 200)}, protocol.json"
        raise InputError([Problem(where, plain(str(error), 200), "the file that a fit has written")]) from error
    cohort = read_cohort(run.path("trials.csv"), protocol)
    return replace(cohort, subjects=run.read_table("subjects.csv", ("subject",)))
