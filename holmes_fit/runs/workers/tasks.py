"""Doing tasks: a pool is kept filled, and results are given as they come.

Both kinds of pool are driven through the standard library's `Executor`, with a limited number of tasks under way.
(`joblib.Parallel` would start tasks as fast as they finish, whether or not anybody takes the results, and with Dask it
waits for ever for a task whose worker was killed too often.)
"""

import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from holmes_fit._support.ctrl_c import is_ctrl_c
from holmes_fit._support.errors import InputError, Problem, Quoted, plain, shown
from holmes_fit.models.registry import MODELS, Model, models_of_ones_own
from holmes_fit.runs.identity import fingerprint
from holmes_fit.runs.workers.cluster import Cluster
from holmes_fit.runs.workers.pool import LOST, Failure, Pool
from holmes_fit.runs.workers.processes import Processes, one_thread, usable_cores

Task = TypeVar("Task")
Result = TypeVar("Result")

# A task whose process died is tried again beside others, and after so many deaths alone: then it is known to whom
# the death is due.
DEATHS_IN_COMPANY = 2


def do_all(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    workers: int | None = None,
    dask: str | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Do every task, and give each result as soon as it is there.

    Tasks are taken from their iterable as they are needed, and no more are begun than a few for each worker until
    results are taken, so that memory does not grow with the number of tasks. Close the iterator to stop early
    (`contextlib.closing`): what is under way is stopped.

    ``workers`` are processes on this machine, all usable cores by default; with 1, the work is done in this process.
    With several, the function must be one of a module. ``watch`` is called now and then meanwhile, and may raise an
    error to stop all. ``dask`` is the address of a cluster's scheduler, such as
    ``"tcp://lab3:8786"``. Results come with the number of their task, from 0, in no particular order.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError([Problem("argument workers", shown(workers), "a whole number from 1")])
    if dask is not None:
        return _in_pool(lambda: Cluster(dask), function, tasks, watch)
    n_workers = workers or usable_cores()
    if n_workers == 1:
        return ((number, _attempt(function, task)) for number, task in enumerate(tasks))
    return _in_pool(lambda: Processes(n_workers), function, tasks, watch)


class Elsewhere(Exception):
    """The task was given to a worker that would compute something else."""


def _attempt_elsewhere(
    wanted: Mapping[str, str], models: dict[str, Model], function: Callable[[Task], Result], task: Task
) -> Result | Failure:
    """Do one task where models of one's own, such as those of a notebook, are not registered.

    A worker of a cluster may have come after all others were checked, so it is asked what it has.
    """
    if wanted and fingerprint() != wanted:
        raise Elsewhere
    MODELS.update(models)
    return _attempt(function, task)


def _attempt(function: Callable[[Task], Result], task: Task) -> Result | Failure:
    """Do one task on one core, wherever this is, and return whatever comes of it."""
    try:
        with one_thread():
            return function(task)
    except (Exception, SystemExit) as error:
        if is_ctrl_c(error):  # which stops the work, and is no fault of the task's
            raise KeyboardInterrupt from error
        return _failure(error)


def _failure(error: BaseException) -> Failure:
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


@dataclass
class _Job(Generic[Task]):
    number: int
    task: Task
    deaths: int = 0

    @property
    def alone(self) -> bool:
        return self.deaths >= DEATHS_IN_COMPANY


def _in_pool(
    open_pool: Callable[[], Pool],
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    watch: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Keep a pool filled, and give the results as they come."""
    fresh = (_Job(number, task) for number, task in enumerate(tasks))
    again: deque[_Job[Task]] = deque()
    running: dict[Future[Any], _Job[Task]] = {}
    own = models_of_ones_own()
    pool = open_pool()
    wanted = fingerprint() if isinstance(pool, Cluster) else {}  # processes are of this machine
    attempt = partial(_attempt_elsewhere, wanted, own, function)
    try:
        if own:
            _check_sent(pool, own)
        while True:
            room = pool.room()
            while len(running) < room and (job := _next_job(fresh, again, running.values())) is not None:
                running[pool.submit(partial(attempt, job.task))] = job
            if not running:
                return
            finished, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)  # Windows sees Ctrl-C in between only
            watch()
            for future in finished:
                job = running.pop(future)
                if future.cancelled():
                    raise pool.gone()
                error = future.exception()
                if error is None:
                    yield job.number, future.result()
                elif not isinstance(error, pool.lost):  # a task or a result that cannot be sent
                    pool.check()
                    if isinstance(error, Elsewhere):  # it has left since
                        again.append(job)
                        continue
                    yield job.number, _failure(error)
                elif job.alone:
                    yield job.number, Failure(LOST, f"its process died {job.deaths + 1} times: {error}")
                else:
                    job.deaths += 1
                    again.append(job)
    finally:
        pool.close(running)


def _check_sent(pool: Pool, models: dict[str, Model]) -> None:
    """Refuse models of one's own that cannot be sent to other processes, before every task fails for it."""
    try:
        pool.submit(partial(MODELS.update, models)).result()
    except pool.lost:
        return  # which has another reason, and a task will say so
    except Exception as error:
        names, why = ", ".join(models), plain(f"{type(error).__name__}: {error}", 200)
        seen = Quoted(f"{names}, which cannot be sent to other processes ({why})")
        advice = "Write them into a file and call holmes_fit.load_model('my_models.py:NAME'), or take one worker."
        raise InputError([Problem("models of one's own", seen, "models that can be sent", advice)]) from error


def _next_job(
    fresh: Iterator[_Job[Task]], again: deque[_Job[Task]], running: Iterable[_Job[Task]]
) -> _Job[Task] | None:
    """Return the job to begin now, if any: those that died come first, and those that died often are alone."""
    under_way = list(running)
    if any(job.alone for job in under_way) or (again and again[0].alone and under_way):
        return None
    return again.popleft() if again else next(fresh, None)
