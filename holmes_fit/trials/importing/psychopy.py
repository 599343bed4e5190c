"""Files of PsychoPy and PsychoJS: one CSV a person, a row for each entry of each loop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holmes_fit.trials.importing.sheets import (
    PEOPLE,
    Findings,
    Format,
    Sheet,
    column_of,
    lacking,
    names_of,
    with_column,
    without,
)

if TYPE_CHECKING:
    import pandas as pd

COUNTERS = (".thisN", ".thisTrialN", ".thisRepN")
ANSWERS = (".keys", ".response", ".clicked_name", ".rating", ".text", ".rt", ".corr", ".duration")
ONE_OF_A_LIST = re.compile(r"""\[(?:'([^']*)'|"([^"]*)"|([-+.0-9eE]+))\]""")


def _marks(columns: set[str], name: str) -> str:
    counter = next((column for column in sorted(columns) if column.endswith(COUNTERS)), "")
    if counter:
        return f"column {counter}"
    return "column psychopyVersion" if "psychopyVersion" in columns else ""


def prepare(sheets: list[Sheet], findings: Findings) -> list[Sheet]:
    """Name the loop of each row, leave out the rows outside of loops, and take the brackets off single answers.

    A loop called ``trials`` has the columns ``trials.thisN``, ``.thisTrialN``, ``.thisRepN`` and ``.thisIndex``, filled
    in its rows and in those of loops within it; a keyboard has ``key_resp.keys``, ``.rt`` and ``.corr``, with ``None``
    for no key ("Data outputs", documentation of PsychoPy; ``ExperimentHandler``). Routines outside of loops leave rows
    without counters, and every line ends in a separator, which is an unnamed last column.
    """
    return [looped for sheet in sheets if (looped := _with_loops(sheet, findings)) is not None]


def _with_loops(sheet: Sheet, findings: Findings) -> Sheet | None:
    table = sheet.table
    loops: dict[str, str] = {}
    for suffix in COUNTERS:
        for column in table.columns:
            if column.endswith(suffix):
                loops.setdefault(column.removesuffix(suffix), column)
    if not loops and sheet.found:
        findings.note(sheet.file, "left aside, as no loop was begun", len(table))
    elif not loops:
        lacking(sheet, "no column of a loop", "a column such as trials.thisN", findings)
    if not loops:
        return None
    # The counter of an inner loop changes more often, and its columns come later.
    changes = {loop: int((table[column] != table[column].shift()).sum()) for loop, column in loops.items()}
    order = {column: i for i, column in enumerate(table.columns)}
    outer_first = sorted(loops, key=lambda loop: (changes[loop], order[loops[loop]]))
    loop_of_row = column_of(table, "")
    for loop in outer_first:
        loop_of_row = loop_of_row.mask(table[loops[loop]] != "", loop)
    table = with_column(table, "loop", loop_of_row, sheet.file, findings)
    table = without(table, table["loop"] == "", "rows outside of any loop", sheet.file, findings)
    return sheet.with_table(_plain_answers(table, sheet, findings))


def _plain_answers(table: pd.DataFrame, sheet: Sheet, findings: Findings) -> pd.DataFrame:
    table = table.copy()
    for name in [name for name in names_of(table) if name.endswith(ANSWERS)]:
        bare = {cell: text for cell in table[name].unique() if (text := _bare(cell)) != cell}
        changed = int(table[name].isin(bare.keys() - {"None"}).sum()) if bare else 0
        if changed:
            findings.note(sheet.file, f"lists of one entry in column {name} became that entry", changed)
        if bare:
            table[name] = table[name].replace(bare)
    return table


def _bare(cell: str) -> str:
    found = ONE_OF_A_LIST.fullmatch(cell)
    return "" if cell == "None" else next(filter(None, found.groups()), "") if found else cell


def select(sheet: Sheet, explicit: bool, findings: Findings) -> pd.DataFrame:
    """Leave out loops in which nothing was ever answered, unless the loops to keep are named."""
    table = sheet.table
    answers = [name for name in names_of(table) if name.endswith(ANSWERS)]
    if explicit or not answers:
        return table
    answered = (table[answers] != "").any(axis=1)
    idle = ~table["loop"].isin(table["loop"][answered])
    rule = f"loops in which nothing was answered: {', '.join(dict.fromkeys(table['loop'][idle]))}"
    return without(table, idle, rule, sheet.file, findings)


PSYCHOPY = Format("psychopy", _marks, prepare, select, by=("loop",), subjects=PEOPLE)
