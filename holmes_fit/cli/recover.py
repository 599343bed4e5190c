"""``holmes-fit recover``: whether a design can tell parameters and models, by simulating people and fitting them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli.app import command
from holmes_fit.cli.options import (
    Alpha,
    BranchCounts,
    Dask,
    DepthScale,
    MaxBranches,
    MaxDepth,
    Omega,
    Param,
    Participants,
    Particles,
    Resampling,
    Seed,
    StickyBy,
    Workers,
    complete_models,
    given_values,
    numbers_by_name,
    observer_of,
    shipped,
)
from holmes_fit.cli.output import FAILED, Output, rows, shell

TABLES = (
    "recovery.csv",
    "recovery_people.csv",
    "confusion.csv",
    "model_recovery.csv",
    "power.csv",
    "sbc_summary.csv",
    "recovery_summary.txt",
)


@command(
    "holmes-fit recover --protocol compositional_3 --subjects 20 --out runs/look --quick",
    "holmes-fit recover --protocol protocols/my_task.toml --models flat,holmes,bias --out runs/recovery",
    "holmes-fit recover --like pilot.csv --protocol weather_prediction --subjects 50 --out runs/recovery",
    "holmes-fit recover --from runs/pilot",
)
def recover(
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Trials of a protocol: a shipped one, or the path of a TOML.",
            autocompletion=shipped("protocols"),
        ),
    ] = None,
    like: Annotated[
        list[Path] | None,
        typer.Option(metavar="DATA", help="The trials of people in a CSV, or a folder; can be repeated."),
    ] = None,
    participants: Participants = None,
    from_run: Annotated[
        Path | None, typer.Option("--from", metavar="RUN", help="The trials and parameters of a fitted run.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A new folder, or one to go on in after a stop; RUN/recovery with --from."),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="The models; flat,holmes or those of RUN by default.",
            autocompletion=complete_models,
        ),
    ] = None,
    subjects: Annotated[
        int | None, typer.Option(metavar="N", help="People from each model; 100, or as many as RUN has.")
    ] = None,
    groups: Annotated[
        int, typer.Option(metavar="N", help="Small cohorts of each model that calibrate pooling; 200 say much.")
    ] = 0,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="default, quick, careful, or a TOML; that of RUN with --from.",
            autocompletion=shipped("fitting"),
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: the preset quick.")] = False,
    fix: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter that is not fitted; can be repeated.")
    ] = None,
    alpha: Alpha = None,
    omega: Omega = None,
    depth_scale: DepthScale = None,
    beta: Annotated[str | None, typer.Option(metavar="VALUE", help="How strictly choices follow predictions.")] = None,
    lapse: Annotated[str | None, typer.Option(metavar="VALUE", help="Proportion of random choices.")] = None,
    param: Param = None,
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
    """Simulate people, fit them, and compare the fits with the truth.

    People are simulated from every model, and fitted with every model. True parameters are drawn from the fitting
    prior, so that the coverage of intervals and the calibration of posteriors can be judged. A VALUE says otherwise: a
    number for everyone, or drawn for each person, as in simulate. With --from, they are draws from the posteriors of
    the people in RUN, on their trials, and observers are theirs.

    Results go to the folder --out: recovery.csv (parameters), confusion.csv and model_recovery.csv (models), power.csv,
    sbc.csv (calibration), figures, and more. from_MODEL is the run folder of those simulated from a model. Stopped at
    any moment, the same command goes on where it was.
    """
    from holmes_fit.cli.fit_text import stopped
    from holmes_fit.cli.recover_text import beginning, ending, failure_lines
    from holmes_fit.fitting.cohort import check_workers, lost_text
    from holmes_fit.models.registry import Observer
    from holmes_fit.studies.recovery.plan import plan_recovery
    from holmes_fit.studies.recovery.study import Recovery, carry_out_study, default_folder
    from holmes_fit.studies.recovery.words import in_words
    from holmes_fit.trials.reading import read_cohort

    if quick and preset is not None:
        raise typer.BadParameter("--quick is a preset itself, and has no meaning with --preset")
    if from_run is not None and (protocol is not None or like):
        raise typer.BadParameter("--from RUN has its own trials, and has no meaning with --protocol or --like")
    if from_run is None and protocol is None:
        raise typer.BadParameter("say whose trials: --protocol P, --like DATA --protocol P, or --from RUN")
    if participants is not None and not like:
        raise typer.BadParameter("--participants are those of --like DATA, and have no meaning without it")
    if from_run is None and out is None:
        raise typer.BadParameter("--out DIR is needed without --from")
    observer = observer_of(particles, resampling, branch_counts, sticky_by, max_depth, max_branches)
    if from_run is not None and observer != Observer():
        raise typer.BadParameter("--from RUN has its own observers; --particles and the like cannot be given")
    values = given_values(
        {"alpha": alpha, "omega": omega, "depth_scale": depth_scale, "beta": beta, "lapse": lapse}, param
    )
    if from_run is not None and values:
        raise typer.BadParameter(f"--from RUN has its own parameters; {', '.join(values)} cannot be given")
    folder = Path(default_folder(out, from_run))
    say.when_stopped = stopped(folder)
    plan = plan_recovery(
        None if like else protocol,
        like=read_cohort(like, protocol, participants) if like and protocol else None,
        from_run=from_run,
        models=None if models is None else [name.strip() for name in models.split(",")],
        subjects=subjects,
        groups=groups,
        preset="quick" if quick else preset,
        fix=numbers_by_name(",".join(fix) if fix else None, "--fix"),
        population=values,
        seed=seed,
        observer=None if from_run is not None else observer,
    )
    check_workers(workers, dask)
    with plan.open(folder, shlex.join(["holmes-fit", *sys.argv[1:]])) as run:
        say.note(beginning(plan, run, workers, dask))
        with progress_bar("recovering", say.quiet, lines=True) as progress:
            lost = carry_out_study(plan, run, workers=workers, dask=dask, progress=progress)
    if lost:
        say.fail(lost_text(lost))
        raise typer.Exit(FAILED)
    study = Recovery(run)
    say.found(
        ending(study),
        words=in_words(study),
        folder=folder,
        label=study.label,
        parameters=rows(study.parameters),
        confusion=rows(study.confusion),
        models=rows(study.model_recovery),
        calibration=rows(study.sbc_summary),
    )
    say.wrote(*(folder / name for name in TABLES), *study.figures, silently=True)
    for line in failure_lines(study):
        say.warn(line)
    if from_run is not None:
        elsewhere = [] if out is None else ["--recovery", out]
        say.next(shell("report", from_run, *elsewhere, "--out", f"{from_run}.pdf"))
