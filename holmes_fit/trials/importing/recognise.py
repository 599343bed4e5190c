"""Which program wrote a file, by the columns that no other program writes."""

from collections.abc import Iterable, Mapping

from holmes_fit._support.errors import Quoted
from holmes_fit.trials.importing.bids import BIDS, is_events_file
from holmes_fit.trials.importing.gorilla import GORILLA
from holmes_fit.trials.importing.jspsych import JSPSYCH
from holmes_fit.trials.importing.labjs import LABJS
from holmes_fit.trials.importing.psychopy import PSYCHOPY
from holmes_fit.trials.importing.sheets import Findings, Format, Sheet, listed

TABLE = Format("table", lambda columns, name: "")  # tidy already: what no other format knows
FORMATS: Mapping[str, Format] = {each.kind: each for each in (JSPSYCH, PSYCHOPY, GORILLA, LABJS, BIDS, TABLE)}


def reasons(sheet: Sheet) -> dict[str, str]:
    """Return the kinds that a table may be of, each with the reason."""
    columns = set(sheet.table.columns)
    found = {kind: why for kind, each in FORMATS.items() if (why := each.marks(columns, sheet.name))}
    if found.keys() == {"bids"} and not is_events_file(sheet.name) and sheet.name.lower() != "participants":
        found["table"] = "its name tells no person"
    return found


def recognise(sheets: list[Sheet], findings: Findings) -> tuple[Format, list[Sheet]]:
    """Return the format of the files and those of them that have it; report files that may be of several."""
    kinds = {id(sheet): reasons(sheet) for sheet in sheets}
    for sheet in sheets:
        if len(kinds[id(sheet)]) > 1:
            found = "; ".join(f"{kind} ({why})" for kind, why in kinds[id(sheet)].items())
            findings.problems.add(
                sheet.file, Quoted(f"columns of several kinds: {found}"), *_one_kind(kinds[id(sheet)])
            )
    told = {next(iter(found)) for found in kinds.values() if len(found) == 1}
    kind = next(iter(told)) if len(told) == 1 else "table"
    if len(told) > 1:
        files = "; ".join(
            f"{kind}: {listed([sheet.file for sheet in sheets if kind in kinds[id(sheet)]], 2)}"
            for kind in sorted(told)
        )
        findings.problems.add("data", Quoted(f"files of several kinds: {files}"), *_one_kind(told))
    fitting = [sheet for sheet in sheets if kind in kinds[id(sheet)] or not told]
    for sheet in sheets:
        if sheet not in fitting and not kinds[id(sheet)]:
            _set_aside(sheet, kind, findings)
        elif sheet in fitting:
            why = kinds[id(sheet)].get(kind) or "no column that another program writes"
            findings.note(sheet.file, f"read as {kind}: {why}", len(sheet.table))
    return FORMATS[kind], fitting


def of_kind(sheets: list[Sheet], kind: str, findings: Findings) -> list[Sheet]:
    """Return the files of a kind that the user has named; of those in folders and archives, the ones that have it."""
    fitting = [sheet for sheet in sheets if kind == "table" or not sheet.found or kind in reasons(sheet)]
    for sheet in sheets:
        if sheet not in fitting:
            _set_aside(sheet, kind, findings)
        else:
            findings.note(sheet.file, f"read as {kind}, as asked", len(sheet.table))
    return fitting


def _one_kind(kinds: Iterable[str]) -> tuple[str, str]:
    names = ", ".join(repr(kind) for kind in sorted(kinds))
    return "files of one kind", f"Say by the argument kind which one, {names}, or import them one kind at a time."


def _set_aside(sheet: Sheet, kind: str, findings: Findings) -> None:
    if sheet.found:
        findings.note(sheet.file, f"left aside, as it is no file of {kind}", len(sheet.table))
    else:
        allowed = f"files of {kind}, as the others are"
        findings.problems.add(sheet.file, Quoted(f"a table with the columns {listed(sheet.table.columns)}"), allowed)
