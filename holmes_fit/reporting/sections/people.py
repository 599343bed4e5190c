"""The pages of people: everyone in a small cell, with the model that describes them best."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.special import logsumexp

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.book import BOTTOM, GUTTER, TOP, Book, Panel
from holmes_fit.reporting.figures.people import Person, Surface, draw_people_key, draw_person
from holmes_fit.reporting.names import BASELINES, model_color, model_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import people, printable, sentence
from holmes_fit.runs.records import Record

TITLE = "People"
FEW_PEOPLE, FEW_ON_A_PAGE = 30, 12  # up to as many have larger cells
MOST_BY_COLUMNS = {1: 5, 2: 16, 3: 39, 4: 60}  # how many columns there are for how many people on a page
HIGHEST = {1: 120.0, 2: 84.0, 3: 84.0, 4: 84.0}  # cell by the number of columns, in points, as all below
GAP = 12.0
KEY = 14.0
HEADING = 30.0
MAPPED = ("alpha", "omega")  # across and up

CELLS = "One cell is one person{which}. Ticks are answers; dots are what the model predicts before each of them."
LIKELIEST = ", with the likeliest model in the mixture and its posterior probability"
MOST_EVIDENCE = ", with the model of most evidence"
PROBLEMS = " Thin lines part problems that are learned afresh."
MAPS = (
    " The map shows how likely the answers are for each α (across) and Ω (up), averaged over the other parameters; "
    "shades end 0.5, 2, 4.5 and 8 nats below the highest, where 1, 2, 3 and 4 standard errors would lie."
)
NO_MAPS = " Models without α and Ω have no map."


class Best(NamedTuple):
    """The model that describes a person best, and its probability; NaN where models were not compared."""

    model: str
    probability: float


def best_models(data: CohortData) -> dict[str, Best]:
    """Return everyone's best model: by its probability where models were compared, by its evidence otherwise."""
    found: dict[str, Best] = {}
    for table, column in ((data.models, "log_evidence"), (data.probabilities, "probability")):
        if table is None or not len(table):
            continue
        known = table.dropna(subset=[column])
        for _, row in known.loc[known.groupby("subject", sort=False)[column].idxmax()].iterrows():
            probability = float(row[column]) if column == "probability" else np.nan
            found[str(row["subject"])] = Best(str(row["model"]), probability)
    return found


def in_order(data: CohortData) -> Iterator[tuple[str, list[str]]]:
    """Give the groups and their people by name, such that 2 comes before 10; one nameless group if there are none."""
    names = sorted(data.subjects["subject"], key=_by_numbers)
    if not data.groups:
        yield "", names
        return
    for group in data.groups:
        yield group, [name for name in names if data.group_of[name] == group]


def _by_numbers(name: str) -> list[tuple[bool, int, str]]:
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


# --- The pages


def _lacking(data: CohortData) -> str:
    if data.trials_fitted is None or data.models is None or data.fits is None:
        return "There are no fits of single people in the run."
    return ""


def _build(data: CohortData, book: Book) -> None:
    cells = Cells(data)
    shown = {best.model for best in cells.best.values()}
    with_map = any(model not in BASELINES for model in shown)
    book.begin(TITLE, _finding(data, cells.best), _reading(data, shown, with_map))
    _write_key(book, with_map)
    columns, height = _sizes(data, book)
    number = 0
    for group, names in in_order(data):
        if data.groups:
            _room_for(book, height + HEADING, with_map)
            book.heading(f"{printable(group) or 'No group'}: {people(len(names))}")
            book.y -= 4
        while names:
            _room_for(book, height, with_map)
            rows = int((book.room + GAP) // (height + GAP))
            here, names = names[: rows * columns], names[rows * columns :]
            number += 1
            panels = [Panel("person", _cell(cells.person(name), with_map)) for name in here]
            table = cells.table(here) if book.exports.folder else None
            book.grid(f"people_{number}", panels, columns, height, (0, 0, 0, 0), GAP, table)


def _cell(person: Person, with_map: bool) -> Callable[[Axes], Axes]:
    return partial(draw_person, person=person, with_map=with_map)


def _reading(data: CohortData, shown: Collection[str], with_map: bool) -> str:
    """Return how to read a cell, as far as it matters in this run."""
    has_problems = data.trials_fitted is not None and bool((data.trials_fitted["restart"] != "").any())
    problems = PROBLEMS if has_problems else ""
    maps = MAPS if with_map else ""
    which = MOST_EVIDENCE if data.probabilities is None else LIKELIEST
    cells = CELLS.format(which=which if len(data.model_names) > 1 else "")
    return f"{cells}{problems}{maps}{NO_MAPS if with_map and set(shown) & set(BASELINES) else ''}"


def _sizes(data: CohortData, book: Book) -> tuple[int, float]:
    """Return how many columns there are, and how high a cell is, so that so many people fill a page.

    Cells are a little lower where that saves a page.
    """
    n_people, per_page = data.n_people, book.settings.people_per_page
    wanted = min(per_page, FEW_ON_A_PAGE, max(1, n_people)) if n_people <= FEW_PEOPLE else per_page
    columns = next(columns for columns, most in MOST_BY_COLUMNS.items() if wanted <= most)
    rows = -(-wanted // columns)
    room = TOP - BOTTOM - KEY - GUTTER
    highest = min(HIGHEST[columns], (room + GAP) / rows - GAP)
    groups = [-(-len(names) // columns) for _, names in in_order(data)]
    head = HEADING if data.groups else 0.0
    heights = [highest * part for part in (1.0, 0.95, 0.9, 0.85)]
    return columns, min(heights, key=lambda height: (_n_pages(groups, height, head, book.room, room), -height))


def _n_pages(rows_of_groups: Sequence[int], height: float, head: float, first: float, room: float) -> int:
    """Return how many more pages groups of that many rows take, with so much room on the first and on all others."""
    pages, left = 0, first
    for rows in rows_of_groups:
        for row in range(rows):
            needed = height + (head if row == 0 else 0.0)
            if left < needed:
                pages, left = pages + 1, room
            left -= needed + GAP
    return pages


def _room_for(book: Book, height: float, with_map: bool) -> None:
    """Begin a page with its key, unless there is room."""
    if book.room < height:
        book.new_page()
        _write_key(book, with_map)


def _write_key(book: Book, with_map: bool) -> None:
    book.row(KEY, [Panel("people_key", partial(draw_people_key, with_map=with_map))])


def _finding(data: CohortData, best: Mapping[str, Best]) -> str:
    """Say in a sentence whom which model describes best, and how many are to be read with care."""
    counts = pd.Series(
        [best[name].model for name in data.subjects["subject"] if name in best], dtype="str"
    ).value_counts()
    order = sorted(counts.index, key=lambda model: (-counts[model], data.model_names.index(model)))
    care = len([name for name in data.subjects["subject"] if name in data.warned])
    marked = f"; {care} {'is' if care == 1 else 'are'} marked by a warning" if care else ""
    if not order:
        return f"Nobody of {people(data.n_people)} could be fitted."
    if len(data.model_names) == 1:
        return f"{people(counts.iloc[0])}, fitted with {model_label(order[0])}{marked}."
    others = [f"{model_label(model)} for {counts[model]}" for model in order[1:]]
    how = "has the most evidence" if data.probabilities is None else "is the likeliest model in the mixture"
    first = f"{model_label(order[0])} {how} for {counts[order[0]]} of {people(data.n_people)}"
    return sentence(f"{first}{f', {listed(others)}' if others else ''}{marked}")


# --- The people


class Cells:
    """Gathers what the cell of a person shows, one at a time."""

    def __init__(self, data: CohortData):
        self.data = data
        self.best = best_models(data)

    @cached_property
    def _rows(self) -> Mapping[Any, Any]:
        assert self.data.trials_fitted is not None
        return self.data.trials_fitted.groupby(["subject", "model"], sort=False).indices

    @cached_property
    def _fit_rows(self) -> Mapping[Any, Any]:
        assert self.data.fits is not None
        return self.data.fits.groupby(["subject", "model"], sort=False).indices

    def _parameters(self, name: str, model: str) -> pd.DataFrame:
        assert self.data.fits is not None
        return self.data.fits.iloc[self._fit_rows.get((name, model), [])]

    def trials(self, name: str) -> pd.DataFrame:
        """Return the trials of a person under the best model."""
        assert self.data.trials_fitted is not None
        return self.data.trials_fitted.iloc[self._rows[name, self.best[name].model]]

    def table(self, names: Sequence[str]) -> pd.DataFrame | None:
        """Return what is drawn of these people, a row a trial."""
        tables = [self.trials(name) for name in names if name in self.best]
        return pd.concat(tables, ignore_index=True) if tables else None

    def person(self, name: str) -> Person:
        """Return what the cell of a person shows."""
        if name not in self.best:
            return Person(name, warning="not fitted", reason=self._reason(name))
        model, probability = self.best[name]
        certain = f" {share(probability)}" if np.isfinite(probability) else ""
        record = self.data.record(model, name)
        return Person(
            name,
            model=f"{model_label(model)}{certain}",
            color=model_color(model, self.data.model_names),
            trials=self.trials(name),
            surface=surface_of(record, self._parameters(name, model)) if record is not None else None,
            warning=self._warning(name, model),
        )

    def _reason(self, name: str) -> str:
        table = self.data.failures
        own = [] if table is None else list(dict.fromkeys(table.loc[table["subject"] == name, "reason"]))
        return sentence(f"No fit: {' '.join(own)}") if own else "The run has no fit of this person."

    def _warning(self, name: str, model: str) -> str:
        """Return the warnings in a few words; which models have them, unless the one that is shown has."""
        found: dict[str, list[str]] = {}
        for text in self.data.warned.get(name, ()):
            which, _, what = text.partition(": ")
            found.setdefault(what.partition(":")[0].partition(",")[0], []).append(which)
        return "; ".join(
            short if model in models else f"{short}: {', '.join(map(model_label, models))}"
            for short, models in found.items()
        )


def surface_of(record: Record, parameters: pd.DataFrame) -> Surface | None:
    """Return the likelihood over alpha and Omega; nothing where they were not free, or the record has no lattice.

    Parameters
    ----------
    record
        Of the person and the model.
    parameters
        The rows of ``fits.csv`` about them. Free parameters are in the order of the axes of the lattice.
    """
    free = parameters[parameters["standing"] == "free"].set_index("parameter")
    names = [str(name) for name in free.index]
    if not set(MAPPED) <= set(names) or "log_likelihood" not in record.arrays:
        return None
    height = np.asarray(record.arrays["log_likelihood"], dtype=np.float64)
    others = [axis for axis, name in enumerate(names) if name not in MAPPED]
    for axis in others:
        weights = np.asarray(record.arrays[f"log_prior_{names[axis]}"], dtype=np.float64)
        height = height + np.expand_dims(weights, [other for other in range(height.ndim) if other != axis])
    averaged = logsumexp(height, axis=tuple(others)) if others else height
    alpha, omega = (np.asarray(record.arrays[f"positions_{name}"], dtype=np.float64) for name in MAPPED)
    median, best = ((float(free[goal]["alpha"]), float(free[goal]["omega"])) for goal in ("median", "map"))
    is_turned = names.index("omega") < names.index("alpha")
    return Surface(alpha, omega, averaged.T if is_turned else averaged, median, best)


PEOPLE = Page("people", TITLE, _build, _lacking)
