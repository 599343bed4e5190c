"""Figures and what they show as files of their own: PNG, SVG and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit.reporting.figures.layout import LEADING, POINTS, Pads, fit_into, fractions
from holmes_fit.reporting.text import Weight, printable, shortened, wrapped

if TYPE_CHECKING:
    from holmes_fit.reporting.book import Panel

TITLE, CELL_TITLE = 8.5, 7.5
EDGE, GAP = 8.0, 8.0


@dataclass
class Exports:
    """Writes each figure that goes into a report to a folder as well, if there is one.

    Parameters
    ----------
    folder
        The folder; without one, nothing is written.
    """

    folder: Path | None = None
    written: list[Path] = field(default_factory=list)

    def panel(self, panel: Panel, size: tuple[float, float]) -> None:
        """Write one panel; ``size`` is in points."""
        if self.folder is None:
            return
        width, height = size
        lines = wrapped(printable(panel.title), TITLE, width, "bold") if panel.title else []
        above = (len(lines) + 0.5) * TITLE * LEADING
        figure = _figure(width + 2 * EDGE, height + 2 * EDGE + above)
        for place, line in enumerate(lines):
            y = height + above + EDGE - TITLE * (1 + LEADING * place)
            _write(figure, EDGE, y, line, TITLE, "bold")
        box = (EDGE, EDGE, width, height)
        fit_into([panel.draw(figure.add_axes(fractions(figure, box)))], [box])
        self._save(figure, panel.name)
        self.table(panel.name, panel.table)

    def grid(
        self,
        name: str,
        cells: Sequence[Panel],
        columns: int,
        size: tuple[float, float],
        pads: Pads,
        table: pd.DataFrame | None = None,
    ) -> None:
        """Write one page of a grid of small panels; ``size`` is that of a cell, ``pads`` the room around its axes."""
        if self.folder is None:
            return
        width, height = size[0] + GAP, size[1] + GAP
        left, bottom, right, top = pads
        rows = -(-len(cells) // columns)
        figure = _figure(columns * width + EDGE, rows * height + EDGE)
        for place, cell in enumerate(cells):
            x = EDGE + (place % columns) * width
            y = (rows - 1 - place // columns) * height + EDGE
            _write(
                figure,
                x + left,
                y + size[1] - CELL_TITLE,
                shortened(cell.title, CELL_TITLE, size[0] - left),
                CELL_TITLE,
            )
            box = (x + left, y + bottom, size[0] - left - right, size[1] - bottom - top)
            cell.draw(figure.add_axes(fractions(figure, box)))
        self._save(figure, name)
        self.table(name, table)

    def table(self, name: str, table: pd.DataFrame | None) -> None:
        """Write a table."""
        if self.folder is not None and table is not None:
            path = self.folder / f"{name}.csv"
            write_table(table, path)
            self.written.append(path)

    def _save(self, figure: Figure, name: str) -> None:
        assert self.folder is not None
        for suffix, metadata in (("png", {}), ("svg", {"Date": None})):
            path = self.folder / f"{name}.{suffix}"
            # Without a date and with given names of its parts, the same figure gives the same bytes.
            with mpl.rc_context({"svg.hashsalt": name}), written_whole(path) as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata)
            self.written.append(path)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width / POINTS, height / POINTS))
    FigureCanvasAgg(figure)
    return figure


def _write(figure: Figure, x: float, y: float, text: str, size: float, weight: Weight = "normal") -> None:
    width, height = figure.get_size_inches() * POINTS
    figure.text(x / width, y / height, text, fontsize=size, weight=weight, parse_math=False)
