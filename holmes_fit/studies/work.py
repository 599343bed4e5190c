"""Doing the work of a study: each result as soon as it is there, and an end at the first failure."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from holmes_fit._support.errors import HolmesFitError
from holmes_fit._support.progress import OnProgress
from holmes_fit.runs.folder import Run
from holmes_fit.runs.manifest import JSON
from holmes_fit.runs.records import Arrays, Key
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.tasks import do_all

Work = TypeVar("Work")
Result = TypeVar("Result")


def each_done(
    function: Callable[[Work], Result],
    work: Sequence[Work],
    *,
    workers: int | None = None,
    dask: str | None = None,
    name: Callable[[Work], object] = str,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Work, Result]]:
    """Give each piece of work with its result; ``name`` says which it was that failed."""
    if not work:
        return
    with closing(do_all(function, work, workers=workers, dask=dask, watch=watch)) as results:
        for number, result in results:
            if isinstance(result, Failure):
                error = HolmesFitError(f"{name(work[number])}: {result.kind}: {result.message}")
                error.add_note(result.traceback)
                raise error
            yield work[number], result


def keep_each(
    run: Run,
    function: Callable[[Work], tuple[JSON, Arrays]],
    work: Sequence[Work],
    key: Callable[[Work], Key],
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: OnProgress | None = None,
) -> None:
    """Do what a run has no record of, and save the facts and arrays of each piece of work as soon as it is done."""
    there = set(run.progress().done)
    missing = [each for each in work if key(each) not in there]
    tell, done = progress or (lambda done, total: None), len(work) - len(missing)
    tell(done, len(work))
    results = each_done(function, missing, workers=workers, dask=dask, name=key, watch=run.check)
    for number, (each, result) in enumerate(results, start=1):
        run.save_record(key(each), *result)
        tell(done + number, len(work))
