"""The text of a report: by its sections, and line by line where it stands."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pypdf import PageObject, PdfReader
from pypdf.generic import ContentStream

WIDTH, HEIGHT, MARGIN = 595.28, 841.89, 54.0  # of a page, in points
HEAD, FOOT = HEIGHT - 60.0, 56.0  # between which there is what pages show
SMALLEST, LEAST_FILLED = 6.99, 1 / 3  # of letters, in points, and of a page


class Placed(NamedTuple):
    """A line of text and its box from the lower left corner of the page, in points."""

    text: str
    size: float
    x0: float
    y0: float
    x1: float
    y1: float
    level: bool


class Font:
    """What the codes of a font mean, and how wide they are."""

    def __init__(self, font: Any):
        found = font["/ToUnicode"].get_data().decode("latin-1")
        pairs = re.findall(r"<([0-9a-fA-F]{4})>\s*<([0-9a-fA-F]+)>", found)
        self.letters = {int(code, 16): bytes.fromhex(text).decode("utf-16-be") for code, text in pairs}
        self.widths: dict[int, float] = {}
        self.space = 0.318  # of DejaVu Sans
        entries = list(font["/DescendantFonts"][0].get_object()["/W"])
        while entries:
            first, then, *entries = entries
            if isinstance(then, list):
                self.widths |= {int(first) + place: float(width) for place, width in enumerate(then)}
            else:
                self.widths |= dict.fromkeys(range(int(first), int(then) + 1), float(entries.pop(0)))

    def read(self, parts: Any) -> tuple[str, float]:
        """Return the text of a line, and its width in parts of its size."""
        text, width = "", 0.0
        for part in parts:
            if isinstance(part, int | float):
                width -= float(part)
                continue
            raw = part.original_bytes if hasattr(part, "original_bytes") else bytes(part)
            for code in np.frombuffer(raw, dtype=">u2").tolist():
                text += self.letters.get(code, "?")
                width += self.widths.get(code, 0.0)
        return text, width / 1000 - (len(text) - len(text.rstrip())) * self.space


def text_by_section(path: Path) -> dict[str, str]:
    return by_section([page.extract_text() for page in PdfReader(path).pages])


def by_section(texts: list[str]) -> dict[str, str]:
    """Return the text of each section, by what stands at the head of its pages."""
    found: dict[str, str] = {}
    for text in texts:
        head = re.search(r" · \d+ (?:person|people) (.+)$", text, re.MULTILINE)
        assert head is not None
        section = head[1]
        found[section] = found.get(section, "") + re.sub(r"\s+", " ", text) + " "
    return found


def placed(page: PageObject) -> list[Placed]:
    """Return every line of text of a page, those of figures included."""
    fonts = {name: Font(font.get_object()) for name, font in page["/Resources"].get("/Font", {}).items()}
    found: list[Placed] = []
    here, kept, font, size = np.eye(3), [], "", 0.0
    text = here
    for operands, operator in ContentStream(page.get_contents(), page.pdf).operations:
        if operator == b"q":
            kept.append(here)
        elif operator == b"Q":
            here = kept.pop()
        elif operator in (b"cm", b"Tm"):
            matrix = np.array([float(value) for value in operands]).reshape(3, 2)
            matrix = np.column_stack([matrix, [0, 0, 1]]) @ here
            here, text = (matrix, text) if operator == b"cm" else (here, matrix)
        elif operator == b"Tf":
            font, size = str(operands[0]), float(operands[1])
        elif operator in (b"TJ", b"Tj"):
            words, width = fonts[font].read(operands[0] if operator == b"TJ" else operands)
            if words.strip():
                _add(found, _placed(words, width, size, text))
    return found


def _add(found: list[Placed], line: Placed) -> None:
    """Add a line, or go on with the last one: figures are written letter by letter."""
    last = found[-1] if found else line
    gap = line.x0 - last.x1
    if found and last.level and abs(last.y0 - line.y0) < 0.01 and -0.1 * line.size < gap < 0.5 * line.size:
        text = f"{last.text}{' ' if gap > 0.2 * line.size else ''}{line.text}"
        found[-1] = last._replace(text=text, x1=line.x1)
    else:
        found.append(line)


def _placed(words: str, width: float, size: float, matrix: np.ndarray) -> Placed:
    across, up = matrix[0, :2] * size, matrix[1, :2] * size
    start = matrix[2, :2]
    # From the foot of small letters to their head: a little less than the letters, which have room for accents.
    corners = np.array([start + part * across * width + high * up for part in (0, 1) for high in (0.05, 0.55)])
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    return Placed(words, float(np.hypot(*up)), x0, y0, x1, y1, level=abs(across[1]) < 1e-6 * abs(across).max())


def faults(pages: Sequence[PageObject]) -> list[tuple[str, str]]:
    """Return what must not be on pages: texts over each other, small ones, and pages that are left near empty.

    The last page of a section may be.
    """
    shown = [placed(page) for page in pages]
    sections = [max((line for line in lines if line.y0 > HEAD), key=lambda line: line.x1).text for lines in shown]
    found = [pair for lines in shown for pair in overlapping(lines)]
    found += [(line.text, f"{line.size:.1f} pt") for lines in shown for line in lines if line.size < SMALLEST]
    for number, (lines, (section, after)) in enumerate(zip(shown, pairwise([*sections, ""]), strict=True), start=1):
        lowest = min((line.y0 for line in lines if FOOT < line.y0 < HEAD), default=HEAD)
        if section == after and (HEAD - lowest) / (HEAD - FOOT) < LEAST_FILLED:
            found.append((f"page {number}, {section}", "near empty"))
    return found


def overlapping(lines: list[Placed]) -> list[tuple[str, str]]:
    """Return the texts beyond the margins, and the pairs that lie over each other; slanted ones are left out."""
    lines = [line for line in lines if line.level]
    found = [(line.text, "margin") for line in lines if line.x0 < MARGIN - 3 or line.x1 > WIDTH - MARGIN + 3]
    for place, one in enumerate(lines):
        for other in lines[:place]:
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            if across > 0.8 and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.3:
                found.append((one.text, other.text))
    return found
