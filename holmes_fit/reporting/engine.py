"""The one layout engine: sections in, PDF out.

Words become JSON, so that nothing that anyone has written is ever markup; figures become SVG whose letters stay
letters. Pages are laid out twice: first to see how much room is left on each, then with figures as high as that.
The same sections, date and versions give the same bytes, whatever fonts a machine has::

    with use_style():
        pdf = pdf_of([Section("Summary", [Text("What was found", "finding"), Row([panel], 150)])], About("A study"))
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib as mpl
import typst
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from holmes_fit._support.atomic import temporary_folder
from holmes_fit.reporting import blocks
from holmes_fit.reporting.blocks import GUTTER, SMALL, TEXT_WIDTH, About, Block, Grid, Panel, Row, Section
from holmes_fit.reporting.figures.layout import POINTS, fit_into, fractions
from holmes_fit.reporting.text import printable, shortened

TEMPLATE = Path(__file__).with_name("report.typ")
FACES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
TOP, BOTTOM = 60.0, 785.89  # of a page, in points, as in report.typ
SLACK = 5.0  # of a page, for what is rounded, and for what hangs below a last line

# Pages have a grid of their own, which a layout engine would draw twice. Letters that are not fitted to pixels are as
# wide where they are measured as in the PDF. Names may hold dollar signs, which are not mathematics. Without a salt,
# names of parts depend on chance.
RC: dict[Any, Any] = {
    "figure.constrained_layout.use": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "holmes_fit",
    "text.hinting": "no_hinting",
    "text.parse_math": False,
}


def pdf_of(sections: Sequence[Section], about: About, when: datetime | None = None) -> bytes:
    """Return a PDF; ``when`` is its date, which has none otherwise. To be called within ``use_style``."""
    document = {**_about(about), "dated": when is not None}
    stamp = int(when.timestamp()) if when is not None else 0
    with temporary_folder() as root, mpl.rc_context(RC):
        main, content = root / TEMPLATE.name, root / "document.json"
        shutil.copy(TEMPLATE, main)
        fonts = _fonts(root / "fonts")

        def seen(sections: Sequence[Section]) -> list[dict[str, Any]]:
            first = {**document, "sections": list(_sections(sections)), "final": False, "heights": {}}
            content.write_text(json.dumps(first), encoding="utf-8")
            found: list[dict[str, Any]] = json.loads(
                typst.Compiler(main, root=root, font_paths=fonts).query("<mark>", field="value")
            )
            return found

        marks = seen(sections)
        if (tightened := _tightened(sections, marks)) != sections:
            sections, marks = tightened, seen(tightened)
        every = [block for section in sections for block in section.blocks]
        heights = _heights(every, marks)
        for n, block in enumerate(every):
            for part, figure in _figures(block, heights.get(n, 0.0)):
                figure.savefig(root / f"{n}-{part}.svg", format="svg", metadata={"Date": None})
        document |= {"sections": list(_sections(sections)), "final": True, "heights": heights}
        content.write_text(json.dumps(document), encoding="utf-8")
        # Another compiler, as the first one keeps the files that it has read.
        pdf = typst.Compiler(main, root=root, font_paths=fonts).compile(format="pdf", timestamp=stamp)
    assert isinstance(pdf, bytes)
    return pdf


def _fonts(folder: Path) -> typst.Fonts:
    """Return the one family of the document, which comes with matplotlib; in its folder lies a font of last resort."""
    folder.mkdir()
    for face in FACES:
        shutil.copy(Path(mpl.get_data_path(), "fonts", "ttf", face), folder)
    return typst.Fonts(include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(folder)])


# --- Words


def _about(about: About) -> dict[str, object]:
    return {
        "title": printable(about.title),
        "subject": printable(about.subject),
        "keywords": [*map(printable, about.keywords)],
        "head": shortened(about.head, SMALL, 0.65 * TEXT_WIDTH),
        "foot": shortened(about.foot, SMALL, 0.9 * TEXT_WIDTH),
        "alarm": shortened(about.alarm, SMALL, TEXT_WIDTH, "bold"),
    }


def _sections(sections: Sequence[Section]) -> Iterator[dict[str, object]]:
    number = count()
    for section in sections:
        placed = [{"n": next(number), **_as_json(block)} for block in section.blocks]
        yield {"title": shortened(section.title, SMALL, 0.33 * TEXT_WIDTH), "blocks": placed}


def _as_json(block: Block) -> dict[str, object]:
    match block:
        case blocks.Text(text, kind):
            return {"kind": kind, "text": printable(text)}
        case blocks.Warnings(texts):
            return {"kind": "warnings", "texts": [*map(printable, texts)]}
        case blocks.Table(columns, rows, marked, size):
            heads = [{"head": printable(column.head), "right": column.right} for column in columns]
            cells = [[*map(printable, row)] for row in rows]
            return {"kind": "table", "columns": heads, "rows": cells, "marked": sorted(marked), "size": size}
        case Row(panels, least):
            words = [{"title": printable(panel.title), "caption": printable(panel.caption)} for panel in panels]
            shares, alt = [panel.share for panel in panels], "; ".join(word["title"] for word in words)
            return {"kind": "row", "panels": words, "shares": shares, "least": least, "alt": alt}
        case Grid():
            parts = list(block.parts(block.columns))
            above = [printable(head) for head, _ in parts]
            titles = ("; ".join(cell.title for cell in cells if cell.title) for _, cells in parts)
            alts = [printable(title or block.name.replace("_", " ")) for title in titles]
            key = 0.0 if block.key is None else block.key.height
            grid = {"kind": "grid", "heads": above, "alts": alts}
            return {**grid, "least": block.least, "gap": block.gap, "key": key}
        case blocks.Picture(_, height, caption):
            return {"kind": "picture", "least": height, "caption": printable(caption)}
        case blocks.Break():
            return {"kind": "break"}


# --- Heights


def _tightened(sections: Sequence[Section], marks: Sequence[Mapping[str, Any]]) -> list[Section]:
    """Return sections with lower rows where one would go on for a few lines on a page of its own."""
    ends, number, found = _ends(marks), count(), []
    pages = {int(mark["n"]): int(mark["page"]) for mark in marks if mark["kind"] != "begin"}
    for place, section in enumerate(sections):
        numbered = {next(number): block for block in section.blocks}
        contents = [] if place else [-1]  # which stand below the first section
        last = max((pages[n] for n in [*numbered, *contents] if n in pages), default=0)
        lack = ends.get(last, 0.0) - TOP - max(0.0, BOTTOM - ends.get(last - 1, BOTTOM)) + 2 * SLACK
        rows = {n: block for n, block in numbered.items() if isinstance(block, Row) and block.tight}
        rows = {n: row for n, row in rows.items() if pages.get(n) == last - 1}
        gain = sum(row.least - row.tight for row in rows.values())
        part = lack / gain if 0 < lack <= gain else 0.0
        lower = {n: replace(row, least=row.least - part * (row.least - row.tight)) for n, row in rows.items()}
        found.append(replace(section, blocks=[*{**numbered, **lower}.values()]) if part else section)
    return found


def _ends(marks: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Return how far down each page is filled."""
    ends: dict[int, float] = {}
    for mark in marks:
        if mark["kind"] != "begin":
            ends[int(mark["page"])] = max(ends.get(int(mark["page"]), 0.0), float(mark["y"]))
    return ends


def _heights(every: Sequence[Block], marks: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Return how high rows and cells become: what is left of a page is theirs, in equal parts, up to their most."""
    ends, begun = _ends(marks), dict[int, int]()
    units: dict[int, list[int]] = {}  # blocks that can grow by page, once for each row of cells
    for mark in marks:
        page, n = int(mark["page"]), int(mark["n"])
        if mark["kind"] == "begin":
            begun[n] = page
            continue
        block = every[n] if n >= 0 else None
        if mark["kind"] == "end" and isinstance(block, blocks.Table | blocks.Text | blocks.Warnings):
            ends.update(dict.fromkeys(range(begun[n], page), BOTTOM))  # it goes on on the next page
        if isinstance(block, Row) or (isinstance(block, Grid) and mark["kind"] == "part"):
            units.setdefault(page, []).append(n)
    found: dict[int, float] = {}
    for page, here in units.items():
        room = max(0.0, BOTTOM - ends[page] - SLACK)
        for left, n in enumerate(sorted(here, key=lambda n: _growth(every[n]))):
            more = min(_growth(every[n]), room / (len(here) - left))
            room -= more
            least = every[n].least  # type: ignore[union-attr]
            found[n] = min(found.get(n, float("inf")), least + more)  # cells of a grid are all alike
    return found


def _growth(block: Block) -> float:
    return max(0.0, block.most - block.least) if isinstance(block, Row | Grid) else 0.0


# --- Figures


def _figures(block: Block, height: float) -> Iterator[tuple[str, Figure]]:
    match block:
        case Row():
            yield "0", _row(block, height)
        case Grid():
            if block.key is not None:
                yield "key", _row(Row([block.key], block.key.height), block.key.height)
            for place, (_, cells) in enumerate(block.parts(block.columns)):
                yield str(place), _cells(block, cells, height)
        case blocks.Picture(draw, high):
            figure = canvas(high)
            figure.set_layout_engine("constrained")
            draw(figure)
            yield "0", figure


def canvas(height: float, width: float = TEXT_WIDTH) -> Figure:
    """Return a figure of that size in points."""
    figure = Figure(figsize=(width / POINTS, height / POINTS))
    FigureCanvasAgg(figure)  # which can measure letters
    return figure


def _row(row: Row, height: float) -> Figure:
    """Return the figure of a row: panels side by side with their axes in line, without the words around them."""
    figure, left, boxes, drawn = canvas(height), 0.0, [], []
    for panel, width in row.widths():
        boxes.append((left, 0.0, width, height))
        drawn.append(panel.draw(figure.add_axes(fractions(figure, boxes[-1]))))
        left += width + GUTTER
    fit_into(drawn, boxes, row.left)
    return figure


def _cells(grid: Grid, cells: Sequence[Panel], height: float) -> Figure:
    """Return the figure of a row of cells."""
    figure = canvas(height)
    left, bottom, right, top = grid.pads
    width = (TEXT_WIDTH - grid.gap * (grid.columns - 1)) / grid.columns
    for place, cell in enumerate(cells):
        x = place * (width + grid.gap) + left
        box = (x, bottom, width - left - right, height - bottom - top)
        cell.draw(figure.add_axes(fractions(figure, box)))
        if cell.title:
            title = shortened(cell.title, SMALL, width - left)
            figure.text(x / TEXT_WIDTH, 1 - SMALL / height, title, fontsize=SMALL, parse_math=False)
    return figure
