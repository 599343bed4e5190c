"""The generalized context model: exemplars so far, by their similarity, which fade."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.alcove import GRADIENT, SPECIFICITY
from holmes_fit.models.competitors.exact import Exact, compiled, from_log_odds
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

DECAY = Parameter("decay", 0.001, 1.0, "log", 0.01, "how fast exemplars fade, a trial")
BACKGROUND = Parameter("background", 0.03, 10.0, "log", 0.5, "exemplars of either outcome that are there at first")


@dataclass(frozen=True)
class ContextModel(Exact):
    """The similarity of what is shown to exemplars of either outcome so far, weighted by their age.

    Nosofsky, R. M. (1986), "Attention, similarity, and the identification-categorization relationship", Journal of
    Experimental Psychology: General 115, 39-57: similarity is exp(-c d^gradient), with d the share of features
    that differ (equal attention) and a gradient of 1 unless it is freed, as in ``alcove``. An exemplar's strength is
    exp(-decay x trials since) (Nosofsky & Palmeri, 1997, Psychological Review 104, 266-300), and each outcome has a
    background from the beginning (Nosofsky, Kruschke & McKinley, 1992). The exponent gamma of the response rule (Ashby
    & Maddox, 1993) is the toolkit's beta, as E_1^gamma / (E_1^gamma + E_0^gamma) = sigmoid(gamma log(E_1 / E_0)).
    """

    name: str = "gcm"
    label: str = "GCM"
    parameters: tuple[Parameter, ...] = (SPECIFICITY, DECAY, BACKGROUND, GRADIENT)

    meaning: ClassVar[str] = "the generalized context model with exemplars that fade (Nosofsky, 1986)"
    color: ClassVar[str] = "#44aa99"
    marker: ClassVar[str] = "<"
    family: ClassVar[str] = "exemplar"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return E_1 / (E_1 + E_0) of the exemplars before every trial."""
        shown, stimuli = observations.stimuli
        rates = [float(values[each.name]) for each in self.parameters]
        return from_log_odds(_log_odds(stimuli, shown, observations.outcome, observations.feedback, *rates))


@compiled
def _log_odds(stimuli, shown, outcome, feedback, specificity, decay, background, gradient):
    """Return log(E_1 / E_0). Exemplars of one stimulus and outcome are kept as one, with the sum of their strengths."""
    n_stimuli, n_features = stimuli.shape
    strength = np.zeros((n_stimuli, 2))
    similarity = np.exp(
        -specificity * (np.arange(n_features + 1) / max(n_features, 1)) ** gradient
    )  # by features that differ
    log_odds, known = np.empty(len(shown)), 0
    for trial in range(len(shown)):
        stimulus = shown[trial]
        known = max(known, stimulus + 1)  # stimuli are numbered as they appear
        evidence_0 = evidence_1 = background
        for exemplar in range(known):
            different = 0
            for feature in range(n_features):
                different += stimuli[exemplar, feature] != stimuli[stimulus, feature]
            strength[exemplar, 0] *= np.exp(-decay)
            strength[exemplar, 1] *= np.exp(-decay)
            evidence_0 += strength[exemplar, 0] * similarity[different]
            evidence_1 += strength[exemplar, 1] * similarity[different]
        log_odds[trial] = np.log(evidence_1 / evidence_0)
        if feedback[trial]:
            strength[stimulus, int(outcome[trial])] += 1.0
    return log_odds
