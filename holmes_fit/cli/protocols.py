"""``holmes-fit protocols``: which tasks there are, and what they look like."""

from pathlib import Path
from typing import Annotated

import typer

import holmes_fit as hf
from holmes_fit.cli import options
from holmes_fit.cli.app import app, command, examples, speaking
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output

protocols = typer.Typer(
    rich_markup_mode=None,
    epilog=examples("holmes-fit protocols", "holmes-fit protocols show shepard"),
    help="List the protocols that come with holmes-fit, or show one.",
)
app.add_typer(protocols, name="protocols")


@protocols.callback(invoke_without_command=True)
@speaking
def list_protocols(context: typer.Context, *, say: Output) -> None:
    """List the protocols, unless one is to be shown."""
    if context.invoked_subcommand is not None:
        return
    titles = {name: hf.load_protocol(name).title for name in hf.protocol_names()}
    width = max(map(len, titles), default=0)
    say.give("\n".join(f"{name:{width}}  {title}" for name, title in titles.items()))
    say.found(protocols=[{"name": name, "title": title} for name, title in titles.items()])


@command(
    "holmes-fit protocols show weather_prediction > protocols/my_task.toml",
    "holmes-fit protocols show shape_color --picture design.png",
    of=protocols,
)
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A shipped protocol, or the path of a TOML.", autocompletion=options.PROTOCOLS
        ),
    ],
    picture: Annotated[Path | None, option("FILE", "Also draw the design: a .png, .pdf or .svg file.")] = None,
    force: options.Force = False,
    *,
    say: Output,
) -> None:
    """Print a protocol, as a TOML that can be edited."""
    from holmes_fit.trials.protocols.catalogue import protocol_file

    protocol = hf.load_protocol(name)
    if picture is not None:
        from holmes_fit._support.atomic import check_outputs
        from holmes_fit.reporting.figures.design import PICTURE_SUFFIXES, save_design

        check_outputs([picture], force, PICTURE_SUFFIXES)
        save_design(protocol, picture)
        say.wrote(picture)
    text = protocol_file(name).read_text(encoding="utf-8-sig")
    say.give(text.rstrip("\n"))
    say.found(name=protocol.name, title=protocol.title, toml=text)
