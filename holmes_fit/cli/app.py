"""The application to which the commands belong, and what all of them have in common."""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from holmes_fit.cli.options import Options
from holmes_fit.cli.output import Output

# As one needs them, from a new study to its report; then what is for other days.
ORDER = (
    *("init", "import", "protocols", "models", "check", "fit", "status", "pool", "compare", "report"),
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

GIVEN = ("say", "context")  # arguments of commands that are no options


def command(*lines: str, of: typer.Typer = app) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, with examples, ``--quiet``, ``--json`` and ``--debug``.

    The function says what it has to say with its argument ``say``. Then it ends with the exit code that follows from
    that. Without ``of``, the command belongs to the application, otherwise to a group of commands.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        return of.command(function.__name__.rstrip("_"), epilog=examples(*lines))(speaking(function))

    return register


def speaking(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with an option for each of those that belong together, and some in the place of ``say``."""
    own = inspect.signature(function, eval_str=True).parameters
    together = {name: each.annotation for name, each in own.items() if _are_options(each.annotation)}

    @functools.wraps(function)
    def call(*, context: typer.Context, quiet: bool, as_json: bool, debug: bool, **values: object) -> None:
        say = context.ensure_object(Output)  # which knows of --json; --debug is for those who catch errors
        say.command = context.command_path.partition(" ")[2]
        say.options = {
            str(each.name): f"option {each.opts[0]}" for each in context.command.params if each.opts[0].startswith("--")
        }
        say.quiet |= quiet
        if "context" in own:
            values["context"] = context
        for name, kind in together.items():
            values[name] = kind(**{each.name: values.pop(each.name) for each in fields(kind)})
        apart = contextlib.redirect_stdout(sys.stderr) if say.as_json else contextlib.nullcontext()
        try:
            with apart:  # whatever a library prints is no JSON
                function(**values, say=say)
        except KeyboardInterrupt as stop:  # which Typer would take for itself
            raise RuntimeError("stopped") from stop
        if say.exit_code:
            raise typer.Exit(say.exit_code)

    parameters = [_keyword("context", typer.Context)]
    for name, each in own.items():
        if name in together:
            hints = get_type_hints(each.annotation, include_extras=True)
            parameters += [_keyword(part.name, hints[part.name], part.default) for part in fields(each.annotation)]
        elif name not in GIVEN:
            parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    for name, annotation in (("quiet", Quiet), ("as_json", Json), ("debug", Debug)):
        parameters.append(_keyword(name, annotation, False))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # this is where Typer looks
    return call


def _are_options(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


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
