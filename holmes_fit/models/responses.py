"""From p-hat to choices: the response rule and its parameters."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from holmes_fit.models.parameters import Parameter

BETA = Parameter("beta", 0.1, 20.0, "log", 3.0, "how consistently choices follow predictions", symbol="β")
LAPSE = Parameter("lapse", 0.001, 0.5, "logit", 0.02, "share of choices made at random")
BIAS = Parameter("bias", -5.0, 5.0, "identity", 0.0, "preference for answer 1", free=False)  # in logits

RESPONSE_PARAMETERS = (BETA, LAPSE, BIAS)


def response_parameters(predicts_choices: bool) -> tuple[Parameter, ...]:
    """Return the response parameters that a model has: none if it predicts the choices themselves."""
    return () if predicts_choices else RESPONSE_PARAMETERS


def choice_probability(
    p_hat: ArrayLike, beta: ArrayLike, lapse: ArrayLike, bias: ArrayLike = 0.0, choice: ArrayLike = 1
) -> NDArray[np.float64]:
    """Return the probability of a choice: ``lapse/2 + (1 - lapse) sigmoid(beta logit(p_hat) + bias)`` for choice 1.

    All arguments are broadcast against each other. The probability of choice 0 is computed directly, so that it stays
    exact where it is tiny.
    """
    evidence = np.asarray(beta) * logit(np.asarray(p_hat, dtype=np.float64)) + np.asarray(bias)
    towards = np.where(np.asarray(choice) == 1, evidence, -evidence)
    guess = np.asarray(lapse)
    return np.asarray(guess / 2 + (1 - guess) * expit(towards))
