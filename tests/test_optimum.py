"""The best-fitting point: response parameters solved inside, and winners that are not chosen by luck."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brute

from holmes_fit.fitting import person
from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.nodes import grid_nodes
from holmes_fit.fitting.lattice.posterior import Posterior, posterior_of
from holmes_fit.fitting.lattice.task import SCORE, SEARCH, SELECTION, Task
from holmes_fit.fitting.optimum import GOALS, SCORE_BATCHES, Optimum, Point, Solver, find_optima, score
from holmes_fit.fitting.search import METHODS
from holmes_fit.likelihood.traces import Replicates
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.settings.preset import load_preset, with_fixed
from holmes_fit.settings.tables import SearchSettings
from holmes_fit.studies.simulation import simulate

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
    found = Solver(task).solve(middle(task), likelihood, goal)
    beta, lapse = task.space.response

    def loss(position: np.ndarray) -> float:
        prior = float(beta.log_density(position[0]) + lapse.log_density(position[1])) if goal == "map" else 0.0
        return -likelihood.at(task.rule(position)) - prior

    ranges = [(axis.low, axis.high) for axis in (beta, lapse)]
    _, lowest, _, _ = brute(loss, ranges, Ns=60, full_output=True, finish=None)
    of_learning = sum(float(axis.log_density(at)) for axis, at in zip(task.space.learning, middle(task), strict=True))
    value = found.value - (of_learning if goal == "map" else 0.0)
    assert value >= -lowest - 1e-6  # no point of the grid is better
    assert value == pytest.approx(-loss(found.response), abs=1e-6)


def test_the_bias_model_has_the_choice_rate() -> None:
    task = a_task("bias", "reversal", choice_probability=0.7)
    explored = explore(task, 8)
    optima = find_optima(
        explored, posterior_of(explored), SearchSettings(method="nelder_mead", evaluations=150, starts=3)
    )
    choices = task.learners[0].choices
    rate = np.mean(choices[choices >= 0])
    assert 1 / (1 + np.exp(-optima["ml"].point.learning[0])) == pytest.approx(rate, abs=1e-3)
    pulled = 1 / (1 + np.exp(-optima["map"].point.learning[0]))
    assert abs(pulled - 0.5) < abs(rate - 0.5)


@cache
def a_lattice() -> tuple[Explored, Posterior]:
    explored = explore(a_task("flat", alpha=1.0, omega=0.5), 8)
    return explored, posterior_of(explored, with_error=False)


@pytest.mark.parametrize("method", METHODS)
def test_searches_keep_to_their_budget_and_beat_the_lattice(method) -> None:
    explored, posterior = a_lattice()
    task = explored.task
    optima = find_optima(explored, posterior, SearchSettings(method=method, evaluations=12, starts=2))
    best_node = np.unravel_index(np.argmax(posterior.log_likelihood), posterior.mass.shape)
    start = np.array([axis.positions[i] for axis, i in zip(task.space.learning, best_node, strict=False)])
    fresh = task.likelihood(start, Replicates(16, SELECTION), explored.lent(start))  # the draws of the selection
    assert optima["ml"].point.value >= Solver(task).solve(start, fresh, "ml").value - 1e-9
    assert len(optima["ml"].ends) >= 1


@pytest.mark.parametrize("goal", GOALS)
def test_response_parameters_are_solved_with_what_neighbours_lend(goal) -> None:
    """The integral over traces is part of what is maximised."""
    task = a_task("holmes", "reversal", alpha=0.5, omega=0.5)
    explored = explore(task, 8)
    likelihood = task.likelihood(middle(task), Replicates(8, SEARCH), explored.lent(middle(task)))
    found = Solver(task).solve(middle(task), likelihood, goal)
    axes = task.space.free
    prior = [float(axis.log_density(at)) for axis, at in zip(axes, [*middle(task), *found.response], strict=True)]
    value = likelihood.at(task.rule(found.response)) + (sum(prior) if goal == "map" else 0.0)
    assert found.value == pytest.approx(value, abs=1e-3)
    beta, lapse = task.space.response
    grid = likelihood.on_grid((beta.values, lapse.values, np.zeros(1)))[:, :, 0]
    if goal == "map":
        densities = [np.array([float(axis.log_density(at)) for at in axis.positions]) for axis in (beta, lapse)]
        grid = grid + np.add.outer(*densities) + prior[0] + prior[1]
    assert found.value >= grid.max() - 0.01


def test_the_winner_is_scored_on_draws_of_its_own() -> None:
    task = a_task("holmes", "compositional_2", alpha=0.5, omega=0.3)
    explored = Explored(task, 8)
    explored.add(grid_nodes([np.array([5, 7, 9])] * 2))
    lent = explored.lent(middle(task))
    response = np.array([axis.positions[axis.nodes // 2] for axis in task.space.response])
    found = score(explored, Point(middle(task), response, 0.0))
    direct = task.likelihood(middle(task), Replicates(8 * SCORE_BATCHES, SCORE), lent)
    assert found.log_likelihood == pytest.approx(direct.at(task.rule(response)))
    plain = task.likelihood(middle(task), Replicates(8 * SCORE_BATCHES, SCORE)).at(task.rule(response))
    assert found.log_likelihood != pytest.approx(plain, abs=1e-3)
    by_batch = [
        task.likelihood(middle(task), Replicates(8, SCORE + 8 * batch), lent).at(task.rule(response))
        for batch in range(SCORE_BATCHES)
    ]
    assert found.batch_sd == pytest.approx(np.std(by_batch, ddof=1))
    assert found.error == pytest.approx(found.batch_sd / np.sqrt(SCORE_BATCHES))
    assert 1 <= found.effective_replicates <= 8
    searched = task.likelihood(middle(task), Replicates(8, SEARCH), lent).at(task.rule(response))
    assert searched not in by_batch


@pytest.mark.parametrize("is_higher", [True, False])
def test_the_most_probable_point_is_the_most_likely_one_if_it_scores_higher(
    is_higher: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are scored on the same fresh draws, by which either can turn out to be the likelier one."""
    task = a_task("flat", alpha=1.0, omega=0.5)
    points = {"ml": Point(np.zeros(2), np.zeros(2), 0.0), "map": Point(np.ones(2), np.ones(2), 0.0)}
    values = {0.0: -20.0, 1.0: -19.0 if is_higher else -21.0}

    def found(explored: Explored, posterior: Posterior, effort: SearchSettings) -> dict[str, Optimum]:
        return {goal: Optimum(point, ()) for goal, point in points.items()}

    def scored(explored: Explored, point: Point) -> SimpleNamespace:
        return SimpleNamespace(log_likelihood=values[float(point.learning[0])])

    monkeypatch.setattr(person, "find_optima", found)
    monkeypatch.setattr(person, "score", scored)
    fitted = person.fit(task, QUICK)
    assert fitted.scores["ml"].log_likelihood == max(values.values())
    assert fitted.optima["ml"].point is points["map" if is_higher else "ml"]
    assert fitted.optima["map"].point is points["map"]
    assert fitted.scores["map"].log_likelihood == values[1.0]


def test_nothing_free_is_one_point() -> None:
    preset = with_fixed(QUICK, {"alpha": 1.0, "omega": 0.5, "beta": 3.0, "lapse": 0.02})
    explored = explore(a_task("flat", preset=preset), 8)
    optima = find_optima(
        explored, posterior_of(explored), SearchSettings(method="nelder_mead", evaluations=10, starts=2)
    )
    assert optima["ml"].point.learning.shape == (0,)
    assert optima["ml"].point.value == pytest.approx(optima["map"].point.value)
