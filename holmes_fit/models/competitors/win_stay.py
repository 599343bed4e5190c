"""A heuristic without memory: the answer that was right the last time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact, compiled
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

STAY = Parameter("stay", 0.01, 0.99, "logit", 0.8, "share of answers that would have been right the last time")
FIRST_GUESS = Parameter("first_guess", 0.01, 0.99, "logit", 0.5, "share of answers 1 to what was never seen")


@dataclass(frozen=True)
class WinStay(Exact):
    """A person who stays with an answer to a stimulus after a win, and shifts after a loss, more often than not.

    With feedback, either means the answer that would have been right when the stimulus was last seen (Robbins, H.,
    1952, "Some aspects of the sequential design of experiments", Bulletin of the American Mathematical Society 58,
    527-535, for the rule). It speaks of choices, so that ``beta`` and ``lapse`` have no part in it: with a prediction
    that is always equally far from even odds, neither could be told from ``stay``.
    """

    name: str = "win_stay"
    label: str = "win-stay"
    parameters: tuple[Parameter, ...] = (STAY, FIRST_GUESS)

    meaning: ClassVar[str] = "a win-stay, lose-shift rule for each stimulus"
    color: ClassVar[str] = "#882255"
    marker: ClassVar[str] = "H"
    baseline: ClassVar[bool] = True
    family: ClassVar[str] = "heuristic"
    predicts_choices: ClassVar[bool] = True

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the probability of answer 1."""
        shown, outcome, feedback = observations.stimuli.shown, observations.outcome, observations.feedback
        answers: NDArray[np.float64] = _answers(shown, outcome, feedback, values["stay"], values["first_guess"])
        return answers


@compiled
def _answers(shown, outcome, feedback, stay, first_guess):
    """Return the probability of answer 1 on every trial."""
    expected, answers = np.full(len(shown), first_guess), np.empty(len(shown))  # by stimulus; by trial
    for trial in range(len(shown)):
        answers[trial] = expected[shown[trial]]
        if feedback[trial]:
            expected[shown[trial]] = stay if outcome[trial] else 1.0 - stay
    return answers
