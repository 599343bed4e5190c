"""Standard streams, which a process may lose: a terminal is closed, a device is full, a reader has had enough."""

import os
import sys
from contextlib import suppress
from typing import Any


class Lossy:
    """A stream whose text is lost where it cannot be written, so that work goes on for which nobody needs to look."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # the latter, if it was closed from within
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def have_streams() -> None:
    """Give a process whose streams were closed when it began others that lead nowhere.

    Otherwise the first file that it opens would be taken for one of them, and be written into.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
