"""The page that sets the models against behaviour: simulated and observed learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from holmes_fit._support.numbers import MISSING, share
from holmes_fit.reporting.blocks import Block, Grid, Panel, Section, Table, Text, Warnings, numbers, texts
from holmes_fit.reporting.figures.behaviour import draw_predictive
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.text import brief, capital, fixed
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
HEIGHT, HIGHEST, PADS, GAP = 90.0, 150.0, (30.0, 17.0, 2.0, 14.0), 10.0  # of a cell, in points
MOST_CONDITIONS = 12


def section(data: CohortData) -> Section:
    """Return the page."""
    return Section(
        TITLE,
        [
            Text(_finding(data), "finding"),
            Text(WORDS),
            Warnings([*noise_warnings(data), *failure_warnings(data)]),
            *(grid() for grid in figures(data).values()),
            *_summary_table(data),
        ],
    )


def figures(data: CohortData) -> Figures:
    """Return the learning curves of everyone and of each group, those of conditions, and those of other measures."""
    curves = _curves(data)
    measures = [name for name in ("no_feedback_correct", "choice") if name in set(curves["measure"])]
    groups = [group for group in data.groups if group in set(curves["group"])]
    of_groups = {f"behaviour_correct_group_{data.groups.index(group) + 1}": group for group in groups}
    found = {"behaviour_correct": partial(_of_models, data, "behaviour_correct", "correct", EVERYONE)}
    found |= {name: partial(_of_models, data, name, "correct", group) for name, group in of_groups.items()}
    if _has_conditions(data):
        for model in [name for name in data.model_names if name in ("flat", "holmes", data.lead_model)]:
            found[f"behaviour_conditions_{model}"] = partial(_of_conditions, data, model)
    names = {f"behaviour_{measure}": measure for measure in measures}
    return found | {name: partial(_of_models, data, name, measure, EVERYONE) for name, measure in names.items()}


def predictive_panel(data: CohortData, model: str, name: str) -> Panel | None:
    """Return one panel for everyone and one model, if there is one."""
    rows = _picked(data, "correct", EVERYONE, model) if data.has("predictive") else pd.DataFrame()
    if not len(rows):
        return None
    return Panel(
        name,
        partial(draw_predictive, rows=rows, color=data.words.color(model)),
        f"People (points) and {data.words.label(model)} (band)",
        "Answers that equal the outcome, over trials. Band: 95% of simulated cohorts.",
        table=rows,
    )


def _by_trial(data: CohortData) -> pd.DataFrame:
    table = data["predictive"]
    return table[table["by"] == "trial"].dropna(subset=["observed"])


def _curves(data: CohortData) -> pd.DataFrame:
    table = _by_trial(data)
    return table[table["condition"] == ""]


def _picked(data: CohortData, measure: str, group: str, model: str, condition: str = "") -> pd.DataFrame:
    table = _by_trial(data)
    own = table[(table["measure"] == measure) & (table["group"] == group)]
    return own[(own["model"] == model) & (own["condition"] == condition)]


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows[["observed", "lower", "upper"]]
    low, high = float(values.min().min()), float(values.max().max())
    margin = max(0.02, 0.06 * (high - low))
    lane = 0.22 * (high - low + 2 * margin)  # for what is written in the figure
    return max(-0.02, low - margin), high + margin + lane


def _of_models(data: CohortData, name: str, measure: str, group: str) -> Grid:
    """Set the models side by side for one group."""
    everyone = _curves(data)
    everyone = everyone[everyone["measure"] == measure]
    rows = everyone[everyone["group"] == group]
    models = [model for model in data.model_names if model in set(rows["model"])]
    cells = [(data.words.label(model), model, _picked(data, measure, group, model)) for model in models]
    who = "" if group == EVERYONE else f" – {brief(group)}"
    most = HEIGHT if _has_conditions(data) else HIGHEST
    return _grid(data, name, f"{capital(MEASURES[measure])}{who}", cells, most, _limits(everyone), rows)


def _of_conditions(data: CohortData, model: str) -> Grid:
    """Set the conditions side by side, for a model of the question."""
    rows = _of_each_condition(data)
    conditions = list(dict.fromkeys(rows["condition"]))[:MOST_CONDITIONS]
    cells = [(condition, model, _picked(data, "correct", EVERYONE, model, condition)) for condition in conditions]
    name, title = f"behaviour_conditions_{model}", f"By condition – {data.words.label(model)}"
    return _grid(data, name, title, cells, HEIGHT, _limits(rows), rows[rows["model"] == model])


def _grid(
    data: CohortData,
    name: str,
    title: str,
    cells: Sequence[tuple[str, str, pd.DataFrame]],
    most: float,
    limits: tuple[float, float],
    table: pd.DataFrame,
) -> Grid:
    panels = [
        Panel("", partial(draw_predictive, rows=rows, color=data.words.color(model), limits=limits), label)
        for label, model, rows in cells
    ]
    columns = min(MOST_COLUMNS, max(2, len(panels)))
    return Grid(name, panels, columns, HEIGHT, most, PADS, GAP, heads={0: title}, table=table)


def _of_each_condition(data: CohortData) -> pd.DataFrame:
    table = _by_trial(data)
    return table[(table["measure"] == "correct") & (table["group"] == EVERYONE) & (table["condition"] != "")]


def _has_conditions(data: CohortData) -> bool:
    """Return whether the summary is over the curves of conditions, which are finer than those over all trials."""
    return data.has("predictive") and len(_of_each_condition(data)) > 0


def _finding(data: CohortData) -> str:
    summary = data["predictive_summary"]
    if data.has("predictive_summary"):
        summary = summary[(summary["measure"] == "correct") & (summary["group"] == EVERYONE)]
    lead = summary[summary["model"] == data.lead_model] if len(summary) else summary
    if not len(lead):
        return "Simulated people, drawn from each model as it was fitted, beside the real ones."
    label, inside = data.words.label(data.lead_model), share(lead["share_inside"].iloc[0])
    best = str(summary.sort_values("rmse", kind="stable")["model"].iloc[0])
    what = "learning curves of the conditions" if _has_conditions(data) else "learning curve"
    start = capital(
        f"{label} reproduces the {what}: {inside} of the parts lie in the model's 95% band"
        if lead["share_inside"].iloc[0] >= 0.8
        else f"{label} misses part of the {what}: only {inside} of the parts lie in the model's 95% band"
    )
    if len(summary) == 1:
        return f"{start}."
    if best == data.lead_model:
        return f"{start}, and no model has a smaller RMS error."
    return f"{start}; {data.words.label(best)} has a smaller RMS error."


def _summary_table(data: CohortData) -> Iterator[Block]:
    """Give how far each model is from people: a row for each group and measure, a column for each model."""
    if not data.has("predictive_summary"):
        return
    summary, groups = data["predictive_summary"], (EVERYONE, *data.groups)
    main = summary["group"].eq(EVERYONE) | summary["measure"].eq("correct")
    kept = summary[main & summary["group"].isin(groups)]
    models = [name for name in data.model_names if name in set(kept["model"])]
    cells = {
        key: f"{fixed(own['rmse'].iloc[0], 3)} ({share(own['share_inside'].iloc[0])})"
        for key, own in kept.groupby(["measure", "group", "model"])
    }
    rows = [
        [IN_SHORT[measure], brief(group), *(cells.get((measure, group, model), MISSING) for model in models)]
        for measure in MEASURES
        for group in groups
        if any((measure, group, model) in cells for model in models)
    ]
    finer = " by condition" if _has_conditions(data) else ""
    yield Text(f"Root mean square difference{finer} (share of parts in the band)", "heading")
    yield Table([*texts("answers that", "group"), *numbers(*map(data.words.label, models))], rows)


def _lacking(data: CohortData) -> str:
    if not data.has("predictive"):
        return "There are no simulated cohorts to set beside people: run holmes-fit compare RUN."
    return ""


BEHAVIOUR = Page("behaviour", TITLE, section, figures, _lacking)
