"""Ratings on a scale with two ends, by Beta regression (Ferrari & Cribari-Neto, 2004, J Appl Stat 31, 799-815).

What a person would say is Beta(mu phi, (1 - mu) phi) with logit(mu) = slope logit(p_hat) + shift. It is said in steps:
every rating that can be given has an equal part of the scale, and its probability is that of its part. So the ends are
ratings like others. As densities, they would be infinitely likely wherever a shape parameter is below 1, or else
impossible. Squeezed towards the middle by a little (Smithson & Verkuilen, 2006, Psychological Methods 11, 54-71), they
are as likely as that little makes them; and on a coarse scale densities grow beyond all bounds as phi does.

An answer is coded by the middle of its part, from 0 to 1. With x = part of the scale up to its end, and phi fixed,
everything is a function of a = mu phi alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from holmes_fit.models.parameters import Parameter
from holmes_fit.models.responses.contract import Array, Response, Rule, flattened
from holmes_fit.trials.protocols.schema import Scale

PRECISION = Parameter("precision", 0.5, 300.0, "log", 10.0, "how closely ratings follow predictions", symbol="φ")
SHIFT = Parameter("shift", -3.0, 3.0, "identity", 0.0, "how much higher ratings are than predictions")  # in logits
SLOPE = Parameter("slope", 0.1, 5.0, "log", 1.0, "how far towards the ends ratings follow predictions", free=False)

FARTHEST = 30.0  # logits, beyond which ratings are as good as certain
HUGE = 1e200  # what a sum may grow to before it is scaled down
NODES, WEIGHTS = (tuple(each) for each in np.polynomial.legendre.leggauss(6))
LARGE = 8.0  # from where the series for digamma and trigamma have 12 digits

Curve = tuple[float, float, float]  # a value with its first and second derivative


# Compiled, see :class:`~holmes_fit.models.responses.contract.Response`
def log_gamma(x: float) -> Curve:
    """Return log gamma with its derivatives, digamma and trigamma (Abramowitz & Stegun, 6.3.18 and 6.4.12)."""
    value, first, second = math.lgamma(x), 0.0, 0.0
    while x < LARGE:
        first -= 1 / x
        second += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    first += math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    second += 1 / x + y * (0.5 + (1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * 5 / 66)))) / x)
    return value, first, second


def up_to(x: float, a: float, phi: float) -> Curve:
    """Return the logarithm of the integral of t^(a-1) (1-t)^(phi-a-1) from 0 to x, with its derivatives in a.

    A series of positive terms (DLMF 8.17.8): x^a (1-x)^b / a times the sum of (a+b)_n / (a+1)_n x^n.
    """
    term, n, scale = 1.0, 0.0, 0.0
    falls, falls_squared = 0.0, 0.0  # derivatives of log(term) in a
    total, first, second = 1.0, 0.0, 0.0
    while term > 1e-16 * total:
        term *= x * (phi + n) / (a + 1 + n)
        falls -= 1 / (a + 1 + n)
        falls_squared += 1 / (a + 1 + n) ** 2
        total += term
        first += term * falls
        second += term * (falls * falls + falls_squared)
        n += 1
        if total > HUGE:
            term, total, first, second, scale = term / HUGE, total / HUGE, first / HUGE, second / HUGE, scale + 1
    first, second = first / total, second / total
    value = a * math.log(x) + (phi - a) * math.log1p(-x) - math.log(a) + math.log(total) + scale * math.log(HUGE)
    return value, math.log(x) - math.log1p(-x) - 1 / a + first, 1 / (a * a) + second - first * first


def between(low: float, high: float, a: float, phi: float) -> Curve:
    """Return the same from ``low`` to ``high``, both inside the scale, by Gauss and Legendre's rule over log odds."""
    start, end = math.log(low / (1 - low)), math.log(high / (1 - high))
    share = 0.5 * (low + high)
    bend = abs(a - phi * share) + math.sqrt(phi * share * (1 - share))  # e-folds and widths over a logit
    panels = 1 + int(0.3 * bend * (end - start))
    half = 0.5 * (end - start) / panels
    middle = 0.5 * (start + end)
    highest = phi * -math.log1p(math.exp(-middle)) - (phi - a) * middle
    total, first, second = 0.0, 0.0, 0.0
    for panel in range(panels):
        for node in range(len(NODES)):
            at = start + half * (2 * panel + 1 + NODES[node])
            weight = half * WEIGHTS[node] * math.exp(phi * -math.log1p(math.exp(-at)) - (phi - a) * at - highest)
            total += weight
            first += weight * (at - middle)
            second += weight * (at - middle) ** 2
    first, second = first / total, second / total
    return highest + math.log(total), middle + first, second - first * first


def log_density(answer: float, log_odds: float, rule: Array) -> Curve:
    """Return the log probability of a rating, and its derivatives in the log odds of p-hat."""
    phi, slope, half = rule[0], rule[2], 0.5 * rule[3]
    mean = 1 / (1 + math.exp(-min(max(slope * log_odds + rule[1], -FARTHEST), FARTHEST)))
    a, b = mean * phi, (1 - mean) * phi
    if answer < 1.5 * half:
        value, first, second = up_to(2 * half, a, phi)
    elif answer > 1 - 1.5 * half:
        value, first, second = up_to(2 * half, b, phi)
        first = -first
    else:
        value, first, second = between(answer - half, answer + half, a, phi)
    whole, of_a, of_b = log_gamma(phi), log_gamma(a), log_gamma(b)
    value += whole[0] - of_a[0] - of_b[0]
    first -= of_a[1] - of_b[1]
    second -= of_a[2] + of_b[2]
    rise = slope * phi * mean * (1 - mean)  # of a, per log odds
    return value, rise * first, rise * rise * second + slope * rise * (1 - 2 * mean) * first


@dataclass(frozen=True)
class Ratings(Response):
    """A number on a scale with two ends, in equal steps."""

    steps: int  # from one end of the scale to the other

    name = "rating"
    parameters = (PRECISION, SHIFT, SLOPE)
    knots: ClassVar[Mapping[str, int]] = {"precision": 12, "shift": 9, "slope": 7}
    neutral: ClassVar[Mapping[str, float]] = {"shift": 0.0, "slope": 1.0}

    log_density = staticmethod(log_density)
    helpers = (log_gamma, up_to, between)

    @classmethod
    def of(cls, scale: Scale) -> "Ratings":
        """Return the response that a protocol describes."""
        return cls(scale.steps)

    @property
    def constants(self) -> tuple[float, ...]:
        """The part of the scale that every rating has."""
        return (1 / (self.steps + 1),)

    def coded(self, answers: NDArray[Any]) -> Array:
        """Return the middle of each rating's part."""
        return (answers * self.steps + 0.5) / (self.steps + 1)

    def mean(self, log_odds: ArrayLike, rule: Rule, variance: ArrayLike = 0.0) -> Array:
        """Return the expected rating, as a share of the scale, from the mean of its part."""
        _, shift, slope, part = rule
        expected = expit((np.asarray(slope) * log_odds + shift) / flattened(slope, variance))
        return np.clip((expected - part / 2) / (1 - part), 0.0, 1.0)

    def draw(self, p_hat: Array, rule: Rule, rng: np.random.Generator) -> Array:
        """Return ratings, as shares of the scale."""
        precision, shift, slope, _ = rule
        logits = np.clip(np.asarray(slope) * logit(p_hat) + shift, -FARTHEST, FARTHEST)
        said = rng.beta(precision * expit(logits), precision * expit(-logits))
        return np.minimum(np.floor(said * (self.steps + 1)), self.steps) / self.steps

    def log_chance(self, answers: NDArray[Any]) -> float:
        """Return how likely ratings are if all are equally likely."""
        return -len(answers) * float(np.log(self.steps + 1))

    def hit_rate(self, answers: NDArray[Any], expected: Array) -> float:
        """Return 1 minus the mean distance between ratings and expected ratings, as shares of the scale."""
        return 1 - float(np.mean(np.abs(answers - expected)))
