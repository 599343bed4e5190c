"""Simulated answers of one person on the trials that the person saw, and how often they are the ones that count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import Observer
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.settings.spaces import Space
from holmes_fit.trials.cohorts import Learner

UNSCORED = -1
GRAIN = 2.0**-20  # of an answer, so that sums are the same in whichever order


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
    """How often an answer was the one that counts, or how far answers on a scale were towards it."""

    answers: NDArray[np.float64]  # measures x cells: the answers that are scored, and those among them that counted
    observed: NDArray[np.float64]
    simulated: NDArray[np.float64]  # measures x cells x times: the simulated answers that counted

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.answers + other.answers, self.observed + other.observed, self.simulated + other.simulated)


def count_answers(person: Answering) -> Counts:
    """Simulate a person's answers once for each of the parameter values, and count.

    Filters and answers have draws of their own, which no fit and no simulated cohort uses.
    """
    p_hat = np.hstack([_p_hat(person, learner) for learner in person.learners])
    rng = np.random.default_rng(int(_key(person, "answers")))
    space = person.fitted.space
    rules = np.array([space.answers.rule(space.response_values(values)) for values in person.values])
    simulated = space.answers.draw(p_hat, tuple(rules.T[:, :, None]), rng)
    observed = np.concatenate([learner.choices for learner in person.learners])
    is_scored = person.targets != UNSCORED
    simulated_hits = _towards(simulated, person.targets[:, None, :])  # measures x times x trials
    return Counts(
        answers=is_scored @ person.cells.T,
        observed=_towards(observed, person.targets) @ person.cells.T,
        simulated=np.moveaxis(simulated_hits @ person.cells.T, 1, 2),
    )


def _towards(answers: NDArray[Any], targets: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return how far answers are towards what counts: 1 if they equal it; 0 where nothing is scored."""
    found = np.select([targets == 1, targets == 0], [answers, 1.0 - answers], 0.0)
    return np.round(found / GRAIN) * GRAIN


def _p_hat(person: Answering, learner: Learner) -> NDArray[np.float64]:
    """Return p-hat, times x trials, each time from a filter of its own."""
    fitted = person.fitted
    key = _key(person, "filter", learner.restart)
    found = np.empty((len(person.values), len(learner.choices)))
    for time, values in enumerate(person.values):
        filters = fitted.averaged, time * fitted.averaged
        found[time] = fitted.space.model.p_hat(learner.observations, values, fitted.observer, key, *filters).mean(
            axis=0
        )
    return found


def _key(person: Answering, *purpose: str) -> np.uint64:
    return stream_key(person.seed, json.dumps(["answers", person.learners[0].subject, *purpose]))
