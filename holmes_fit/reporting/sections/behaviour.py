"""The page that sets the models against behaviour: simulated and observed learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, share
from holmes_fit.reporting.book import Book, Column, Panel
from holmes_fit.reporting.figures.behaviour import draw_predictive
from holmes_fit.reporting.names import model_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.text import capital, fixed, printable
from holmes_fit.reporting.warnings import failure_warnings, noise_warnings

TITLE = "Models against behaviour"
MEASURES = {
    "correct": "answers that equal the outcome",
    "choice": "answers that are 1",
    "no_feedback_correct": "answers without feedback that equal the outcome",
}
IN_SHORT = {"correct": "equal the outcome", "choice": "are 1", "no_feedback_correct": "equal it, without feedback"}
WORDS = (
    "Dark points are people. Coloured lines are cohorts simulated from each person's posterior, with the trials that "
    "the person saw; bands hold 95% of them. A ring marks a point outside of its band."
)
MOST_COLUMNS = 4
HEIGHT, HIGHEST, PADS = 90.0, 150.0, (30.0, 17.0, 2.0, 14.0)  # of a cell, in points, as all below
GAP = 10.0
HEAD = 22.0  # of a section
SUMMARY, LINE = 60.0, 11.0  # the table, without its rows
MOST_CONDITIONS = 12


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    table = data.predictive
    assert table is not None
    book.begin(TITLE, _finding(data), WORDS, [*noise_warnings(data), *failure_warnings(data)])
    curves = table[(table["by"] == "trial") & (table["condition"] == "")]
    conditions = [name for name in dict.fromkeys(table["condition"]) if name][:MOST_CONDITIONS]
    shown = [("correct", group) for group in (EVERYONE, *data.groups)]
    others = [(measure, EVERYONE) for measure in ("no_feedback_correct", "choice") if measure in set(curves["measure"])]
    height = HEIGHT if conditions else _height(data, book, curves, len(shown) + len(others))
    for measure, group in shown:
        _curves(data, book, curves, measure, group, height)
    if conditions:
        _conditions(data, book, table, conditions)
    for measure, group in others:
        _curves(data, book, curves, measure, group, height)
    _summary_table(data, book)


def _height(data: CohortData, book: Book, table: pd.DataFrame, n_sections: int) -> float:
    """Return how high a cell is, so that few sections fill the page, with the table below them."""
    models = [name for name in data.model_names if name in set(table["model"])]
    rows = -(-len(models) // _columns(models))
    room = (book.room - SUMMARY - LINE * n_sections) / max(1, n_sections)
    return float(np.clip((room - HEAD) / rows - GAP, HEIGHT, HIGHEST))


def _columns(models: Sequence[str]) -> int:
    return min(MOST_COLUMNS, max(2, len(models)))


def predictive_panel(data: CohortData, model: str, name: str) -> Panel | None:
    """Return one panel for everyone and one model, if there is one."""
    if data.predictive is None:
        return None
    rows = _picked(data.predictive, "correct", EVERYONE, model)
    if not len(rows):
        return None
    return Panel(
        name,
        partial(draw_predictive, rows=rows, model=model, models=data.model_names),
        f"People (points) and {model_label(model)} (band)",
        "Answers that equal the outcome, over trials. Band: 95% of simulated cohorts.",
        table=rows,
    )


def _picked(table: pd.DataFrame, measure: str, group: str, model: str, condition: str = "") -> pd.DataFrame:
    own = table[(table["by"] == "trial") & (table["measure"] == measure) & (table["group"] == group)]
    return own[(own["model"] == model) & (own["condition"] == condition)].dropna(subset=["observed"])


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows[["observed", "lower", "upper"]]
    low, high = float(values.min().min()), float(values.max().max())
    margin = max(0.02, 0.06 * (high - low))
    lane = 0.22 * (high - low + 2 * margin)  # for what is written in the figure
    return max(-0.02, low - margin), high + margin + lane


def _curves(data: CohortData, book: Book, table: pd.DataFrame, measure: str, group: str, height: float) -> None:
    """Set the models side by side for one group, in cells of that height."""
    everyone = table[(table["measure"] == measure)].dropna(subset=["observed"])
    rows = everyone[everyone["group"] == group]
    models = [name for name in data.model_names if name in set(rows["model"])]
    if not models:
        return
    limits = _limits(everyone)
    cells = []
    for model in models:
        own = _picked(table, measure, group, model)
        draw = partial(draw_predictive, rows=own, model=model, models=data.model_names, limits=limits)
        cells.append(Panel("", draw, model_label(model)))
    book.need(height + 20)
    who = "" if group == EVERYONE else f" – {printable(group)}"
    book.heading(f"{capital(MEASURES[measure])}{who}")
    name = f"behaviour_{measure}" + ("" if group == EVERYONE else f"_group_{data.groups.index(group) + 1}")
    book.grid(name, cells, _columns(models), height, pads=PADS, gap=GAP, table=rows)


def _conditions(data: CohortData, book: Book, table: pd.DataFrame, conditions: list[str]) -> None:
    """Set conditions side by side, a row for each model of the question."""
    rows = table[(table["by"] == "trial") & (table["measure"] == "correct") & (table["group"] == EVERYONE)]
    rows = rows[rows["condition"] != ""].dropna(subset=["observed"])
    if not len(rows):
        return
    columns, limits = min(MOST_COLUMNS, len(conditions)), _limits(rows)
    for model in [name for name in data.model_names if name in ("flat", "holmes", data.lead_model)]:
        cells = []
        for condition in conditions:
            own = _picked(table, "correct", EVERYONE, model, condition)
            draw = partial(draw_predictive, rows=own, model=model, models=data.model_names, limits=limits)
            cells.append(Panel("", draw, condition))
        book.need(HEIGHT + 20)
        book.heading(f"By condition – {model_label(model)}")
        shown = rows[rows["model"] == model]
        book.grid(f"behaviour_conditions_{model}", cells, columns, HEIGHT, pads=PADS, gap=GAP, table=shown)


def _finding(data: CohortData) -> str:
    summary = _of_correct(data)
    lead = summary[summary["model"] == data.lead_model] if summary is not None else None
    if summary is None or lead is None or not len(lead):
        return "Simulated people, drawn from each model as it was fitted, beside the real ones."
    row = lead.iloc[0]
    best = summary.sort_values("rmse", kind="stable").iloc[0]
    what = "learning curves of the conditions" if _has_conditions(data) else "learning curve"
    inside = share(row["share_inside"])
    start = capital(
        f"{model_label(data.lead_model)} reproduces the {what}: {inside} of the parts lie in the model's 95% band"
        if row["share_inside"] >= 0.8
        else f"{model_label(data.lead_model)} misses part of the {what}: only {inside} of the parts lie in the model's "
        "95% band"
    )
    if len(summary) == 1:
        return f"{start}."
    if best["model"] == data.lead_model:
        return f"{start}, and no model has a smaller RMS error."
    return f"{start}; {model_label(str(best['model']))} has a smaller RMS error."


def _has_conditions(data: CohortData) -> bool:
    """Return whether the summary is over the curves of conditions, which are finer than those over all trials."""
    return data.predictive is not None and bool((data.predictive["condition"] != "").any())


def _of_correct(data: CohortData) -> pd.DataFrame | None:
    summary = data.predictive_summary
    if summary is None:
        return None
    rows = summary[(summary["measure"] == "correct") & (summary["group"] == EVERYONE)]
    return rows if len(rows) else None


def _summary_table(data: CohortData, book: Book) -> None:
    """Write how far each model is from people: a row for each group and measure, a column for each model."""
    summary = data.predictive_summary
    if summary is None or not len(summary):
        return
    main = summary["group"].eq(EVERYONE) | summary["measure"].eq("correct")
    kept = summary[main & summary["group"].isin([EVERYONE, *data.groups])]
    models = [name for name in data.model_names if name in set(kept["model"])]
    rows = []
    for measure in [name for name in MEASURES if name in set(kept["measure"])]:
        for group in [name for name in (EVERYONE, *data.groups) if name in set(kept["group"])]:
            own = kept[(kept["measure"] == measure) & (kept["group"] == group)]
            if len(own):
                rows.append([IN_SHORT[measure], group, *(_distance(own[own["model"] == model]) for model in models)])
    book.need(43 + 10 * len(rows))
    finer = " by condition" if _has_conditions(data) else ""
    book.heading(f"Root mean square difference{finer} (share of parts in the band)")
    columns = [Column("answers that"), Column("group"), *(Column(model_label(model), right=True) for model in models)]
    book.table(columns, rows)


def _distance(rows: pd.DataFrame) -> str:
    return f"{fixed(rows['rmse'].iloc[0], 3)} ({share(rows['share_inside'].iloc[0])})" if len(rows) else MISSING


def _lacking(data: CohortData) -> str:
    if data.predictive is None or not len(data.predictive):
        return "There are no simulated cohorts to set beside people: run holmes-fit compare RUN."
    return ""


BEHAVIOUR = Page("behaviour", TITLE, build, _lacking)
