"""Figures that set simulated behaviour beside what people did."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from holmes_fit.reporting.figures.axes import percent_axis, reference
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import shortened


def draw_predictive(
    ax: Axes,
    rows: pd.DataFrame,
    color: str,
    limits: tuple[float, float] | None = None,
    labels: bool = True,
) -> Axes:
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
    texts = [shortened(label, 7, 44).replace("-", "–") for label in rows["label"]] if labels else []
    shown = sorted({0, len(rows) - 1, *((len(rows) // 2,) if len(rows) < 5 else ())}) if len(rows) > 4 else [*places]
    ax.set_xticks(shown, [texts[place] for place in shown] if labels else [""] * len(shown), fontsize=7)
    for tick, place in zip(ax.get_xticklabels(), shown, strict=True):
        tick.set_parse_math(False)
        tick.set_horizontalalignment("left" if place == 0 else "right" if place == len(rows) - 1 else "center")
    ax.tick_params(axis="y", labelsize=7)
    ax.set_xlim(-0.4, max(len(rows) - 0.6, 0.4))
    return ax
