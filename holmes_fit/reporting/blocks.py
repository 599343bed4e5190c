"""What stands on pages, as data: sections of blocks, from top to bottom. Nothing here knows how it is laid out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

TEXT_WIDTH, GUTTER, SMALL = 487.28, 18.0, 7.5  # points: of a page, between panels, of small letters; as in report.typ

Kind = Literal["cover", "facts", "question", "finding", "words", "paper", "note", "reference", "heading"]
Pads = tuple[float, float, float, float]  # left, bottom, right, top


@dataclass(frozen=True)
class Text:
    """A paragraph, whose kind says how it looks: what was found in large letters, notes in small grey ones."""

    text: str
    kind: Kind = "words"


@dataclass(frozen=True)
class Warnings:
    """What a reader must know before believing a page, on coloured ground."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Panel:
    """One figure: what draws it, and the words around it."""

    name: str  # of its files; those of a grid have none of their own
    draw: Callable[[Axes], Axes]
    title: str = ""  # what it shows, in a few words, above it
    caption: str = ""  # how to read it, in small letters below
    share: float = 1.0  # its part of the width of the row
    table: pd.DataFrame | None = None  # what is drawn, for its CSV file
    height: float = 0.0  # points that it takes; any, if it can be of any height


@dataclass(frozen=True)
class Row:
    """Panels side by side, their axes in line; ``least`` points high, and up to ``most`` where the page has room."""

    panels: Sequence[Panel]
    least: float
    most: float = 0.0
    left: float = 0.0  # room for labels that the first panel has at least, so that rows stand in line
    tight: float = 0.0  # points that it may be as low as where that saves a page; not below ``least`` if 0

    def widths(self) -> list[tuple[Panel, float]]:
        """Return the panels, and how wide each is."""
        room, total = TEXT_WIDTH - GUTTER * (len(self.panels) - 1), sum(panel.share for panel in self.panels)
        return [(panel, room * panel.share / total) for panel in self.panels]


@dataclass(frozen=True)
class Grid:
    """Small panels, all alike, in columns, on as many pages as it takes. No page ends within a row of them."""

    name: str  # of its files
    cells: Sequence[Panel]  # row by row; captions are not shown
    columns: int
    least: float  # points that a cell is high, and up to ``most`` where there is room
    most: float = 0.0
    pads: Pads = (20.0, 16.0, 2.0, 12.0)  # room around the axes of a cell, for ticks and title
    gap: float = 8.0
    heads: Mapping[int, str] = field(default_factory=dict)  # above the cells of these numbers, which begin a row
    key: Panel | None = None  # what marks mean, above the cells of every page
    table: pd.DataFrame | None = None
    part: int = 0  # cells in one file, the next group of them beginning another; all of them in one if 0

    def parts(self, size: int) -> Iterator[tuple[str, Sequence[Panel]]]:
        """Give so many cells at a time, and what stands above them; below a heading, others begin."""
        for begin, end in pairwise([*sorted({0, *self.heads}), len(self.cells)]):
            for first in range(begin, end, size):
                yield self.heads.get(first, ""), self.cells[first : min(first + size, end)]

    def files(self) -> Iterator[Panel | Grid]:
        """Give the figures to be written: the key, and the grid, in parts if it is large."""
        if self.key is not None:
            yield self.key
        if not self.part:
            yield self
            return
        for number, (_, cells) in enumerate(self.parts(self.part), start=1):
            tables = [cell.table for cell in cells if cell.table is not None]
            table = pd.concat(tables, ignore_index=True) if tables else None
            yield replace(self, name=f"{self.name}_{number}", cells=cells, table=table)


@dataclass(frozen=True)
class Picture:
    """A figure that fills the width of the page and arranges its own axes, ``height`` points high."""

    draw: Callable[[FigureBase], object]
    height: float
    caption: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a table: its head, and whether its cells are numbers, flush right and never broken."""

    head: str
    right: bool = False


def columns_for(cells: int) -> int:
    """Return how many columns leave the last row of so many cells as full as can be."""
    return max((4, 5), key=lambda columns: ((cells - 1) % columns + 1) / columns)


def texts(*heads: str) -> list[Column]:
    """Return columns of texts."""
    return [Column(head) for head in heads]


def numbers(*heads: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(head, right=True) for head in heads]


@dataclass(frozen=True)
class Table:
    """A table, its head repeated on every page; rows whose numbers are ``marked`` stand out."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    marked: Collection[int] = ()
    size: float = 7.5  # of the letters


@dataclass(frozen=True)
class Break:
    """What follows begins on a new page."""


Block = Text | Warnings | Row | Grid | Picture | Table | Break


@dataclass
class Section:
    """A part of a document that begins on a new page; its title is in the head of its pages and among the bookmarks."""

    title: str
    blocks: list[Block]

    def figures(self) -> Iterator[Panel | Grid]:
        """Give the figures that have names, and can be files."""
        for block in self.blocks:
            if isinstance(block, Row):
                yield from block.panels
            elif isinstance(block, Grid):
                yield from block.files()


@dataclass(frozen=True)
class About:
    """What a document says of itself: in the properties of the PDF, and in the head and the foot of every page."""

    title: str
    subject: str = ""
    keywords: Sequence[str] = ()
    head: str = ""
    foot: str = ""
    alarm: str = ""  # in the colour of warnings, on every page
