"""Trial sequences that several tests share."""

import numpy as np

from holmes_fit.trials.observations import Observations, observations_from_matrix


def reversal(
    seed: int, n_trials: int = 120, n_cues: int = 4, hidden: float = 0.15, length_normalized: bool = False
) -> Observations:
    """The outcome follows the first cue nine times out of ten, from the middle on its opposite; some are hidden.

    Every other cue is a copy of the first one, and the rest are noise. Without cues the outcome follows itself.
    """
    rng = np.random.default_rng(seed)
    signal = rng.integers(0, 2, n_trials)
    cues = rng.integers(0, 2, (n_trials, n_cues))
    cues[:, ::2] = signal[:, np.newaxis]
    reversed_by_now = np.arange(n_trials) >= n_trials // 2
    outcome = signal ^ reversed_by_now ^ (rng.random(n_trials) < 0.1)
    feedback = rng.random(n_trials) >= hidden
    return observations_from_matrix(np.column_stack([cues, outcome]), -1, feedback, length_normalized)
