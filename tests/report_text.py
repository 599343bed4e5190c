"""The text of a report, by its sections."""

from __future__ import annotations

import re
from pathlib import Path

from pypdf import PdfReader


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
