"""Choices between two answers, with lapses.

P(choice) = lapse/2 + (1 - lapse) sigmoid(beta logit(p_hat) + bias), towards the choice that was made. Answers are
coded 1 where 1 was chosen and -1 where 0 was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from holmes_fit.models.parameters import Parameter
from holmes_fit.models.responses.contract import PROBIT, Array, Response, Rule, flattened
from holmes_fit.trials.observations import MISSED

BETA = Parameter("beta", 0.1, 20.0, "log", 3.0, "how consistently choices follow predictions", symbol="β")
LAPSE = Parameter("lapse", 0.001, 0.5, "logit", 0.02, "share of choices made at random")
BIAS = Parameter("bias", -5.0, 5.0, "identity", 0.0, "preference for answer 1", free=False)  # in logits

LEAST = 1e-300  # probability, so that it has a logarithm
LARGEST_LOG = 600.0  # a product of probabilities is safe above exp(-this)


def choice_probability(
    p_hat: ArrayLike, beta: ArrayLike, lapse: ArrayLike, bias: ArrayLike = 0.0, choice: ArrayLike = 1
) -> Array:
    """Return the probability of a choice: ``lapse/2 + (1 - lapse) sigmoid(beta logit(p_hat) + bias)`` for choice 1.

    All arguments are broadcast against each other. The probability of choice 0 is computed directly, so that it stays
    exact where it is tiny.
    """
    evidence = np.asarray(beta) * logit(np.asarray(p_hat, dtype=np.float64)) + np.asarray(bias)
    return _with_lapses(np.where(np.asarray(choice) == 1, evidence, -evidence), lapse)


def _with_lapses(evidence: Array, lapse: ArrayLike) -> Array:
    guess = np.asarray(lapse)
    return np.asarray(guess / 2 + (1 - guess) * expit(evidence))


# Compiled, see :class:`~holmes_fit.models.responses.contract.Response`
def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)), 0 or 1 where x is infinite."""
    return 1.0 / (1.0 + np.exp(-x))


def over_residual(answer: float, log_odds: float, variance: float, rule: Array) -> tuple[float, float, float]:
    """Return the log probability of a choice, and its derivatives; the residual is integrated by a flatter slope."""
    beta, lapse, bias = rule[0], rule[1], rule[2]
    shrunk = answer / np.sqrt(1.0 + PROBIT * beta * beta * variance)
    slope = beta * shrunk
    follows = sigmoid(slope * log_odds + bias * shrunk)
    probability = max(lapse / 2 + (1 - lapse) * follows, LEAST)
    rise = (1 - lapse) * follows * (1 - follows) / probability
    return np.log(probability), slope * rise, slope * slope * rise * (1 - 2 * follows - rise)


def log_density(answer: float, log_odds: float, rule: Array) -> tuple[float, float, float]:
    """Return the log probability of a choice, and its derivatives."""
    return over_residual(answer, log_odds, 0.0, rule)


def on_grid(log_odds: Array, answers: Array, beta: Array, lapse: Array, bias: Array) -> Array:
    """Return the log-likelihood of every replicate, replicates x beta x lapse x bias.

    Probabilities are multiplied, and their logarithm is taken once for as many trials as cannot underflow: no
    probability is below lapse / 2.
    """
    n_replicates, n_trials = log_odds.shape
    block = max(1, int(LARGEST_LOG / -np.log(min(lapse.min() / 2, 0.5)))) if lapse.min() > 0 else 1
    result = np.zeros((n_replicates, len(beta), len(lapse), len(bias)))
    product = np.empty(len(lapse))
    for replicate in range(n_replicates):
        for b in range(len(beta)):
            for k in range(len(bias)):
                for first in range(0, n_trials, block):
                    product[:] = 1.0
                    for trial in range(first, min(first + block, n_trials)):
                        follows = sigmoid(answers[trial] * (beta[b] * log_odds[replicate, trial] + bias[k]))
                        for guess in range(len(lapse)):
                            product[guess] *= lapse[guess] / 2 + (1 - lapse[guess]) * follows
                    for guess in range(len(lapse)):
                        result[replicate, b, guess, k] += np.log(product[guess])
    return result


@dataclass(frozen=True)
class Choices(Response):
    """One of two answers, 0 or 1."""

    name = "choice"
    parameters = (BETA, LAPSE, BIAS)
    knots: ClassVar[Mapping[str, int]] = {"beta": 12, "lapse": 6, "bias": 6}
    parts = 1  # choices say little: cells are narrow enough
    neutral: ClassVar[Mapping[str, float]] = {"beta": 1.0, "lapse": 0.0, "bias": 0.0}

    log_density = staticmethod(log_density)
    over_residual = staticmethod(over_residual)
    on_grid = staticmethod(on_grid)
    helpers = (sigmoid,)

    def coded(self, answers: NDArray[Any]) -> Array:
        """Return 1 where 1 was chosen, -1 where 0 was."""
        return np.where(answers == MISSED, np.nan, np.where(answers == 1, 1.0, -1.0))

    def mean(self, log_odds: ArrayLike, rule: Rule, variance: ArrayLike = 0.0) -> Array:
        """Return the probability of choosing 1."""
        beta, lapse, bias = rule
        evidence = np.asarray(beta) * np.asarray(log_odds) + np.asarray(bias)
        return _with_lapses(evidence / flattened(beta, variance), lapse)

    def draw(self, p_hat: Array, rule: Rule, rng: np.random.Generator) -> NDArray[np.int8]:
        """Return choices."""
        return (rng.random(np.shape(p_hat)) < self.mean(logit(p_hat), rule)).astype(np.int8)

    def log_chance(self, answers: NDArray[Any]) -> float:
        """Return how likely they are as tosses of a fair coin."""
        return len(answers) * float(np.log(0.5))

    def hit_rate(self, answers: NDArray[Any], expected: Array) -> float:
        """Return the share of answers that were the likelier ones; even odds count half."""
        return float(np.mean(0.5 + 0.5 * np.sign(expected - 0.5) * np.where(answers == 1, 1, -1)))


CHOICES = Choices()
