"""Worker processes on this machine."""

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from holmes_fit._support.ctrl_c import ctrl_c_held_back, leave_ctrl_c_to_parent
from holmes_fit._support.errors import HolmesFitError

PR_SET_PDEATHSIG = 1
TAKEN_SECONDS = 10
POOLS_OWN_THREAD = "ExecutorManagerThread"  # as loky and the standard library call it
# What numerical libraries read when they start. Workers share the cores, so none of them may use more than one, and
# results do not depend on how a library splits its sums.
LIBRARIES = ("BLIS_NUM", "MKL_NUM", "NUMBA_NUM", "NUMEXPR_NUM", "OMP_NUM", "OPENBLAS_NUM", "VECLIB_MAXIMUM")
ONE_THREAD = {f"{library}_THREADS": "1" for library in LIBRARIES}


def one_thread() -> AbstractContextManager[Any]:
    """Let numerical libraries use one thread: for many small products of matrices two take longer than one.

    Where the cores are busy, each of two threads waits for the other at the end of every product.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(1)


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity and the limits of its container count."""
    from joblib import cpu_count

    return int(cpu_count())


class Processes:
    """Processes on this machine."""

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, workers: int):
        self._workers = workers
        with ctrl_c_held_back():  # semaphores that are made by halves would be left, and be complained about
            self._executor = self._new_executor()
        self._latest: Future[Any] | None = None  # nobody else knows it, if Ctrl-C arrives right after it is given
        # A worker that has gathered much memory is replaced by a new one: nothing that a user has to know.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given", category=UserWarning)

    def _new_executor(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        parent = os.getpid()
        return ProcessPoolExecutor(self._workers, env=ONE_THREAD, initializer=_begin_worker, initargs=(parent,))

    def room(self) -> int:
        return 2 * self._workers

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        with ctrl_c_held_back():
            try:
                self._latest = self._executor.submit(function)
            except BrokenExecutor:  # a process died, and took the others with it
                self._executor.shutdown(wait=True)
                self._executor = self._new_executor()
                self._latest = self._executor.submit(function)
        return self._latest

    def gone(self) -> HolmesFitError:
        return HolmesFitError("The worker processes were stopped. Give the same command again, and it goes on.")

    def check(self) -> None:
        """They are begun from here."""

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        with ctrl_c_held_back(), _without_last_words():
            under_way = _all_taken([*unfinished, *([self._latest] if self._latest else [])])
            self._executor.shutdown(wait=True, kill_workers=under_way)


def _all_taken(unfinished: list[Future[Any]]) -> bool:
    """Wait until the pool's own thread has taken every task that it was given; return whether any is unfinished.

    That thread, told to stop between the moment when a task is given and the one when it takes it, would look for the
    task where it has just been dropped, and die.
    """
    limit = time.monotonic() + TAKEN_SECONDS
    while time.monotonic() < limit and not all(future.running() or future.done() for future in unfinished):
        time.sleep(0.01)
    return any(not future.done() for future in unfinished)


@contextmanager
def _without_last_words() -> Iterator[None]:
    """Let the pool's own thread, which is about to end, die without a traceback on the terminal.

    On a busy machine it may still be told to stop at a moment that it does not expect, and nothing hangs on it then.
    """
    usual = threading.excepthook

    def hook(died: threading.ExceptHookArgs) -> None:
        if died.thread is None or died.thread.name != POOLS_OWN_THREAD:
            usual(died)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = usual


def _begin_worker(parent: int) -> None:
    """Prepare a process: it leaves Ctrl-C to its parent, and does not outlive it."""
    leave_ctrl_c_to_parent()
    _end_at_once()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_at_once() -> None:
    """Let Linux end this process with the thread that has begun it, also while compiled code lets no other one run."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
