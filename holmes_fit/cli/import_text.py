"""What an import did to the files, as text for people and as facts for programs."""

from collections.abc import Iterator

from holmes_fit.trials.importing.reading import Imported
from holmes_fit.trials.importing.sheets import Note, listed

LISTED = 20  # kinds of notes; the file beside the table has every one


def import_as_text(imported: Imported) -> Iterator[str]:
    """Say what was done, that of many files in one line, and what came of it."""
    by_rule: dict[str, list[Note]] = {}
    for note in imported.notes:
        by_rule.setdefault(note.rule, []).append(note)
    yield from (str(_joined(notes)) for notes in list(by_rule.values())[:LISTED])
    if len(by_rule) > LISTED:
        yield f"and {len(by_rule) - LISTED:,} more notes, which are beside the table"
    yield f"{imported!r}"[1:-1]


def _joined(notes: list[Note]) -> Note:
    if len(notes) == 1:
        return notes[0]
    counts = [note.rows for note in notes if note.rows is not None]
    files = listed([note.file if len(note.file) <= 40 else f"…{note.file[-39:]}" for note in notes], 2)
    return Note(f"{len(notes):,} files ({files})", notes[0].rule, sum(counts) if counts else None)


def import_facts(imported: Imported) -> dict[str, object]:
    """Return everything about an import, for programs."""
    table = imported.table
    notes = [note._asdict() for note in imported.notes]
    return {"kind": imported.kind, "rows": len(table), "columns": list(table.columns), "notes": notes}
