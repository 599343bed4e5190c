"""No learning at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.competitors.exact import Exact
from holmes_fit.models.parameters import Parameter
from holmes_fit.trials.observations import Observations

CHOICE_PROBABILITY = Parameter(
    "choice_probability", 0.01, 0.99, "logit", 0.5, "constant share of answers 1", symbol="P(choice = 1)"
)


@dataclass(frozen=True)
class Bias(Exact):
    """A person who does not learn: one probability of choosing 1, on every trial."""

    name: str = "bias"
    label: str = "bias"
    parameters: tuple[Parameter, ...] = (CHOICE_PROBABILITY,)

    meaning: ClassVar[str] = "a constant choice probability"
    color: ClassVar[str] = "#56b4e9"
    marker: ClassVar[str] = "P"
    baseline: ClassVar[bool] = True
    family: ClassVar[str] = "heuristic"
    predicts_choices: ClassVar[bool] = True

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the same probability everywhere."""
        return np.full(observations.n_trials, values["choice_probability"])
