"""The exceptions of holmes_fit: what was wrong, where, and what to do about it.

A user's mistake is an :class:`InputError`. It carries every problem that was found, not only the first one, so that
a file or a call is put right in one go. The command line prints it without a traceback and exits with code 2.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType

PLACES = 5  # of a problem that comes again and again
ROW = re.compile(", row [0-9]+")


class HolmesFitError(Exception):
    """Base of every exception that holmes_fit raises on purpose."""

    __module__ = "holmes_fit"  # where users find it


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the input."""

    where: str  # the place: ``"argument alpha"`` or ``"pilot.csv, row 12, column choice"``
    seen: str  # the value that was found there
    allowed: str  # what would have been accepted
    advice: str = ""  # what to do next, where that is not obvious

    def __str__(self) -> str:
        text = f"{self.where}: saw {self.seen}; allowed: {self.allowed}."
        return f"{text} {self.advice}" if self.advice else text


class InputError(HolmesFitError, ValueError):
    """Bad input. ``problems`` lists everything that was found."""

    __module__ = "holmes_fit"  # where users find it

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        super().__init__("\n".join(folded(self.problems)))


def folded(problems: Iterable[Problem]) -> list[str]:
    """Say each problem once, with the first of its places where there are several; programs have them all.

    Of problems in one column that differ only in what was seen, the first ones are said, and how many there are.
    """
    places: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for problem in problems:
        places[problem.seen, problem.allowed, problem.advice][problem.where] += 1
    alike: dict[tuple[str, str], list[str]] = {}
    for (seen, allowed, advice), times in places.items():
        where = [place if n == 1 else f"{place} ({n:,} times)" for place, n in times.items()]
        more = f" and {len(where) - PLACES:,} more places" if len(where) > PLACES else ""
        text = in_one_line(Problem("; ".join(where[:PLACES]) + more, seen, allowed, advice))
        alike.setdefault((ROW.sub("", where[0]) if ROW.search(where[0]) else text, allowed), []).append(text)
    for (place, _), texts in alike.items():
        if len(texts) > PLACES:
            texts[PLACES:] = [f"{place}: {len(texts) - PLACES:,} more like these."]
    return [text for texts in alike.values() for text in texts]


@dataclass
class Problems:
    """Collects problems, to be raised all at once."""

    found: list[Problem] = field(default_factory=list)

    def add(self, where: str, seen: object, allowed: str, advice: str = "") -> None:
        self.found.append(Problem(where, shown(seen), allowed, advice))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what is refused within; then what would have come of it is missing."""
        try:
            yield
        except InputError as error:
            self.found += error.problems

    def raise_if_any(self) -> None:
        if self.found:
            raise InputError(self.found)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.found)

    def __bool__(self) -> bool:
        return bool(self.found)


def shown(value: object, limit: int = 80) -> str:
    """Return ``value`` as it can be printed in one line of a message: quoted, escaped, and not too long."""
    if isinstance(value, Quoted):
        return plain(value, limit=400)
    text = repr(value)
    return plain(text if text.isprintable() else " ".join(text.split()), limit)  # a table has lines of its own


class Quoted(str):
    """Text that a message shows as it is, without quotation marks around it."""


def plain(text: str, limit: int = 60) -> str:
    """Return a name as it can stand in one line of a message: as it is, or escaped where it cannot be printed."""
    safe = text if text.isprintable() else repr(text)
    return safe if len(safe) <= limit else f"{safe[: limit - 1]}…"


def for_terminal(text: str) -> str:
    """Return lines of text with all that could steer a terminal, or cannot be seen, written out as escapes."""
    if all(line.isprintable() for line in text.split("\n")):
        return text
    steers = {letter for letter in set(text) if not letter.isprintable() and letter not in "\n\t"}
    return text.translate({ord(letter): letter.encode("unicode_escape").decode() for letter in steers})


def in_one_line(message: object) -> str:
    """Return a message as a terminal can show it, without line breaks and control characters."""
    return plain(str(message), limit=5000)


def check_kind(name: str, value: object, kind: type | UnionType, allowed: str, problems: Problems) -> bool:
    """Check that an argument is of some kind, such as ``Mapping | None``, and return whether it is."""
    if not isinstance(value, kind):
        problems.add(f"argument {name}", value, allowed)
    return isinstance(value, kind)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"Did you mean 'x'?"`` for the nearest known name, or nothing where none is near."""
    spelt = {each.casefold(): each for each in known}
    matches = get_close_matches(str(name).casefold(), spelt, n=1, cutoff=0.6)
    return f"Did you mean {spelt[matches[0]]!r}?" if matches else ""
