"""A new study that begins with raw files: their table, and a first protocol that reads it."""

import os
from pathlib import Path

from holmes_fit._support.atomic import written_whole
from holmes_fit.trials.importing.draft import Draft
from holmes_fit.trials.importing.reading import Imported
from holmes_fit.trials.new_study import create_study

TABLE = "data/trials.csv"
DRAFT = "protocols/draft.toml"


def create_study_from(folder: str | os.PathLike[str], imported: Imported, draft: Draft) -> tuple[Path, ...]:
    """Lay out a study folder with what was imported and its first protocol; return the files that were written."""
    root = Path(folder)
    written = create_study(root)
    with written_whole(root / DRAFT) as temporary:
        temporary.write_text(draft.toml, encoding="utf-8")
    return (*written, *imported.write(root / TABLE), root / DRAFT)
