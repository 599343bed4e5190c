"""The figures of backward transfer, in the paper's layout: compression, and one-shot transfer."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import FigureBase

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, PALE, RULE
from paper.figures.parts import (
    LEVELS,
    MODEL_COLORS,
    bar,
    bars,
    bars_of_pair,
    box,
    diamonds,
    empty,
    legend_of_pair,
    lines_by_level,
    regression,
    titled,
)
from paper.figures.trees import draw_tree
from paper.studies import PAIR
from paper.summaries import highest_levels, picked, unit_means

N_OBSERVATIONS = 4


def compression(figure: FigureBase, summary: pd.DataFrame, published: pd.DataFrame, trees: pd.DataFrame) -> FigureBase:
    """Draw the paper's first results figure: accuracy is kept, representations are smaller."""
    rows = figure.add_gridspec(3, 1)
    upper, middle = rows[0].subgridspec(1, 3, width_ratios=(2, 1, 1)), rows[1].subgridspec(1, 3)
    lower = rows[2].subgridspec(1, 2)
    titled(task_structure(figure.add_subplot(upper[0])), "A", "The 2-level task")
    for place, (letter, metric, title) in enumerate(
        [("B", "accuracy", "Accuracy, 2 levels"), ("C", "entropy", "Entropy, 2 levels")]
    ):
        ax = figure.add_subplot(upper[1 + place])
        keys = {"task": "2-level", "metric": metric}
        both = picked(summary, **keys)
        bars(titled(ax, letter, title), both[both["model"].isin(PAIR)], picked(published, **keys))
        ax.set_ylabel("share correct" if metric == "accuracy" else "nats")
    ax = lines_by_level(figure.add_subplot(middle[0]), summary, published, "late_accuracy")
    titled(ax, "D", "Accuracy, final 70% of trials").set_ylabel("share correct")
    ax.set_ylim(0.5, 1.02)
    legend_of_pair(ax, loc="lower left")
    for column, (label, tree) in enumerate(trees.groupby("label", sort=False)):
        ax = draw_tree(figure.add_subplot(middle[1 + column]), tree, _name_of_category)
        titled(ax, "E" if column == 0 else "", f"learned by {label}")
    for column, (letter, metric, title, unit) in enumerate(
        [("F", "entropy", "Entropy within categories", "nats"), ("G", "clusters", "Clusters", "number")]
    ):
        ax = lines_by_level(figure.add_subplot(lower[column]), summary, published, metric)
        titled(ax, letter, title).set_ylabel(unit)
        ax.set_ylim(bottom=0)
    return figure


def transfer(figure: FigureBase, summary: pd.DataFrame, published: pd.DataFrame, runs: pd.DataFrame) -> FigureBase:
    """Draw the paper's figure of one-shot transfer."""
    grid = figure.add_gridspec(3, 2, height_ratios=(0.55, 1, 1))
    titled(transfer_steps(figure.add_subplot(grid[0, :])), "A", "One-shot transfer")
    ax = lines_by_level(figure.add_subplot(grid[1, 0]), summary, published, "recall")
    titled(ax, "B", "Recall of the category").set_ylabel("recall")
    ax.set_ylim(0, 1)
    legend_of_pair(ax, loc="lower left")
    titled(advantage(figure.add_subplot(grid[1, 1]), summary, published), "C", "Advantage of HOLMES")
    titled(recall_by_depth(figure.add_subplot(grid[2, 0]), summary), "D", "Recall in the 5-level task")
    titled(trade_off(figure.add_subplot(grid[2, 1]), runs), "E", "Accuracy and transfer, mean of 2 to 5 levels")
    return figure


def task_structure(ax: Axes) -> Axes:
    """Draw the 2-level task: a category decides the outcome; four observations are seen under each."""
    empty(ax, 8, 3.4).set_ylim(-0.15, 3.3)
    for value, (color, text) in enumerate([(OUTCOME, "outcome"), (NO_OUTCOME, "no outcome")]):
        middle = 2 + 4 * value
        box(ax, middle, 2.85, 2.4, 0.7, text, color=_pale(color))
        ax.plot([middle, middle], [2.5, 2.15], color=RULE, zorder=0)
        box(ax, middle, 1.8, 2.4, 0.7, f"level 2 = {value}", color=PALE)
        for observation in range(N_OBSERVATIONS):
            x = middle - 1.35 + 0.9 * observation
            ax.plot([middle, x], [1.45, 0.95], color=RULE, zorder=0)
            box(ax, x, 0.62, 0.74, 0.62, str(observation))
        ax.text(middle, 0.02, "observations", ha="center", va="center", fontsize=7)
    return ax


def _pale(color: str) -> tuple[float, float, float]:
    red, green, blue = (0.35 * part + 0.65 for part in to_rgb(color))
    return red, green, blue


def _name_of_category(row: pd.Series[float]) -> str:
    """Say which category the trials of a node belong to. The cues are four observations, then level 2 twice."""
    share = float(row[f"cue_{N_OBSERVATIONS}"])
    if share > 0.9 or share < 0.1:
        return f"level 2 = {round(share)}"
    return "both"


def transfer_steps(ax: Axes) -> Axes:
    """Draw the three steps of one-shot transfer."""
    empty(ax, 12, 2)
    steps = (
        "Training\npredict every outcome;\nno category is ever named",
        "Teaching\none past trial is labelled:\n“it belongs to category 0”",
        "Test\nwhich past trials belong to it?\nThose in the same cluster.",
    )
    for place, text in enumerate(steps):
        x = 2 + 4 * place
        box(ax, x, 1.0, 3.4, 1.5, text, color=PALE)
        if place:
            ax.annotate("", (x - 1.75, 1.0), (x - 2.25, 1.0), arrowprops={"arrowstyle": "->", "color": INK})
    return ax


def advantage(ax: Axes, summary: pd.DataFrame, published: pd.DataFrame) -> Axes:
    """Draw HOLMES minus flat recall against the number of levels."""
    ax.axhline(0, color=RULE, linewidth=0.8)
    for level in LEVELS:
        keys = {"task": f"{level}-level", "model": "difference", "metric": "recall"}
        bar(ax, level, picked(summary, **keys).iloc[0], width=0.6, color=MODEL_COLORS["holmes"])
        diamonds(ax, level + 0.2, published, **keys)
    ax.set_xticks(LEVELS)
    ax.set_xlabel("levels of the task")
    ax.set_ylabel("recall, HOLMES − flat")
    return ax


def recall_by_depth(ax: Axes, summary: pd.DataFrame) -> Axes:
    """Draw recall at every category level of the deepest task, both models side by side."""
    rows = {float(level): {"task": f"5-level, level {level}", "metric": "recall"} for level in LEVELS}
    bars_of_pair(ax, summary, rows)
    ax.set_xticks(LEVELS)
    ax.set_xlabel("category level (5 is the highest)")
    ax.set_ylabel("recall")
    ax.set_ylim(0, 1)
    return ax


def trade_off(ax: Axes, runs: pd.DataFrame) -> Axes:
    """Draw transfer against accuracy, a point for each parameter pair."""
    top = highest_levels(runs)
    accuracy, recall = unit_means(top, "accuracy", "point"), unit_means(top, "recall", "point")
    for model in PAIR:
        regression(ax, accuracy[model].to_numpy(), recall[model].to_numpy(), MODEL_COLORS[model])
    ax.set_xlabel("accuracy, all trials")
    ax.set_ylabel("recall")
    return ax
