"""Which columns of a table are cues, as far as names and values tell it, and how a protocol says so."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from holmes_fit._support.errors import plain
from holmes_fit.trials.cells import number
from holmes_fit.trials.importing.guesses import Column, Guesses, determines, joint
from holmes_fit.trials.importing.shapes import parts_of
from holmes_fit.trials.importing.sheets import IN_FILE, listed
from holmes_fit.trials.protocols.layout import NewColumn
from holmes_fit.trials.protocols.schema import RESERVED

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 12
LONG = 4  # trials of a stretch, at least on average
MANY_LEVELS = 6  # of which nobody may see more than half
ENOUGH = 50  # rows in which no cue agrees with all answers, as people slip
RARE = 0.05  # a value in fewer rows than that may mark odd trials
# What programs write down about the browser, the screen and the time of day.
TECHNICAL = re.compile(
    "time(stamp|zone)|date|browser|device|monitor|viewport|screen|framerate|version|useragent|(participant|user)os|schedule"
)
CLOCK = re.compile("[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?")
COUNTERS = re.compile("this(n|trialn|repn|index)$")
PRESENCE = (("0", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("absent", "present"), ("off", "on"))
# Pairs of words of which the first one is plainly the 0.
ZERO_FIRST = (
    *PRESENCE,
    ("left", "right"),
    ("sun", "rain"),
    ("incorrect", "correct"),
    ("wrong", "right"),
    ("low", "high"),
)


def features(
    guesses: Guesses, learner: pd.Series, choice: Column | None = None, restart: Column | None = None
) -> list[str]:
    """Return a line for each column that is a cue, and commented lines for those that may be one."""
    columns, made = _candidates(guesses)
    anew = {column.name: n for column in columns if restart and (n := _levels_of_learners(column, learner))}
    cues, maybe = _told_apart(guesses, columns, learner, choice, made, anew)
    guesses.made |= {column.name: made[column.name] for column in (*cues, *maybe) if column.name in made}
    for column in [column for column in cues if column.name in anew]:
        seen = f"{len(column.values)} names, of which a learner sees {anew[column.name]} at the most"
        guesses.reasons.append(f"features.{plain(column.name)}: {seen}; they are numbered anew with each restart")
    _ask_of_cues(guesses, cues, made)
    lines = []
    for column in cues:
        renamed = {"levels": [*range(1, anew.get(column.name, 0) + 1)], "anew": restart.name if restart else ""}
        lines.append(f"{toml_key(column.name)} = {inline(renamed) if column.name in anew else _feature(column)}")
    return lines + [f"# {toml_key(column.name)} = {_feature(column)}" for column in maybe]


def _candidates(guesses: Guesses) -> tuple[list[Column], dict[str, NewColumn]]:
    """Return the columns that are left, with packed ones in their parts, and what the parts are made of."""
    times = guesses.named("time")
    columns: list[Column] = []
    made: dict[str, NewColumn] = {}
    for column in [column for column in guesses.left() if column not in times and len(column.values) > 1]:
        parts = {} if _is_named_otherwise(guesses, column) else parts_of(column, guesses.columns)
        columns += parts.values() or [column]
        made |= {part.name: new for new, part in parts.items()}
    return columns, made


def _told_apart(
    guesses: Guesses,
    columns: list[Column],
    learner: pd.Series,
    choice: Column | None,
    made: Mapping[str, NewColumn],
    anew: Mapping[str, int],
) -> tuple[list[Column], list[Column]]:
    """Return the columns that are cues and those that may be, in the order of the file."""
    chosen: list[Column] = []
    maybe: list[Column] = []
    # The file's own before parts, two values before more, short words first: of those that say the same, the first one
    # is the cue.
    for column in sorted(
        columns, key=lambda column: (column.name in made, len(column.values) > 2, sum(map(len, column.values)))
    ):
        if why := _no_cue(guesses, column, learner, chosen, choice, anew):
            guesses.reasons.append(f"no cue: {plain(column.name)}, as {why}")
        elif column.name not in anew and (why := _doubtful(column, learner)):
            maybe.append(column)
            guesses.undecided.append(f"features.{plain(column.name)}: {why}; if it was a cue, take the # away")
        else:
            chosen.append(column)
    return [column for column in columns if column in chosen], maybe


def _ask_of_cues(guesses: Guesses, cues: list[Column], made: Mapping[str, NewColumn]) -> None:
    packed = defaultdict(list)
    for column in [column for column in cues if column.name in made]:
        packed[(made[column.name].of or ("",))[0]].append(f"{column.name} ({listed(column.values, 4)})")
    for name, parts in packed.items():
        advice = "each is a cue of its own here; to have one cue of the whole, name it with its levels instead"
        guesses.undecided.append(f"features.{plain(name)}: its cells have parts, {', '.join(parts)}; {advice}")
    for column in [column for column in cues if len(column.values) == 2 and not is_presence(column)]:
        advice = "levels = [...] would make a cue of each, which changes what the parameters mean"
        guesses.undecided.append(f"features.{plain(column.name)}: two words are one cue here; {advice}")
    if not cues:
        guesses.undecided.append("features: no column looks like a cue; name those that people saw before they chose")


def _levels_of_learners(column: Column, learner: pd.Series) -> int:
    """Return how many values of many a learner sees at most, if it is a few that come again; 0 otherwise."""
    by_learner = column.cells.groupby(learner)
    most = int(by_learner.nunique().max())
    few = len(column.values) >= MANY_LEVELS and 1 < most <= min(MOST_LEVELS, len(column.values) // 2)
    return most if few and column.is_filled and by_learner.size().median() >= 2 * most else 0


def _is_named_otherwise(guesses: Guesses, column: Column) -> bool:
    """Return whether a column's name says that it is about the trial and not a cue."""
    named = guesses.named("no cue") + guesses.named("trial")
    given = column.name in RESERVED or column.name.endswith(IN_FILE) or column in named
    return given or bool(COUNTERS.search(column.bare_name) or TECHNICAL.search(column.bare_name))


def _no_cue(
    guesses: Guesses,
    column: Column,
    learner: pd.Series,
    chosen: Sequence[Column],
    choice: Column | None,
    anew: Mapping[str, int],
) -> str:
    """Return why a column is surely no cue; nothing if it may be one."""
    if column in guesses.named("choice") + guesses.named("correct"):
        return "its name says that it is an answer, too"
    if _is_named_otherwise(guesses, column):
        return "its name says that it describes the trial, or comes after the choice"
    if all(CLOCK.fullmatch(value) for value in column.values):
        return "it holds times of day"
    if len(column.values) > MOST_LEVELS and column.name not in anew:
        return f"it has {len(column.values):,} values"
    if any(value is not None and value != round(value) for value in map(number, column.values)):
        return "it has numbers with decimals, which are amounts"
    if not column.varies_within(learner):
        return "it never changes within a learner"
    if column.is_whole and not column.cells.groupby(learner).apply(lambda cells: cells.duplicated().any()).any():
        return "it never repeats within a learner, as counters do"
    for other in [*chosen, *([choice] if choice and guesses.rows >= ENOUGH else [])]:
        if determines(other.cells, column.cells) and determines(column.cells, other.cells):
            return f"it says the same as {plain(other.name)}"
    if len(column.values) > 2 and chosen and determines(joint(chosen, guesses.rows), column.cells):
        return f"it follows from {listed(other.name for other in chosen)}"
    return ""


def _doubtful(column: Column, learner: pd.Series) -> str:
    """Return why a column may be no cue; nothing if it looks like one."""
    if not column.is_filled:
        advice = f"drop.{plain(column.name)} = {{ empty = true }} under [rows] leaves those rows out"
        return f"it has {int((column.cells == '').sum()):,} empty cells, and a cue cannot be empty ({advice})"
    if len(column.values) > 2 and None not in map(number, column.values):
        return f"it has the numbers {listed(column.values, 4)}, which may be levels of a cue or an amount"
    share = float(column.cells.value_counts(normalize=True).min())
    if len(column.values) == 2 and share < RARE:
        return f"one of its values is in {share:.1%} of the rows only, as if it marked odd trials"
    by_learner = column.cells.groupby(learner)
    runs = (column.cells != by_learner.shift()).groupby(learner).sum()
    if (runs == by_learner.nunique()).all() and len(column.cells) > LONG * runs.sum():
        advice = "name it under restart if people learn afresh with each"
        return f"each of {listed(column.values, 4)} comes in one stretch, as conditions and phases do ({advice})"
    return ""


def is_presence(column: Column) -> bool:
    """Return whether the values say that something is there, or not."""
    return tuple(value.lower() for value in zero_and_one(column.values)) in PRESENCE


def _feature(column: Column) -> str:
    if len(column.values) > 2:
        return f"{{ levels = [{', '.join(map(quoted, column.values))}] }}"
    codes = zero_and_one(column.values)
    return (
        '"binary"'
        if codes == ("0", "1")
        else f"{{ coding = {{ {toml_key(codes[0])} = 0, {toml_key(codes[1])} = 1 }} }}"
    )


def zero_and_one(values: Sequence[str]) -> tuple[str, str]:
    """Return two values, the one for 0 first."""
    lowered = {value.lower(): value for value in values}
    known = next((pair for pair in ZERO_FIRST if lowered.keys() == set(pair)), None)
    return (lowered[known[0]], lowered[known[1]]) if known else (values[0], values[-1])


def toml_key(text: str) -> str:
    """Return a TOML key."""
    return text if re.fullmatch("[A-Za-z0-9_-]+", text) else quoted(text)


def inline(entries: Mapping[str, object]) -> str:
    """Return a TOML table in one line."""
    pairs = [f"{toml_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in entries.items()]
    return f"{{ {', '.join(pairs)} }}"


def quoted(text: str) -> str:
    """Return a TOML string; JSON writes them alike."""
    return json.dumps(text, ensure_ascii=False)
