"""Panels that several figures share. Every function takes and returns the axes that it draws on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from numpy.typing import NDArray
from scipy import stats

from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.style import INK, MODEL_COLORS, MODEL_MARKERS, RULE
from paper.statistics import TWO_SIDED_95
from paper.studies import PAIR
from paper.summaries import picked

LEVELS = (2, 3, 4, 5)
Color = str | tuple[float, float, float]
PUBLISHED: dict[str, Any] = {
    "marker": "D",
    "markersize": 4,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
    "linestyle": "none",
}


def titled(ax: Axes, letter: str, title: str) -> Axes:
    """Give a panel its letter and its title."""
    ax.set_title(rf"$\bf{{{letter}}}$  {title}", parse_math=True)
    return ax


def label_of(model: str) -> str:
    """Return a model's name as figures show it."""
    return MODELS[model].label


def lines_by_level(
    ax: Axes, summary: pd.DataFrame, published: pd.DataFrame, metric: str, models: Sequence[str] = PAIR
) -> Axes:
    """Draw a metric against the number of levels, with 95% intervals, and the published values as open diamonds."""
    offsets = np.linspace(-0.06, 0.06, len(models)) * (1 if len(models) < 3 else 2)
    for model, offset in zip(models, offsets, strict=True):
        rows = [picked(summary, task=f"{level}-level", model=model, metric=metric).iloc[0] for level in LEVELS]
        ax.errorbar(
            np.array(LEVELS) + offset,
            [row["value"] for row in rows],
            [TWO_SIDED_95 * row["se"] for row in rows],
            color=MODEL_COLORS[model],
            marker=MODEL_MARKERS[model],
            label=label_of(model),
        )
        for level in LEVELS:
            for value in picked(published, task=f"{level}-level", model=model, metric=metric)["value"]:
                ax.plot(level + offset, value, zorder=5, **(PUBLISHED | _edge(model, models)))
    ax.set_xticks(LEVELS)
    ax.set_xlim(1.7, 5.3)
    ax.set_xlabel("levels of the task")
    return ax


def _edge(model: str, models: Sequence[str]) -> dict[str, str]:
    """Among many models, a published value has the colour of its model."""
    return {} if len(models) < 3 else {"markeredgecolor": MODEL_COLORS[model]}


def bars(ax: Axes, rows: pd.DataFrame, published: pd.DataFrame, colors: Mapping[str, str] = MODEL_COLORS) -> Axes:
    """Draw one bar a model with its 95% interval, and the published values as open diamonds."""
    for place, (_, row) in enumerate(rows.iterrows()):
        model, value, half = str(row["model"]), float(row["value"]), TWO_SIDED_95 * float(row["se"])
        low, high = float(row["low"]), float(row["high"])
        if not np.isfinite(low):
            low, high = value - half, value + half
        ax.bar(place, value, width=0.62, color=colors[model])
        ax.vlines(place, low, high, color=INK, linewidth=1.0)
        for printed in picked(published, model=model)["value"]:
            ax.plot(place + 0.2, printed, zorder=5, **PUBLISHED)
    ax.set_xticks(range(len(rows)), [label_of(str(model)) for model in rows["model"]])
    ax.set_xlim(-0.6, len(rows) - 0.4)
    return ax


def legend_of_pair(ax: Axes, published: bool = True, **options: Any) -> Axes:
    """Explain the two models' lines and the published values."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=MODEL_COLORS[model], marker=MODEL_MARKERS[model], label=label_of(model)) for model in PAIR
    ]
    if published:
        handles.append(Line2D([], [], label="published", **PUBLISHED))
    ax.legend(handles=handles, **options)
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


def box(ax: Axes, x: float, y: float, width: float, height: float, text: str, color: Color = "white") -> Axes:
    """Draw a box with a text in it, centred at (x, y)."""
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.02",
            facecolor=color,
            edgecolor=RULE,
            linewidth=0.8,
        )
    )
    ax.text(x, y, text, ha="center", va="center", linespacing=1.35)
    return ax


def empty(ax: Axes, width: float = 1.0, height: float = 1.0) -> Axes:
    """Make axes a blank sheet from (0, 0) to (width, height)."""
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_axis_off()
    return ax
