"""Text as it can be printed: characters that the font has, names that fit, numbers with the digits they deserve."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import numpy as np
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font, LoadFlags

from holmes_fit._support.numbers import MISSING

Weight = Literal["normal", "bold"]
WEIGHTS: tuple[Weight, ...] = ("normal", "bold")

ELLIPSIS = "…"
LONGEST = 40  # characters of a name in a sentence
FAMILY = "DejaVu Sans"  # comes with matplotlib, so that reports look the same everywhere


@lru_cache
def _font(weight: Weight) -> FT2Font:
    return get_font(findfont(FontProperties(family=FAMILY, weight=weight)))


@lru_cache(maxsize=4096)
def _advance(character: str, weight: Weight) -> float:
    """Return how wide a character is, in parts of the size of the font."""
    font = _font(weight)
    glyph = font.load_char(ord(character), flags=LoadFlags.NO_SCALE)
    return float(glyph.horiAdvance / font.units_per_EM)


@lru_cache(maxsize=4096)
def _has(character: str) -> bool:
    return character.isprintable() and all(_font(weight).get_char_index(ord(character)) for weight in WEIGHTS)


def printable(text: object) -> str:
    """Return a text in characters that the font has; others, such as emoji, by their number in Unicode."""
    words = str(text)
    if words.isascii() and words.isprintable():
        return words
    return "".join(character if _has(character) else f"[U+{ord(character):04X}]" for character in words)


def width_of(text: str, size: float, weight: Weight = "normal") -> float:
    """Return how wide a printable text is, in points."""
    return size * sum(_advance(character, weight) for character in text)


def wrapped(text: str, size: float, width: float, weight: Weight = "normal") -> list[str]:
    """Break a printable text into lines of at most ``width`` points; words that are longer are broken, too."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.append("")
        for word in paragraph.split():
            longer = f"{lines[-1]} {word}".lstrip()
            if width_of(longer, size, weight) <= width:
                lines[-1] = longer
            else:
                before = [lines.pop()]
                lines += [*filter(None, before), *_pieces(word, size, width, weight)]
    return lines


def _pieces(word: str, size: float, width: float, weight: Weight) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and width_of(pieces[-1] + character, size, weight) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def shortened(text: object, size: float, width: float, weight: Weight = "normal") -> str:
    """Return a printable text of at most ``width`` points: as it is, or its beginning and end about an ellipsis."""
    words = printable(text)
    if width_of(words, size, weight) <= width:
        return words
    low, high = 1, len(words)  # how many characters stay; the end of a name often tells people apart
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(_middle_out(words, middle), size, weight) <= width:
            low = middle
        else:
            high = middle - 1
    return _middle_out(words, low)


def brief(name: object, longest: int = LONGEST) -> str:
    """Return a name as it stands in a sentence: whole, unless it is longer than names should be."""
    words = printable(name)
    return words if len(words) <= longest else _middle_out(words, longest - 1)


def _middle_out(words: str, kept: int) -> str:
    tail = kept // 3
    return f"{words[: kept - tail].rstrip()}{ELLIPSIS}{words[len(words) - tail :].lstrip() if tail else ''}"


def short_names(names: Iterable[str], size: float, width: float) -> dict[str, str]:
    """Return a short name for each, all of them different."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, number = shortened(name, size, width), 1
        while short in found.values():
            number += 1
            mark = f"{ELLIPSIS}({number})"
            short = f"{shortened(name, size, width - width_of(mark, size))}{mark}"
        found[name] = short
    return found


# --- Numbers


def number(value: float, digits: int = 3) -> str:
    """Return a number with that many significant digits, at most; a dash if there is none."""
    if not np.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    magnitude = int(np.floor(np.log10(abs(float(f"{value:.{digits - 1}e}")))))
    if magnitude < -4:
        return _minus(f"{value:.{digits - 1}g}")
    return _minus(f"{value:,.{max(0, digits - 1 - magnitude)}f}")


def fixed(value: float, places: int = 2) -> str:
    """Return a number with that many decimal places; a dash if there is none."""
    return _minus(f"{round(value, places) + 0.0:,.{places}f}") if np.isfinite(value) else MISSING


def whole(value: float) -> str:
    """Return a count; a dash if there is none."""
    return fixed(value, 0)


def signed(value: float, places: int = 1) -> str:
    """Return a number with its sign; 0 has none."""
    if not np.isfinite(value):
        return MISSING
    rounded = round(value, places) + 0.0
    return _minus(f"{rounded:+,.{places}f}") if rounded else fixed(0.0, places)


def count(value: float, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``"1 person"``, ``"25 people"``."""
    noun = one if value == 1 else many or f"{one}s"
    return f"{value:,.0f} {noun}"


def people(value: float) -> str:
    """Return a number of people in words."""
    return count(value, "person", "people")


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    stripped = text.strip()
    if not stripped:
        return ""
    return capital(stripped) + ("" if stripped[-1] in ".!?" else ".")


def _minus(text: str) -> str:
    return text.replace("-", "−")
