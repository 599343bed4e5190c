"""Tables on the pages of a book: columns as wide as their cells ask for, a head on every page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holmes_fit.reporting.figures.layout import LEADING, MARGIN, TEXT_WIDTH, WARNING
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import Weight, printable, shortened, width_of, wrapped

if TYPE_CHECKING:
    from holmes_fit.reporting.book import Book

CELL_GAP = 8.0
SPARSE = 0.5 * TEXT_WIDTH  # a table that leaves so much is not spread over the page: the eye would lose the row
MOST_SPARE = 110.0  # points that each of its columns of text gets beyond what its cells ask for
LEAST_TEXT = 48.0  # points that a column of text keeps, however many numbers there are
TALLEST = 300.0  # points of a row that begins on a page where it does not fit


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    head
        What stands above it.
    right
        Whether its cells stand flush right, as numbers do.
    wraps
        Whether long texts take several lines; they are shortened otherwise. Numbers never are.
    """

    head: str
    right: bool = False
    wraps: bool = False


def write_table(
    book: Book, columns: Sequence[Column], rows: Sequence[Sequence[str]], marked: Collection[int], size: float
) -> None:
    """Write a table; the parameters are those of :meth:`Book.table`."""
    widths = _widths(columns, rows, size)
    book.need(size * LEADING * 4)
    _head(book, columns, widths, size)
    for place, row in enumerate(rows):
        cells = [
            wrapped(printable(cell), size, width - CELL_GAP)
            if column.wraps or column.right
            else [shortened(cell, size, width - CELL_GAP)]
            for column, width, cell in zip(columns, widths, row, strict=True)
        ]
        if book.room < min(max(map(len, cells)) * size * LEADING, TALLEST):
            book.new_page()
            _head(book, columns, widths, size)
        _row(book, columns, widths, cells, size, WARNING if place in marked else INK)
    book.rule()
    book.y -= size


def _head(book: Book, columns: Sequence[Column], widths: Sequence[float], size: float) -> None:
    book.rule()
    heads = [
        wrapped(printable(column.head), size, width - CELL_GAP, "bold")
        for column, width in zip(columns, widths, strict=True)
    ]
    _row(book, columns, widths, heads, size, INK, "bold")
    book.rule()


def _row(
    book: Book,
    columns: Sequence[Column],
    widths: Sequence[float],
    cells: Sequence[Sequence[str]],
    size: float,
    color: str,
    weight: Weight = "normal",
) -> None:
    left = MARGIN
    for column, width, lines in zip(columns, widths, cells, strict=True):
        x = left + width - CELL_GAP if column.right else left
        for place, line in enumerate(lines):
            y = book.y - size - place * size * LEADING
            book.text(x, y, line, size, color=color, weight=weight, ha="right" if column.right else "left")
        left += width
    book.y -= max(map(len, cells)) * size * LEADING


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], size: float) -> list[float]:
    """Return how wide columns are: as their cells ask for, as far as there is room.

    What is left goes to the columns of text. What is lacking, texts give up, the longest first; where that is not
    enough, numbers take several lines.
    """
    asked = []
    for place, column in enumerate(columns):
        cells = max((width_of(printable(row[place]), size) for row in rows), default=0.0)
        asked.append(max(_head_width(column.head, size), cells) + CELL_GAP)
    texts = [place for place, column in enumerate(columns) if not column.right] or list(range(len(columns)))
    spare = TEXT_WIDTH - sum(asked)
    if spare >= 0:
        more = spare / len(texts) if spare < SPARSE else min(spare / len(texts), MOST_SPARE)
        return [width + more * (place in texts) for place, width in enumerate(asked)]
    numbers = sum(width for place, width in enumerate(asked) if place not in texts)
    limit = _level([asked[place] for place in texts], max(TEXT_WIDTH - numbers, LEAST_TEXT * len(texts)))
    given = [min(width, limit) if place in texts else width for place, width in enumerate(asked)]
    return [width * min(1.0, TEXT_WIDTH / sum(given)) for width in given]


def _head_width(head: str, size: float) -> float:
    """Return how wide a head is that takes two lines at most."""
    words = printable(head).split() or [""]
    halves = [(words[:place], words[place:]) for place in range(len(words))]
    return min(max(width_of(" ".join(half), size, "bold") for half in both) for both in halves)


def _level(widths: Sequence[float], room: float) -> float:
    """Return the width at which to cut off, such that all widths fit into the room."""
    level = room / len(widths)
    for _ in widths:
        short = [width for width in widths if width <= level]
        if len(short) == len(widths):
            return level
        level = (room - sum(short)) / (len(widths) - len(short))
    return level
