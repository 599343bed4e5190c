"""The page that sets the models against behaviour: simulated and observed learning curves."""

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from holmes_fit._support.numbers import MISSING, share
from holmes_fit.reporting.blocks import Block, Grid, Panel, Table, Text, columns_for, numbers, texts
from holmes_fit.reporting.figures.data import draw_predictive
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.text import brief, capital, fixed
from holmes_fit.reporting.warnings import warned

# What answers are counted, in words and in short.
MEASURES = {
    "correct": ("answers that equal the outcome", "equal the outcome"),
    "choice": ("answers that are 1", "are 1"),
    "no_feedback_correct": ("answers without feedback that equal the outcome", "equal it, without feedback"),
}
WORDS = (
    "Dark points are people. Coloured lines are cohorts simulated from each person's posterior, with the trials that "
    "the person saw; bands hold 95% of them. A ring marks a point outside of its band."
)
HEIGHT, HIGHEST, PADS, GAP = 90.0, 150.0, (30.0, 17.0, 2.0, 14.0), 10.0  # of a cell, in points
MOST_CONDITIONS = 12
MOST_MODELS = 5  # side by side in a table; more stand below each other
LEAST_INSIDE = 0.8  # of the parts in the band, for a curve to be reproduced


def _blocks(data: CohortData) -> Iterator[Block]:
    yield Text(_finding(data), "finding")
    yield Text(WORDS)
    yield warned(data, "noise", "failures")
    yield from _grids(data)
    if data.has("predictive_summary"):
        yield from _summary_table(data)


def _grids(data: CohortData) -> Iterator[Grid]:
    """Give the learning curves of everyone and of each group, those of conditions, and those of other measures."""
    curves = _curves(data)
    yield _of_models(data, "behaviour_correct", "correct", EVERYONE)
    for place, group in enumerate(data.groups, start=1):
        if group in set(curves["group"]):
            yield _of_models(data, f"behaviour_correct_group_{place}", "correct", group)
    if _has_conditions(data):
        for model in [name for name in data.model_names if name in ("flat", "holmes", data.lead_model)]:
            yield _of_conditions(data, model)
    for measure in ("no_feedback_correct", "choice"):
        if measure in set(curves["measure"]):
            yield _of_models(data, f"behaviour_{measure}", measure, EVERYONE)


def predictive_panel(data: CohortData, model: str, name: str) -> Panel | None:
    """Return one panel for everyone and one model, if there is one."""
    table = _curves(data, "correct", EVERYONE)
    rows = table[table["model"] == model] if len(table) else table
    draw = partial(draw_predictive, rows=rows, color=data.words.color(model))
    title = f"People (points) and {data.words.label(model)} (band)"
    caption = "Answers that equal the outcome, over trials. Band: 95% of simulated cohorts."
    return Panel(name, draw, title, caption, table=rows) if len(rows) else None


def _curves(
    data: CohortData, measure: str | None = None, group: str | None = None, of_conditions: bool = False
) -> pd.DataFrame:
    """Return curves over trials, of all conditions together or of each, of one measure and group or of all."""
    table = data["predictive"]
    if not len(table):
        return table
    kept = (table["by"] == "trial") & table["observed"].notna() & (table["condition"].ne("") == of_conditions)
    for column, value in (("measure", measure), ("group", group)):
        kept &= (table[column] == value) | (value is None)
    return table[kept]


def _of_models(data: CohortData, name: str, measure: str, group: str) -> Grid:
    """Set the models side by side for one group; limits are those of all groups."""
    rows, who = _curves(data, measure, group), "" if group == EVERYONE else f" – {brief(group)}"
    cells = {(data.words.label(model), model): rows[rows["model"] == model] for model in data.model_names}
    most = HEIGHT if _has_conditions(data) else HIGHEST
    return _grid(data, name, f"{capital(MEASURES[measure][0])}{who}", cells, most, _curves(data, measure), rows)


def _of_conditions(data: CohortData, model: str) -> Grid:
    """Set the conditions side by side, for a model of the question."""
    every = _curves(data, "correct", EVERYONE, of_conditions=True)
    rows, conditions = every[every["model"] == model], list(dict.fromkeys(every["condition"]))[:MOST_CONDITIONS]
    cells = {(name, model): rows[rows["condition"] == name] for name in conditions}
    title = f"By condition – {data.words.label(model)}"
    return _grid(data, f"behaviour_conditions_{model}", title, cells, HEIGHT, every, rows)


def _grid(
    data: CohortData,
    name: str,
    title: str,
    cells: Mapping[tuple[str, str], pd.DataFrame],
    most: float,
    shared: pd.DataFrame,
    table: pd.DataFrame,
) -> Grid:
    """Return a cell for each title and model, with limits that hold all of the shared curves."""
    values = shared[["observed", "lower", "upper"]]
    low, high = float(values.min().min()), float(values.max().max())
    margin = max(0.02, 0.06 * (high - low))
    lane = 0.22 * (high - low + 2 * margin)  # for what is written in the figure
    draw = partial(draw_predictive, limits=(max(-0.02, low - margin), high + margin + lane))
    panels = [
        Panel("", partial(draw, rows=rows, color=data.words.color(model)), label)
        for (label, model), rows in cells.items()
        if len(rows)
    ]
    columns = min(columns_for(len(panels)), max(2, len(panels)))
    return Grid(name, panels, columns, HEIGHT, most, PADS, GAP, heads={0: title}, table=table)


def _has_conditions(data: CohortData) -> bool:
    """Return whether the summary is over the curves of conditions, which are finer than those over all trials."""
    return len(_curves(data, "correct", EVERYONE, of_conditions=True)) > 0


def _finding(data: CohortData) -> str:
    summary, label = data["predictive_summary"], data.words.label(data.lead_model)
    if len(summary):
        summary = summary[(summary["measure"] == "correct") & (summary["group"] == EVERYONE)]
    lead = summary[summary["model"] == data.lead_model] if len(summary) else summary
    if not len(lead):
        return "Simulated people, drawn from each model as it was fitted, beside the real ones."
    inside = lead["share_inside"].iloc[0]
    what = "learning curves of the conditions" if _has_conditions(data) else "learning curve"
    does, only = ("reproduces the", "") if inside >= LEAST_INSIDE else ("misses part of the", "only ")
    found = capital(f"{label} {does} {what}: {only}{share(inside)} of the parts lie in the model's 95% band")
    if len(summary) == 1:
        return f"{found}."
    best = str(summary.sort_values("rmse", kind="stable")["model"].iloc[0])
    most = str(summary.sort_values("share_inside", ascending=False, kind="stable")["model"].iloc[0])
    others = summary.set_index("model")["share_inside"][most]
    more = f", and {share(others)} in that of {data.words.label(most)}" if others > inside else ""
    closest = "no model is closer" if best == data.lead_model else f"{data.words.label(best)} is closer"
    return f"{found}{more}. By RMS error, {closest}."


def _summary_table(data: CohortData) -> Iterator[Block]:
    """Give how far each model is from people: a row for each group and measure, a column for each model."""
    summary, groups = data["predictive_summary"], (EVERYONE, *data.groups)
    main = summary["group"].eq(EVERYONE) | summary["measure"].eq("correct")
    cells = {
        (str(row["measure"]), str(row["group"]), str(row["model"])): f"{fixed(row['rmse'], 3)} "
        f"({share(row['share_inside'])})"
        for row in summary[main & summary["group"].isin(groups)].to_dict("records")
    }
    models = [name for name in data.model_names if any(name == model for _, _, model in cells)]
    whose = [
        (measure, group)
        for measure in MEASURES
        for group in groups
        if any((measure, group, m) in cells for m in models)
    ]
    named, labels = [(MEASURES[measure][1], brief(group)) for measure, group in whose], [*map(data.words.label, models)]
    rows = [[cells.get((*of, model), MISSING) for model in models] for of in whose]
    finer = " by condition" if _has_conditions(data) else ""
    yield Text(f"Root mean square difference{finer} (share of parts in the band)", "heading")
    if len(models) <= MOST_MODELS:
        together = [[*of, *row] for of, row in zip(named, rows, strict=True)]
        yield Table([*texts("answers that", "group"), *numbers(*labels)], together)
    else:
        together = [[label, *row] for label, *row in zip(labels, *rows, strict=True)]
        heads = [f"{measure}, {group}" for measure, group in named]
        yield Table([*texts("model"), *numbers(*heads)], together)


LACKING = "There are no simulated cohorts to set beside people: run holmes-fit compare RUN."
BEHAVIOUR = Page("behaviour", "Models against behaviour", _blocks, needing(predictive=LACKING))
