"""A new study that begins with raw files: their table, and a first protocol that reads it."""

from __future__ import annotations

import os
from pathlib import Path

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.errors import plain
from holmes_fit.trials.importing.draft import Draft, draft_protocol
from holmes_fit.trials.importing.reading import Imported
from holmes_fit.trials.new_study import create_study

TABLE = "data/trials.csv"
DRAFT = "protocols/draft.toml"


def draft_of(folder: str | os.PathLike[str], imported: Imported) -> Draft:
    """Return the first protocol of a study, which has the name of its folder."""
    return draft_protocol(imported.table, plain(Path(folder).absolute().name))


def create_study_from(folder: str | os.PathLike[str], imported: Imported) -> tuple[Draft, tuple[Path, ...]]:
    """Lay out a study folder with what was imported; return the protocol, and the files that were written."""
    root = Path(folder)
    draft = draft_of(folder, imported)
    written = create_study(root)
    with written_whole(root / DRAFT) as temporary:
        temporary.write_text(draft.toml, encoding="utf-8")
    return draft, (*written, *imported.write(root / TABLE), root / DRAFT)
