"""``holmes-fit status``: how far a run is."""

from __future__ import annotations

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import RunFolder


@app.command(epilog=examples("holmes-fit status runs/pilot"))
def status(run: RunFolder) -> None:
    """Say how far a run is: what is done, failed, damaged and missing, and which process is at work on it.

    It can be asked while the run goes on.
    """
    from holmes_fit.cli.fit_text import status_text
    from holmes_fit.runs import read_run

    typer.echo(status_text(read_run(run)))
    # Cohorts of a recovery study, whose own records are its groups, or of a plan, with one for each number of trials.
    for cohort in sorted([*run.glob("from_*/manifest.json"), *run.glob("trials_*/from_*/manifest.json")]):
        typer.echo(f"\n{status_text(read_run(cohort.parent))}")
