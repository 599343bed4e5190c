"""Learning from errors at a rate that follows surprise: the associability of each cue."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import CERTAIN, Exact, compiled, from_log_odds
from holmes_fit.models.competitors.rescorla_wagner import LEARNING_RATE
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

ASSOCIABILITY_RATE = Parameter(
    "associability_rate", 0.01, 0.99, "logit", 0.3, "how fast a cue's associability follows the size of errors"
)
FIRST_ASSOCIABILITY = Parameter(
    "first_associability", 0.05, 5.0, "log", 1.0, "associability of a cue that was never seen", free=False
)


@dataclass(frozen=True)
class PearceHall(Exact):
    """Weights as in ``rescorla_wagner``, moved by the learning rate times the associability of each cue.

    Pearce, J. M., & Hall, G. (1980), "A model for Pavlovian learning", Psychological Review 87, 532-552: a cue is
    attended to in so far as what followed it was surprising. With an error that has a sign, and an associability that
    moves towards the size of the last errors (Pearce, Kaye & Hall, 1982, equation 3), it is the hybrid of Le Pelley
    (2004), as fitted by Li et al. (2011), Nature Neuroscience 14, 1250-1252:
    w += kappa a (o - p), a += eta (|o - p| - a), for each cue that is present. With eta = 0 it is ``rescorla_wagner``.
    """

    name: str = "pearce_hall"
    label: str = "Pearce–Hall"
    parameters: tuple[Parameter, ...] = (LEARNING_RATE, ASSOCIABILITY_RATE, FIRST_ASSOCIABILITY)

    meaning: ClassVar[str] = "a learner whose rate follows surprise, cue by cue (Pearce & Hall, 1980)"
    color: ClassVar[str] = "#b8860b"
    marker: ClassVar[str] = "*"
    family: ClassVar[str] = "error-driven"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return sigmoid(w . x) before every trial's update, with a constant cue among x."""
        seen = observations.cues, observations.outcome, observations.feedback
        rates = [float(values[each.name]) for each in (LEARNING_RATE, ASSOCIABILITY_RATE, FIRST_ASSOCIABILITY)]
        return from_log_odds(_summed_weights(*seen, *rates))


@compiled
def _summed_weights(cues, outcome, feedback, rate, associability_rate, first):
    """Return the weight of all that is present, before every trial's update; the last weight is the constant cue's."""
    n_trials, n_cues = cues.shape
    weights, associability = np.zeros(n_cues + 1), np.full(n_cues + 1, first)
    summed = np.empty(n_trials)
    for trial in range(n_trials):
        total = weights[n_cues]
        for cue in range(n_cues):
            total += weights[cue] * cues[trial, cue]
        summed[trial] = total
        if feedback[trial]:
            error = outcome[trial] - 1.0 / (1.0 + np.exp(-min(max(total, -CERTAIN), CERTAIN)))
            for cue in range(n_cues + 1):
                if cue == n_cues or cues[trial, cue]:
                    weights[cue] += rate * associability[cue] * error
                    associability[cue] += associability_rate * (abs(error) - associability[cue])
    return summed
