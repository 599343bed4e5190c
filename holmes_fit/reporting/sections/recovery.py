"""The pages that ask whether the study can tell at all: models on the first, parameters on the second."""

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from math import nan
from typing import Any

import pandas as pd

from holmes_fit._support.numbers import listed, probability, share
from holmes_fit.reporting.blocks import Block, Break, Grid, Panel, Row, Table, Text, numbers, texts
from holmes_fit.reporting.figures import recovery as drawing
from holmes_fit.reporting.identification import HELPS, WEAK, strength, tells_by_correlation
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import fixed, people, printable, whole
from holmes_fit.reporting.warnings import warned
from holmes_fit.runs.manifest import named

CRITERIA = {"pooled": "the group's mixture", "evidence": "their own evidence"}
ESTIMATORS = {"pooled": "pooled estimates", "mean": "posterior means", "map": "MAP estimates", "ml": "ML estimates"}
MOST_RULES = 2  # whose power is shown
ESTIMATES = (
    "Points are simulated people with their 95% intervals; open points have intervals that miss the truth. r is the "
    "correlation of estimates with the truth; covered, how many intervals hold it."
)
NO_CORRELATIONS = "Parameters of simulated people against the truth."
NO_RECOVERY = (
    "There is no recovery study of this design: run holmes-fit recover --from RUN, and the report shows whether people "
    "who were simulated from each model are told apart."
)


def _blocks(data: CohortData) -> Iterator[Block]:
    confused = {criterion: rows for criterion in CRITERIA if len(rows := _confused(data, criterion))}
    models = [confusion_panel(data, rows, f"recovery_confusion_{name}") for name, rows in confused.items()]
    parameters = f"{ESTIMATES} {_weakly_identified(data)}".rstrip()
    made = f"{_who(data)}, {how_made(data)}."
    yield Text(finding(data), "finding")
    yield Text(made if data.has("power") else f"{made} {_weakest(data)} {parameters}")
    yield warned(data, "recovery", "noise")
    yield Row([*models, information_panel(data)], 130, 190)
    if data.has("power"):  # the first page has its fill of models, so that parameters begin on a page of their own
        yield Row([*_power_panels(data)], 145, 220)
        yield Break()
        yield Text(_weakest(data) or NO_CORRELATIONS, "finding")
        yield Text(parameters)
        yield warned(data, "recovery")
    if data.has("recovery_people"):
        yield from _recovery_grids(data)
    if data.has("sbc_summary"):
        yield from _calibration(data)


def finding(data: CohortData) -> str:
    """Return whether models can be told apart, or what can be said without a recovery study."""
    rows = confusion_rows(data)
    if len(rows):
        right = rows[rows["truth"] == rows["chosen"]].to_dict("records")
        told = [f"{share(row['share'])} of {data.words.label(row['truth'])} people" for row in right]
        least, most = rows["n"].min(), rows["n"].max()
        size = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
        return (
            f"In a simulated study of this design, with {size} people of each model, {listed(told)} are recognised as "
            f"such; guessing gives {share(1 / max(1, rows['chosen'].nunique()))}."
        )
    ratios = information_table(data).groupby("parameter", sort=False)["ratio"].median()
    told = [f"{share(ratio)} for {data.words.parameter(str(name))}" for name, ratio in ratios.items()]
    if not told:
        return "There is nothing that says whether this study can tell."
    return f"After a person's choices, the typical uncertainty is {listed(told)} of what it was before."


def _who(data: CohortData) -> str:
    if not data.has("recovery_people"):
        return "People"
    sizes = data["recovery_people"].groupby("model")["subject"].nunique()
    return f"{'' if sizes.min() == sizes.max() else 'Up to '}{people(sizes.max())} a model"


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


# --- Models


def _confused(data: CohortData, criterion: str) -> pd.DataFrame:
    table = data["confusion"]
    return table[table["criterion"] == criterion] if len(table) else table


def confusion_rows(data: CohortData) -> pd.DataFrame:
    """Return the confusion of models by the best criterion that there is; no rows if there is none."""
    found = [_confused(data, criterion) for criterion in CRITERIA]
    return next((rows for rows in found if len(rows)), data["confusion"][:0])


def confusion_panel(data: CohortData, rows: pd.DataFrame, name: str) -> Panel:
    """Return the panel with the confusion of models by one criterion."""
    known = {*rows["truth"], *rows["chosen"]}
    models = list(dict.fromkeys([*(model for model in data.model_names if model in known), *rows["truth"]]))
    return Panel(
        name,
        partial(drawing.draw_confusion, rows=rows, models=models, words=data.words),
        f"Simulated people, told apart by {CRITERIA[str(rows['criterion'].iloc[0])]}",
        "Rows add up to 100%. Below: numbers, and 95% intervals.",
        table=rows,
    )


def _power_panels(data: CohortData) -> Iterator[Panel]:
    """Give the power for the pair of models that matters most, flat against HOLMES, from the leading one's side."""
    table = data["power"]
    pairs = list(dict.fromkeys(zip(table["model"], table["against"], strict=True)))
    pair = max(pairs, key=lambda pair: (set(pair) == {"flat", "holmes"}, pair[0] == data.lead_model))
    table = table[(table["model"] == pair[0]) & (table["against"] == pair[1])]
    model, against = map(data.words.label, pair)
    for place, rule in enumerate(list(dict.fromkeys(table["rule"]))[:MOST_RULES], start=1):
        rows = table[table["rule"] == rule]
        yield Panel(
            f"recovery_power_{place}",
            partial(drawing.draw_power, table=rows, by="frequency", name=share),
            f"Power to find that {model} is more frequent than {against}: {printable(rule)}",
            f"Lines: true shares of {model}; at 50% power is the rate of false alarms. Bars: 95% intervals.",
            table=rows,
        )


# --- Parameters


def information_table(data: CohortData) -> pd.DataFrame:
    """Return each person's posterior SD over the prior SD, for the free parameters of the leading model."""
    table = data.of_model("fits", data.lead_model)[["subject", "parameter", "sd_on_scale", "prior_sd_on_scale"]]
    return table.assign(ratio=table["sd_on_scale"] / table["prior_sd_on_scale"])


def information_panel(data: CohortData, name: str = "recovery_information") -> Panel:
    """Return the panel that sets posteriors against the prior, which needs no recovery study."""
    table = information_table(data)
    parameters = list(dict.fromkeys(table["parameter"]))
    return Panel(
        name,
        partial(drawing.draw_information, ratios=table, parameters=parameters, model=data.lead_model, words=data.words),
        f"Width of people's posteriors, against the prior ({data.words.label(data.lead_model)})",
        "Points are people of this study. At 100% (dashed) the choices have told nothing. Lines and numbers: medians.",
        table=table,
        share=1.3,
    )


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
        r, n = float(correlations.get(row["parameter"], nan)), int(row["n"])
        if strength(r, row["value"], n) in WEAK:
            by = f"r = {fixed(r)}" if tells_by_correlation(r, n) else f"{_removed(row)} of the prior's variance removed"
            weak.append(f"{data.words.parameter(row['parameter'])} ({by})")
    return f"Weakly identified by one person's choices alone: {listed(weak)}. What helps: {HELPS}" if weak else ""


def _weakest(data: CohortData) -> str:
    """Say which parameters are recovered best and least: by correlations, if there are people enough for them."""
    rows = _measured(data, _estimator(data)).to_dict("records")
    by_correlation = len(rows) < 2 or tells_by_correlation(rows[0]["value"], int(min(row["n"] for row in rows)))
    rows = rows if by_correlation else _measured(data, "mean", "variance_removed").to_dict("records")
    if len(rows) < 2:
        return ""
    (low, *_, high), under = rows, f"Under {data.words.label(data.lead_model)}"
    least, best = (data.words.parameter(row["parameter"]) for row in (low, high))
    if by_correlation:
        r, lowest = fixed(high["value"]), fixed(low["value"])
        return f"{under}, {best} is recovered best (r = {r}) and {least} least (r = {lowest})."
    return (
        f"{under}, a person's choices tell {best} best ({_removed(high)} of the prior's variance removed) and {least} "
        f"least ({_removed(low)})."
    )


def _removed(row: Mapping[Hashable, Any]) -> str:
    return share(max(0.0, float(row["value"])))


def _estimator(data: CohortData) -> str:
    """Return the estimator to show: pooled where there is one."""
    columns = {name: f"{name}_on_scale" for name in ESTIMATORS}
    table = data["recovery_people"]
    known = (name for name, column in columns.items() if column in table and table[column].notna().any())
    return next(known, "mean")


def _recovery_grids(data: CohortData) -> Iterator[Grid]:
    """Give a cell for each parameter, model by model, with estimates against the truth; baselines if nothing else."""
    estimator, recovered = _estimator(data), list(dict.fromkeys(data["recovery_people"]["model"]))
    for model in [name for name in recovered if not data.words.is_baseline(name)] or recovered:
        own, scores = data.of_model("recovery_people", model), data.of_model("recovery", model)
        draw = partial(drawing.draw_recovery, estimator=estimator, color=data.words.color(model))
        cells = []
        for parameter, rows in own.groupby("parameter", sort=False):
            note = drawing.correlation_note(scores[scores["parameter"] == parameter], estimator)
            cells.append(Panel("", partial(draw, rows=rows, note=note), data.words.parameter(str(parameter))))
        title = f"{data.words.label(model)}: {ESTIMATORS[estimator]} (up) against the truth (across)"
        columns, pads = max(4, min(5, len(cells))), (30.0, 17.0, 4.0, 14.0)
        yield Grid(f"recovery_{model}", cells, columns, 120.0, 150.0, pads, heads={0: title}, table=own)


def _calibration(data: CohortData) -> Iterator[Block]:
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


NO_FITS = "Nobody could be fitted, so there is nothing to say about what the study can tell."
RECOVERY = Page("recovery", "Can this study tell?", _blocks, needing(fits=NO_FITS, recovery=NO_RECOVERY))
