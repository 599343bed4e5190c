"""``holmes-fit pool``: group distributions, effects of covariates, and individuals under their group."""

from __future__ import annotations

from typing import Annotated

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import LeaveOut, PoolingPreset, Quiet, RunFolder, Seed, Workers, pooling_of, progress_bars

NOT_CONVERGED = 3


@app.command(
    epilog=examples(
        "holmes-fit pool runs/pilot",
        'holmes-fit pool runs/pilot --formula "alpha ~ group + age" --formula "omega ~ group"',
        "holmes-fit pool runs/pilot --models holmes --leave-out s07",
    )
)
def pool(
    run: RunFolder,
    models: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Some of the run's models; all by default.")
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(metavar="F", help="A parameter's mean by covariates, as 'alpha ~ group'; can be repeated."),
    ] = None,
    leave_out: LeaveOut = None,
    preset: PoolingPreset = "default",
    seed: Seed = 0,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Pool the people of a run: what they have in common, and each of them in that light.

    Results go to the run folder: group.csv (means, spreads, effects), pooled.csv (people's estimates, which shrink
    towards the group), pooling.csv (diagnostics), pooling_prior.csv (what the prior implies), pool_MODEL.nc (ArviZ),
    and with --formula second_level.csv (weighted regressions). Ends with 3 if the chains have not converged.
    """
    from holmes_fit.pooling import in_words
    from holmes_fit.pooling import pool as pool_run

    prior, sampling = pooling_of(preset, seed, workers)
    with progress_bars(quiet) as begin:
        found = pool_run(
            run,
            None if models is None else [name.strip() for name in models.split(",")],
            formulas=formula or (),
            leave_out=leave_out or (),
            prior=prior,
            sampling=sampling,
            step=begin,
        )
    if not quiet:
        typer.echo(in_words(found))
    failed = [name for name, each in found.items() if each.diagnostics.warnings]
    if failed:
        typer.echo(not_converged(failed, sampling.draws), err=True)
        raise typer.Exit(NOT_CONVERGED)


def not_converged(what: list[str], draws: int) -> str:
    """Say what to do when chains have not converged."""
    return (
        f"Not converged: {', '.join(what)}. Do not report these numbers. Take more draws: write a TOML file with "
        f'base = "default", [pooling] and draws = {2 * draws}, and give its path to --preset.'
    )
