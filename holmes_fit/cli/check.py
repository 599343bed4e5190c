"""``holmes-fit check``: what a file holds, and everything that is wrong with it."""

from typing import Annotated

import typer

from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import BAD_INPUT, Output, shell


@command(
    "holmes-fit check pilot.csv --protocol weather_prediction",
    "holmes-fit check data/ --protocol protocols/my_task.toml --participants people.csv",
    "holmes-fit check pilot.csv --protocol shepard --by group --json",
)
def check(
    data: options.Data,
    protocol: options.ProtocolName,
    participants: options.Participants = None,
    by: Annotated[
        str | None, option("COVARIATE", "Makes the groups; the first that divides people if not given.")
    ] = None,
    *,
    say: Output,
) -> None:
    """Say what was read, then every problem.

    The exit code is 0 if the data can be used, 3 if something should be looked at before, 2 if they cannot be used.
    """
    from holmes_fit.cli.check_text import check_as_text, check_facts, notices_as_text, problems_as_text
    from holmes_fit.trials.reading import check_data

    result = check_data(data, protocol, participants)
    say.found(check_as_text(result, by), **check_facts(result, by))
    if result.problems:
        say.give(problems_as_text(result))
        say.problems(result.problems)
        raise typer.Exit(BAD_INPUT)
    if result.notices:
        say.warn(notices_as_text(result))
    joined = [] if participants is None else ["--participants", participants]
    say.next(shell("fit", *data, "--protocol", protocol, *joined, "--quick", "--out", "runs/look"))
