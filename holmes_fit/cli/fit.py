"""``holmes-fit fit``: everyone fitted with every model, into a run folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import holmes_fit as hf
from holmes_fit._support.errors import plain
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.long_work import LongWork, how_long
from holmes_fit.cli.output import FAILED, Output, counted, rows, shell

if TYPE_CHECKING:
    import pandas as pd

    from holmes_fit.fitting.cohort import Fits
    from holmes_fit.fitting.request import Request
    from holmes_fit.runs.folder import Run

NAMED = 6  # people of whom a warning is
LISTED = 20  # failures that are named one by one
TABLES = ("fits.csv", "models.csv", "trials_fitted.csv", "trees.csv", "search.csv", "failures.csv")


@command(
    "holmes-fit fit pilot.csv --protocol weather_prediction --out runs/look --quick",
    "holmes-fit fit pilot.csv --protocol weather_prediction --models flat,holmes,bias --out runs/pilot",
    "holmes-fit fit data/ --protocol protocols/my_task.toml --fix lapse=0.02 --workers 8 --out runs/fixed",
    "holmes-fit fit pilot.csv --protocol shepard --models flat,holmes,my_models.py:Alcove2 --out runs/own",
    "holmes-fit fit data/ --protocol shepard --by problem --vary alpha,omega --out runs/problems",
    "holmes-fit fit data/ --protocol shepard --dask tcp://lab3:8786 --out runs/shepard",
)
def fit(
    data: options.Data,
    protocol: options.ProtocolName,
    out: options.NewFolder,
    participants: options.Participants = None,
    models: options.Models = "flat,holmes",
    *,
    effort: options.Effort,
    fix: options.Fix = None,
    by: options.By = None,
    vary: options.Vary = None,
    work: options.Work,
    filters: options.Filters,
    say: Output,
) -> None:
    """Fit every person with every model.

    Results go to the folder --out: fits.csv (parameters), models.csv (likelihood and evidence), trials_fitted.csv
    (predictions, trial by trial), trees.csv, search.csv, failures.csv, and with --by conditions.csv (evidence of each
    condition). Stopped at any moment, the same command goes on where it was. Numbers do not depend on the workers, nor
    on how often it was stopped. Ends with 3 if someone could not be fitted.
    """
    from holmes_fit.fitting.cohort import WorkLost
    from holmes_fit.fitting.summary import model_summary

    preset = effort.chosen() or "default"
    watcher = LongWork(say, out, beginning, work)
    lost = ""
    try:
        fits = hf.fit(
            hf.read_cohort(data, protocol, participants),
            options.models_in(models) or (),
            out,
            preset=preset,
            fix=options.fixed_values(fix),
            by=by,
            vary=[name.strip() for name in vary.split(",")] if vary else (),
            observer=filters.observer(),
            **asdict(work),
            progress=watcher,
        )
    except WorkLost as error:  # the others are done
        fits, lost = hf.read_fits(out), str(error)
    summary, failures = model_summary(fits), fits.failures
    say.found(ending(fits, summary), folder=out, label=fits.label, models=rows(summary), failures=rows(failures))
    say.wrote(*(out / name for name in (*TABLES, *(["conditions.csv"] if by else []))), silently=True)
    if len(failures):
        say.warn(failures_text(failures))
    if lost:
        say.fail(lost)
        raise typer.Exit(FAILED)
    say.next(*_next(out, len(fits.models["subject"].unique()), models))


def _next(out: Path, people: int, models: str) -> list[str]:
    """Return the commands that lead on from fits: people who are too few for a group have nothing but a report."""
    from holmes_fit.settings.distributions import FEWEST_IN_GROUP

    report = shell("report", out, "--out", f"{out}.pdf")
    if people < FEWEST_IN_GROUP:
        return [report]
    own = options.naming(models)
    return [shell("pool", out, *own), shell("compare", out, *own) if "," in models else report]


def beginning(request: Request, run: Run, work: options.Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
    progress = run.progress()
    names = ", ".join(model.name for model in request.models)
    yield f"{counted(len(request.people), 'person', 'people')}, {names}: {counted(progress.total, 'fit')}."
    if request.label:
        yield f"This is {request.label}"
    if progress.done:
        left = "going on with the rest" if progress.missing else "nothing is left to fit"
        yield f"{len(progress.done)} of {progress.total} are done; {left}."
    if progress.damaged:
        yield f"{counted(len(progress.damaged), 'damaged record')} found, to be made anew."
    yield from how_long([(request, progress.missing)], work)
    yield from (f"Look at this: {plain(notice.text, 1000)}" for notice in request.cohort.notices)


def ending(fits: Fits, summary: pd.DataFrame) -> Iterator[str]:
    """Say what came of it: a line a model, what to beware of, and where the files are."""
    if len(summary):
        yield from _table_lines(summary, evidence_errors(fits.models))
        yield ""
        yield from _condition_lines(fits.parameters)
        yield from _warning_lines(summary)
        yield from _coin_lines(fits.models)
    if fits.label:
        yield f"This is {fits.label}"
    yield f"Tables are in {plain(str(fits.folder), limit=300)}: fits.csv has the parameters, models.csv the evidence."


def evidence_errors(models: pd.DataFrame) -> dict[str, float]:
    """Return the Monte Carlo error of each model's evidence, summed over the people fitted with every model."""
    counts = models.groupby("subject")["model"].transform("count")
    complete = models[counts == models["model"].nunique()]
    variances = (complete["log_evidence_error"] ** 2).groupby(complete["model"]).sum()
    return {str(model): float(variance**0.5) for model, variance in variances.items()}


def _table_lines(summary: pd.DataFrame, errors: Mapping[str, float]) -> Iterator[str]:
    from holmes_fit.fitting.summary import SHOWN

    width = max(len("model"), *summary["model"].str.len())
    yield f"{'model':{width}}  people  alpha  omega     log evidence  noisy  at a bound"
    for row in summary.to_dict("records"):
        evidence = f"{row['log_evidence']:.1f} ± {errors.get(row['model'], 0.0):.1f}"
        known = {name: row[name] for name in SHOWN if row[name] is not None and not math.isnan(row[name])}
        medians = "  ".join(f"{f'{known[name]:.2f}' if name in known else '·':>5}" for name in SHOWN)
        yield (
            f"{row['model']:{width}}  {row['people']:6d}  {medians}  {evidence:>15}  {row['noisy']:5d}"
            f"  {row['at_bound']:10d}"
        )


def _condition_lines(parameters: pd.DataFrame) -> Iterator[str]:
    """Say what the parameters that vary are in each condition."""
    if "condition" not in parameters:
        return
    own = parameters[(parameters["condition"] != "") & parameters["median"].notna()]
    for (model, name), rows_of in own.groupby(["model", "parameter"], sort=False):
        medians = rows_of.groupby("condition", sort=False)["median"].median()
        told = ", ".join(f"{value:.2f} in {plain(str(condition))}" for condition, value in medians.items())
        yield f"{model}, {name} by condition, median over people: {told}."


def _warning_lines(summary: pd.DataFrame) -> Iterator[str]:
    yield (
        "alpha, omega: medians over people. log evidence: the sum over people with its Monte Carlo error; higher is "
        "better."
    )
    if summary["in_all"].iloc[0] < summary["people"].max():
        yield f"The sums are over the {counted(summary['in_all'].iloc[0], 'person', 'people')} fitted with every model."
    if summary["noisy"].any():
        yield (
            "noisy: the Monte Carlo error of the log evidence is above what the preset allows, and intervals do not "
            "include it; more replicates help (--preset careful)."
        )
    if summary["at_bound"].any():
        yield "at a bound: the best fit lies at the end of a parameter's range. Use the median and interval instead."


def _coin_lines(models: pd.DataFrame) -> Iterator[str]:
    """Name the people whom a model explains no better than a coin, and the models that do so for everyone together."""
    from holmes_fit.fitting.person import NO_BETTER

    for model, own in models.groupby("model", sort=False):
        names = own.loc[own["warning"].str.contains(NO_BETTER, regex=False), "subject"]
        if len(names):
            some = ", ".join(plain(str(name), 40) for name in names.head(NAMED))
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            chance = own["log_likelihood"] / (1 - own["pseudo_r2"])
            together = (own["log_evidence"] - chance).sum(skipna=False)
            everyone = f"; nor are the answers of all {len(own)} together" if together <= 0 else ""
            yield (
                f"{model}: the answers of {counted(len(names), 'person', 'people')} ({some}{more}) are explained "
                f"{NO_BETTER} would{everyone}."
            )


def failures_text(failures: pd.DataFrame) -> Iterator[str]:
    """Say who could not be fitted, and why."""
    yield f"{counted(len(failures), 'fit')} could not be made; the rest are not affected:"
    for row in failures.head(LISTED).itertuples():
        yield f"  {plain(str(row.subject))} with {row.model}: {plain(str(row.reason), limit=300)}"
    if len(failures) > LISTED:
        yield f"  and {len(failures) - LISTED} more, in failures.csv"
