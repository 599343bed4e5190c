"""The pages on parameters: people before and after pooling, the group, covariates, correlations."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, probability
from holmes_fit.reporting.blocks import Block, Panel, Row, Table, Text, numbers, texts
from holmes_fit.reporting.figures import parameters as drawing
from holmes_fit.reporting.figures.axes import people_axis_height
from holmes_fit.reporting.names import term_label
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections.recovery import information_panel
from holmes_fit.reporting.style import FLAT, HOLMES
from holmes_fit.reporting.text import brief, fixed, number, people, sentence, whole
from holmes_fit.reporting.warnings import warned

FEWEST_FOR_CORRELATIONS = 5
MOST_EFFECTS = 16
EFFECTS = {
    "contrast": ("Differences between groups", "In natural units: the difference of two medians. Lines: 95%."),
    "effect": ("Effects of covariates", "On the scale of search (log or logit). Lines: 95% intervals."),
}
WIDTH, ALONE = 380.0, 460.0  # points of the axes with people, beside the group and without it
BEHAVIOUR = (
    "Logistic regression of answers to trials with feedback, people as clusters (generalised estimating equations)."
)
COLOR_WORDS = {FLAT: "in grey", HOLMES: "in violet"}
LEFT = 30.0  # points for the ticks of a parameter, so that people stand below each other
ALONE_WORDS = (
    "Points are posterior medians, lines 95% intervals. There is no group model to borrow strength from: run "
    "holmes-fit pool RUN."
)


def _blocks(data: CohortData) -> Iterator[Block]:
    scales, label = _scales(data), data.words.label(data.lead_model)
    words = _pooled_words(data) if data.has("pooled") else ALONE_WORDS
    yield Text(_finding(data, label), "finding")
    if scales:
        first = data.words.parameter(next(iter(scales)))
        words += f" People stand in one order in all rows: by {first}, the lowest first."
    yield Text(words)
    yield warned(data, "pooling", "noise", "failures")
    if not scales:
        yield Text(f"{label} has no free parameters in this run.")
        return
    yield from _rows_of_people(data)
    for quantity in EFFECTS:
        if n := len(_effects(data, quantity)):
            yield Row([_effects_panel(data, quantity)], 34 + 17 * min(n, MOST_EFFECTS))
    if data.has("behaviour"):
        yield from _behaviour(data)
    if panels := [*_correlations(data)]:
        matrix = min(70 + 18 * len(scales), 250)
        yield Row(panels, matrix, matrix + 50)
    if data.has("group"):
        yield from _group_table(data)
    if not data.has("recovery"):  # its page has the figure otherwise
        yield Row([information_panel(data, "parameters_information")], 120, 150)


# --- What is known of a parameter


def _scales(data: CohortData) -> dict[str, str]:
    """Return the scale of each free parameter of the leading model."""
    rows = data.of_model("fits", data.lead_model)
    return dict(zip(rows["parameter"], rows["scale"], strict=True))


def _of(data: CohortData, name: str, parameter: str, model: str = "") -> pd.DataFrame:
    """Return what a table says of a parameter of the leading model, or of another; no rows where it says nothing."""
    rows = data.of_model(name, model or data.lead_model)
    return rows[rows["parameter"] == parameter] if len(rows) else rows


def _best(data: CohortData) -> pd.DataFrame:
    """Return the best estimates that there are of the leading model: under the group, or of each person alone."""
    rows = data.of_model("pooled" if data.has("pooled") else "fits", data.lead_model)
    return rows[rows["parameter"].isin(_scales(data))]


def _sorted_people(data: CohortData) -> list[str]:
    """Return people by their median of the first parameter, pooled where there is one, the lowest first."""
    first = next(iter(_scales(data)))
    own = _of(data, "pooled", first)
    rows = own if len(own) else _of(data, "fits", first)
    return [str(name) for name in rows.sort_values("median", kind="stable")["subject"]]


def _groups(data: CohortData, parameter: str) -> dict[str, pd.DataFrame]:
    """Return what is known of the group, by model; baselines are in the way, unless one is ahead."""
    models = [name for name in data.model_names if not data.words.is_baseline(name) or name == data.lead_model]
    return {model: rows for model in models if len(rows := _of(data, "group", parameter, model))}


# --- People, and their group


def _rows_of_people(data: CohortData) -> Iterator[Row]:
    """Give a row for each parameter, with people's names below the last one."""
    scales = _scales(data)
    for name in scales:
        below = 16 + people_axis_height(_sorted_people(data), WIDTH) if name == [*scales][-1] else 0.0
        tables = [rows for table in ("fits", "pooled") if len(rows := _of(data, table, name))]
        limits, groups = drawing.scale_limits(tables, scales[name]), _groups(data, name)
        panels = [_people_panel(data, name, limits)]
        if groups:
            draw = partial(drawing.draw_group, rows=groups, scale=scales[name], limits=limits, words=data.words)
            panels.append(Panel(f"parameters_{name}_group", draw, "Group", table=pd.concat(groups.values())))
        yield Row(panels, 64 + below, 110 + below, LEFT)


def _people_panel(data: CohortData, parameter: str, limits: tuple[float, float]) -> Panel:
    scales, words = _scales(data), data.words
    before, after = _of(data, "fits", parameter), _of(data, "pooled", parameter)
    shown = before.merge(after, on="subject", how="left", suffixes=("", "_pooled")) if len(after) else before
    meaning = words.meaning_of_parameter(parameter)
    draw = partial(
        drawing.draw_people_intervals,
        before=before,
        after=after if len(after) else None,
        order=_sorted_people(data),
        scale=scales[parameter],
        color=words.color(data.lead_model),
        limits=limits,
        names=parameter == [*scales][-1],
        width=WIDTH if _groups(data, parameter) else ALONE,
    )
    title = f"{words.parameter(parameter)}{f' – {meaning}' if meaning else ''}"
    return Panel(f"parameters_{parameter}", draw, title, share=5.0, table=shown)


def _finding(data: CohortData, label: str) -> str:
    scales, told = _scales(data), []
    for parameter in [name for name in ("alpha", "omega") if name in scales] or list(scales)[:2]:
        rows = _of(data, "group", parameter)
        for row in rows[rows["quantity"] == "median"][:1].to_dict("records") if len(rows) else ():
            told.append(f"{data.words.parameter(parameter)} = {number(row['median'])} ({_interval(row, number)})")
    if told and not data.scope:
        return f"Under {label} the typical person has {listed(told)}."
    if told:
        return f"People of {brief(data.scope)} against the whole cohort, whose typical person has {listed(told)}."
    return f"Each person's estimates under {label}, by themselves: the cohort was not pooled."


def _pooled_words(data: CohortData) -> str:
    words, parts = data.words, []
    for parameter in _scales(data):
        before, after = _of(data, "fits", parameter), _of(data, "pooled", parameter)
        if len(after):
            both = before.merge(after, on="subject", suffixes=("", "_pooled"))
            ratio = float((both["sd_on_scale_pooled"] / both["sd_on_scale"]).median())
            parts.append(f"{ratio:.0%} ({words.parameter(parameter)})")
    shrunk = f"Under the group, typical intervals are {listed(parts)} as wide as before." if parts else ""
    # Groups of several models are told by their colours.
    models = [name for name in data.model_names if not words.is_baseline(name) and len(data.of_model("group", name))]
    named = [f"{words.label(name)} {word}" for name in models if (word := COLOR_WORDS.get(words.color(name)))]
    return (
        "Pale: each person by themselves. Dark: the same person under the group, whose distribution stands at the "
        f"right{f', {listed(named)}' if len(named) > 1 else ''} (mark: its median; lines: 95% intervals). {shrunk}"
    )


def _interval(row: Any, shown: Callable[[float], str]) -> str:
    return f"{shown(row['lower'])} to {shown(row['upper'])}"


# --- Covariates, and what goes together


def _effects(data: CohortData, quantity: str) -> pd.DataFrame:
    """Return effects or contrasts of the models of the question; an intercept is no effect."""
    table = data["group"]
    if not len(table):
        return table
    is_shown = ~table["model"].map(data.words.is_baseline) | (table["model"] == data.lead_model)
    rows = table[(table["quantity"] == quantity) & is_shown]
    return rows[(quantity != "effect") | (rows["name"].str.lower() != "intercept")]


def _effects_panel(data: CohortData, quantity: str) -> Panel:
    rows, (title, caption) = _effects(data, quantity), EFFECTS[quantity]
    if "condition" in rows:
        title = title.replace("groups", "conditions").replace("covariates", "conditions") + ", within people"
    n_more = len(rows) - MOST_EFFECTS
    more = f" {n_more} more are in group.csv." if n_more > 0 else ""
    draw = partial(drawing.draw_effects, rows=rows.head(MOST_EFFECTS), words=data.words)
    return Panel(f"parameters_{quantity}s", draw, title, caption + more, table=rows)


def _behaviour(data: CohortData) -> Iterator[Block]:
    shown = data["behaviour"][data["behaviour"]["term"] != "Intercept"]
    rows = []
    for row in shown.to_dict("records"):
        counts = [whole(row["n_subjects"]), whole(row["n_answers"])]
        found = [number(row["estimate"]), number(row["standard_error"]), _interval(row, number), probability(row["p"])]
        rows.append([f"{row['formula']}: {term_label(row['term'])}", *counts, *found])
    yield Text("The same covariates and right answers, without a model, in log odds", "heading")
    yield Table([*texts("covariate"), *numbers("people", "answers", "estimate", "error", "95% interval", "p")], rows)
    yield Text(" ".join([BEHAVIOUR, *dict.fromkeys(sentence(text) for text in shown["warning"] if text)]), "note")


def _correlations(data: CohortData) -> Iterator[Panel]:
    """Give the matrix of correlations, and the pair of alpha and Omega, or of the first two parameters."""
    n, table, scales, words = len(_sorted_people(data)), _correlation_table(data), _scales(data), data.words
    if n < FEWEST_FOR_CORRELATIONS or len(table) < 2:
        return
    source = "means under the group" if data.has("pooled") else "posterior means"
    chance = f"±{1.96 / np.sqrt(max(1, n - 1)):.2f}"
    yield Panel(
        "parameters_correlations",
        partial(drawing.draw_correlations, table=table, counts=n, words=words),
        "Rank correlations over people",
        f"Spearman, over people's {source}. True covariation and trade-offs of the fit look alike; with {people(n)}, "
        f"values within {chance} are no more than chance.",
        table=table.rename_axis("name").reset_index(),
    )
    if len(scales) > 1:
        x, y = ("alpha", "omega") if {"alpha", "omega"} <= set(scales) else list(scales)[:2]
        rows = _best(data)[_best(data)["parameter"].isin([x, y])]
        wide = rows.pivot_table(index="subject", columns="parameter", values="median").reset_index()
        wide["group"] = wide["subject"].map(data.group_of).fillna("")
        draw = partial(drawing.draw_pair, table=wide, x=x, y=y, scales=scales, groups=data.groups, words=words)
        title = f"{words.parameter(y)} against {words.parameter(x)}, person by person"
        yield Panel("parameters_pair", draw, title, "Points are people's medians.", table=wide)


def _correlation_table(data: CohortData) -> pd.DataFrame:
    """Return rank correlations over people, between parameters, accuracy and numeric covariates."""
    wide = _best(data).pivot_table(index="subject", columns="parameter", values="mean_on_scale")[[*_scales(data)]]
    wide = wide.join(people_table(data).set_index("subject")[["accuracy"]])
    covariates = data.subjects.set_index("subject").select_dtypes("number")
    wide = wide.join(covariates.loc[:, covariates.nunique() > 2])
    return wide.loc[:, wide.nunique() > 1].rank().corr()


# --- The group, in numbers


def _group_table(data: CohortData) -> Iterator[Block]:
    shown, words = data["group"], data.words
    if not words.is_baseline(data.lead_model):
        shown = shown[~shown["model"].map(words.is_baseline)]
    rows = []
    for (model, parameter), own in shown.groupby(["model", "parameter"], sort=False):
        by_quantity = dict(own[own["name"] == ""].drop_duplicates("quantity").set_index("quantity").iterrows())
        if not {"median", "spread"} <= set(by_quantity):
            continue
        middle, spread = by_quantity["median"], by_quantity["spread"]
        found = [number(middle["median"]), _interval(middle, number), fixed(spread["median"]), _interval(spread, fixed)]
        rows.append([words.label(str(model)), words.parameter(str(parameter)), *found, fixed(own["r_hat"].max(), 3)])
    heads = ("median", "95% interval", "spread over people", "95% interval", "R-hat")
    checks = [
        f"{words.label(row['model'])} {whole(row['divergences'])} divergences, R-hat {fixed(row['r_hat'], 3)}, "
        f"effective draws {whole(min(row['ess_bulk'], row['ess_tail']))}"
        for row in data["pooling"].to_dict("records")
    ]
    meaning = "Medians are natural values of the people between the bounds; spreads are SDs on the scale of search."
    yield Text("The group" + (", the whole cohort" if data.scope else ""), "heading")
    yield Table([*texts("model", "parameter"), *numbers(*heads)], rows)
    told = f"Checks: {'; '.join(checks)}." if checks else ""
    yield Text(f"{meaning} {told}", "note")


LACKING = "Nobody could be fitted, so there are no parameters to show."
PARAMETERS = Page("parameters", "Parameters", _blocks, needing(fits=LACKING))
