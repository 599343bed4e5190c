"""Axes that shrink until their ticks and labels fit into their boxes, in points."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

POINTS = 72.0  # to the inch

Box = tuple[float, float, float, float]  # left, bottom, width, height
Pads = tuple[float, float, float, float]  # left, bottom, right, top


def fractions(figure: Figure, box: Box) -> Box:
    """Return a box in points as parts of the figure's size."""
    across, up = figure.get_size_inches() * POINTS
    x, y, width, height = box
    return x / across, y / up, width / across, height / up


def fit_into(drawn: Sequence[Axes], boxes: Sequence[Box], least_left: float = 0.0) -> None:
    """Shrink axes until ticks and labels stay within their boxes; those of one row keep a common base and top.

    The first of them has at least ``least_left`` points for labels at its left.
    """
    for _ in range(2):  # narrower axes may have other ticks
        pads = [_overhang(ax) for ax in drawn]
        bottom, top = max(pad[1] for pad in pads), max(pad[3] for pad in pads)
        for ax, (labels, _, right, _), (x, y, width, height) in zip(drawn, pads, boxes, strict=True):
            figure = ax.get_figure(root=True)
            assert figure is not None
            left = max(labels, least_left) if ax is drawn[0] else labels
            size = (max(width - left - right, 10.0), max(height - bottom - top, 10.0))
            ax.set_position(fractions(figure, (x + left, y + bottom, *size)))


def _overhang(ax: Axes) -> Pads:
    """Return how far ticks, labels and texts stick out of axes, in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    scale = POINTS / figure.dpi
    outer, inner = ax.get_tightbbox(), ax.get_window_extent()
    if outer is None:
        return 0.0, 0.0, 0.0, 0.0
    found = (inner.x0 - outer.x0, inner.y0 - outer.y0, outer.x1 - inner.x1, outer.y1 - inner.y1)
    left, bottom, right, top = (max(0.0, value * scale) + 1.0 for value in found)
    return left, bottom, right, top
