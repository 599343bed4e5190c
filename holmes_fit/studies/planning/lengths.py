"""How many trials a protocol can have: its design made shorter or longer, with everything else as it is.

A design comes in steps, so that what is balanced stays balanced: a whole repetition of its contexts, a whole block. It
has no length between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def sized(design: Design) -> Iterator[Sized]:
    """Give a design in all its lengths, without end, the shortest first."""
    if isinstance(design, Reversal):
        blocks: tuple[int, ...] = ()
        for length in cycle(design.block_trials):
            blocks = (*blocks, length)
            yield sum(blocks), design.model_copy(update={"block_trials": blocks})
    else:
        name, step, others = _step(design)
        for times in count(4 if isinstance(design, Conditioning) else 1):
            yield step * times + others, design.model_copy(update={name: times})


def _step(design: Compositional | ShapeColor | Conditioning | CueProbabilities | Shepard) -> tuple[str, int, int]:
    """Return what is raised to make a design longer, by how many trials each time, and how many there are besides."""
    match design:
        case Compositional():
            return "repetitions", 4 * 2 ** (design.levels - 1), 0
        case ShapeColor():
            trained, tested = len(design.colors) - design.test_colors, design.test_colors * design.test_repetitions
            return "training_repetitions", len(design.shapes) * trained, len(design.shapes) * tested
        case Conditioning():
            return "trials", 1, 0
        case CueProbabilities():
            return "repetitions", sum(map(sum, design.patterns.values())), 0
        case Shepard():
            return "blocks", len(design.types) * 8 * design.block_repetitions, 0
