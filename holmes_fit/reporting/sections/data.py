"""The page on data: who took part, what they answered, who was left out and why."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.blocks import Block, Grid, Pads, Panel, Row, Table, Text, columns_for, numbers, texts
from holmes_fit.reporting.figures.data import draw_learning_curves, draw_strip
from holmes_fit.reporting.learning import change, curves_within, learning_curve, to_criterion
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.text import brief, count, fixed, people
from holmes_fit.reporting.warnings import warned
from holmes_fit.trials.cohorts import ROWS_LEFT_OUT
from holmes_fit.trials.curves import BLOCK

MOST_LINES = 4  # of groups or conditions in one figure; more are side by side
PADS: Pads = (26.0, 26.0, 2.0, 14.0)  # of their cells, in points
MOST_EXCLUSIONS = 20  # on this page; the appendix has all
EXCLUSION = ("subject", "rule", "seen", "allowed", "consequence")


def _blocks(data: CohortData) -> Iterator[Block]:
    persons = people_table(data)
    yield Text(_criterion(data) or _finding(persons, change(data)), "finding")
    yield Text(_words(data, persons))
    yield warned(data, "failures", "answers")
    learning = learning_panel(data)
    if len(data.groups) > MOST_LINES and learning.table is not None:
        yield _side_by_side(learning.name, f"{learning.title}, by group", learning.table, data.groups)
    else:
        yield Row([learning], 120, 190, tight=90)
    yield from _within(data)
    yield Row([*_strips(data, persons)], 105, 160, tight=85)
    yield _group_table(data, persons)
    if data.has("exclusions"):
        yield Text("Taken out by the rules of the protocol", "heading")
        yield exclusion_table(data, MOST_EXCLUSIONS)
        if (n_more := len(data["exclusions"]) - MOST_EXCLUSIONS) > 0:
            yield Text(f"And {n_more} more, in the appendix.", "note")


def _within(data: CohortData) -> Iterator[Row | Grid]:
    """Give the curves of conditions and phases, and of the columns that the protocol names for it."""
    for name, curve in curves_within(data):
        file = "data_curves_by_" + "".join(each if each.isascii() and each.isalnum() else "_" for each in name)
        levels, title = tuple(curve["group"].unique()), f"The same by {brief(name)}"
        if len(levels) > MOST_LINES:
            yield _side_by_side(file, title, curve, levels)
        else:
            draw = partial(draw_learning_curves, curve=curve, groups=levels)
            panel = Panel(file, draw, title, _caption(curve, "means over people"), table=curve)
            yield Row([panel], 120, 190, tight=90)


def _side_by_side(name: str, title: str, curve: pd.DataFrame, levels: Sequence[str]) -> Grid:
    """Return a cell for each level, where their lines would hide each other in one figure."""
    of = {level: curve[curve["group"] == level].assign(group=EVERYONE) for level in levels}
    cells = [Panel("", partial(draw_learning_curves, curve=own, groups=()), level) for level, own in of.items()]
    return Grid(name, cells, columns_for(len(cells)), 90, 120, PADS, 8.0, heads={0: title}, table=curve)


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


def _strips(data: CohortData, persons: pd.DataFrame) -> Iterator[Panel]:
    """Give panels with a point for each person: accuracy, answers that are 1, and missed ones where there are any."""
    outcomes = float(persons["outcomes_1"].mean())
    draw = partial(draw_strip, people=persons.assign(lost=persons["missed"] / persons["trials"]), groups=data.groups)
    accuracy, bias = partial(draw, column="accuracy", line=0.5), partial(draw, column="answers_1", line=outcomes)
    words = "Points are people; the mark beside them is their mean with its 95% interval. Dashed: chance."
    yield Panel("data_accuracy", accuracy, "Answers that equal the outcome", words, table=persons)
    words = f"Dashed: the share of outcomes that were 1, {share(outcomes)}."
    yield Panel("data_response_bias", bias, "Response bias: answers that are 1", words, table=persons)
    if persons["missed"].any():
        words = "Missed answers drop out of the likelihood and stay in the learning sequence."
        yield Panel("data_missed", partial(draw, column="lost"), "Answers that were missed", words, table=persons)


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


def _criterion(data: CohortData) -> str:
    """Return what was found in a task that ends at a criterion: how many came to it, after how many trials."""
    learners = to_criterion(data)
    if not len(learners):
        return ""
    reached, n = learners[learners["reached"]], len(learners)
    middle = learners["trials"].where(learners["reached"], np.inf).median()  # whoever did not come to it needs longer
    when = f"after {middle:.0f} trials in the median" if np.isfinite(middle) else "most of them never"
    return (
        f"As in a task that ends at a criterion, {len(reached):,} of {n:,} learners stopped early and right, {when}; "
        f"up to there they were right on {share(reached['accuracy'].mean())} of their answers."
    )


def _words(data: CohortData, persons: pd.DataFrame) -> str:
    trials, n = persons["trials"], int(persons["missed"].sum())
    span = f"{trials.min():,}" if trials.min() == trials.max() else f"{trials.min():,} to {trials.max():,}"
    missed = f"{count(n, 'answer')} ({share(n / trials.sum())}) {'was' if n == 1 else 'were'} missed"
    parts = [f"Each person had {span} trials; {missed if n else 'no answer was missed'}."]
    if data.groups:
        sizes = [f"{brief(group)} ({(persons['group'] == group).sum()})" for group in data.groups]
        parts.append(f"Groups: {listed(sizes)}.")
    excluded = data["exclusions"] if data.has("exclusions") else pd.DataFrame(columns=["subject", "consequence"])
    of_rows = excluded["consequence"] == ROWS_LEFT_OUT
    n_out = excluded.loc[~of_rows, "subject"].nunique()
    if of_rows.any():
        parts.append("The protocol left out rows of the files before all else; the table below says which.")
    out = f"The rules of the protocol took something out of {people(n_out)}; see the table below."
    return " ".join([*parts, out if n_out else "Nobody was excluded by the rules of the protocol."])


def _group_table(data: CohortData, persons: pd.DataFrame) -> Table:
    """Return what everyone, and then each group, has done."""
    heads = ("people", "trials", "answers", "missed", "no feedback", "accuracy", "answers 1")
    rows = []
    for name, own in [(EVERYONE, persons), *((name, persons[persons["group"] == name]) for name in data.groups)]:
        sums = [f"{own[column].sum():,}" for column in ("trials", "answered", "missed", "no_feedback")]
        means = [fixed(own[column].mean(), 3) for column in ("accuracy", "answers_1")]
        rows.append([brief(name), f"{len(own):,}", *sums, *means])
    return Table([*texts("who"), *numbers(*heads)], rows)


def exclusion_table(data: CohortData, most: int | None = None, size: float = 7.5) -> Table:
    """Return whom or what the rules have taken out, and why."""
    rows = data["exclusions"][:most][list(EXCLUSION)]
    return Table(texts("person", *EXCLUSION[1:]), rows.astype("str").to_numpy().tolist(), size=size)


LACKING = "The run has no trials that were fitted."
DATA = Page("data", "Data", _blocks, needing(trials_fitted=LACKING))
