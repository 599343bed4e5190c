"""``holmes-fit recover``: whether a design can tell parameters and models, by simulating people and fitting them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import holmes_fit as hf
from holmes_fit._support.errors import plain
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.long_work import LongWork, how_long
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, counted, rows, shell

if TYPE_CHECKING:
    from holmes_fit.runs.folder import Run
    from holmes_fit.studies.recovery.results import Recovery
    from holmes_fit.studies.recovery.setup import RecoverySetup

NAMES = ("recovery", "recovery_people", "confusion", "model_recovery", "power", "sbc_summary")
TABLES = (*(f"{name}.csv" for name in NAMES), "recovery_summary.txt")


@dataclass(frozen=True)
class EffortOfRun(options.Effort):
    """The same, where a run has a preset already."""

    preset: Annotated[
        str | None,
        option("NAME", "default, quick, careful, or a TOML; that of RUN with --from.", complete=options.PRESETS),
    ] = None


@command(
    "holmes-fit recover --protocol compositional_3 --subjects 20 --out runs/look --quick",
    "holmes-fit recover --protocol protocols/my_task.toml --models flat,holmes,bias --out runs/recovery",
    "holmes-fit recover --like pilot.csv --protocol weather_prediction --subjects 50 --out runs/recovery",
    "holmes-fit recover --from runs/pilot",
)
def recover(
    protocol: Annotated[str | None, option("P", "Trials of a protocol: a shipped one, or the path of a TOML.")] = None,
    like: Annotated[
        list[Path] | None, option("DATA", "The trials of people in a CSV, or a folder; can be repeated.")
    ] = None,
    participants: options.Participants = None,
    from_run: Annotated[Path | None, option("RUN", "The trials and parameters of a fitted run.", "--from")] = None,
    out: Annotated[
        Path | None, option("DIR", "A new folder, or one to go on in after a stop; RUN/recovery with --from.")
    ] = None,
    models: Annotated[str | None, option("NAME,...", "The models; flat,holmes or those of RUN by default.")] = None,
    subjects: Annotated[int | None, option("N", "People from each model; 100, or as many as RUN has.")] = None,
    groups: Annotated[int, option("N", "Small cohorts of each model that calibrate pooling; 200 say much.")] = 0,
    *,
    effort: EffortOfRun,
    fix: options.Fix = None,
    values: options.Values,
    param: options.Param = None,
    work: options.Work,
    filters: options.Filters,
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
    from holmes_fit.studies.recovery.findings import in_words
    from holmes_fit.studies.recovery.study import default_folder

    preset, observer, population = effort.chosen(), filters.observer(), values.given(param)
    if from_run is not None:
        _check_run_alone(protocol is not None or like, observer != hf.Observer(), list(population))
    elif protocol is None:
        raise typer.BadParameter("say whose trials: --protocol P, --like DATA --protocol P, or --from RUN")
    if participants is not None and not like:
        raise typer.BadParameter("--participants are those of --like DATA, and have no meaning without it")
    if from_run is None and out is None:
        raise typer.BadParameter("--out DIR is needed without --from")
    folder = Path(default_folder(out, from_run))
    watcher = LongWork(say, folder, beginning, work)
    study = hf.recover(
        None if like else protocol,
        like=hf.read_cohort(like, protocol, participants) if like and protocol else None,
        from_run=from_run,
        models=options.models_in(models),
        subjects=subjects,
        groups=groups,
        out=folder,
        preset=preset,
        fix=options.fixed_values(fix),
        population=population,
        observer=None if from_run is not None else observer,
        **asdict(work),
        progress=watcher,
    )
    words = in_words(study)
    about: dict[str, object] = {"words": words, "folder": folder, "label": study.label}
    tables = {"parameters": study.parameters, "confusion": study.confusion}
    tables |= {"models": study.model_recovery, "calibration": study.sbc_summary}
    say.found(ending(study, words), **about, **{name: rows(table) for name, table in tables.items()})
    say.wrote(*(folder / name for name in TABLES), *study.figures, silently=True)
    for line in failure_lines(study):
        say.warn(line)
    if from_run is not None:
        elsewhere = [] if out is None else ["--recovery", out]
        say.next(shell("report", from_run, *elsewhere, "--out", f"{from_run}.pdf"))


def _check_run_alone(trials: object, observer: bool, population: Sequence[str]) -> None:
    """Refuse what a run says already."""
    if trials:
        raise typer.BadParameter("--from RUN has its own trials, and has no meaning with --protocol or --like")
    if observer:
        raise typer.BadParameter("--from RUN has its own observers; --particles and the like cannot be given")
    if population:
        raise typer.BadParameter(f"--from RUN has its own parameters; {', '.join(population)} cannot be given")


def beginning(setup: RecoverySetup, run: Run, work: options.Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
    from holmes_fit.studies.recovery.results import missing_fits, size_of

    sizes = [f"{counted(len(truths), 'person', 'people')} from {model}" for model, truths in setup.truths.items()]
    missing = missing_fits(setup.fits, run.root)
    total, left = size_of(setup.fits), sum(len(keys) for _, keys in missing)
    yield f"Simulated: {', '.join(sizes)}; each fitted with {', '.join(setup.models)}: {counted(total, 'fit')} in all."
    if setup.groups is not None:
        models = ", ".join(setup.groups.models)
        yield f"Pooling is calibrated with {counted(setup.groups.cohorts, 'group')} from each of {models}."
    yield _truths_line(setup)
    if setup.label:
        yield f"This is {setup.label}"
    if left < total:
        yield f"{total - left} of {total} are done; going on with the rest."
    yield from how_long(missing, work, ", and then some for groups")


def _truths_line(setup: RecoverySetup) -> str:
    if setup.origin == "posterior":
        return "Parameters are draws from the posteriors of the run's people."
    given = ", ".join(f"{name} {population}" for name, population in setup.population.items())
    others = "Parameters are drawn from the fitting prior" + (f", but for {given}." if given else ".")
    return others if all(setup.follows_prior.values()) else f"{others} So calibration cannot be judged."


def ending(study: Recovery, words: str) -> Iterator[str]:
    """Say what came of it, and where the files are."""
    yield words
    if study.label:
        yield f"This is {study.label}"
    yield f"Tables and figures are in {plain(str(study.folder), limit=300)}: recovery.csv, confusion.csv, figures/."


def failure_lines(study: Recovery) -> Iterator[str]:
    """Say how many of those simulated from each model could not be fitted."""
    for model in study.models:
        failures = study.fits(model).failures
        if len(failures):
            who = counted(len(failures), "fit")
            yield f"{who} of those simulated from {model} could not be made; see from_{model}/failures.csv."
