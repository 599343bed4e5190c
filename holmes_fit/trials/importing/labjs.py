"""Files of lab.js: one row a component of the study, screens as well as the loops around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holmes_fit.trials.importing.sheets import PEOPLE, Findings, Format, Sheet, column_of, lacking, unpacked, without

if TYPE_CHECKING:
    import pandas as pd

OTHERS = ("id", "code", "observation")
OF_PEOPLE = "(?!meta|url|time|unnamed_)"  # fields of forms have names of their own


def _marks(columns: set[str], name: str) -> str:
    other = next((other for other in ("sender_type", "sender_id") if other in columns), "")
    return f"columns sender and {other}" if other and "sender" in columns else ""


def prepare(sheets: list[Sheet], findings: Findings) -> list[Sheet]:
    """Spread ``meta``, the JSON with technical information in the first row, over columns of its own.

    ``sender`` is the component's title, ``sender_type`` its type, ``sender_id`` its place, as in ``1_0_2``;
    ``response``, ``correct``, ``duration`` (ms) and ``ended_on`` (``response``, ``timeout``, ``form submission``,
    ``skipped``, ``aborted``, ``completion``) are what happened; fields of forms have columns of their own ("Data
    format" and "Data storage", reference of lab.js; ``base/component.ts`` of its library).
    """
    for sheet in [sheet for sheet in sheets if "sender" not in sheet.table]:
        lacking(sheet, "no column sender", "a file of lab.js", findings)
    return [unpacked(sheet, findings) for sheet in sheets]


def select(sheet: Sheet, explicit: bool, findings: Findings) -> pd.DataFrame:
    """Leave out loops and sequences, and screens that nobody could answer, unless the senders to keep are named."""
    table, file = sheet.table, sheet.file
    if explicit:
        return table
    flow = column_of(table, "sender_type").str.startswith("flow.")
    table = without(table, flow, "loops and sequences (sender_type flow)", file, findings)
    unseen = column_of(table, "ended_on").isin(["skipped", "aborted"])
    table = without(table, unseen, "components that were skipped or aborted", file, findings)
    answered = (column_of(table, "ended_on") == "response") | (column_of(table, "response") != "")
    if not answered.any():
        answered = column_of(table, "ended_on") == "form submission"
    idle = ~table["sender"].isin(table["sender"][answered])
    names = ", ".join(dict.fromkeys(table["sender"][idle]))
    return without(table, idle, f"screens without any response: {names}", file, findings)


LABJS = Format(
    "labjs", _marks, prepare, select, by=("sender", "sender_type"), subjects=(*PEOPLE, OTHERS), of_people=OF_PEOPLE
)
