"""``holmes-fit import``: raw files of an experiment become one table."""

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.atomic import check_outputs
from holmes_fit._support.errors import InputError, Problem, Quoted, plain
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, shell


@command(
    "holmes-fit import raw/*.json --out data/trials.csv",
    "holmes-fit import raw/ --from psychopy --keep loop=trials --drop cue=practice --out data/trials.csv",
    "holmes-fit import pilot.xlsx --sheet Trials --subject vp --rename key=choice --out data/trials.csv",
)
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", show_default=False, help="A file, several, or a folder; also zip and gz."),
    ],
    out: Annotated[Path, option("FILE", "The CSV; what was done goes beside it.", show_default=False)],
    kind: options.Kind = "auto",
    *,
    raw: options.RawFiles,
    force: options.Force = False,
    say: Output,
) -> None:
    """Make one table, a row a trial, of raw files.

    They are those of jsPsych, PsychoPy, Gorilla, lab.js or BIDS, or tidy tables: CSV, TSV, JSON, Excel, Parquet.
    """
    from holmes_fit.cli.import_text import import_as_text, import_facts

    check_outputs([out], force)
    check_outputs([out.with_suffix(".import.md")], force, (".md",))
    inside = [path for path in files if path.resolve() in (out.resolve(), *out.resolve().parents)]
    if inside:
        seen = Quoted(f"a place in {plain(str(inside[0]), limit=200)}, which is imported")
        raise InputError([Problem(f"output {plain(str(out), limit=200)}", seen, "a file elsewhere")])
    imported = raw.read(files, kind)
    say.found(import_as_text(imported), **import_facts(imported))
    say.wrote(*imported.write(out))
    say.next(shell("init", "my_study", "--from", out, "--kind", "table"))
