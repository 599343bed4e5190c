"""The application to which the commands belong, and what all of them have in common."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from holmes_fit.cli.output import INTERRUPTED, Output

# As one needs them, from a new study to its report; then what is for other days.
ORDER = (
    *("init", "protocols", "check", "fit", "status", "pool", "compare", "report"),
    *("recover", "plan", "simulate", "trace"),
)


class InOrder(TyperGroup):
    """Commands in the order of work."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)


def examples(*commands: str) -> str:
    """Return the end of a help text, with lines that are not to be joined."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


FIRST_STEPS = (
    "holmes-fit init my_study",
    "holmes-fit check pilot.csv --protocol weather_prediction",
    "holmes-fit fit pilot.csv --protocol weather_prediction --quick --out runs/look",
    "holmes-fit compare runs/look",
    "holmes-fit report runs/look --out look.pdf",
)
EXIT_CODES = "Exit codes: 0 fine, 2 bad input, 3 done, with warnings to read, 130 stopped, 1 anything else."

# Plain text: square brackets in help are brackets, and nothing heavy is loaded to show it.
app = typer.Typer(
    cls=InOrder,
    epilog=f"{examples(*FIRST_STEPS)}\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but problems.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an unexpected error came from.")]

Function = TypeVar("Function", bound=Callable[..., None])
GIVEN = ("say", "context")  # arguments of commands that are no options


def command(*lines: str, of: typer.Typer = app) -> Callable[[Function], Function]:
    """Make a command of a function, with examples, ``--quiet``, ``--json`` and ``--debug``.

    The function says what it has to say with its argument ``say``. Then it ends with the exit code that follows from
    that, and with 130 if it is stopped.

    Parameters
    ----------
    lines
        The examples.
    of
        The application, or a group of commands.
    """

    def register(function: Function) -> Function:
        of.command(epilog=examples(*lines))(speaking(function))
        return function

    return register


def speaking(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with options ``--quiet``, ``--json`` and ``--debug`` in the place of its argument ``say``."""
    own = inspect.signature(function, eval_str=True).parameters

    @functools.wraps(function)
    def call(*, context: typer.Context, quiet: bool, as_json: bool, debug: bool, **values: object) -> None:
        say = context.ensure_object(Output)  # which knows of --json; --debug is for those who catch errors
        say.command = context.command_path.partition(" ")[2]
        say.quiet |= quiet
        if "context" in own:
            values["context"] = context
        apart = contextlib.redirect_stdout(sys.stderr) if say.as_json else contextlib.nullcontext()
        try:
            with apart:  # whatever a library prints is no JSON
                function(**values, say=say)
        except KeyboardInterrupt:
            say.fail(say.when_stopped)
            raise typer.Exit(INTERRUPTED) from None
        if say.exit_code:
            raise typer.Exit(say.exit_code)

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # this is where Typer looks
        [
            _keyword("context", typer.Context),
            *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in own.items() if name not in GIVEN),
            _keyword("quiet", Quiet, False),
            _keyword("as_json", Json, False),
            _keyword("debug", Debug, False),
        ]
    )
    return call


def _keyword(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _print_version(asked: bool) -> None:
    if asked:
        from holmes_fit import __version__

        typer.echo(f"holmes-fit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit flat and hierarchical latent-cause models to trial-by-trial choices."""
    context.ensure_object(Output).quiet |= quiet
