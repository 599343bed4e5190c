"""The columns of a table as a draft sees them: values in one form, and what their names are likely to mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from holmes_fit._support.errors import InputError, Problem, Problems, shown
from holmes_fit.trials.cells import is_nothing, number
from holmes_fit.trials.frames import is_frame, read_frame
from holmes_fit.trials.importing.sheets import listed
from holmes_fit.trials.protocols.layout import NewColumn
from holmes_fit.trials.text_tables import TextTable

if TYPE_CHECKING:
    import pandas as pd

# What labs call their columns, in small letters and without signs, the likeliest name first.
NAMES = """
subject: subject participant participantid subjectid subid subj sub ppt ppid pid id person patient user respondent
subject: responseid observer child sbj vp vpn versuchsperson proband code
trial: trial trialnumber trialnr trialnum trialno trialn trialindex t trialorder order index
problem: problem problemid problemnumber problemnr game gameid puzzle
stretch: block blocknumber blocknr blockname blockid run session phase stage part day miniblock epoch
choice: choice choices response resp keyrespkeys keys key keypress buttonpressed action decision prediction guess
choice: chosen button answer forecast judgment judgement expectancy expectation rating
choice: likelihood clickedname mouseclickedname
outcome: outcome solution correctresponse correctanswer corrans correctkey correctchoice truth target category label
outcome: answer reward
correct: correct accuracy acc iscorrect keyrespcorr corr hit
feedback: feedback feedbackshown shown feedbackgiven withfeedback
time: rt reactiontime responsetime latency keyresprt rtms duration
person: group age sex gender site hand handedness education
no cue: reward points score payoff noisy noise source file loop task date onset time timestamp betteroption index
no cue: firstexposure trialtype order problemtrial practice attempt screenname screennumber zonetype zonename sender
no cue: sendertype senderid endedon incorrect timedout responsetype responseaction internalnodeid timeelapsed url
no cue: started stopped imputed flag flagged exclude excluded outlier catch
kind: trialtype task sender loop screenname eventtype event phase stage part
"""
ROLES: dict[str, dict[str, int]] = {}
for _role, _names in (line.split(": ") for line in NAMES.strip().splitlines()):
    _ranks = ROLES.setdefault(_role, {})
    _ranks |= {name: len(_ranks) + i for i, name in enumerate(_names.split())}


def bare_name(name: str) -> str:
    """Return a name in small letters and without signs."""
    return re.sub("[^a-z0-9]", "", name.lower())


@dataclass(frozen=True, eq=False)
class Column:
    """A column, with its values in one form: ``1.0`` is ``1``, and what is missing is empty."""

    name: str
    cells: pd.Series

    @property
    def bare_name(self) -> str:
        return bare_name(self.name)

    def rank(self, names: dict[str, int]) -> int | None:
        """Return which of the names it has; of names with parts, as ``resp.keys``, the last part counts as well."""
        last_part = bare_name(self.name.rsplit(".", 1)[-1])
        return names.get(self.bare_name, len(names) + names[last_part] if last_part in names else None)

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The distinct values but nothing, numbers by size and before words."""
        numeric = {value: number(value) for value in self.cells.unique() if value}
        return tuple(sorted(numeric, key=lambda value: (numeric[value] is None, numeric[value] or 0.0, value)))

    @cached_property
    def is_filled(self) -> bool:
        return bool((self.cells != "").all())

    def only(self, rows: pd.Series) -> Column:
        """Return the column of some rows."""
        return Column(self.name, self.cells[rows].reset_index(drop=True))

    @property
    def is_whole(self) -> bool:
        """Whether there are whole numbers in all cells."""
        return self.is_filled and all(re.fullmatch("-?[0-9]{1,15}", value, re.ASCII) for value in self.values)

    def varies_within(self, groups: pd.Series) -> bool:
        """Whether there is more than one value within one of the groups."""
        given = self.cells[self.cells != ""]
        return bool((given.groupby(groups[given.index]).nunique() > 1).any())


@dataclass
class Guesses:
    """What has been guessed so far; columns that have a role are used up."""

    columns: dict[str, Column]
    reasons: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    trials: dict[str, list[str]] = field(default_factory=dict)  # the only rows that are looked at, if not all
    made: dict[str, NewColumn] = field(default_factory=dict)  # columns made of others

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())).cells)

    def left(self) -> list[Column]:
        return [column for column in self.columns.values() if column.name not in self.used]

    def named(self, role: str) -> list[Column]:
        """Return the columns whose names say that they have a role, the likeliest first."""
        ranked = [(rank, column) for column in self.columns.values() if (rank := column.rank(ROLES[role])) is not None]
        return [column for _, column in sorted(ranked, key=lambda pair: pair[0])]

    def free(self, role: str) -> list[Column]:
        return [column for column in self.named(role) if column.name not in self.used]

    def take(self, role: str, column: Column, why: str) -> Column:
        self.used.add(column.name)
        self.reasons.append(f"{role}: {listed([column.name])}, as {why}")
        return column


def texts_of(table: object) -> TextTable:
    """Return a table of trials as text.

    Raises
    ------
    InputError
        If it is no table, has no rows, or has columns of the same name.
    """
    if not is_frame(table):
        raise InputError([Problem("argument table", shown(table), "a DataFrame with a row a trial")])
    problems = Problems()
    texts = read_frame(table, "table", problems)
    problems.raise_if_any()
    return texts


def columns_of(texts: TextTable) -> dict[str, Column]:
    """Return the columns of a table by their names."""
    import pandas as pd

    plain_texts = {
        name: replace(each, texts=tuple(map(_plain_value, each.texts))) for name, each in texts.columns.items()
    }
    return {name: Column(name, pd.Series(each.cells(), dtype="str")) for name, each in plain_texts.items()}


def _plain_value(text: str) -> str:
    text = text.strip()
    value = number(text)
    whole = value is not None and abs(value) < 1e15 and value == int(value) and "." in text
    return "" if is_nothing(text) else str(int(value or 0)) if whole else text


def joint(columns: Sequence[Column], rows: int) -> pd.Series:
    """Return the number of the combination of values in each row; all the same without columns."""
    import pandas as pd

    if not columns:
        return pd.Series(0, index=range(rows))
    return pd.Series(pd.MultiIndex.from_arrays([column.cells for column in columns]).factorize()[0])


def determines(one: pd.Series, other: pd.Series) -> bool:
    """Return whether rows that agree in the one agree in the other as well."""
    return bool((other.groupby(one).nunique() == 1).all())
