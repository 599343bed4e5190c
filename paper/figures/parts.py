"""Panels that several figures share. Every function takes and returns the axes that it draws on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from numpy.typing import NDArray
from scipy import stats

from holmes_fit.models.filters.lineage import tree_table
from holmes_fit.models.registry import MODELS, descriptions
from holmes_fit.reporting.figures.layout import size_of
from holmes_fit.reporting.figures.trees import draw_tree, fitting_root, height_of
from holmes_fit.reporting.style import INK, RULE
from paper.compare import StudyResult
from paper.statistics import TWO_SIDED_95
from paper.studies import PAIR, Job, Reading, effective_reading
from paper.summaries import picked
from paper.tasks import run_model

LEVELS = (2, 3, 4, 5)
_LOOKS = descriptions(MODELS.values())["models"]
MODEL_COLORS, MODEL_MARKERS = ({name: str(said[look]) for name, said in _LOOKS.items()} for look in ("color", "marker"))
Color = str | tuple[float, float, float]
OPEN = {"markerfacecolor": "white", "markeredgecolor": INK}
PUBLISHED: dict[str, Any] = {"marker": "D", "markersize": 4, "linestyle": "none", **OPEN}


@dataclass(frozen=True)
class Panel:
    """One part of a figure, with its letter unless that is empty."""

    letter: str
    title: str
    draw: Callable[[Axes], object]
    share: float = 1.0  # of the width of its row
    height: float = 1.0  # of its row, beside others
    look: dict[str, Any] = field(default_factory=dict)  # what ``Axes.set`` is to set, such as limits and labels


Rows = list[list[Panel]]


def arrange(figure: FigureBase, rows: Rows) -> FigureBase:
    """Draw rows of panels."""
    grid = figure.add_gridspec(len(rows), 1, height_ratios=[panels[0].height for panels in rows])
    for place, panels in enumerate(rows):
        cells = grid[place].subgridspec(1, len(panels), width_ratios=[panel.share for panel in panels])
        for number, panel in enumerate(panels):
            ax = figure.add_subplot(cells[number])
            panel.draw(ax)
            title = rf"$\bf{{{panel.letter}}}$  {panel.title}" if panel.letter else panel.title
            ax.set_title(title, parse_math=bool(panel.letter))
            ax.set(**panel.look)
    return figure


def label_of(model: str) -> str:
    """Return a model's name as figures show it."""
    return MODELS[model].label


def lines_by_level(ax: Axes, found: StudyResult, metric: str, models: Sequence[str] = PAIR) -> Axes:
    """Draw a metric against the number of levels, with 95% intervals, and the published values as open diamonds."""
    are_few = len(models) < 3
    for model, offset in zip(models, np.linspace(-0.06, 0.06, len(models)) * (1 if are_few else 2), strict=True):
        look: dict[str, Any] = {"color": MODEL_COLORS[model], "marker": MODEL_MARKERS[model], "label": label_of(model)}
        keys = [{"task": f"{level}-level", "model": model, "metric": metric} for level in LEVELS]
        rows = pd.concat([picked(found.summary, **own) for own in keys])
        ax.errorbar(np.array(LEVELS) + offset, rows["value"], TWO_SIDED_95 * rows["se"], **look)
        for level, own in zip(LEVELS, keys, strict=True):
            diamonds(ax, level + offset, found, INK if are_few else MODEL_COLORS[model], **own)
    ax.set(xticks=LEVELS, xlim=(1.7, 5.3), xlabel="levels of the task")
    return ax


def bar(ax: Axes, place: float, row: pd.Series[Any], width: float = 0.62, color: str = "") -> None:
    """Draw the bar of one row of a summary, in the colour of its model, with its 95% interval."""
    half = TWO_SIDED_95 * row["se"]
    ends = (row["low"], row["high"]) if np.isfinite(row["low"]) else (row["value"] - half, row["value"] + half)
    ax.bar(place, row["value"], width, color=color or MODEL_COLORS[row["model"]])
    ax.vlines(place, *ends, color=INK, linewidth=1.0)


def bars(ax: Axes, found: StudyResult, models: Sequence[str] = PAIR, line: float = np.nan, **keys: str) -> Axes:
    """Draw one bar a model, the published values as open diamonds, and a broken line across."""
    rows = picked(found.summary, **keys).set_index("model").reindex(list(models)).dropna(how="all").reset_index()
    source = {"source": "results"} if found.study == "forward" else {}
    for place, (_, row) in enumerate(rows.iterrows()):
        bar(ax, place, row)
        diamonds(ax, place + 0.2, found, model=str(row["model"]), **keys, **source)
    labels = [label_of(model) for model in rows["model"]]
    if len(labels) < 3:
        ax.set_xticks(range(len(rows)), labels)
    else:
        labels = [label.replace("HOLMES ", "HOLMES\n").replace("Flat +", "Flat +\n") for label in labels]
        ax.set_xticks(range(len(rows)), labels, rotation=50, ha="right", rotation_mode="anchor", linespacing=0.95)
    ax.set_xlim(-0.6, len(rows) - 0.4)
    ax.axhline(line, color=RULE, linestyle="--", linewidth=0.8, zorder=0)
    return ax


def bars_of_pair(ax: Axes, found: StudyResult, rows: Mapping[int, Mapping[str, str]]) -> Axes:
    """Draw the bars of both models side by side; ``rows`` says by their place which rows of the summary they are."""
    for model, offset in zip(PAIR, (-0.19, 0.19), strict=True):
        for place, keys in rows.items():
            bar(ax, place + offset, picked(found.summary, model=model, **keys).iloc[0], width=0.36)
    handles = [Patch(color=MODEL_COLORS[model], label=label_of(model)) for model in PAIR]
    ax.legend(handles=handles, loc="upper right")
    return ax


def diamonds(ax: Axes, x: float, found: StudyResult, edge: str = INK, /, **keys: str) -> None:
    """Draw published values as open diamonds."""
    for value in picked(found.published, **keys)["value"]:
        ax.plot(x, value, zorder=5, **{**PUBLISHED, "markeredgecolor": edge})


def legend_of_pair(ax: Axes, **options: Any) -> Axes:
    """Explain the two models' lines and the published values."""
    handles = [
        Line2D([], [], color=MODEL_COLORS[model], marker=MODEL_MARKERS[model], label=label_of(model)) for model in PAIR
    ]
    ax.legend(handles=[*handles, Line2D([], [], label="published", **PUBLISHED)], **options)
    return ax


def regression(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64], color: str) -> Axes:
    """Draw points, their regression line and its 95% confidence band."""
    ax.plot(x, y, ".", color=color, alpha=0.35, markersize=4, markeredgewidth=0)
    if len(x) < 4 or np.ptp(x) == 0:
        return ax
    fit = stats.linregress(x, y)
    grid = np.linspace(x.min(), x.max(), 50)
    residual = y - (fit.intercept + fit.slope * x)
    spread = np.sqrt(np.sum(residual**2) / (len(x) - 2))
    error = spread * np.sqrt(1 / len(x) + (grid - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    line = fit.intercept + fit.slope * grid
    half = stats.t.ppf(0.975, len(x) - 2) * error
    ax.fill_between(grid, line - half, line + half, color=color, alpha=0.2, linewidth=0)
    ax.plot(grid, line, color=color)
    return ax


def scatter_of_pair(ax: Axes, x: pd.DataFrame, y: pd.DataFrame) -> Axes:
    """Draw one metric against another for both models, a point for each parameter pair."""
    for model in PAIR:
        regression(ax, x[model].to_numpy(), y[model].to_numpy(), MODEL_COLORS[model])
    return ax


def box(ax: Axes, x: float, y: float, width: float, height: float, text: str, color: Color = "white") -> Axes:
    """Draw a box with a text in it, centred at (x, y)."""
    corner, shape = (x - width / 2, y - height / 2), "round,pad=0,rounding_size=0.02"
    look: dict[str, Any] = {"facecolor": color, "edgecolor": RULE, "linewidth": 0.8}
    ax.add_patch(FancyBboxPatch(corner, width, height, boxstyle=shape, **look))
    ax.text(x, y, text, ha="center", va="center", linespacing=1.35)
    return ax


def empty(ax: Axes, width: float = 1.0, height: float = 1.0) -> Axes:
    """Make axes a blank sheet from (0, 0) to (width, height)."""
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return ax


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


def panels_of_trees(letter: str, trees: pd.DataFrame, cues: Sequence[str], title: str) -> list[Panel]:
    """Return a panel for each tree; the first has the letter."""
    named = trees.rename(columns={f"cue_{number}": name for number, name in enumerate(cues)})
    return [
        Panel("" if number else letter, title.format(label), partial(tree, rows=rows, cues=cues))
        for number, (label, rows) in enumerate(named.groupby("label", sort=False))
    ]


def tree(ax: Axes, rows: pd.DataFrame, cues: Sequence[str]) -> Axes:
    """Draw one tree as reports do, so that all of it can be seen."""
    width, height = size_of(ax)
    root, _ = fitting_root(rows, cues, int(rows["n_trials"].iloc[0]), width)
    draw_tree(ax, root).set_ylim(min(0.0, height - height_of(root)), height)
    return ax
