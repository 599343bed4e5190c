"""The trial matrices that the benchmarks run on (the outcome is the last column)."""

from __future__ import annotations

import itertools

import numpy as np


def compositional(levels: int, seed: int = 0, repetitions: int = 10) -> np.ndarray:
    """Every context of the compositional task, so often, in random order."""
    rows = []
    for observation in range(4):
        for latent in itertools.product((0, 1), repeat=levels - 1):
            outcome = latent[-1] == 0 and latent[max(0, levels - 3)] == 0
            shown = [int(observation == place) for place in range(4)]
            rows += [[*shown, latent[0], latent[0], *latent[1:], int(outcome)]] * repetitions
    return np.random.default_rng(seed).permutation(np.array(rows))


def weather(seed: int = 0) -> np.ndarray:
    """200 trials of the weather prediction task: four cards, their patterns and chances as in its protocol."""
    from holmes_fit import load_protocol, simulate

    person = simulate(load_protocol("weather_prediction"), "bias", subjects=1, seed=seed).cohort
    return person.trials[["x1", "x2", "x3", "x4", "outcome"]].to_numpy(dtype=int)


def shape_color(seed: int = 0) -> np.ndarray:
    """Two shapes in eight colours, blocked by shape, then two new colours: 10 + 3 repetitions."""
    rng = np.random.default_rng(seed)
    colours = np.eye(10, dtype=int)
    shapes = np.tile(np.eye(2, dtype=int), (1, 6))
    row = lambda shape, colour: [*shapes[shape], *colours[colour], int(shape == 0)]  # noqa: E731
    blocks = [rng.permutation([row(shape, colour) for colour in range(8)] * 10) for shape in (0, 1)]
    test = rng.permutation([row(shape, colour) for shape in (0, 1) for colour in (8, 9)] * 3)
    return np.concatenate([*blocks, test])
