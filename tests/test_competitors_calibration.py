"""Posteriors and ranks: truths from the priors of the default preset lie anywhere among the draws of their posteriors.

The likelihood is exact, so that a failure means a lattice that is too coarse, a prior that is not the one that is
drawn from, or a model that is not the one that answers.
"""

import numpy as np
import pytest

from holmes_fit._support.uniformity import chi_square_p, ecdf_p, rank_of
from holmes_fit.fitting.lattice.explored import explore
from holmes_fit.fitting.lattice.posterior import posterior_of
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.settings.preset import load_preset
from holmes_fit.settings.spaces import Space
from holmes_fit.trials.cohorts import Learner
from holmes_fit.trials.observations import Observations

SEED = 20261121
PEOPLE, DRAWS = 200, 199
SPACES = {name: load_preset("default").space(model) for name, model in MODELS.items() if not model.uses_particles}
TESTS = 2 * sum(len(space.free) for space in SPACES.values())
FALSE_ALARMS = 0.01  # over both tests of all parameters of all models


def a_problem(rng: np.random.Generator) -> Observations:
    """Return 48 trials with two binary features and one of three levels, of which two matter, and some feedback."""
    values = np.column_stack([rng.integers(0, 2, 48), rng.integers(0, 2, 48), rng.integers(0, 3, 48)])
    cues = np.column_stack([values[:, 0], values[:, 1], *(values[:, 2] == level for level in range(3))])
    outcome = (values[:, 0] == (values[:, 2] == 0)) ^ (rng.random(48) < 0.1)
    return Observations(cues.astype(np.uint8), outcome.astype(np.uint8), rng.random(48) < 0.9, parts=(1, 1, 3))


def a_person(space: Space, truth: dict[str, float], rng: np.random.Generator) -> tuple[Learner, ...]:
    """Return the answers of one person to two problems, straight from the definitions."""
    learners = []
    for problem in ("1", "2"):
        seen = a_problem(rng)
        p_hat = space.model.p_hat(seen, space.model_values(truth), Observer(), stream_key(0))[0]
        response = space.response_values(truth)
        chosen = p_hat if space.model.predicts_choices else choice_probability(p_hat, **response)
        choices = (rng.random(len(chosen)) < chosen).astype(np.int8)
        learners.append(Learner("someone", problem, seen, choices, np.arange(len(choices))))
    return tuple(learners)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
def test_ranks_of_truths_are_uniform(name: str) -> None:
    space = SPACES[name]
    ranks = np.empty((PEOPLE, len(space.free)), dtype=np.int64)
    for person in range(PEOPLE):
        rng = np.random.default_rng([SEED, person, *name.encode()])
        truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
        task = Task(a_person(space, truth, rng), space)
        draws = posterior_of(explore(task, 8)).draw(DRAWS, rng)
        ranks[person] = [rank_of(truth[axis.name], own, rng) for axis, own in zip(space.free, draws.T, strict=True)]
    for axis, own in zip(space.free, ranks.T, strict=True):
        least = min(chi_square_p(own, DRAWS), ecdf_p(own, DRAWS))
        print(f"{name} {axis.name}: p = {least:.4f}, mean rank {own.mean() / DRAWS:.3f}")
        assert least > FALSE_ALARMS / TESTS, f"{axis.name}: p = {least:.2g}, mean rank {own.mean() / DRAWS:.3f}"
