"""The delta rule over features and over whole stimuli: configural cues."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact
from holmes_fit.models.competitors.rescorla_wagner import LEARNING_RATE, delta_rule
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

PATTERN_RATE = Parameter("pattern_rate", 0.001, 10.0, "log", 0.1, "step of each update of a whole stimulus's weight")


@dataclass(frozen=True)
class Configural(Exact):
    """Weights of the cues, of a constant one, and of each whole stimulus; all learn from one error.

    Gluck, M. A., & Bower, G. H. (1988), "Evaluating an adaptive network model of human learning", Journal of Memory
    and Language 27, 166-195: beside the units of single features, the network has configural ones, that are active
    when all of theirs are. Of these, here are those of whole stimuli, with a learning rate of their own; sums of two or
    three features have none. Without them (a rate of 0) the model is ``rescorla_wagner``.
    """

    name: str = "configural"
    label: str = "configural cues"
    parameters: tuple[Parameter, ...] = (LEARNING_RATE, PATTERN_RATE)

    meaning: ClassVar[str] = "a delta rule over features and whole stimuli (Gluck & Bower, 1988)"
    color: ClassVar[str] = "#d55e00"
    marker: ClassVar[str] = "h"
    family: ClassVar[str] = "error-driven"

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return sigmoid(w . x + the weight of the stimulus) before every trial's update."""
        return delta_rule(observations, values["learning_rate"], values["pattern_rate"])
