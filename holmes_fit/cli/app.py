"""The application to which the commands belong, and the options that all of them share."""

from __future__ import annotations

from typing import Annotated

import typer

from holmes_fit.errors import plain

# Plain text: square brackets in help are brackets, and nothing heavy is loaded to show it.
app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def examples(*commands: str) -> str:
    """Return the end of a help text, with lines that are not to be joined."""
    return "\n".join(["\b", "Examples:", *(f"  {command}" for command in commands)])


def in_one_line(message: object) -> str:
    """Return a message as a terminal can show it, without line breaks and control characters."""
    return plain(str(message), limit=5000)


def _print_version(asked: bool) -> None:
    if asked:
        from holmes_fit import __version__

        typer.echo(f"holmes-fit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an unexpected error came from.")] = False,
) -> None:
    """Fit flat and hierarchical latent-cause models to trial-by-trial choices."""
