"""The command line: parse, call, print. What the commands do lives elsewhere."""

import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

import typer

from holmes_fit._support.caches import set_pytensor_flag
from holmes_fit._support.ctrl_c import is_ctrl_c
from holmes_fit._support.errors import HolmesFitError, InputError, in_one_line
from holmes_fit._support.streams import Lossy, have_streams
from holmes_fit.cli.app import ORDER, app
from holmes_fit.cli.interrupts import SwallowedCtrlC
from holmes_fit.cli.output import BAD_INPUT, FAILED, FINE, INTERRUPTED, Output

for name in ORDER:
    import_module(f"holmes_fit.cli.{name}{'_' * iskeyword(name)}")  # which registers the command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``holmes-fit`` with some arguments, by default those of the command line."""
    run(app, "holmes-fit", arguments)


def run(program: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command of a program, and end with its exit code.

    It is 0 if all is fine, 1 after a failure, 2 for bad input, 3 if there are results with warnings, 130 after Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    swallowed = SwallowedCtrlC(debug)
    if arguments is None:  # a process of its own
        have_streams()
        swallowed.watch()
        if not debug:
            _silence_libraries()
    _print_whatever_the_terminal_can()
    if arguments is None:
        sys.stderr = Lossy(sys.stderr)  # nobody needs to see how work goes on
    say = Output(as_json="--json" in given)
    try:
        # With JSON, what is wrong with the options must not be printed, but come back.
        code = program(given, prog_name=name, obj=say, standalone_mode=not say.as_json) or FINE
    except SystemExit as ended:  # without JSON
        code = ended.code or FINE
    except InputError as error:
        say.refuse(error)
        code = BAD_INPUT
    except typer.TyperException as error:
        say.fail(in_one_line(error.format_message()))
        code = BAD_INPUT
    except (KeyboardInterrupt, Exception) as error:
        stopped = swallowed.is_there() or is_ctrl_c(error)  # which may be why something failed
        if debug and not stopped:
            raise
        say.fail(say.when_stopped if stopped else in_one_line(_what_happened(error)))
        code = INTERRUPTED if stopped else FAILED
    try:
        say.end(code)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # with which whoever reads has had enough, as head has
            print(f"Standard output could not be written: {error.strerror}.", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python does not flush the rest
        code = FAILED
    sys.exit(code)


def _what_happened(error: BaseException) -> str:
    if isinstance(error, HolmesFitError):
        return str(error)
    if _is_for_want_of_memory(error):
        return "There was not enough memory. Close what else is running, raise the limit, or take fewer --workers."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename!r}" if error.filename else error.strerror
    return f"unexpected error, {type(error).__name__}: {error}. Add --debug to the command to see where."


def _is_for_want_of_memory(error: BaseException | None) -> bool:
    """Whether memory was what was missing, as libraries say it that could not even be loaded."""
    signs = ("failed to map segment", "Cannot allocate memory", "Unable to allocate")
    while error is not None:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in signs):
            return True
        error = error.__cause__ or error.__context__
    return False


def _silence_libraries() -> None:
    """Let libraries, which talk to programmers, say nothing but errors, here and in processes that are begun from here.

    Whoever sets ``PYTHONWARNINGS`` or gives ``python -W`` wants to hear them, and does.
    """
    if sys.warnoptions:
        return
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ["PYTHONWARNINGS"] = "ignore"
    # PyTensor is not to look for a C++ compiler, nor to say that it has found none: nothing here is compiled with one.
    set_pytensor_flag("cxx", "")


def _print_whatever_the_terminal_can() -> None:
    """Let a terminal that cannot show a character show an escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")
