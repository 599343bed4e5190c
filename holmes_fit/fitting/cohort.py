"""A cohort fitted into a run folder: every person with every model, over the workers, each result kept as it comes."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from holmes_fit._support.atomic import folder_for_good
from holmes_fit._support.errors import HolmesFitError, InputError, Problems, plain
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.progress import OnProgress, Watched, begun_with, watched
from holmes_fit.fitting.conditions import fit_conditions
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit, fit_person
from holmes_fit.fitting.request import Request, request_fit
from holmes_fit.fitting.tables import write_tables
from holmes_fit.models.registry import Observer, check_count
from holmes_fit.runs.folder import Run, run_of
from holmes_fit.runs.records import Key
from holmes_fit.runs.results import RunResults, StoredTable
from holmes_fit.runs.sets import RECORDS
from holmes_fit.runs.workers.cluster import check_cluster
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.runs.workers.tasks import do_all
from holmes_fit.settings.preset import Preset
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.writing import write_trials

# Exceptions that the same task may well be spared another time: it is left undone, not recorded as impossible.
WORTH_ANOTHER_TRY = ("MemoryError", "OSError")


class WorkLost(HolmesFitError):
    """Processes have died every time that their work was tried; what else was done is kept."""


@dataclass(frozen=True)
class Fits(InNotebook, RunResults):
    """The fits of a cohort, in their run folder. Tables are read from there when they are asked for."""

    main_table: ClassVar = (
        *("models", "subject", "model", "log_evidence", "log_evidence_error"),
        *("pseudo_r2", "hit_rate", "warning"),
    )

    parameters = StoredTable("fits.csv")
    models = StoredTable("models.csv")
    trials = StoredTable("trials_fitted.csv")
    trees = StoredTable("trees.csv")
    search = StoredTable("search.csv")
    conditions = StoredTable("conditions.csv")
    failures = StoredTable("failures.csv")


def fit(
    cohort: Cohort,
    models: Sequence[str] = ("flat", "holmes"),
    out: str | PathLike[str] | None = None,
    *,
    preset: str | Path | Preset = "default",
    fix: Mapping[str, float] | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    by: str | None = None,
    vary: Sequence[str] = (),
    workers: int | None = None,
    dask: str | None = None,
    progress: Watched = True,
) -> Fits:
    """Fit everyone in a cohort with every model.

    Results do not depend on the number of workers, on the order of the people, or on interruptions. Stopped at any
    moment, the same call with the same ``out`` goes on where it was.

    Parameters
    ----------
    cohort
        The data, from :func:`holmes_fit.read_cohort` or :func:`holmes_fit.simulate`. All learners of a person share
        one set of parameters, but for those that ``vary``.
    models
        Names from ``holmes_fit.MODELS``.
    out
        The run folder: a new one, or one in which the same was begun. Without it, a temporary folder that is deleted
        when Python ends.
    preset
        How fits are run: the name of a preset (``"default"``, ``"quick"``, ``"careful"``), the path of a TOML file, or
        a preset.
    fix
        Values of parameters that are not to be fitted, in every model that has them.
    seed
        Chooses all draws.
    observer
        How the filters are run.
    by, vary
        A column of the trials that says in which condition they are, and the names of the parameters of which each
        condition of a person has its own. A condition consists of whole learners. What does not vary is shared.
    workers
        Processes on this machine, all usable cores by default.
    dask
        The address of the scheduler of a Dask cluster that does the work instead.
    progress
        Whether to show how much is done, in a terminal or a notebook; or what is called with the number of fits that
        are done, and their total.

    Returns
    -------
    Fits
        The tables, and the folder that they are in. People who could not be fitted are in its ``failures``.

    Raises
    ------
    InputError
        If an argument cannot be used, or the folder holds something else.
    HolmesFitError
        If results cannot be written, or the process of a fit died every time that it was tried. What was done before
        is kept.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> people = hf.simulate("conditioning", "rescorla_wagner", subjects=2, seed=1)
    >>> fits = hf.fit(people.cohort, models=["rescorla_wagner", "bias"], preset="quick", workers=1)
    >>> fits.models.pivot(index="subject", columns="model", values="log_evidence").shape
    (2, 2)
    >>> free = fits.parameters.query("standing == 'free'")
    >>> free[["subject", "model", "parameter", "median", "lower", "upper"]].shape
    (8, 6)
    >>> fits.label
    'a first look...'
    """
    request = request_fit(cohort, models, preset=preset, fix=fix, seed=seed, observer=observer, by=by, vary=vary)
    check_workers(workers, dask)
    if out is None:
        out = folder_for_good()
    return Fits(do_in(out, request, carry_out, ("fit", "fitting"), progress, workers=workers, dask=dask))


def read_fits(folder: str | PathLike[str]) -> Fits:
    """Return the fits in a run folder.

    Raises
    ------
    InputError
        If the folder is no run of fits.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> fits = hf.read_fits("runs/pilot")
    >>> free = fits.parameters.query("standing == 'free'")
    >>> wide = free.pivot(index=["subject", "model"], columns="parameter", values="median")
    >>> wide.columns.tolist(), len(wide)
    (['alpha', 'beta', 'lapse', 'omega'], 8)
    >>> fits.trials[["subject", "trial", "model", "p_hat", "prediction_error"]].shape
    (480, 5)
    """
    return Fits(run_of(folder, "fit"))


def check_workers(workers: int | None, dask: str | None = None) -> None:
    """Refuse a number of workers that is none, or a cluster that does no work, before anything is written."""
    problems = Problems()
    if workers is not None:
        check_count("workers", workers, problems)
    problems.raise_if_any()
    if dask is not None:
        check_cluster(dask)


def do_in(
    folder: str | PathLike[str],
    work: Any,
    carry_out: Callable[..., Mapping[Key, Failure]],
    names: tuple[str, str],
    progress: Watched,
    **workers: Any,
) -> Run:
    """Open the folder of planned work and carry it out, for whoever follows it: a Python user, or a command.

    ``names`` are those of the function that is asked for it, and of what is done.
    """
    function, label = names
    command = begun_with(progress, f"holmes_fit.{function}")
    with work.open(folder, command) as run, watched(progress, label, work, run) as told:
        lost = carry_out(work, run, progress=told, **workers)
    if lost:
        died = ((subject, model, failure.message) for (model, subject), failure in lost.items())
        named = "; ".join(f"{plain(subject)} with {model} ({plain(why, 200)})" for subject, model, why in died)
        again = "The same command tries them again; it may need more memory."
        raise WorkLost(f"Not done, as their processes died: {named}. {again}")
    return run


def carry_out(
    request: Request,
    run: Run,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: OnProgress | None = None,
) -> dict[Key, Failure]:
    """Fit who is missing, then write all tables; return those whose processes died, which can be tried again."""
    with run.together() as staged:
        _write_data(request.cohort, staged)
    wanted = set(run.progress().missing)
    todo = [key for key in request.keys if key in wanted]
    lost = {}
    done, total = len(run.manifest.keys) - len(todo), len(run.manifest.keys)
    if progress is not None:
        progress(done, total)
    tasks = ((request.task(key), request.preset) for key in todo)
    n_workers = _useful_workers(workers, len(todo))
    with closing(do_all(_fit_one, tasks, workers=n_workers, dask=dask, watch=run.check)) as results:
        for number, result in results if todo else ():
            if isinstance(result, Failure) and (result.lost or result.kind in WORTH_ANOTHER_TRY):
                lost[todo[number]] = result
                continue
            _save(run, todo[number], result)
            done += 1
            if progress is not None:
                progress(done, total)
    _check_all_there(run, lost)
    with run.together("fit", [RECORDS]) as staged:
        write_tables(request, staged)
    return lost


def _check_all_there(run: Run, lost: Collection[Key]) -> None:
    """Refuse to write tables without people whose records were there and are gone."""
    gone = [key for key in run.progress().missing if key not in lost]
    if gone:
        named = ", ".join(f"{plain(key[1])} with {key[0]}" for key in gone[:5])
        raise HolmesFitError(
            f"{len(gone)} records have disappeared from {plain(str(run.root), 200)} while it was worked in, such as "
            f"{named}. The same command makes them again."
        )


def _useful_workers(workers: int | None, tasks: int) -> int:
    """Return no more workers than there are tasks; but who asks for several never works in this process, to save it."""
    wanted = workers or usable_cores()
    return wanted if wanted == 1 else max(2, min(wanted, tasks))


def _fit_one(work: tuple[Task, Preset]) -> PersonFit:
    task, preset = work
    if not any(learner.answered.any() for learner in task.learners):
        raise HolmesFitError("all answers are missed")
    return (fit_conditions if task.conditions else fit_person)(task, preset)


def _save(run: Run, key: Key, result: PersonFit | Failure) -> None:
    if isinstance(result, Failure):
        expected = result.kind in (HolmesFitError.__name__, InputError.__name__)
        reason = result.message if expected else f"{result.kind}: {result.message}"
        run.save_record(key, {"traceback": "" if expected else result.traceback}, error=plain(reason, limit=400))
    else:
        run.save_record(key, result.facts, result.arrays)


def _write_data(cohort: Cohort, run: Run) -> None:
    """Keep what was fitted, so that whoever reads the run needs no other file."""
    with run.writing("trials.csv") as path:
        write_trials(cohort.trials, cohort.protocol, path)
    with run.writing("protocol.json") as path:
        content = json.loads(cohort.protocol.model_dump_json(exclude_unset=True))
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    run.write_table("subjects.csv", cohort.subjects)
    run.write_table("exclusions.csv", cohort.exclusions)
