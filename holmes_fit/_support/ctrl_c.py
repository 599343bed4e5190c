"""Ctrl-C: held back where it would leave something half done, left to the parent by workers, and found in errors."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker


@contextmanager
def ctrl_c_held_back() -> Iterator[None]:
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
    if not hasattr(signal, "pthread_sigmask"):  # Windows; see leave_ctrl_c_to_parent
        yield
        return
    resource_tracker.ensure_running()  # otherwise begun with the first process, and it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit what is blocked
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_ctrl_c_to_parent() -> None:
    """Let a worker go on when a terminal sends it what is meant for all."""
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def is_ctrl_c(error: BaseException) -> bool:
    """Return whether an error is Ctrl-C in disguise: where it arrives in compiled code, Python makes another of it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)
