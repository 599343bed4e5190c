"""The structure that a model has learned from one person's trials, drawn as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from holmes_fit._support.numbers import share
from holmes_fit.reporting.figures.layout import Key, size_of
from holmes_fit.reporting.figures.tree_nodes import LEAST_SHARE, Node, root_of
from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, RULE
from holmes_fit.reporting.text import count, shortened, width_of

# Blue and orange differ for every kind of colour vision, and the middle is lighter than both.
OUTCOME_SCALE = LinearSegmentedColormap.from_list("outcome", [NO_OUTCOME, "#f2f2f2", OUTCOME])
NO_RATE = "white"  # of a node whose outcomes were never shown

MOST_BESIDE = 2  # that a label names beside a node with others below, if there is room for them

# In points.
SIZE = 7.0  # of the letters
LINE = 8.4
LARGEST = 14.0  # radius of a node with all trials
ROOMY = 8.3  # radius of a node that has room for a number
SMALL_MARK = 2.5  # radius of the mark of small nodes
WIDEST = 84.0  # name of a cue
GAP = 9.0  # between neighbours
ROOT_SPACE = 8.0
LEVEL_SPACE = 33.0


def fitting_root(rows: pd.DataFrame, cues: Sequence[str], n_trials: int, width: float) -> tuple[Node, float]:
    """Return the tree with as many nodes as fit side by side in ``width`` points, and the share of trials they need."""
    least_share = LEAST_SHARE
    while True:
        root = root_of(rows, cues, n_trials, least_share)
        if _settled(root, width).width <= width or least_share > 1:
            return root, least_share
        least_share *= 1.25


def height_of(root: Node) -> float:
    """Return how high the drawing of a tree should be, in points."""
    return ROOT_SPACE + max(placed.depth for _, placed in _settled(root, np.inf).places()) + 4


def width_of_tree(root: Node, width: float) -> float:
    """Return how many points a tree takes from left to right where there are ``width`` of them."""
    return _settled(root, width).width


# --- Placing


@dataclass
class _Placed:
    """A node or a mark of small nodes: its label, how far it reaches to both sides, and its place."""

    node: Node | None  # nothing is the mark of small nodes
    lines: tuple[str, ...]
    level: int
    below: list[_Placed] = field(default_factory=list)
    left: float = 0.0
    right: float = 0.0
    offset: float = 0.0  # from the node above

    @property
    def width(self) -> float:
        return self.left + self.right

    @property
    def radius(self) -> float:
        """Of its mark; its area goes with the share of the trials."""
        if self.node is None or self.level == 0:
            return SMALL_MARK
        return LARGEST * float(np.sqrt(self.node.share))

    @property
    def depth(self) -> float:
        """How far it reaches below the root."""
        text = 0.5 * len(self.lines) * LINE if self.below else self.radius + 2 + len(self.lines) * LINE
        return self.level * LEVEL_SPACE + max(text, self.radius)

    def places(self, above: float = 0.0) -> Iterator[tuple[float, _Placed]]:
        """Give everything from here on with its place from left to right."""
        here = above + self.offset
        yield here, self
        for child in self.below:
            yield from child.places(here)


def _settled(root: Node, width: float) -> _Placed:
    """Settle a tree with as many words beside its nodes as the width allows."""
    placed = [_placed(root, 0, n_cues) for n_cues in range(MOST_BESIDE, 0, -1)]
    return next((tree for tree in placed if tree.width <= width), placed[-1])


def _placed(node: Node, level: int, n_cues: int) -> _Placed:
    """Settle nodes side by side, and each above the middle of its children; all have room of their own."""
    below = [_placed(child, level + 1, n_cues) for child in node.children]
    if node.n_others:
        below.append(_others(node, level + 1))
    lines = _lines(node, n_cues) if level else (f"all {_trials(node.visits)}",)
    text = max(width_of(line, SIZE) for line in lines)
    placed = _Placed(node, lines, level, below)
    if not below:
        placed.left = placed.right = 0.5 * (max(text, 2 * placed.radius) + GAP)
        return placed
    reached = 0.0
    for child in below:
        child.offset = reached + child.left
        reached += child.left + child.right
    middle = 0.5 * (below[0].offset + below[-1].offset)
    for child in below:
        child.offset -= middle
    placed.left = max(middle, placed.radius + 0.5 * GAP)
    placed.right = max(reached - middle, placed.radius + 3 + text + GAP)  # the label stands to the right
    return placed


def _others(node: Node, level: int) -> _Placed:
    lines = (f"{node.n_others} small", _trials(node.other_visits))
    half = 0.5 * (max(width_of(line, SIZE) for line in lines) + GAP)
    return _Placed(None, lines, level, left=half, right=half)


def _lines(node: Node, n_cues: int) -> tuple[str, ...]:
    cues = [shortened(cue, SIZE, WIDEST) for cue in node.cues] or ["mixed"]
    if node.is_leaf:
        return (*cues, _trials(node.visits), *(["and deeper"] if node.is_cut else []))
    ends = [f"{node.ends:.0f} end here"] if node.ends >= 0.5 else []
    return (", ".join(cues[:n_cues]), _trials(node.visits), *ends)


def _trials(visits: float) -> str:
    return count(round(visits), "trial") if visits >= 0.5 else "<1 trial"


# --- Drawing


def draw_tree(ax: Axes, root: Node) -> Axes:
    """Draw a tree from all trials down to the finest causes.

    The area of a node is its share of the trials, its colour the share of those with the outcome. Nodes that are too
    small stand together as one grey diamond. Numbers below or beside a node are trials, means over particles.
    """
    width, height = size_of(ax)
    top = _settled(root, width)
    spare = max(0.0, width - top.width)
    for x, placed in top.places(top.left + 0.5 * spare):
        y = height - ROOT_SPACE - placed.level * LEVEL_SPACE
        _draw_branches(ax, x, y, placed)
        _draw_node(ax, x, y, placed)
    ax.set_xlim(0, max(width, top.width))
    ax.set_ylim(0, height)
    ax.set_axis_off()
    return ax


def _draw_branches(ax: Axes, x: float, y: float, placed: _Placed) -> None:
    """Draw a line down, one across above all children, and one down to each."""
    if not placed.below:
        return
    bar = y - 0.5 * LEVEL_SPACE
    ends = [x + child.offset for child in placed.below]
    lines = [[(x, y), (x, bar)], [(min(ends), bar), (max(ends), bar)]]
    lines += [[(end, bar), (end, y - LEVEL_SPACE)] for end in ends]
    ax.add_collection(LineCollection(lines, colors=RULE, linewidths=1.0, zorder=1), autolim=False)


def _draw_node(ax: Axes, x: float, y: float, placed: _Placed) -> None:
    node, radius = placed.node, placed.radius
    if node is None:
        ax.plot(x, y, "D", color=RULE, markersize=1.6 * radius, markeredgewidth=0, zorder=2)
    elif placed.level == 0:
        ax.plot(x, y, "o", color=INK, markersize=1.6 * radius, markeredgewidth=0, zorder=2)
    else:
        color = OUTCOME_SCALE(node.outcome_rate) if np.isfinite(node.outcome_rate) else NO_RATE
        ax.plot(x, y, "o", markersize=2 * radius, color=color, markeredgecolor=INK, markeredgewidth=0.6, zorder=2)
        rate = share(node.outcome_rate)
        if radius >= ROOMY and np.isfinite(node.outcome_rate) and width_of(rate, SIZE) < 2 * radius:
            ax.text(x, y, rate, fontsize=SIZE, ha="center", va="center_baseline")
    style: dict[str, Any] = {"fontsize": SIZE, "linespacing": 1.1, "parse_math": False, "clip_on": False}
    style["color"] = INK if node is not None else "#666666"
    text = "\n".join(placed.lines)
    if placed.below:
        ax.text(x + radius + 3, y, text, ha="left", va="center", **style)
    else:
        ax.text(x, y - radius - 2, text, ha="center", va="top", **style)


def draw_tree_key(ax: Axes) -> Axes:
    """Explain colours, sizes and marks in one line."""
    key = Key(ax)
    key.text("outcome on 0%", gap=4)
    steps, step = 24, 2.5
    for place in range(steps):
        color = OUTCOME_SCALE((place + 0.5) / steps)
        ax.add_patch(Rectangle((key.x + place * step, key.y - 4), step, 8, color=color, linewidth=0.2))
    key.x += steps * step + 4
    key.text("100% of trials")
    for part in (1.0, 0.25, LEAST_SHARE):
        size = 2 * LARGEST * float(np.sqrt(0.5 * part))
        key.mark("o", size, color="white", markeredgecolor=INK, markeredgewidth=0.6)
    key.text("area: share of trials")
    key.mark("D", 4, color=RULE, markeredgewidth=0)
    key.text("small nodes together")
    key.text("mixed: no cue stands out")
    return ax
