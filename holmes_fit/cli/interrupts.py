"""Ctrl-C that arrives where Python cannot raise it, and errors that Python can only print."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading

SOON = 0.05  # seconds after which Ctrl-C arrives again


class SwallowedCtrlC:
    """Lets Ctrl-C stop a command wherever it arrives, and leaves out the errors that Python would print and ignore.

    While code is compiled for the first time, Python is often within a destructor or a callback of LLVM's. An exception
    cannot go any further there: Python prints its traceback, and goes on as if nobody had pressed the keys.
    """

    def __init__(self, debug: bool = False):
        self._debug = debug  # print those errors all the same
        self._again: threading.Timer | None = None

    def watch(self) -> None:
        """Begin, for as long as the process lives."""
        sys.unraisablehook = self._take

    def is_there(self) -> bool:
        """Return whether there was one, which then is not sent again."""
        if self._again is None:
            return False
        self._again.cancel()
        return True

    def _take(self, ignored: sys.UnraisableHookArgs) -> None:
        if self._debug:
            sys.__unraisablehook__(ignored)
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            self._again = threading.Timer(SOON, _send)
            self._again.daemon = True  # a command that has ended is not held up
            with contextlib.suppress(RuntimeError):  # Python is about to end, and begins no threads
                self._again.start()


def _send() -> None:
    """Send Ctrl-C to the main thread, and wake it if it waits for something; Windows can only do the former."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
