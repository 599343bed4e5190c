"""The figures of the parameter sweeps, in the paper's layout: maps over (alpha, Omega), and advantages along each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.ticker import MaxNLocator

from holmes_fit.reporting.style import HOLMES, INK, RULE
from paper.figures.parts import LEVELS, MODEL_COLORS, regression, titled
from paper.studies import PAIR
from paper.summaries import highest_levels, sweep_means, top_level, unit_means

AXIS = {"alpha": "α", "omega": "Ω"}


def maps(figure: FigureBase, compositional: pd.DataFrame) -> FigureBase:
    """Draw accuracy and transfer advantage over the plane, transfer by levels, and its price in accuracy."""
    grid = figure.add_gridspec(3, 4)
    means = sweep_means(highest_levels(compositional))
    for column, (metric, title) in enumerate([("accuracy", "Accuracy"), ("recall", "Recall")]):
        for row, suffix in enumerate(("holmes", "difference")):
            ax = figure.add_subplot(grid[0, 2 * column + row])
            name = f"{title}, HOLMES" if suffix == "holmes" else f"{title}, HOLMES − flat"
            plane(ax, means, means[f"{metric}_{suffix}"].to_numpy(), diverging=suffix == "difference")
            titled(ax, "A" if column == row == 0 else "", name)
    for column, n_levels in enumerate(LEVELS):
        top = top_level(compositional, n_levels)
        recall, accuracy = unit_means(top, "recall", "point"), unit_means(top, "accuracy", "point")
        ax = figure.add_subplot(grid[1, column])
        plane(ax, means, recall["holmes"].to_numpy(), limits=(0.2, 1.0))
        titled(ax, "B" if column == 0 else "", f"HOLMES recall, {n_levels} levels")
        ax = figure.add_subplot(grid[2, column])
        for model in PAIR:
            regression(ax, accuracy[model].to_numpy(), recall[model].to_numpy(), MODEL_COLORS[model])
        ax.set_xlabel("accuracy")
        ax.set_ylabel("recall" if column == 0 else "")
        titled(ax, "C" if column == 0 else "", f"{n_levels} levels")
    return figure


def plane(
    ax: Axes, points: pd.DataFrame, values: np.ndarray, diverging: bool = False, limits: tuple[float, ...] | None = None
) -> Axes:
    """Draw values over (alpha, Omega), one dot a pair, with a star at the highest."""
    if diverging:
        reach = float(np.nanmax(np.abs(values)))
        limits = (-reach, reach)
    low, high = limits or (float(np.nanmin(values)), float(np.nanmax(values)))
    alpha, omega, cmap = points["alpha"], points["omega"], "PuOr_r" if diverging else "viridis"
    dots = ax.scatter(alpha, omega, 16, values, cmap=cmap, vmin=low, vmax=high, linewidth=0.2, edgecolor=INK)
    best = int(np.nanargmax(values))
    ax.plot(alpha.iloc[best], omega.iloc[best], "*", color="white", markeredgecolor=INK, markersize=11)
    bar = ax.figure.colorbar(dots, ax=ax, orientation="horizontal", aspect=18, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    bar.locator = MaxNLocator(3)
    bar.update_ticks()
    ax.set_xlabel("α", labelpad=0)
    ax.set_ylabel("Ω", labelpad=0)
    ax.set_xticks([1, 2, 3])
    ax.set_yticks([1, 2, 3])
    return ax


def advantages(figure: FigureBase, compositional: pd.DataFrame, shape_color: pd.DataFrame) -> FigureBase:
    """Draw entropy, recall, shape separation and forward accuracy against alpha and Omega."""
    axes = figure.subplots(4, 2)
    backward = sweep_means(highest_levels(compositional))
    forward = shape_color.groupby("point")[["alpha", "omega"]].first()
    panels = [
        (f"{metric}, HOLMES − flat", backward, backward[f"{metric}_difference"].to_numpy(), sign)
        for metric, sign in (("entropy", -1), ("recall", 1))
    ]
    for metric, name in (("separation", "shape separation"), ("accuracy", "forward accuracy")):
        values = unit_means(shape_color, metric, "point")["difference"].to_numpy()
        panels.append((f"{name}, HOLMES − flat", forward, values, 1))
    letters = iter("ABCDEFGH")
    for row, (name, points, values, sign) in enumerate(panels):
        for column, (parameter, symbol) in enumerate(AXIS.items()):
            ax = axes[row, column]
            regression(ax, points[parameter].to_numpy(), values, HOLMES)
            ax.axhline(0, color=RULE, linewidth=0.8)
            ax.set_xlabel(symbol, labelpad=1)
            favoured = np.mean(sign * values > 0)
            title = name if column == 0 else f"{favoured:.1%} of pairs favour HOLMES"
            titled(ax, next(letters), title)
    return figure
