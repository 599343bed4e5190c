"""One person at a glance: answers and predictions over trials, and a map of what they say about alpha and Omega.

A report has hundreds of these, and axes are dear, so that a cell is drawn on one: coordinates are points, and each
figure has a box of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from holmes_fit.reporting.figures.axes import mixed
from holmes_fit.reporting.figures.layout import Key, size_of
from holmes_fit.reporting.style import INK, RULE
from holmes_fit.reporting.text import ELLIPSIS, printable, shortened, width_of, wrapped

Array = NDArray[np.float64]
Cap = Literal["butt", "projecting"]

# In points.
SIZE, NAME_SIZE = 7.0, 7.5  # of the letters; nothing is smaller
HEAD, FOOT, LEFT, RIGHT, BETWEEN = 12.0, 11.0, 8.0, 15.0, 8.0  # room around the two figures of a cell
TICK, PAD = 2.0, 2.0
SMALLEST_DOT, LARGEST_DOT = 1.15, 1.7
CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])  # of a dot, too small for more to be seen

WARNS, SQUARE = "⚠", "■"
SOFT, ALARM, FRAME = "#555555", "#b34700", "#444444"

# Answers like the outcome are short ticks, others long ones, so that they differ without colour as well.
LIKE, UNLIKE, UNKNOWN = "#009e73", INK, "#9a9a9a"
P_HAT = "#b0b0b0"
EDGE, SHORT, LONG = 0.06, 0.10, 0.19  # from a probability of 0 or 1 to the ticks, and how long they are
BEYOND = EDGE + LONG  # 0 and 1
FEW_TRIALS = 40  # up to as many, predictions are joined by lines

# Shades end where 1, 2, 3 and 4 standard errors would lie if the likelihood were normal.
BELOW = (0.5, 2.0, 4.5, 8.0)  # nats below the highest
STRENGTHS = (0.75, 0.5, 0.28, 0.12)
TICKS = (0.01, 0.1, 1.0, 10.0)


class Box(NamedTuple):
    """A part of axes whose coordinates are points: its lower left corner, and its size."""

    x: float
    y: float
    width: float
    height: float

    def across(self, values: Any, low: float, high: float) -> Array:
        """Return where values stand from left to right, if the box reaches from low to high."""
        return self.x + self.width * (np.asarray(values, dtype=np.float64) - low) / (high - low)

    def up(self, values: Any, low: float, high: float) -> Array:
        """Return where values stand from bottom to top, if the box reaches from low to high."""
        return self.y + self.height * (np.asarray(values, dtype=np.float64) - low) / (high - low)


@dataclass(frozen=True)
class Surface:
    """What one person's choices say about alpha and Omega."""

    alpha: Array  # positions of the nodes, as logarithms
    omega: Array
    log_likelihood: Array  # at each pair of them (rows are alpha), averaged over the prior of the other parameters
    median: tuple[float, float]  # of alpha and Omega
    best: tuple[float, float]  # the MAP


@dataclass(frozen=True)
class Person:
    """What the cell of one person shows."""

    name: str
    model: str = ""
    color: str = INK
    trials: pd.DataFrame | None = None  # none, if there is no fit
    surface: Surface | None = None  # none, if the model has no alpha and Omega to be found
    warning: str = ""  # what a reader must know, in a few words
    reason: str = ""  # why there is no fit


def draw_person(ax: Axes, person: Person, with_map: bool = True) -> Axes:
    """Draw a cell: name, model and warning above, answers to the left, the map to the right if there is room for one.

    Where only some people have a map, the others have the room for it as well, so that trials have one scale.
    """
    width, height = size_of(ax)
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_autoscale_on(False)
    ax.set_axis_off()
    _head(ax, person, width, height)
    if person.trials is None:
        return _say(ax, person.reason, width, height - HEAD)
    inner = height - HEAD - FOOT
    side = min(inner, 0.26 * width)
    taken = RIGHT + side + BETWEEN if with_map else 0.0
    draw_answers(ax, person.trials, person.color, Box(LEFT, FOOT, width - LEFT - taken, inner))
    if person.surface is not None:
        draw_surface(ax, person.surface, person.color, Box(width - RIGHT - side, FOOT, side, inner))
    return ax


def _head(ax: Axes, person: Person, width: float, height: float) -> None:
    """Write the line above: the name first, then the model, then as much of the warning as there is room for."""
    y, sign = height - NAME_SIZE, width_of(WARNS, SIZE)
    rest = width_of(f"{SQUARE} {person.model}", SIZE) + width_of(f"{WARNS} {person.warning}", SIZE) + 12
    name = shortened(person.name, NAME_SIZE, max(0.4 * width, width - rest), "bold")
    x = width_of(name, NAME_SIZE, "bold") + 5
    model = shortened(f"{SQUARE} {person.model}", SIZE, width - x - sign - 4) if person.model else ""
    warning = _as_fits(person.warning, width - x - width_of(model, SIZE) - 6)
    _text(ax, 0, y, name, NAME_SIZE, weight="bold")
    _text(ax, x, y, model[:1], color=person.color)
    _text(ax, x + width_of(model[:2], SIZE), y, model[2:], color=SOFT)
    _text(ax, width, y, warning, color=ALARM, ha="right")


def _as_fits(warning: str, width: float) -> str:
    """Return a warning with its sign: all of it, without details, its first word, or the sign alone."""
    if not warning:
        return ""
    texts = (warning, re.sub(r":[^;]*", "", warning), warning.split()[0].strip(":;"), "")
    return next(
        text for text in (f"{WARNS} {text}".strip() for text in texts) if width_of(text, SIZE) <= width or text == WARNS
    )


def _say(ax: Axes, text: str, width: float, height: float) -> Axes:
    """Write a text below the head, as much as there is room for."""
    lines = wrapped(printable(text), SIZE, width)
    most = max(1, int(height // (SIZE * 1.3)))
    if len(lines) > most:
        lines = [*lines[: most - 1], shortened(f"{lines[most - 1]} {lines[most]}{ELLIPSIS}", SIZE, width)]
    for place, line in enumerate(lines):
        _text(ax, 0, height - SIZE * (1.3 * place + 1), line, color=SOFT)
    return ax


def _text(ax: Axes, x: float, y: float, text: str, size: float = SIZE, **style: Any) -> None:
    if text:
        ax.text(x, y, text, fontsize=size, parse_math=False, **style)


# --- Answers and predictions


def draw_answers(ax: Axes, trials: pd.DataFrame, color: str, box: Box) -> Axes:
    """Draw answers as ticks above (1) and below (0), and predictions as dots in between."""
    n_trials = len(trials)
    starts = _starts(trials["restart"])
    parted = box.across(starts, 0, n_trials)
    _strokes(ax, parted, box.y, parted, box.y + box.height, RULE, 0.6)
    place = box.across(np.arange(n_trials) + 0.5, 0, n_trials)
    _ticks(ax, place, _numbers(trials, "choice"), _numbers(trials, "outcome"), box)
    for column, ink in (("p_hat", P_HAT), ("p_choice", color)):
        _dots(ax, place, _level(box, _numbers(trials, column)), ink, starts)
    bottom, top = levels = _level(box, np.array([0.0, 1.0]))
    ends = place[[0, -1]]
    _strokes(ax, box.x, bottom, box.x, top, FRAME, 0.6)
    _strokes(ax, box.x - TICK, levels, box.x, levels, FRAME, 0.6)
    _strokes(ax, ends, box.y - TICK, ends, box.y, FRAME, 0.6)
    for y, label in ((bottom, "0"), (top, "1")):
        _text(ax, box.x - TICK - 1.0, y, label, ha="right", va="center_baseline")
    for x, label in {ends[0]: "1", ends[1]: str(n_trials)}.items():
        middle = min(x, box.x + box.width - 0.5 * width_of(label, SIZE))
        _text(ax, middle, box.y - TICK - PAD, label, ha="center", va="top")
    return ax


def _level(box: Box, values: Array) -> Array:
    return box.up(values, -BEYOND, 1 + BEYOND)


def _ticks(ax: Axes, place: Array, choice: Array, outcome: Array, box: Box) -> None:
    """Draw choices beyond their ends; answers on a scale, at the end that they are nearer to."""
    choice = np.where(np.isnan(choice), np.nan, choice > 0.5)
    is_like, is_unknown = choice == outcome, np.isnan(outcome)
    sign = np.where(choice == 1, 1.0, -1.0)
    near = np.where(choice == 1, 1 + EDGE, -EDGE)
    far = near + sign * np.where(is_like | is_unknown, SHORT, LONG)
    width = float(np.clip(0.5 * box.width / max(1, len(place)), 0.35, 1.2))
    for kind, color in ((is_like, LIKE), (~is_like & ~is_unknown, UNLIKE), (is_unknown, UNKNOWN)):
        kept = kind & ~np.isnan(choice)
        _strokes(ax, place[kept], _level(box, near[kept]), place[kept], _level(box, far[kept]), color, width)


def _dots(ax: Axes, place: Array, values: Array, color: str, starts: Sequence[int]) -> None:
    apart = float(np.ptp(place)) / max(1, len(place) - 1)
    radius = 0.5 * float(np.clip(1.6 * apart, SMALLEST_DOT, LARGEST_DOT))
    corners = np.column_stack([place, values])[:, None] + radius * CORNERS
    _add_path(ax, corners.reshape(-1, 2), len(CORNERS), fill=True, facecolor=color, linewidth=0)
    if len(place) <= FEW_TRIALS:
        for x, y in zip(np.split(place, starts), np.split(values, starts), strict=True):
            ax.plot(x, y, color=color, linewidth=0.6)


def _strokes(ax: Axes, x0: Any, y0: Any, x1: Any, y1: Any, color: str, width: float, capstyle: Cap = "butt") -> None:
    """Draw straight lines."""
    ends = np.stack(np.broadcast_arrays(x0, y0, x1, y1), axis=-1).reshape(-1, 2)
    _add_path(ax, ends, 2, fill=False, edgecolor=color, linewidth=width, capstyle=capstyle)


def _add_path(ax: Axes, points: Array, each: int, **style: Any) -> None:
    """Draw many lines or dots of so many points each as one artist, which is far cheaper than an artist each."""
    if len(points):
        path = Path(points, np.tile([Path.MOVETO, *[Path.LINETO] * (each - 1)], len(points) // each))
        path.should_simplify = False  # the smallest would be lost
        ax.add_artist(PathPatch(path, **style))


def _starts(restart: pd.Series[str]) -> list[int]:
    """Return at which trials another learner begins."""
    names = restart.fillna("").to_numpy()
    return [int(start) + 1 for start in np.flatnonzero(names[1:] != names[:-1])]


def _numbers(trials: pd.DataFrame, column: str) -> Array:
    return trials[column].to_numpy(dtype=np.float64, na_value=np.nan)


# --- The map


def draw_surface(ax: Axes, surface: Surface, color: str, box: Box) -> Axes:
    """Draw the likelihood over alpha (across) and Omega (up): the darker, the likelier.

    The posterior median is a ring, the MAP a cross. Coordinates of the axes are points; ``box`` is the part to use.
    """
    alpha, alpha_ends = _with_ends(surface.alpha)
    omega, omega_ends = _with_ends(surface.omega)
    height = np.pad(surface.log_likelihood - surface.log_likelihood.max(), 1, mode="edge")
    shades = [mixed(color, strength) for strength in reversed(STRENGTHS)]
    levels = [*(-nats for nats in reversed(BELOW)), 0.01]
    ax.contourf(box.across(alpha, *alpha_ends), box.up(omega, *omega_ends), height.T, levels=levels, colors=shades)
    right, top = box.x + box.width, box.y + box.height
    x, y = np.array([box.x, right, right, box.x]), np.array([box.y, box.y, top, top])
    _strokes(ax, x, y, np.roll(x, -1), np.roll(y, -1), FRAME, 0.5, capstyle="projecting")
    across = box.across(np.log(_inside(alpha_ends)), *alpha_ends)
    up = box.up(np.log(_inside(omega_ends)), *omega_ends)
    _strokes(ax, across, box.y - TICK, across, box.y, FRAME, 0.5)
    _strokes(ax, right, up, right + TICK, up, FRAME, 0.5)
    for place, tick in zip(across, _inside(alpha_ends), strict=True):
        _text(ax, place, box.y - TICK - PAD, f"{tick:g}", ha="center", va="top")
    for place, tick in zip(up, _inside(omega_ends), strict=True):
        _text(ax, right + TICK + 1, place, f"{tick:g}", va="center_baseline")
    for (a, o), style in ((surface.best, BEST), (surface.median, MEDIAN)):
        ax.plot(box.across(np.log(a), *alpha_ends), box.up(np.log(o), *omega_ends), **style)
    return ax


BEST: dict[str, Any] = {"marker": "x", "color": INK, "markersize": 3.5, "markeredgewidth": 0.9}
MEDIAN: dict[str, Any] = {
    "marker": "o",
    "color": "white",
    "markersize": 4,
    "markeredgecolor": INK,
    "markeredgewidth": 0.9,
}


def _with_ends(positions: Array) -> tuple[Array, tuple[float, float]]:
    """Return positions with the ends of the outermost cells, where the range of the parameter ends."""
    half = 0.5 * float(positions[1] - positions[0]) if len(positions) > 1 else 0.5
    ends = (float(positions[0]) - half, float(positions[-1]) + half)
    return np.concatenate([[ends[0]], positions, [ends[1]]]), ends


def _inside(ends: tuple[float, float]) -> list[float]:
    return [tick for tick in TICKS if ends[0] < np.log(tick) < ends[1]]


def draw_people_key(ax: Axes, with_map: bool = True) -> Axes:
    """Explain the marks of a cell in one line, those of the map as well if there is one."""
    key = Key(ax)
    for half, color, text in ((2.5, LIKE, "answer like the outcome"), (4.5, UNLIKE, "unlike it (above: 1, below: 0)")):
        ax.plot([key.x + 1] * 2, [key.y - half, key.y + half], color=color, linewidth=1.2, clip_on=False)
        key.x += 5
        key.text(text)
    for color, text in ((INK, "choice probability"), (P_HAT, "p-hat")):
        key.mark(marker="o", size=2.5, color=color, markeredgewidth=0)
        key.text(text)
    if not with_map:
        return ax
    key.mark(marker="o", size=4, color="white", markeredgecolor=INK, markeredgewidth=0.9)
    key.text("median")
    key.mark(marker="x", size=3.5, color=INK, markeredgewidth=0.9)
    key.text("MAP of α and Ω")
    return ax
