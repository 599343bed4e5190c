"""The rational model of categorization: causes as in flat, each trial given to the likeliest one for good."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact, compiled
from holmes_fit.models.parameters import ALPHA, OMEGA, Parameter
from holmes_fit.trials.observations import Observations


@dataclass(frozen=True)
class Rational(Exact):
    """One partition of the trials into causes, which grows by the likeliest assignment (local MAP).

    Anderson, J. R. (1991), "The adaptive nature of human categorization", Psychological Review 98, 409-429, equations
    1 to 5 and 8. Its coupling probability c is 1 / (1 + alpha), and omega its prior count of each value. The answer is
    one more feature. Cues are binary, as for ``flat``, from which it differs by how it infers alone: there, particles
    hold many partitions; here, it is one. Of causes that are equally likely the oldest is taken. (Published values:
    c = 0.3, which is alpha = 2.3, and prior counts of 1.)
    """

    name: str = "rational"
    label: str = "rational model"
    parameters: tuple[Parameter, ...] = (ALPHA, OMEGA)

    meaning: ClassVar[str] = "the rational model with one growing partition (Anderson, 1991)"
    color: ClassVar[str] = "#0072b2"
    marker: ClassVar[str] = "d"
    family: ClassVar[str] = "latent-cause"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the sum of the causes' predictions, weighted by prior and cues, before every trial."""
        seen = observations.cues, observations.outcome, observations.feedback, observations.length_normalized
        predicted: NDArray[np.float64] = _predicted(*seen, float(values["alpha"]), float(values["omega"]))
        return predicted


@compiled
def _predicted(cues, outcome, feedback, length_normalized, alpha, omega):
    """Return p-hat of every trial. The cause after the last is a new one, with nothing in it yet."""
    n_trials, n_cues = cues.shape
    trials, present = np.zeros(n_trials + 1), np.zeros((n_trials + 1, n_cues))
    answered, followed = np.zeros(n_trials + 1), np.zeros(n_trials + 1)
    of_cues, log_prior = np.zeros(n_trials + 1), np.zeros(n_trials + 1)
    predicted, n_causes = np.empty(n_trials), 0
    for trial in range(n_trials):
        highest = -np.inf
        for cause in range(n_causes + 1):
            log_prior[cause] = np.log(trials[cause] if cause < n_causes else alpha)  # equations 2 and 3, but for a sum
            of_cues[cause] = 0.0
            for cue in range(n_cues):  # equations 4 and 5
                matches = present[cause, cue] if cues[trial, cue] else trials[cause] - present[cause, cue]
                of_cues[cause] += np.log((matches + omega) / (trials[cause] + 2 * omega))
            weight = log_prior[cause] + of_cues[cause] / (n_cues if length_normalized and n_cues else 1)
            highest = max(highest, weight)
        total = of_outcome = 0.0
        for cause in range(n_causes + 1):  # equation 8
            weight = log_prior[cause] + of_cues[cause] / (n_cues if length_normalized and n_cues else 1)
            mass = np.exp(weight - highest)
            total += mass
            of_outcome += mass * (followed[cause] + omega) / (answered[cause] + 2 * omega)
        predicted[trial] = of_outcome / total
        best, likeliest = 0, -np.inf
        for cause in range(n_causes + 1):  # equation 1, with the outcome if it is shown
            likelihood, n_features = of_cues[cause], n_cues
            if feedback[trial]:
                matches = followed[cause] if outcome[trial] else answered[cause] - followed[cause]
                likelihood += np.log((matches + omega) / (answered[cause] + 2 * omega))
                n_features += 1
            posterior = log_prior[cause] + likelihood / (n_features if length_normalized and n_features else 1)
            if posterior > likeliest + 1e-12:  # rounding makes no difference
                best, likeliest = cause, posterior
        n_causes = max(n_causes, best + 1)
        trials[best] += 1
        for cue in range(n_cues):
            present[best, cue] += cues[trial, cue]
        if feedback[trial]:
            answered[best] += 1
            followed[best] += outcome[trial]
    return predicted
