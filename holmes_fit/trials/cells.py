"""What the text of a cell means: a number, a label of the protocol, or nothing."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

MISSING = -1
UNKNOWN = -2

# Compared without blanks and in lower case, and only where the protocol gives the word no other meaning.
NOTHING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "."})

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


def is_nothing(text: str) -> bool:
    """Return whether a cell is empty or says so."""
    return text.strip().lower() in NOTHING


def number(text: str) -> float | None:
    """Return the finite number that a cell holds, with a decimal point or a decimal comma, or ``None``."""
    text = text.strip()
    if len(text) > 400 or not _NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", "."))
    return value if math.isfinite(value) else None


def numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the number in each text, NaN where there is none."""
    return np.array([np.nan if (value := number(text)) is None else value for text in texts], dtype=np.float64)


def match_labels(texts: Sequence[str], labels: Sequence[str], missing: Iterable[str] = ()) -> NDArray[np.int32]:
    """Return, for each text, the number of the label that it is, ``MISSING`` or ``UNKNOWN``.

    A label is found by its text, without blanks around it, or by its number: ``1.0`` is the label ``1``.
    """
    by_text = {label: i for i, label in reversed(list(enumerate(labels)))}
    by_number = {value: i for label, i in by_text.items() if (value := number(label)) is not None}
    by_text = {label.strip(): i for label, i in by_text.items()} | by_text
    nothing = {text.strip() for text in missing}
    return np.array([_match(text, by_text, by_number, nothing) for text in texts], dtype=np.int32)


def _match(text: str, by_text: dict[str, int], by_number: dict[float, int], nothing: set[str]) -> int:
    if text in by_text:  # a label may have blanks of its own
        return by_text[text]
    text = text.strip()
    if text in by_text:
        return by_text[text]
    if text in nothing or text.lower() in NOTHING:
        return MISSING
    value = number(text)
    return UNKNOWN if value is None else by_number.get(value, UNKNOWN)
