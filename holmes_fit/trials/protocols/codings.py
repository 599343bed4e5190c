"""What the cells of a file mean: the words or numbers of choices and outcomes, and the levels of cues."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from holmes_fit._support.errors import Problem, nearest, shown
from holmes_fit.trials.protocols.base import Codes, Count, Name, Names, Part, instead, not_allowed, unless
from holmes_fit.trials.protocols.layout import OneOrMore

ZERO_ONE = {"0": 0, "1": 1}


class CodingBy(Part):
    """A coding for each value of a column, for keys that were counterbalanced over people."""

    column: Name
    codings: Annotated[dict[Name, Codes], Field(min_length=1)]


def _exactly(value: Any) -> Any:
    if value not in (0, 1, "missing") or isinstance(value, bool | float):
        raise instead(value, "the code of numbers that are exactly at the threshold: 0, 1, or 'missing'")
    return value


Exactly = Annotated[Literal[0, 1, "missing"], BeforeValidator(_exactly)]


class Coding(Part):
    """How the values of a column become 0 and 1."""

    coding: Codes = Field(default_factory=lambda: dict(ZERO_ONE))  # the code of each value
    missing: Names = ()  # values that mean "nothing here", besides an empty cell, ``NA`` and the like
    by: CodingBy | None = None  # codings that depend on another column; then ``coding`` is left out
    # For ratings: numbers above are 1 and numbers below 0, or the other way round, and what is exactly there
    above: Annotated[float | None, Field(exclude_if=unless(None))] = None
    below: Annotated[float | None, Field(exclude_if=unless(None))] = None
    exactly: Annotated[Exactly, Field(exclude_if=unless("missing"))] = "missing"

    @model_validator(mode="after")
    def _one_threshold(self) -> Coding:
        if self.above is not None and self.below is not None:
            allowed = "either above (greater numbers are 1) or below (smaller numbers are 1), not both"
            raise not_allowed(Problem("below", f"{self.below:g}", allowed))
        for other in ("coding", "by"):
            if self.threshold is not None and other in self.model_fields_set and getattr(self, other) is not None:
                raise not_allowed(
                    Problem(other, f"{other} and a threshold", f"either {other} or a threshold, not both")
                )
        if self.threshold is None and "exactly" in self.model_fields_set:
            raise not_allowed(Problem("exactly", shown(self.exactly), "a threshold with it, above or below"))
        return self

    @property
    def threshold(self) -> float | None:
        return self.below if self.above is None else self.above

    @model_validator(mode="after")
    def _one_coding(self) -> Coding:
        if self.by and "coding" in self.model_fields_set:
            raise not_allowed(Problem("coding", shown(self.coding), "either coding or by, not both"))
        coded = {label for codes in self.tables.values() for label in codes if self.threshold is None}
        both = [label for label in self.missing if label in coded]
        if both:
            raise not_allowed(Problem("missing", shown(both), "values that have no code"))
        return self

    @property
    def tables(self) -> dict[str, dict[str, int]]:
        """The codings by the value of ``by.column``; under ``""`` where there is only one."""
        return self.by.codings if self.by else {"": self.coding}


class Feature(Part):
    """A column that is a cue: binary, or categorical with its levels (one-hot), repeated ``copies`` times."""

    levels: Annotated[Names, Field(min_length=2)] | None = None
    coding: Codes | None = None
    copies: Count = 1
    # Names stand for the levels in the order in which they appear, anew for each person and value of these columns
    anew: Annotated[OneOrMore | None, Field(exclude_if=unless(None))] = None

    @model_validator(mode="after")
    def _levels_or_coding(self) -> Feature:
        if self.anew and not self.levels:
            allowed = "levels with it, one for each name that can come up before names begin anew"
            raise not_allowed(Problem("anew", shown(list(self.anew)), allowed))
        if self.levels and self.coding:
            allowed = "either levels (one-hot) or coding (one binary cue), not both"
            raise not_allowed(Problem("coding", shown(self.coding), allowed))
        return self

    @property
    def tidy(self) -> dict[str, int] | dict[str, str]:
        """What the tidy table holds for each value of the column: the code of a binary feature, else the level."""
        if self.levels is None:
            return dict(self._codes)
        return {level: level for level in self.levels}

    @property
    def bits(self) -> dict[str, tuple[int, ...]]:
        """The binary cues by which each value of the column is encoded."""
        if self.levels is None:
            return {label: (code,) * self.copies for label, code in self._codes.items()}
        one_hot = {level: tuple(int(level == other) for other in self.levels) for level in self.levels}
        return {level: code * self.copies for level, code in one_hot.items()}

    @property
    def _codes(self) -> dict[str, int]:
        return self.coding or ZERO_ONE

    @property
    def parts(self) -> tuple[int, ...]:
        """The number of binary cues of each copy."""
        return (1 if self.levels is None else len(self.levels),) * self.copies

    @property
    def width(self) -> int:
        """The number of binary cues."""
        return sum(self.parts)


def from_word(value: Any) -> Any:
    """Return the table for which the word ``"binary"`` stands; other values as they are."""
    if isinstance(value, str):
        if value != "binary":
            raise instead(value, "'binary', or a table with levels, coding or copies", nearest(value, ["binary"]))
        return {}
    return value
