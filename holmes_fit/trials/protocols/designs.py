"""The designs from which trials can be made, each with its parameters.

A design says which columns it makes and which values they can have, so that a protocol whose features do not fit its
generator is found when it is read. ``generators`` makes the trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from holmes_fit._support.errors import Problem
from holmes_fit.trials.protocols.base import (
    Codes,
    Count,
    Name,
    Names,
    Pair,
    Part,
    Proportion,
    as_texts,
    instead,
    not_allowed,
    unless,
)

BINARY = ("0", "1")

ShepardType = Literal["I", "II", "III", "IV", "V", "VI"]


class Compositional(Part):
    """Nested binary contexts above four observations; the outcome is a rule over the two highest levels."""

    kind: Literal["compositional"]
    levels: Annotated[int, Field(ge=2, le=12)]
    repetitions: Count = 10
    noise: Proportion = 0.02

    @property
    def observations(self) -> tuple[str, ...]:
        return ("obs_0", "obs_1", "obs_2", "obs_3")

    @property
    def latents(self) -> tuple[str, ...]:
        return tuple(f"level_{level}" for level in range(2, self.levels + 1))

    def columns(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.observations + self.latents, BINARY)


class ShapeColor(Part):
    """Two shapes in many colours; one shape, drawn for each person, is rewarded; some colours come at test only."""

    kind: Literal["shape_color"]
    shapes: Pair
    colors: Annotated[Names, Field(min_length=2)]
    test_colors: Count = 2
    training_repetitions: Count
    test_repetitions: Count

    @model_validator(mode="after")
    def _some_colors_are_trained(self) -> ShapeColor:
        if self.test_colors >= len(self.colors):
            allowed = f"fewer than the {len(self.colors)} colors, so that some are left for training"
            raise not_allowed(Problem("test_colors", str(self.test_colors), allowed))
        return self

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {"shape": self.shapes, "color": self.colors}


class Conditioning(Part):
    """Acquisition with a partly reinforced cue and one that never is, then extinction of both, and maybe a test.

    With ``contexts``, acquisition, extinction and test are each in one of them. Nothing is reinforced in a test.
    """

    kind: Literal["conditioning"]
    cues: Pair
    trials: Annotated[int, Field(ge=4, le=10_000)] = 40
    acquisition: Proportion = 0.4
    reinforcement: Proportion = 0.5
    # Of acquisition, extinction and test, as A, B, A for renewal; no test without them
    contexts: Annotated[tuple[Name, Name, Name], BeforeValidator(as_texts)] | None = Field(
        default=None, exclude_if=unless(None)
    )
    test: Annotated[float, Field(ge=0, lt=1)] = Field(default=0.0, exclude_if=unless(0.0))  # share of the trials

    @model_validator(mode="after")
    def _phases_fit(self) -> Conditioning:
        if self.acquisition + self.test > 1:
            raise not_allowed(Problem("test", f"{self.test:g}", f"at most {1 - self.acquisition:g}, what is left"))
        return self

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {"cue": self.cues} | ({} if self.contexts is None else {"context": tuple(dict.fromkeys(self.contexts))})


def _as_counts(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Tally = Annotated[
    tuple[Annotated[int, Field(ge=0, le=10_000)], Annotated[int, Field(ge=0, le=10_000)]], BeforeValidator(_as_counts)
]


class CueProbabilities(Part):
    """Patterns of cues, each at its frequency and followed by outcome 1 with its probability.

    A pattern such as ``"0101"`` has one digit a cue. Its two numbers say how often, in one repetition, it comes with
    outcome 1 and with outcome 0: the pattern comes exactly as often as they add up to, and the outcome is drawn
    with their ratio.
    """

    kind: Literal["cue_probabilities"]
    cues: Annotated[Names, Field(min_length=1)]
    patterns: Annotated[dict[Name, Tally], Field(min_length=1)]
    repetitions: Count = 1
    block_trials: Count = 50

    @model_validator(mode="after")
    def _patterns_fit_the_cues(self) -> CueProbabilities:
        width = len(self.cues)
        unfit = [name for name in self.patterns if len(name) != width or set(name) - {"0", "1"}]
        never = [name for name, tally in self.patterns.items() if not sum(tally)]
        problems = [Problem(f"patterns.{name}", repr(name), f"{width} digits, each 0 or 1") for name in unfit]
        problems += [Problem(f"patterns.{name}", "[0, 0]", "at least one trial") for name in never]
        if problems:
            raise not_allowed(*problems)
        return self

    def columns(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.cues, BINARY)


class Shepard(Part):
    """Problems of the six types over three binary dimensions; roles of dimensions and outcomes drawn anew for each."""

    kind: Literal["shepard"]
    types: Annotated[tuple[ShepardType, ...], BeforeValidator(_as_counts), Field(min_length=1)]
    dimensions: Annotated[dict[Name, Pair], Field(min_length=3, max_length=3)]
    blocks: Count = 6
    block_repetitions: Count = 2

    def columns(self) -> dict[str, tuple[str, ...]]:
        return dict(self.dimensions)


class Reversal(Part):
    """Each cue has a correct option, with a probability; at every new block all cues change to the other option."""

    kind: Literal["reversal"]
    cues: Codes
    block_trials: Annotated[tuple[Count, ...], BeforeValidator(_as_counts), Field(min_length=1)]
    probability: Proportion = 0.8

    @field_validator("probability")
    @classmethod
    def _better_than_chance(cls, value: float) -> float:
        if value <= 0.5:
            raise instead(value, "more than 0.5, up to 1, so that one option is the better one")
        return value

    def columns(self) -> dict[str, tuple[str, ...]]:
        return {"cue": tuple(self.cues)}


Design = Compositional | ShapeColor | Conditioning | CueProbabilities | Shepard | Reversal

# Columns by which a design starts anew; a protocol with such a generator must name them under `restart`.
RESTARTS: Mapping[str, tuple[str, ...]] = {"shepard": ("problem",)}
