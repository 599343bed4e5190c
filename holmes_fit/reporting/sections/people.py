"""The pages of people: everyone in a small cell, with the model that describes them best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.blocks import Block, Grid, Panel, Text
from holmes_fit.reporting.figures.people import Person, Surface, draw_people_key, draw_person
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import brief, people, sentence
from holmes_fit.runs.records import Record

FEW_PEOPLE, FEW_ON_A_PAGE = 30, 12  # up to as many have larger cells
MOST_BY_COLUMNS = {1: 5, 2: 16, 3: 39, 4: 60}  # how many columns there are for how many people on a page
HIGHEST = {1: 120.0, 2: 84.0, 3: 84.0, 4: 84.0}  # cell by the number of columns, in points, as all below
LOWEST = 0.85  # of the height that cells could have, where that saves a page
GAP, KEY, ROOM = 12.0, 14.0, 690.0
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
    for name, column in (("models", "log_evidence"), ("model_probabilities", "probability")):
        if not data.has(name):
            continue
        known = data[name].dropna(subset=[column])
        for _, row in known.loc[known.groupby("subject", sort=False)[column].idxmax()].iterrows():
            probability = float(row[column]) if column == "probability" else np.nan
            found[str(row["subject"])] = Best(str(row["model"]), probability)
    return found


def in_order(data: CohortData) -> dict[str, list[str]]:
    """Return the people of each group by name, such that 2 comes before 10; one nameless group if there are none."""
    names = sorted(data.subjects["subject"], key=_by_numbers)
    groups = {group: [name for name in names if data.group_of[name] == group] for group in data.groups}
    return groups or {"": names}


def _by_numbers(name: str) -> list[tuple[bool, int, str]]:
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


# --- The pages


def _blocks(data: CohortData) -> Iterator[Block]:
    cells, heads = Cells(data), {}
    names: list[str] = []
    for group, members in in_order(data).items():
        if data.groups:
            heads[len(names)] = f"{brief(group) or 'No group'}: {people(len(members))}"
        names += members
    key = Panel("people_key", partial(draw_people_key, with_map=cells.with_map), height=KEY)
    most = data.settings.people_per_page
    wanted = min(most, FEW_ON_A_PAGE, max(1, data.n_people)) if data.n_people <= FEW_PEOPLE else most
    columns = next(columns for columns, most in MOST_BY_COLUMNS.items() if wanted <= most)
    highest = min(HIGHEST[columns], (ROOM + GAP) / -(-wanted // columns) - GAP)
    yield Text(_finding(data, cells.best), "finding")
    yield Text(_reading(data, cells))
    panels = [*map(cells.panel, names)]
    yield Grid(
        "people", panels, columns, LOWEST * highest, highest, (0, 0, 0, 0), GAP, heads=heads, key=key, part=wanted
    )


def _reading(data: CohortData, cells: Cells) -> str:
    """Return how to read a cell, as far as it matters in this run."""
    shown = {best.model for best in cells.best.values()}
    problems = PROBLEMS if (data["trials_fitted"]["restart"] != "").any() else ""
    which = LIKELIEST if data.has("model_probabilities") else MOST_EVIDENCE
    words = CELLS.format(which=which if len(data.model_names) > 1 else "")
    maps = f"{MAPS}{NO_MAPS if any(map(data.words.is_baseline, shown)) else ''}" if cells.with_map else ""
    every = sorted({f"{kind.split(': ')[1]} ({data.words.label(kind.split(': ')[0])})" for kind in data.common})
    unmarked = f" Not marked, as everybody has it: {listed(every)}." if every else ""
    return f"{words}{problems}{maps}{unmarked}"


def _finding(data: CohortData, best: Mapping[str, Best]) -> str:
    """Say in a sentence whom which model describes best, and how many are to be read with care."""
    counts = Counter(best[name].model for name in data.subjects["subject"] if name in best)
    order = sorted(counts, key=lambda model: (-counts[model], data.model_names.index(model)))
    care = len([name for name in data.subjects["subject"] if name in data.marked])
    marked = f"; {care} {'is' if care == 1 else 'are'} marked by a warning" if care else ""
    if not order:
        return f"Nobody of {people(data.n_people)} could be fitted."
    if len(data.model_names) == 1:
        return f"{people(counts.total())}, fitted with {data.words.label(order[0])}{marked}."
    others = [f"{data.words.label(model)} for {counts[model]}" for model in order[1:]]
    how = "is the likeliest model in the mixture" if data.has("model_probabilities") else "has the most evidence"
    first = f"{data.words.label(order[0])} {how} for {counts[order[0]]} of {people(data.n_people)}"
    return sentence(f"{first}{f', {listed(others)}' if others else ''}{marked}")


# --- The people


class Cells:
    """Gathers what the cell of a person shows, one at a time."""

    def __init__(self, data: CohortData):
        self.data, self.best = data, best_models(data)
        # Whether anyone's best model may have a map.
        self.with_map = not all(data.words.is_baseline(best.model) for best in self.best.values())
        self._rows: dict[str, Mapping[Any, Any]] = {
            name: data[name].groupby(["subject", "model"], sort=False).indices for name in ("trials_fitted", "fits")
        }

    def panel(self, name: str) -> Panel:
        """Return the cell of a person; its table are their trials under the best model."""
        table = self._of("trials_fitted", name) if name in self.best else None
        return Panel("", lambda ax: draw_person(ax, self.person(name), self.with_map), table=table)

    def _of(self, table: str, name: str) -> pd.DataFrame:
        """Return the rows about a person and their best model."""
        return self.data[table].iloc[self._rows[table].get((name, self.best[name].model), [])]

    def person(self, name: str) -> Person:
        """Return what the cell of a person shows."""
        if name not in self.best:
            return Person(name, warning="not fitted", reason=self._reason(name))
        model, probability = self.best[name]
        certain = f" {share(probability)}" if np.isfinite(probability) else ""
        record = self.data.record(model, name)
        return Person(
            name,
            model=f"{self.data.words.label(model)}{certain}",
            color=self.data.words.color(model),
            trials=self._of("trials_fitted", name),
            surface=surface_of(record, self._of("fits", name)) if record is not None else None,
            warning=self._warning(name, model),
        )

    def _reason(self, name: str) -> str:
        rows = self.data["failures"].to_dict("records")
        own = list(dict.fromkeys(str(row["reason"]) for row in rows if row["subject"] == name))
        return sentence(f"No fit: {' '.join(own)}") if own else "The run has no fit of this person."

    def _warning(self, name: str, model: str) -> str:
        """Return the warnings in a few words; which models have them, unless the one that is shown has."""
        found: dict[str, list[str]] = {}
        for text in self.data.marked.get(name, ()):
            which, _, what = text.partition(": ")
            found.setdefault(what.partition(":")[0].partition(",")[0], []).append(which)
        return "; ".join(
            short if model in models else f"{short}: {', '.join(map(self.data.words.label, models))}"
            for short, models in found.items()
        )


def surface_of(record: Record, parameters: pd.DataFrame) -> Surface | None:
    """Return the likelihood over alpha and Omega; nothing where they were not free, or the record has no lattice."""
    free = parameters[parameters["standing"] == "free"].set_index("parameter")
    names = [str(name) for name in free.index]
    if not set(MAPPED) <= set(names) or "log_likelihood" not in record.arrays:
        return None
    height = np.asarray(record.arrays["log_likelihood"], dtype=np.float64)
    if height.ndim > len(names):  # of conditions between which nothing differs
        height = height.sum(axis=0)
    others = [axis for axis, name in enumerate(names) if name not in MAPPED]
    for axis in others:
        weights = np.asarray(record.arrays[f"log_prior_{names[axis]}"], dtype=np.float64)
        height = height + np.expand_dims(weights, [other for other in range(height.ndim) if other != axis])
    averaged = logsumexp(height, axis=tuple(others)) if others else height
    alpha, omega = (np.asarray(record.arrays[f"positions_{name}"], dtype=np.float64) for name in MAPPED)
    median, best = ((float(free[goal]["alpha"]), float(free[goal]["omega"])) for goal in ("median", "map"))
    is_turned = names.index("omega") < names.index("alpha")
    return Surface(alpha, omega, averaged.T if is_turned else averaged, median, best)


LACKING = "There are no fits of single people in the run."
PEOPLE = Page("people", "People", _blocks, needing(trials_fitted=LACKING, models=LACKING, fits=LACKING))
