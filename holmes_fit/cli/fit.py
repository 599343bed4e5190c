"""``holmes-fit fit``: everyone fitted with every model, into a run folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.output import FAILED, Output, rows, shell

TABLES = ("fits.csv", "models.csv", "trials_fitted.csv", "trees.csv", "search.csv", "failures.csv")


@command(
    "holmes-fit fit pilot.csv --protocol weather_prediction --out runs/look --quick",
    "holmes-fit fit pilot.csv --protocol weather_prediction --models flat,holmes,bias --out runs/pilot",
    "holmes-fit fit data/ --protocol protocols/my_task.toml --fix lapse=0.02 --workers 8 --out runs/fixed",
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
    work: options.Work,
    filters: options.Filters,
    say: Output,
) -> None:
    """Fit every person with every model.

    Results go to the folder --out: fits.csv (parameters), models.csv (likelihood and evidence), trials_fitted.csv
    (predictions, trial by trial), trees.csv, search.csv, failures.csv. Stopped at any moment, the same command goes on
    where it was. Numbers do not depend on the workers, nor on how often it was stopped. Ends with 3 if someone could
    not be fitted.
    """
    from holmes_fit.cli.fit_text import beginning, ending, failures_text
    from holmes_fit.cli.long_work import LongWork
    from holmes_fit.fitting.cohort import WorkLost, read_fits
    from holmes_fit.fitting.cohort import fit as fit_cohort
    from holmes_fit.fitting.summary import model_summary
    from holmes_fit.trials.reading import read_cohort

    preset = effort.chosen() or "default"
    watcher = LongWork(say, out, beginning, work)
    lost = ""
    try:
        fits = fit_cohort(
            read_cohort(data, protocol, participants),
            options.names_in(models) or (),
            out,
            preset=preset,
            fix=options.fixed_values(fix),
            observer=filters.observer(),
            **asdict(work),
            progress=watcher,
        )
    except WorkLost as error:  # the others are done
        fits, lost = read_fits(out), str(error)
    summary, failures = model_summary(fits), fits.failures
    say.found(ending(fits, summary), folder=out, label=fits.label, models=rows(summary), failures=rows(failures))
    say.wrote(*(out / name for name in TABLES), silently=True)
    if len(failures):
        say.warn(failures_text(failures))
    if lost:
        say.fail(lost)
        raise typer.Exit(FAILED)
    say.next(*_next(out, len(fits.models["subject"].unique()), len(options.names_in(models) or ())))


def _next(out: Path, people: int, models: int) -> list[str]:
    """Return the commands that lead on from fits: people who are too few for a group have nothing but a report."""
    from holmes_fit.settings.distributions import FEWEST_IN_GROUP

    report = shell("report", out, "--out", f"{out}.pdf")
    if people < FEWEST_IN_GROUP:
        return [report]
    return [shell("pool", out), shell("compare", out) if models > 1 else report]
