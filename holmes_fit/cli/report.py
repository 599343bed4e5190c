"""``holmes-fit report``: a run as a PDF for people."""

from pathlib import Path
from typing import Annotated

import typer

import holmes_fit as hf
from holmes_fit._support.errors import plain
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output


@command(
    "holmes-fit report runs/pilot --out pilot.pdf",
    "holmes-fit report runs/pilot --out pilot.pdf --by group",
    "holmes-fit report runs/pilot --out short.pdf --pages summary,comparison --figures figures",
    "holmes-fit report runs/pilot --out paper.pdf --methods methods",
    "holmes-fit report runs/pilot --out shared.pdf --anonymous",
    "holmes-fit report runs/pilot --out s07.pdf --person s07",
    "holmes-fit report runs/pilot --out trees.pdf --pages trees --trees s07:3 --trees s09",
)
def report(
    run: options.RunFolder,
    out: Annotated[Path, option("FILE", "The PDF.")] = Path("cohort.pdf"),
    by: Annotated[str | None, option("COVARIATE", "One PDF for each value of a covariate, such as group.")] = None,
    pages: Annotated[str | None, option("NAME,NAME", "Some of its pages, such as summary,comparison,people.")] = None,
    preset: Annotated[
        str,
        option(
            "NAME", "What goes into it: a shipped preset, or the path of a TOML.", complete=options.shipped("reports")
        ),
    ] = "default",
    figures: Annotated[
        Path | None, option("DIR", "Also each figure as PNG and SVG, and what it shows as CSV, into a new folder.")
    ] = None,
    methods: Annotated[
        Path | None, option("DIR", "Also the methods as Markdown, LaTeX and BibTeX, into a new folder.")
    ] = None,
    recovery: Annotated[
        Path | None, option("REC", "A recovery study of the same design; RUN/recovery by default.")
    ] = None,
    person: Annotated[str | None, option("NAME", "A sheet of one page about one person, instead of all pages.")] = None,
    trees: Annotated[
        list[str] | None, option("SUBJECT[:PROBLEM]", "Whose tree is shown, and of which problem; can be repeated.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Numbers for people's names; who is who goes into FILE_key.csv, apart.")
    ] = False,
    force: options.Force = False,
    *,
    say: Output,
) -> None:
    """Write the report of a cohort as a PDF, from a saved run alone. Nothing is fitted.

    Pages whose results the run does not have are left out, and the report says so. The same run gives the same bytes.
    """
    from holmes_fit.reporting.run_data import read_data
    from holmes_fit.reporting.sections.summary import headlines

    chosen = None if pages is None else [name.strip() for name in pages.split(",")]
    written = hf.report(
        run,
        out,
        by=by,
        pages=chosen,
        preset=preset,
        figures=figures,
        methods=methods,
        recovery=recovery,
        person=person,
        trees=trees or (),
        anonymous=anonymous,
        force=force,
    )
    pdfs = [path for path in written if path.suffix == ".pdf"]
    drawn = [path for path in written if figures is not None and figures in path.parents]
    say.wrote(*(path for path in written if path not in drawn))
    if drawn:
        say.note(f"wrote {len(drawn)} files of figures and tables")
        say.wrote(*drawn, silently=True)
    data = read_data(run, recovery=recovery)
    words = headlines(data)
    names = ", ".join(plain(str(path), limit=300) for path in pdfs)
    what = f"{'report' if len(pdfs) == 1 else 'reports'}{', a first look,' if data.label else ''}"
    say.found([*words, f"The {what} can be read in {names}."], words=words, label=data.label)
