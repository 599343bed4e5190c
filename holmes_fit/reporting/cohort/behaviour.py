"""The page that sets the models against behaviour: simulated and observed learning curves."""

from __future__ import annotations

from functools import partial

import pandas as pd

from holmes_fit.reporting.cohort.book import Book, Column, Panel
from holmes_fit.reporting.cohort.data import EVERYONE, CohortData
from holmes_fit.reporting.cohort.figures_behaviour import draw_predictive
from holmes_fit.reporting.cohort.names import model_label
from holmes_fit.reporting.cohort.page import Page
from holmes_fit.reporting.cohort.text import fixed, printable, share, whole
from holmes_fit.reporting.cohort.warnings import noise_warnings

TITLE = "Models against behaviour"
MEASURES = {
    "correct": "answers that equal the outcome",
    "choice": "answers that are 1",
    "no_feedback_correct": "answers without feedback that equal the outcome",
}
WORDS = (
    "Dark points are people. Coloured lines are cohorts simulated from each person's posterior, with the trials that "
    "the person saw; bands hold 95% of them. A ring marks a point outside of its band."
)
MOST_COLUMNS = 4
MOST_CONDITIONS = 12


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    table = data.predictive
    assert table is not None
    book.begin(TITLE, _finding(data), WORDS, noise_warnings(data))
    curves = table[(table["by"] == "trial") & (table["condition"] == "")]
    for group in (EVERYONE, *data.groups):
        _curves(data, book, curves, "correct", group)
    conditions = [name for name in dict.fromkeys(table["condition"]) if name][:MOST_CONDITIONS]
    if conditions:
        _conditions(data, book, table, conditions)
    for measure in ("no_feedback_correct", "choice"):
        _curves(data, book, curves, measure, EVERYONE)
    _summary_table(data, book)


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


def _curves(data: CohortData, book: Book, table: pd.DataFrame, measure: str, group: str) -> None:
    """Set the models side by side for one group."""
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
    columns = min(MOST_COLUMNS, max(2, len(cells)))
    height = 104.0 if columns > 2 else 128.0
    book.need(height + 20)
    who = "" if group == EVERYONE else f" – {printable(group)}"
    book.heading(f"{MEASURES[measure][0].upper()}{MEASURES[measure][1:]}{who}")
    name = f"behaviour_{measure}" + ("" if group == EVERYONE else f"_group_{data.groups.index(group) + 1}")
    book.grid(name, cells, columns, height, pads=(30.0, 17.0, 2.0, 14.0), gap=10.0, table=rows)
    book.y -= 6


def _conditions(data: CohortData, book: Book, table: pd.DataFrame, conditions: list[str]) -> None:
    """Set conditions side by side, a row for each model of the mixture."""
    models = [name for name in data.model_names if name in ("flat", "holmes", data.lead_model)]
    rows = table[(table["by"] == "trial") & (table["measure"] == "correct") & (table["group"] == EVERYONE)]
    rows = rows[rows["condition"] != ""].dropna(subset=["observed"])
    columns = min(MOST_COLUMNS, len(conditions))
    cells = []
    for start in range(0, len(conditions), columns):
        for model in models:
            for condition in conditions[start : start + columns]:
                own = _picked(table, "correct", EVERYONE, model, condition)
                draw = partial(draw_predictive, rows=own, model=model, models=data.model_names, limits=_limits(rows))
                cells.append(Panel("", draw, f"{condition}, {model_label(model)}"))
    if not cells:
        return
    book.need(125)
    book.heading("By condition, everyone")
    book.grid("behaviour_conditions", cells, columns, 100.0, pads=(30.0, 17.0, 2.0, 14.0), gap=10.0, table=rows)
    book.y -= 6


def _finding(data: CohortData) -> str:
    summary = _of_correct(data)
    lead = summary[summary["model"] == data.lead_model] if summary is not None else None
    if summary is None or lead is None or not len(lead):
        return "Simulated people, drawn from each model as it was fitted, beside the real ones."
    row = lead.iloc[0]
    best = summary.sort_values("rmse", kind="stable").iloc[0]
    start = (
        f"{model_label(data.lead_model)} reproduces the learning curve: {share(row['share_inside'])} of its parts lie "
        "in the model's 95% band"
        if row["share_inside"] >= 0.8
        else f"{model_label(data.lead_model)} misses part of the learning curve: only {share(row['share_inside'])} of "
        "its parts lie in the model's 95% band"
    )
    if best["model"] == data.lead_model:
        return f"{start}, and no model comes closer."
    return f"{start}; {model_label(str(best['model']))} comes closest."


def _of_correct(data: CohortData) -> pd.DataFrame | None:
    summary = data.predictive_summary
    if summary is None:
        return None
    rows = summary[(summary["measure"] == "correct") & (summary["group"] == EVERYONE)]
    return rows if len(rows) else None


def _summary_table(data: CohortData, book: Book) -> None:
    summary = data.predictive_summary
    if summary is None or not len(summary):
        return
    book.need(110)
    book.heading("How far simulated cohorts are from people")
    main = summary["group"].eq(EVERYONE) | summary["measure"].eq("correct")
    kept = summary[main & summary["group"].isin([EVERYONE, *data.groups])]
    columns = [
        Column("model"),
        Column("group"),
        Column("measure"),
        Column("parts", right=True),
        Column("RMS difference", right=True),
        Column("in 95% band", right=True),
    ]
    book.table(
        columns,
        [
            [
                model_label(row["model"]),
                str(row["group"]),
                MEASURES.get(row["measure"], str(row["measure"])),
                whole(row["n_bins"]),
                fixed(row["rmse"], 3),
                share(row["share_inside"]),
            ]
            for _, row in kept.iterrows()
        ],
    )


def _lacking(data: CohortData) -> str:
    if data.predictive is None or not len(data.predictive):
        return "There are no simulated cohorts to set beside people: run holmes-fit compare RUN."
    return ""


BEHAVIOUR = Page("behaviour", TITLE, build, _lacking)
