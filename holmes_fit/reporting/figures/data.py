"""Figures of what people did, and what models make of it: learning curves, and strips with a point for each person."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from holmes_fit.reporting.figures.axes import end_labels, jitter, percent_axis, reference
from holmes_fit.reporting.figures.layout import size_of
from holmes_fit.reporting.names import color_of, group_marker
from holmes_fit.reporting.run_data import EVERYONE
from holmes_fit.reporting.scores import half_interval
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import printable, shortened, width_of

NARROW = 150.0  # points of axes without room for words beside the line at chance
STRIP = 115.0  # points across, where three of them stand side by side
TURNED = 44.0  # points of a name that stands aslant


def draw_learning_curves(ax: Axes, curve: pd.DataFrame, groups: Sequence[str]) -> Axes:
    """Draw accuracy over trials, a line for each group with its 95% interval over people."""
    ends = []
    for place, group in enumerate(groups or [EVERYONE]):
        own = curve[curve["group"] == group]
        if not len(own):
            continue
        color = color_of(group, groups)
        middle, mean = own["x"].to_numpy(dtype=np.float64), own["mean"].to_numpy()
        ax.fill_between(middle, own["lower"], own["upper"], color=color, alpha=0.16, linewidth=0)
        ax.plot(middle, mean, color=color, marker=group_marker(place), markersize=3.5)
        if (curve["n_learners"] != curve.groupby("group")["n_learners"].transform("first")).any():
            _numbers_at_foot(ax, own, place, color)
        if groups:
            ends.append((float(middle[-1]), float(mean[-1]), shortened(group, 7.5, 80), color))
    low = np.nanmin([0.45, *curve["lower"], *curve["mean"]])
    high = np.nanmax([0.75, *curve["upper"], *curve["mean"]])
    ax.set_ylim(max(0.0, low - 0.03), min(1.02, high + 0.03))
    reference(ax, 0.5, linestyle=(0, (4, 3)))
    ax.set_xlim(0, float(curve["x"].max()) + 0.5)
    word = "chance" if size_of(ax)[0] > NARROW else ""
    ax.annotate(word, (0, 0.5), xytext=(5, -2), textcoords="offset points", va="top", fontsize=7, color="#8a8a8a")
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    ax.set_xlabel(str(curve["by"].iloc[0]))
    percent_axis(ax)
    return end_labels(ax, ends)


def draw_predictive(ax: Axes, rows: pd.DataFrame, color: str, limits: tuple[float, float] | None = None) -> Axes:
    """Draw what people did as dark points, and what a model does as a line with its 95% band."""
    rows = rows.sort_values("bin")
    places = np.arange(len(rows))
    ax.fill_between(places, rows["lower"], rows["upper"], color=color, alpha=0.28, linewidth=0)
    ax.plot(places, rows["simulated"], color=color, linewidth=1.6)
    ax.plot(places, rows["observed"], color=INK, linewidth=0.8, marker="o", markersize=3.2)
    outside = ~rows["observed"].between(rows["lower"], rows["upper"]).to_numpy()
    ring = rows["observed"].to_numpy()[outside]
    ax.plot(places[outside], ring, "o", markersize=7, color=INK, fillstyle="none", markeredgewidth=0.8)
    note = f"{len(rows) - int(outside.sum())} of {len(rows)} in band"
    ax.text(0.03, 0.99, note, transform=ax.transAxes, va="top", fontsize=7, color="#6b6b6b")
    reference(ax, 0.5, linestyle=(0, (4, 3)))
    if limits is not None:
        ax.set_ylim(*limits)
    low, high = ax.get_ylim()
    ax.set_yticks([tick for tick in ax.get_yticks() if max(0.0, low) <= tick <= min(1.0, high)])
    percent_axis(ax)
    texts = [shortened(label, 7, 44).replace("-", "–") for label in rows["label"]]
    shown = sorted({0, len(rows) - 1}) if len(rows) > 4 else [*places]
    ax.set_xticks(shown, [texts[place] for place in shown], fontsize=7)
    for tick, place in zip(ax.get_xticklabels(), shown, strict=True):
        tick.set_parse_math(False)
        tick.set_horizontalalignment("left" if place == 0 else "right" if place == len(rows) - 1 else "center")
    ax.tick_params(axis="y", labelsize=7)
    ax.set_xlim(-0.4, max(len(rows) - 0.6, 0.4))
    return ax


def _numbers_at_foot(ax: Axes, own: pd.DataFrame, place: int, color: str) -> None:
    """Write under the points of a curve how many learners are left there."""
    foot, text = (0, 2 + 8 * place), dict[str, Any](ha="center", fontsize=7)
    room = 0.85 * size_of(ax)[0] / (width_of(str(own["n_learners"].max()), 7) + 4)  # labels make the axes narrower
    for at in own[:: -(-len(own) // max(1, int(room)))].to_dict("records"):
        where: dict[str, Any] = {"xy": (at["x"], 0), "xycoords": ("data", "axes fraction")}
        ax.annotate(str(at["n_learners"]), **where, xytext=foot, textcoords="offset points", color=color, **text)


def draw_strip(
    ax: Axes, people: pd.DataFrame, column: str, groups: Sequence[str], line: float | None = None, percent: bool = True
) -> Axes:
    """Draw a point for each person, by group, with the mean and its 95% interval."""
    names = list(groups) or [EVERYONE]
    size = float(np.clip(26 / np.sqrt(max(1, len(people) / len(names) / 8)), 5, 26))
    for place, group in enumerate(names):
        own = people if group == EVERYONE else people[people["group"] == group]
        values = own[column].dropna()
        color = color_of(group, groups)
        sideways = place + jitter(values.to_numpy(dtype=np.float64))
        ax.scatter(sideways, values, s=size, color=color, alpha=0.45, linewidth=0, marker=group_marker(place))
        if not len(values):
            continue
        mean, half = float(values.mean()), half_interval(values)
        if np.isfinite(half):
            low, high = (max(0.0, mean - half), min(1.0, mean + half)) if percent else (mean - half, mean + half)
            ax.vlines(place + 0.42, low, high, color=color, linewidth=1.6)
        ax.plot(place + 0.42, mean, marker=group_marker(place), color=color, markersize=5, markeredgecolor="white")
    if line is not None and np.isfinite(line):
        reference(ax, line, linestyle=(0, (4, 3)))
    level = STRIP / (len(names) + 0.2) - 5  # from name to name, without a gap
    turned = level < TURNED and any(width_of(printable(name), 7.5) > level for name in names)
    style: dict[str, Any] = {"rotation": 40, "ha": "right"} if turned else {}
    labels = [shortened(name, 7.5, TURNED if turned else level) for name in names]
    ax.set_xticks(range(len(names)), labels, parse_math=False, **style)
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.6, len(names) - 0.4 + 0.2)
    if percent:  # no share is below 0, and where all are alike there is no range to go by
        low, high = ax.get_ylim()
        ax.set_ylim(max(low, -0.002), max(high, low + 0.01, 0.05))
    return percent_axis(ax) if percent else ax
