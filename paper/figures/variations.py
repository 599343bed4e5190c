"""The figures of the ablations and of the parameter sweeps, in the paper's layout."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from holmes_fit.reporting.style import HOLMES, INK, RULE
from paper.compare import StudyResult
from paper.figures import parts
from paper.figures.parts import LEVELS, Panel, Rows
from paper.studies import LONG, VARIANTS
from paper.summaries import LENGTH, highest_levels, sweep_means, top_level, unit_means

AXIS = {"alpha": "α", "omega": "Ω"}


def ablation(found: StudyResult) -> Rows:
    """Draw recall by levels, and first-exposure accuracy, for the six variants."""

    def backward(ax: Axes) -> None:
        parts.lines_by_level(ax, found, "recall", VARIANTS)
        ax.legend(loc="upper right", bbox_to_anchor=(1.03, 1.04), labelspacing=0.25)

    forward = partial(parts.bars, found=found, models=VARIANTS, line=0.5, task=LENGTH[LONG], metric="accuracy")
    look = {"ylabel": "accuracy, first exposure", "ylim": (0, 1.05)}
    first = Panel("A", "Backward transfer", backward, share=1.25, look={"ylabel": "recall", "ylim": (0.15, 1.0)})
    return [[first, Panel("B", "Forward transfer, 160 training trials", forward, look=look)]]


def maps(found: StudyResult) -> Rows:
    """Draw accuracy and transfer advantage over the plane, transfer by levels, and its price in accuracy."""
    compositional = found.data.runs["compositional"]
    means = sweep_means(highest_levels(compositional))
    over = partial(plane, points=means)
    averages = []
    for metric in ("accuracy", "recall"):
        own, ahead = means[f"{metric}_holmes"], means[f"{metric}_difference"]
        averages.append(Panel("", f"{metric.capitalize()}, HOLMES", partial(over, values=own)))
        title = f"{metric.capitalize()}, HOLMES − flat"
        averages.append(Panel("", title, partial(over, values=ahead, diverging=True)))
    by_level: list[Panel] = []
    price: list[Panel] = []
    for n_levels in LEVELS:
        top = top_level(compositional, n_levels)
        recall, accuracy = unit_means(top, "recall", "point"), unit_means(top, "accuracy", "point")
        holmes = partial(over, values=recall["holmes"], limits=(0.2, 1.0))
        by_level.append(Panel("", f"HOLMES recall, {n_levels} levels", holmes))
        look = {"xlabel": "accuracy", "ylabel": "" if price else "recall"}
        price.append(Panel("", f"{n_levels} levels", partial(parts.scatter_of_pair, x=accuracy, y=recall), look=look))
    rows = [averages, by_level, price]
    return [[replace(row[0], letter=letter), *row[1:]] for letter, row in zip("ABC", rows, strict=True)]


def plane(
    ax: Axes,
    points: pd.DataFrame,
    values: pd.Series[float],
    diverging: bool = False,
    limits: tuple[float, ...] | None = None,
) -> Axes:
    """Draw values over (alpha, Omega), one dot a pair, with a star at the highest."""
    if diverging:
        reach = float(values.abs().max())
        limits = (-reach, reach)
    low, high = limits or (float(values.min()), float(values.max()))
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
    ax.set(xticks=[1, 2, 3], yticks=[1, 2, 3])
    return ax


def advantages(found: StudyResult) -> Rows:
    """Draw entropy, recall, shape separation and forward accuracy against alpha and Omega."""
    shape_color = found.data.runs["shape_color_sweep"]
    backward = sweep_means(highest_levels(found.data.runs["compositional"]))
    forward = shape_color.groupby("point")[["alpha", "omega"]].first()
    shown = [
        (metric, backward, backward[f"{metric}_difference"], sign) for metric, sign in (("entropy", -1), ("recall", 1))
    ]
    for metric, name in (("separation", "shape separation"), ("accuracy", "forward accuracy")):
        shown.append((name, forward, unit_means(shape_color, metric, "point")["difference"], 1))
    letters = iter("ABCDEFGH")
    rows: Rows = []
    for name, points, values, sign in shown:
        titles = f"{name}, HOLMES − flat", f"{np.mean(sign * values > 0):.1%} of pairs favour HOLMES"
        along = [partial(_along, points=points, values=values, parameter=parameter) for parameter in AXIS]
        rows.append([Panel(next(letters), title, draw) for title, draw in zip(titles, along, strict=True)])
    return rows


def _along(ax: Axes, points: pd.DataFrame, values: pd.Series[float], parameter: str) -> None:
    parts.regression(ax, points[parameter].to_numpy(), np.asarray(values, dtype=np.float64), HOLMES)
    ax.axhline(0, color=RULE, linewidth=0.8)
    ax.set_xlabel(AXIS[parameter], labelpad=1)
