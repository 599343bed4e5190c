"""The pages that ask whether the study can tell at all: models on the first, parameters on the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import nan

import pandas as pd

from holmes_fit._support.numbers import listed, probability, share
from holmes_fit.reporting.blocks import Block, Break, Grid, Panel, Row, Section, Table, Text, Warnings, numbers, texts
from holmes_fit.reporting.figures.recovery import (
    correlation_note,
    draw_confusion,
    draw_information,
    draw_power,
    draw_recovery,
)
from holmes_fit.reporting.identification import HELPS, WEAK, strength, tells_by_correlation
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import CohortData, named
from holmes_fit.reporting.text import fixed, people, printable, whole
from holmes_fit.reporting.warnings import noise_warnings, recovery_warnings

TITLE = "Can this study tell?"
CRITERIA = {"pooled": "the group's mixture", "evidence": "their own evidence"}
ESTIMATORS = {"pooled": "pooled estimates", "mean": "posterior means", "map": "MAP estimates", "ml": "ML estimates"}
ESTIMATES = (
    "Points are simulated people with their 95% intervals; open points have intervals that miss the truth. r is the "
    "correlation of estimates with the truth; covered, how many intervals hold it."
)
NO_CORRELATIONS = "Parameters of simulated people against the truth."
NO_RECOVERY = (
    "There is no recovery study of this design: run holmes-fit recover --from RUN, and the report shows whether people "
    "who were simulated from each model are told apart."
)


def section(data: CohortData) -> Section:
    """Return the pages."""
    drawn = {name: draw() for name, draw in figures(data).items()}
    models = [panel for name, panel in drawn.items() if name.startswith("recovery_confusion")]
    power = [panel for name, panel in drawn.items() if name.startswith("recovery_power")]
    blocks: list[Block] = [
        Text(finding(data), "finding"),
        Text(_words(data)),
        Warnings([*recovery_warnings(data), *noise_warnings(data)]),
        Row([*models, drawn["recovery_information"]], 130, 190),
    ]
    if power:  # the first page has its fill of models, so that parameters begin on a page of their own
        words = f"{ESTIMATES} {_weakly_identified(data)}".rstrip()
        blocks += [Row(power, 145, 220), Break(), Text(_weakest(data) or NO_CORRELATIONS, "finding"), Text(words)]
        blocks += [Warnings(recovery_warnings(data))]
    grids = [grid for grid in drawn.values() if isinstance(grid, Grid)]
    return Section(TITLE, [*blocks, *grids, *_calibration(data)])


def figures(data: CohortData) -> Figures:
    """Return the confusion of models, what choices tell, power, and the recovery of each model's parameters."""
    found: dict[str, Callable[[], Panel | Grid]] = {}
    for criterion in CRITERIA:
        if len(rows := _confused(data, criterion)):
            name = f"recovery_confusion_{criterion}"
            found[name] = partial(confusion_panel, data, rows, name)
    found["recovery_information"] = partial(information_panel, data)
    rules = dict.fromkeys(_shown_power(data)["rule"]) if data.has("power") else {}
    found |= {f"recovery_power_{n}": partial(_power_panel, data, n, rule) for n, rule in enumerate(rules, 1) if n <= 2}
    recovered = list(dict.fromkeys(data["recovery_people"]["model"])) if data.has("recovery_people") else []
    shown = [name for name in recovered if not data.words.is_baseline(name)] or recovered
    return found | {f"recovery_{model}": partial(_recovery_grid, data, model) for model in shown}


def finding(data: CohortData) -> str:
    """Return whether models can be told apart, or what can be said without a recovery study."""
    rows = confusion_rows(data)
    if len(rows):
        right = rows[rows["truth"] == rows["chosen"]]
        told = [f"{share(row['share'])} of {data.words.label(row['truth'])} people" for _, row in right.iterrows()]
        guessing = share(1 / max(1, rows["chosen"].nunique()))
        least, most = rows["n"].min(), rows["n"].max()
        size = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
        return (
            f"In a simulated study of this design, with {size} people of each model, {listed(told)} are recognised as "
            f"such; guessing gives {guessing}."
        )
    told = [f"{share(value)} for {data.words.parameter(name)}" for name, value in _medians(data).items()]
    if not told:
        return "There is nothing that says whether this study can tell."
    return f"After a person's choices, the typical uncertainty is {listed(told)} of what it was before."


def _confused(data: CohortData, criterion: str) -> pd.DataFrame:
    table = data["confusion"]
    return table[table["criterion"] == criterion] if len(table) else table


def confusion_rows(data: CohortData) -> pd.DataFrame:
    """Return the confusion of models by the best criterion that there is; no rows if there is none."""
    found = [_confused(data, criterion) for criterion in CRITERIA]
    return next((rows for rows in found if len(rows)), data["confusion"][:0])


def information_table(data: CohortData) -> pd.DataFrame:
    """Return each person's posterior SD over the prior SD, for the free parameters of the leading model."""
    rows = data.of_model("fits", data.lead_model)
    table = rows[["subject", "parameter", "sd_on_scale", "prior_sd_on_scale"]].copy()
    return table.assign(ratio=table["sd_on_scale"] / table["prior_sd_on_scale"])


def _medians(data: CohortData) -> dict[str, float]:
    table = information_table(data)
    return {str(name): float(values.median()) for name, values in table.groupby("parameter", sort=False)["ratio"]}


def information_panel(data: CohortData, name: str = "recovery_information") -> Panel:
    """Return the panel that sets posteriors against the prior, which needs no recovery study."""
    table = information_table(data)
    parameters = list(dict.fromkeys(table["parameter"]))
    return Panel(
        name,
        partial(draw_information, ratios=table, parameters=parameters, model=data.lead_model, words=data.words),
        f"Width of people's posteriors, against the prior ({data.words.label(data.lead_model)})",
        "Points are people of this study. At 100% (dashed) the choices have told nothing. Lines and numbers: medians.",
        table=table,
        share=1.3,
    )


def confusion_panel(data: CohortData, rows: pd.DataFrame, name: str) -> Panel:
    """Return the panel with the confusion of models by one criterion."""
    models = [model for model in data.model_names if model in set(rows["truth"]) | set(rows["chosen"])]
    models += [model for model in dict.fromkeys(rows["truth"]) if model not in models]
    criterion = CRITERIA.get(str(rows["criterion"].iloc[0]), str(rows["criterion"].iloc[0]))
    return Panel(
        name,
        partial(draw_confusion, rows=rows, models=models, words=data.words),
        f"Simulated people, told apart by {criterion}",
        "Rows add up to 100%. Below: numbers, and 95% intervals.",
        table=rows,
    )


def _words(data: CohortData) -> str:
    who = "People"
    if data.has("recovery_people"):
        sizes = data["recovery_people"].groupby("model")["subject"].nunique()
        who = f"{people(sizes.max())} a model" if sizes.min() == sizes.max() else f"Up to {people(sizes.max())} a model"
    made = f"{who}, {how_made(data)}."
    return made if data.has("power") else f"{made} {_weakest(data)} {ESTIMATES} {_weakly_identified(data)}".rstrip()


def how_made(data: CohortData) -> str:
    """Say on whose trials people were simulated, and whether they were fitted as the real ones were."""
    study, truth = data.recovery_identity, data["truth"]
    if not study or not len(truth):
        return "simulated and fitted"
    is_copied = set(truth["like"]) <= set(data.everyone["subject"])
    trials = "the trials of this study" if is_copied else "trials that its protocol makes"
    is_alike = all(study.get(name) == data.identity.get(name) for name in ("preset", "observer"))
    preset = printable(named(study, "preset") or "unknown")
    fitted = "as the real ones were" if is_alike else f"otherwise than the real ones (preset {preset})"
    return f"simulated with {trials} and fitted {fitted}"


def _measured(data: CohortData, estimator: str, measure: str = "correlation") -> pd.DataFrame:
    """Return a measure of all parameters of the leading model, the lowest first."""
    rows = data.of_model("recovery", data.lead_model)
    rows = rows[(rows["measure"] == measure) & (rows["estimator"] == estimator)]
    return rows.dropna(subset=["value"]).sort_values("value", kind="stable")


def _weakly_identified(data: CohortData) -> str:
    """Say which parameters one person's choices can hardly tell, and what helps; nothing if there are none."""
    correlations = _measured(data, "mean").set_index("parameter")["value"]
    weak = []
    for row in _measured(data, "mean", "variance_removed").to_dict("records"):
        name, n, removed = str(row["parameter"]), int(row["n"]), float(row["value"])
        r = float(correlations.get(name, nan))
        if strength(r, removed, n) in WEAK:
            by_r = tells_by_correlation(r, n)
            by = f"r = {fixed(r)}" if by_r else f"{share(max(0.0, removed))} of the prior's variance removed"
            weak.append(f"{data.words.parameter(name)} ({by})")
    return f"Weakly identified by one person's choices alone: {listed(weak)}. What helps: {HELPS}" if weak else ""


def _weakest(data: CohortData) -> str:
    """Say which parameters are recovered best and least: by correlations, if there are people enough for them."""
    rows = _measured(data, _estimator(data))
    if len(rows) < 2:
        return ""
    if not tells_by_correlation(float(rows["value"].iloc[0]), int(rows["n"].min())):
        return _least_removed(data)
    low, high = rows.iloc[0], rows.iloc[-1]
    return (
        f"Under {data.words.label(data.lead_model)}, {data.words.parameter(high['parameter'])} is recovered best "
        f"(r = {fixed(high['value'])}) and {data.words.parameter(low['parameter'])} least (r = {fixed(low['value'])})."
    )


def _least_removed(data: CohortData) -> str:
    rows = _measured(data, "mean", "variance_removed")
    if len(rows) < 2:
        return ""
    low, high = rows.iloc[0], rows.iloc[-1]
    best, least = (data.words.parameter(row["parameter"]) for row in (high, low))
    return (
        f"Under {data.words.label(data.lead_model)}, a person's choices tell {best} best "
        f"({share(max(0.0, high['value']))} of the prior's variance removed) and {least} least "
        f"({share(max(0.0, low['value']))})."
    )


def _estimator(data: CohortData) -> str:
    """Return the estimator to show: pooled where there is one."""
    table = data["recovery_people"]
    for name in ESTIMATORS:
        if f"{name}_on_scale" in table and table[f"{name}_on_scale"].notna().any():
            return name
    return "mean"


def _recovery_grid(data: CohortData, model: str) -> Grid:
    """Return a cell for each parameter of a model, with estimates against the truth."""
    estimator, own, scores = _estimator(data), data.of_model("recovery_people", model), data.of_model("recovery", model)
    cells = []
    for parameter, rows in own.groupby("parameter", sort=False):
        draw = partial(
            draw_recovery,
            rows=rows,
            estimator=estimator,
            color=data.words.color(model),
            note=correlation_note(scores[scores["parameter"] == parameter], estimator),
        )
        cells.append(Panel("", draw, data.words.parameter(str(parameter))))
    title = f"{data.words.label(model)}: {ESTIMATORS[estimator]} (up) against the truth (across)"
    columns, pads = max(4, min(5, len(cells))), (30.0, 17.0, 4.0, 14.0)
    return Grid(f"recovery_{model}", cells, columns, 120.0, 150.0, pads, heads={0: title}, table=own)


def _shown_power(data: CohortData) -> pd.DataFrame:
    """Return the power of the pair of models that matters most: flat against HOLMES, from the leading one's side."""
    table = data["power"]
    pairs = list(dict.fromkeys(zip(table["model"], table["against"], strict=True)))
    model, against = max(pairs, key=lambda pair: (set(pair) == {"flat", "holmes"}, pair[0] == data.lead_model))
    return table[(table["model"] == model) & (table["against"] == against)]


def _power_panel(data: CohortData, place: int, rule: str) -> Panel:
    table = _shown_power(data)
    rows = table[table["rule"] == rule]
    model, against = (data.words.label(str(rows[name].iloc[0])) for name in ("model", "against"))
    return Panel(
        f"recovery_power_{place}",
        partial(draw_power, table=rows, by="frequency", name=share),
        f"Power to find that {model} is more frequent than {against}: {printable(rule)}",
        f"Lines: true shares of {model}; at 50% power is the rate of false alarms. Bars: 95% intervals.",
        table=rows,
    )


def _calibration(data: CohortData) -> Iterator[Block]:
    if not data.has("sbc_summary"):
        return
    table = data["sbc_summary"].dropna(subset=["chi2_p", "ecdf_p"], how="all")
    if not len(table):
        reasons = ", ".join(dict.fromkeys(data["sbc_summary"]["verdict"]))
        yield Text(f"Calibration of the intervals: {printable(reasons)}.", "note")
        return
    rows = []
    for row in table.to_dict("records"):
        names = [str(row["level"]), data.words.label(row["model"]), data.words.parameter(row["parameter"])]
        tests = [whole(row["n"]), probability(row["chi2_p"]), probability(row["ecdf_p"])]
        rows.append([*names, *tests, str(row["verdict"])])
    fails = {place for place, verdict in enumerate(table["verdict"]) if verdict == "fails"}
    columns = [*texts("level", "model", "parameter"), *numbers("n", "p (χ²)", "p (ECDF)"), *texts("verdict")]
    yield Text("Calibration (simulation-based): are intervals as wide as they should be?", "heading")
    yield Table(columns, rows, fails)


def _lacking(data: CohortData) -> str:
    if not data.has("fits"):
        return "Nobody could be fitted, so there is nothing to say about what the study can tell."
    return "" if data.has("recovery") else NO_RECOVERY


RECOVERY = Page("recovery", TITLE, section, figures, _lacking)
