"""``holmes-fit compare``: flat or HOLMES, from the lattices of a run."""

from typing import Annotated

from holmes_fit._support.progress import progress_bars
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, rows, shell
from holmes_fit.cli.pooling_text import not_converged, unchanged

PREDICTIVE = ("predictive.csv", "predictive_summary.csv")
FREQUENCIES = ("frequencies.csv", "frequency_differences.csv", "families.csv", "prior_sensitivity.csv")
TABLES = ("comparison.csv", "model_probabilities.csv", *FREQUENCIES, "mixture.csv", "mixture.nc", *PREDICTIVE)


@command(
    "holmes-fit compare runs/pilot",
    "holmes-fit compare runs/pilot --by group --leave-out s07",
    "holmes-fit compare runs/pilot --models flat,holmes",
)
def compare(
    run: options.RunFolder,
    models: Annotated[
        str | None, option("NAME,...", "The models of the mixture; all that were fitted by default.")
    ] = None,
    by: Annotated[str | None, option("COLUMN", "The covariate whose groups are compared.")] = None,
    *,
    pooling: options.Pooling,
    say: Output,
) -> None:
    """Say which model describes these people, and how surely.

    Results go to the run folder: comparison.csv (a row a model), model_probabilities.csv (a row a person and model),
    frequencies.csv, frequency_differences.csv, families.csv (models by what they have in common),
    prior_sensitivity.csv (with narrower and wider priors), mixture.csv, mixture.nc (ArviZ), predictive.csv,
    predictive_summary.csv.
    Of a run by condition: comparison_by_condition.csv, people_by_condition.csv and differences_by_condition.csv.
    A run that is not pooled yet is pooled first, and what has not changed is not sampled again. Ends with 3 if the
    chains have not converged, or the evidences are too noisy to be compared.
    """
    from holmes_fit.groups.comparison.by_condition import TABLES as BY_CONDITION
    from holmes_fit.groups.comparison.by_condition import ConditionComparison
    from holmes_fit.groups.comparison.compare import compare as compare_models
    from holmes_fit.groups.comparison.words import in_words

    named = options.models_in(models)
    prior, sampling = pooling.chosen()
    with progress_bars(say.quiet) as begin:
        found = compare_models(
            run,
            named,
            by=by,
            leave_out=pooling.leave_out or (),
            prior=prior,
            sampling=sampling,
            workers=pooling.workers,
            progress=begin,
        )
    following = shell("report", run, "--out", f"{run}.pdf")
    if isinstance(found, ConditionComparison):
        words, tables = found.in_words(), {"models": rows(found.models), "people": rows(found.people)}
        say.found(words, words=words, folder=run, **tables, differences=rows(found.differences), notes=found.warnings)
        say.wrote(*(run / name for name in BY_CONDITION), silently=True)
        say.next(following)
        return
    words = in_words(found)
    if not found.mixture.is_new:
        words = f"{unchanged(['the mixture'])}\n{words}"
    say.found(
        words,
        words=words,
        folder=run,
        models=rows(found.models),
        frequencies=rows(found.frequencies),
        families=rows(found.families.table),
        people=rows(found.people),
        prior_sensitivity=rows(found.prior_sensitivity),
        notes=found.warnings,
    )
    say.wrote(*(run / name for name in TABLES), silently=True)
    if not found.converged:
        groups = [f"the group of {name}" for name, own in found.diagnostics.items() if own.warnings]
        mixture = ["the mixture"] if found.mixture.diagnostics.warnings else []
        say.warn(not_converged(mixture + groups, sampling.draws))
    for text in found.mixture.evidence_warnings:
        say.warn(f"Do not report these numbers: {text}.")
    say.next(shell("recover", "--from", run, *options.naming(models)), following)
