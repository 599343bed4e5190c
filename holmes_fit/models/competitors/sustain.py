"""SUSTAIN: clusters that are recruited by surprise, move to what they win, and compete."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact, compiled, from_log_odds
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

CLUSTER_RATE = Parameter(
    "cluster_rate", 0.002, 0.98, "logit", 0.092327, "step of each update of clusters, tunings and weights"
)
FOCUS = Parameter("focus", 0.3, 50.0, "log", 9.01245, "how much the best tuned features count", symbol="r")
COMPETITION = Parameter("competition", 0.1, 10.0, "log", 1.252233, "how much clusters inhibit each other", free=False)

CONSISTENCY = 5.0  # what d is at beta = 1
SAME = 1e-12  # of an activity, by which rounding may make two that are the same differ


@dataclass(frozen=True)
class Sustain(Exact):
    """Clusters of stimuli, one more after each wrong prediction.

    Love, B. C., Medin, D. L., & Gureckis, T. M. (2004), "SUSTAIN: a network model of category learning", Psychological
    Review 111, 309-332, for supervised learning of nominal features. The consistency d of its equation 8 is the
    toolkit's beta: P(1) = sigmoid(d (C_1 - C_0)), and p-hat is that with d = 5, so that the published 16.9 is a beta of
    3.4. The competition of clusters has its published value unless it is freed, as in the paper one value served all
    data sets. What the paper leaves open: of clusters that are equally active the oldest wins; none is recruited where
    the winner sits exactly on the stimulus, or probabilistic tasks would recruit for ever; and nothing is learned
    without feedback. Published values: r = 9.01, competition 1.25, d = 16.92, learning rate 0.092.
    """

    name: str = "sustain"
    label: str = "SUSTAIN"
    parameters: tuple[Parameter, ...] = (CLUSTER_RATE, FOCUS, COMPETITION)

    meaning: ClassVar[str] = "SUSTAIN, which recruits clusters when surprised (Love, Medin & Gureckis, 2004)"
    color: ClassVar[str] = "#cc79a7"
    marker: ClassVar[str] = "p"
    family: ClassVar[str] = "clustering"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return sigmoid(5 (C_1 - C_0)) before every trial's update."""
        seen = observations.cues, observations.feature_of_cue, observations.outcome, observations.feedback
        rates = [float(values[each.name]) for each in (CLUSTER_RATE, FOCUS, COMPETITION)]
        return from_log_odds(CONSISTENCY * _differences(*seen, *rates))


@compiled
def _differences(cues, feature_of_cue, outcome, feedback, rate, focus, competition):
    """Return C_1 - C_0 before every trial's update."""
    n_trials, n_cues = cues.shape
    n_features = feature_of_cue[-1] + 1 if n_cues else 0
    half = np.full(n_features, 1.0)  # one binary cue stands for both values of its feature, so it is not halved
    for cue in range(1, n_cues):
        if feature_of_cue[cue] == feature_of_cue[cue - 1]:
            half[feature_of_cue[cue]] = 0.5
    centres, weights, n_clusters = np.zeros((n_trials, n_cues)), np.zeros((n_trials, 2)), 0
    tuning = np.ones(n_features)
    away, of_winner, share = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    differences = np.empty(n_trials)
    for trial in range(n_trials):
        sharpest = tuning.max() if n_features else 1.0
        for feature in range(n_features):
            share[feature] = (tuning[feature] / sharpest) ** focus
        share /= max(share.sum(), 1e-300)
        winner, highest, rivals = 0, 0.0, 0.0
        for cluster in range(n_clusters):
            away[:] = 0.0
            for cue in range(n_cues):  # equation 4
                away[feature_of_cue[cue]] += half[feature_of_cue[cue]] * abs(cues[trial, cue] - centres[cluster, cue])
            active = 0.0 if n_features else 1.0
            for feature in range(n_features):  # equation 5
                active += share[feature] * np.exp(-tuning[feature] * away[feature])
            rivals += active**competition
            if active > highest * (1.0 + SAME):
                winner, highest = cluster, active
                of_winner[:] = away
        output = highest ** (competition + 1.0) / rivals if n_clusters else 0.0  # equation 6
        differences[trial] = output * (weights[winner, 1] - weights[winner, 0])  # equation 7
        if not feedback[trial]:
            continue
        right = int(outcome[trial])
        surprised = not weights[winner, right] * output > weights[winner, 1 - right] * output
        if n_clusters == 0 or (surprised and of_winner.sum() > 0.0):  # equation 10
            winner = n_clusters
            n_clusters += 1
            centres[winner] = cues[trial]
            of_winner[:] = 0.0
            output = 1.0 / (rivals + 1.0)
        for cue in range(n_cues):  # equation 12
            centres[winner, cue] += rate * (cues[trial, cue] - centres[winner, cue])
        for feature in range(n_features):  # equation 13
            reach = tuning[feature] * of_winner[feature]
            tuning[feature] += rate * np.exp(-reach) * (1.0 - reach)
        for answer in range(2):  # equations 9 and 14
            predicted = output * weights[winner, answer]
            teacher = max(predicted, 1.0) if answer == right else min(predicted, 0.0)
            weights[winner, answer] += rate * (teacher - predicted) * output
    return differences
