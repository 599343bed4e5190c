"""What ``holmes-fit recover`` says before and at the end."""

from __future__ import annotations

from collections.abc import Iterator

from holmes_fit._support.errors import plain
from holmes_fit._support.progress import duration
from holmes_fit.cli.check_text import counted
from holmes_fit.fitting.forecast import seconds_of_work
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.records import Key
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.studies.recovery.plan import RecoveryPlan
from holmes_fit.studies.recovery.study import Recovery, cohort_folder
from holmes_fit.studies.recovery.words import in_words


def beginning(plan: RecoveryPlan, run: Run, workers: int | None, dask: str | None) -> str:
    """Say what will be done, and how long it will take."""
    return "\n".join(_beginning_lines(plan, run, workers, dask))


def _beginning_lines(plan: RecoveryPlan, run: Run, workers: int | None, dask: str | None) -> Iterator[str]:
    sizes = [f"{counted(len(truths), 'person', 'people')} from {model}" for model, truths in plan.truths.items()]
    missing = {model: _missing(plan, model, run) for model in plan.models}
    total = sum(len(list(own.keys)) for own in plan.fits.values())
    left = sum(len(keys) for keys in missing.values())
    yield f"Simulated: {', '.join(sizes)}; each fitted with {', '.join(plan.models)}: {counted(total, 'fit')} in all."
    if plan.groups is not None:
        models = ", ".join(plan.groups.models)
        yield f"Pooling is calibrated with {counted(plan.groups.cohorts, 'group')} from each of {models}."
    yield _truths_line(plan)
    if plan.label:
        yield f"This is {plan.label}"
    if left < total:
        yield f"{total - left} of {total} are done; going on with the rest."
    if left:
        seconds = sum(seconds_of_work(plan.fits[model], keys) for model, keys in missing.items() if keys)
        if dask is not None:
            yield f"One core of this machine would need {duration(seconds)}; the cluster shares the work."
        else:
            processes = min(workers or usable_cores(), left)
            each = duration(seconds / processes)
            yield f"That takes {each} with {counted(processes, 'process', 'processes')}, and then some for groups."


def _missing(plan: RecoveryPlan, model: str, run: Run) -> list[Key]:
    folder = cohort_folder(run.root, model)
    if not (folder / "manifest.json").exists():
        return list(plan.fits[model].keys)
    return list(read_run(folder).progress().missing)


def _truths_line(plan: RecoveryPlan) -> str:
    if plan.origin == "posterior":
        return "Parameters are draws from the posteriors of the run's people."
    given = ", ".join(f"{name} {population}" for name, population in plan.population.items())
    others = "Parameters are drawn from the fitting prior" + (f", but for {given}." if given else ".")
    return others if all(plan.follows_prior.values()) else f"{others} So calibration cannot be judged."


def ending(study: Recovery) -> str:
    """Say what came of it, and where the files are."""
    return "\n".join(_ending_lines(study))


def _ending_lines(study: Recovery) -> Iterator[str]:
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
