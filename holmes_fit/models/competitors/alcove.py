"""ALCOVE: exemplars that learn associations with the outcome, and attention to features, from errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact, compiled, from_log_odds
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

SPECIFICITY = Parameter("specificity", 0.3, 30.0, "log", 6.5, "how fast similarity falls with distance", symbol="c")
ASSOCIATION_RATE = Parameter("association_rate", 0.003, 1.0, "log", 0.03, "step of each update of an association")
ATTENTION_RATE = Parameter("attention_rate", 0.0003, 1.0, "log", 0.0033, "step of each update of attention")
GRADIENT = Parameter("gradient", 0.5, 2.0, "log", 1.0, "power of distance by which similarity falls", free=False)


@dataclass(frozen=True)
class Alcove(Exact):
    """Exemplars so far, their associations with the outcome, and attention to features.

    Kruschke, J. K. (1992), "ALCOVE: an exemplar-based connectionist model of category learning", Psychological Review
    99, 22-44, with attention that begins at 1 / features, and humble teachers. Departures: a feature differs by 0 or 1,
    whatever its number of levels; exemplars are recruited when they are first seen, as no prediction may depend on what
    is to come; and the sharpness phi of equation 3 is the toolkit's beta, as
    P(1) = sigmoid(phi (a_1 - a_0)): p-hat is that with phi = 1. (Published values: c = 6.5, association rate 0.03,
    attention rate 0.0033, phi = 2 for the types of Shepard, Hovland & Jenkins.)
    Of r and q in equation 1 only q / r matters where features differ by 0 or 1. This gradient is 1 unless it is freed,
    as published for features that are seen apart (0.5 is r = 2, for those that are seen as one; 2 is Gaussian, q = 2).
    """

    name: str = "alcove"
    label: str = "ALCOVE"
    parameters: tuple[Parameter, ...] = (SPECIFICITY, ASSOCIATION_RATE, ATTENTION_RATE, GRADIENT)

    meaning: ClassVar[str] = "ALCOVE, a network of exemplars with learned attention (Kruschke, 1992)"
    color: ClassVar[str] = "#009e73"
    marker: ClassVar[str] = ">"
    family: ClassVar[str] = "exemplar"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return sigmoid(a_1 - a_0) before every trial's update."""
        shown, stimuli = observations.stimuli
        rates = [float(values[each.name]) for each in self.parameters]
        return from_log_odds(2.0 * _outputs(stimuli, shown, observations.outcome, observations.feedback, *rates))


@compiled
def _outputs(stimuli, shown, outcome, feedback, specificity, association_rate, attention_rate, gradient):
    """Return a_1 before every trial's update. The other category mirrors it: a_0 = -a_1, with weights of other sign."""
    largest = 1e6  # of a weight or an attention: steps that are too large make them swing, but never overflow
    n_stimuli, n_features = stimuli.shape
    weights, similarity, slope = np.zeros(n_stimuli), np.zeros(n_stimuli), np.zeros(n_stimuli)
    attention = np.full(n_features, 1.0 / max(n_features, 1))
    outputs, known = np.empty(len(shown)), 0
    for trial in range(len(shown)):
        stimulus = shown[trial]
        known = max(known, stimulus + 1)  # stimuli are numbered as they appear
        output = 0.0
        for exemplar in range(known):
            distance = 0.0
            for feature in range(n_features):
                if stimuli[exemplar, feature] != stimuli[stimulus, feature]:
                    distance += attention[feature]
            similarity[exemplar] = np.exp(-specificity * distance**gradient)  # equation 1
            slope[exemplar] = specificity if gradient == 1.0 else 0.0
            if distance > 0.0:
                slope[exemplar] = specificity * gradient * distance ** (gradient - 1.0)
            output += weights[exemplar] * similarity[exemplar]  # equation 2
        outputs[trial] = output
        if feedback[trial]:
            teacher = max(output, 1.0) if outcome[trial] else min(output, -1.0)  # equation 4b
            error = teacher - output
            for feature in range(n_features):  # equation 6, both categories
                blame = 0.0
                for exemplar in range(known):
                    if stimuli[exemplar, feature] != stimuli[stimulus, feature]:
                        blame += 2.0 * error * weights[exemplar] * similarity[exemplar] * slope[exemplar]
                attention[feature] = min(max(attention[feature] - attention_rate * blame, 0.0), largest)
            for exemplar in range(known):  # equation 5
                moved = weights[exemplar] + association_rate * error * similarity[exemplar]
                weights[exemplar] = min(max(moved, -largest), largest)
    return outputs
