"""Panels about planning a study, drawn from its tables. Every function takes and returns the axes it draws on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from holmes_fit.reporting.style import INK, RULE

MARKERS = "os^Dv<>P"
LINES = ("-", "--", "-.", ":")


def interval_lines(ax: Axes, plan: pd.DataFrame, color: str = INK) -> Axes:
    """Draw what is left of the prior's 95% interval after one person's trials, by their number.

    Parameters
    ----------
    ax
        The axes.
    plan
        Rows of ``plan.csv``, of one model.
    color
        That of the model.
    """
    rows = plan.drop_duplicates(["trials", "parameter"])
    parameters = list(dict.fromkeys(rows["parameter"]))
    for number, parameter in enumerate(parameters):
        own = rows[rows["parameter"] == parameter].sort_values("trials")
        value = own["interval_share"].to_numpy(dtype=np.float64)
        ends = np.abs(np.stack([own["interval_share_lower"], own["interval_share_upper"]]) - value)
        ax.errorbar(
            own["trials"],
            value,
            ends,
            color=color,
            marker=MARKERS[number % len(MARKERS)],
            markerfacecolor=color if number % 2 == 0 else "white",
            linestyle=LINES[number % len(LINES)],
            markersize=4,
            linewidth=1.1,
            elinewidth=0.8,
            label=parameter,
        )
    ax.axhline(1.0, color=RULE, linewidth=0.7, zorder=0)
    ax.set_ylim(0, max(1.08, float(rows["interval_share_upper"].max()) + 0.04))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _doubling(ax, sorted(rows["trials"].unique()))
    ax.set_xlabel("trials")
    ax.set_ylabel("share of the prior's interval")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def power_by_size(ax: Axes, power: pd.DataFrame, color: str = INK) -> Axes:
    """Draw how often the right model is found, by the size of the group, a line for each number of trials.

    Parameters
    ----------
    ax
        The axes.
    power
        Rows of ``plan_power.csv``, of one model against one other, at one frequency.
    color
        That of the model.
    """
    lengths = sorted(power["trials"].unique())
    for number, trials in enumerate(lengths):
        own = power[power["trials"] == trials].sort_values("group_size")
        shade = 0.35 + 0.65 * (number + 1) / len(lengths)
        # Bands of several lengths would hide each other, so that intervals are bars, a little beside each other.
        x = own["group_size"].to_numpy(dtype=np.float64) * 1.03 ** (number - (len(lengths) - 1) / 2)
        value = own["power"].to_numpy(dtype=np.float64)
        ends = np.abs(np.stack([own["lower"], own["upper"]]) - value)
        ax.errorbar(
            x,
            value,
            ends,
            color=color,
            alpha=shade,
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            linewidth=1.1,
            elinewidth=0.8,
            label=f"{trials} trials",
        )
    ax.axhline(0.8, color=RULE, linewidth=0.7, zorder=0)
    ax.set_ylim(-0.03, 1.04)
    _doubling(ax, sorted(power["group_size"].unique()))
    ax.set_xlabel("people")
    ax.set_ylabel("power")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _doubling(ax: Axes, values: Sequence[float]) -> None:
    """Let an axis show exactly these values, doublings being equally far apart."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(list(values)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:g}"))
    ax.set_xlim(min(values) / 1.25, max(values) * 1.25)
