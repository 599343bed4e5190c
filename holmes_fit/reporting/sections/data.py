"""The page on data: who took part, what they answered, who was left out and why."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.book import GUTTER, LEADING, SMALL, Book, Column, Panel
from holmes_fit.reporting.figures.data import draw_learning_curves, draw_strip
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import group_rows, learning_curve, people_table
from holmes_fit.reporting.text import brief, count, fixed, people
from holmes_fit.reporting.warnings import answer_warnings, failure_warnings

TITLE = "Data"
MOST_EXCLUSIONS = 20  # on this page; the appendix has all
MOST_KEPT = 6  # exclusions for which figures make room


def build(data: CohortData, book: Book) -> None:
    """Write the page."""
    persons, curve = people_table(data), learning_curve(data)
    book.begin(
        TITLE, _finding(persons, curve), _words(data, persons), [*failure_warnings(data), *answer_warnings(data)]
    )
    curves, strips = _heights(book.room - _tables_height(data))
    book.row(curves, [learning_panel(data, curve)])
    book.row(strips, _strips(data, persons))
    _group_table(data, book, persons)
    _exclusions(data, book)


def _heights(room: float) -> tuple[float, float]:
    """Return how high the curves and the strips are: a little lower where that leaves the tables on their page."""
    both = room - 2 * GUTTER
    curves = float(np.clip(0.53 * both, 160, 225))
    return curves, float(np.clip(both - curves, 155, 195))


def _tables_height(data: CohortData) -> float:
    """Return how many points the tables below the figures take; a long one goes on on the next page."""
    line = SMALL * LEADING
    groups = line * (4 + 1 + len(data.groups))
    n_out = 0 if data.exclusions is None else len(data.exclusions)
    return groups + (line * (8 + n_out) if 0 < n_out <= MOST_KEPT else 0.0)


def _strips(data: CohortData, persons: pd.DataFrame) -> list[Panel]:
    """Return the panels with a point for each person; none about missed answers where there are none."""
    outcomes = float(persons["outcomes_1"].mean())
    shares = persons.assign(lost=persons["missed"] / persons["trials"])
    strip = partial(draw_strip, people=shares, groups=data.groups)
    panels = [
        Panel(
            "data_accuracy",
            partial(strip, column="accuracy", line=0.5),
            "Answers that equal the outcome",
            "Points are people; the mark beside them is their mean with its 95% interval. Dashed: chance.",
            table=persons,
        ),
        Panel(
            "data_response_bias",
            partial(strip, column="answers_1", line=outcomes),
            "Response bias: answers that are 1",
            f"Dashed: the share of outcomes that were 1, {share(outcomes)}.",
            table=persons,
        ),
        Panel(
            "data_missed",
            partial(strip, column="lost"),
            "Answers that were missed",
            "Missed answers drop out of the likelihood and stay in the learning sequence.",
            table=persons,
        ),
    ]
    return panels if persons["missed"].any() else panels[:-1]


def learning_panel(data: CohortData, curve: pd.DataFrame) -> Panel:
    """Return the panel with the learning curves."""
    how = "by group, means over people" if data.groups else "mean over people"
    return Panel(
        "data_learning_curves",
        partial(draw_learning_curves, curve=curve, groups=data.groups),
        "Answers that equal the outcome, over trials",
        f"Parts of the learning sequence, {how}; bands are 95% intervals over people.",
        table=curve,
    )


def _finding(persons: pd.DataFrame, curve: pd.DataFrame) -> str:
    if not len(persons):
        return "There is nobody who could be fitted."
    who = people(len(persons))
    start = f"{who} gave {count(persons['answered'].sum(), 'answer')}"
    if not len(curve):
        return f"{start}; no outcome is known to score them by."
    first, last = curve[curve["first"] == curve["first"].min()], curve[curve["last"] == curve["last"].max()]
    before, after = (float(np.average(part["mean"], weights=part["n_people"])) for part in (first, last))
    change = "accuracy rose" if after > before + 0.02 else "accuracy fell" if after < before - 0.02 else "accuracy went"
    return f"{start}; {change} from {share(before)} to {share(after)} over the task."


def _words(data: CohortData, persons: pd.DataFrame) -> str:
    trials = persons["trials"]
    parts = []
    if len(persons):
        span = f"{trials.min():,}" if trials.min() == trials.max() else f"{trials.min():,} to {trials.max():,}"
        parts.append(f"Each person had {span} trials; {_missed(int(persons['missed'].sum()), int(trials.sum()))}.")
    if data.groups:
        sizes = [f"{brief(group)} ({(persons['group'] == group).sum()})" for group in data.groups]
        parts.append(f"Groups: {listed(sizes)}.")
    n_out = 0 if data.exclusions is None else data.exclusions["subject"].nunique()
    parts.append(
        "Nobody was excluded by the rules of the protocol."
        if not n_out
        else f"The rules of the protocol took something out of {people(n_out)}; see the table below."
    )
    return " ".join(parts)


def _missed(n: int, n_trials: int) -> str:
    if not n:
        return "no answer was missed"
    return f"{count(n, 'answer')} ({share(n / n_trials)}) {'was' if n == 1 else 'were'} missed"


def _group_table(data: CohortData, book: Book, persons: pd.DataFrame) -> None:
    columns = [
        Column("who"),
        Column("people", right=True),
        Column("trials", right=True),
        Column("answers", right=True),
        Column("missed", right=True),
        Column("no feedback", right=True),
        Column("accuracy", right=True),
        Column("answers 1", right=True),
    ]
    rows = []
    for name, own in group_rows(persons, data.groups):
        sums = [f"{own[column].sum():,}" for column in ("trials", "answered", "missed", "no_feedback")]
        rows.append([name, f"{len(own):,}", *sums, fixed(own["accuracy"].mean(), 3), fixed(own["answers_1"].mean(), 3)])
    book.table(columns, rows)


def _exclusions(data: CohortData, book: Book) -> None:
    if data.exclusions is None or not len(data.exclusions):
        return
    book.heading("Taken out by the rules of the protocol")
    table = data.exclusions.head(MOST_EXCLUSIONS)
    columns = [
        Column("person"),
        Column("rule"),
        Column("seen", wraps=True),
        Column("allowed", wraps=True),
        Column("consequence", wraps=True),
    ]
    names = ("subject", "rule", "seen", "allowed", "consequence")
    book.table(columns, [[str(row[name]) for name in names] for _, row in table.iterrows()])
    if len(data.exclusions) > len(table):
        book.note(f"And {len(data.exclusions) - len(table)} more, in the appendix.")


def _lacking(data: CohortData) -> str:
    return "" if data.trials is not None else "The run has no trials that were fitted."


DATA = Page("data", TITLE, build, _lacking)
