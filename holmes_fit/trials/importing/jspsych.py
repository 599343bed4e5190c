"""Files of jsPsych: one record a trial of the timeline, whatever the trial was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holmes_fit.trials.cells import number
from holmes_fit.trials.importing.sheets import (
    PEOPLE,
    Findings,
    Format,
    Sheet,
    column_of,
    lacking,
    names_of,
    unpacked,
    without,
)

if TYPE_CHECKING:
    import pandas as pd

# Plugins that show something or ask about the person; none of them is a trial that is learned from.
NOT_TRIALS = (
    *("preload", "fullscreen", "instructions", "call-function", "browser-check", "external-html", "resize"),
    *("virtual-chin", "initialize-camera", "initialize-microphone", "mirror-camera", "html-audio-response"),
    *("survey", "survey-text", "survey-likert", "survey-html-form", "survey-multi-choice", "survey-multi-select"),
    *("cloze", "webgazer-init-camera", "webgazer-calibrate", "webgazer-validate"),
)


def _marks(columns: set[str], name: str) -> str:
    pairs = (("trial_type", "trial_index"), ("trial_index", "time_elapsed"), ("trial_type", "internal_node_id"))
    pair = next((pair for pair in pairs if columns.issuperset(pair)), None)
    return f"columns {pair[0]} and {pair[1]}" if pair else ""


def prepare(sheets: list[Sheet], findings: Findings) -> list[Sheet]:
    """Lay nested records flat: the answers of surveys (``response.Q0``), and ``data`` saved as a record of its own.

    Every record has ``trial_type``, ``trial_index`` and ``time_elapsed``, what the plugin measured (``rt``,
    ``response``) and, merged into the same record, the ``data`` of the timeline. In CSV, nested answers are JSON within
    a cell and what is missing is the word ``null`` ("Data in jsPsych" and "Plugins", documentation of jsPsych).
    """
    return [_flat(sheet, findings) for sheet in sheets]


def _flat(sheet: Sheet, findings: Findings) -> Sheet:
    if "trial_type" not in sheet.table and "trial_index" not in sheet.table:
        lacking(sheet, "no column trial_type or trial_index", "a file of jsPsych", findings)
    sheet = unpacked(sheet.with_table(sheet.table.replace("null", "")), findings)
    names = {name: name.removeprefix("data.") for name in names_of(sheet.table) if name.startswith("data.")}
    names = {old: new for old, new in names.items() if new and new not in sheet.table}
    if names:
        findings.note(sheet.file, f"entries of data merged into the trials: {', '.join(names.values())}")
    return sheet.with_table(sheet.table.rename(columns=names))


def select(sheet: Sheet, explicit: bool, findings: Findings) -> pd.DataFrame:
    """Leave out plugins that are no trials, unless the types to keep are named."""
    index = column_of(sheet.table, "trial_index").map(number).astype("float64")
    back = int((index.groupby(sheet.table["subject"]).diff() < 0).sum())
    if back:
        findings.note(sheet.file, "trial_index goes back within a person; rows stay in the order of the file", back)
    kinds = column_of(sheet.table, "trial_type")
    idle = kinds.isin([] if explicit else NOT_TRIALS)
    rule = f"trial types that are no trials: {', '.join(dict.fromkeys(kinds[idle]))}"
    return without(sheet.table, idle, rule, sheet.file, findings)


JSPSYCH = Format("jspsych", _marks, prepare, select, by=("trial_type",), subjects=PEOPLE, of_people=r"responses?\.")
