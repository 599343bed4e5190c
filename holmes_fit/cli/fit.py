"""``holmes-fit fit``: everyone fitted with every model, into a run folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import (
    BranchCounts,
    Dask,
    Data,
    MaxBranches,
    MaxDepth,
    Participants,
    Particles,
    ProtocolName,
    Quiet,
    Resampling,
    Seed,
    StickyBy,
    Workers,
    numbers_by_name,
    observer_of,
    progress_bar,
)

INTERRUPTED = 130


@app.command(
    epilog=examples(
        "holmes-fit fit pilot.csv --protocol weather_prediction --out runs/look --quick",
        "holmes-fit fit pilot.csv --protocol weather_prediction --models flat,holmes,bias --out runs/pilot",
        "holmes-fit fit data/ --protocol protocols/my_task.toml --fix lapse=0.02 --workers 8 --out runs/fixed",
        "holmes-fit fit data/ --protocol shepard --dask tcp://lab3:8786 --out runs/shepard",
    )
)
def fit(
    data: Data,
    protocol: ProtocolName,
    out: Annotated[
        Path, typer.Option(metavar="DIR", show_default=False, help="A new folder, or one to go on in after a stop.")
    ],
    participants: Participants = None,
    models: Annotated[str, typer.Option(metavar="NAME,...", help="The models.")] = "flat,holmes",
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="default, quick, careful, or the path of a TOML.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: the preset quick.")] = False,
    fix: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter that is not fitted; can be repeated.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    dask: Dask = None,
    particles: Particles = 200,
    resampling: Resampling = "systematic",
    branch_counts: BranchCounts = "particle",
    sticky_by: StickyBy = "branch",
    max_depth: MaxDepth = 20,
    max_branches: MaxBranches = 20,
    quiet: Quiet = False,
) -> None:
    """Fit every person with every model.

    Results go to the folder --out: fits.csv (parameters), models.csv (likelihood and evidence), trials_fitted.csv
    (predictions, trial by trial), trees.csv, search.csv, failures.csv. Stopped at any moment, the same command goes on
    where it was. Numbers do not depend on the workers, nor on how often it was stopped.
    """
    from holmes_fit.cli.fit_text import beginning, ending, stopped
    from holmes_fit.fitting.cohort import Fits, carry_out, check_workers, lost_text
    from holmes_fit.fitting.plan import plan_fit
    from holmes_fit.trials import read_cohort

    if quick and preset is not None:
        raise typer.BadParameter("--quick is a preset itself, and has no meaning with --preset")
    try:
        plan = plan_fit(
            read_cohort(data, protocol, participants),
            [name.strip() for name in models.split(",")],
            preset="quick" if quick else preset or "default",
            fix=numbers_by_name(",".join(fix) if fix else None, "--fix"),
            seed=seed,
            observer=observer_of(particles, resampling, branch_counts, sticky_by, max_depth, max_branches),
        )
        check_workers(workers)
        with plan.open(out, shlex.join(["holmes-fit", *sys.argv[1:]])) as run:
            before = run.progress()
            if not quiet:
                typer.echo(beginning(plan, before, workers, dask), err=True)
            with progress_bar("fitting", quiet, lines=True) as progress:
                lost = carry_out(plan, run, before.missing, workers=workers, dask=dask, progress=progress)
    except KeyboardInterrupt:
        typer.echo(stopped(out), err=True)
        raise typer.Exit(INTERRUPTED) from None
    if text := ending(Fits(run), quiet):
        typer.echo(text)
    if lost:
        typer.echo(lost_text(lost), err=True)
        raise typer.Exit(1)
