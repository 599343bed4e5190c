"""The pages on parameters: people before and after pooling, the group, covariates, correlations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, probability
from holmes_fit.reporting.blocks import Block, Panel, Row, Section, Table, Text, Warnings, numbers, texts
from holmes_fit.reporting.figures.axes import people_axis_height
from holmes_fit.reporting.figures.parameters import (
    draw_correlations,
    draw_effects,
    draw_group,
    draw_pair,
    draw_people_intervals,
    scale_limits,
)
from holmes_fit.reporting.names import term_label
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections.recovery import RECOVERY, information_panel
from holmes_fit.reporting.style import FLAT, HOLMES
from holmes_fit.reporting.text import brief, fixed, number, people, sentence, whole
from holmes_fit.reporting.warnings import failure_warnings, noise_warnings, pooling_warnings

TITLE = "Parameters"
FEWEST_FOR_CORRELATIONS = 5
MOST_EFFECTS = 16
EFFECTS = {
    "contrast": ("Differences between groups", "In natural units: the difference of two groups' medians. Lines: 95%."),
    "effect": ("Effects of covariates", "On the scale of search (log or logit). Lines: 95% intervals."),
}
WIDTH, ALONE = 380.0, 460.0  # points of the axes with people, beside the group and without it
BEHAVIOUR = (
    "Logistic regression of answers to trials with feedback, people as clusters (generalised estimating equations)."
)
COLOR_WORDS = {FLAT: "in grey", HOLMES: "in violet"}
LEFT = 30.0  # points for the ticks of a parameter, so that people stand below each other


def free_parameters(data: CohortData, model: str) -> dict[str, str]:
    """Return the scale of each free parameter of a model."""
    rows = data.of_model("fits", model)
    return dict(zip(rows["parameter"], rows["scale"], strict=True))


def _of(data: CohortData, name: str, model: str, parameter: str) -> pd.DataFrame:
    """Return what a table says of a parameter; no rows where it says nothing."""
    rows = data.of_model(name, model)
    return rows[rows["parameter"] == parameter] if len(rows) else rows


def _estimates(data: CohortData) -> str:
    """Return the table with the best estimates that there are: under the group, or of each person alone."""
    return "pooled" if data.has("pooled") else "fits"


def _sorted_people(data: CohortData) -> list[str]:
    """Return people by their median of the first parameter, pooled where there is one, the lowest first."""
    first, lead = next(iter(free_parameters(data, data.lead_model))), data.lead_model
    own = _of(data, "pooled", lead, first)
    rows = own if len(own) else _of(data, "fits", lead, first)
    return [str(name) for name in rows.sort_values("median", kind="stable")["subject"]]


def section(data: CohortData) -> Section:
    """Return the pages."""
    lead, drawn = data.lead_model, {name: draw() for name, draw in figures(data).items()}
    scales = list(free_parameters(data, lead))
    warnings = Warnings([*pooling_warnings(data), *noise_warnings(data), *failure_warnings(data)])
    if not scales:
        words = f"{data.words.label(lead)} has no free parameters in this run."
        return Section(TITLE, [Text(_finding(data, lead), "finding"), Text(_words(data, lead)), warnings, Text(words)])
    in_order = f"People stand in one order in all rows: by {data.words.parameter(scales[0])}, the lowest first."
    names = people_axis_height(_sorted_people(data), WIDTH)

    def row(least: float, most: float, *wanted: str) -> list[Block]:
        panels = [drawn[name] for name in wanted if name in drawn]
        return [Row(panels, least, most, LEFT if len(wanted) > 1 and "group" in wanted[1] else 0.0)] if panels else []

    rows = [
        row(64 + below, 110 + below, f"parameters_{name}", f"parameters_{name}_group")
        for name, below in zip(scales, [*[0.0] * (len(scales) - 1), 16 + names], strict=True)
    ]
    effects = [
        row(34 + 17 * len(found), 0, f"parameters_{quantity}s")
        for quantity in EFFECTS
        if len(found := _effects(data, quantity).head(MOST_EFFECTS))
    ]
    matrix = min(70 + 18 * len(scales), 250)
    return Section(
        TITLE,
        [
            Text(_finding(data, lead), "finding"),
            Text(f"{_words(data, lead)} {in_order}"),
            warnings,
            *(block for blocks in (*rows, *effects) for block in blocks),
            *_behaviour(data),
            *row(matrix, matrix + 50, "parameters_correlations", "parameters_pair"),
            *_group_table(data),
            *row(120, 150, "parameters_information"),
        ],
    )


def figures(data: CohortData) -> Figures:
    """Return the figures of each free parameter of the leading model, and those of all of them together."""
    lead = data.lead_model
    scales, found = free_parameters(data, lead), {}
    for name in scales:
        found[f"parameters_{name}"] = partial(_people_panel, data, name)
        if _groups(data, name):
            found[f"parameters_{name}_group"] = partial(_group_panel, data, name)
    found |= {
        f"parameters_{name}s": partial(_effects_panel, data, name) for name in EFFECTS if len(_effects(data, name))
    }
    if scales and len(_sorted_people(data)) >= FEWEST_FOR_CORRELATIONS and len(correlation_table(data)) > 1:
        found["parameters_correlations"] = partial(_correlations_panel, data)
        if len(scales) > 1:
            found["parameters_pair"] = partial(_pair_panel, data)
    if scales and RECOVERY.lacking(data):  # its page has the figure otherwise
        found["parameters_information"] = partial(information_panel, data, "parameters_information")
    return found


def _groups(data: CohortData, parameter: str) -> list[tuple[str, pd.DataFrame]]:
    """Return what is known of the group, by model; baselines are in the way, unless one is ahead."""
    models = [name for name in data.model_names if not data.words.is_baseline(name) or name == data.lead_model]
    found = [(model, _of(data, "group", model, parameter)) for model in models]
    return [(model, rows) for model, rows in found if len(rows)]


def _limits(data: CohortData, parameter: str, scale: str) -> tuple[float, float]:
    tables = [_of(data, name, data.lead_model, parameter) for name in ("fits", "pooled")]
    return scale_limits([table for table in tables if len(table)], scale)


def _people_panel(data: CohortData, parameter: str) -> Panel:
    lead, scales = data.lead_model, free_parameters(data, data.lead_model)
    before, pooled = _of(data, "fits", lead, parameter), _of(data, "pooled", lead, parameter)
    after = pooled if len(pooled) else None
    shown = before if after is None else before.merge(after, on="subject", how="left", suffixes=("", "_pooled"))
    meaning = data.words.meaning_of_parameter(parameter)
    draw = partial(
        draw_people_intervals,
        before=before,
        after=after,
        order=_sorted_people(data),
        scale=scales[parameter],
        color=data.words.color(lead),
        limits=_limits(data, parameter, scales[parameter]),
        names=parameter == list(scales)[-1],
        width=WIDTH if _groups(data, parameter) else ALONE,
    )
    title = f"{data.words.parameter(parameter)}{f' – {meaning}' if meaning else ''}"
    return Panel(f"parameters_{parameter}", draw, title, share=5.0, table=shown)


def _group_panel(data: CohortData, parameter: str) -> Panel:
    rows, scale = _groups(data, parameter), free_parameters(data, data.lead_model)[parameter]
    limits = _limits(data, parameter, scale)
    draw = partial(draw_group, rows=rows, scale=scale, limits=limits, words=data.words)
    return Panel(f"parameters_{parameter}_group", draw, "Group", table=pd.concat([own for _, own in rows]))


def _finding(data: CohortData, lead: str) -> str:
    scales = free_parameters(data, lead)
    told = []
    for parameter in [name for name in ("alpha", "omega") if name in scales] or list(scales)[:2]:
        row = _group_median(data, lead, parameter)
        if row is not None:
            interval = _interval(row, number)
            told.append(f"{data.words.parameter(parameter)} = {number(row['median'])} ({interval})")
    if told and not data.scope:
        return f"Under {data.words.label(lead)} the typical person has {listed(told)}."
    if told:
        return f"People of {brief(data.scope)} against the whole cohort, whose typical person has {listed(told)}."
    return f"Each person's estimates under {data.words.label(lead)}, by themselves: the cohort was not pooled."


def _group_median(data: CohortData, model: str, parameter: str) -> pd.Series | None:
    rows = _of(data, "group", model, parameter)
    own = rows[rows["quantity"] == "median"] if len(rows) else rows
    return own.iloc[0] if len(own) else None


def _words(data: CohortData, lead: str) -> str:
    if not data.has("pooled"):
        return (
            "Points are posterior medians, lines 95% intervals. There is no group model to borrow strength from: run "
            "holmes-fit pool RUN."
        )
    return (
        "Pale: each person by themselves. Dark: the same person under the group, whose distribution stands at the "
        f"right{_beside(data)} (mark: its median; lines: 95% intervals). {_shrinkage(data, lead)}"
    )


def _beside(data: CohortData) -> str:
    """Name the models whose groups are drawn, if there are several, by their colours."""
    words = data.words
    models = [name for name in data.model_names if not words.is_baseline(name) and len(data.of_model("group", name))]
    named = [f"{words.label(name)} {word}" for name in models if (word := COLOR_WORDS.get(words.color(name)))]
    return f", {listed(named)}" if len(named) > 1 else ""


def _shrinkage(data: CohortData, lead: str) -> str:
    parts = []
    for parameter in free_parameters(data, lead):
        before, after = _of(data, "fits", lead, parameter), _of(data, "pooled", lead, parameter)
        if not len(after):
            continue
        both = before.merge(after, on="subject", suffixes=("", "_pooled"))
        ratio = float((both["sd_on_scale_pooled"] / both["sd_on_scale"]).median())
        parts.append(f"{ratio:.0%} ({data.words.parameter(parameter)})")
    return f"Under the group, typical intervals are {listed(parts)} as wide as before." if parts else ""


def _effects(data: CohortData, quantity: str) -> pd.DataFrame:
    """Return effects or contrasts of the models of the question; an intercept is no effect."""
    table = data["group"]
    if not len(table):
        return table
    rows = table[(table["quantity"] == quantity) & ~table["model"].map(data.words.is_baseline)]
    return rows[(quantity != "effect") | (rows["name"].str.lower() != "intercept")]


def _effects_panel(data: CohortData, quantity: str) -> Panel:
    rows, (title, caption) = _effects(data, quantity), EFFECTS[quantity]
    shown = rows.head(MOST_EFFECTS)
    more = f" {len(rows) - len(shown)} more are in group.csv." if len(rows) > len(shown) else ""
    draw = partial(draw_effects, rows=shown, words=data.words)
    return Panel(f"parameters_{quantity}s", draw, title, caption + more, table=rows)


def _behaviour(data: CohortData) -> Iterator[Block]:
    if not data.has("behaviour"):
        return
    shown = data["behaviour"][data["behaviour"]["term"] != "Intercept"]
    rows = []
    for row in shown.to_dict("records"):
        counts = [whole(row["n_subjects"]), whole(row["n_answers"])]
        found = [number(row["estimate"]), number(row["standard_error"]), _interval(row, number), probability(row["p"])]
        rows.append([f"{row['formula']}: {term_label(row['term'])}", *counts, *found])
    yield Text("The same covariates and right answers, without a model, in log odds", "heading")
    yield Table([*texts("covariate"), *numbers("people", "answers", "estimate", "error", "95% interval", "p")], rows)
    yield Text(" ".join([BEHAVIOUR, *dict.fromkeys(sentence(text) for text in shown["warning"] if text)]), "note")


def correlation_table(data: CohortData) -> pd.DataFrame:
    """Return rank correlations over people, between parameters, accuracy and numeric covariates."""
    scales = list(free_parameters(data, data.lead_model))
    rows = data.of_model(_estimates(data), data.lead_model)
    rows = rows[rows["parameter"].isin(scales)]
    wide = rows.pivot_table(index="subject", columns="parameter", values="mean_on_scale")[scales]
    wide = wide.join(people_table(data).set_index("subject")[["accuracy"]])
    covariates = data.subjects.set_index("subject").select_dtypes("number")
    wide = wide.join(covariates.loc[:, covariates.nunique() > 2])
    wide = wide.loc[:, wide.nunique() > 1]
    return wide.rank().corr()


def _correlations_panel(data: CohortData) -> Panel:
    n, table = len(_sorted_people(data)), correlation_table(data)
    source = "means under the group" if data.has("pooled") else "posterior means"
    chance = f"±{1.96 / np.sqrt(max(1, n - 1)):.2f}"
    return Panel(
        "parameters_correlations",
        partial(draw_correlations, table=table, counts=n, words=data.words),
        "Rank correlations over people",
        f"Spearman, over people's {source}. True covariation and trade-offs of the fit look alike; with {people(n)}, "
        f"values within {chance} are no more than chance.",
        table=table.rename_axis("name").reset_index(),
    )


def _pair_panel(data: CohortData) -> Panel:
    """Return the panel that sets two parameters against each other: alpha and Omega, or the first two."""
    scales = free_parameters(data, data.lead_model)
    x, y = ("alpha", "omega") if {"alpha", "omega"} <= set(scales) else list(scales)[:2]
    rows = data.of_model(_estimates(data), data.lead_model)
    rows = rows[rows["parameter"].isin([x, y])]
    wide = rows.pivot_table(index="subject", columns="parameter", values="median").reset_index()
    wide["group"] = wide["subject"].map(data.group_of).fillna("")
    draw = partial(draw_pair, table=wide, x=x, y=y, scales=scales, groups=data.groups, words=data.words)
    title = f"{data.words.parameter(y)} against {data.words.parameter(x)}, person by person"
    return Panel("parameters_pair", draw, title, "Points are people's medians.", table=wide)


def _group_table(data: CohortData) -> Iterator[Block]:
    if not data.has("group"):
        return
    shown = data["group"]
    if not data.words.is_baseline(data.lead_model):
        shown = shown[~shown["model"].map(data.words.is_baseline)]
    rows = []
    for (model, parameter), own in shown.groupby(["model", "parameter"], sort=False):
        by_quantity = dict(own[own["name"] == ""].drop_duplicates("quantity").set_index("quantity").iterrows())
        if not {"median", "spread"} <= set(by_quantity):
            continue
        middle, spread = by_quantity["median"], by_quantity["spread"]
        found = [number(middle["median"]), _interval(middle, number), fixed(spread["median"]), _interval(spread, fixed)]
        names = [data.words.label(str(model)), data.words.parameter(str(parameter))]
        rows.append([*names, *found, fixed(own["r_hat"].max(), 3)])
    heads = ("median", "95% interval", "spread over people", "95% interval", "R-hat")
    yield Text("The group" + (", the whole cohort" if data.scope else ""), "heading")
    yield Table([*texts("model", "parameter"), *numbers(*heads)], rows)
    meaning = "Medians are natural values of the people between the bounds; spreads are SDs on the scale of search."
    yield Text(f"{meaning} {_checks(data)}", "note")


def _interval(row: Any, shown: Callable[[float], str]) -> str:
    return f"{shown(row['lower'])} to {shown(row['upper'])}"


def _checks(data: CohortData) -> str:
    told = [
        f"{data.words.label(row['model'])} {whole(row['divergences'])} divergences, R-hat {fixed(row['r_hat'], 3)}, "
        f"effective draws {whole(min(row['ess_bulk'], row['ess_tail']))}"
        for row in data["pooling"].to_dict("records")
    ]
    return f"Checks: {'; '.join(told)}." if told else ""


def _lacking(data: CohortData) -> str:
    return "" if data.has("fits") else "Nobody could be fitted, so there are no parameters to show."


PARAMETERS = Page("parameters", TITLE, section, figures, _lacking)
