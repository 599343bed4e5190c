"""Reading the project's own documents: blocks of code, commands; the dictionary of results."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holmes_fit.runs.schema import Column, Table, tables

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "reports" / "README.md"
COLUMNS = "## What the columns hold\n\n| column | holds | means |\n|---|---|---|\n"  # the end of that document
KINDS = {"text": "text", "whole": "whole number", "number": "number", "truth": "true or false"}


def blocks(document: str, *languages: str) -> list[str]:
    """Return the fenced blocks of a document that are in these languages, in their order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)[^\n`]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
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


def outputs(document: str) -> list[tuple[str, str]]:
    """Return the commands that a document shows with what they print, and that."""
    pair = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.MULTILINE)
    return [each for block in blocks(document, "console") for each in pair.findall(block)]


def recipe(target: str) -> str:
    """Return what the Makefile does for a target, as in a shell whose path has ``holmes-fit``."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    return str(lines).replace("\t", " ").replace('"$(BIN)/holmes-fit"', "holmes-fit")


def with_dictionary(text: str) -> str:
    """Return ``reports/README.md`` with what the schema says: rows of tables by their command, and all columns."""
    told, _, _ = text.partition(COLUMNS)
    lines: list[str] = []
    commands: list[str] = []
    for line in told.splitlines(keepends=True):
        if line.startswith("**After "):
            commands = re.findall(r"`holmes-fit (\w+)`", line)
        if not set(files_of_row(line)) & set(tables()):
            lines.append(line)
        if line.startswith("|---"):
            lines += [_row(table) for table in tables().values() if table.after in commands]
            commands = []
    return "".join([*lines, COLUMNS, *_columns()])


def _row(table: Table) -> str:
    rest = [f"`{name}`" for name in table.all_columns if name not in table.each]
    more = [table.more] if table.more else []
    each = ", ".join(f"`{name}`" for name in table.each)
    return f"| `{table.file}` | {each} | {table.about}. Columns: {', '.join([*rest, *more])} |\n"


def _columns() -> Iterator[str]:
    """Give a line for each column and meaning; the meaning in most tables comes first, without their names."""
    where: dict[Column, list[str]] = {}
    for table in tables().values():
        for column in table.fields:
            where.setdefault(column, []).append(table.file)
    seen = set()
    for column, files in sorted(where.items(), key=lambda item: (item[0].name, -len(item[1]))):
        several = column.name in seen
        seen.add(column.name)
        of = f" of {', '.join(f'`{file}`' for file in files)}" if several else ""
        yield f"| `{column.name}`{of} | {KINDS[column.kind]} | {column.meaning} |\n"


def files_of_row(line: str) -> list[str]:
    """Return the files that a line is about, if it is the row of a table of files."""
    return re.findall(r"`(\w+\.(?:csv|nc|txt))`", line.split("|")[1]) if line.startswith("|") else []


def run_python(source: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a block as a program of its own, and return its names."""
    names = {"__name__": "__main__"} if names is None else names
    exec(compile(source, "<document>", "exec", dont_inherit=True), names)
    return names


if __name__ == "__main__":
    README.write_text(with_dictionary(README.read_text(encoding="utf-8")), encoding="utf-8")
