"""Which columns of a table are cues, as far as names and values tell it, and how a protocol says so."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holmes_fit._support.errors import plain
from holmes_fit.trials.cells import number
from holmes_fit.trials.importing.guesses import Column, Guesses, determines, joint
from holmes_fit.trials.importing.sheets import IN_FILE, listed
from holmes_fit.trials.protocols.schema import RESERVED

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 12
ENOUGH = 50  # rows in which no cue agrees with all answers, as people slip
RARE = 0.05  # a value in fewer rows than that may mark odd trials
# What programs write down about the browser, the screen and the time of day.
TECHNICAL = re.compile(
    "time(stamp|zone)|date|browser|device|monitor|viewport|screen|framerate|version|useragent|(participant|user)os|schedule"
)
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


def features(guesses: Guesses, learner: pd.Series, choice: Column | None = None) -> list[str]:
    """Return a line for each column that is a cue, and commented lines for those that may be one."""
    times = guesses.named("time")
    left = [column for column in guesses.left() if column not in times and len(column.values) > 1]
    chosen: list[Column] = []
    maybe: list[Column] = []
    # Two values before more, and short words first: of columns that say the same, the first one is the cue.
    for column in sorted(left, key=lambda column: (len(column.values) > 2, sum(map(len, column.values)))):
        if why := _no_cue(guesses, column, learner, chosen, choice):
            guesses.reasons.append(f"no cue: {plain(column.name)}, as {why}")
        elif why := _doubtful(column):
            maybe.append(column)
            guesses.undecided.append(f"features.{plain(column.name)}: {why}; if it was a cue, take the # away")
        else:
            chosen.append(column)
    cues = [column for column in left if column in chosen]
    for column in [column for column in cues if len(column.values) == 2 and not _is_presence(column)]:
        advice = "levels = [...] would make a cue of each, which changes what the parameters mean"
        guesses.undecided.append(f"features.{plain(column.name)}: two words are one cue here; {advice}")
    if not chosen:
        guesses.undecided.append("features: no column looks like a cue; name those that people saw before they chose")
    lines = [f"{toml_key(column.name)} = {_feature(column)}" for column in cues]
    return lines + [f"# {toml_key(column.name)} = {_feature(column)}" for column in maybe]


def _no_cue(
    guesses: Guesses, column: Column, learner: pd.Series, chosen: Sequence[Column], choice: Column | None
) -> str:
    """Return why a column is surely no cue; nothing if it may be one."""
    if column in guesses.named("choice") + guesses.named("correct"):
        return "its name says that it is an answer, too"
    named = guesses.named("no cue") + guesses.named("trial")
    given = column.name in RESERVED or column.name.endswith(IN_FILE) or column in named
    if given or COUNTERS.search(column.bare_name) or TECHNICAL.search(column.bare_name):
        return "its name says that it describes the trial, or comes after the choice"
    if len(column.values) > MOST_LEVELS:
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


def _doubtful(column: Column) -> str:
    """Return why a column may be no cue; nothing if it looks like one."""
    if not column.is_filled:
        return f"it has {int((column.cells == '').sum()):,} empty cells, and a cue cannot be empty"
    if len(column.values) > 2 and None not in map(number, column.values):
        return f"it has the numbers {listed(column.values, 4)}, which may be levels of a cue or an amount"
    share = float(column.cells.value_counts(normalize=True).min())
    if len(column.values) == 2 and share < RARE:
        return f"one of its values is in {share:.1%} of the rows only, as if it marked odd trials"
    return ""


def _is_presence(column: Column) -> bool:
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


def quoted(text: str) -> str:
    """Return a TOML string; JSON writes them alike."""
    return json.dumps(text, ensure_ascii=False)
