"""Figures on what a study of this design can tell: recovery, confusion of models, information beyond the prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Rectangle

from holmes_fit.reporting.cohort.axes import LABEL, end_labels, jitter, natural_ticks, percent_axis, reference
from holmes_fit.reporting.cohort.names import model_color, model_label, parameter_label
from holmes_fit.reporting.cohort.text import fixed, share, shortened, width_of
from holmes_fit.reporting.style import HOLMES, INK

LANE = 0.32  # room above the points for what is written there, in parts of their range
SHARES = LinearSegmentedColormap.from_list("shares", ["#ffffff", HOLMES])


def draw_recovery(
    ax: Axes, rows: pd.DataFrame, estimator: str, model: str, scale: str, note: str, models: Sequence[str] = ()
) -> Axes:
    """Draw estimates of simulated people against the truth, in natural values on the scale of the parameter."""
    truth, estimate = rows["truth_on_scale"].to_numpy(), rows[f"{estimator}_on_scale"].to_numpy()
    both = np.concatenate([truth, estimate])
    both = both[np.isfinite(both)]
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5
    limits = (low - margin, high + margin)
    ax.plot(limits, limits, color="#9a9a9a", linewidth=0.8, zorder=1)
    size = 14 if len(rows) <= 60 else 6
    ax.scatter(truth, estimate, s=size, color=model_color(model, models), alpha=0.6, linewidth=0, zorder=2)
    ax.set_xlim(*limits)
    ax.set_ylim(limits[0], limits[1] + LANE * (limits[1] - limits[0]))
    natural_ticks(ax, scale, "x", most=3)
    natural_ticks(ax, scale, "y", most=3)
    ax.tick_params(labelsize=7)
    ax.text(0.03, 1.0, note, transform=ax.transAxes, va="top", fontsize=7, color=INK)
    return ax


def draw_confusion(ax: Axes, rows: pd.DataFrame, models: Sequence[str]) -> Axes:
    """Draw which model is chosen for people who were simulated from each: shares, with their counts."""
    for down, truth in enumerate(models):
        for across, chosen in enumerate(models):
            own = rows[(rows["truth"] == truth) & (rows["chosen"] == chosen)]
            if not len(own):
                continue
            value, counted = float(own["share"].iloc[0]), own["count"].iloc[0]
            ax.add_patch(_square(across, down, value))
            color = "white" if value > 0.55 else INK
            ax.text(across, down - 0.1, share(value), ha="center", va="center", fontsize=9, weight="bold", color=color)
            detail = f"{counted:.0f} of {own['n'].iloc[0]:.0f}"
            ax.text(across, down + 0.22, detail, ha="center", va="center", fontsize=7, color=color)
    labels = [_broken(shortened(model_label(model), LABEL, 74)) for model in models]
    widest = max(width_of(line, LABEL) for label in labels for line in label.split("\n"))
    turned = widest * len(models) > 120
    ax.set_xticks(range(len(models)), labels, rotation=30 if turned else 0, ha="right" if turned else "center")
    ax.set_yticks(range(len(models)), labels)
    ax.set_xlim(-0.5, len(models) - 0.5)
    ax.set_ylim(len(models) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xlabel("chosen")
    ax.set_ylabel("simulated from")
    return ax


def _broken(label: str) -> str:
    """Return a name in lines: after a dash or a comma, a new one begins."""
    return label.replace("–", "–\n").replace(", ", ",\n")


def _square(x: float, y: float, value: float) -> Rectangle:
    return Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, facecolor=SHARES(min(1.0, value)), edgecolor="none")


def draw_information(ax: Axes, ratios: pd.DataFrame, parameters: Sequence[str], model: str) -> Axes:
    """Draw how wide each person's posterior is against the prior: at 100% the choices have told nothing.

    Parameters
    ----------
    ax
        Where to draw.
    ratios
        ``parameter`` and ``ratio``, a row for each person and parameter.
    parameters
        From left to right.
    model
        For its colour.
    """
    color = model_color(model)
    labels = [parameter_label(name) for name in parameters]
    for place, parameter in enumerate(parameters):
        values = ratios.loc[ratios["parameter"] == parameter, "ratio"].dropna().to_numpy(dtype=np.float64)
        if not len(values):
            continue
        size = float(np.clip(24 / np.sqrt(max(1, len(values) / 10)), 4, 22))
        ax.scatter(place + jitter(values, 0.3), values, s=size, color=color, alpha=0.4, linewidth=0)
        middle = float(np.median(values))
        ax.hlines(middle, place - 0.32, place + 0.32, color=INK, linewidth=1.6, zorder=3)
        labels[place] += f"\n{share(middle)}"  # below the points, where it lies over none of them
    reference(ax, 1.0, linestyle=(0, (4, 3)), color="#777777")
    ax.set_xticks(range(len(parameters)), labels, parse_math=False)
    ax.set_xlim(-0.6, len(parameters) - 0.4)
    ax.set_ylim(0, max(1.1, float(ratios["ratio"].max()) * 1.05 if len(ratios) else 1.1))
    ax.tick_params(axis="x", length=0)
    return percent_axis(ax)


def draw_power(ax: Axes, table: pd.DataFrame) -> Axes:
    """Draw how often a study finds that a model is the more frequent one, by its size and the true share."""
    ends = []
    shares = sorted(table["frequency"].unique())
    for place, frequency in enumerate(shares):
        own = table[table["frequency"] == frequency].sort_values("group_size")
        color = to_hex(SHARES(0.35 + 0.65 * (place + 1) / len(shares)))
        ax.plot(own["group_size"], own["power"], color=color, marker="o", markersize=3.5)
        # Curves that end alike are named in the order of the shares.
        ends.append(
            (float(own["group_size"].iloc[-1]), round(float(own["power"].iloc[-1]), 2), share(frequency), color)
        )
    ax.set_ylim(0, 1.03)
    ax.set_xlim(left=0)
    ax.set_xlabel("people")
    reference(ax, 0.8, linestyle=(0, (4, 3)))
    percent_axis(ax)
    return end_labels(ax, ends)


def correlation_note(rows: pd.DataFrame, estimator: str) -> str:
    """Return what is written into a panel of recovery: correlation and coverage, from ``recovery.csv``."""
    own = rows[rows["estimator"] == estimator].set_index("measure")["value"]
    told = []
    if "correlation" in own.index:
        told.append(f"r = {fixed(own['correlation'])}")
    if "coverage" in own.index:
        told.append(f"{share(own['coverage'])} covered")
    return "\n".join(told)
