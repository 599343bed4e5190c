"""The pages that ask whether the study can tell at all: models on the first, parameters on the second."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import nan

import pandas as pd

from holmes_fit._support.numbers import listed, probability, share
from holmes_fit.reporting.book import Book, Column, Panel
from holmes_fit.reporting.figures.recovery import (
    correlation_note,
    draw_confusion,
    draw_information,
    draw_power,
    draw_recovery,
)
from holmes_fit.reporting.identification import HELPS, WEAK, strength, tells_by_correlation
from holmes_fit.reporting.names import BASELINES, model_color, model_label, parameter_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
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


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    book.begin(TITLE, finding(data), _words(data), [*recovery_warnings(data), *noise_warnings(data)])
    panels = [*_confusion_panels(data), information_panel(data)]
    book.row(200, panels[:3])
    if _has_power(data):
        _power(data, book)
        words = f"{ESTIMATES} {_weakly_identified(data)}".rstrip()
        book.begin(TITLE, _weakest(data) or NO_CORRELATIONS, words, recovery_warnings(data))
    if data.recovery_people is not None:
        _recovery(data, book)
    if data.calibration is not None and len(data.calibration):
        _calibration(data, book)


def finding(data: CohortData) -> str:
    """Return whether models can be told apart, or what can be said without a recovery study."""
    rows = confusion_rows(data)
    if rows is not None:
        right = rows[rows["truth"] == rows["chosen"]]
        told = [f"{share(row['share'])} of {model_label(row['truth'])} people" for _, row in right.iterrows()]
        guessing = share(1 / max(1, rows["chosen"].nunique()))
        least, most = rows["n"].min(), rows["n"].max()
        size = f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
        return (
            f"In a simulated study of this design, with {size} people of each model, {listed(told)} are recognised as "
            f"such; guessing gives {guessing}."
        )
    told = [f"{share(value)} for {parameter_label(name)}" for name, value in _medians(data).items()]
    if not told:
        return "There is nothing that says whether this study can tell."
    return f"After a person's choices, the typical uncertainty is {listed(told)} of what it was before."


def confusion_rows(data: CohortData) -> pd.DataFrame | None:
    """Return the confusion of models by the best criterion that there is."""
    if data.confusion is None:
        return None
    for criterion in CRITERIA:
        rows = data.confusion[data.confusion["criterion"] == criterion]
        if len(rows):
            return rows
    return None


def information_table(data: CohortData) -> pd.DataFrame:
    """Return each person's posterior SD over the prior SD, for the free parameters of the leading model."""
    assert data.fits is not None
    rows = data.fits[(data.fits["model"] == data.lead_model) & (data.fits["standing"] == "free")]
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
        partial(draw_information, ratios=table, parameters=parameters, model=data.lead_model),
        f"Width of people's posteriors, against the prior ({model_label(data.lead_model)})",
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
        partial(draw_confusion, rows=rows, models=models),
        f"Simulated people, told apart by {criterion}",
        "Rows add up to 100%. Below: numbers, and 95% intervals.",
        table=rows,
    )


def _confusion_panels(data: CohortData) -> list[Panel]:
    if data.confusion is None:
        return []
    found = []
    for criterion in CRITERIA:
        rows = data.confusion[data.confusion["criterion"] == criterion]
        if len(rows):
            found.append(confusion_panel(data, rows, f"recovery_confusion_{criterion}"))
    return found[:2]


def _words(data: CohortData) -> str:
    who = "People"
    if data.recovery_people is not None:
        sizes = data.recovery_people.groupby("model")["subject"].nunique()
        who = f"{people(sizes.max())} a model" if sizes.min() == sizes.max() else f"Up to {people(sizes.max())} a model"
    made = f"{who}, {how_made(data)}."
    return made if _has_power(data) else f"{made} {_weakest(data)} {ESTIMATES} {_weakly_identified(data)}".rstrip()


def how_made(data: CohortData) -> str:
    """Say on whose trials people were simulated, and whether they were fitted as the real ones were."""
    study, truth = data.recovery_identity, data.recovery_truth
    if not study or truth is None:
        return "simulated and fitted"
    is_copied = set(truth["like"]) <= set(data.everyone["subject"])
    trials = "the trials of this study" if is_copied else "trials that its protocol makes"
    is_alike = all(study.get(name) == data.identity.get(name) for name in ("preset", "observer"))
    preset = study.get("preset")
    name = printable(preset.get("name", "")) if isinstance(preset, Mapping) else "unknown"
    fitted = "as the real ones were" if is_alike else f"otherwise than the real ones (preset {name})"
    return f"simulated with {trials} and fitted {fitted}"


def _has_power(data: CohortData) -> bool:
    """Return whether the first page has its fill of models, so that parameters begin on a page of their own."""
    return data.power is not None and len(data.power) > 0


def _measured(data: CohortData, estimator: str, measure: str = "correlation") -> pd.DataFrame:
    """Return a measure of all parameters of the leading model, the lowest first."""
    assert data.recovery is not None
    rows = data.recovery[(data.recovery["measure"] == measure) & (data.recovery["estimator"] == estimator)]
    return rows[rows["model"] == data.lead_model].dropna(subset=["value"]).sort_values("value", kind="stable")


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
            weak.append(f"{parameter_label(name)} ({by})")
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
        f"Under {model_label(data.lead_model)}, {parameter_label(high['parameter'])} is recovered best "
        f"(r = {fixed(high['value'])}) and {parameter_label(low['parameter'])} least (r = {fixed(low['value'])})."
    )


def _least_removed(data: CohortData) -> str:
    rows = _measured(data, "mean", "variance_removed")
    if len(rows) < 2:
        return ""
    low, high = rows.iloc[0], rows.iloc[-1]
    return (
        f"Under {model_label(data.lead_model)}, a person's choices tell {parameter_label(high['parameter'])} best "
        f"({share(max(0.0, high['value']))} of the prior's variance removed) and {parameter_label(low['parameter'])} "
        f"least ({share(max(0.0, low['value']))})."
    )


def _estimator(data: CohortData) -> str:
    """Return the estimator to show: pooled where there is one."""
    table = data.recovery_people
    for name in ESTIMATORS:
        if table is not None and f"{name}_on_scale" in table and table[f"{name}_on_scale"].notna().any():
            return name
    return "mean"


def _recovery(data: CohortData, book: Book) -> None:
    table = data.recovery_people
    assert table is not None
    estimator = _estimator(data)
    for model in [name for name in dict.fromkeys(table["model"]) if name not in BASELINES] or list(
        dict.fromkeys(table["model"])
    ):
        own = table[table["model"] == model]
        cells = []
        for parameter in dict.fromkeys(own["parameter"]):
            rows = own[own["parameter"] == parameter]
            note = ""
            if data.recovery is not None:
                scores = data.recovery[(data.recovery["model"] == model) & (data.recovery["parameter"] == parameter)]
                note = correlation_note(scores, estimator)
            draw = partial(
                draw_recovery,
                rows=rows,
                estimator=estimator,
                color=model_color(model, data.model_names),
                note=note,
            )
            cells.append(Panel("", draw, parameter_label(parameter)))
        book.need(190)
        book.heading(f"{model_label(model)}: {ESTIMATORS[estimator]} (up) against the truth (across)")
        pads = (30.0, 17.0, 4.0, 14.0)
        book.grid(f"recovery_{model}", cells, max(4, min(5, len(cells))), 150.0, pads=pads, gap=8.0, table=own)
    if data.recovery is not None:
        book.exports.table("recovery", data.recovery)


def _power(data: CohortData, book: Book) -> None:
    """Show the pair of models that matters most: the leading one against its rival, by each rule."""
    assert data.power is not None
    table = data.power
    pairs = list(dict.fromkeys(zip(table["model"], table["against"], strict=True)))
    # Flat against HOLMES if they are there, from the side of the leading model.
    model, against = max(pairs, key=lambda pair: (set(pair) == {"flat", "holmes"}, pair[0] == data.lead_model))
    own = table[(table["model"] == model) & (table["against"] == against)]
    panels = [
        Panel(
            f"recovery_power_{number}",
            partial(draw_power, table=rows, by="frequency", name=share),
            f"Power to find that {model_label(model)} is more frequent than {model_label(against)}: {printable(rule)}",
            f"Lines: true shares of {model_label(model)}; at 50% power is the rate of false alarms. Bars: 95% "
            "intervals.",
            table=rows,
        )
        for number, (rule, rows) in enumerate(own.groupby("rule", sort=False), start=1)
    ]
    book.row(210, panels[:2])


def _calibration(data: CohortData, book: Book) -> None:
    assert data.calibration is not None
    table = data.calibration.dropna(subset=["chi2_p", "ecdf_p"], how="all")
    if not len(table):
        reasons = ", ".join(dict.fromkeys(data.calibration["verdict"]))
        book.note(f"Calibration of the intervals: {printable(reasons)}.")
        return
    book.need(110)
    book.heading("Calibration (simulation-based): are intervals as wide as they should be?")
    columns = [
        Column("level"),
        Column("model"),
        Column("parameter"),
        Column("n", right=True),
        Column("p (χ²)", right=True),
        Column("p (ECDF)", right=True),
        Column("verdict"),
    ]
    rows = [
        [
            str(row["level"]),
            model_label(row["model"]),
            parameter_label(row["parameter"]),
            whole(row["n"]),
            probability(row["chi2_p"]),
            probability(row["ecdf_p"]),
            str(row["verdict"]),
        ]
        for _, row in table.iterrows()
    ]
    fails = {place for place, verdict in enumerate(table["verdict"]) if verdict == "fails"}
    book.table(columns, rows, marked=fails)


def _lacking(data: CohortData) -> str:
    if data.fits is None or not len(data.fits):
        return "Nobody could be fitted, so there is nothing to say about what the study can tell."
    return NO_RECOVERY if data.recovery is None else ""


RECOVERY = Page("recovery", TITLE, build, _lacking)
