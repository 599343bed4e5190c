"""What several figures share: axes on the scale of a parameter, labels that keep out of each other's way, names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.ticker import AutoLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from holmes_fit.reporting.style import RULE
from holmes_fit.reporting.text import number, printable, short_names, width_of

LABEL = 7.5
NAME = 7.0  # the smallest letters there are
NAME_LENGTH = 62.0  # points
NICE = tuple(step * 10.0**power for power in range(-6, 7) for step in (1, 2, 5))
FINER = tuple(step * 10.0**power for power in range(-6, 7) for step in (1, 1.5, 2, 3, 4, 5, 6, 8))
FEWEST_TICKS = 2
ROUND = [1, 2, 5, 10]  # steps between ticks
NICE_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998)

Array = NDArray[np.float64]


def to_scale(values: ArrayLike, scale: str) -> Array:
    """Map natural values onto the scale of a parameter: log, logit, or as they are."""
    given = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return np.log(given)
        return np.log(given) - np.log1p(-given) if scale == "logit" else given


def from_scale(values: ArrayLike, scale: str) -> Array:
    """Map values on the scale of a parameter back onto natural ones."""
    given = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.exp(given)
    return 1 / (1 + np.exp(-given)) if scale == "logit" else given


def natural_ticks(ax: Axes, scale: str, axis: str = "y", most: int = 6) -> Axes:
    """Label an axis that is drawn on the scale of a parameter with natural values."""
    if scale not in ("log", "logit"):
        return ax
    low, high = ax.get_ylim() if axis == "y" else ax.get_xlim()
    straight = MaxNLocator(most - 1, steps=ROUND).tick_values(*from_scale((low, high), scale))  # for a short stretch
    inside: list[float] = []
    for candidates in (NICE if scale == "log" else NICE_SHARES, FINER, straight):
        inside = [float(value) for value in candidates if low <= to_scale(value, scale) <= high]
        if len(inside) >= FEWEST_TICKS:
            break
    if scale == "log" and len(inside) > most:
        decades = [value for value in inside if np.isclose(np.log10(value) % 1, (0, 1)).any()]
        inside = decades if len(decades) >= 3 else inside
    kept = inside[:: max(1, -(-len(inside) // most))]
    which = ax.yaxis if axis == "y" else ax.xaxis
    which.set_ticks([float(to_scale(value, scale)) for value in kept], [_plain(value) for value in kept])
    which.set_minor_locator(NullLocator())
    return ax


def _plain(value: float) -> str:
    return f"{value:.10f}".rstrip("0").rstrip(".") if value < 1e6 else number(value)


def percent_axis(ax: Axes, axis: str = "y") -> Axes:
    """Label an axis of shares in percent."""
    which = ax.yaxis if axis == "y" else ax.xaxis
    if isinstance(which.get_major_locator(), AutoLocator):
        which.set_major_locator(MaxNLocator(7, steps=ROUND))
    which.set_major_formatter(FuncFormatter(lambda value, _: f"{round(100 * value, 1):g}%".replace("-", "−")))
    return ax


def people_axis(ax: Axes, names: Sequence[str], width: float) -> Axes:
    """Name the people along the x axis, where their names fit; count them where they do not."""
    ax.set_xlim(-0.7, len(names) - 0.3)
    labels, is_turned = _labels(names, width)
    if labels:
        ax.set_xticks(range(len(names)), labels, rotation=90 if is_turned else 0, fontsize=NAME, parse_math=False)
        ax.tick_params(axis="x", length=0, pad=2)
        return ax
    step = next(step for step in (10, 20, 50, 100, 200, 500, 1000, 10**9) if len(names) / step <= 12)
    places = [0, *range(step - 1, len(names), step)]
    ax.set_xticks(places, [str(place + 1) for place in places])
    ax.set_xlabel(f"{len(names)} people")
    return ax


def people_axis_height(names: Sequence[str], width: float) -> float:
    """Return how many points of height :func:`people_axis` takes, more than for one line."""
    labels, is_turned = _labels(names, width)
    if not labels:
        return NAME * 2
    return max(width_of(label, NAME) for label in labels) if is_turned else 0.0


def _labels(names: Sequence[str], width: float) -> tuple[list[str], bool]:
    """Return short names, none where they do not fit, and whether they have to be turned."""
    if not names or len(names) * (NAME + 1.3) > width:
        return [], False
    short = short_names(names, NAME, NAME_LENGTH)
    labels = [short[name] for name in names]
    return labels, max(width_of(label, NAME) for label in labels) + 3 > width / len(labels)


def spread_out(values: Sequence[float], least: float, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Return places near the values that are at least ``least`` apart, in the same order, within the bounds."""
    order = np.argsort(values, kind="stable")
    places = np.asarray(values, dtype=np.float64)[order]
    for _ in range(200):
        gaps = np.diff(places)
        tight = np.flatnonzero(gaps < least - 1e-9)
        if not len(tight):
            break
        for at in tight:
            push = (least - (places[at + 1] - places[at])) / 2
            places[at] -= push
            places[at + 1] += push
        places = np.clip(places, low, high)
    found = np.empty(len(places))
    found[order] = places
    return [float(place) for place in found]


def end_labels(ax: Axes, ends: Sequence[tuple[float, float, str, str]], size: float = LABEL) -> Axes:
    """Write labels to the right of lines, each in the colour of its line, where they do not overlap."""
    if not ends:
        return ax
    low, high = ax.get_ylim()
    least = 0.085 * (high - low)
    places = spread_out([y for _, y, _, _ in ends], least, low, high)
    for (x, _, label, color), y in zip(ends, places, strict=True):
        beside(ax, printable(label), x, y, color, fontsize=size, parse_math=False)
    return ax


def mixed(color: str, strength: float) -> tuple[float, float, float]:
    """Return a colour mixed with white; a strength of 1 leaves it as it is."""
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(color))
    return red, green, blue


def named_rows(ax: Axes, labels: Sequence[str], top: float = -0.5, bottom: float = 0.5) -> Axes:
    """Name what is drawn at 0, 1, 2, ... from top to bottom."""
    ax.set_yticks(range(len(labels)), labels, parse_math=False)
    ax.set_ylim(len(labels) - 1 + bottom, top)
    ax.tick_params(axis="y", length=0)
    return ax


def beside(ax: Axes, text: str, x: float, y: float, color: str, **style: Any) -> Axes:
    """Write to the right of the axes, or of a point of them, in the colour of what is told."""
    options = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": LABEL, "color": color}
    ax.annotate(text, (x, y), **{**options, "annotation_clip": False, **style})
    return ax


def reference(ax: Axes, value: float, axis: str = "y", **options: Any) -> Axes:
    """Draw a thin line behind everything, such as at chance."""
    style = {"color": RULE, "linewidth": 0.8, "zorder": 0.5, **options}
    (ax.axhline if axis == "y" else ax.axvline)(value, **style)
    return ax


def jitter(values: Array, width: float = 0.32) -> Array:
    """Return sideways places for points of a strip, such that near ones stand side by side; the same every time."""
    if not len(values):
        return np.zeros(0)
    span = float(np.ptp(values)) or 1.0
    cell = np.round((values - values.min()) / span * 24)
    places = np.zeros(len(values))
    for level in np.unique(cell):
        own = np.flatnonzero(cell == level)
        offsets = np.arange(len(own)) - (len(own) - 1) / 2
        widest = max(abs(offsets).max(), 1.0)
        places[own] = offsets * min(0.09, width / widest)
    return places
