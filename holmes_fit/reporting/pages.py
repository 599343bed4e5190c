"""A4 pages of text, tables and figures, one after the other, in the project's style."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import TextToPath

from holmes_fit.reporting.style import A4, INK, OUTCOME, RULE

POINTS = 72.0
MARGIN = 56.0
WIDTH, HEIGHT = A4[0] * POINTS, A4[1] * POINTS
TEXT_WIDTH = WIDTH - 2 * MARGIN
BODY, CAPTION, SMALL, HEADING, TITLE = 9.0, 8.0, 7.5, 12.0, 20.0
LEADING = 1.4


class Column(NamedTuple):
    """One column of a table: its head, its share of the width, and whether it is set flush right."""

    head: str
    width: float
    right: bool = False


@dataclass
class Pages:
    """Writes pages from top to bottom and starts a new one where the last is full."""

    pdf: PdfPages
    running_head: str = ""
    number: int = 0
    page: Figure | None = None
    y: float = 0.0
    _measure: TextToPath = field(default_factory=TextToPath)

    def title(self, text: str) -> None:
        self._room(TITLE * 2)
        self._write(text, TITLE, weight="bold")
        self.y -= TITLE * 0.4

    def heading(self, text: str) -> None:
        """Write a heading, not at the foot of a page."""
        self._room(HEADING * 6)
        self.y -= HEADING * 0.6
        self._write(text, HEADING, weight="bold")
        self.y -= HEADING * 0.15

    def paragraph(self, text: str, size: float = BODY) -> None:
        """Write a paragraph, broken into lines that fit."""
        for line in self.lines(text, size, TEXT_WIDTH):
            self._room(size * LEADING)
            self._write(line, size)
        self.y -= size * 0.5

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], marked: Collection[int] = ()) -> None:
        """Write a table; rows whose numbers are among ``marked`` stand out. The head is repeated on every page."""
        self._head(columns)
        for number, row in enumerate(rows):
            if self.y - SMALL * LEADING < MARGIN:
                self.new_page()
                self._head(columns)
            is_marked = number in marked
            self._row(columns, row, color=OUTCOME if is_marked else INK, weight="bold" if is_marked else "normal")
        self._rule()
        self.y -= BODY

    def figure(self, draw: Callable[[SubFigure], object], height: float, caption: str) -> None:
        """Put a figure below what is there, with its caption; one figure a page. ``height`` is in inches."""
        n_lines = len(self.lines(caption, CAPTION, TEXT_WIDTH))
        self._room(height * POINTS + 14 + (n_lines + 1) * CAPTION * LEADING)
        if self.page is None or self.page.subfigs:
            self.new_page()
        assert self.page is not None
        top = self.y / HEIGHT
        share = height / A4[1]
        side = (MARGIN - 12) / WIDTH
        self.page.set_layout_engine("constrained", rect=(side, top - share, 1 - 2 * side, share))
        draw(self.page.add_subfigure(self.page.add_gridspec(1, 1)[0]))
        self.y -= height * POINTS + 14
        self.paragraph(caption, size=CAPTION)

    def new_page(self) -> None:
        """Finish the page and begin another."""
        self.close()
        self.number += 1
        self.page = Figure(figsize=A4, layout=None)
        self.y = HEIGHT - MARGIN
        head = HEIGHT - MARGIN + 18
        self._text(MARGIN, head, self.running_head, SMALL, color="#777777")
        self._text(WIDTH - MARGIN, head, str(self.number), SMALL, color="#777777", ha="right")

    def close(self) -> None:
        """Finish the page."""
        if self.page is not None:
            self.pdf.savefig(self.page)  # type: ignore[no-untyped-call]
            self.page = None

    def lines(self, text: str, size: float, width: float) -> list[str]:
        """Break a text into lines of at most this width, in points."""
        font = FontProperties(size=size)
        lines: list[str] = []
        for word in text.split():
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and self._measure.get_text_width_height_descent(longer, font, ismath=False)[0] <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines

    def _head(self, columns: Sequence[Column]) -> None:
        self._room(SMALL * LEADING * 4)
        self._rule()
        self._row(columns, [column.head for column in columns], weight="bold")
        self._rule()

    def _row(self, columns: Sequence[Column], cells: Sequence[str], color: str = INK, weight: str = "normal") -> None:
        self.y -= SMALL * LEADING
        left = MARGIN
        for column, cell in zip(columns, cells, strict=True):
            width = column.width * TEXT_WIDTH
            x = left + width - 6 if column.right else left
            self._text(x, self.y, cell, SMALL, color=color, weight=weight, ha="right" if column.right else "left")
            left += width

    def _rule(self) -> None:
        assert self.page is not None
        y = (self.y - SMALL * 0.45) / HEIGHT
        ends = (MARGIN / WIDTH, 1 - MARGIN / WIDTH)
        self.page.add_artist(Line2D(ends, (y, y), color=RULE, linewidth=0.7))
        self.y -= SMALL * 0.25

    def _room(self, height: float) -> None:
        if self.page is None or self.y - height < MARGIN:
            self.new_page()

    def _write(self, line: str, size: float, weight: str = "normal") -> None:
        self.y -= size * LEADING
        self._text(MARGIN, self.y, line, size, weight=weight)

    def _text(
        self, x: float, y: float, text: str, size: float, color: str = INK, weight: str = "normal", ha: str = "left"
    ) -> None:
        assert self.page is not None
        self.page.text(x / WIDTH, y / HEIGHT, text, fontsize=size, color=color, weight=weight, ha=ha, parse_math=False)
