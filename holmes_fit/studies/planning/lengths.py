"""How many trials a protocol can have: its design made shorter or longer, with everything else as it is.

A design comes in steps, so that what is balanced stays balanced: a whole repetition of its contexts, a whole block. It
has no length between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from itertools import count, cycle

from holmes_fit.trials.protocols.designs import (
    Compositional,
    Conditioning,
    CueProbabilities,
    Design,
    Reversal,
    ShapeColor,
    Shepard,
)
from holmes_fit.trials.protocols.schema import Protocol

MOST_TRIALS = 10_000
SHOWN = 6  # lengths that a message names

Sized = tuple[int, Design]  # the number of trials, and the design that has so many

# What one step of a design is, in words.
STEPS = {
    "compositional": "a repetition of all its contexts",
    "shape_color": "a repetition of all pairs in training, and the test as it is",
    "conditioning": "one trial",
    "cue_probabilities": "a repetition of all its patterns; with other patterns in a protocol of your own, others",
    "shepard": "a block of every problem",
    "reversal": "a block, in the order that the protocol gives them",
}


def with_trials(protocol: Protocol, trials: int) -> Protocol | None:
    """Return a protocol with another number of trials, or nothing if its generator cannot make so many."""
    for length, design in _lengths(protocol):
        if length >= trials:
            return protocol.model_copy(update={"generator": design}) if length == trials else None
    return None


def possible_trials(protocol: Protocol, near: int) -> list[int]:
    """Return some numbers of trials that a protocol can have, those nearest to a wanted one, in order."""
    lengths = [length for length, _ in _lengths(protocol)]
    return sorted(sorted(lengths, key=lambda length: abs(length - near))[:SHOWN])


def step_of(protocol: Protocol) -> str:
    """Return by what a protocol becomes longer, in words."""
    return "" if protocol.generator is None else STEPS[protocol.generator.kind]


def _lengths(protocol: Protocol) -> Iterator[Sized]:
    if protocol.generator is None:
        return
    for length, design in sized(protocol.generator):
        if length > MOST_TRIALS:
            return
        yield length, design


@singledispatch
def sized(design: Design) -> Iterator[Sized]:
    """Give a design in all its lengths, without end, the shortest first."""
    raise TypeError(f"no lengths for {type(design).__name__}")


@sized.register
def _compositional(design: Compositional) -> Iterator[Sized]:
    contexts = 4 * 2 ** (design.levels - 1)
    return ((contexts * times, design.model_copy(update={"repetitions": times})) for times in count(1))


@sized.register
def _shape_color(design: ShapeColor) -> Iterator[Sized]:
    trained = len(design.shapes) * (len(design.colors) - design.test_colors)
    tested = len(design.shapes) * design.test_colors * design.test_repetitions
    for times in count(1):
        yield trained * times + tested, design.model_copy(update={"training_repetitions": times})


@sized.register
def _conditioning(design: Conditioning) -> Iterator[Sized]:
    return ((trials, design.model_copy(update={"trials": trials})) for trials in count(4))


@sized.register
def _cue_probabilities(design: CueProbabilities) -> Iterator[Sized]:
    once = sum(map(sum, design.patterns.values()))
    return ((once * times, design.model_copy(update={"repetitions": times})) for times in count(1))


@sized.register
def _shepard(design: Shepard) -> Iterator[Sized]:
    block = len(design.types) * 8 * design.block_repetitions
    return ((block * blocks, design.model_copy(update={"blocks": blocks})) for blocks in count(1))


@sized.register
def _reversal(design: Reversal) -> Iterator[Sized]:
    blocks: tuple[int, ...] = ()
    for length in cycle(design.block_trials):
        blocks = (*blocks, length)
        yield sum(blocks), design.model_copy(update={"block_trials": blocks})
