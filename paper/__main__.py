"""``python -m paper``: the command, which speaks as those of holmes-fit do."""

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli import run
from holmes_fit.cli.app import speaking
from holmes_fit.cli.options import Workers, option
from holmes_fit.cli.output import Output
from paper.run import REPORT, keep, replicate
from paper.studies import STUDIES

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
@speaking
def paper(
    which: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY", help=f"Some of {', '.join(STUDIES)}; all by default.")
    ] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help="As the authors' public code does.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="About a tenth.")] = False,
    out: Annotated[Path, option("DIR", "A new folder, or one to go on in.")] = Path("runs/replication"),
    kept: Annotated[Path | None, option("DIR", "A folder for what is small of a whole replication.", "--keep")] = None,
    workers: Workers = None,
    *,
    say: Output,
) -> None:
    """Run the paper's simulations, and set each result beside the published one.

    Every study gives CSV tables (single runs, summary, comparison) and figures (PNG, PDF). All of them together are run
    both as written and as published, and one PDF reports everything; --as-published then says whose figures it shows.
    """
    if kept is not None and set(which or ()) not in (set(), set(STUDIES)):
        raise typer.BadParameter("--keep is for a whole replication: name no study")
    say.safe_in(out)
    with progress_bar("replicating", say.quiet) as progress:
        found = replicate(which or (), out, quick=quick, as_published=as_published, workers=workers, progress=progress)
    files = [*found.files, *(keep(found, kept) if kept is not None else ())]
    say.found([result.in_one_line() for result in found.results])
    say.wrote(*(path for path in files if path.name in ("comparison.csv", REPORT)))


if __name__ == "__main__":
    run(app, "python -m paper")
