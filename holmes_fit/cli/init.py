"""``holmes-fit init``: a folder for a new study."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.errors import plain
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, shell


@command(
    "holmes-fit init my_study",
    "holmes-fit init my_study --from raw/ --keep task=response",
    "holmes-fit init my_study --from pilot.xlsx --kind table --sheet Trials",
)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", show_default=False, help="A new or an empty folder.")],
    files: Annotated[
        list[Path] | None, option("FILE", "Raw files to begin with, or a folder; can be repeated.", "--from")
    ] = None,
    kind: Annotated[str, option("KIND", f"With --from: {options.KINDS}.")] = "auto",
    *,
    raw: options.RawFiles,
    say: Output,
) -> None:
    """Lay out a folder for a new study.

    It holds a protocol to edit, with every key explained, and a small example that it reads. With --from, there are
    also the table of your files, and a first protocol for it, with what only you can decide.
    """
    if files:
        _from_files(folder, files, kind, raw, say)
        return
    if kind != "auto" or raw != options.RawFiles():
        raise typer.BadParameter(
            "--kind, --keep, --drop, --subject, --rename and --sheet have no meaning without --from"
        )
    from holmes_fit.trials.new_study import EXAMPLE, PROTOCOL, create_study

    written = create_study(folder)
    say.wrote(*written, silently=True)
    say.found(
        f"A new study is in {_named(folder)}. Put your data into data/, and edit {PROTOCOL}.",
        folder=folder,
    )
    say.next(f"cd {shlex.quote(str(folder))}", shell("check", EXAMPLE, "--protocol", PROTOCOL))


def _from_files(folder: Path, files: list[Path], kind: str, raw: options.RawFiles, say: Output) -> None:
    from holmes_fit.cli.check_text import check_as_text, check_facts, notices_as_text, problems_as_text
    from holmes_fit.cli.import_text import import_as_text, import_facts
    from holmes_fit.trials.importing.draft import draft_protocol
    from holmes_fit.trials.importing.study import DRAFT, TABLE, create_study_from
    from holmes_fit.trials.reading import check_data

    imported, name = raw.read(files, kind), plain(folder.absolute().name)
    draft = draft_protocol(imported.table, name)
    if draft.trials and say.may_ask():
        say.note(draft.undecided[0])
        if not typer.confirm("Leave those rows out?", default=True, err=True):
            draft = draft_protocol(imported.table, name, all_rows=True)
    written = create_study_from(folder, imported, draft)
    check = check_data(folder / TABLE, folder / DRAFT)
    say.wrote(*written, silently=True)
    questions = ["What only you can decide", *(f"  {plain(each, limit=1000)}" for each in draft.undecided), ""]
    asked = questions if draft.undecided else []
    say.found([*import_as_text(imported), "", *check_as_text(check), "", *asked])
    say.found(folder=folder, imported=import_facts(imported), check=check_facts(check))
    say.found(reasons=draft.reasons, undecided=draft.undecided)
    say.found(f"A new study is in {_named(folder)}, with your data in {TABLE}, and a first protocol in {DRAFT}.")
    if check.problems:
        say.warn(["The first protocol does not read them yet.", *problems_as_text(check)])
    if check.notices:
        say.warn(notices_as_text(check))
    say.next(f"cd {shlex.quote(str(folder))}", shell("check", TABLE, "--protocol", DRAFT))


def _named(folder: Path) -> str:
    return plain(str(folder), limit=300)
