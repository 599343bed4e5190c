"""The page inside the model: what it has learned from the people whom it fits best, worst, and in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, share
from holmes_fit.reporting.blocks import GUTTER, SMALL, TEXT_WIDTH, Block, Panel, Row, Text
from holmes_fit.reporting.figures.tree_nodes import LEAST_SHARE, Node
from holmes_fit.reporting.figures.trees import draw_tree, draw_tree_key, fitting_root, height_of, width_of_tree
from holmes_fit.reporting.page import Page, needing
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.problems import N_COLUMNS, problems_of
from holmes_fit.reporting.text import brief, count, fixed, printable, shortened, wrapped
from holmes_fit.trials.curves import curve_columns

PREFERRED = "holmes"
TELLING = 0.1  # share of the trials that a node needs to be spoken of
KEY = 20.0  # points, as all below
SLACK = 4.0  # beside a tree
ROOM = 600.0  # of the page, for trees
TITLE_SIZE, LEADING, BETWEEN = 8.5, 1.35, 22.0  # of words, and what else parts one row from the next
NAME_WIDTH = 200.0

TREE = (
    "What the model has made of one person's trials, at the MAP: each takes a path from the top and ends at a node. "
    "Nodes are named by the cues that set their trials apart from those of the node above"
)
ROW = (
    "What the model has made of one person's trials, at the MAP: each belongs to one cause. Causes are named by the "
    "cues that set their trials apart from all others"
)
CUES = ": x (nearly always there), no x (nearly never), x 70% (that often)."


@dataclass(frozen=True)
class Learner:
    """One person's tree: whose it is, which of their learners, and why it is shown."""

    rank: str
    subject: str
    restart: str
    n_restarts: int
    n_trials: int
    pseudo_r2: float
    rows: pd.DataFrame


def shown_model(data: CohortData) -> str:
    """Return the model whose trees are shown: HOLMES, or else the best of those that have causes."""
    known = set(data["trees"]["model"])
    return next(model for model in (PREFERRED, data.lead_model, *data.model_names) if model in known)


def chosen_learners(data: CohortData, model: str) -> list[Learner]:
    """Return the trees of the best, the median and the worst fit, by pseudo-R²; fewer if there are fewer people.

    Of someone with several learners, it is the one with the most trials. Where trees are asked for, it is those.
    """
    if asked := [each for each in data.asked_trees if each[0] in set(data.subjects["subject"])]:
        return [learner for each in asked for learner in learners_of(data, model, *each)]
    trees, fits = data.of_model("trees", model), data.of_model("models", model)
    fits = fits[fits["subject"].isin(set(trees["subject"]))]
    fits = fits.dropna(subset=["pseudo_r2"]).sort_values("pseudo_r2", ascending=False, kind="stable")
    found = []
    n = len(fits)
    ranks = [("Best fit", 0), ("Median fit", n // 2), ("Worst fit", n - 1)]
    if n < len(ranks):
        ranks = [("The only fit", 0)] if n == 1 else ranks[::2][:n]
    for rank, place in ranks:
        every = learners_of(data, model, str(fits["subject"].iloc[place]))
        found.append(replace(max(every, key=lambda learner: learner.n_trials), rank=rank))
    return found


def learners_of(data: CohortData, model: str, subject: str, restart: str = "") -> list[Learner]:
    """Return the trees of a person, problem by problem, or that of one problem."""
    trees, fits, trials = (data.of_model(name, model) for name in ("trees", "models", "trials_fitted"))
    own, nodes = trials[trials["subject"] == subject], trees[trees["subject"] == subject]
    lengths = own["restart"].value_counts(sort=False)
    pseudo_r2 = float(fits.loc[fits["subject"] == subject, "pseudo_r2"].iloc[0])
    return [
        Learner("", subject, str(name), len(lengths), int(n), pseudo_r2, nodes[nodes["restart"] == name])
        for name, n in lengths.items()
        if restart in ("", name)
    ]


# --- The page


def _blocks(data: CohortData) -> Iterator[Block]:
    model = shown_model(data)
    trees = data.of_model("trees", model)
    yield Text(_finding(trees, data.words.label(model)), "finding")
    yield Text(f"{TREE if trees['level'].max() > 0 else ROW}{CUES}")
    yield Row([Panel("tree_key", draw_tree_key, height=KEY)], KEY)
    learners = chosen_learners(data, model)
    drawn = [_tree(data, learner, place) for place, learner in enumerate(learners, start=1)]
    yield from (Row(row, max(panel.height for panel in row)) for row in in_rows(drawn))
    if not data.asked_trees:
        yield from problems_of(data, model, learners[len(learners) // 2].subject)


def tree_of(data: CohortData, subject: str) -> Panel:
    """Return the panel of a person's tree, that of the longest problem."""
    every = learners_of(data, shown_model(data), subject)
    return _tree(data, max(every, key=lambda learner: learner.n_trials), 1)


def _tree(data: CohortData, learner: Learner, place: int) -> Panel:
    """Return the panel of a tree, whose share is the width that it takes in points."""
    cues = [str(name) for name in data["trees"].columns[N_COLUMNS:]]
    root, least_share = fitting_root(learner.rows, cues, learner.n_trials, TEXT_WIDTH - SLACK)
    name = shortened(learner.subject, TITLE_SIZE, NAME_WIDTH, "bold")
    warnings = [text.partition(":")[0] for text in data.warned_of(learner.subject, shown_model(data))]
    title = f"{learner.rank + ': ' if learner.rank else ''}{name}, pseudo-R² {fixed(learner.pseudo_r2)}"
    return Panel(
        f"tree_{place}",
        partial(draw_tree, root=root),
        f"{title}   ⚠ {', '.join(warnings)}" if warnings else title,
        _caption(learner, root, least_share) + _condition(data, learner),
        share=width_of_tree(root, TEXT_WIDTH - SLACK) + SLACK,
        table=learner.rows,
        height=height_of(root),
    )


def in_rows(drawn: Sequence[Panel], room: float = ROOM) -> list[list[Panel]]:
    """Return trees row by row: below each other, or two side by side where that leaves all of them on a page."""
    below = [[each] for each in drawn]
    ways = [below]
    for one, other in ((1, 2), (0, 1), (0, 2)):
        if len(drawn) == 3 and drawn[one].share + drawn[other].share <= TEXT_WIDTH - GUTTER:
            alone = 3 - one - other
            rows = [[drawn[one], drawn[other]], [drawn[alone]]]
            ways.append(rows[::-1] if alone == 0 else rows)
    return next((rows for rows in ways if sum(map(_height, rows)) <= room), below)


def _height(row: Sequence[Panel]) -> float:
    """Return how high a row of trees is, with its words."""
    own = Row(row, 0.0).widths()
    heads = max(len(wrapped(printable(panel.title), TITLE_SIZE, part, "bold")) for panel, part in own)
    feet = max(len(wrapped(printable(panel.caption), SMALL, part)) for panel, part in own)
    return max(panel.height for panel in row) + LEADING * (heads * TITLE_SIZE + feet * SMALL) + BETWEEN


def _finding(trees: pd.DataFrame, label: str) -> str:
    """Say how large the trees are: medians over people, of each person's first learner."""
    first = trees[trees["restart"] == trees.groupby("subject", sort=False)["restart"].transform("first")]
    total = first["visits"].where(first["level"] == 0).groupby(first["subject"]).transform("sum")
    kept = first[first["visits"] >= LEAST_SHARE * total]
    nodes = kept.groupby("subject").size().median()
    levels = (kept.groupby("subject")["level"].max() + 1).median()
    who = "the median person" if kept["subject"].nunique() > 1 else "one person"
    if kept["level"].max() == 0:
        return f"The {label} model finds {count(nodes, 'cause')} in {who}."
    where = f"{count(nodes, 'node')} on {count(levels, 'level')}"
    return f"{label} grows {where} in {who}."


def _caption(learner: Learner, root: Node, least_share: float) -> str:
    nodes = list(root.below())
    what = "cause" if root.n_levels <= 1 else "node"
    where = "" if root.n_levels <= 1 else f" on {count(root.n_levels, 'level')}"
    found = f"{count(len(nodes), what)}{where} with {share(least_share)} of the trials or more."
    which = ""
    if learner.n_restarts > 1:
        restart = shortened(learner.restart, SMALL, NAME_WIDTH)
        longest = "the longest, " if learner.rank else ""
        which = f" Of {learner.n_restarts} problems learned afresh, this is {longest}“{restart}”."
    return f"{found} {_clearest(nodes)}{which}"


def _condition(data: CohortData, learner: Learner) -> str:
    """Say in which condition somebody has learned, where it is one of several."""
    if data.cohort is None:
        return ""
    trials = data.cohort.trials
    own = trials[(trials["subject"] == learner.subject) & (trials["restart"] == learner.restart)]
    names = [name for name in curve_columns(data.cohort.protocol) if name in trials and trials[name].nunique() > 1]
    told = [f"{brief(name)} is {brief(own[name].iloc[0])}" for name in names if own[name].nunique() == 1]
    return f" Here, {listed(told)}." if told else ""


def _clearest(nodes: list[Node]) -> str:
    """Say what the model predicts most firmly, of the nodes with a fair share of the trials."""
    telling = [node for node in nodes if node.share >= TELLING and np.isfinite(node.outcome_rate) and node.all_cues]
    if not telling:
        return "No cue sets any large node apart."
    node = max(telling, key=lambda node: abs(node.outcome_rate - 0.5))
    cues = listed([shortened(cue, SMALL, NAME_WIDTH) for cue in node.all_cues])
    came = f"outcome on {share(node.outcome_rate)} of {count(round(node.visits), 'trial')}"
    return f"Clearest: {cues} ({came})."


NO_TREES = "None of the fitted models has latent causes, so that there are no trees to show."
NO_FITS = "The run has no fits of single people."
TREES = Page("trees", "Inside the model", _blocks, needing(trees=NO_TREES, models=NO_FITS, trials_fitted=NO_FITS))
