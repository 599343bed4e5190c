"""What ``holmes-fit recover`` and ``holmes-fit plan`` say before, and ``recover`` at the end."""

from __future__ import annotations

from collections.abc import Iterator

from holmes_fit._support.errors import plain
from holmes_fit.cli.long_work import how_long
from holmes_fit.cli.options import Work
from holmes_fit.cli.output import counted
from holmes_fit.runs.folder import Run
from holmes_fit.studies.planning.study import Question, missing_of_plan
from holmes_fit.studies.recovery.findings import in_words
from holmes_fit.studies.recovery.results import Recovery, missing_fits, size_of
from holmes_fit.studies.recovery.setup import RecoverySetup


def recover_beginning(setup: RecoverySetup, run: Run, work: Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
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


def plan_beginning(question: Question, run: Run, work: Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
    missing = missing_of_plan(question, run)
    total = sum(size_of(study.fits) for study in question.studies.values())
    left = sum(len(keys) for _, keys in missing)
    yield (
        f"{counted(question.people, 'person', 'people')} from each of {', '.join(question.models)}, fitted with all of "
        f"them, at {', '.join(map(str, question.studies))} trials: {counted(total, 'fit')}."
    )
    if question.fits.label:
        yield f"This is {question.fits.label}"
    if left < total:
        yield f"{total - left} of {total} are done {'already' if left == 0 else 'and not made anew'}."
    yield from how_long(missing, work)


def recover_ending(study: Recovery) -> Iterator[str]:
    """Say what came of it, and where the files are."""
    yield in_words(study)
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
