"""``holmes-fit check``: what a file holds, and everything that is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import Data, Participants, ProtocolName, Quiet


@app.command(
    epilog=examples(
        "holmes-fit check pilot.csv --protocol weather_prediction",
        "holmes-fit check data/ --protocol protocols/my_task.toml --participants people.csv",
        "holmes-fit check pilot.csv --protocol shepard --by group --json",
    )
)
def check(
    data: Data,
    protocol: ProtocolName,
    participants: Participants = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COVARIATE", help="Makes the groups; the first that divides people if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    quiet: Quiet = False,
) -> None:
    """Say what was read, then every problem.

    The exit code is 0 if the data can be used, 2 if not.
    """
    from holmes_fit.cli.check_text import check_as_json, check_as_text, problems_as_text
    from holmes_fit.trials import check_data

    result = check_data(data, protocol, participants)
    if as_json:
        typer.echo(check_as_json(result, by))
    elif not quiet:
        typer.echo(check_as_text(result, by))
    if result.problems:
        if not as_json:
            typer.echo(problems_as_text(result))
        raise typer.Exit(2)
