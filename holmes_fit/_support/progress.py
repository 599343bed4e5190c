"""How much of long work is done: a bar in a terminal, lines in a notebook or the log of a command."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from holmes_fit._support.errors import for_terminal
from holmes_fit._support.streams import Lossy

OnProgress = Callable[[int, int], None]  # how much is done, and of how many
OnBegin = Callable[[str], OnProgress | None]  # what is being done from now on


class Watcher:
    """Whoever follows long work and is told more than numbers: what is done, and in which folder, before it begins."""

    command: str  # what the folder says that the work was begun with

    def watching(self, label: str, work: Any, run: Any) -> AbstractContextManager[OnProgress | None]:
        """Give the function that is told how much is done, after saying what will be."""
        raise NotImplementedError


Watched = OnProgress | Watcher | bool  # how a Python user, or a command, asks to see how much is done


def watched(
    progress: Watched, label: str, work: Any = None, run: Any = None
) -> AbstractContextManager[OnProgress | None]:
    """Give the function that is told how much is done, as it was asked for.

    With True, progress is shown where somebody would see it: in a terminal or a notebook.
    """
    if isinstance(progress, Watcher):
        return progress.watching(label, work, run)
    if callable(progress):
        return nullcontext(progress)
    return progress_bar(label, quiet=not progress, lines=_in_notebook())


def begun_with(progress: Watched, function: str) -> str:
    """Return what a folder says that its work was begun with: a command, or a function of Python's."""
    return progress.command if isinstance(progress, Watcher) else function


def watched_steps(progress: OnBegin | bool) -> AbstractContextManager[OnBegin]:
    """Give the function that is told what is begun; the parameter is like that of :func:`watched`."""
    if callable(progress):
        return nullcontext(progress)
    return progress_bars(quiet=not (progress and (sys.stderr.isatty() or _in_notebook())))


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


@contextmanager
def progress_bar(label: str, quiet: bool, lines: bool = False) -> Iterator[OnProgress | None]:
    """Give a function that shows how much is done of how many, or nothing where nobody would see it.

    With ``lines`` and without a terminal, it prints a line now and then, for the log of work that takes long.
    """
    if quiet or not (lines or sys.stderr.isatty()):
        yield None
    elif not sys.stderr.isatty():
        yield ProgressLines(label)
    else:
        with _bars() as begin:
            yield begin(label)


@contextmanager
def progress_bars(quiet: bool) -> Iterator[OnBegin]:
    """Give a function that begins a bar for what is being done now, in the place of the one before.

    Without a terminal it prints what is begun; if quiet, it does nothing.
    """
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield lambda label: _say(f"{label} ...")
    else:
        with _bars() as begin:
            yield begin


@contextmanager
def _bars() -> Iterator[OnBegin]:
    with _display() as bars:

        def begin(label: str) -> OnProgress:
            for before in bars.task_ids:
                bars.remove_task(before)
            pace, task = Pace(), bars.add_task(label, total=None, left="")
            return lambda done, total: bars.update(task, completed=done, total=total, left=pace.left(done, total))

        yield begin


def _display() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    return Progress(*columns, console=Console(file=cast("Any", Lossy(sys.stderr))), transient=True)


class Pace:
    """How long the rest takes, at the pace of the whole time since the first call: single pieces can take long."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None  # when, and how much was done already

    def left(self, done: int, total: int) -> str:
        """Return the time left in words; nothing while it is not known, and when all is done."""
        now = time.monotonic()
        begun, before = self._begun = self._begun or (now, done)
        if done in (before, total):
            return ""
        return f"{duration((now - begun) / (done - before) * (total - done))} left"


class ProgressLines:
    """Prints how much is done: at the beginning and the end, with every tenth, and otherwise every half minute."""

    SECONDS = 30.0

    def __init__(self, label: str):
        self._label = label
        self._pace = Pace()
        self._printed: tuple[float, int] | None = None  # when, and how many tenths were done

    def __call__(self, done: int, total: int) -> None:
        now, tenths = time.monotonic(), 10 * done // total
        left = self._pace.left(done, total)
        if self._printed is None or tenths > self._printed[1] or now - self._printed[0] > self.SECONDS:
            self._printed = now, tenths
            _say(f"{self._label}: {done} of {total}{f', {left}' if left else ''}")


def duration(seconds: float) -> str:
    """Return a time in words, about: ``"about 6 minutes"``."""
    if seconds < 45:
        return "less than a minute"
    for unit, length, limit in (("minute", 60, 90 * 60), ("hour", 3600, 48 * 3600), ("day", 86400, float("inf"))):
        if seconds < limit:
            count = max(1, round(seconds / length))
            return f"about {count} {unit}{'' if count == 1 else 's'}"
    raise ValueError(seconds)


def _say(text: str) -> None:
    print(for_terminal(text), file=Lossy(sys.stderr), flush=True)
