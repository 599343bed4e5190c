"""Simulated answers of one person on the trials that the person saw, and how often they are the ones that count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import Observer
from holmes_fit.models.responses import choice_probability, response_parameters
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.settings.spaces import Space
from holmes_fit.trials.cohorts import Learner

UNSCORED = -1


@dataclass(frozen=True)
class FittedModel:
    """What simulating under a model takes, beside people's free parameters."""

    space: Space
    observer: Observer
    averaged: int = 1  # filters whose predictions are averaged before an answer; 1, except for averaged observers

    @classmethod
    def of(cls, fitted: FittedRun, name: str) -> FittedModel:
        return cls(fitted.space(name), fitted.observer, fitted.averaged(name))

    @property
    def name(self) -> str:
        return self.space.model.name


@dataclass(frozen=True)
class Answering:
    """One person who answers again and again."""

    fitted: FittedModel
    learners: tuple[Learner, ...]  # all learners of the person
    values: tuple[Mapping[str, float], ...]  # all parameters of the model and of the response rule, for each time
    seed: int  # chooses all draws, which depend on the person as well, and on nothing else
    targets: NDArray[np.int8]  # measures x trials, learner after learner: the answer that counts, or ``UNSCORED``
    cells: NDArray[np.float64]  # cells x trials: 1 where a trial lies in a cell


@dataclass(frozen=True)
class Counts:
    """How often an answer was the one that counts."""

    answers: NDArray[np.int64]  # measures x cells: the answers that are scored, and those among them that counted
    observed: NDArray[np.int64]
    simulated: NDArray[np.int64]  # measures x cells x times: the simulated answers that counted

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.answers + other.answers, self.observed + other.observed, self.simulated + other.simulated)


def count_answers(person: Answering) -> Counts:
    """Simulate a person's answers once for each of the parameter values, and count.

    Filters and answers have draws of their own, which no fit and no simulated cohort uses.
    """
    probability = np.hstack([_probability(person, learner) for learner in person.learners])
    rng = np.random.default_rng(int(_key(person, "answers")))
    simulated = rng.random(probability.shape) < probability
    observed = np.concatenate([learner.choices for learner in person.learners])
    is_scored = person.targets != UNSCORED
    hits = (simulated == person.targets[:, None, :]) & is_scored[:, None, :]  # measures x times x trials
    return Counts(
        answers=_counted(is_scored, person.cells),
        observed=_counted((observed == person.targets) & is_scored, person.cells),
        simulated=np.moveaxis(_counted(hits, person.cells), 1, 2),
    )


def _counted(hits: NDArray[np.bool_], cells: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(hits.astype(np.float64) @ cells.T).astype(np.int64)


def _probability(person: Answering, learner: Learner) -> NDArray[np.float64]:
    """Return times x trials: the probability of answer 1, each time from a filter of its own."""
    fitted, model = person.fitted, person.fitted.space.model
    response = [parameter.name for parameter in response_parameters(model.predicts_choices)]
    key = _key(person, "filter", learner.restart)
    found = np.empty((len(person.values), len(learner.choices)))
    for time, values in enumerate(person.values):
        filters = fitted.averaged, time * fitted.averaged
        p_hat = model.p_hat(learner.observations, values, fitted.observer, key, *filters).mean(axis=0)
        if not model.predicts_choices:
            p_hat = choice_probability(p_hat, **{name: values[name] for name in response})
        found[time] = p_hat
    return found


def _key(person: Answering, *purpose: str) -> np.uint64:
    return stream_key(person.seed, json.dumps(["answers", person.learners[0].subject, *purpose]))
