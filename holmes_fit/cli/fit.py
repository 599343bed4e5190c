"""``holmes-fit fit``: everyone fitted with every model, into a run folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli.app import command
from holmes_fit.cli.options import (
    BranchCounts,
    Dask,
    Data,
    FitPreset,
    MaxBranches,
    MaxDepth,
    Models,
    Participants,
    Particles,
    ProtocolName,
    Resampling,
    Seed,
    StickyBy,
    Workers,
    numbers_by_name,
    observer_of,
)
from holmes_fit.cli.output import FAILED, Output, rows, shell

TABLES = ("fits.csv", "models.csv", "trials_fitted.csv", "trees.csv", "search.csv", "failures.csv")


@command(
    "holmes-fit fit pilot.csv --protocol weather_prediction --out runs/look --quick",
    "holmes-fit fit pilot.csv --protocol weather_prediction --models flat,holmes,bias --out runs/pilot",
    "holmes-fit fit data/ --protocol protocols/my_task.toml --fix lapse=0.02 --workers 8 --out runs/fixed",
    "holmes-fit fit data/ --protocol shepard --dask tcp://lab3:8786 --out runs/shepard",
)
def fit(
    data: Data,
    protocol: ProtocolName,
    out: Annotated[
        Path, typer.Option(metavar="DIR", show_default=False, help="A new folder, or one to go on in after a stop.")
    ],
    participants: Participants = None,
    models: Models = "flat,holmes",
    preset: FitPreset = None,
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
    *,
    say: Output,
) -> None:
    """Fit every person with every model.

    Results go to the folder --out: fits.csv (parameters), models.csv (likelihood and evidence), trials_fitted.csv
    (predictions, trial by trial), trees.csv, search.csv, failures.csv. Stopped at any moment, the same command goes on
    where it was. Numbers do not depend on the workers, nor on how often it was stopped. Ends with 3 if someone could
    not be fitted.
    """
    from holmes_fit.cli.fit_text import beginning, ending, failures_text, stopped
    from holmes_fit.fitting.cohort import Fits, carry_out, check_workers, lost_text
    from holmes_fit.fitting.request import request_fit
    from holmes_fit.fitting.summary import model_summary
    from holmes_fit.trials.reading import read_cohort

    if quick and preset is not None:
        raise typer.BadParameter("--quick is a preset itself, and has no meaning with --preset")
    say.when_stopped = stopped(out)
    request = request_fit(
        read_cohort(data, protocol, participants),
        [name.strip() for name in models.split(",")],
        preset="quick" if quick else preset or "default",
        fix=numbers_by_name(",".join(fix) if fix else None, "--fix"),
        seed=seed,
        observer=observer_of(particles, resampling, branch_counts, sticky_by, max_depth, max_branches),
    )
    check_workers(workers, dask)
    with request.open(out, shlex.join(["holmes-fit", *sys.argv[1:]])) as run:
        before = run.progress()
        say.note(beginning(request, before, workers, dask))
        with progress_bar("fitting", say.quiet, lines=True) as progress:
            lost = carry_out(request, run, before.missing, workers=workers, dask=dask, progress=progress)
    fits = Fits(run)
    summary, failures = model_summary(fits), fits.failures
    say.found(ending(fits, summary), folder=out, label=fits.label, models=rows(summary), failures=rows(failures))
    say.wrote(*(out / name for name in TABLES), silently=True)
    if len(failures):
        say.warn(failures_text(failures))
    if lost:
        say.fail(lost_text(lost))
        raise typer.Exit(FAILED)
    say.next(*_next(out, len(fits.models["subject"].unique()), len(request.models)))


def _next(out: Path, people: int, models: int) -> list[str]:
    """Return the commands that lead on from fits: people who are too few for a group have nothing but a report."""
    from holmes_fit.settings.distributions import FEWEST_IN_GROUP

    report = shell("report", out, "--out", f"{out}.pdf")
    if people < FEWEST_IN_GROUP:
        return [report]
    return [shell("pool", out), shell("compare", out) if models > 1 else report]
