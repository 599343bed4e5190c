"""A key: marks and what they mean, one after the other in one line."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import width_of

POINTS = 72.0
SIZE = 7.0
BETWEEN = 10.0  # entries


def size_of(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in points."""
    box = ax.get_window_extent()
    figure = ax.get_figure(root=True)
    assert figure is not None
    return box.width * POINTS / figure.dpi, box.height * POINTS / figure.dpi


class Key:
    """Writes a line on axes of its own, from left to right; ``x`` is where the next thing begins, in points."""

    def __init__(self, ax: Axes):
        self.ax = ax
        width, height = size_of(ax)
        self.x, self.y = 0.0, 0.5 * height
        ax.set_xlim(0, width)
        ax.set_ylim(0, height)
        ax.set_axis_off()

    def mark(self, marker: str, size: float, **style: Any) -> None:
        """Set a mark of that size in points."""
        self.x += 0.5 * size
        self.ax.plot(self.x, self.y, marker, markersize=size, clip_on=False, **style)
        self.x += 0.5 * size + 3

    def text(self, text: str, gap: float = BETWEEN) -> None:
        """Write what the marks before it mean; the next thing begins after a gap."""
        self.ax.text(self.x, self.y, text, fontsize=SIZE, color=INK, va="center_baseline", parse_math=False)
        self.x += width_of(text, SIZE) + gap
