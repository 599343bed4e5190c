"""The best-fitting point: response parameters solved inside, and winners that are not chosen by luck."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brute

from holmes_fit.fitting.optimum import GOALS, SCORE_BATCHES, Effort, Point, find_optima, score, solve
from holmes_fit.lattice import Task, explore, posterior_of
from holmes_fit.lattice.task import SCORE, SEARCH
from holmes_fit.likelihood import Replicates
from holmes_fit.models import MODELS, Observer
from holmes_fit.presets import load_preset, with_fixed
from holmes_fit.search import METHODS
from holmes_fit.simulation import simulate

QUICK = load_preset("quick")
FEW = Observer(particles=30)


def a_task(model: str, protocol: str = "conditioning", preset=QUICK, **values) -> Task:
    cohort = simulate(protocol, model, 1, values, seed=6, observer=FEW).cohort
    return Task(cohort.learners, preset.space(MODELS[model]), FEW)


def middle(task: Task) -> np.ndarray:
    return np.array([axis.positions[axis.nodes // 2] for axis in task.space.learning])


@pytest.mark.parametrize("goal", GOALS)
def test_response_parameters_are_solved(goal) -> None:
    task = a_task("flat", "reversal", alpha=1.0, omega=0.5)
    likelihood = task.likelihood(middle(task), Replicates(8, SEARCH))
    found = solve(task, middle(task), likelihood, goal)
    beta, lapse = task.space.response

    def loss(position: np.ndarray) -> float:
        prior = float(beta.log_density(position[0]) + lapse.log_density(position[1])) if goal == "map" else 0.0
        return -likelihood.at(task.response(position)) - prior

    ranges = [(axis.low, axis.high) for axis in (beta, lapse)]
    _, lowest, _, _ = brute(loss, ranges, Ns=60, full_output=True, finish=None)
    of_learning = sum(float(axis.log_density(at)) for axis, at in zip(task.space.learning, middle(task), strict=True))
    value = found.value - (of_learning if goal == "map" else 0.0)
    assert value >= -lowest - 1e-6  # no point of the grid is better
    assert value == pytest.approx(-loss(found.response), abs=1e-6)


def test_the_bias_model_has_the_choice_rate() -> None:
    task = a_task("bias", "reversal", choice_probability=0.7)
    optima = find_optima(task, posterior_of(explore(task, 8)), 1, Effort("nelder_mead", 150, 3))
    choices = task.learners[0].choices
    rate = np.mean(choices[choices >= 0])
    assert 1 / (1 + np.exp(-optima["ml"].point.learning[0])) == pytest.approx(rate, abs=1e-3)
    pulled = 1 / (1 + np.exp(-optima["map"].point.learning[0]))
    assert abs(pulled - 0.5) < abs(rate - 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_searches_keep_to_their_budget_and_beat_the_lattice(method) -> None:
    task = a_task("flat", alpha=1.0, omega=0.5)
    posterior = posterior_of(explore(task, 8))
    optima = find_optima(task, posterior, 8, Effort(method, 12, 2))
    best_node = np.unravel_index(np.argmax(posterior.log_likelihood), posterior.mass.shape)
    start = np.array([axis.positions[i] for axis, i in zip(task.space.learning, best_node, strict=False)])
    fresh = Replicates(16, 1 << 16)  # the draws of the selection
    assert optima["ml"].point.value >= solve(task, start, task.likelihood(start, fresh), "ml").value - 1e-9
    assert len(optima["ml"].ends) >= 1


def test_the_winner_is_scored_on_draws_of_its_own() -> None:
    task = a_task("holmes", "compositional_2", alpha=0.5, omega=0.3)
    response = np.array([axis.positions[axis.nodes // 2] for axis in task.space.response])
    found = score(task, Point(middle(task), response, 0.0), 8)
    direct = task.likelihood(middle(task), Replicates(8 * SCORE_BATCHES, SCORE))
    assert found.log_likelihood == pytest.approx(direct.at(task.response(response)))
    by_batch = [
        task.likelihood(middle(task), Replicates(8, SCORE + 8 * batch)).at(task.response(response))
        for batch in range(SCORE_BATCHES)
    ]
    assert found.batch_sd == pytest.approx(np.std(by_batch, ddof=1))
    assert found.error == pytest.approx(found.batch_sd / np.sqrt(SCORE_BATCHES))
    assert 1 <= found.effective_replicates <= 8
    searched = task.likelihood(middle(task), Replicates(8, SEARCH)).at(task.response(response))
    assert searched not in by_batch


def test_nothing_free_is_one_point() -> None:
    preset = with_fixed(QUICK, {"alpha": 1.0, "omega": 0.5, "beta": 3.0, "lapse": 0.02})
    task = a_task("flat", preset=preset)
    optima = find_optima(task, posterior_of(explore(task, 8)), 8, Effort("nelder_mead", 10, 2))
    assert optima["ml"].point.learning.shape == (0,)
    assert optima["ml"].point.value == pytest.approx(optima["map"].point.value)
