"""The pages on parameters: people before and after pooling, the group, covariates, correlations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, listed, probability
from holmes_fit.reporting.book import Book, Column, Panel
from holmes_fit.reporting.figures.axes import people_axis_height
from holmes_fit.reporting.figures.parameters import (
    draw_correlations,
    draw_effects,
    draw_group,
    draw_pair,
    draw_people_intervals,
    scale_limits,
)
from holmes_fit.reporting.names import (
    BASELINES,
    COLOR_WORDS,
    MEANINGS,
    model_color,
    model_label,
    parameter_label,
    term_label,
)
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections.recovery import RECOVERY, information_panel
from holmes_fit.reporting.text import brief, fixed, number, people, sentence, shortened, whole
from holmes_fit.reporting.warnings import failure_warnings, noise_warnings, pooling_warnings

TITLE = "Parameters"
FEWEST_FOR_CORRELATIONS = 5
MOST_EFFECTS = 16
INFORMATION = 170.0  # points for how wide posteriors are
BEHAVIOUR = (
    "Logistic regression of answers to trials with feedback, people as clusters (generalised estimating equations)."
)
LEFT = 30.0  # points for the ticks of a parameter, so that people stand below each other


def free_parameters(data: CohortData, model: str) -> dict[str, str]:
    """Return the scale of each free parameter of a model."""
    assert data.fits is not None
    rows = data.fits[(data.fits["model"] == model) & (data.fits["standing"] == "free")]
    return dict(zip(rows["parameter"], rows["scale"], strict=True))


def _of(table: pd.DataFrame | None, model: str, parameter: str) -> pd.DataFrame | None:
    if table is None:
        return None
    rows = table[(table["model"] == model) & (table["parameter"] == parameter)]
    return rows if len(rows) else None


def _sorted_people(data: CohortData, model: str, parameter: str) -> list[str]:
    """Return people by their median of a parameter, pooled where there is one, the lowest first."""
    own = _of(data.pooled, model, parameter)
    rows = own if own is not None else _of(data.fits, model, parameter)
    assert rows is not None
    return [str(name) for name in rows.sort_values("median", kind="stable")["subject"]]


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    lead = data.lead_model
    scales = free_parameters(data, lead)
    warnings = [*pooling_warnings(data), *noise_warnings(data), *failure_warnings(data)]
    if not scales:
        book.begin(TITLE, _finding(data, lead), _words(data, lead), warnings)
        book.words(f"{model_label(lead)} has no free parameters in this run.")
        return
    first = next(iter(scales))
    in_order = f"People stand in one order in all rows: by {parameter_label(first)}, the lowest first."
    book.begin(TITLE, _finding(data, lead), f"{_words(data, lead)} {in_order}", warnings)
    order = _sorted_people(data, lead, first)
    for place, (parameter, scale) in enumerate(scales.items()):
        _parameter_row(data, book, lead, parameter, scale, order, names=place == len(scales) - 1)
    book.y -= 4
    _effects(data, book)
    _behaviour(data, book)
    _correlations(data, book, lead, scales)
    _group_table(data, book)
    if RECOVERY.lacking(data) and book.room > INFORMATION + 10:  # its page has the figure otherwise, as has the first
        book.y -= 10
        book.row(INFORMATION, [information_panel(data, "parameters_information")])


def _parameter_row(
    data: CohortData, book: Book, lead: str, parameter: str, scale: str, order: list[str], names: bool
) -> None:
    before, after = _of(data.fits, lead, parameter), _of(data.pooled, lead, parameter)
    assert before is not None
    groups = [
        (model, rows)
        for model in data.model_names
        if (model not in BASELINES or model == lead) and (rows := _of(data.group, model, parameter)) is not None
    ]
    limits = scale_limits([before, after], scale)
    shown = before.merge(after, on="subject", how="left", suffixes=("", "_pooled")) if after is not None else before
    meaning = MEANINGS.get(parameter, "")
    width = 380.0 if groups else 460.0
    panels = [
        Panel(
            f"parameters_{parameter}",
            partial(
                draw_people_intervals,
                before=before,
                after=after,
                order=order,
                scale=scale,
                color=model_color(lead, data.model_names),
                limits=limits,
                names=names,
                width=width,
            ),
            f"{parameter_label(parameter)}{f' – {meaning}' if meaning else ''}",
            share=5.0,
            table=shown,
        )
    ]
    if groups:
        panels.append(
            Panel(
                f"parameters_{parameter}_group",
                partial(draw_group, rows=groups, scale=scale, limits=limits, models=data.model_names),
                "Group",
                table=pd.concat([rows for _, rows in groups]),
            )
        )
    below = 16.0 + people_axis_height(order, width) if names else 0.0
    book.row(106.0 + below, panels, LEFT)
    book.y += 8


def _finding(data: CohortData, lead: str) -> str:
    scales = free_parameters(data, lead)
    told = []
    for parameter in [name for name in ("alpha", "omega") if name in scales] or list(scales)[:2]:
        row = _group_median(data, lead, parameter)
        if row is not None:
            interval = f"{number(row['lower'])} to {number(row['upper'])}"
            told.append(f"{parameter_label(parameter)} = {number(row['median'])} ({interval})")
    if told and not data.scope:
        return f"Under {model_label(lead)} the typical person has {listed(told)}."
    if told:
        return f"People of {brief(data.scope)} against the whole cohort, whose typical person has {listed(told)}."
    return f"Each person's estimates under {model_label(lead)}, by themselves: the cohort was not pooled."


def _group_median(data: CohortData, model: str, parameter: str) -> pd.Series | None:
    rows = _of(data.group, model, parameter)
    if rows is None:
        return None
    own = rows[rows["quantity"] == "median"]
    return own.iloc[0] if len(own) else None


def _words(data: CohortData, lead: str) -> str:
    if data.pooled is None:
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
    assert data.group is not None
    models = [name for name in data.model_names if name not in BASELINES and name in set(data.group["model"])]
    named = [f"{model_label(name)} {word}" for name in models if (word := COLOR_WORDS.get(name))]
    return f", {listed(named)}" if len(named) > 1 else ""


def _shrinkage(data: CohortData, lead: str) -> str:
    parts = []
    for parameter in free_parameters(data, lead):
        before, after = _of(data.fits, lead, parameter), _of(data.pooled, lead, parameter)
        if before is None or after is None:
            continue
        both = before.merge(after, on="subject", suffixes=("", "_pooled"))
        ratio = float((both["sd_on_scale_pooled"] / both["sd_on_scale"]).median())
        parts.append(f"{ratio:.0%} ({parameter_label(parameter)})")
    return f"Under the group, typical intervals are {listed(parts)} as wide as before." if parts else ""


def _effects(data: CohortData, book: Book) -> None:
    if data.group is None:
        return
    fitted = [name for name in data.model_names if name not in BASELINES]
    for quantity, title, caption in (
        (
            "contrast",
            "Differences between groups",
            "In natural units: the difference of two groups' medians. Lines: 95%.",
        ),
        ("effect", "Effects of covariates", "On the scale of search (log or logit). Lines: 95% intervals."),
    ):
        rows = data.group[(data.group["quantity"] == quantity) & data.group["model"].isin(fitted)]
        rows = rows[~((rows["quantity"] == "effect") & (rows["name"].str.lower() == "intercept"))]
        if not len(rows):
            continue
        shown = rows.head(MOST_EFFECTS)
        more = f" {len(rows) - len(shown)} more are in group.csv." if len(rows) > len(shown) else ""
        draw = partial(draw_effects, rows=shown, models=data.model_names)
        book.row(64 + 17 * len(shown), [Panel(f"parameters_{quantity}s", draw, title, caption + more, table=rows)])


def _behaviour(data: CohortData, book: Book) -> None:
    if data.behaviour is None or not len(data.behaviour):
        return
    book.need(110)
    book.heading("The same covariates and right answers, without a model, in log odds")
    columns = [
        Column("covariate", wraps=True),
        Column("people", right=True),
        Column("answers", right=True),
        Column("estimate", right=True),
        Column("error", right=True),
        Column("95% interval", right=True),
        Column("p", right=True),
    ]
    shown = data.behaviour[data.behaviour["term"] != "Intercept"]
    rows = [
        [
            f"{row['formula']}: {term_label(row['term'])}",
            whole(row["n_subjects"]),
            whole(row["n_answers"]),
            number(row["estimate"]),
            number(row["standard_error"]),
            f"{number(row['lower'])} to {number(row['upper'])}",
            probability(row["p"]),
        ]
        for _, row in shown.iterrows()
    ]
    book.table(columns, rows)
    book.note(" ".join([BEHAVIOUR, *dict.fromkeys(sentence(text) for text in shown["warning"] if text)]))
    book.y -= 6


def correlation_table(data: CohortData, lead: str, scales: dict[str, str]) -> pd.DataFrame:
    """Return rank correlations over people, between parameters, accuracy and numeric covariates."""
    source = data.pooled if data.pooled is not None else data.fits
    assert source is not None
    rows = source[(source["model"] == lead) & source["parameter"].isin(list(scales))]
    wide = rows.pivot_table(index="subject", columns="parameter", values="mean_on_scale")[list(scales)]
    wide = wide.join(people_table(data).set_index("subject")[["accuracy"]])
    covariates = data.subjects.set_index("subject").select_dtypes("number")
    wide = wide.join(covariates.loc[:, covariates.nunique() > 2])
    wide = wide.loc[:, wide.nunique() > 1]
    return wide.rank().corr()


def _correlations(data: CohortData, book: Book, lead: str, scales: dict[str, str]) -> None:
    n = len(_sorted_people(data, lead, next(iter(scales))))
    if n < FEWEST_FOR_CORRELATIONS:
        return
    table = correlation_table(data, lead, scales)
    if len(table) < 2:
        return
    source = "means under the group" if data.pooled is not None else "posterior means"
    chance = f"±{1.96 / np.sqrt(max(1, n - 1)):.2f}"
    matrix = Panel(
        "parameters_correlations",
        partial(draw_correlations, table=table, counts=n),
        "Rank correlations over people",
        f"Spearman, over people's {source}. True covariation and trade-offs of the fit look alike; with {people(n)}, "
        f"values within {chance} are no more than chance.",
        table=table.rename_axis("name").reset_index(),
    )
    panels = [matrix, pair] if (pair := _pair_panel(data, lead, scales)) is not None else [matrix]
    book.row(min(112 + 18 * len(table), 300), panels)


def _pair_panel(data: CohortData, lead: str, scales: dict[str, str]) -> Panel | None:
    """Return the panel that sets two parameters against each other: alpha and Omega, or the first two."""
    two = list(scales)[:2] if not {"alpha", "omega"} <= set(scales) else ["alpha", "omega"]
    if len(two) < 2:
        return None
    source = data.pooled if data.pooled is not None else data.fits
    assert source is not None
    rows = source[(source["model"] == lead) & source["parameter"].isin(two)]
    wide = rows.pivot_table(index="subject", columns="parameter", values="median").reset_index()
    wide["group"] = wide["subject"].map(data.group_of).fillna("")
    draw = partial(draw_pair, table=wide, x=two[0], y=two[1], scales=scales, groups=data.groups)
    title = f"{parameter_label(two[1])} against {parameter_label(two[0])}, person by person"
    return Panel("parameters_pair", draw, title, "Points are people's medians.", table=wide)


def _group_table(data: CohortData, book: Book) -> None:
    if data.group is None:
        return
    book.need(100)
    book.heading("The group" + (", the whole cohort" if data.scope else ""))
    columns = [
        Column("model"),
        Column("parameter"),
        Column("median", right=True),
        Column("95% interval", right=True),
        Column("spread over people", right=True),
        Column("95% interval", right=True),
        Column("R-hat", right=True),
    ]
    rows = []
    shown = data.group[~data.group["model"].isin(BASELINES)] if data.lead_model not in BASELINES else data.group
    for (model, parameter), own in shown.groupby(["model", "parameter"], sort=False):
        by_quantity = own[own["name"] == ""].drop_duplicates("quantity").set_index("quantity")
        if not {"median", "spread"} <= set(by_quantity.index):
            continue
        rows_of = dict(by_quantity.iterrows())
        middle, spread = rows_of["median"], rows_of["spread"]
        rows.append(
            [
                model_label(str(model)),
                shortened(parameter_label(str(parameter)), 7.5, 90),
                number(middle["median"]),
                f"{number(middle['lower'])} to {number(middle['upper'])}",
                fixed(spread["median"]),
                f"{fixed(spread['lower'])} to {fixed(spread['upper'])}",
                fixed(own["r_hat"].max(), 3),
            ]
        )
    book.table(columns, rows)
    meaning = "Medians are natural values of the people between the bounds; spreads are SDs on the scale of search."
    book.note(f"{meaning} {_checks(data)}")


def _checks(data: CohortData) -> str:
    if data.pooling is None:
        return ""
    told = [
        f"{model_label(row['model'])} {whole(row['divergences'])} divergences, R-hat {fixed(row['r_hat'], 3)}, "
        f"effective draws {whole(min(row['ess_bulk'], row['ess_tail']))}"
        for _, row in data.pooling.iterrows()
    ]
    return f"Checks: {'; '.join(told)}." if told else MISSING


def _lacking(data: CohortData) -> str:
    if data.fits is None or not len(data.fits):
        return "Nobody could be fitted, so there are no parameters to show."
    return ""


PARAMETERS = Page("parameters", TITLE, build, _lacking)
