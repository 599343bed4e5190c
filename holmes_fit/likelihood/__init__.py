"""How likely a person's choices are: p-hat traces and the response rule, summed over trials, averaged over filters.

The particles in a person's head are unobserved, so each learner is filtered R times. An observer who runs one filter
has the ``marginal`` likelihood, the mean over replicates of the product over trials; an averaged observer has the
``expected`` one, the product over trials at the mean p-hat. A person's log-likelihood is the sum over learners.

Both are Monte Carlo estimates. The marginal one is noisy: a few lucky replicates can carry the mean, which is what the
effective number of replicates says, and independent batches of replicates spread, which is what the batch SD says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, logsumexp

from holmes_fit.choices import BETA, BIAS, LAPSE
from holmes_fit.cohort_traces import learner_key
from holmes_fit.likelihood import compiled
from holmes_fit.models import Model, Observer
from holmes_fit.trials import MISSED, Learner

Kind = Literal["marginal", "expected"]


class Replicates(NamedTuple):
    """Which of a learner's replicate filters are meant: ``number`` of them from ``first`` on."""

    number: int
    first: int = 0


class Response(NamedTuple):
    """The response parameters at one point."""

    beta: float = BETA.default
    lapse: float = LAPSE.default
    bias: float = BIAS.default


AS_PREDICTED = Response(beta=1.0, lapse=0.0, bias=0.0)  # for models whose p-hat is the choice probability itself


@dataclass(frozen=True)
class Answers:
    """A learner's answered trials, as the response rule needs them, for every replicate.

    Parameters
    ----------
    towards
        Replicates x answered trials, the log odds that the prediction gives to the outcome that was chosen.
    sign
        Answered trials, 1 where 1 was chosen and -1 where 0 was: the direction of a bias.
    is_answered
        All trials of the learner's sequence, whether the answer was given.
    """

    towards: NDArray[np.float64]
    sign: NDArray[np.float64]
    is_answered: NDArray[np.bool_]


class Traces(NamedTuple):
    """What the filters of one person predict, learner by learner: p-hat (replicates x trials), and the choices."""

    p_hat: tuple[NDArray[np.float64], ...]
    choices: tuple[NDArray[np.int8], ...]

    def batches(self, count: int) -> list[Traces]:
        """Deal the replicates out in order, an equal number to every batch."""
        split = [np.split(p_hat, count) for p_hat in self.p_hat]
        return [Traces(p_hat, self.choices) for p_hat in zip(*split, strict=True)]

    def all_but_one(self, count: int) -> list[Traces]:
        """Leave out each of so many batches in turn."""
        batches = np.split(np.arange(len(self.p_hat[0])), count)
        return [Traces(tuple(np.delete(p_hat, out, axis=0) for p_hat in self.p_hat), self.choices) for out in batches]


def traces_of(
    model: Model,
    learners: Sequence[Learner],
    values: Mapping[str, float],
    observer: Observer,
    seed: int,
    replicates: Replicates,
) -> Traces:
    """Filter a person's trials.

    Parameters
    ----------
    model, values, observer
        Who the person is taken to be.
    learners
        All learners of one person.
    seed, replicates
        Choose the draws. Two points with the same ones see the same luck: common random numbers.
    """
    p_hat = [
        model.p_hat(each.observations, values, observer, learner_key(each, seed), replicates.number, replicates.first)
        for each in learners
    ]
    return Traces(tuple(p_hat), tuple(each.choices for each in learners))


def likelihood_of(traces: Traces, kind: Kind = "marginal") -> ChoiceLikelihood:
    """Line predictions up with the choices. Missed trials drop out here, after learning."""
    return ChoiceLikelihood([_answers(*learner, kind) for learner in zip(*traces, strict=True)])


def _answers(p_hat: NDArray[np.float64], choices: NDArray[np.int8], kind: Kind) -> Answers:
    is_answered = choices != MISSED
    sign = np.where(choices[is_answered] == 1, 1.0, -1.0)
    traces = p_hat if kind == "marginal" else p_hat.mean(axis=0, keepdims=True)
    return Answers(np.ascontiguousarray(sign * logit(traces[:, is_answered])), sign, is_answered)


class ChoiceLikelihood:
    """The likelihood of one person's choices at one point of the learning parameters, for any response parameters.

    Parameters
    ----------
    learners
        The person's answers, learner by learner.
    """

    def __init__(self, learners: Sequence[Answers]):
        self.learners = tuple(learners)

    def on_grid(
        self, beta: NDArray[np.float64], lapse: NDArray[np.float64], bias: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return log-likelihoods, learners x beta x lapse x bias. The person's is the sum over the learners."""
        return np.array(
            [_log_mean(compiled.on_grid(each.towards, each.sign, beta, lapse, bias)) for each in self.learners]
        )

    def at(self, response: Response) -> float:
        """Return the log-likelihood at one point."""
        return self.with_gradient(response)[0]

    def with_gradient(self, response: Response) -> tuple[float, NDArray[np.float64]]:
        """Return the log-likelihood and its slope along log beta, logit lapse and bias."""
        value, slope = 0.0, np.zeros(3)
        for learner in self.learners:
            by_replicate, slopes = compiled.with_slopes(learner.towards, learner.sign, *response)
            value += float(_log_mean(by_replicate))
            slope += _shares(by_replicate) @ slopes
        return value, slope

    def effective_replicates(self, response: Response) -> float:
        """Return 1 / sum of squared shares in the mean, the least over learners: 1 if one replicate carries it all."""
        shares = [_shares(compiled.with_slopes(each.towards, each.sign, *response)[0]) for each in self.learners]
        return min(float(1.0 / np.sum(share**2)) for share in shares)

    def best_replicates(self, response: Response) -> tuple[int, ...]:
        """Return the replicate of each learner that explains the choices best."""
        return tuple(
            int(np.argmax(compiled.with_slopes(each.towards, each.sign, *response)[0])) for each in self.learners
        )

    def one_step_ahead(self, response: Response) -> tuple[OneStepAhead, ...]:
        """Return the predictions of every trial from the choices before it, learner by learner."""
        return tuple(_one_step_ahead(learner, response) for learner in self.learners)


class OneStepAhead(NamedTuple):
    """One learner's trials, predicted from earlier choices.

    ``log_probability`` of the choice made, NaN where it was missed, adds up to the log-likelihood. ``weights``
    (replicates x trials) are the shares of the replicates before the choice of each trial is seen.
    """

    log_probability: NDArray[np.float64]
    weights: NDArray[np.float64]


def _one_step_ahead(learner: Answers, response: Response) -> OneStepAhead:
    log_choice = np.zeros((len(learner.towards), len(learner.is_answered)))
    log_choice[:, learner.is_answered] = np.log(compiled.probabilities(learner.towards, learner.sign, *response))
    before = np.cumsum(log_choice, axis=1) - log_choice
    log_weight = before - logsumexp(before, axis=0, keepdims=True)
    log_probability = np.where(learner.is_answered, logsumexp(log_weight + log_choice, axis=0), np.nan)
    return OneStepAhead(log_probability, np.exp(log_weight))


def _log_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the mean over replicates, the first axis."""
    return compiled.log_mean(values.reshape(len(values), -1)).reshape(values.shape[1:])


def _shares(log_likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    relative = np.exp(log_likelihoods - log_likelihoods.max())
    return relative / relative.sum()
