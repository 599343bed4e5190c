"""Long work as commands follow it: how long it will take, how much is done, and what is safe after Ctrl-C."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holmes_fit._support.progress import OnProgress, Watcher, duration, progress_bar
from holmes_fit.cli.options import Work
from holmes_fit.cli.output import Output, counted

if TYPE_CHECKING:
    from holmes_fit.fitting.request import Request
    from holmes_fit.runs.folder import Run
    from holmes_fit.runs.records import Key

Beginning = Callable[[Any, "Run", Work], Iterator[str]]  # the lines that say what will be done


class LongWork(Watcher):
    """What a command says about work in a folder, before and while it is done, and when it is stopped."""

    def __init__(self, say: Output, folder: Path, beginning: Beginning, work: Work):
        self.command = shlex.join(["holmes-fit", *sys.argv[1:]])
        self._say, self._beginning, self._work = say, beginning, work
        say.safe_in(folder)

    @contextmanager
    def watching(self, label: str, work: Any, run: Any) -> Iterator[OnProgress | None]:
        self._say.note(self._beginning(work, run, self._work))
        with progress_bar(label, self._say.quiet, lines=True) as told:
            yield told


def how_long(missing: Sequence[tuple[Request, Sequence[Key]]], work: Work, more: str = "") -> Iterator[str]:
    """Say how long the missing fits take, if there are any."""
    from holmes_fit.fitting.forecast import seconds_of_work
    from holmes_fit.runs.workers.processes import usable_cores

    left = sum(len(keys) for _, keys in missing)
    if not left:
        return
    seconds = sum(seconds_of_work(request, keys) for request, keys in missing if keys)
    if work.dask is not None:
        yield f"One core of this machine would need {duration(seconds)}; the cluster shares the work."
        return
    processes = min(work.workers or usable_cores(), left)
    yield f"That takes {duration(seconds / processes)} with {counted(processes, 'process', 'processes')}{more}."
