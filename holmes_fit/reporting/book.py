"""The book: A4 pages with a head, a foot and a grid; findings in large letters, panels below, tables that go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from holmes_fit.reporting.exports import Exports
from holmes_fit.reporting.figures.layout import (
    BOTTOM,
    GREY,
    HEIGHT,
    LEADING,
    MARGIN,
    TEXT_WIDTH,
    TOP,
    WARNING,
    WIDTH,
    Pads,
    fit_into,
    fractions,
)
from holmes_fit.reporting.settings import Settings
from holmes_fit.reporting.style import A4, HOLMES, INK, OUTCOME, RULE
from holmes_fit.reporting.table_layout import Column, write_table
from holmes_fit.reporting.text import Weight, printable, shortened, wrapped

__all__ = ["BOTTOM", "HEIGHT", "LEADING", "MARGIN", "TEXT_WIDTH", "TOP", "WIDTH", "Book", "Column", "Panel"]

GUTTER = 18.0  # between panels, and below a row of them

COVER, FINDING, HEADING, BODY, TITLE, SMALL = 20.0, 14.0, 10.5, 9.0, 8.5, 7.5
WARNING_PAPER = "#fdf1e7"

Draw = Callable[[Axes], Axes]


@dataclass(frozen=True)
class Panel:
    """One figure: what draws it, and the words around it.

    Parameters
    ----------
    name
        What its files are called with ``--figures``.
    draw
        Draws on the axes that it is given, and returns them.
    title
        What it shows, in a few words, above it.
    caption
        How to read it, in small letters below.
    share
        Its part of the width of the row.
    table
        What is drawn, for its CSV file.
    """

    name: str
    draw: Draw
    title: str = ""
    caption: str = ""
    share: float = 1.0
    table: pd.DataFrame | None = None


@dataclass
class Book:
    """Writes pages from top to bottom, and starts a new one where the last is full.

    Positions are in points from the lower left corner of the page; ``y`` is where the next thing begins.

    Parameters
    ----------
    pdf
        Where the pages go.
    running_head
        At the top left of every page.
    foot
        At the bottom left of every page.
    alarm
        What has to be said on every page, in the colour of warnings.
    exports
        Where figures and tables go as files of their own, if anywhere.
    settings
        What the preset says.
    contents
        By the name of a page, why it is left out; nothing for pages that are in the report.
    """

    pdf: PdfPages
    running_head: str = ""
    foot: str = ""
    alarm: str = ""
    exports: Exports = field(default_factory=Exports)
    settings: Settings = field(default_factory=Settings)
    contents: dict[str, str] = field(default_factory=dict)
    number: int = 0
    section: str = ""
    page: Figure | None = None
    y: float = 0.0

    # --- Pages

    def begin(self, section: str, finding: str, words: str = "", warnings: Sequence[str] = ()) -> None:
        """Begin a section on a new page.

        Parameters
        ----------
        section
            Its title, small, at the top.
        finding
            What the figures show, with numbers, in large letters.
        words
            What else there is to say, in a sentence or two.
        warnings
            What a reader must know before believing it.
        """
        self.section = section
        self.new_page()
        self._lines([shortened(section, SMALL, TEXT_WIDTH, "bold").upper()], SMALL, color=HOLMES, weight="bold")
        self.y -= 5
        self.finding(finding)
        if words:
            self.words(words)
        self.warnings(warnings)
        self.y -= 8

    def cover(self, title: str, facts: str) -> None:
        """Begin the first page, with the title of the report and a line about it."""
        self.section = "Summary"
        self.new_page()
        self._lines(wrapped(printable(title), COVER, TEXT_WIDTH, "bold")[:3], COVER, color=HOLMES, weight="bold")
        self.y -= 2
        self.words(facts, BODY, GREY)
        self.y -= 4

    def finding(self, text: str) -> None:
        """Write what was found, in large letters."""
        self._lines(wrapped(printable(text), FINDING, TEXT_WIDTH, "bold"), FINDING, weight="bold")
        self.y -= 6

    def new_page(self) -> None:
        """Finish the page and begin another one of the same section."""
        self.close()
        self.number += 1
        self.page = Figure(figsize=A4)
        FigureCanvasAgg(self.page)
        self.y = TOP
        head, foot = HEIGHT - 38.0, 34.0
        self.text(MARGIN, head, shortened(self.running_head, SMALL, TEXT_WIDTH * 0.65), SMALL, color=GREY)
        self.text(WIDTH - MARGIN, head, self.section, SMALL, color=GREY, ha="right")
        self.text(MARGIN, foot, shortened(self.foot, SMALL, TEXT_WIDTH * 0.9), SMALL, color=GREY)
        self.text(WIDTH - MARGIN, foot, str(self.number), SMALL, color=GREY, ha="right")
        if self.alarm:
            line = shortened(self.alarm, SMALL, TEXT_WIDTH, "bold")
            self.text(MARGIN, foot - SMALL * LEADING, line, SMALL, color=WARNING, weight="bold")

    def close(self) -> None:
        """Finish the page, and forget it."""
        if self.page is not None:
            self.pdf.savefig(self.page)  # type: ignore[no-untyped-call]
            self.page.clear()
            self.page = None

    @property
    def room(self) -> float:
        """How many points are left on the page."""
        return 0.0 if self.page is None else self.y - BOTTOM

    def need(self, height: float) -> None:
        """Begin a new page if less than that is left on this one."""
        if self.page is None or self.room < height:
            self.new_page()

    # --- Words

    def heading(self, text: str, color: str = INK) -> None:
        """Write a heading, not at the foot of a page."""
        self.need(HEADING * 7)
        self.y -= 4
        self._lines([shortened(text, HEADING, TEXT_WIDTH, "bold")], HEADING, color=color, weight="bold")
        self.y -= 3

    def words(self, text: str, size: float = BODY, color: str = INK) -> None:
        """Write a paragraph."""
        for line in wrapped(printable(text), size, TEXT_WIDTH):
            self.need(size * LEADING)
            self._lines([line], size, color=color)
        self.y -= size * 0.5

    def note(self, text: str) -> None:
        """Write a paragraph in small grey letters."""
        self.words(text, SMALL, GREY)

    def warnings(self, texts: Sequence[str]) -> None:
        """Write what a reader must know, on coloured ground."""
        size, inside = 8.0, 8.0
        lines = [line for text in texts for line in _hanging(printable(text), size, TEXT_WIDTH - 2 * inside - 3)]
        while lines:
            self.need(min(len(lines), 3) * size * LEADING + inside)
            n_here = min(len(lines), max(1, int((self.room - inside) // (size * LEADING))))
            height = n_here * size * LEADING + inside
            self._rectangle(MARGIN, self.y - height, TEXT_WIDTH, height, WARNING_PAPER)
            self._rectangle(MARGIN, self.y - height, 3, height, OUTCOME)
            for place, (indent, line) in enumerate(lines[:n_here]):
                y = self.y - inside * 0.5 - size - place * size * LEADING
                self.text(MARGIN + inside + 3 + indent, y, line, size, color=WARNING)
            self.y -= height + 5
            lines = lines[n_here:]

    def text(
        self, x: float, y: float, text: str, size: float, color: str = INK, weight: Weight = "normal", ha: str = "left"
    ) -> None:
        """Write one line at a place of the page."""
        assert self.page is not None
        options = {"fontsize": size, "color": color, "weight": weight, "ha": ha}
        self.page.text(x / WIDTH, y / HEIGHT, printable(text), parse_math=False, **options)  # type: ignore[arg-type]

    # --- Figures

    def row(self, height: float, panels: Sequence[Panel], left_of_axes: float = 0.0) -> None:
        """Set panels side by side, their axes in line.

        Parameters
        ----------
        height
            Of the row in points, titles and captions included.
        panels
            From left to right.
        left_of_axes
            Room for labels that the first panel has, even if it does not need it, so that rows stand in line.
        """
        self.need(height)
        total = sum(panel.share for panel in panels)
        width = TEXT_WIDTH - GUTTER * (len(panels) - 1)
        left, boxes = MARGIN, []
        for panel in panels:
            own = width * panel.share / total
            boxes.append((left, own))
            left += own + GUTTER
        heads = [
            wrapped(printable(panel.title), TITLE, own, "bold") if panel.title else []
            for panel, (_, own) in zip(panels, boxes, strict=True)
        ]
        feet = [
            wrapped(printable(panel.caption), SMALL, own) if panel.caption else []
            for panel, (_, own) in zip(panels, boxes, strict=True)
        ]
        above = max(map(len, heads)) * TITLE * LEADING + (6 if any(heads) else 0)
        below = max(map(len, feet)) * SMALL * LEADING + (6 if any(feet) else 0)
        drawn = []
        for panel, (x, own), head, foot in zip(panels, boxes, heads, feet, strict=True):
            for place, line in enumerate(head):
                self.text(x, self.y - TITLE * (1 + place * LEADING), line, TITLE, weight="bold")
            for place, line in enumerate(foot):
                y = self.y - height + below - 6 - SMALL * (1 + place * LEADING)
                self.text(x, y, line, SMALL, color=GREY)
            drawn.append(self._axes(panel, x, self.y - height + below, own, height - above - below))
        inner = height - above - below
        fit_into(drawn, [(x, self.y - height + below, own, inner) for x, own in boxes], left_of_axes)
        self.y -= height + GUTTER

    def grid(
        self,
        name: str,
        cells: Sequence[Panel],
        columns: int,
        height: float,
        pads: Pads = (20.0, 16.0, 2.0, 12.0),
        gap: float = 8.0,
        table: pd.DataFrame | None = None,
    ) -> None:
        """Set small panels in a grid, all alike; a grid that does not fit goes on on the next page.

        Parameters
        ----------
        name
            What the files of the whole grid are called with ``--figures``; a number follows on every further page.
        cells
            Row by row. Titles are shortened to one line; captions are not shown.
        columns
            Of the grid.
        height
            Of a cell, in points.
        pads
            Room around the axes within a cell, for ticks and title: left, bottom, right, top.
        gap
            Between cells.
        table
            What is drawn, for one CSV file.
        """
        width = (TEXT_WIDTH - gap * (columns - 1)) / columns
        start, part = 0, 0
        while start < len(cells):
            self.need(height)
            rows = max(1, int((self.room + gap) // (height + gap)))
            here = cells[start : start + rows * columns]
            for place, cell in enumerate(here):
                x = MARGIN + (place % columns) * (width + gap)
                y = self.y - (place // columns) * (height + gap)
                self._cell(cell, x, y, width, height, pads)
            part += 1
            label = name if part == 1 else f"{name}_{part}"
            self.exports.grid(label, here, columns, (width, height), pads, table if part == 1 else None)
            used = -(-len(here) // columns)
            self.y -= used * (height + gap)
            start += len(here)

    def _cell(self, cell: Panel, x: float, y: float, width: float, height: float, pads: Pads) -> None:
        assert self.page is not None
        left, bottom, right, top = pads
        if cell.title:
            self.text(x + left, y - SMALL, shortened(cell.title, SMALL, width - left), SMALL, weight="normal")
        size = (width - left - right, height - bottom - top)
        cell.draw(self.page.add_axes(fractions(self.page, (x + left, y - height + bottom, *size))))

    def _axes(self, panel: Panel, x: float, y: float, width: float, height: float) -> Axes:
        assert self.page is not None
        ax = self.page.add_axes(fractions(self.page, (x, y, width, height)))
        panel.draw(ax)
        self.exports.panel(panel, (width, height))
        return ax

    # --- Tables

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[str]],
        marked: Collection[int] = (),
        size: float = SMALL,
    ) -> None:
        """Write a table; the head is repeated on every page. Rows whose numbers are ``marked`` stand out."""
        write_table(self, columns, rows, marked, size)

    # --- Marks

    def rule(self) -> None:
        """Draw a line across the page."""
        assert self.page is not None
        y = (self.y - 1.5) / HEIGHT
        self.page.add_artist(Line2D((MARGIN / WIDTH, 1 - MARGIN / WIDTH), (y, y), color=RULE, linewidth=0.7))
        self.y -= 3.5

    def _rectangle(self, x: float, y: float, width: float, height: float, color: str) -> None:
        assert self.page is not None
        place, size = (x / WIDTH, y / HEIGHT), (width / WIDTH, height / HEIGHT)
        self.page.add_artist(Rectangle(place, *size, facecolor=color, edgecolor="none", zorder=0))

    def _lines(self, lines: Sequence[str], size: float, color: str = INK, weight: Weight = "normal") -> None:
        for line in lines:
            self.y -= size * LEADING
            self.text(MARGIN, self.y + size * 0.2, line, size, color=color, weight=weight)


def _hanging(text: str, size: float, width: float) -> list[tuple[float, str]]:
    """Return the lines of a text and their indents: the first hangs out by a dash."""
    indent = 9.0
    first, *others = wrapped(text, size, width - indent)
    return [(0.0, f"– {first}"), *((indent, line) for line in others)]
