"""``holmes-fit pool``: group distributions, effects of covariates, and individuals under their group."""

from typing import Annotated

from holmes_fit._support.progress import progress_bars
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, rows, shell
from holmes_fit.cli.pooling_text import not_converged, unchanged

TABLES = ("group.csv", "pooled.csv", "pooling.csv", "pooling_prior.csv")


@command(
    "holmes-fit pool runs/pilot",
    'holmes-fit pool runs/pilot --formula "alpha ~ group + age" --formula "omega ~ group"',
    "holmes-fit pool runs/pilot --models holmes --leave-out s07",
)
def pool(
    run: options.RunFolder,
    models: Annotated[str | None, option("NAME,...", "Some of the run's models; all by default.")] = None,
    formula: Annotated[
        list[str] | None, option("F", "A parameter's mean by covariates, as 'alpha ~ group'; can be repeated.")
    ] = None,
    *,
    pooling: options.Pooling,
    say: Output,
) -> None:
    """Pool people: what they have in common, and each in that light.

    Results go to the run folder: group.csv (means, spreads, effects), pooled.csv (people's estimates, which shrink
    towards the group), pooling.csv (diagnostics), pooling_prior.csv (what the prior implies), pool_MODEL.nc (ArviZ),
    and with --formula behaviour.csv (right answers by the same covariates, without a model). What has not changed is
    not sampled again. Ends with 3 if the chains have not converged, or Monte Carlo errors move the group too far.
    """
    from holmes_fit.groups.pooling.behaviour import behaviour_in_words
    from holmes_fit.groups.pooling.results import BEHAVIOUR, in_words
    from holmes_fit.groups.pooling.results import pool as pool_run
    from holmes_fit.groups.pooling.tables import checks_row
    from holmes_fit.runs.fitted import fitted_run
    from holmes_fit.runs.folder import read_run

    named = options.models_in(models)
    prior, sampling = pooling.chosen()
    with progress_bars(say.quiet) as begin:
        found = pool_run(
            run,
            named,
            formulas=formula or (),
            leave_out=pooling.leave_out or (),
            prior=prior,
            sampling=sampling,
            progress=begin,
        )
    behaviour = read_run(run).read_table(BEHAVIOUR) if formula else None
    words = in_words(found) if behaviour is None else f"{in_words(found)}\n\n{behaviour_in_words(behaviour)}"
    kept = [name for name, each in found.items() if not each.is_new]
    if kept:
        words = f"{unchanged(kept)}\n{words}"
    say.found(
        words,
        words=words,
        folder=run,
        models=[checks_row(each) for each in found.values()],
        group=[row for each in found.values() for row in rows(each.group)],
        behaviour=[] if behaviour is None else rows(behaviour),
    )
    tables = [*TABLES, *([BEHAVIOUR] if formula else []), *(f"pool_{name}.nc" for name in found)]
    say.wrote(*(run / name for name in tables), silently=True)
    failed = [name for name, each in found.items() if each.diagnostics.warnings]
    if failed:
        say.warn(not_converged(failed, sampling.draws))
    for name, each in found.items():
        for text in each.errors.warnings:
            say.warn(f"Do not report the group of {name}: {text}.")
    compare = [shell("compare", run, *options.naming(models))] if len(fitted_run(run).models) > 1 else []
    say.next(*compare, shell("report", run, "--out", f"{run}.pdf"))
