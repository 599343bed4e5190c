"""The protocol: which columns a file has, how they are coded, what is left out, and how trials are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from holmes_fit._support.errors import Problem, nearest, shown
from holmes_fit.trials.protocols.base import Codes, Count, Name, Names, Part, Proportion, instead, not_allowed
from holmes_fit.trials.protocols.designs import RESTARTS, Design

CodedColumn = Literal["choice", "outcome", "correct", "feedback"]

# The columns of the tidy trial table that no feature, covariate or restart column may take for something else.
RESERVED = ("subject", "restart", "trial", "choice", "outcome", "feedback", "excluded_choice")

ZERO_ONE = {"0": 0, "1": 1}

_RENAMED = {f"columns.{role}" for role in ("subject", "trial", "choice", "outcome", "correct", "feedback")}


class Columns(Part):
    """The names that a file gives to its columns."""

    subject: Name = "subject"
    trial: Name = "trial"
    choice: Name = "choice"
    outcome: Name | None = None
    correct: Name | None = None
    feedback: Name | None = None
    covariates: Names = ()
    optional_covariates: Names = ()
    restart: Names = ()

    @model_validator(mode="before")
    @classmethod
    def _outcome_by_default(cls, table: Any) -> Any:
        if isinstance(table, dict) and "outcome" not in table and "correct" not in table:
            return {**table, "outcome": "outcome"}
        return table

    @model_validator(mode="after")
    def _outcome_or_correct(self) -> Columns:
        if self.outcome and self.correct:
            allowed = "either outcome or correct: with correct, the outcome follows from it and the choice"
            raise not_allowed(Problem("correct", repr(self.correct), allowed))
        return self


class CodingBy(Part):
    """A coding for each value of a column, for keys that were counterbalanced over people."""

    column: Name
    codings: Annotated[dict[Name, Codes], Field(min_length=1)]


class Coding(Part):
    """How the values of a column become 0 and 1."""

    coding: Codes = Field(default_factory=lambda: dict(ZERO_ONE))  # the code of each value
    missing: Names = ()  # values that mean "nothing here", besides an empty cell, ``NA`` and the like
    by: CodingBy | None = None  # codings that depend on another column; then ``coding`` is left out

    @model_validator(mode="after")
    def _one_coding(self) -> Coding:
        if self.by and "coding" in self.model_fields_set:
            raise not_allowed(Problem("coding", shown(self.coding), "either coding or by, not both"))
        coded = {label for codes in self.tables.values() for label in codes}
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

    @model_validator(mode="after")
    def _levels_or_coding(self) -> Feature:
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
    def width(self) -> int:
        """The number of binary cues."""
        return self.copies * (1 if self.levels is None else len(self.levels))


def _from_word(value: Any) -> Any:
    if isinstance(value, str):
        if value != "binary":
            raise instead(value, "'binary', or a table with levels, coding or copies", nearest(value, ["binary"]))
        return {}
    return value


class RtWindow(Part):
    """Reaction times that count; an answer outside is a missed answer, and its row stays."""

    column: Name = "rt"
    min: Annotated[float, Field(ge=0)] = 0.0
    max: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _is_a_window(self) -> RtWindow:
        if self.max is not None and self.max <= self.min:
            raise not_allowed(Problem("max", str(self.max), f"more than min, {self.min}"))
        return self


class Exclusions(Part):
    """Rules by which answers and people are left out. They are applied and reported, never silent."""

    rt: RtWindow | None = None
    min_answered: Count | None = None
    min_accuracy: Proportion | None = None


class Protocol(Part):
    """How a task is coded in a file and, with a ``generator``, how its trials are made."""

    name: Name
    title: str = ""
    about: str = ""
    source: str = ""
    length_normalized: bool = False
    allow_gaps: bool = False
    columns: Columns = Columns(outcome="outcome")
    features: dict[Name, Annotated[Feature, BeforeValidator(_from_word)]]
    choice: Coding = Coding()
    outcome: Coding = Coding()
    correct: Coding = Coding()
    feedback: Coding = Coding()
    exclusions: Exclusions = Exclusions()
    generator: Annotated[Design, Field(discriminator="kind")] | None = None

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Protocol:
        problems = [*self._columns_used_twice(), *self._reserved_names()]
        problems += [*self._codings_without_column(), *self._generator_misfits()]
        if problems:
            raise not_allowed(*problems)
        return self

    @property
    def codings(self) -> dict[CodedColumn, tuple[str, Coding]]:
        """The column in the file and the coding of each coded column that the protocol has."""
        named: dict[CodedColumn, tuple[str | None, Coding]] = {
            "choice": (self.columns.choice, self.choice),
            "outcome": (self.columns.outcome, self.outcome),
            "correct": (self.columns.correct, self.correct),
            "feedback": (self.columns.feedback, self.feedback),
        }
        return {role: (column, coding) for role, (column, coding) in named.items() if column is not None}

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Every column that a file, or the table of participants beside it, must have."""
        columns, rt = self.columns, self.exclusions.rt
        names = [columns.subject, *columns.restart, columns.trial, *self.features]
        names += [column for column, _ in self.codings.values()]
        names += [by.column for _, by in self._codings_by()]
        names += [*columns.covariates, *([rt.column] if rt else [])]
        return tuple(dict.fromkeys(names))

    def tidy_name(self, column: str) -> str:
        """Return the name that the tidy table gives to a column of the file."""
        roles = {"subject": self.columns.subject, "trial": self.columns.trial}
        roles |= {role: name for role, (name, _) in self.codings.items() if role != "correct"}
        return next((role for role, name in roles.items() if name == column), column)

    def _codings_by(self) -> Iterator[tuple[str, CodingBy]]:
        for role, (_, coding) in self.codings.items():
            if coding.by:
                yield role, coding.by

    def _roles(self) -> Iterator[tuple[str, str]]:
        columns = self.columns
        yield "columns.subject", columns.subject
        yield "columns.trial", columns.trial
        for role, (column, _) in self.codings.items():
            yield f"columns.{role}", column
        for key in ("restart", "covariates", "optional_covariates"):
            for name in getattr(columns, key):
                yield f"columns.{key}", name
        for name in self.features:
            yield f"features.{name}", name

    def _columns_used_twice(self) -> Iterator[Problem]:
        first: dict[str, str] = {}
        for key, column in self._roles():
            if column in first:
                allowed = f"a column that has no other use ({first[column]} has it)"
                yield Problem(key, repr(column), allowed)
            first.setdefault(column, key)

    def _reserved_names(self) -> Iterator[Problem]:
        # Columns in a role of their own are renamed in the tidy table; all others keep their names there.
        keeping = [(key, column) for key, column in self._roles() if key not in _RENAMED]
        in_a_role = {column for key, column in self._roles() if key in _RENAMED}
        keeping += [(f"{role}.by.column", by.column) for role, by in self._codings_by() if by.column not in in_a_role]
        if self.exclusions.rt:
            keeping.append(("exclusions.rt.column", self.exclusions.rt.column))
        for key, column in keeping:
            if column in RESERVED and (key, column) != ("columns.restart", "restart"):
                yield Problem(key, repr(column), "another name, as the tidy table has its own column of that name")

    def _codings_without_column(self) -> Iterator[Problem]:
        for role in ("outcome", "correct", "feedback"):
            if role in self.model_fields_set and role not in self.codings:
                advice = "The outcome follows from choice and correct." if role == "outcome" else ""
                yield Problem(role, "a coding", f"a coding only where columns.{role} is named", advice)

    def _generator_misfits(self) -> Iterator[Problem]:
        if self.generator is None:
            return
        made = self.generator.columns()
        for name, feature in self.features.items():
            if name not in made:
                allowed = f"a column that the generator makes: {', '.join(made)}"
                yield Problem(f"features.{name}", repr(name), allowed, nearest(name, made))
            elif set(made[name]) - set(feature.bits):
                allowed = f"the values that the generator makes: {', '.join(made[name])}"
                yield Problem(f"features.{name}", ", ".join(feature.bits), allowed)
        for role, by in self._codings_by():
            if by.column == self.columns.subject:
                allowed = "a column other than subject, as simulated people have names of their own"
                yield Problem(f"{role}.by.column", repr(by.column), allowed)
        for name in RESTARTS.get(self.generator.kind, ()):
            if name not in self.columns.restart:
                allowed = f"{name!r} among them, as the generator {self.generator.kind!r} starts anew with each"
                yield Problem("columns.restart", shown(list(self.columns.restart)), allowed)
