"""``holmes-fit replicate``: the paper's simulations, each result beside the published one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output, rows


@command(
    "holmes-fit replicate forward --as-published --out forward/",
    "holmes-fit replicate all --quick --out quick/",
    "holmes-fit replicate all --as-published --out runs/replication",
)
def replicate(
    which: Annotated[
        str, typer.Argument(metavar="STUDY", help="backward, forward, conditioning, ablation, sweep, or all of them.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", show_default=False, help="A new folder, or one to go on in after a stop.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Run about a tenth.")] = False,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Run HOLMES as its authors' public code does, not as their text.")
    ] = False,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes; all cores by default.")] = None,
    *,
    say: Output,
) -> None:
    """Reproduce the paper, each result beside the published one.

    Every study gives CSV tables (single runs, summary, comparison) and figures (PNG, PDF). With "all", HOLMES is run
    both as written and as published, and one PDF reports everything; --as-published then says whose figures it shows.
    """
    from paper.run import replicate as run

    say.safe_in(out)
    with progress_bar("replicating", say.quiet) as progress:
        found = run(which, out, quick=quick, as_published=as_published, workers=workers, progress=progress)
    say.found(
        "\n".join(result.in_one_line() for result in found.results),
        folder=out,
        studies=[
            {
                "study": result.study,
                "reading": result.reading,
                "words": result.in_one_line(),
                "comparison": rows(result.comparison),
                "headlines": rows(result.headlines),
            }
            for result in found.results
        ],
    )
    say.wrote(*(path for path in found.files if path.name in ("comparison.csv", "replication.pdf")))
