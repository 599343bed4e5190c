"""The likelihood of one person's answers at one point of the learning parameters, for any response parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from holmes_fit.likelihood import compiled, laplace
from holmes_fit.likelihood.density import TraceDensity, density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.traces import Traces
from holmes_fit.models.responses import BETA, BIAS, LAPSE, choice_probability
from holmes_fit.trials.cohorts import MISSED

Kind = Literal["marginal", "expected"]
Lent = Sequence[NDArray[np.float64]]  # by learner: deviations of filters at neighbouring points, rows


class Response(NamedTuple):
    """The response parameters at one point."""

    beta: float = BETA.default
    lapse: float = LAPSE.default
    bias: float = BIAS.default


AS_PREDICTED = Response(beta=1.0, lapse=0.0, bias=0.0)  # for models whose p-hat is the choice probability itself


def signs_of(choices: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return 1 where 1 was chosen, -1 where 0 was, and 0 where the answer was missed."""
    return np.where(choices == MISSED, 0.0, np.where(choices == 1, 1.0, -1.0))


@dataclass(frozen=True)
class Answers:
    """A learner's answers, as both halves of the likelihood need them."""

    p_hat: NDArray[np.float64]  # replicates x trials
    signs: NDArray[np.float64]  # all trials: see :func:`signs_of`
    # Replicates x answered trials, the log odds that the prediction gives to the outcome that was chosen
    towards: NDArray[np.float64]
    density: TraceDensity | None  # the density of traces; none if there is nothing but the replicates

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        return self.signs != 0.0

    @property
    def given(self) -> NDArray[np.float64]:
        """The signs of the answered trials."""
        return self.signs[self.is_answered]

    def plain(self, response: Response) -> NDArray[np.float64]:
        """Return every replicate's log-likelihood."""
        return compiled.by_replicate(self.towards, self.given, *response)

    def log_likelihood(self, response: Response) -> float:
        """Return the log-likelihood of the answers: the mean of both halves."""
        plain = float(log_mean(self.plain(response)))
        if self.density is None:
            return plain
        smooth, _, _ = laplace.at_point(*self.density, self.signs, tuple(response))
        return float(halves(plain, smooth))


def halves(plain: NDArray[np.float64] | float, smooth: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the logarithm of the mean of two likelihoods."""
    return np.logaddexp(plain, smooth) - np.log(2.0)


def likelihood_of(traces: Traces, kind: Kind = "marginal", lent: Lent | None = None) -> ChoiceLikelihood:
    """Line predictions up with the choices. Missed trials drop out here, after learning.

    ``lent`` is what neighbouring points lend for the density of traces; without it, likelihoods are plain means.
    """
    learners = []
    for number, (p_hat, choices) in enumerate(zip(*traces, strict=True)):
        own = p_hat if kind == "marginal" else p_hat.mean(axis=0, keepdims=True)
        density = None if lent is None or kind == "expected" else _density(p_hat, lent[number])
        signs = signs_of(choices)
        given = signs != 0.0
        towards = np.ascontiguousarray(signs[given] * logit(own[:, given]))
        learners.append(Answers(own, signs, towards, density))
    return ChoiceLikelihood(learners)


def _density(p_hat: NDArray[np.float64], lent: NDArray[np.float64]) -> TraceDensity:
    log_odds = log_odds_of(p_hat)
    return density_of(log_odds.mean(axis=0), np.concatenate([deviations_of(log_odds), lent]))


class ChoiceLikelihood:
    """The likelihood of one person's choices at one point of the learning parameters, for any response parameters."""

    def __init__(self, learners: Sequence[Answers]):
        self.learners = tuple(learners)

    def at(self, response: Response) -> float:
        """Return the log-likelihood at one point."""
        return sum(learner.log_likelihood(response) for learner in self.learners)

    def on_grid(
        self, beta: NDArray[np.float64], lapse: NDArray[np.float64], bias: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood at all points of a grid, beta x lapse x bias."""
        total = np.zeros((len(beta), len(lapse), len(bias)))
        for each in self.learners:
            plain = log_mean(compiled.on_grid(each.towards, each.given, beta, lapse, bias))
            if each.density is None:
                total += plain
            else:
                total += halves(plain, laplace.on_grid(*each.density, each.signs, beta, lapse, bias))
        return total

    def effective_replicates(self, response: Response) -> float:
        """Return 1 / sum of squared shares in the plain mean, the least over learners: 1 if one carries it all."""
        shares = [_shares(learner.plain(response)) for learner in self.learners]
        return min(float(1.0 / np.sum(share**2)) for share in shares)

    def best_replicates(self, response: Response) -> tuple[int, ...]:
        """Return the replicate of each learner that explains the choices best."""
        return tuple(int(np.argmax(learner.plain(response))) for learner in self.learners)

    def one_step_ahead(self, response: Response) -> tuple[OneStepAhead, ...]:
        """Return the predictions of every trial from the choices before it, learner by learner."""
        return tuple(_one_step_ahead(learner, response) for learner in self.learners)


class OneStepAhead(NamedTuple):
    """One learner's trials, predicted from earlier choices.

    ``log_probability`` of the choice made, NaN where it was missed, adds up to the log-likelihood. ``p_hat`` is what
    the person is expected to predict, and ``p_choice`` the probability of choosing 1, in which Laplace's method has no
    part: with a density of traces it may differ by some hundredths from that of the choice made.
    """

    log_probability: NDArray[np.float64]
    p_hat: NDArray[np.float64]
    p_choice: NDArray[np.float64]


def _one_step_ahead(learner: Answers, response: Response) -> OneStepAhead:
    plain, p_hat, p_choice = _plain_steps(learner, response)
    total = plain
    if learner.density is not None:
        smooth, expected, variance = laplace.before_each_trial(*learner.density, learner.signs, tuple(response))
        total = halves(plain, smooth)
        share = np.exp(smooth - np.logaddexp(plain, smooth))[:-1]  # of the smooth half, before the trial
        p_hat = (1 - share) * p_hat + share * expit(expected / np.sqrt(1 + laplace.PROBIT * variance))
        flatter = np.sqrt(1 + laplace.PROBIT * response.beta**2 * variance)
        follows = expit((response.beta * expected + response.bias) / flatter)
        p_choice = (1 - share) * p_choice + share * (response.lapse / 2 + (1 - response.lapse) * follows)
    return OneStepAhead(np.where(learner.is_answered, np.diff(total), np.nan), p_hat, p_choice)


def _plain_steps(
    learner: Answers, response: Response
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the plain half's log-likelihood before every trial and after all, and its means before every trial.

    The means of p-hat and of the probability of choosing 1 are weighted by how well replicates explained earlier
    choices.
    """
    log_choice = np.zeros(learner.p_hat.shape)
    log_choice[:, learner.is_answered] = np.log(compiled.probabilities(learner.towards, learner.given, *response))
    so_far = np.column_stack([np.zeros(len(log_choice)), np.cumsum(log_choice, axis=1)])
    total = log_mean(so_far)
    weights = np.exp(so_far - total)[:, :-1] / len(so_far)
    p_choice = choice_probability(learner.p_hat, *response)
    return total, np.sum(weights * learner.p_hat, axis=0), np.sum(weights * p_choice, axis=0)


def log_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the mean over replicates, the first axis."""
    return compiled.log_mean(values.reshape(len(values), -1)).reshape(values.shape[1:])


def _shares(log_likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    relative = np.exp(log_likelihoods - log_likelihoods.max())
    return relative / relative.sum()
