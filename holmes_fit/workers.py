"""Many independent tasks, over the cores of this machine or over a Dask cluster.

A task that fails, or that takes its process with it, is a result like any other: the rest go on. Both kinds of worker
are driven through the standard library's `Executor`, with a limited number of tasks under way. (`joblib.Parallel` would
start tasks as fast as they finish, whether or not anybody takes the results, and with Dask it waits for ever for
a task whose worker was killed too often.)
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing import resource_tracker
from typing import Any, Generic, Protocol, TypeVar

from holmes_fit.errors import HolmesFitError, InputError, Problem, plain, shown

Task = TypeVar("Task")
Result = TypeVar("Result")

LOST = "WorkerLost"
# A task whose process died is tried again beside others, and after so many deaths alone: then it is known to whom
# the death is due.
DEATHS_IN_COMPANY = 2
TAKEN_SECONDS = 10
CONNECT_SECONDS = 8
FIRST_WORKER_SECONDS = 60
# What numerical libraries read when they start. Workers share the cores, so none of them may use more than one, and
# results do not depend on how a library splits its sums.
ONE_THREAD = dict.fromkeys(
    (
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True)
class Failure:
    """Why a task has no result.

    Parameters
    ----------
    kind
        The name of the exception, or ``"WorkerLost"`` if the task's process died every time.
    message
        What the exception said.
    traceback
        Where it came from, for people who look for the cause.
    """

    kind: str
    message: str
    traceback: str = ""

    @property
    def lost(self) -> bool:
        """Whether the process died. It may have been short of memory, and do better another time."""
        return self.kind == LOST


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity and the limits of its container count."""
    from joblib import cpu_count

    return int(cpu_count())


def do_all(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int | None = None, dask: str | None = None
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Do every task, and give each result as soon as it is there.

    Tasks are taken from their iterable as they are needed, and no more are begun than a few for each worker until
    results are taken, so that memory does not grow with the number of tasks. Close the iterator to stop early
    (`contextlib.closing`): what is under way is stopped.

    Parameters
    ----------
    function
        Called with each task. With more than one worker it must be a function of a module.
    tasks
        The tasks, in any number; a generator will do.
    workers
        Processes on this machine, all usable cores by default. With 1, the work is done in this process.
    dask
        The address of the scheduler of a Dask cluster, such as ``"tcp://lab3:8786"``, which does the work instead.

    Yields
    ------
    tuple
        The number of the task, from 0, and its result, or a :class:`Failure`. In no particular order.

    Raises
    ------
    InputError
        If ``workers`` is no count, or the cluster cannot be used.
    HolmesFitError
        If the cluster ends before the work does.
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError([Problem("argument workers", shown(workers), "a whole number from 1")])
    if dask is not None:
        return _in_pool(lambda: _Cluster(dask), function, tasks)
    n_workers = workers or usable_cores()
    if n_workers == 1:
        return ((number, _attempt(function, task)) for number, task in enumerate(tasks))
    return _in_pool(lambda: _Processes(n_workers), function, tasks)


def _attempt(function: Callable[[Task], Result], task: Task) -> Result | Failure:
    """Do one task on one core, wherever this is, and return whatever comes of it."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    try:
        with threadpool_limits(1):
            return function(task)
    except (Exception, SystemExit) as error:
        return _failure(error)


def _failure(error: BaseException) -> Failure:
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


class _Pool(Protocol):
    """What does tasks: processes of this machine, or a cluster."""

    lost: tuple[type[BaseException], ...]  # what a task raises whose process died

    def submit(self, function: Callable[[], Any]) -> Future[Any]: ...

    def room(self) -> int:
        """Return how many tasks keep every worker busy."""
        ...

    def gone(self) -> HolmesFitError:
        """Return what to say when tasks are cancelled that nobody here has cancelled."""
        ...

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        """Stop what is under way."""
        ...


@dataclass
class _Job(Generic[Task]):
    number: int
    task: Task
    deaths: int = 0

    @property
    def alone(self) -> bool:
        return self.deaths >= DEATHS_IN_COMPANY


def _in_pool(
    open_pool: Callable[[], _Pool], function: Callable[[Task], Result], tasks: Iterable[Task]
) -> Generator[tuple[int, Result | Failure], None, None]:
    """Keep a pool filled, and give the results as they come."""
    fresh = (_Job(number, task) for number, task in enumerate(tasks))
    again: deque[_Job[Task]] = deque()
    running: dict[Future[Any], _Job[Task]] = {}
    pool = open_pool()
    try:
        while True:
            room = pool.room()
            while len(running) < room and (job := _next_job(fresh, again, running.values())) is not None:
                running[pool.submit(partial(_attempt, function, job.task))] = job
            if not running:
                return
            finished, _ = wait(running, timeout=1, return_when=FIRST_COMPLETED)  # Windows sees Ctrl-C in between only
            for future in finished:
                job = running.pop(future)
                if future.cancelled():
                    raise pool.gone()
                error = future.exception()
                if error is None:
                    yield job.number, future.result()
                elif not isinstance(error, pool.lost):  # a task or a result that cannot be sent
                    yield job.number, _failure(error)
                elif job.alone:
                    yield job.number, Failure(LOST, f"its process died {job.deaths + 1} times: {error}")
                else:
                    job.deaths += 1
                    again.append(job)
    finally:
        pool.close(running)


def _next_job(
    fresh: Iterator[_Job[Task]], again: deque[_Job[Task]], running: Iterable[_Job[Task]]
) -> _Job[Task] | None:
    """Return the job to begin now, if any: those that died come first, and those that died often are alone."""
    under_way = list(running)
    if any(job.alone for job in under_way) or (again and again[0].alone and under_way):
        return None
    return again.popleft() if again else next(fresh, None)


class _Processes:
    """Processes on this machine."""

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, workers: int):
        self._workers = workers
        self._executor = self._new_executor()
        # A worker that has gathered much memory is replaced by a new one: nothing that a user has to know.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)

    def _new_executor(self) -> Any:
        from joblib.externals.loky.process_executor import ProcessPoolExecutor

        parent = os.getpid()
        return ProcessPoolExecutor(self._workers, env=ONE_THREAD, initializer=_begin_worker, initargs=(parent,))

    def room(self) -> int:
        return 2 * self._workers

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        with _ctrl_c_held_back():
            try:
                return self._executor.submit(function)
            except BrokenExecutor:  # a process died, and took the others with it
                self._executor.shutdown(wait=True)
                self._executor = self._new_executor()
                return self._executor.submit(function)

    def gone(self) -> HolmesFitError:
        return HolmesFitError("The worker processes were stopped. Give the same command again, and it goes on.")

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        with _ctrl_c_held_back():
            under_way = _all_taken(list(unfinished))
            self._executor.shutdown(wait=True, kill_workers=under_way)


def _all_taken(unfinished: list[Future[Any]]) -> bool:
    """Wait until the pool's own thread has taken every task that it was given; return whether any is unfinished.

    That thread, told to stop between the moment when a task is given and the one when it takes it, would look for the
    task where it has just been dropped, and die with a traceback on the terminal.
    """
    limit = time.monotonic() + TAKEN_SECONDS
    while time.monotonic() < limit and not all(future.running() or future.done() for future in unfinished):
        time.sleep(0.01)
    return any(not future.done() for future in unfinished)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Let Ctrl-C arrive when all is done here, and start processes that never see it.

    A terminal sends it to every process. One that is interrupted while it starts would print a traceback, and so would
    one whose start is interrupted here, between its beginning and the moment when the pool knows it.
    """
    arrived: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    holds = threading.current_thread() is threading.main_thread() and handler is not None
    if holds:  # Python runs handlers in the main thread only, whichever thread the system chose
        signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        with _blocked_in_new_processes():
            yield
    finally:
        if holds:
            signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _blocked_in_new_processes() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows; see _begin_worker
        yield
        return
    resource_tracker.ensure_running()  # otherwise begun with the first process, and it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit what is blocked
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(parent: int) -> None:
    """Prepare a process: it leaves Ctrl-C to its parent, and does not outlive it."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class _Cluster:
    """A Dask cluster, which by itself does the tasks of a lost worker again on the others."""

    def __init__(self, address: str):
        self._address = address
        with _one_line_for_all_that_is_missing():
            import distributed
        self.lost: tuple[type[BaseException], ...] = (distributed.KilledWorker,)
        self._levels = _silenced("distributed")
        # Whoever sends much is told to send less; a cohort's tasks are small, and large ones are no mistake either.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        connect: Any = distributed.Client
        try:
            _find_scheduler(address)
            self._client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:  # what another kind of server answers can lead to anything, to MemoryError even
            self._speak_again()
            seen = f"{shown(address)} ({_why_not(error)})"
            advice = "It looks like tcp://HOST:8786."
            raise self._refused(seen, "the address of a running Dask scheduler", advice) from error
        try:
            self._check_workers()
        except BaseException:
            self.close(())
            raise
        self._executor = self._client.get_executor(pure=False)

    def _refused(self, seen: str, allowed: str, advice: str = "") -> InputError:
        return InputError([Problem("option --dask", seen, allowed, advice)])

    def _check_workers(self) -> None:
        """Wait for a first worker, and make sure that all do the same as this machine would."""
        here = installed_version()
        advice = f"Install holmes-fit {here} there, or give another address."
        try:
            # A task, since some clusters have no workers until there is work to do.
            self._client.submit(installed_version, pure=False).result(timeout=FIRST_WORKER_SECONDS)
            there: dict[str, str] = self._client.run(installed_version)
        except TimeoutError as error:
            seen = f"a cluster without workers for {FIRST_WORKER_SECONDS:g} seconds"
            raise self._refused(seen, "a cluster with workers", "Start its workers first.") from error
        except ImportError as error:
            raise self._refused(f"workers without holmes-fit ({error})", f"holmes-fit {here}", advice) from error
        others = sorted(set(there.values()) - {here})
        if others:
            raise self._refused(f"workers with holmes-fit {', '.join(others)}", f"holmes-fit {here}", advice)

    def room(self) -> int:
        try:
            return max(2, 2 * sum(self._client.ncores().values()))  # workers may come and go
        except (OSError, RuntimeError, CancelledError) as error:
            raise self.gone() from error

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        return self._executor.submit(function)

    def gone(self) -> HolmesFitError:
        return HolmesFitError(
            f"The Dask cluster at {self._address} does not answer any more. "
            "What was done before is safe; give the same command again, and it goes on from there."
        )

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        for future in unfinished:
            future.cancel()
        self._client.close(timeout=2)
        self._speak_again()

    def _speak_again(self) -> None:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)


def _find_scheduler(address: str) -> None:
    """Make sure that a scheduler answers; a client that finds none goes on trying for long after it was given up."""
    from distributed import rpc

    connect: Any = rpc

    async def ask() -> None:
        async with asyncio.timeout(CONNECT_SECONDS), connect(address, timeout=CONNECT_SECONDS) as server:
            identity = await server.identity()
        if identity["type"] != "Scheduler":
            raise ValueError(f"it is a {identity['type']}")

    with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own in this one
        thread.submit(asyncio.run, ask()).result()


def _why_not(error: Exception) -> str:
    if isinstance(error, OSError):  # a timeout is one as well
        return f"no answer in {CONNECT_SECONDS:g} seconds"
    return plain(str(error), limit=200) if isinstance(error, ValueError) else "what answers is no Dask scheduler"


def installed_version() -> str:
    """Return the version of holmes_fit where this is called."""
    return version("holmes-fit")


@contextmanager
def _one_line_for_all_that_is_missing() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        advice = "Install them with: pip install 'holmes-fit[cluster]'"
        problem = Problem("option --dask", "an installation without Dask", "one with the packages for clusters", advice)
        raise InputError([problem]) from error


def _silenced(package: str) -> dict[str, int]:
    """Keep the log of a package off the terminal; return the levels that were set before."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == package]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return levels
