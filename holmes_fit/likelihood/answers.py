"""The likelihood of one person's answers at one point of the learning parameters, for any response parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from holmes_fit.likelihood import compiled
from holmes_fit.likelihood.density import TraceDensity, density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.specialised import Axes, Specialised
from holmes_fit.likelihood.traces import Traces
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response, Rule, flattened

Kind = Literal["marginal", "expected"]
Lent = Sequence[NDArray[np.float64]]  # by learner: deviations of filters at neighbouring points, rows


@dataclass(frozen=True)
class Answers:
    """A learner's answers, as both halves of the likelihood need them."""

    p_hat: NDArray[np.float64]  # replicates x trials
    coded: NDArray[np.float64]  # all trials, NaN where the answer was missed
    log_odds: NDArray[np.float64]  # replicates x answered trials
    density: TraceDensity | None  # the density of traces; none if there is nothing but the replicates
    by: Specialised  # how likely answers are

    @property
    def is_answered(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.coded)

    @property
    def given(self) -> NDArray[np.float64]:
        """The answers that were given."""
        return self.coded[self.is_answered]

    def plain(self, rule: Rule) -> NDArray[np.float64]:
        """Return every replicate's log-likelihood."""
        return self.by.by_replicate(self.log_odds, self.given, rule)

    def log_likelihood(self, rule: Rule) -> float:
        """Return the log-likelihood of the answers: the mean of both halves."""
        plain = float(log_mean(self.plain(rule)))
        if self.density is None:
            return plain
        return float(halves(plain, self.by.integral(self.density, self.coded, rule)))


def halves(plain: NDArray[np.float64] | float, smooth: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the logarithm of the mean of two likelihoods."""
    return np.logaddexp(plain, smooth) - np.log(2.0)


def likelihood_of(
    traces: Traces, kind: Kind = "marginal", lent: Lent | None = None, response: Response = CHOICES
) -> AnswerLikelihood:
    """Line predictions up with the answers. Missed trials drop out here, after learning.

    ``lent`` is what neighbouring points lend for the density of traces; without it, likelihoods are plain means.
    """
    learners, by = [], Specialised(response)
    for number, (p_hat, answers) in enumerate(zip(*traces, strict=True)):
        own = p_hat if kind == "marginal" else p_hat.mean(axis=0, keepdims=True)
        density = None if lent is None or kind == "expected" else _density(p_hat, lent[number])
        coded = response.coded(answers)
        log_odds = np.ascontiguousarray(logit(own[:, ~np.isnan(coded)]))
        learners.append(Answers(own, coded, log_odds, density, by))
    return AnswerLikelihood(learners)


def _density(p_hat: NDArray[np.float64], lent: NDArray[np.float64]) -> TraceDensity:
    log_odds = log_odds_of(p_hat)
    return density_of(log_odds.mean(axis=0), np.concatenate([deviations_of(log_odds), lent]))


class AnswerLikelihood:
    """The likelihood of one person's answers at one point of the learning parameters, for any response parameters."""

    def __init__(self, learners: Sequence[Answers]):
        self.learners = tuple(learners)

    def at(self, rule: Rule) -> float:
        """Return the log-likelihood at one point."""
        return sum(learner.log_likelihood(rule) for learner in self.learners)

    def on_grid(self, axes: Axes) -> NDArray[np.float64]:
        """Return the log-likelihood at all points of a grid."""
        total = np.zeros([len(values) for values in axes])
        for each in self.learners:
            plain = log_mean(each.by.on_grid(each.log_odds, each.given, axes))
            if each.density is None:
                total += plain
            else:
                total += halves(plain, each.by.integral_on_grid(each.density, each.coded, axes))
        return total

    def effective_replicates(self, rule: Rule) -> float:
        """Return 1 / sum of squared shares in the plain mean, the least over learners: 1 if one carries it all."""
        shares = [_shares(learner.plain(rule)) for learner in self.learners]
        return min(float(1.0 / np.sum(share**2)) for share in shares)

    def best_replicates(self, rule: Rule) -> tuple[int, ...]:
        """Return the replicate of each learner that explains the answers best."""
        return tuple(int(np.argmax(learner.plain(rule))) for learner in self.learners)

    def one_step_ahead(self, rule: Rule) -> tuple[OneStepAhead, ...]:
        """Return the predictions of every trial from the answers before it, learner by learner."""
        return tuple(_one_step_ahead(learner, rule) for learner in self.learners)


class OneStepAhead(NamedTuple):
    """One learner's trials, predicted from earlier answers.

    ``log_probability`` of the answer, NaN where it was missed, adds up to the log-likelihood. ``p_hat`` is what the
    person is expected to predict, and ``answer`` the expected answer, of choices the probability of 1. Laplace's method
    has no part in it: with a density of traces it may differ by some hundredths from what the log probability says.
    """

    log_probability: NDArray[np.float64]
    p_hat: NDArray[np.float64]
    answer: NDArray[np.float64]


def _one_step_ahead(learner: Answers, rule: Rule) -> OneStepAhead:
    plain, p_hat, answer = _plain_steps(learner, rule)
    total = plain
    if learner.density is not None:
        smooth, expected, variance = learner.by.before_each_trial(learner.density, learner.coded, rule)
        total = halves(plain, smooth)
        share = np.exp(smooth - np.logaddexp(plain, smooth))[:-1]  # of the smooth half, before the trial
        p_hat = (1 - share) * p_hat + share * expit(expected / flattened(1.0, variance))
        answer = (1 - share) * answer + share * learner.by.response.mean(expected, rule, variance)
    return OneStepAhead(np.where(learner.is_answered, np.diff(total), np.nan), p_hat, answer)


def _plain_steps(learner: Answers, rule: Rule) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the plain half's log-likelihood before every trial and after all, and its means before every trial.

    The means of p-hat and of the answer are weighted by how well replicates explained earlier answers.
    """
    log_answers = np.zeros(learner.p_hat.shape)
    log_answers[:, learner.is_answered] = learner.by.by_trial(learner.log_odds, learner.given, rule)
    so_far = np.column_stack([np.zeros(len(log_answers)), np.cumsum(log_answers, axis=1)])
    total = log_mean(so_far)
    weights = np.exp(so_far - total)[:, :-1] / len(so_far)
    answer = learner.by.response.mean(logit(learner.p_hat), rule)
    return total, np.sum(weights * learner.p_hat, axis=0), np.sum(weights * answer, axis=0)


def log_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the mean over replicates, the first axis."""
    return compiled.log_mean(values.reshape(len(values), -1)).reshape(values.shape[1:])


def _shares(log_likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    relative = np.exp(log_likelihoods - log_likelihoods.max())
    return relative / relative.sum()
