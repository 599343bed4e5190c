"""The rule of Rescorla and Wagner, with a constant cue for what is always there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import CERTAIN, Exact, compiled, from_log_odds
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

LEARNING_RATE = Parameter("learning_rate", 0.001, 10.0, "log", 0.1, "step of each update", symbol="learning rate")


@dataclass(frozen=True)
class RescorlaWagner(Exact):
    """Weights of the cues and of a constant one, moved towards each outcome that is shown.

    Rescorla, R. A., & Wagner, A. R. (1972), "A theory of Pavlovian conditioning", in Classical conditioning II: the
    change of the weight of each cue that is present is the learning rate times the error of what all of them predict.
    Here, predictions are sigmoids of the sum of weights, so that they are probabilities.
    """

    name: str = "rescorla_wagner"
    label: str = "Rescorla–Wagner"
    parameters: tuple[Parameter, ...] = (LEARNING_RATE,)

    meaning: ClassVar[str] = "a Rescorla–Wagner learner with a constant cue (Rescorla & Wagner, 1972)"
    color: ClassVar[str] = "#e69f00"
    marker: ClassVar[str] = "X"
    baseline: ClassVar[bool] = True
    family: ClassVar[str] = "error-driven"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return sigmoid(w . x) before every trial's update, never quite 0 or 1."""
        return delta_rule(observations, values["learning_rate"], 0.0)


def delta_rule(observations: Observations, rate: float, pattern_rate: float) -> NDArray[np.float64]:
    """Return the predictions of weights for cues, a constant one, and whole patterns of cues."""
    shown = observations.stimuli.shown
    arrays = observations.cues, shown, observations.outcome, observations.feedback
    return from_log_odds(_summed_weights(*arrays, float(rate), float(pattern_rate)))


@compiled
def _summed_weights(cues, shown, outcome, feedback, rate, pattern_rate):
    """Return the weight of all that is present, before every trial's update."""
    n_trials, n_cues = cues.shape
    constant, weights, of_patterns = 0.0, np.zeros(n_cues), np.zeros(n_trials)
    summed = np.empty(n_trials)
    for trial in range(n_trials):
        total = constant + of_patterns[shown[trial]]
        for cue in range(n_cues):
            total += weights[cue] * cues[trial, cue]
        summed[trial] = total
        if feedback[trial]:
            error = outcome[trial] - 1.0 / (1.0 + np.exp(-min(max(total, -CERTAIN), CERTAIN)))
            constant += rate * error
            of_patterns[shown[trial]] += pattern_rate * error
            for cue in range(n_cues):
                weights[cue] += rate * error * cues[trial, cue]
    return summed
