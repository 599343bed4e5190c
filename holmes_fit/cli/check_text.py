"""The result of a check, as text for people and as facts for programs."""

from collections.abc import Iterable, Iterator

import pandas as pd

from holmes_fit._support.errors import folded, plain
from holmes_fit.cli.output import counted, rows
from holmes_fit.trials.cohorts import ROWS_LEFT_OUT, Cohort
from holmes_fit.trials.curves import BLOCK, curves_within
from holmes_fit.trials.reading import Check
from holmes_fit.trials.summaries import cohort_summary, learning_curve

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
LISTED = 20  # people with excluded answers who are named one by one
LEFT_OUT = "person left out"  # the consequence that the rules give
LEFT = "  learners"  # who are left at each point of a curve
NAME = 24  # characters of a name in a table


def check_as_text(check: Check, by: str | None = None) -> Iterator[str]:
    """Say what was read; the problems are not in it."""
    cohort = check.cohort
    files = ", ".join(check.files[:3]) + (f" and {len(check.files) - 3} more" if len(check.files) > 3 else "")
    yield f"files      {len(check.files):,}: {files}" if check.files else "files      0"
    yield f"rows       {check.rows:,}"
    yield f"subjects   {check.subjects:,}"
    if cohort is not None:
        yield from _cohort_lines(cohort, by)
    yield from (f"note       {plain(note, limit=1000)}" for note in _folded_notes(check))


def _folded_notes(check: Check) -> Iterator[str]:
    """Give each note once, with the number of files that it is about."""
    known, files = set(check.files), dict[str, list[str]]()
    for note in check.notes:
        file, _, text = note.partition(": ")
        about = (text, file) if file in known else (note, "")
        files.setdefault(about[0], []).append(about[1])
    for text, names in files.items():
        more = f" and {counted(len(names) - 1, 'more file')}" if len(names) > 1 and names[0] else ""
        yield f"{names[0]}{more}: {text}" if names[0] else text


def _cohort_lines(cohort: Cohort, by: str | None) -> Iterator[str]:
    everyone = cohort_summary(cohort, by).iloc[0]
    yield f"kept       {counted(everyone['subjects'], 'subject')}, {counted(everyone['trials'], 'trial')}"
    yield f"restarts   {_restarts(cohort)}; {counted(everyone['learners'], 'learner')}"
    yield f"missed     {counted(everyone['missed'], 'answer')} ({everyone['missed'] / everyone['trials']:.1%})"
    yield f"feedback   missing on {counted(everyone['no_feedback'], 'trial')}"
    yield from _exclusion_lines(cohort.exclusions)
    yield ""
    curve = learning_curve(cohort, by)
    yield f"Answers that equal the outcome, by {_time(curve)}"
    yield from curve_lines(curve)
    yield ""
    for name, points in curves_within(cohort):
        yield f"The same by {plain(name, NAME)}"
        yield from curve_lines(points)
        yield ""


def _time(curve: pd.DataFrame) -> str:
    is_by_block = len(curve) > 0 and curve["by"].iloc[0] == BLOCK
    return "block of the file" if is_by_block else "trial of a learner"


def _restarts(cohort: Cohort) -> str:
    columns = cohort.protocol.columns.restart
    return f"a new learner with each {', '.join(plain(name, NAME) for name in columns)}" if columns else "none"


def _exclusion_lines(exclusions: pd.DataFrame) -> Iterator[str]:
    """Give everyone who was left out, then people of whom answers were, each with the reason.

    Rules for rows say in a note of their own, each with its number, what they have left out.
    """
    exclusions = exclusions[exclusions["consequence"] != ROWS_LEFT_OUT]
    if exclusions.empty:
        yield "excluded   nobody, and no answers"
        return
    is_person = exclusions["consequence"] == LEFT_OUT
    people, answers = exclusions[is_person], exclusions[~is_person]
    n_people, n_others = (counted(each["subject"].nunique(), "person", "people") for each in (people, answers))
    yield f"excluded   {n_people}; answers of {n_others}"
    for row in pd.concat([people, answers.head(LISTED)]).to_dict("records"):
        name = plain(str(row["subject"]), NAME)
        yield f"  {name}: {row['consequence']}; {row['rule']}: saw {row['seen']}, allowed: {row['allowed']}"
    if len(answers) > LISTED:
        yield f"  and answers of {counted(len(answers) - LISTED, 'more person', 'more people')}; --json lists them all"


def curve_lines(curve: pd.DataFrame) -> Iterator[str]:
    """Give a table of learning curves: a line a group, with percentages, bars, and how many learners there are."""
    header = curve.sort_values(["first", "last"])["label"].drop_duplicates().tolist()
    cells = max(5, *map(len, header)) + 1 if header else 6
    names = {group: plain(str(group), NAME) for group in curve["group"].unique()}
    differ = (curve.groupby("group")["learners"].nunique() > 1).any()
    width = max(map(len, ["group", *names.values(), *([LEFT] if differ else [])]))
    yield f"  {'group':{width}} {''.join(f'{text:>{cells}}' for text in header)}"
    for group, own in curve.groupby("group", sort=False):
        at = own.set_index("label").reindex(header)
        percent = "".join(f"{NOTHING if pd.isna(value) else f'{value:.0%}':>{cells}}" for value in at["accuracy"])
        counts = own["learners"]
        everywhere = f"  {counted(counts.iloc[0], 'learner')}" if counts.nunique() == 1 else ""
        yield f"  {names[group]:{width}} {percent}  {sparkline(at['accuracy'])}{everywhere}"
        if not everywhere:
            numbers = "".join(f"{n:>{cells},.0f}" for n in at["learners"].fillna(0))
            yield f"  {LEFT:{width}} {numbers}"


def sparkline(proportions: Iterable[float]) -> str:
    """Return a bar for each proportion: the lowest for 0, the highest for 1."""
    return "".join(NOTHING if pd.isna(p) else BARS[min(int(p * len(BARS)), len(BARS) - 1)] for p in proportions)


def problems_as_text(check: Check) -> Iterator[str]:
    """Say every problem, a line each."""
    yield f"{counted(len(check.problems), 'problem')}:"
    yield from (f"  {text}" for text in folded(check.problems))


def notices_as_text(check: Check) -> Iterator[str]:
    """Say what is probably wrong, though the data can be read."""
    if check.notices:
        yield "Look at this before anything is fitted:"
    yield from (f"  {plain(notice.text, limit=1000)}" for notice in check.notices)


def check_facts(check: Check, by: str | None = None) -> dict[str, object]:
    """Return everything about a check, for programs; the problems are not in it."""
    cohort = check.cohort
    facts: dict[str, object] = {name: getattr(check, name) for name in ("files", "rows", "subjects", "notes")}
    facts["notices"] = [notice._asdict() for notice in check.notices]
    if cohort is not None:
        facts["groups"] = rows(cohort_summary(cohort, by))
        facts["exclusions"] = rows(cohort.exclusions)
        facts["learning_curve"] = rows(learning_curve(cohort, by))
        facts["curves"] = {name: rows(points) for name, points in curves_within(cohort)}
    return facts
