"""Reading the project's own documents: the blocks of code in them, and the commands in these."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def blocks(document: str, *languages: str) -> list[str]:
    """Return the fenced blocks of a document that are in these languages, in their order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [content for name, content in fenced if name in languages]


def commands(block: str) -> list[str]:
    """Return the commands of a block, without prompts, comments, continued lines and what follows a pipe."""
    lines = block.replace("\\\n", " ").splitlines()
    bare = (re.sub(r"\s#.*|\s\|.*", "", line) for line in lines)
    return [command.strip() for line in bare for command in line.removeprefix("$ ").split("&&") if command.strip()]


def run_python(source: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a block as a program of its own, and return its names."""
    names = {"__name__": "__main__"} if names is None else names
    exec(compile(source, "<document>", "exec", dont_inherit=True), names)
    return names
