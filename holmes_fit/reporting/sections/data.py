"""The page on data: who took part, what they answered, who was left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.blocks import Block, Panel, Row, Section, Table, Text, Warnings, numbers, texts
from holmes_fit.reporting.figures.data import draw_learning_curves, draw_strip
from holmes_fit.reporting.learning import change, curves_within, learning_curve
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import group_rows, people_table
from holmes_fit.reporting.text import brief, count, fixed, people
from holmes_fit.reporting.warnings import answer_warnings, failure_warnings
from holmes_fit.trials.cohorts import ROWS_LEFT_OUT
from holmes_fit.trials.curves import BLOCK

TITLE = "Data"
WITHIN = "data_curves_by_"
MOST_EXCLUSIONS = 20  # on this page; the appendix has all
EXCLUSION = ("subject", "rule", "seen", "allowed", "consequence")


def section(data: CohortData) -> Section:
    """Return the page."""
    persons, drawn = people_table(data), figures(data)
    curves, *strips = (draw() for name, draw in drawn.items() if not name.startswith(WITHIN))
    within = [draw() for name, draw in drawn.items() if name.startswith(WITHIN)]
    return Section(
        TITLE,
        [
            Text(_finding(persons, change(data)), "finding"),
            Text(_words(data, persons)),
            Warnings([*failure_warnings(data), *answer_warnings(data)]),
            Row([curves], 120, 190),
            *(Row([panel], 120, 190) for panel in within),
            Row(strips, 105, 160),
            _group_table(data, persons),
            *_exclusions(data),
        ],
    )


def figures(data: CohortData) -> Figures:
    """Return the learning curves, and panels with a point for each person; of missed answers where there are any."""
    persons = people_table(data)
    outcomes = float(persons["outcomes_1"].mean())
    shares = persons.assign(lost=persons["missed"] / persons["trials"])
    found: dict[str, tuple[str, float | None, str, str]] = {
        "data_accuracy": (
            "accuracy",
            0.5,
            "Answers that equal the outcome",
            "Points are people; the mark beside them is their mean with its 95% interval. Dashed: chance.",
        ),
        "data_response_bias": (
            "answers_1",
            outcomes,
            "Response bias: answers that are 1",
            f"Dashed: the share of outcomes that were 1, {share(outcomes)}.",
        ),
    }
    if persons["missed"].any():
        words = "Missed answers drop out of the likelihood and stay in the learning sequence."
        found["data_missed"] = ("lost", None, "Answers that were missed", words)

    def strip(name: str) -> Panel:
        column, line, title, caption = found[name]
        draw = partial(draw_strip, people=shares, groups=data.groups, column=column, line=line)
        return Panel(name, draw, title, caption, table=persons)

    return {
        "data_learning_curves": partial(learning_panel, data),
        **{name: partial(strip, name) for name in found},
        **{panel.name: partial(_as_it_is, panel) for panel in _within_panels(data)},
    }


def _as_it_is(panel: Panel) -> Panel:
    return panel


def _within_panels(data: CohortData) -> Iterator[Panel]:
    """Give the curves of conditions and phases, and of the columns that the protocol names for it."""
    for name, curve in curves_within(data):
        file = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
        draw = partial(draw_learning_curves, curve=curve, groups=tuple(curve["group"].unique()))
        title = f"The same by {brief(name)}"
        yield Panel(f"{WITHIN}{file}", draw, title, _caption(curve, "means over people"), table=curve)


def learning_panel(data: CohortData, name: str = "data_learning_curves") -> Panel:
    """Return the panel with the learning curves."""
    curve, how = learning_curve(data), "by group, means over people" if data.groups else "mean over people"
    return Panel(
        name,
        partial(draw_learning_curves, curve=curve, groups=data.groups),
        "Answers that equal the outcome, over the task",
        _caption(curve, how),
        table=curve,
    )


def _caption(curve: pd.DataFrame, how: str) -> str:
    parts = "Blocks of the file" if (curve["by"] == BLOCK).any() else "Parts of the learning sequence"
    differ = bool((curve.groupby("group")["n_learners"].nunique() > 1).any())
    left = " Numbers at the foot: learners who are left at each point." if differ else ""
    return f"{parts}, {how}; bands are 95% intervals over people.{left}"


def _finding(persons: pd.DataFrame, went: tuple[float, float, int, int] | None) -> str:
    if not len(persons):
        return "There is nobody who could be fitted."
    start = f"{people(len(persons))} gave {count(persons['answered'].sum(), 'answer')}"
    if went is None:
        return f"{start}; no outcome is known to score them by."
    before, after, left, n = went
    how = "rose" if after > before + 0.02 else "fell" if after < before - 0.02 else "went"
    who = f" of the {left:,} of {n:,} learners who came to the end" if left < n else ""
    return f"{start}; accuracy{who} {how} from {share(before)} to {share(after)} over the task."


def _words(data: CohortData, persons: pd.DataFrame) -> str:
    trials, parts = persons["trials"], []
    if len(persons):
        span = f"{trials.min():,}" if trials.min() == trials.max() else f"{trials.min():,} to {trials.max():,}"
        parts.append(f"Each person had {span} trials; {_missed(int(persons['missed'].sum()), int(trials.sum()))}.")
    if data.groups:
        sizes = [f"{brief(group)} ({(persons['group'] == group).sum()})" for group in data.groups]
        parts.append(f"Groups: {listed(sizes)}.")
    excluded = data["exclusions"] if data.has("exclusions") else pd.DataFrame(columns=["subject", "consequence"])
    of_rows = excluded["consequence"] == ROWS_LEFT_OUT
    n_out = excluded.loc[~of_rows, "subject"].nunique()
    if of_rows.any():
        parts.append("The protocol left out rows of the files before all else; the table below says which.")
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


def _group_table(data: CohortData, persons: pd.DataFrame) -> Table:
    heads = ("people", "trials", "answers", "missed", "no feedback", "accuracy", "answers 1")
    rows = []
    for name, own in group_rows(persons, data.groups):
        sums = [f"{own[column].sum():,}" for column in ("trials", "answered", "missed", "no_feedback")]
        rows.append(
            [brief(name), f"{len(own):,}", *sums, fixed(own["accuracy"].mean(), 3), fixed(own["answers_1"].mean(), 3)]
        )
    return Table([*texts("who"), *numbers(*heads)], rows)


def _exclusions(data: CohortData) -> list[Block]:
    if not data.has("exclusions"):
        return []
    n_more = len(data["exclusions"]) - MOST_EXCLUSIONS
    more = [Text(f"And {n_more} more, in the appendix.", "note")] if n_more > 0 else []
    return [Text("Taken out by the rules of the protocol", "heading"), exclusion_table(data, MOST_EXCLUSIONS), *more]


def exclusion_table(data: CohortData, most: int | None = None, size: float = 7.5) -> Table:
    """Return whom or what the rules have taken out, and why."""
    rows = data["exclusions"].head(most)[list(EXCLUSION)] if most else data["exclusions"][list(EXCLUSION)]
    return Table(texts("person", *EXCLUSION[1:]), rows.astype("str").to_numpy().tolist(), size=size)


def _lacking(data: CohortData) -> str:
    return "" if len(data.trials) else "The run has no trials that were fitted."


DATA = Page("data", TITLE, section, figures, _lacking)
