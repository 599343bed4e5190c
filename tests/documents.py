"""Reading the project's own documents: blocks of code, commands, and which columns of results are explained."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def blocks(document: str, *languages: str) -> list[str]:
    """Return the fenced blocks of a document that are in these languages, in their order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [content for name, content in fenced if name in languages]


def contracts() -> dict[str, dict[str, Any]]:
    """Return the contracts on imports in ``pyproject.toml``, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["id"]: each for each in project["tool"]["importlinter"]["contracts"]}


def picture_of_rooms() -> str:
    """Return the flow between rooms as a Mermaid diagram: from each to the next one down that it may import."""
    found = contracts()
    layers = [re.findall(r"\w+", layer) for layer in found["rooms"]["layers"]]
    refused = {
        (source.rpartition(".")[2], forbidden.rpartition(".")[2])
        for each in found.values()
        if each["type"] == "forbidden"
        for source in each["source_modules"]
        for forbidden in each["forbidden_modules"]
    }
    lines = ["flowchart TD"]
    for number, layer in enumerate(layers):
        for room in layer:
            reached = ([lower for lower in below if (room, lower) not in refused] for below in layers[number + 1 :])
            lines += [f"    {room} --> {' & '.join(lowers)}" for lowers in reached if lowers][:1]
    return "\n".join(lines) + "\n"


def commands(block: str) -> list[str]:
    """Return the commands of a block, without prompts, comments, continued lines and what follows a pipe."""
    lines = block.replace("\\\n", " ").splitlines()
    bare = (re.sub(r"\s#.*|\s\|.*", "", line) for line in lines)
    return [command.strip() for line in bare for command in line.removeprefix("$ ").split("&&") if command.strip()]


def recipe(target: str) -> str:
    """Return what the Makefile does for a target, as in a shell whose path has ``holmes-fit``."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    return str(lines).replace("\t", " ").replace('"$(BIN)/holmes-fit"', "holmes-fit")


def unexplained(file: str, columns: Iterable[str]) -> list[str]:
    """Return the columns of a file of results that ``reports/README.md`` does not explain.

    It may do so in the row of the file, in that of a file whose columns it says are the same, or around the tables. A
    name such as ``..._error`` is an ending, which explains what comes after a name that is explained.
    """
    text = (ROOT / "reports" / "README.md").read_text(encoding="utf-8").partition("## What a run folder holds")[2]
    everywhere, *sections = re.split(r"^(?=\*\*After )", text, flags=re.MULTILINE)
    rows = {name: line for line in text.splitlines() for name in files_of_row(line)}
    read = [everywhere]
    if file in rows:
        read += [rows[file], *(rows[name] for name in re.findall(r"as in `([\w.]+)`", rows[file]))]
        (section,) = [part for part in sections if rows[file] in part]
        read += [line for line in section.splitlines() if not files_of_row(line)]
    names = set(re.findall(r"`([\w.]+)`", "\n".join(read)))
    endings = [name.removeprefix("...") for name in names if name.startswith("...")]
    names |= {f"{name}{ending}" for name in names for ending in endings}
    return [column for column in columns if column not in names]


def files_of_row(line: str) -> list[str]:
    """Return the files that a line is about, if it is the row of a table of files."""
    return re.findall(r"`(\w+\.(?:csv|nc|txt))`", line.split("|")[1]) if line.startswith("|") else []


def run_python(source: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a block as a program of its own, and return its names."""
    names = {"__name__": "__main__"} if names is None else names
    exec(compile(source, "<document>", "exec", dont_inherit=True), names)
    return names
