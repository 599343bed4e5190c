"""The sheet of one person, on one page: what they did, which model describes them, and how little is sure of it."""

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, listed, share
from holmes_fit.reporting.blocks import Block, Grid, Panel, Row, Section, Table, Text, Warnings, numbers, texts
from holmes_fit.reporting.figures.data import draw_learning_curves
from holmes_fit.reporting.figures.people import draw_people_key
from holmes_fit.reporting.learning import person_curve
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections import trees
from holmes_fit.reporting.sections.people import KEY, PROBLEMS, Cells, best_models
from holmes_fit.reporting.text import brief, count, fixed, number, people, printable, sentence, signed
from holmes_fit.reporting.warnings import MOST

SURE, STRONG = 0.95, 3.0  # a posterior probability; nats, which are odds of 20 to 1
LOWEST, HIGHEST = 72.0, 130.0  # points that a figure is high
TREE_ROOM, LINE = 300.0, 12.0  # points that a tree may take of the page, and each line of tables and warnings of these
NOTE = (
    "A sheet is for looking at a person, not for diagnosing one: the right model is often not the likeliest of a "
    "single person, and intervals say how little is known of the parameters. Alone: from this person's answers and the "
    "prior. Under the group: as one of these people. Typical: the group's median."
)


def sheet(data: CohortData, subject: str) -> Section:
    """Return the page of a person."""
    return Section("One person", list(_blocks(data, subject)))


def _blocks(data: CohortData, subject: str) -> Iterator[Block]:
    own = _of(people_table(data), subject)
    yield Text(brief(subject), "cover")
    yield Text(_facts(data, subject, own), "facts")
    yield Text(_finding(data, subject), "finding")
    if len(_of(data["model_probabilities"], subject)):
        yield Text(_evidence(data, subject))
    told = list(_warnings(data, subject))
    more = [f"{count(len(told) - MOST, 'more warning')} in models.csv."] if len(told) > MOST else []
    yield Warnings([*told[:MOST], *more])
    if len(own):
        yield from _figures(data, subject)
        found = [_models(data, subject), *_parameters(data, subject, best_models(data)[subject].model)]
        yield from found
        yield from _tree(
            data, subject, TREE_ROOM - LINE * (sum(len(each.rows) for each in found) + min(len(told), MOST))
        )
        yield Text(NOTE, "note")


def _figures(data: CohortData, subject: str) -> Iterator[Block]:
    """Give how the person learned, beside everyone, and what they answered trial by trial."""
    curve = person_curve(data, subject)
    draw = partial(draw_learning_curves, curve=curve, groups=tuple(curve["group"].unique()))
    title, caption = "Answers that equal the outcome", "The band is the 95% interval of the mean over people."
    yield Row([Panel("person_learning", draw, title, caption, table=curve)], LOWEST, HIGHEST)
    cells = Cells(data)
    key = Panel("person_key", partial(draw_people_key, with_map=cells.with_map), height=KEY)
    yield Grid("person_trials", [cells.panel(subject)], 1, LOWEST, HIGHEST, (0, 0, 0, 0), key=key)
    if len(data.trials.loc[data.trials["subject"] == subject, "restart"].unique()) > 1:
        yield Text(PROBLEMS.strip(), "note")


def _of(table: pd.DataFrame, subject: str) -> pd.DataFrame:
    return table[table["subject"] == subject] if len(table) else table


def _facts(data: CohortData, subject: str, own: pd.DataFrame) -> str:
    """Return who it is among how many, their covariates, and what they have done."""
    covariates = _of(data.subjects, subject).drop(columns=["subject", "group"], errors="ignore").iloc[0]
    if data.numbers is not None:  # which could tell who it is
        covariates = covariates[:0]
    group = [f"group {brief(data.group_of[subject])}"] if data.groups else []
    known = [f"{printable(name)} {brief(value)}" for name, value in covariates.items() if pd.notna(value)]
    done = [
        f"{count(row['answered'], 'answer')} on {count(row['trials'], 'trial')}, {share(row['accuracy'])} right"
        for row in own.to_dict("records")
    ]
    return " · ".join([f"One of {people(data.n_people)}", *group, *known, *done])


def _warnings(data: CohortData, subject: str) -> Iterator[str]:
    """Give what is to be known of the person, once for models that say the same."""
    models: dict[str, list[str]] = {}
    for text in data.warned.get(subject, ()):
        model, _, what = text.partition(": ")
        models.setdefault(what, []).append(data.words.label(model))
    yield from (sentence(f"{listed(names)}: {printable(what)}") for what, names in models.items())


def _finding(data: CohortData, subject: str) -> str:
    """Say which model is the likeliest, by posterior probability where models were compared, and else by evidence."""
    name, rows = brief(subject), _of(data["models"], subject)
    if not len(rows):
        return f"{name} could not be fitted."
    if len(rows) == 1:
        return f"{name} was fitted with one model, {data.words.label(rows['model'].iloc[0])}."
    if len(mixed := _of(data["model_probabilities"], subject)):
        best = max(mixed.to_dict("records"), key=lambda row: row["probability"])
        sure = "" if best["probability"] > SURE else "No model stands out: "
        return (
            f"{sure}{data.words.label(best['model'])} is the likeliest model of {name}, at "
            f"{share(best['probability'])} by posterior probability in the mixture."
        )
    return _evidence(data, subject)


def _evidence(data: CohortData, subject: str) -> str:
    """Say which model is ahead by this person's own evidence."""
    rows = _of(data["models"], subject).sort_values("log_evidence", ascending=False, kind="stable")
    if len(rows) < 2:
        return ""
    first, second, *_ = rows.to_dict("records")
    ahead = first["log_evidence"] - second["log_evidence"]
    error = float(np.hypot(first["log_evidence_error"], second["log_evidence_error"]))
    doubt = "" if ahead > STRONG + 2 * error else ", which does not tell the two apart"
    return (
        f"By their own evidence alone, {data.words.label(first['model'])} is {fixed(ahead, 1)} ± {fixed(error, 1)} "
        f"nats ahead of {data.words.label(second['model'])}{doubt}."
    )


def _models(data: CohortData, subject: str) -> Table:
    mixed = _of(data["model_probabilities"], subject)
    probability = dict(zip(mixed["model"], mixed["probability"], strict=True)) if len(mixed) else {}
    rows = _of(data["models"], subject)
    best = rows["log_evidence"].max()
    cells = [
        [
            data.words.label(row["model"]),
            f"{fixed(row['log_evidence'], 1)} ± {fixed(row['log_evidence_error'], 1)}",
            signed(row["log_evidence"] - best, 1),
            share(probability.get(row["model"], np.nan)),
            fixed(row["pseudo_r2"]),
            share(row["hit_rate"]),
        ]
        for row in rows.to_dict("records")
    ]
    heads = ("log evidence, own", "from the best", "probability, mixture", "pseudo-R²", "hit rate")
    return Table([*texts("model"), *numbers(*heads)], cells)


def _parameters(data: CohortData, subject: str, model: str) -> Iterator[Table]:
    """Give the parameters of the likeliest model: of the person alone, under the group, and of the typical person."""
    alone, under = (_of(data.of_model(name, model), subject) for name in ("fits", "pooled"))
    group = data.of_model("group", model)
    group = group[group["quantity"] == "median"] if len(group) else group
    typical = {row["parameter"]: row["median"] for row in group.to_dict("records")}
    found = {row["parameter"]: _interval(row) for row in under.to_dict("records")}
    cells = [
        [
            data.words.parameter(row["parameter"]),
            _interval(row),
            found.get(row["parameter"], MISSING),
            number(typical.get(row["parameter"], np.nan)),
            share(row["sd_on_scale"] / row["prior_sd_on_scale"]),
        ]
        for row in alone.to_dict("records")
    ]
    heads = ("alone, median (95%)", "under the group", "typical", "width left of the prior")
    if cells:
        yield Table([*texts(f"{data.words.label(model)}"), *numbers(*heads)], cells)


def _interval(row: Mapping[Hashable, Any]) -> str:
    return f"{number(row['median'])} ({number(row['lower'])} to {number(row['upper'])})"


def _tree(data: CohortData, subject: str, room: float) -> Iterator[Block]:
    """Give the person's tree, where there is one, and where it leaves the sheet one page."""
    if trees.TREES.lacking(data) or not len(_of(data.of_model("trees", trees.shown_model(data)), subject)):
        return
    panel = trees.tree_of(data, subject)
    if panel.height <= room:
        yield Row([panel], panel.height)
    else:
        yield Text("The tree is too large for this sheet: the report shows it with --trees.", "note")
