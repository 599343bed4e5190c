"""The page on stimuli: what people answered to each, what models expected of it, and whether that is calibrated."""

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.blocks import Block, Grid, Pads, Panel, Row, Text, columns_for
from holmes_fit.reporting.figures.stimuli import draw_against, draw_side_by_side
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.stimuli import ARROW, HIT, answered, calibration, points, root_mean_square
from holmes_fit.reporting.text import brief, count, fixed

FITTED = (
    "What a model expects is its mean answer, trial by trial, at the MAP and given the answers before. The MAP is "
    "fitted to these same answers: being near them shows what a model can describe, not that it is right."
)
DOTS = (
    "Each dot is a stimulus: what people answered (up), and what the model expected (across); means over people, with "
    "95% intervals. On the line, both agree. RMS: distance from it in percentage points."
)
CUES = " Stimuli are named by the values of {cues}."
TWICE = (
    " What follows a stimulus differs between learners, so that it stands here once for each outcome, after an arrow."
)
MOST_NAMED, MOST_EXPOSURES, MOST_CONDITIONS = 32, 10, 12
MOST_BESIDE = 4  # models in one figure
LEAST, MOST, GAP = 96.0, 130.0, 10.0  # of cells; points
PADS: Pads = (26.0, 16.0, 3.0, 14.0)


def _blocks(data: CohortData) -> Iterator[Block]:
    rows = answered(data)
    found = points(rows, ["stimulus"])
    yield Text(_finding(data, found), "finding")
    yield Text(f"{DOTS}{named_by(data, found)} {FITTED}")
    yield against(data, "stimuli_models", "Every stimulus", by_model(data, found))
    yield from _profile(data, rows, found)
    if rows["condition"].nunique() > 1:
        yield from _conditions(data, rows)
    yield from _exposures(data, rows)
    if are_choices(rows):
        yield _calibration(data, rows)


def beside(data: CohortData) -> list[str]:
    """Return the models that share one figure: the leading one, and others of the question."""
    return list(dict.fromkeys([data.lead_model, *data.main_models]))[:MOST_BESIDE]


def by_model(data: CohortData, found: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the points of each model, with the title and the model of their cell."""
    return {(data.words.label(model), model): found[found["model"] == model] for model in data.model_names}


def against(data: CohortData, name: str, title: str, cells: Mapping[tuple[str, str], pd.DataFrame]) -> Grid:
    """Return a cell for each title and model, with what people did against what the model expected."""
    panels = [
        Panel("", partial(draw_against, found=own, color=data.words.color(model)), label, table=own)
        for (label, model), own in cells.items()
        if len(own)
    ]
    table = pd.concat([panel.table for panel in panels if panel.table is not None], ignore_index=True)
    return Grid(name, panels, columns_for(len(panels)), LEAST, MOST, PADS, GAP, heads={0: title}, table=table)


def named_by(data: CohortData, found: pd.DataFrame) -> str:
    """Say what the names of stimuli mean."""
    cues = [] if data.cohort is None else [brief(name) for name in data.cohort.protocol.features]
    return f"{CUES.format(cues=listed(cues))}{TWICE if found['stimulus'].str.contains(ARROW).any() else ''}"


def _finding(data: CohortData, found: pd.DataFrame) -> str:
    own = found[found["model"] == data.lead_model]
    n, label = count(own["stimulus"].nunique(), "stimulus", "stimuli"), data.words.label(data.lead_model)
    away = f"{fixed(100 * root_mean_square(own), 1)} percentage points"
    start = f"Over {n}, what {label} expects is {away} (RMS) from what people answered"
    others = [
        f"{data.words.label(model)} {fixed(100 * root_mean_square(found[found['model'] == model]), 1)}"
        for model in beside(data)[1:]
        if (found["model"] == model).any()
    ]
    return f"{start}{f'; {listed(others)}' if others else ''}."


def _profile(data: CohortData, rows: pd.DataFrame, found: pd.DataFrame) -> Iterator[Row]:
    """Set the stimuli side by side, those with the fewest answers 1 first; of many, those with the most answers."""
    people = found.drop_duplicates("stimulus")
    kept = people.nlargest(MOST_NAMED, "n_answers").sort_values("observed", kind="stable")["stimulus"]
    shown = found.set_index("stimulus").loc[list(kept)].reset_index()
    of = (
        f"the {MOST_NAMED} of {len(people)} stimuli with the most answers"
        if len(kept) < len(people)
        else "each stimulus"
    )
    yield side_by_side(data, "stimuli_profile", f"{measured(rows)} to {of}", "stimulus", shown)


def side_by_side(
    data: CohortData, name: str, title: str, column: str, found: pd.DataFrame, joined: bool = False, caption: str = ""
) -> Row:
    """Return a figure as wide as the page: people, and some models beside them."""
    draw = partial(draw_side_by_side, found=found, column=column, models=beside(data), words=data.words, joined=joined)
    marks = "Lines: models" if joined else "Bars: models"
    words = f"Points: people, with 95% intervals. {marks} at the MAP, fitted to the same answers.{caption}"
    return Row([Panel(name, draw, title, words, table=found)], 130, 170)


def are_choices(rows: pd.DataFrame) -> bool:
    """Return whether people chose between two answers, so that what is expected is a probability."""
    return bool(rows["choice"].isin([0, 1]).all())


def measured(rows: pd.DataFrame) -> str:
    """Say what is averaged."""
    return "Answers that are 1" if are_choices(rows) else "Answers, as shares of their scale,"


def _conditions(data: CohortData, rows: pd.DataFrame) -> Iterator[Grid]:
    """Set the conditions side by side, for the models of the question."""
    found = points(rows[rows["condition"] != ""], ["condition", "stimulus"])
    conditions = list(dict.fromkeys(found["condition"]))[:MOST_CONDITIONS]
    for model in [name for name in data.model_names if name in ("flat", "holmes", data.lead_model)]:
        own = found[found["model"] == model]
        cells = {(name, model): own[own["condition"] == name] for name in conditions}
        title = f"By condition – {data.words.label(model)}"
        yield against(data, f"stimuli_conditions_{model}", title, cells)


def _exposures(data: CohortData, rows: pd.DataFrame) -> Iterator[Row]:
    """Show how answers come to equal the outcome from the first time on that a learner meets a stimulus."""
    found = points(rows[rows["exposure"] <= MOST_EXPOSURES], ["exposure"], HIT)
    found = found[found["n_people"] >= found["n_people"].max() / 2]  # a few people are no curve
    if found["exposure"].nunique() > 1:
        caption = " On the first meeting, only what was learned of other stimuli can help."
        title = "Answers that equal the outcome, from the first meeting with a stimulus to the tenth"
        yield side_by_side(data, "stimuli_exposures", title, "exposure", found, joined=True, caption=caption)


def _calibration(data: CohortData, rows: pd.DataFrame) -> Grid:
    """Return how often people answered 1 where a model gave that a probability in each tenth."""
    title = "Calibration: answers 1, by tenths of the probability that the model gave them"
    return against(data, "stimuli_calibration", title, by_model(data, calibration(rows)))


def no_cues(data: CohortData) -> str:
    """Return what a run lacks for pages about stimuli."""
    known = data.cohort is not None and data.has("trials_fitted")
    return "" if known else "The run does not hold the trials as a fit leaves them."


STIMULI = Page("stimuli", "Stimulus by stimulus", _blocks, no_cues)
