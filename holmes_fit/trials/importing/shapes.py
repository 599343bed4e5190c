"""How a table lies, for a draft: a column a trial, one answer in several columns, cues that are packed into a cell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from holmes_fit.trials.files import Reading
from holmes_fit.trials.importing.guesses import ROLES, Column, Guesses, bare_name, joint
from holmes_fit.trials.importing.sheets import free_name
from holmes_fit.trials.protocols.layout import NewColumn
from holmes_fit.trials.rearranging import made_long
from holmes_fit.trials.text_tables import TextTable

if TYPE_CHECKING:
    import pandas as pd

LEAST_TRIALS = 4  # of numbered columns
MOST_PARTS = 8
MOST_PACKED = 128  # values of cells with several cues
MOST_OF_PART = 4
SEPARATORS = "-_|/,;+ "
NUMBER = re.compile("([0-9]{1,4})", re.ASCII)
UNSAID = ("", "trial", "t", "block", "b")  # words of numbered names that say nothing of what is in the column
LIKE = {"choice": "key|resp|choice|answer|press", "correct": "corr|acc"}  # in the names of several such columns


def unfolded(texts: TextTable) -> tuple[TextTable, dict[str, str]]:
    """Return the table with a row a trial, and the patterns of its columns if it had a column a trial before."""
    named = {role: [name for name in texts.columns if bare_name(name) in ROLES[role]] for role in ("subject", "trial")}
    is_person = any(len(set(texts.columns[name].cells())) == len(texts) for name in named["subject"])
    if not is_person and (named["subject"] or named["trial"]):
        return texts, {}
    patterns = _patterns(texts.columns)
    return (made_long(texts, patterns, Reading()), patterns) if patterns else (texts, {})


def _patterns(names: Iterable[str]) -> dict[str, str]:
    """Return the patterns of the columns that have the same numbers in their names, most of those that have any."""
    alike: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for name in names:
        pieces = NUMBER.split(name)
        alike[tuple(pieces[::2])].append(tuple(pieces[1::2]))
    groups: defaultdict[frozenset[tuple[int, ...]], dict[str, str]] = defaultdict(dict)
    for words, numbers in alike.items():
        varying = [i for i, texts in enumerate(zip(*numbers, strict=True)) if len(set(texts)) > 1]
        if len(numbers) >= LEAST_TRIALS and len(varying) in (1, 2):
            fields = dict(zip(varying, ("{block}", "{trial}")[-len(varying) :], strict=True))
            between = [fields.get(i, number) for i, number in enumerate(numbers[0])]
            pattern = words[0] + "".join(map("".join, zip(between, words[1:], strict=True)))
            said = [word for word in re.split(r"[\W_]+", "_".join(words)) if word.lower() not in UNSAID]
            groups[frozenset(tuple(int(each[i]) for i in varying) for each in numbers)]["_".join(said)] = pattern
    best = max(groups.values(), key=len, default={})
    free = len(best) > 1 and "" not in best and not best.keys() & {*names, *UNSAID}
    return best if free else {}


def joined(guesses: Guesses, role: str) -> Column | None:
    """Return a column made of several that each hold some of the answers, as one for each key; else none."""
    others = [column for other in ("time", "outcome", "no cue", "feedback") for column in guesses.named(other)]
    parts = [
        column
        for column in guesses.left()
        if re.search(LIKE[role], column.bare_name) and column not in others and column.values and not column.is_filled
    ]
    if role == "choice":
        parts = [column for column in parts if not re.search(LIKE["correct"], column.bare_name)]
    values = {value for column in parts for value in column.values}
    if len(parts) < 2 or len(values) != 2:
        return None
    cells = parts[0].cells
    for column in parts[1:]:
        if ((cells != "") & (column.cells != "")).any():
            return None
        cells = cells.mask(cells == "", column.cells)
    whole = [column for column in guesses.free(role) if len(column.values) == 2]
    if any((column.cells != "").sum() >= (cells != "").sum() for column in whole):
        return None
    made = Column(free_name({"choice": "answer", "correct": "was_right"}[role], guesses.columns, "_"), cells)
    guesses.used |= {column.name for column in parts}
    guesses.columns[made.name] = made
    guesses.made[made.name] = NewColumn(of=tuple(column.name for column in parts))
    return made


def parts_of(column: Column, taken: Iterable[str]) -> dict[NewColumn, Column]:
    """Return the cues that are packed into the cells of a column, as in ``circle-blue`` or ``101``."""
    if not column.is_filled or not 2 < len(column.values) <= MOST_PACKED:
        return {}
    for cut in _cuts(column):
        parts = {new: {value: new.part_of(value) or "" for value in column.values} for new in cut}
        varying = {new: texts for new, texts in parts.items() if len(set(texts.values())) > 1}
        if len(varying) > 1 and all(len(set(texts.values())) <= MOST_OF_PART for texts in varying.values()):
            names = [free_name(f"{column.name}_{i}", taken, "_") for i in range(1, len(varying) + 1)]
            cells = [column.cells.map(texts) for texts in varying.values()]
            return dict(zip(varying, map(Column, names, cells), strict=True))
    return {}


def _cuts(column: Column) -> Iterator[list[NewColumn]]:
    """Give the ways to cut all cells into as many parts: at separators, or all digits apart if each place has two."""
    for separator in SEPARATORS:
        counts = {value.count(separator) for value in column.values}
        if len(counts) == 1 and 0 < (n := counts.pop()) < MOST_PARTS:
            yield [NewColumn(of=(column.name,), separator=separator, part=i + 1) for i in range(n + 1)]
    places = [set(digits) for digits in zip(*column.values, strict=False)]
    whole = len({*map(len, column.values)}) == 1 and all(value.isdigit() for value in column.values)
    most = 2 ** len(places)  # where far fewer occur, they may be the numbers of pictures
    if whole and all(len(place) == 2 for place in places) and len(column.values) >= most / 2:
        yield [NewColumn(of=(column.name,), characters=(i, i)) for i in range(1, len(places) + 1)]


def order_by_several(guesses: Guesses, learner: pd.Series, whole: list[Column]) -> tuple[list[Column], bool]:
    """Return the columns that number trials together, as block and trial, and whether the file is in their order."""
    import pandas as pd

    stretches = [column for column in guesses.free("stretch") if column.is_filled]
    stretches.sort(key=lambda column: int((column.cells != column.cells.shift()).sum()))
    for n in (1, 2):
        for several in combinations(stretches, n):
            for trial in whole:
                columns = [*several, trial]
                if not pd.DataFrame({0: joint(columns, guesses.rows), 1: learner}).duplicated().any():
                    return columns, _is_sorted(columns, learner)
    return [], False


def _is_sorted(columns: list[Column], learner: pd.Series) -> bool:
    import pandas as pd

    table = pd.DataFrame({i: _rank(column) for i, column in enumerate(columns)}).assign(learner=learner)
    order = table.sort_values(["learner", *range(len(columns))], kind="stable").index
    return bool((order == learner.sort_values(kind="stable").index).all())


def _rank(column: Column) -> pd.Series:
    """Return numbers as they are, and of words which one comes first in the file."""
    return column.cells.astype("int64") if column.is_whole else joint([column], len(column.cells))
