"""Panels on what a study of this design can tell: estimates against truths, models told apart, power, calibration.

The report draws them, and so do studies of recovery and of planning in folders of their own.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy.stats import binom

from holmes_fit._support.numbers import share
from holmes_fit._support.uniformity import binned, bins_for, ecdf_band
from holmes_fit.reporting.figures import axes
from holmes_fit.reporting.figures.axes import LABEL, Array, to_scale
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.style import HOLMES, INK, PALE
from holmes_fit.reporting.text import fixed, shortened, width_of

LANE = 0.32  # room above the points for what is written there, in parts of their range
SHARES = LinearSegmentedColormap.from_list("shares", ["#ffffff", HOLMES])
MOST_DETAILED = 3  # models, in whose confusion there is room for counts and intervals
DODGE = 1.03  # between lines that would cover each other's intervals, as a factor of x
# Where recovery_people.csv has the 95% interval of an estimator, and whether it holds the truth.
INTERVALS = {"mean": ("lower", "upper", "covered"), "pooled": ("pooled_lower", "pooled_upper", "pooled_covered")}
MARKERS = {"ml": "v", "map": "s", "mean": "o", "pooled": "D"}
FILLED = ("mean", "pooled")
LINES = ("-", "--", "-.", ":")


# --- parameters


def draw_recovery(ax: Axes, rows: pd.DataFrame, estimator: str, color: str, note: str = "") -> Axes:
    """Draw estimates of simulated people against the truth, with 95% intervals; open points' intervals miss it."""
    scale, is_covered = str(rows["scale"].iloc[0]), np.ones(len(rows), dtype=np.bool_)
    truth, estimate = (rows[f"{name}_on_scale"].to_numpy(dtype=np.float64) for name in ("truth", estimator))
    lower = upper = estimate
    if estimator in INTERVALS:
        low, high, covered = INTERVALS[estimator]
        lower, upper, is_covered = to_scale(rows[low], scale), to_scale(rows[high], scale), rows[covered].to_numpy(bool)
    across, (low_end, high_end) = _limits(truth), _limits(np.concatenate([truth, lower, upper]))
    ax.plot(across, across, color="#9a9a9a", linewidth=0.8, zorder=1)
    for shown, alpha, line in ((is_covered, 0.3, "-"), (~is_covered, 0.8, ":")):
        ends = truth[shown], lower[shown], upper[shown]
        ax.vlines(*ends, color=color, alpha=alpha, linestyle=line, linewidth=0.7, zorder=2)
    size = 2.8 if len(rows) <= 60 else 1.9
    points: dict[str, Any] = {"marker": "o", "color": color, "linestyle": "", "zorder": 3}
    ax.plot(truth[is_covered], estimate[is_covered], markersize=size, markeredgewidth=0, **points)
    ax.plot(truth[~is_covered], estimate[~is_covered], markersize=size + 0.3, markerfacecolor="white", **points)
    ax.set_xlim(*across)
    ax.set_ylim(low_end, high_end + (LANE * (high_end - low_end) if note else 0))
    axes.natural_ticks(ax, scale, "x", most=3)
    axes.natural_ticks(ax, scale, "y", most=3)
    ax.tick_params(labelsize=7)
    ax.text(0.03, 1.0, note, transform=ax.transAxes, va="top", fontsize=7, color=INK)
    return ax


def _limits(values: Array) -> tuple[float, float]:
    inside = values[np.isfinite(values)]
    low, high = (float(inside.min()), float(inside.max())) if len(inside) else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def correlation_note(rows: pd.DataFrame, estimator: str) -> str:
    """Return what is written into a panel of recovery: correlation and coverage, from ``recovery.csv``."""
    own = rows[rows["estimator"] == estimator].set_index("measure")["value"]
    told = [f"r = {fixed(own['correlation'])}"] if "correlation" in own.index else []
    return "\n".join([*told, *([f"{share(own['coverage'])} covered"] if "coverage" in own.index else [])])


def draw_measure(ax: Axes, recovery: pd.DataFrame, measure: str, model: str, words: Words) -> Axes:
    """Draw one measure of ``recovery.csv`` for all parameters of a model by estimator, with 95% intervals."""
    rows = recovery[(recovery["model"] == model) & (recovery["measure"] == measure)]
    parameters = list(dict.fromkeys(rows["parameter"]))
    estimators = [name for name in MARKERS if name in set(rows["estimator"])]
    color = words.color(model)
    for place, estimator in enumerate(estimators):
        own = rows[rows["estimator"] == estimator].set_index("parameter").reindex(parameters)
        x = np.arange(len(parameters)) + 0.16 * (place - (len(estimators) - 1) / 2)
        filled = color if estimator in FILLED else "white"
        style: dict[str, Any] = {"markerfacecolor": filled, "markersize": 4, "linewidth": 0.9, "label": estimator}
        ax.errorbar(x, *_bars(own, "value"), fmt=MARKERS[estimator], color=color, **style)
    ax.set_xticks(range(len(parameters)), [words.parameter(name) for name in parameters], parse_math=False)
    ax.set_xlim(-0.6, max(len(parameters), 1) - 0.4)
    return ax


def _bars(rows: pd.DataFrame, value: str, lower: str = "lower", upper: str = "upper") -> tuple[Array, Array]:
    """Return values, and how far their intervals reach down and up from them."""
    values, ends = rows[value].to_numpy(dtype=np.float64), rows[[lower, upper]].to_numpy(dtype=np.float64).T
    return values, np.abs(ends - values)


def draw_coverage(ax: Axes, recovery: pd.DataFrame, model: str, words: Words) -> Axes:
    """Draw how many 95% intervals hold the truth; the band is what chance allows 99% of the time."""
    rows = recovery[(recovery["model"] == model) & (recovery["measure"] == "coverage")]
    if len(rows):
        n = int(rows["n"].max())
        ax.axhspan(*(float(end) / n for end in binom.interval(0.99, n, 0.95)), color=PALE, zorder=0)
    ax.axhline(0.95, color=INK, linewidth=0.7)
    draw_measure(ax, recovery, "coverage", model, words)
    ax.set_ylim(min([0.75, *(rows["lower"].dropna() - 0.03)]), 1.01)
    return ax


def draw_information(ax: Axes, ratios: pd.DataFrame, parameters: Sequence[str], model: str, words: Words) -> Axes:
    """Draw how wide each person's posterior is against the prior: at 100% the choices have told nothing."""
    color = words.color(model)
    labels = [words.parameter(name) for name in parameters]
    for place, parameter in enumerate(parameters):
        values = ratios.loc[ratios["parameter"] == parameter, "ratio"].dropna().to_numpy(dtype=np.float64)
        if not len(values):
            continue
        size = float(np.clip(24 / np.sqrt(max(1, len(values) / 10)), 4, 22))
        ax.scatter(place + axes.jitter(values, 0.3), values, s=size, color=color, alpha=0.4, linewidth=0)
        middle = float(np.median(values))
        ax.hlines(middle, place - 0.32, place + 0.32, color=INK, linewidth=1.6, zorder=3)
        labels[place] += f"\n{share(middle)}"  # below the points, where it lies over none of them
    axes.reference(ax, 1.0, linestyle=(0, (4, 3)), color="#777777")
    ax.set_xticks(range(len(parameters)), labels, parse_math=False)
    ax.set_xlim(-0.6, len(parameters) - 0.4)
    ax.set_ylim(0, max(1.1, float(ratios["ratio"].max()) * 1.05 if len(ratios) else 1.1))
    ax.tick_params(axis="x", length=0)
    return axes.percent_axis(ax)


def draw_interval_shares(ax: Axes, plan: pd.DataFrame, color: str, words: Words) -> Axes:
    """Draw what is left of the prior's 95% interval after one person's trials, by their number."""
    rows, lines = plan.drop_duplicates(["trials", "parameter"]), []
    for place, parameter in enumerate(dict.fromkeys(rows["parameter"])):
        own = rows[rows["parameter"] == parameter].sort_values("trials")
        y, bars = _bars(own, "interval_share", "interval_share_lower", "interval_share_upper")
        style = {"linestyle": LINES[place % len(LINES)], "marker": "os^D"[place % 4]}
        x = own["trials"].to_numpy(dtype=np.float64)
        lines.append(Line(x, y, bars, float(y[-1]), words.parameter(parameter), color, style))
    axes.reference(ax, 1.0)
    ax.set_ylim(0, max(1.08, float(rows["interval_share_upper"].max()) + 0.04))
    return _draw_lines(ax, lines, sorted(rows["trials"].unique()), "trials")


class Line(NamedTuple):
    """A line over sizes of a study, with the intervals of its points, and its name at its end."""

    x: Array
    y: Array
    bars: Array
    end: float  # where its name is
    label: str
    color: str
    style: Mapping[str, Any]


def _draw_lines(ax: Axes, lines: Sequence[Line], sizes: Sequence[float], what: str) -> Axes:
    """Draw shares over sizes that are shown exactly, doublings being equally far apart."""
    for line in lines:
        style = {"markersize": 3.5, "linewidth": 1.1, "elinewidth": 0.6, "capsize": 0, **line.style}
        ax.errorbar(line.x, line.y, line.bars, color=line.color, **style)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(list(sizes)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:g}"))
    ax.set_xlim(min(sizes) / 1.2, max(sizes) * 1.2)
    ax.set_xlabel(what)
    axes.percent_axis(ax)
    return axes.end_labels(ax, [(1.1 * sizes[-1], line.end, line.label, line.color) for line in lines])


# --- models


def draw_confusion(ax: Axes, rows: pd.DataFrame, models: Sequence[str], words: Words, column: str = "share") -> Axes:
    """Draw which model is chosen for people who were simulated from each."""
    cells = {(row["truth"], row["chosen"]): row for row in rows.to_dict("records")}
    for (down, truth), (across, chosen) in product(enumerate(models), repeat=2):
        if row := cells.get((truth, chosen)):
            _cell(ax, across, down, float(row[column]), _details(row, column) if len(models) <= MOST_DETAILED else "")
    # After a dash or a comma, a new line begins.
    names = [shortened(words.label(model), LABEL, 74) for model in models]
    labels = [name.replace("–", "–\n").replace(", ", ",\n") for name in names]
    widest = max(width_of(line, LABEL) for label in labels for line in label.split("\n"))
    turned = widest * len(models) > 120
    how: dict[str, Any] = {"rotation": 30, "ha": "right"} if turned else {}
    ax.set_xticks(range(len(models)), names if turned else labels, **how)
    ax.set_yticks(range(len(models)), labels)
    ax.set_xlim(-0.5, len(models) - 0.5)
    ax.set_ylim(len(models) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_xlabel("chosen")
    ax.set_ylabel("simulated from")
    return ax


def _cell(ax: Axes, x: float, y: float, value: float, details: str) -> None:
    """Draw one cell: its value, and details below it."""
    place = (x - 0.48, y - 0.48)
    if np.isnan(value):  # a model that is never chosen has no truths behind it
        ax.add_patch(Rectangle(place, 0.96, 0.96, facecolor=PALE, edgecolor="none"))
        return
    ax.add_patch(Rectangle(place, 0.96, 0.96, facecolor=SHARES(min(1.0, value)), edgecolor="none"))
    style: dict[str, Any] = {"ha": "center", "color": "white" if value > 0.55 else INK}
    up, edge = (0.13, "bottom") if details else (0.0, "center")
    ax.text(x, y - up, share(value), va=edge, fontsize=9, weight="bold", **style)
    ax.text(x, y - 0.09, details, va="top", fontsize=7, **style)


def _details(row: Mapping[Hashable, Any], column: str) -> str:
    if column == "inversion":
        return f"{100 * row['inversion_lower']:.0f}–{100 * row['inversion_upper']:.0f}%"
    return f"{row['count']:.0f} of {row['n']:.0f}\n{100 * row['lower']:.0f}–{100 * row['upper']:.0f}%"


def draw_power(ax: Axes, table: pd.DataFrame, by: str, name: Callable[[float], str], color: str = HOLMES) -> Axes:
    """Draw how often a study finds that a model is the more frequent one, by its size, with 95% intervals."""
    values, lines = sorted(table[by].unique()), []
    for place, value in enumerate(values):
        own = table[table[by] == value].sort_values("group_size")
        shade = to_hex(axes.mixed(color, 0.25 + 0.75 * (place + 1) / len(values)))
        x = own["group_size"].to_numpy(dtype=np.float64) * DODGE ** (place - (len(values) - 1) / 2)
        y, bars = _bars(own, "power")
        end = round(float(y[-1]), 2)  # lines that end alike are named in their order
        lines.append(Line(x, y, bars, end, name(value), shade, {"marker": "o"}))
    ax.set_ylim(0, 1.03)
    axes.reference(ax, 0.8, linestyle=(0, (4, 3)))
    return _draw_lines(ax, lines, sorted(table["group_size"].unique()), "people")


# --- calibration


def draw_ranks(ax: Axes, ranks: pd.DataFrame, color: str = INK) -> Axes:
    """Draw the ranks of truths among posterior draws in bins, with what chance allows 99% of the time in each."""
    values, n_draws = ranks["rank"].to_numpy(dtype=np.int64), int(ranks["n_draws"].iloc[0])
    found = binned(values, n_draws, min(bins_for(len(values)), n_draws + 1))
    starts = np.append(0.0, found.ends[:-1])
    low, high = binom.interval(0.99, len(values), found.expected / len(values))
    ax.bar(starts, high - low, found.ends - starts, low, align="edge", color=PALE, zorder=0)
    ax.bar(starts, found.counts, found.ends - starts, align="edge", color=color, alpha=0.75, edgecolor="white")
    ax.set_xlim(0, 1)
    ax.set_xlabel("rank of the truth")
    return ax


def draw_rank_ecdf(ax: Axes, ranks: pd.DataFrame, color: str = INK) -> Axes:
    """Draw how far the ECDF of ranks lies from that of uniform ones, with its simultaneous 95% band."""
    values, n_draws = ranks["rank"].to_numpy(dtype=np.int64), int(ranks["n_draws"].iloc[0])
    band = ecdf_band(len(values), n_draws)
    ax.fill_between(band.points, band.lower - band.points, band.upper - band.points, color=PALE, linewidth=0)
    ax.axhline(0, color=INK, linewidth=0.7)
    at = np.linspace(0, 1, 1001)
    below = np.searchsorted(np.sort((values + 0.5) / (n_draws + 1)), at, side="right") / len(values)
    ax.plot(at, below - at, color=color, linewidth=1.1)
    ax.set_xlim(0, 1)
    ax.set_xlabel("rank of the truth")
    return ax
