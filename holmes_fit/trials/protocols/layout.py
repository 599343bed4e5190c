"""How rows and columns lie in a file: what orders trials, which rows count, and columns that are made of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from holmes_fit._support.errors import Problem, nearest, plain, shown
from holmes_fit.trials.protocols.base import Name, Names, Part, instead, not_allowed

Kind = Literal["whole", "decimal", "time", "day first", "month first"]
KINDS: tuple[Kind, ...] = get_args(Kind)
BY_FILE = "file"


def _one_or_more(value: Any) -> Any:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return (str(value),)
    if not isinstance(value, list | tuple) or not value:
        raise instead(value, "a name, or a list of names")
    return tuple(value)


def _as_written(names: tuple[str, ...]) -> str | tuple[str, ...]:
    return names[0] if len(names) == 1 else names


# A name or a list of names in the TOML; always a tuple here
OneOrMore = Annotated[Names, BeforeValidator(_one_or_more), PlainSerializer(_as_written)]


def _known_order(value: Any) -> str | dict[str, Any]:
    if isinstance(value, dict):
        return {name: _known_kind(name, kind) for name, kind in value.items()}
    if value not in (*KINDS, BY_FILE):
        allowed = f"one of {', '.join((*KINDS, BY_FILE))}, or a table with one of {', '.join(KINDS)} for a column"
        raise instead(value, allowed, nearest(str(value), (*KINDS, BY_FILE)))
    return str(value)


def _known_kind(name: str, kind: Any) -> str | tuple[str, ...]:
    if isinstance(kind, list | tuple) and kind and all(isinstance(word, str) and word for word in kind):
        if len(set(kind)) == len(kind):
            return tuple(kind)
        raise not_allowed(Problem(name, shown(list(kind)), "each word once"))
    if kind not in KINDS:
        allowed = f"one of {', '.join(KINDS)}, or a list of words in their order"
        raise not_allowed(Problem(name, shown(kind), allowed, nearest(str(kind), KINDS)))
    return str(kind)


# What the columns of ``trial`` hold: one kind for all of them, or a table by their names
Order = Annotated[Kind | Literal["file"] | dict[str, Kind | tuple[str, ...]], BeforeValidator(_known_order)]


class RowRule(Part):
    """Which cells of a column a rule is about: some values, a range, or the empty ones. Any of them will do."""

    values: Names = ()
    min: float | None = None  # both ends belong to the range
    max: float | None = None
    empty: bool | None = None  # true: empty cells; false: those that are not

    @model_validator(mode="before")
    @classmethod
    def _from_values(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        values = value if isinstance(value, list | tuple) else (value,)
        odd = [
            each for each in values if isinstance(each, bool) or not isinstance(each, str | int | float) or each == ""
        ]
        if odd or not values:
            advice = "A cell with the word true is 'true', and an empty one { empty = true }."
            raise instead(value, "text or a number, a list of them, or a table with min, max or empty", advice)
        return {"values": tuple(values)}

    @model_validator(mode="after")
    def _says_something(self) -> RowRule:
        if not (self.values or self.has_range or self.empty is not None):
            raise instead(self.written, "a value, a list of values, or a table with min, max or empty")
        if self.min is not None and self.max is not None and self.max < self.min:
            raise not_allowed(Problem("max", f"{self.max:g}", f"at least min, {self.min:g}"))
        if self.empty is False and (self.values or self.has_range):
            raise not_allowed(Problem("empty", "false", "empty = false alone, as it means every cell with an entry"))
        return self

    @property
    def has_range(self) -> bool:
        return self.min is not None or self.max is not None

    @property
    def written(self) -> dict[str, Any]:
        return self.model_dump(exclude_defaults=True)

    def __str__(self) -> str:
        """Return the rule in words, as in ``'practice', from 1 to 10, empty``."""
        ends = [f"from {self.min:g}"] if self.min is not None else []
        ends += [f"to {self.max:g}"] if self.max is not None else []
        parts = [*map(repr, self.values), *([" ".join(ends)] if ends else [])]
        if self.empty is not None:
            parts.append("empty" if self.empty else "not empty")
        return ", ".join(parts)


class Rows(Part):
    """The rows that count, by the columns that say so: those that every ``keep`` allows and no ``drop`` names."""

    keep: dict[Name, RowRule] = Field(default_factory=dict)
    drop: dict[Name, RowRule] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_contradiction(self) -> Rows:
        problems = []
        for name in self.keep.keys() & self.drop.keys():
            keep, drop = self.keep[name], self.drop[name]
            both = [value for value in keep.values if value in drop.values]
            if both or keep == drop:
                seen = ", ".join(map(repr, both)) or str(drop)
                problems.append(Problem(f"drop.{plain(name)}", seen, "something that is not kept by the same column"))
        if problems:
            raise not_allowed(*problems)
        return self

    @property
    def rules(self) -> Iterator[tuple[str, str, RowRule]]:
        """What a rule does, to which column, and to which cells, in the order in which rules are applied."""
        yield from (("keep", name, rule) for name, rule in self.keep.items())
        yield from (("drop", name, rule) for name, rule in self.drop.items())


def _span(value: Any) -> tuple[int, int]:
    places = value if isinstance(value, list | tuple) else (value, value)
    whole = [place for place in places if isinstance(place, int) and not isinstance(place, bool) and place >= 1]
    if len(places) != 2 or len(whole) != 2 or places[1] < places[0]:
        raise instead(value, "a place from 1 on, or the first and the last one, as in [1, 3]")
    return places[0], places[1]


Span = Annotated[tuple[int, int], BeforeValidator(_span)]


class NewColumn(Part):
    """A column made of others: of the first that is not empty, or of the file's name; whole, or a part of its cell."""

    of: OneOrMore | None = None
    file_name: bool = False
    separator: Annotated[str, Field(min_length=1)] | None = None
    part: Annotated[int, Field(ge=-100, le=100)] | None = None  # counts from 1, or from the end with -1
    characters: Span | None = None  # the first and the last one that belong to it, counted from 1

    @model_validator(mode="after")
    def _one_source_and_one_part(self) -> NewColumn:
        if bool(self.of) == self.file_name:
            seen = shown(list(self.of)) if self.of else "nothing"
            raise not_allowed(Problem("of", seen, "a column or several, or file_name = true instead"))
        if self.separator is not None and self.characters is not None:
            raise not_allowed(Problem("characters", shown(self.characters), "either separator and part, or characters"))
        if (self.separator is None) != (self.part is None):
            lacking = "part" if self.part is None else "separator"
            allowed = "separator and part together, as in separator = '-', part = 1"
            raise not_allowed(Problem(lacking, "nothing", allowed))
        if self.part == 0:
            raise not_allowed(Problem("part", "0", "1 for the first part, 2 for the second, -1 for the last"))
        return self

    @property
    def is_part(self) -> bool:
        return self.part is not None or self.characters is not None

    def part_of(self, text: str) -> str | None:
        """Return the part of a text, without blanks around it, or nothing if the text lacks it."""
        if self.part is not None and self.separator is not None:
            pieces = text.split(self.separator)
            number = self.part - 1 if self.part > 0 else self.part
            return pieces[number].strip() if -len(pieces) <= number < len(pieces) else None
        if self.characters is not None:
            first, last = self.characters
            text = text.strip()
            return text[first - 1 : last] if last <= len(text) else None
        return text

    def __str__(self) -> str:
        """Return in words which part it is."""
        if self.part is not None:
            return f"part {self.part} between {self.separator!r}"
        first, last = self.characters or (0, 0)
        return f"character {first}" if first == last else f"characters {first} to {last}"


_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def placeholders(pattern: str) -> tuple[str, ...]:
    """Return the names in braces, as ``trial`` in ``"answer_{trial}"``: columns of whole numbers."""
    return tuple(_PLACEHOLDER.findall(pattern))


def matcher(pattern: str) -> re.Pattern[str]:
    """Return what finds the columns of a pattern; its groups are the numbers in the place of the names."""
    texts = _PLACEHOLDER.split(pattern)[::2]
    return re.compile("([0-9]{1,9})".join(map(re.escape, texts)), re.ASCII)


def _patterns(wide: dict[str, str]) -> dict[str, str]:
    problems = []
    first = placeholders(next(iter(wide.values()), ""))
    for name, pattern in wide.items():
        found = placeholders(pattern)
        if not found or not all(found) or len(set(found)) < len(found):
            allowed = "the name of a column with its number in braces, as in 'answer_{trial}'"
            problems.append(Problem(plain(name), repr(pattern), allowed))
        elif set(found) != set(first):
            allowed = f"the same names in braces as in the first line: {', '.join(first)}"
            problems.append(Problem(plain(name), repr(pattern), allowed))
        elif name in found:
            problems.append(Problem(plain(name), repr(pattern), "a name in braces that no other column has"))
    if problems:
        raise not_allowed(*problems)
    return wide


# The columns of a table that has a column a trial: the name of each when the table is long, and its pattern
Wide = Annotated[dict[Name, Name], AfterValidator(_patterns)]
