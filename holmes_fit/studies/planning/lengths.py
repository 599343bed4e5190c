"""How many trials a protocol can have: its design made shorter or longer, with everything else as it is.

A design comes in steps, so that what is balanced stays balanced: a whole repetition of its contexts, a whole block. It
has no length between two steps.
"""

from collections.abc import Iterator
from itertools import count, cycle

import numpy as np

from holmes_fit.trials.protocols.designs import Design, Reversal
from holmes_fit.trials.protocols.generators import make_trials
from holmes_fit.trials.protocols.schema import Protocol

MOST_TRIALS = 10_000
SHOWN = 6  # lengths that a message names

Sized = tuple[int, Design]  # the number of trials, and the design that has so many

# What is raised to make a design longer, and what one more of it is, in words.
STEPS = {
    "compositional": ("repetitions", "a repetition of all its contexts"),
    "shape_color": ("training_repetitions", "a repetition of all pairs in training, and the test as it is"),
    "conditioning": ("trials", "one trial"),
    "cue_probabilities": (
        "repetitions",
        "a repetition of all its patterns; with other patterns in a protocol of your own, others",
    ),
    "shepard": ("blocks", "a block of every problem"),
    "reversal": ("block_trials", "a block, in the order that the protocol gives them"),
}
FEWEST = {"conditioning": 4}  # of what is raised; one of the others


def with_trials(protocol: Protocol, trials: int) -> Protocol | None:
    """Return a protocol with another number of trials, or nothing if its generator cannot make so many."""
    for length, design in _lengths(protocol):
        if length >= trials:
            return protocol.model_copy(update={"generator": design}) if length == trials else None
    return None


def own_trials(protocol: Protocol) -> int:
    """Return how many trials a protocol has as it is."""
    assert protocol.generator is not None
    return len(make_trials(protocol.generator, np.random.default_rng(0)))


def possible_trials(protocol: Protocol, near: int) -> list[int]:
    """Return some numbers of trials that a protocol can have, those nearest to a wanted one, in order."""
    lengths = [length for length, _ in _lengths(protocol)]
    return sorted(sorted(lengths, key=lambda length: abs(length - near))[:SHOWN])


def step_of(protocol: Protocol) -> str:
    """Return by what a protocol becomes longer, in words."""
    return "" if protocol.generator is None else STEPS[protocol.generator.kind][1]


def _lengths(protocol: Protocol) -> Iterator[Sized]:
    if protocol.generator is None:
        return
    for length, design in sized(protocol.generator):
        if length > MOST_TRIALS:
            return
        yield length, design


def sized(design: Design) -> Iterator[Sized]:
    """Give a design in all its lengths, without end, the shortest first."""
    name, _ = STEPS[design.kind]
    if isinstance(design, Reversal):
        blocks: tuple[int, ...] = ()
        for length in cycle(design.block_trials):
            blocks = (*blocks, length)
            yield sum(blocks), design.model_copy(update={name: blocks})
        return
    first = FEWEST.get(design.kind, 1)
    shortest, next_one = (
        len(make_trials(design.model_copy(update={name: times}), np.random.default_rng(0)))
        for times in (first, first + 1)
    )
    for more in count():
        yield shortest + more * (next_one - shortest), design.model_copy(update={name: first + more})
