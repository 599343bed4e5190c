"""The protocol: which columns a file has, how they are coded, what is left out, and how trials are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from holmes_fit._support.errors import Problem, nearest, shown
from holmes_fit.trials.protocols.base import Count, Name, Names, Part, Proportion, not_allowed, unless
from holmes_fit.trials.protocols.codings import Coding, CodingBy, Feature, from_word
from holmes_fit.trials.protocols.designs import RESTARTS, Design
from holmes_fit.trials.protocols.layout import BY_FILE, Kind, NewColumn, OneOrMore, Order, Rows, Wide, placeholders

CodedColumn = Literal["choice", "outcome", "correct", "feedback"]

# The columns of the tidy trial table that no feature, covariate or restart column may take for something else.
RESERVED = ("subject", "restart", "trial", "choice", "outcome", "feedback", "excluded_choice")

LONGEST_LIMIT = 1_000  # seconds; longer limits are milliseconds

_RENAMED = {f"columns.{role}" for role in ("subject", "trial", "choice", "outcome", "correct", "feedback")}
_RENAMED |= {"response.column"}


class Columns(Part):
    """The names that a file gives to its columns."""

    subject: Name = "subject"
    trial: OneOrMore = ("trial",)  # the first orders the rows of a learner, the next those with the same first
    order: Annotated[Order, Field(exclude_if=unless("whole"))] = "whole"
    choice: Name = "choice"
    outcome: Name | None = None
    correct: Name | None = None
    feedback: Name | None = None
    covariates: Names = ()
    optional_covariates: Names = ()
    restart: Names = ()
    # Learning curves are drawn for each value of these columns, whatever else they are for; left out of what is
    # written where there are none, so that protocols keep their digests
    curves: Annotated[Names, Field(exclude_if=lambda names: not names)] = ()

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

    @model_validator(mode="after")
    def _order_of_trials(self) -> Columns:
        if self.order == BY_FILE and "trial" in self.model_fields_set:
            allowed = 'either columns that order the trials or order = "file"'
            raise not_allowed(Problem("trial", shown(list(self.trial)), allowed))
        strangers = [name for name in self.order if name not in self.trial] if isinstance(self.order, dict) else []
        if strangers:
            allowed = f"columns that trial names: {', '.join(self.trial)}"
            raise not_allowed(*(Problem(f"order.{name}", repr(name), allowed) for name in strangers))
        return self

    @property
    def trial_columns(self) -> tuple[str, ...]:
        """The columns that order the trials; none if the order of the file does."""
        return () if self.order == BY_FILE else self.trial

    @property
    def numbers_trials(self) -> bool:
        """Whether one column has whole numbers for all trials, which the tidy table keeps."""
        return self.kinds == ("whole",)

    @property
    def kinds(self) -> tuple[Kind | tuple[str, ...], ...]:
        """What each of the columns that order the trials holds; words are given in their order."""
        order = self.order
        if isinstance(order, dict):
            return tuple(order.get(name, "whole") for name in self.trial)
        return () if order == "file" else (order,) * len(self.trial)


class Scale(Part):
    """Answers that are numbers: where they are, from where to where they go, and what kind of response they are."""

    kind: Name  # as the response is called: rating, number
    column: Name
    low: float
    high: float
    # Between two ratings that can be given; a hundredth of the scale if it is not said
    step: Annotated[float | None, Field(gt=0)] = None
    missing: Names = ()  # values that mean "no answer", besides an empty cell, ``NA`` and the like
    beyond: bool | None = None  # whether answers may lie beyond low and high; those of the kind number may

    @model_validator(mode="after")
    def _steps_fill_the_scale(self) -> Scale:
        if not self.low < self.high:
            raise not_allowed(Problem("high", f"{self.high:g}", f"more than low, {self.low:g}"))
        if self.step is not None and abs(self.steps * self.step - (self.high - self.low)) > 1e-6 * self.step:
            allowed = f"a step that divides the scale from {self.low:g} to {self.high:g} into equal parts"
            raise not_allowed(Problem("step", f"{self.step:g}", allowed))
        if self.kind == "rating" and self.beyond:
            raise not_allowed(Problem("beyond", "true", "false, as ratings have ends; numbers need none"))
        return self

    @property
    def steps(self) -> int:
        """The number of steps from one end to the other."""
        return 100 if self.step is None else max(1, round((self.high - self.low) / self.step))

    @property
    def has_ends(self) -> bool:
        """Whether answers beyond low and high are mistakes."""
        return not (self.kind == "number" if self.beyond is None else self.beyond)


class RtWindow(Part):
    """Reaction times that count; an answer outside is a missed answer, and its row stays."""

    column: Name = "rt"
    min: Annotated[float, Field(ge=0)] = 0.0
    max: Annotated[float, Field(gt=0)] | None = None
    # Of the column; then the limits are in seconds
    unit: Annotated[Literal["s", "ms"] | None, Field(exclude_if=unless(None))] = None

    @model_validator(mode="after")
    def _is_a_window(self) -> RtWindow:
        longest = max(self.min, self.max or 0.0)
        if self.unit and longest > LONGEST_LIMIT:
            allowed = f"seconds, up to {LONGEST_LIMIT}, as the unit is given; {longest:g} ms are {longest / 1000:g}"
            raise not_allowed(Problem("min" if longest == self.min else "max", f"{longest:g}", allowed))
        if self.max is not None and self.max <= self.min:
            raise not_allowed(Problem("max", str(self.max), f"more than min, {self.min}"))
        return self


class Exclusions(Part):
    """Rules by which answers and people are left out. They are applied and reported, never silent."""

    rt: RtWindow | None = None
    min_answered: Count | None = None
    min_accuracy: Proportion | None = None
    people: dict[Name, Name] = Field(default_factory=dict, exclude_if=unless({}))  # who is left out, and the reason


class Protocol(Part):
    """How a task is coded in a file and, with a ``generator``, how its trials are made."""

    name: Name
    title: str = ""
    about: str = ""
    source: str = ""
    length_normalized: bool = False
    allow_gaps: bool = False
    columns: Columns = Columns(outcome="outcome")
    features: dict[Name, Annotated[Feature, BeforeValidator(from_word)]]
    choice: Coding = Coding()
    outcome: Coding = Coding()
    correct: Coding = Coding()
    feedback: Coding = Coding()
    exclusions: Exclusions = Exclusions()
    # What is fitted instead of choices; their column and coding then have no part
    response: Annotated[Scale | None, Field(exclude_if=unless(None))] = None
    rows: Annotated[Rows, Field(exclude_if=unless(Rows()))] = Rows()
    wide: Wide = Field(default_factory=dict, exclude_if=unless({}))
    new_columns: dict[Name, NewColumn] = Field(default_factory=dict, exclude_if=unless({}))
    generator: Annotated[Design, Field(discriminator="kind")] | None = None

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Protocol:
        problems = [*self._columns_used_twice(), *self._reserved_names()]
        problems += [*self._codings_without_column(), *self._new_columns_misfit(), *self._generator_misfits()]
        if problems:
            raise not_allowed(*problems)
        return self

    @property
    def codings(self) -> dict[CodedColumn, tuple[str, Coding]]:
        """The column in the file and the coding of each coded column that the protocol has."""
        named: dict[CodedColumn, tuple[str | None, Coding]] = {
            "choice": (None if self.response else self.columns.choice, self.choice),
            "outcome": (self.columns.outcome, self.outcome),
            "correct": (self.columns.correct, self.correct),
            "feedback": (self.columns.feedback, self.feedback),
        }
        return {role: (column, coding) for role, (column, coding) in named.items() if column is not None}

    @property
    def answers(self) -> str:
        """The column that holds what is fitted."""
        return self.response.column if self.response else self.columns.choice

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Every column that a file, or the table of participants beside it, must have."""
        columns, rt = self.columns, self.exclusions.rt
        names = [columns.subject, *columns.restart, *columns.trial_columns, *self.features]
        names += [self.answers, *(column for column, _ in self.codings.values())]
        names += [by.column for _, by in self._codings_by()]
        names += [*columns.covariates, *columns.curves, *([rt.column] if rt else [])]
        names += [column for feature in self.features.values() for column in feature.anew or ()]
        names += [column for _, column, _ in self.rows.rules]
        return tuple(dict.fromkeys(names))

    @property
    def made_columns(self) -> tuple[str, ...]:
        """The columns that no file has, as they are made of others."""
        numbers = placeholders(next(iter(self.wide.values()), ""))
        return (*self.wide, *numbers, *self.new_columns)

    @property
    def file_columns(self) -> tuple[str, ...]:
        """The columns that files are expected to have before any are made."""
        sources = [name for new in self.new_columns.values() for name in new.of or ()]
        return tuple(
            name for name in dict.fromkeys([*self.required_columns, *sources]) if name not in self.made_columns
        )

    @property
    def rearrangements(self) -> tuple[str, ...]:
        """The keys in use by which a file differs from one that can be written again in the protocol's own columns."""
        columns = self.columns
        tables = {"wide": self.wide, "new_columns": self.new_columns, "rows": [*self.rows.rules]}
        keys = [key for key, used in tables.items() if used]
        if not columns.numbers_trials:
            keys.append("columns.trial" if len(columns.trial) > 1 else "columns.order")
        for role, (_, coding) in self.codings.items():
            if coding.threshold is not None:
                keys.append(f"{role}.{'below' if coding.above is None else 'above'}")
        return (*keys, *(f"features.{name}.anew" for name, feature in self.features.items() if feature.anew))

    def tidy_name(self, column: str) -> str:
        """Return the name that the tidy table gives to a column of the file."""
        roles = {"subject": self.columns.subject}
        if self.columns.numbers_trials:
            roles["trial"] = self.columns.trial[0]
        roles |= {role: name for role, (name, _) in self.codings.items() if role != "correct"}
        roles |= {"choice": self.answers}
        return next((role for role, name in roles.items() if name == column), column)

    def _codings_by(self) -> Iterator[tuple[str, CodingBy]]:
        for role, (_, coding) in self.codings.items():
            if coding.by:
                yield role, coding.by

    def _roles(self) -> Iterator[tuple[str, str]]:
        columns = self.columns
        yield "columns.subject", columns.subject
        for name in columns.trial_columns:
            yield "columns.trial", name
        for role, (column, _) in self.codings.items():
            yield f"columns.{role}", column
        if self.response:
            yield "response.column", self.response.column
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
        if self.response and self.columns.correct:
            allowed = "an outcome, as whether a rating was right says nothing of it"
            yield Problem("columns.correct", repr(self.columns.correct), allowed)

    def _new_columns_misfit(self) -> Iterator[Problem]:
        made = self.made_columns
        for name in {name for name in made if made.count(name) > 1}:
            yield Problem(f"new_columns.{name}", repr(name), "a name that no column of wide has")
        later = list(self.new_columns)
        for name, new in self.new_columns.items():
            for source in new.of or ():
                if source in later:
                    advice = "" if source == name else f"Put {source} before it."
                    yield Problem(
                        f"new_columns.{name}.of", repr(source), "a column of the file, or one made before", advice
                    )
            later.remove(name)

    def _generator_misfits(self) -> Iterator[Problem]:
        if self.generator is None:
            return
        if self.rearrangements:
            advice = "Keep the generator in a protocol of its own."
            allowed = f"no {' or '.join(self.rearrangements)} beside it, as simulated files are laid out plainly"
            yield Problem("generator", repr(self.generator.kind), allowed, advice)
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
