"""The layout engine: pages that are data become a PDF that is full, readable, and the same every time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from pypdf import PdfReader

from holmes_fit.reporting.blocks import (
    About,
    Block,
    Break,
    Grid,
    Panel,
    Picture,
    Row,
    Section,
    Table,
    Text,
    Warnings,
    numbers,
    texts,
)
from holmes_fit.reporting.engine import pdf_of
from holmes_fit.reporting.style import use_style
from tests.report_text import MARGIN, WIDTH, overlapping, placed

ABOUT = About("A study", head="A study · 3 people", foot="Made for a test", alarm="No real data.")
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with use_style():
        yield


def draw(ax: Axes) -> Axes:
    ax.plot([1, 2, 3])
    return ax


def two(figure: FigureBase) -> None:
    for ax in figure.subplots(1, 2):
        ax.set_xlabel("an axis")


def laid_out(*blocks: Block, others: Sequence[Section] = ()) -> PdfReader:
    return PdfReader(BytesIO(pdf_of([Section("First", list(blocks)), *others], ABOUT, WHEN)))


def cells(n: int) -> list[Panel]:
    return [Panel("", draw, f"p{place}") for place in range(n)]


def test_the_same_pages_are_the_same_bytes() -> None:
    sections = [Section("First", [Text("Found", "finding"), Row([Panel("a", draw, "Title", "Caption")], 100, 200)])]
    assert pdf_of(sections, ABOUT, WHEN) == pdf_of(sections, ABOUT, WHEN)
    assert pdf_of(sections, ABOUT) != pdf_of(sections, ABOUT, WHEN)


def test_every_kind_of_block_is_printed_within_the_margins() -> None:
    table = Table([*texts("who"), *numbers("n")], [["s1", "1.0 ± 0.2"], ["s2", "2.0"]], marked=[1])
    reader = laid_out(
        Text("A title", "cover"),
        Text("Words"),
        Warnings(["Careful", "Very"]),
        Row([Panel("a", draw, "One", "Left"), Panel("b", draw, "Two", "Right")], 80),
        Grid("g", cells(5), 3, 60, heads={0: "Group one", 3: "Group two"}),
        table,
        Break(),
        Picture(two, 150, "A picture"),
    )
    first, second = (page.extract_text() for page in reader.pages)
    for words in ("A title", "Words", "Careful", "One", "Right", "Group two", "p4", "1.0 ± 0.2"):
        assert words in first
    assert "A picture" in second
    assert "an axis" in second
    for page in reader.pages:
        assert "No real data." in page.extract_text()
        assert overlapping(placed(page)) == []


def test_nothing_that_anyone_has_written_is_markup() -> None:
    odd = ("#panic()", "$x_1$ *bold* _slanted_", "= Heading", "<script> & @label `code`", "a\\nb // none", "日本 🦄")
    [page] = laid_out(*map(Text, odd), Table(texts("#who"), [[name] for name in odd])).pages
    text = page.extract_text()
    for words in (*odd[:5], "[U+65E5][U+672C] [U+1F984]", "#who"):
        assert text.count(words) >= 1, words


def test_figures_take_the_room_that_a_page_has_left() -> None:
    def bottom(least: float, most: float, n: int = 1) -> float:
        row = Row([Panel("a", draw, "Title", "Below")], least, most)
        [page] = laid_out(*[row] * n).pages
        return min(line.y0 for line in placed(page) if line.text == "Below")

    assert bottom(100, 200) == pytest.approx(bottom(100, 0) - 100, abs=0.1)
    assert 56 < bottom(100, 2000) < 64
    assert 56 < bottom(100, 2000, n=3) < 64


def test_cells_are_lower_where_that_saves_a_page() -> None:
    for least, n_pages in ((85.0, 1), (100.0, 2)):  # of seven rows
        reader = laid_out(Grid("g", cells(14), 2, least, 100.0, gap=10.0))
        assert len(reader.pages) == n_pages
    [page] = laid_out(Grid("g", cells(14), 2, 85.0, 100.0, gap=10.0)).pages
    tops = sorted({line.y0 for line in placed(page) if line.text[:1] == "p"})
    assert tops[1] - tops[0] == pytest.approx(tops[2] - tops[1])  # they are all alike
    assert tops[1] - tops[0] > 95 + 1


def test_a_grid_goes_on_with_its_key_on_every_page() -> None:
    key = Panel("key", lambda ax: ax.text(0, 0, "what marks mean").axes, height=14)  # type: ignore[arg-type,return-value]
    reader = laid_out(Grid("g", cells(40), 2, 90, key=key, heads={0: "One", 21: "Two"}))
    assert len(reader.pages) > 2
    for page in reader.pages:
        assert "what marks mean" in page.extract_text()
    text = " ".join(page.extract_text() for page in reader.pages)
    assert re.findall(r"\bp(\d+)", text) == [str(place) for place in range(40)]


def test_a_large_grid_is_several_files_none_of_which_goes_on_below_a_heading() -> None:
    key = Panel("key", draw, height=14)
    shown = [replace(cell, table=pd.DataFrame({"n": [place]})) for place, cell in enumerate(cells(7))]
    found_key, *files = Grid("g", shown, 2, 50, heads={0: "One", 4: "Two"}, key=key, part=3).files()
    assert found_key is key
    assert [file.name for file in files] == ["g_1", "g_2", "g_3"]
    assert [list(file.table["n"]) for file in files if file.table is not None] == [[0, 1, 2], [3], [4, 5, 6]]


def test_long_tables_repeat_their_heads_and_keep_numbers_whole() -> None:
    heads = [f"model number {place}" for place in range(6)]
    rows = [["n" * 80, *["0.024 (100%)"] * 6]] * 150
    reader = laid_out(Table([*texts("person"), *numbers(*heads)], rows))
    assert len(reader.pages) > 1
    for page in reader.pages:
        lines = placed(page)
        assert "person" in {line.text for line in lines}
        assert overlapping(lines) == []
        assert all(line.text == "0.024 (100%)" for line in lines if "0.024" in line.text)


def test_numbers_take_several_lines_where_there_is_no_room() -> None:
    heads = [f"model number {place}" for place in range(9)]
    [page] = laid_out(Table([*texts("model"), *numbers(*heads)], [["a name of a model", *["0.024 (100%)"] * 9]])).pages
    lines = placed(page)
    assert overlapping(lines) == []
    assert sum("0.024" in line.text for line in lines) == 9
    assert max(line.x1 for line in lines) < WIDTH - MARGIN + 1


def test_rows_are_lower_where_that_saves_a_page() -> None:
    for tight, n_pages in ((0.0, 2), (100.0, 1), (145.0, 2)):
        rows = [Row([Panel("one", draw)], 150, tight=tight)] * 4
        assert len(laid_out(*rows, *[Text("Words")] * 6).pages) == n_pages


def test_no_row_of_a_table_is_alone_on_a_page() -> None:
    left = set()
    for n in range(54, 62):  # of which 56 are on one page
        pages = laid_out(Table(texts("name"), [[f"row {place}"] for place in range(n)], size=12.0)).pages
        if len(pages) > 1:
            left.add(pages[-1].extract_text().count("row "))
    assert min(left) == 2


def test_heads_of_columns_take_two_lines_at_most() -> None:
    for head in ("log lik., ML", "spread over people", "Pareto k > .7", "accuracy"):
        [page] = laid_out(Table([*numbers(head), *texts("x")], [["1", "y"]], size=7.0)).pages
        inside = [line for line in placed(page) if any(line.text.strip() in part for part in (head,))]
        assert len({round(line.y0) for line in inside if line.size < 7.4}) <= 2 + 1  # and the row


def test_sections_are_bookmarks_and_linked_from_the_first_page() -> None:
    others = [Section("Second", [Text("Words"), Text("A part", "heading"), Text("More")]), Section("Third", [])]
    reader = laid_out(Text("Words"), others=others)
    titles = [entry["/Title"] for entry in reader.outline if not isinstance(entry, list)]
    assert titles == ["First", "Second", "Third"]
    assert "In this report: Second 2 · Third 3" in reader.pages[0].extract_text()
    assert len(reader.pages[0]["/Annots"]) == 2  # type: ignore[arg-type]


def test_figures_have_a_text_in_their_place() -> None:
    cells = [Panel("", lambda ax: ax, title) for title in ("flat", "HOLMES")]
    grid = Grid("of_models", cells, 2, 60, heads={0: "Curves"})
    reader = laid_out(grid, Row([Panel("one", lambda ax: ax, "How many"), Panel("two", lambda ax: ax, "How sure")], 60))
    assert set(alternatives(reader.root_object["/StructTreeRoot"])) == {"flat; HOLMES", "How many; How sure"}


def alternatives(element: Any) -> Iterator[str]:
    """Give the alternative texts of a tagged PDF."""
    element = element.get_object()
    if isinstance(element, list):
        for each in element:
            yield from alternatives(each)
    elif isinstance(element, dict):
        if "/Alt" in element:
            yield str(element["/Alt"])
        if "/K" in element:
            yield from alternatives(element["/K"])
