"""Figures of what people answered and what models expected: a dot for each stimulus, or one after the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from holmes_fit.reporting.figures.axes import NAME, percent_axis, reference
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.stimuli import root_mean_square
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import fixed, short_names, width_of

MOST_INTERVALS = 40  # of dots with intervals of their own
NAME_LENGTH = 70.0  # points, of a name that stands upright
SIDEWAYS = 0.5  # of the room of a stimulus, for the marks of all models
PAGE = 440.0  # points of axes as wide as the page


def draw_against(ax: Axes, found: pd.DataFrame, color: str) -> Axes:
    """Draw what people did (up) against what a model expected (across); rings are what nobody had been taught."""
    ends = np.array([0.0, 1.0])
    ax.plot(ends, ends, color="#bdbdbd", linewidth=0.8, zorder=0.5)
    if len(found) <= MOST_INTERVALS:
        ax.vlines(found["expected"], found["lower"], found["upper"], color=color, linewidth=0.8, alpha=0.5)
    is_new = found.get("new", pd.Series(False, index=found.index)).to_numpy(dtype=bool)
    for kind, face in ((~is_new, color), (is_new, "white")):
        style: dict[str, Any] = {"markersize": 4 if len(found) <= MOST_INTERVALS else 2.6, "markeredgewidth": 0.8}
        own = found[kind]
        ax.plot(own["expected"], own["observed"], "o", color=face, markeredgecolor=color, **style)
    note = f"RMS {fixed(100 * root_mean_square(found), 1)}"  # in the corner where dots are rarest
    ax.text(0.98, 0.03, note, transform=ax.transAxes, ha="right", fontsize=NAME, color="#6b6b6b")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    labels = ["0", "50", "100%"]
    ax.set_xticks([0, 0.5, 1], labels, fontsize=NAME)
    ax.set_yticks([0, 0.5, 1], labels, fontsize=NAME)
    ax.get_xticklabels()[-1].set_horizontalalignment("right")
    return ax


def draw_side_by_side(
    ax: Axes, found: pd.DataFrame, column: str, models: Sequence[str], words: Words, joined: bool = False
) -> Axes:
    """Draw what people did as dark points with intervals, and beside each a mark for what each model expected."""
    names = list(dict.fromkeys(found[column]))
    places = {name: place for place, name in enumerate(names)}
    people = found.drop_duplicates(column)
    at = people[column].map(places).to_numpy(dtype=np.float64)
    ax.vlines(at, people["lower"], people["upper"], color=INK, linewidth=1.0)
    dark: dict[str, Any] = {"color": INK, "markersize": 4, "linewidth": 0.8, "zorder": 3}
    ax.plot(at, people["observed"], "o-" if joined else "o", label="people", **dark)
    step = 0.0 if joined else SIDEWAYS / max(1, len(models))
    for number, model in enumerate(models, start=1):
        own = found[found["model"] == model]
        x = own[column].map(places).to_numpy(dtype=np.float64) + step * number
        style: dict[str, Any] = {"color": words.color(model), "label": words.label(model)}
        ax.plot(x, own["expected"], "-" if joined else "_", markersize=7, markeredgewidth=2, linewidth=1.6, **style)
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=len(models) + 1, borderaxespad=0.1, handlelength=1.2)
    _name(ax, names)
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, -0.02), min(high, 1.02))
    reference(ax, 0.5, linestyle=(0, (4, 3)))
    return percent_axis(ax)


def _name(ax: Axes, names: Sequence[str]) -> None:
    """Name what stands side by side, upright where names are too long for their room."""
    short = short_names(map(str, names), NAME, NAME_LENGTH)
    labels = [short[str(name)] for name in names]
    upright = max(width_of(label, NAME) for label in labels) + 4 > PAGE / len(labels)
    ax.set_xticks(range(len(names)), labels, rotation=90 if upright else 0, fontsize=NAME, parse_math=False)
    ax.tick_params(axis="x", length=0, pad=2)
    ax.set_xlim(-0.5, len(names) - 0.5 + SIDEWAYS)
