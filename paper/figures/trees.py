"""The structure that a model has learned, drawn as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from holmes_fit.models.filters.lineage import tree_table
from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, RULE
from paper.figures.parts import Panel
from paper.studies import Job, Reading, effective_reading
from paper.tasks import run_model

SMALLEST_SHARE = 0.03  # nodes that fewer trials pass through are left out
OUTCOME_SCALE = LinearSegmentedColormap.from_list("outcome", [NO_OUTCOME, "#f2f2f2", OUTCOME])
LARGEST = 300.0  # points squared

Namer = Callable[["pd.Series[float]"], str]


class Example(NamedTuple):
    """A run whose tree is drawn, and what it is called."""

    label: str
    model: str
    seed: int


def example_trees(job: Job, protocol: str, reading: Reading, examples: Sequence[Example]) -> pd.DataFrame:
    """Return the trees of some runs at the first parameter point, as :func:`tree_table` gives them, with ``label``."""
    trees = []
    for example in examples:
        run = run_model(job, protocol, example.model, effective_reading(example.model, reading), 0, example.seed)
        names = [f"cue_{i}" for i in range(run.task.observations.n_cues)]
        tree = tree_table(run.history, run.task.observations, names)
        trees.append(tree.assign(**example._asdict(), n_trials=run.task.observations.n_trials))
    return pd.concat(trees, ignore_index=True)


def draw_tree(ax: Axes, tree: pd.DataFrame, name: Namer) -> Axes:
    """Draw one tree from the root down. Area is the share of trials, colour the share with the outcome.

    ``name`` says in a few words what the trials of a node have in common.
    """
    n_trials = float(tree["n_trials"].iloc[0])
    kept = tree[tree["visits"] >= SMALLEST_SHARE * n_trials].set_index("node")
    places = _places(kept)
    depth = int(kept["level"].max())
    root = float(np.mean([places[node] for node in kept.index[kept["level"] == 0]]))
    ax.plot(root, 1, "o", color=INK, markersize=3)
    for node, row in kept.iterrows():
        x, y = places[int(str(node))], -float(row["level"])
        above = root if row["level"] == 0 else places[int(row["parent"])]
        ax.plot([above, x], [y + 1, y], color=RULE, linewidth=1.0, zorder=1)
        color = OUTCOME_SCALE(row["outcome_rate"])
        ax.scatter(x, y, LARGEST * row["visits"] / n_trials, color=[color], edgecolor=INK, linewidth=0.6, zorder=2)
        if (kept["parent"] == node).any():
            ax.annotate(f"{row['visits']:.0f}", (x, y), (13, 0), textcoords="offset points", va="center", fontsize=7)
        else:
            look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 7, "linespacing": 1.2}
            text = ax.annotate(
                f"{name(row)}\n{row['visits']:.0f}", (x, y), (0, -11), textcoords="offset points", **look
            )
            text.set_in_layout(False)  # there is room below; the layout would shrink the axes for it
    ax.set_xlim(-0.7, max(places.values()) + 0.7)
    ax.set_ylim(-max(depth, 1) - 1.0, 1.2)
    ax.set_axis_off()
    return ax


def panels_of_trees(letter: str, trees: pd.DataFrame, name: Namer, title: str) -> list[Panel]:
    """Return a panel for each tree; the first has the letter."""
    return [
        Panel("" if number else letter, title.format(label), partial(draw_tree, tree=tree, name=name))
        for number, (label, tree) in enumerate(trees.groupby("label", sort=False))
    ]


def _places(kept: pd.DataFrame) -> dict[int, float]:
    """Return where nodes stand from left to right: leaves side by side, others above the middle of their children."""
    places: dict[int, float] = {}

    def settle(node: int) -> float:
        children = [int(child) for child in kept.index[kept["parent"] == node]]
        if children:
            places[node] = float(np.mean([settle(child) for child in children]))
        else:
            places[node] = float(sum(not (kept["parent"] == other).any() for other in places))
        return places[node]

    for node in kept.index[kept["level"] == 0]:
        settle(int(node))
    return places
