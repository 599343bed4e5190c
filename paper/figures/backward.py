"""The figures of backward transfer, in the paper's layout: compression, and one-shot transfer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, PALE, RULE
from paper.figures.parts import (
    LEVELS,
    MODEL_COLORS,
    Panel,
    Rows,
    bar,
    bars,
    bars_of_pair,
    box,
    diamonds,
    empty,
    legend_of_pair,
    lines_by_level,
    panels_of_trees,
    scatter_of_pair,
)
from paper.studies import PAIR
from paper.summaries import highest_levels, picked, unit_means

if TYPE_CHECKING:
    from paper.run import StudyResult

N_OBSERVATIONS = 4


def compression(found: StudyResult) -> Rows:
    """Draw the paper's first results figure: accuracy is kept, representations are smaller."""
    by_level = partial(lines_by_level, summary=found.summary, published=found.published)

    def two_levels(ax: Axes, metric: str) -> None:
        both, published = (picked(each, task="2-level", metric=metric) for each in (found.summary, found.published))
        bars(ax, both[both["model"].isin(PAIR)], published)

    def late(ax: Axes) -> None:
        legend_of_pair(by_level(ax, metric="late_accuracy"), loc="lower left")

    trees = panels_of_trees("E", found.further["trees"], _name_of_category, "learned by {}")
    accuracy, entropy = (partial(two_levels, metric=metric) for metric in ("accuracy", "entropy"))
    first = [
        Panel("A", "The 2-level task", task_structure, share=2),
        Panel("B", "Accuracy, 2 levels", accuracy, look={"ylabel": "share correct"}),
        Panel("C", "Entropy, 2 levels", entropy, look={"ylabel": "nats"}),
    ]
    look = {"ylabel": "share correct", "ylim": (0.5, 1.02)}
    second = [Panel("D", "Accuracy, final 70% of trials", late, look=look), *trees]
    third = [
        Panel(letter, title, partial(by_level, metric=metric), look={"ylabel": unit, "ylim": (0, None)})
        for letter, metric, title, unit in (
            ("F", "entropy", "Entropy within categories", "nats"),
            ("G", "clusters", "Clusters", "number"),
        )
    ]
    return [(1, first), (1, second), (1, third)]


def transfer(found: StudyResult) -> Rows:
    """Draw the paper's figure of one-shot transfer."""
    summary, published = found.summary, found.published

    def recall(ax: Axes) -> None:
        legend_of_pair(lines_by_level(ax, summary, published, "recall"), loc="lower left")

    ahead, by_depth = (
        partial(advantage, summary=summary, published=published),
        partial(recall_by_depth, summary=summary),
    )
    top = highest_levels(found.data.runs["compositional"])
    accuracy, recalled = (unit_means(top, metric, "point") for metric in ("accuracy", "recall"))
    price = partial(scatter_of_pair, x=accuracy, y=recalled)
    look = {"xlabel": "accuracy, all trials", "ylabel": "recall"}
    return [
        (0.55, [Panel("A", "One-shot transfer", transfer_steps)]),
        (
            1,
            [
                Panel("B", "Recall of the category", recall, look={"ylabel": "recall", "ylim": (0, 1)}),
                Panel("C", "Advantage of HOLMES", ahead),
            ],
        ),
        (
            1,
            [
                Panel("D", "Recall in the 5-level task", by_depth),
                Panel("E", "Accuracy and transfer, mean of 2 to 5 levels", price, look=look),
            ],
        ),
    ]


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
