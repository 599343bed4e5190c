"""Making the trials of one person from a protocol's design.

A generator takes a design and a random generator and returns a table with one row a trial: the columns of the cues,
``outcome``, and what an analysis may want to know about the trial. There are no choices in it.
"""

from collections.abc import Iterator
from functools import singledispatch
from itertools import permutations, product

import numpy as np
import pandas as pd

from holmes_fit._support.errors import InputError, Problem
from holmes_fit.trials.protocols.designs import (
    Compositional,
    Conditioning,
    CueProbabilities,
    Design,
    Reversal,
    ShapeColor,
    Shepard,
    ShepardType,
)
from holmes_fit.trials.protocols.schema import Protocol

# The four stimuli of one category (Shepard, Hovland & Jenkins, 1961); digits are the three dimensions.
SHEPARD_CATEGORY: dict[ShepardType, frozenset[str]] = {
    "I": frozenset({"000", "001", "010", "011"}),
    "II": frozenset({"000", "001", "110", "111"}),
    "III": frozenset({"000", "001", "010", "101"}),
    "IV": frozenset({"000", "001", "010", "100"}),
    "V": frozenset({"000", "001", "010", "111"}),
    "VI": frozenset({"000", "011", "101", "110"}),
}


def generate_trials(protocol: Protocol, rng: np.random.Generator) -> pd.DataFrame:
    """Make the trials of one person in the tidy form: in order, all with feedback, with columns that describe them."""
    if protocol.generator is None:
        allowed = "a protocol with a [generator] table"
        raise InputError([Problem(f"protocol {protocol.name}", "no generator", allowed)])
    trials = make_trials(protocol.generator, rng)
    trials.insert(0, "trial", np.arange(1, len(trials) + 1))
    trials["feedback"] = True
    for name, feature in protocol.features.items():
        trials[name] = trials[name].astype(str).map(feature.tidy)
    for column, value in _defaults(protocol, rng):
        if column not in trials:
            trials[column] = value
    return trials


def _defaults(protocol: Protocol, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Give the columns that a protocol wants and no design makes, so that it can read what was made."""
    for column in protocol.columns.restart:
        yield column, "1"
    for _, coding in protocol.codings.values():
        if coding.by:  # keys are counterbalanced over simulated people, too
            yield coding.by.column, str(rng.choice(list(coding.by.codings)))
    rt = protocol.exclusions.rt
    for column in (*protocol.columns.covariates, *([rt.column] if rt else [])):
        yield column, ""


@singledispatch
def make_trials(design: Design, rng: np.random.Generator) -> pd.DataFrame:
    """Make the trials of one person from ``design``."""
    raise TypeError(f"no generator for {type(design).__name__}")


@make_trials.register
def _compositional(design: Compositional, rng: np.random.Generator) -> pd.DataFrame:
    contexts = pd.DataFrame(
        [(observation, *latents) for *latents, observation in product(*[(0, 1)] * (design.levels - 1), range(4))],
        columns=["level_1", *design.latents],
    )
    contexts.insert(0, "context", np.arange(len(contexts)))
    trials = _shuffled(_repeated(contexts, design.repetitions), rng)
    # The rule reads the two highest latent levels; with two levels there is only one.
    trials["outcome"] = (trials[list(design.latents[-2:])] == 0).all(axis=1).astype(np.int8)
    observed = np.eye(4, dtype=np.int8)[trials["level_1"]]
    noisy = rng.random(len(trials)) < design.noise
    flipped = rng.integers(4, size=len(trials))
    observed[noisy, flipped[noisy]] ^= 1
    trials["noisy"] = noisy.astype(np.int8)
    trials[list(design.observations)] = observed
    return trials


@make_trials.register
def _shape_color(design: ShapeColor, rng: np.random.Generator) -> pd.DataFrame:
    rewarded = str(rng.choice(design.shapes))
    trained, held_out = design.colors[: -design.test_colors], design.colors[-design.test_colors :]
    training = [
        _shuffled(_repeated(_pairs((shape,), trained), design.training_repetitions), rng).assign(phase="training")
        for shape in design.shapes
    ]
    test = _shuffled(_repeated(_pairs(design.shapes, held_out), design.test_repetitions), rng).assign(phase="test")
    trials = pd.concat([*training, test], ignore_index=True)
    trials["block"] = np.repeat(np.arange(1, len(training) + 2), [*map(len, training), len(test)])
    trials["outcome"] = (trials["shape"] == rewarded).astype(np.int8)
    trials["rewarded_shape"] = rewarded
    is_first = ~trials.duplicated(["shape", "color"])
    trials["first_exposure"] = (is_first & (trials["phase"] == "test")).astype(np.int8)
    return trials


@make_trials.register
def _conditioning(design: Conditioning, rng: np.random.Generator) -> pd.DataFrame:
    n_acquisition, n_test = round(design.acquisition * design.trials), round(design.test * design.trials)
    lengths = {"acquisition": n_acquisition, "extinction": design.trials - n_acquisition - n_test, "test": n_test}
    phases = []
    for place, (phase, length) in enumerate(lengths.items()):
        n_reinforced_cue = length // 2
        n_reinforced = round(design.reinforcement * n_reinforced_cue) if phase == "acquisition" else 0
        cue = np.repeat(design.cues, [n_reinforced_cue, length - n_reinforced_cue])
        outcome = np.arange(length) < n_reinforced
        trials = pd.DataFrame({"cue": cue, "outcome": outcome.astype(np.int8), "phase": phase})
        if design.contexts is not None:
            trials["context"] = design.contexts[place]
        if length:
            phases.append(_shuffled(trials, rng))
    return pd.concat(phases, ignore_index=True)


@make_trials.register
def _cue_probabilities(design: CueProbabilities, rng: np.random.Generator) -> pd.DataFrame:
    patterns = pd.DataFrame([list(pattern) for pattern in design.patterns], columns=list(design.cues))
    patterns["pattern"] = list(design.patterns)
    patterns["probability"] = [ones / (ones + zeros) for ones, zeros in design.patterns.values()]
    counts = [design.repetitions * sum(tally) for tally in design.patterns.values()]
    trials = _shuffled(patterns.loc[patterns.index.repeat(counts)], rng)
    trials["outcome"] = (rng.random(len(trials)) < trials["probability"]).astype(np.int8)
    trials["block"] = np.arange(len(trials)) // design.block_trials + 1
    return trials


@make_trials.register
def _shepard(design: Shepard, rng: np.random.Generator) -> pd.DataFrame:
    problems = []
    for number, type_ in enumerate(rng.permutation(list(design.types)), start=1):
        stimuli = _shepard_problem(design, type_, rng).assign(problem=str(number))
        blocks = [_shuffled(_repeated(stimuli, design.block_repetitions), rng) for _ in range(design.blocks)]
        trials = pd.concat([block.assign(block=i) for i, block in enumerate(blocks, start=1)], ignore_index=True)
        trials["problem_trial"] = np.arange(1, len(trials) + 1)
        problems.append(trials)
    return pd.concat(problems, ignore_index=True)


def _shepard_problem(design: Shepard, type_: ShepardType, rng: np.random.Generator) -> pd.DataFrame:
    """Return the eight stimuli with their outcomes, after drawing which dimension plays which role, and which way."""
    roles = list(permutations(range(3)))[rng.integers(6)]
    flips = rng.integers(2, size=3)
    positive = int(rng.integers(2))
    rows = []
    for stimulus in product((0, 1), repeat=3):
        abstract = "".join(str(stimulus[role] ^ int(flip)) for role, flip in zip(roles, flips, strict=True))
        values = [pair[value] for pair, value in zip(design.dimensions.values(), stimulus, strict=True)]
        rows.append([*values, positive if abstract in SHEPARD_CATEGORY[type_] else 1 - positive])
    return pd.DataFrame(rows, columns=[*design.dimensions, "outcome"]).assign(condition=f"type {type_}")


@make_trials.register
def _reversal(design: Reversal, rng: np.random.Generator) -> pd.DataFrame:
    block = np.repeat(np.arange(1, len(design.block_trials) + 1), design.block_trials)
    cue = np.concatenate([_balanced(len_, len(design.cues), rng) for len_ in design.block_trials])
    option = np.array(list(design.cues.values()))[cue] ^ (block % 2 == 0)
    surprising = rng.random(len(block)) >= design.probability
    return pd.DataFrame(
        {
            "cue": np.array(list(design.cues), dtype=object)[cue],
            "outcome": (option ^ surprising).astype(np.int8),
            "block": block,
            "better_option": option.astype(np.int8),
        }
    )


def _balanced(length: int, n_kinds: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``length`` numbers below ``n_kinds``, each as often as the others or once more, in random order."""
    return rng.permutation(np.arange(length) % n_kinds)


def _pairs(shapes: tuple[str, ...], colors: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(list(product(shapes, colors)), columns=["shape", "color"])


def _repeated(rows: pd.DataFrame, times: int) -> pd.DataFrame:
    return pd.concat([rows] * times, ignore_index=True)


def _shuffled(rows: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return rows.iloc[rng.permutation(len(rows))].reset_index(drop=True)
