"""``holmes-fit report``: a run as a PDF for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit.cli.app import app, examples
from holmes_fit.cli.options import Force, Quiet, RunFolder, say_written


@app.command(
    epilog=examples(
        "holmes-fit report runs/pilot --out pilot.pdf",
        "holmes-fit report runs/pilot --out pilot.pdf --by group",
        "holmes-fit report runs/pilot --out short.pdf --pages summary,comparison --figures figures",
    )
)
def report(
    run: RunFolder,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The PDF.")] = Path("cohort.pdf"),
    by: Annotated[
        str | None, typer.Option(metavar="COVARIATE", help="One PDF for each value of a covariate, such as group.")
    ] = None,
    pages: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Some of its pages, such as summary,comparison,people.")
    ] = None,
    preset: Annotated[
        str, typer.Option(metavar="NAME", help="What goes into it: a shipped preset, or the path of a TOML.")
    ] = "default",
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also each figure as PNG and SVG, and what it shows as CSV.")
    ] = None,
    recovery: Annotated[
        Path | None, typer.Option(metavar="REC", help="A recovery study of the same design; RUN/recovery by default.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a cohort as a PDF, from a saved run alone. Nothing is fitted.

    Pages whose results the run does not have are left out, and the report says so. The same run gives the same bytes.
    """
    from holmes_fit.reporting.cohort import report as write_report

    chosen = None if pages is None else [name.strip() for name in pages.split(",")]
    written = write_report(
        run, out, by=by, pages=chosen, preset=preset, figures=figures, recovery=recovery, force=force
    )
    pdfs = [path for path in written if path.suffix == ".pdf"]
    say_written(pdfs, quiet)
    if figures is not None and not quiet:
        typer.echo(f"wrote {len(written) - len(pdfs)} files of figures and tables", err=True)
