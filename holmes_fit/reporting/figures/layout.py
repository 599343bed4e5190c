"""Places in points: axes that shrink until their ticks and labels fit into their boxes, and keys in one line."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import width_of

POINTS = 72.0  # to the inch
KEY_SIZE, BETWEEN = 7.0, 10.0  # of the letters of a key, and from one entry to the next

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
            left = max(labels, least_left) if ax is drawn[0] else labels
            size = (max(width - left - right, 10.0), max(height - bottom - top, 10.0))
            ax.set_position(fractions(_figure(ax), (x + left, y + bottom, *size)))


def _overhang(ax: Axes) -> Pads:
    """Return how far ticks, labels and texts stick out of axes, in points."""
    scale = POINTS / _figure(ax).dpi
    outer, inner = ax.get_tightbbox(), ax.get_window_extent()
    if outer is None:
        return 0.0, 0.0, 0.0, 0.0
    found = (inner.x0 - outer.x0, inner.y0 - outer.y0, outer.x1 - inner.x1, outer.y1 - inner.y1)
    left, bottom, right, top = (max(0.0, value * scale) + 1.0 for value in found)
    return left, bottom, right, top


def size_of(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in points."""
    box, scale = ax.get_window_extent(), POINTS / _figure(ax).dpi
    return box.width * scale, box.height * scale


def _figure(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


class Key:
    """Writes marks and what they mean on axes of its own; ``x`` is where the next thing begins, in points."""

    def __init__(self, ax: Axes):
        self.ax = ax
        width, height = size_of(ax)
        self.x, self.y = 0.0, 0.5 * height
        ax.set_xlim(0, width)
        ax.set_ylim(0, height)
        ax.set_axis_off()

    def mark(self, marker: str, size: float, **style: Any) -> None:
        """Set a mark of that size in points."""
        self.ax.plot(self.x + 0.5 * size, self.y, marker, markersize=size, clip_on=False, **style)
        self.x += size + 3

    def text(self, text: str, gap: float = BETWEEN) -> None:
        """Write what the marks before it mean; the next thing begins after a gap."""
        self.ax.text(self.x, self.y, text, fontsize=KEY_SIZE, color=INK, va="center_baseline", parse_math=False)
        self.x += width_of(text, KEY_SIZE) + gap
