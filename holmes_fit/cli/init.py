"""``holmes-fit init``: a folder for a new study."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.errors import plain
from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output, shell


@command("holmes-fit init my_study")
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", show_default=False, help="A new or an empty folder.")],
    *,
    say: Output,
) -> None:
    """Lay out a folder for a new study.

    It holds a protocol to edit, with every key explained, and a small example that it reads.
    """
    from holmes_fit.trials.new_study import EXAMPLE, PROTOCOL, create_study

    written = create_study(folder)
    say.wrote(*written, silently=True)
    say.found(
        f"A new study is in {plain(str(folder), limit=300)}. Put your data into data/, and edit {PROTOCOL}.",
        folder=folder,
    )
    say.next(f"cd {shlex.quote(str(folder))}", shell("check", EXAMPLE, "--protocol", PROTOCOL))
