"""Figures of parameters: people before and after pooling, the distribution of the group, effects, correlations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from holmes_fit._support.numbers import probability
from holmes_fit.reporting.figures import axes
from holmes_fit.reporting.figures.axes import LABEL, NAME, to_scale
from holmes_fit.reporting.names import Words, color_of, group_marker, term_label
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import number, shortened, signed, width_of

ROOM_BELOW = 180.0  # points for the names below a matrix, about
PALE = 0.42  # of the colour, mixed with white
# Blue to white to orange, which the colour-blind can tell apart.
DIVERGING = LinearSegmentedColormap.from_list("signs", ["#0072b2", "#ffffff", "#d55e00"])


def scale_limits(tables: Sequence[pd.DataFrame], scale: str) -> tuple[float, float]:
    """Return limits that hold all intervals, on the scale of the parameter."""
    values = np.concatenate([to_scale(table[["lower", "upper"]], scale).ravel() for table in tables])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    margin = 0.04 * (values.max() - values.min()) or 0.5
    return float(values.min() - margin), float(values.max() + margin)


def draw_people_intervals(
    ax: Axes,
    before: pd.DataFrame,
    after: pd.DataFrame | None,
    order: Sequence[str],
    scale: str,
    color: str,
    limits: tuple[float, float],
    names: bool = True,
    width: float = 360.0,
) -> Axes:
    """Draw each person's median and 95% interval: by themselves in a pale colour, and beside it under the group.

    Without a group, people by themselves are in full colour.
    """
    many = len(order) > 60
    alone = color if after is None else axes.mixed(color, PALE)
    for table, shift, tint, line in ((before, -0.16, alone, 1.2), (after, 0.16, color, 1.6)):
        if table is None:
            continue
        rows = table.set_index("subject").reindex(list(order))
        places = np.arange(len(order)) + (0 if after is None else shift)
        low, middle, high = (to_scale(rows[name], scale) for name in ("lower", "median", "upper"))
        ax.vlines(places, low, high, color=tint, linewidth=min(line, 200 / max(1, len(order))))
        ax.plot(places, middle, "o", color=tint, markersize=1.6 if many else 3.2, markeredgewidth=0)
    ax.set_ylim(*limits)
    axes.natural_ticks(ax, scale)
    if names:
        return axes.people_axis(ax, list(order), width)
    ax.set_xlim(-0.7, len(order) - 0.3)
    ax.set_xticks([])
    return ax


def draw_group(
    ax: Axes, rows: Mapping[str, pd.DataFrame], scale: str, limits: tuple[float, float], words: Words
) -> Axes:
    """Draw how a parameter is distributed in the group, sideways, for each model, with its median and 95% interval."""
    grid = np.linspace(*limits, 160)
    for place, (model, table) in enumerate(rows.items()):
        by_quantity = dict(table[table["name"] == ""].set_index("quantity").iterrows())
        if not {"mean", "median", "spread"} <= set(by_quantity):
            continue
        color = words.color(model)
        centre, spread = by_quantity["mean"], float(by_quantity["spread"]["median"])
        density = np.exp(-0.5 * ((grid - float(centre["median"])) / max(spread, 1e-3)) ** 2)
        ax.fill_betweenx(grid, 0, density, color=color, alpha=0.22, linewidth=0)
        ax.plot(density, grid, color=color, linewidth=0.9)
        x = 1.13 + 0.15 * place
        low, middle, high = (to_scale(by_quantity["median"][name], scale) for name in ("lower", "median", "upper"))
        ax.vlines(x, low, high, color=color, linewidth=2.2)
        ax.plot(x, middle, "o", color=color, markersize=4.5, markeredgecolor="white")
    ax.set_ylim(*limits)
    axes.natural_ticks(ax, scale)
    ax.tick_params(axis="y", labelleft=False, length=0)
    ax.set_xlim(0, 1.25 + 0.15 * len(rows))
    ax.set_xticks([])
    ax.spines[["bottom"]].set_visible(False)
    return ax


def draw_effects(ax: Axes, rows: pd.DataFrame, words: Words) -> Axes:
    """Draw effects of covariates or contrasts between groups: median, 95% interval, and how sure their sign is."""
    labels = []
    for place, row in enumerate(rows.to_dict("records")):
        color = words.color(row["model"])
        ax.hlines(place, row["lower"], row["upper"], color=color, linewidth=1.8)
        ax.plot(row["median"], place, "o", color=color, markersize=5.5, markeredgecolor="white")
        text = f"{number(row['median'])}, above 0 with P = {probability(row['probability_above_0'], row['ess_bulk'])}"
        axes.beside(ax, text, 1.0, place, color, xycoords=("axes fraction", "data"))
        name = shortened(term_label(row["name"]), LABEL, 120)
        labels.append(f"{words.parameter(row['parameter'])}: {name} ({words.label(row['model'])})")
    axes.named_rows(ax, labels)
    ax.margins(x=0.08)
    axes.reference(ax, 0.0, axis="x", color="#777777")
    ax.spines["left"].set_visible(False)
    return ax


def draw_correlations(ax: Axes, table: pd.DataFrame, counts: int, words: Words) -> Axes:
    """Draw a matrix of rank correlations, its lower half, with the numbers in it."""
    names = list(table.columns)
    values = table.to_numpy(dtype=np.float64)
    shown = np.tri(len(names), k=-1, dtype=bool) & np.isfinite(values)
    masked = np.ma.masked_where(~shown, values)
    ax.pcolormesh(masked, cmap=DIVERGING, vmin=-1, vmax=1, edgecolors="white", linewidth=1.5)
    for down, across in np.argwhere(shown):
        value = values[down, across]
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": NAME}
        text = signed(value, 2).replace("0.", ".")
        ax.text(across + 0.5, down + 0.5, text, color="white" if abs(value) > 0.6 else INK, **style)
    labels = [shortened(words.parameter(name), LABEL, 80) for name in names]
    ax.set_xticks(np.arange(len(names) - 1) + 0.5, labels[:-1], parse_math=False)
    if max(width_of(label, LABEL) for label in labels[:-1]) > ROOM_BELOW / len(names):
        ax.set_xticks(ax.get_xticks(), labels[:-1], parse_math=False, rotation=40, ha="right")
    ax.set_yticks(np.arange(1, len(names)) + 0.5, labels[1:], parse_math=False)
    ax.set_xlim(0, len(names) - 1)
    ax.set_ylim(len(names), 1)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    corner: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "top"}
    ax.text(0.99, 0.98, f"{counts} people", fontsize=LABEL, color="#6b6b6b", **corner)
    return ax


def draw_pair(
    ax: Axes, table: pd.DataFrame, x: str, y: str, scales: Mapping[str, str], groups: Sequence[str], words: Words
) -> Axes:
    """Draw one parameter against another, a point for each person, groups in their colours."""
    for place, group in enumerate(groups or [""]):
        own = table[table["group"] == group] if groups else table
        ax.scatter(
            to_scale(own[x], scales[x]),
            to_scale(own[y], scales[y]),
            s=26 if len(table) <= 60 else 10,
            color=color_of(group, groups),
            marker=group_marker(place),
            alpha=0.7,
            linewidth=0,
            label=shortened(group, LABEL, 80),
        )
    ax.margins(0.08)
    axes.natural_ticks(ax, scales[x], "x", most=5)
    axes.natural_ticks(ax, scales[y], "y", most=5)
    ax.set_xlabel(words.parameter(x))
    ax.set_ylabel(words.parameter(y), rotation=0, ha="right", va="center")
    if groups:
        style: dict[str, Any] = {"handletextpad": 0.1, "columnspacing": 0.8}
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(3, len(groups)), **style)
    return ax
