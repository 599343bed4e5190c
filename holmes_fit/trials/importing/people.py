"""Who did the trials of a file, and what they said once for all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from holmes_fit._support.errors import Quoted, plain
from holmes_fit.trials.importing.sheets import SERVICES, Findings, Format, Sheet, listed, names_of, with_column

if TYPE_CHECKING:
    import pandas as pd

FILE_NAME = "file name"  # the subject is the name of the file
OF_THE_LINK = re.compile(r"(meta\.)?url\.|metadata\.")


def told_apart(sheets: list[Sheet]) -> list[Sheet]:
    """Call files by the first folders in which they differ, if some have the same name, as p1/data.txt and p2/data.txt.

    Where all have the same name, as those that JATOS packs, the folder alone names the person.
    """
    folders = [PurePosixPath(sheet.file.replace("\\", "/")).parts[:-1] for sheet in sheets]
    levels = [level for level in zip_longest(*folders, fillvalue="") if len(set(level)) > 1]
    if not levels or len({(sheet.name, sheet.part) for sheet in sheets}) == len(sheets):
        return sheets
    alone = len({sheet.name for sheet in sheets}) == 1
    called = [
        folder if alone or not folder else f"{folder}-{sheet.name}"
        for folder, sheet in zip(levels[0], sheets, strict=True)
    ]
    return [replace(sheet, called=name) for sheet, name in zip(sheets, called, strict=True)]


def with_subject(sheet: Sheet, form: Format, wanted: str | None, findings: Findings) -> Sheet:
    """Name the person of each row in a column ``subject``, from the best column there is, or the file's name."""
    table = sheet.table
    columns = _subject_columns(sheet, form, wanted, findings)
    if not columns:
        source = "name of its folder" if sheet.called else "file's name"
        findings.note(sheet.file, f"subject {plain(sheet.person)} from the {source}")
        return sheet.with_table(with_column(table, "subject", sheet.person, sheet.file, findings))
    cells = table[columns[0]].str.strip()
    people = [name for name in cells.unique() if name]
    blank = cells == ""
    if blank.any() and len(people) == 1:
        findings.note(sheet.file, f"subject {plain(people[0])} filled in where it was empty", int(blank.sum()))
        cells = cells.mask(blank, people[0])
    table = table.drop(columns=columns[0])
    if columns[0] != "subject":
        findings.note(sheet.file, f"column {plain(columns[0])} renamed to subject")
    return sheet.with_table(with_column(table, "subject", cells, sheet.file, findings))


def _subject_columns(sheet: Sheet, form: Format, wanted: str | None, findings: Findings) -> list[str]:
    table = sheet.table
    if wanted == FILE_NAME:
        return []
    if wanted is not None:
        if wanted not in table:
            findings.problems.add(
                f"{sheet.file}, header", Quoted(f"no column {plain(wanted)!r}"), "the column of the subject"
            )
            return []
        return [wanted]
    for tier in form.subjects:
        named = sorted(
            (name for name in names_of(table) if _bare(name) in tier), key=lambda name: tier.index(_bare(name))
        )
        there = [name for name in named if (table[name].str.strip() != "").any()]
        if len({tuple(table[name]) for name in there}) > 1 and tier is not SERVICES:
            seen = Quoted(f"several columns that may name the person: {listed(there)}")
            findings.problems.add(f"{sheet.file}, header", seen, "one of them", "Name it by the argument subject.")
        if len(there) > 1:
            findings.note(sheet.file, f"of {listed(there)}, the first is taken for the person")
        if there:
            return there
    return []


def _bare(name: str) -> str:
    return re.sub("[^a-z0-9]", "", OF_THE_LINK.sub("", name).lower())


def check_named(sheet: Sheet, findings: Findings) -> None:
    """Report trials of nobody."""
    blank = sheet.table["subject"] == ""
    if blank.any():
        seen = Quoted(f"{int(blank.sum()):,} rows without a name")
        allowed = "a name in each row, or one person in the file"
        findings.problems.add(sheet.place(blank.idxmax(), "subject"), seen, allowed)


def with_what_was_said(trials: pd.DataFrame, sheet: Sheet, form: Format, findings: Findings) -> pd.DataFrame:
    """Carry answers that people gave once, in rows that are no trials, such as their age, to all of their trials."""
    if form.of_people is None:
        return trials
    others = sheet.table.drop(index=trials.index)
    carried = []
    for name in [name for name in names_of(others.drop(columns="subject")) if re.match(form.of_people, name)]:
        if (trials[name] != "").any():
            continue
        said = others.loc[others[name] != "", ["subject", name]].drop_duplicates().set_index("subject")[name]
        if len(said) and said.index.is_unique:
            trials = trials.assign(**{name: trials["subject"].map(said).fillna("")})
            carried.append(name)
    if carried:
        findings.note(sheet.file, f"answers given once, carried to all trials of the person: {listed(carried)}")
    return trials
