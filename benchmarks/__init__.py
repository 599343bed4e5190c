"""Benchmarks: run by hand or by make, never by the tests."""

import sys
from collections.abc import Callable
from pathlib import Path

import typer

ROOT = Path(__file__).resolve().parent.parent


def command(main: Callable[..., object]) -> None:
    """Run a benchmark from the command line: it takes the parameters of ``main``, and helps with its module's words."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(help=sys.modules["__main__"].__doc__)(main)
    app()
