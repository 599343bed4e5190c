"""``holmes-fit init``: a folder for a new study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import Quiet
from holmes_fit.errors import plain


@app.command(epilog=examples("holmes-fit init my_study"))
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", show_default=False, help="A new or an empty folder.")],
    quiet: Quiet = False,
) -> None:
    """Lay out a folder for a new study.

    It holds a protocol to edit, with every key explained, and a small example that it reads.
    """
    from holmes_fit.new_study import EXAMPLE, PROTOCOL, create_study

    create_study(folder)
    if not quiet:
        typer.echo(f"A new study is in {plain(str(folder), limit=300)}. Try it there:")
        typer.echo(f"  holmes-fit check {EXAMPLE} --protocol {PROTOCOL}")
        typer.echo(f"Then put your data into data/ and edit {PROTOCOL}.")
