"""Any number that rises with the prediction, such as a skin conductance: a line with normal noise.

answer = baseline + gain p_hat + noise z, in units of the protocol's scale. Its ends are about where numbers lie when
nothing and when the outcome is expected, so that priors have a meaning; numbers may lie beyond.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import norm

from holmes_fit.models.parameters import Parameter
from holmes_fit.models.responses.contract import Array, Response, Rule, flattened

NOISE = Parameter("noise", 0.01, 3.0, "log", 0.2, "SD of answers around what predictions say")
BASELINE = Parameter("baseline", -1.5, 1.5, "identity", 0.0, "answer when the outcome is not expected at all")
GAIN = Parameter("gain", 0.05, 5.0, "log", 1.0, "how much answers rise with predictions from 0 to 1")


# Compiled, see :class:`~holmes_fit.models.responses.contract.Response`
def log_density(answer: float, log_odds: float, rule: Array) -> tuple[float, float, float]:
    """Return the log density of a number, and its derivatives in the log odds of p-hat."""
    noise, gain = rule[0], rule[2]
    p_hat = 1 / (1 + math.exp(-log_odds))
    off = (answer - rule[1] - gain * p_hat) / noise
    rise = gain * p_hat * (1 - p_hat) / noise
    value = -0.5 * off * off - math.log(noise) - 0.5 * math.log(2 * math.pi)
    return value, off * rise, -rise * rise + off * rise * (1 - 2 * p_hat)


@dataclass(frozen=True)
class Numbers(Response):
    """A number without ends."""

    name = "number"
    parameters = (NOISE, BASELINE, GAIN)
    approach = (8.0, 4.0, 2.0)
    knots: ClassVar[Mapping[str, int]] = {"noise": 12, "baseline": 9, "gain": 9}
    neutral: ClassVar[Mapping[str, float]] = {"baseline": 0.0, "gain": 1.0}

    log_density = staticmethod(log_density)

    def coded(self, answers: NDArray[Any]) -> Array:
        """Return the numbers."""
        return np.asarray(answers, dtype=np.float64)

    def mean(self, log_odds: ArrayLike, rule: Rule, variance: ArrayLike = 0.0) -> Array:
        """Return the expected number."""
        _, baseline, gain = rule
        return baseline + gain * expit(np.asarray(log_odds) / flattened(1.0, variance))

    def draw(self, p_hat: Array, rule: Rule, rng: np.random.Generator) -> Array:
        """Return numbers."""
        noise, baseline, gain = rule
        return baseline + gain * p_hat + noise * rng.standard_normal(np.shape(p_hat))

    def log_chance(self, answers: NDArray[Any]) -> float:
        """Return the log density of numbers that lie anywhere about the scale: its half is their SD."""
        return float(norm.logpdf(answers, 0.5, 0.5).sum())

    def hit_rate(self, answers: NDArray[Any], expected: Array) -> float:
        """Return 1 minus the mean distance between numbers and expected numbers, in units of the scale."""
        return 1 - float(np.mean(np.abs(answers - expected)))
