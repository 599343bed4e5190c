"""What a command says: to people as it goes along, to programs as one JSON object at the end."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holmes_fit._support.errors import InputError, Problem, folded, for_terminal, in_one_line, plain

if TYPE_CHECKING:
    import pandas as pd

FINE, FAILED, BAD_INPUT, WITH_WARNINGS, INTERRUPTED = 0, 1, 2, 3, 130


@dataclass
class Output:
    """What one command says.

    Findings go to standard output; whatever accompanies them to standard error. With ``--json``, standard output has
    one object and nothing else.
    """

    as_json: bool = False
    quiet: bool = False  # print nothing but problems, and what was asked for as JSON
    command: str = ""  # its name, once it has begun
    when_stopped: str = "Stopped."  # for someone who stops it
    options: Mapping[str, str] = field(default_factory=dict)  # what Python users know as an argument: its option
    _facts: dict[str, object] = field(default_factory=dict)
    _problems: list[Problem] = field(default_factory=list)
    _warnings: list[str] = field(default_factory=list)
    _errors: list[str] = field(default_factory=list)
    _written: list[Path] = field(default_factory=list)
    _next: list[str] = field(default_factory=list)
    _unprinted: OSError | None = None  # why standard output does not have what was found

    def safe_in(self, folder: Path) -> None:
        """Let someone who stops the command know how to go on."""
        where = plain(str(folder), limit=300)
        self.when_stopped = f"Stopped. What is done is safe in {where}; the same command goes on from there."

    def found(self, text: str | Iterable[str] = "", **facts: object) -> None:
        """Say what was found: a text, or lines, for people, and facts for programs."""
        if text and not self.quiet:
            self.give(text)
        self._facts |= facts

    def give(self, text: str | Iterable[str]) -> None:
        """Print what was asked for, even if quiet."""
        if not self.as_json:
            try:
                _print(_joined(text))
            except OSError as error:  # what is done is done, and the rest can be said all the same
                self._unprinted = error

    def note(self, text: str | Iterable[str]) -> None:
        """Say what is being done."""
        if not self.quiet:
            _print(_joined(text), err=True)

    def warn(self, text: str | Iterable[str]) -> None:
        """Say what must be known before anything is used. The command then ends with exit code 3."""
        self._warnings.append(_joined(text))
        _print(self._warnings[-1], err=True)

    def fail(self, text: str) -> None:
        """Say why there is no result."""
        _print(text, err=True)
        self._errors.append(text)

    def refuse(self, error: InputError) -> None:
        """Say everything that is wrong with the input."""
        problems = [self._of_options(problem) for problem in error.problems]
        self.fail("\n".join(folded(problems)))
        self.problems(problems)

    def _of_options(self, problem: Problem) -> Problem:
        """Return a problem that speaks of options where it spoke of arguments, as Python users call them."""

        def named(text: str) -> str:
            return re.sub(r"\bargument (\w+)", lambda found: self.options.get(found[1], found[0]), text)

        where, allowed, advice = map(named, (problem.where, problem.allowed, problem.advice))
        return replace(problem, where=where, allowed=allowed, advice=advice)

    def problems(self, problems: Iterable[Problem]) -> None:
        """Keep what is wrong with the input, for programs."""
        self._problems += problems

    def wrote(self, *paths: Path, silently: bool = False) -> None:
        """Name files that were written; silently if a text names them."""
        for path in () if silently else paths:
            self.note(f"wrote {plain(str(path), limit=300)}")
        self._written += paths

    def next(self, *commands: str) -> None:
        """Say how one would go on."""
        self.note(["Next:", *(f"  {plain(command, limit=500)}" for command in commands)])
        self._next += commands

    def may_ask(self) -> bool:
        """Whether somebody is there who sees a question and can answer it."""
        return not (self.as_json or self.quiet) and sys.stdin.isatty() and sys.stdout.isatty()

    @property
    def exit_code(self) -> int:
        """The exit code of a command that has done its work."""
        return WITH_WARNINGS if self._warnings else FINE

    def end(self, exit_code: int) -> None:
        """Print the JSON object if one is wanted. Help, and the like, have none."""
        if self._unprinted is not None:
            raise self._unprinted
        if not self.as_json or not (self.command or exit_code):
            return
        document = {
            "command": self.command,
            "exit_code": exit_code,
            "error": "\n".join(self._errors or map(in_one_line, self._problems)) or None,
            "problems": [asdict(problem) for problem in self._problems],
            "warnings": self._warnings,
            "written": self._written,
            "next": self._next,
            **self._facts,
        }
        # JSON escapes all that could steer a terminal, if nothing but ASCII is wanted; DEL alone it forgets.
        text = json.dumps(_as_json(document), indent=2, allow_nan=False).replace("\x7f", "\\u007f")
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()  # while somebody can still say that nobody reads


def shell(command: str, *arguments: object) -> str:
    """Return a command as one types it."""
    return shlex.join(["holmes-fit", command, *map(str, arguments)])


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as a list of its rows."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _print(text: str, err: bool = False) -> None:
    typer.echo(for_terminal(text), err=err)


def _joined(text: str | Iterable[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def counted(n: float, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 trial``, ``2 trials``."""
    return f"{n:,.0f} {one if n == 1 else many or f'{one}s'}"


def _as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: what is missing or not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)
