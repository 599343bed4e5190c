"""The command line: parse, call, print. What the commands do lives elsewhere."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence

from holmes_fit.cli import (
    check,
    compare,
    fit,
    init,
    plan,
    pool,
    protocols,
    recover,
    replicate,
    report,
    simulate,
    status,
    trace,
)
from holmes_fit.cli.app import app, in_one_line
from holmes_fit.errors import HolmesFitError, InputError

__all__ = [
    "app",
    "check",
    "compare",
    "fit",
    "init",
    "main",
    "plan",
    "pool",
    "protocols",
    "recover",
    "replicate",
    "report",
    "simulate",
    "status",
    "trace",
]

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, and end with its exit code: 2 for bad input, 1 for a failure, 130 for Ctrl-C.

    Parameters
    ----------
    arguments
        What follows ``holmes-fit``; the command line if left out.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    _print_whatever_the_terminal_can()
    try:
        app(given, prog_name="holmes-fit")
    except InputError as error:
        _fail("\n".join(map(in_one_line, error.problems)), BAD_INPUT)
    except KeyboardInterrupt:
        _fail("stopped", INTERRUPTED)
    except Exception as error:
        if "--debug" in given:
            raise
        _fail(in_one_line(_what_happened(error)), FAILED)


def _what_happened(error: Exception) -> str:
    if isinstance(error, HolmesFitError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename!r}" if error.filename else error.strerror
    return f"unexpected error, {type(error).__name__}: {error}. Run holmes-fit --debug ... to see where."


def _fail(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)


def _print_whatever_the_terminal_can() -> None:
    """Let a terminal that cannot show a character show an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="backslashreplace")
