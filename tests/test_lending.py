"""Nodes that lend to each other, and the likelihood on the lattice, against a plain reading of the definitions."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp

from holmes_fit.fitting.lattice import explored as explored_module
from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.nodes import (
    KERNEL,
    MOST_COARSE,
    ResponseNodes,
    coarse_nodes,
    first_nodes,
    grid_nodes,
    lending,
)
from holmes_fit.fitting.lattice.posterior import posterior_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task
from holmes_fit.likelihood.density import density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.specialised import Specialised
from holmes_fit.likelihood.traces import Replicates, Traces
from holmes_fit.models.registry import MODELS
from holmes_fit.models.responses.choices import CHOICES, choice_probability
from holmes_fit.settings.preset import load_preset
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.simulation import simulate
from tests.rules import Response

SEED = 20264
QUICK = load_preset("quick")
SHAPES = [(), (1,), (2,), (9,), (8,), (15, 15), (6, 7), (5, 4, 7), (1, 9)]


def steps(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how far apart two nodes are, a diagonal counting as one step."""
    return max((abs(a - b) for a, b in zip(one, other, strict=True)), default=0)


def reach_of(node: tuple[int, ...], nodes: list[tuple[int, ...]], shape: tuple[int, ...]) -> int:
    """Return how far away lenders are: one step if everything around was computed, else two."""
    around = [each for each in product(*(range(length) for length in shape)) if steps(each, node) <= 1]
    return 1 if all(each in nodes for each in around) else 2


def computed(shape: tuple[int, ...], refined: bool) -> list[tuple[int, ...]]:
    """Return first nodes, and with them those of a block in the middle and of one in a corner."""
    nodes = grid_nodes(first_nodes(shape))
    if refined:
        middle = tuple(length // 2 for length in shape)
        blocks = [node for node in np.ndindex(*shape) if steps(node, middle) <= 2 or max(node, default=0) <= 2]
        nodes += [tuple(node) for node in blocks if tuple(node) not in nodes]
    return nodes


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_lenders_are_the_computed_nodes_around(shape: tuple[int, ...], refined: bool) -> None:
    nodes = computed(shape, refined)
    found = lending(nodes, shape)
    assert len(found) == len(nodes)
    reaches = set()
    for node, own in zip(nodes, found, strict=True):
        reach = reach_of(node, nodes, shape)
        reaches.add(reach)
        expected = [place for place, other in enumerate(nodes) if steps(node, other) <= reach]
        assert own.lenders.tolist() == expected
    if refined and len(shape) == 2 and min(shape) > 5:
        assert reaches == {1, 2}  # or the shorter reach would not have been seen


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_are_normal_in_the_distance_and_add_up_to_one(shape: tuple[int, ...], refined: bool) -> None:
    nodes = computed(shape, refined)
    for node, own in zip(nodes, lending(nodes, shape), strict=True):
        assert own.kernel.sum() == pytest.approx(1.0)
        assert own.plane.sum() == pytest.approx(1.0)
        reach = reach_of(node, nodes, shape)
        away = np.array([nodes[place] for place in own.lenders]).reshape(len(own.lenders), len(shape)) - np.array(node)
        weight = np.exp(-0.5 * np.sum((away / reach) ** 2, axis=1) / KERNEL**2)
        np.testing.assert_allclose(own.kernel, weight / weight.sum())


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_plane_gives_back_linear_functions(shape: tuple[int, ...], refined: bool) -> None:
    """Even at corners, where all lenders are on one side."""
    nodes = computed(shape, refined)
    slopes = np.random.default_rng(SEED).normal(size=len(shape))
    values = np.array([2.5 + np.dot(slopes, node) for node in nodes])
    for place, own in enumerate(lending(nodes, shape)):
        assert own.plane @ values[own.lenders] == pytest.approx(values[place], abs=1e-9)


def test_a_plane_is_least_squares() -> None:
    shape = (15, 15)
    nodes = computed(shape, True)
    values = np.random.default_rng(SEED).normal(size=len(nodes))
    for node, own in zip(nodes, lending(nodes, shape), strict=True):
        away = np.array([nodes[place] for place in own.lenders]) - np.array(node)
        design = np.column_stack([np.ones(len(away)), away])
        fitted = np.linalg.lstsq(design, values[own.lenders], rcond=None)[0]
        assert own.plane @ values[own.lenders] == pytest.approx(fitted[0])


def test_an_inner_node_has_nine_lenders_and_a_corner_four() -> None:
    nodes = grid_nodes(first_nodes((15, 15)))
    counts = {node: len(own.lenders) for node, own in zip(nodes, lending(nodes, (15, 15)), strict=True)}
    assert (counts[6, 6], counts[0, 6], counts[0, 0], counts[14, 14]) == (9, 6, 4, 4)
    assert [len(own.lenders) for own in lending([()], ())] == [1]
    assert len(lending(grid_nodes(first_nodes((5, 5, 5))), (5, 5, 5))[13].lenders) == 27


def test_coarse_nodes_are_first_nodes_and_a_few_of_each_response_parameter() -> None:
    learning, omega, beta, lapse = coarse_nodes((15, 6), (32, 5))
    assert learning.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert omega.tolist() == [0, 2, 4, 5]
    assert len(beta) == MOST_COARSE
    assert (beta[0], beta[-1]) == (0, 31)
    assert np.ptp(np.diff(beta)) <= 1
    assert lapse.tolist() == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------------------------------------- made-up traces
@dataclass(frozen=True, kw_only=True)
class MadeUp(Task):
    """A person whose filters are drawn from a known density, that moves smoothly with the parameters.

    Filters differ in four directions, so that their normal density is known without leaving anything over.
    """

    only: tuple[int, ...] | None = None  # of the filters

    def traces(self, position: NDArray[np.float64], replicates: Replicates) -> Traces:
        node, first = divmod(replicates.first - LATTICE, A_NODE)
        number = replicates.number if self.only is None else max(self.only) + 1
        found = []
        for place, learner in enumerate(self.learners):
            trials = len(learner.choices)
            rng = np.random.default_rng([SEED, place])
            mean, slopes = rng.normal(0, 1, trials), rng.normal(0, 0.3, (len(position), trials))
            loadings = rng.normal(0, 0.35, (4, trials))
            luck = np.random.default_rng([SEED, place, node]).standard_normal((first + number, 4))[first:]
            rows = luck if self.only is None else luck[list(self.only)]
            found.append(expit(mean + position @ slopes + rows @ loadings))
        return Traces(tuple(found), tuple(learner.choices for learner in self.learners))


def with_nodes(space: Space, **nodes: int) -> Space:
    def changed(axes: tuple[FreeParameter, ...]) -> tuple[FreeParameter, ...]:
        return tuple(replace(axis, nodes=nodes.get(axis.name, axis.nodes)) for axis in axes)

    return replace(space, learning=changed(space.learning), response=changed(space.response))


def made_up(trials: tuple[int, ...] = (30, 18), **changes: object) -> MadeUp:
    """Return someone who answers by a filter near the middle of the lattice, and misses some trials."""
    space = with_nodes(QUICK.space(MODELS["holmes"]), alpha=5, omega=5, beta=6, lapse=4)
    learner = simulate("conditioning", "flat", 1, seed=SEED).cohort.learners[0]
    blank = [replace(learner, restart=str(i), choices=np.zeros(n, np.int8)) for i, n in enumerate(trials)]
    middle = np.array([axis.positions[2] for axis in space.learning])
    traces = MadeUp(tuple(blank), space).traces(middle, Replicates(1, LATTICE + A_NODE * 99))
    rng = np.random.default_rng(SEED)
    learners = []
    for each, p_hat in zip(blank, traces.p_hat, strict=True):
        chosen = (rng.random(p_hat.shape[1]) < choice_probability(p_hat[0], 3.0, 0.05, 0.0)).astype(np.int8)
        learners.append(replace(each, choices=np.where(rng.random(len(chosen)) < 0.1, np.int8(-1), chosen)))
    return MadeUp(tuple(learners), space, **changes)  # type: ignore[arg-type]


def on_first_nodes(task: Task, replicates: int = 8) -> Explored:
    explored = Explored(task, replicates)
    explored.add(grid_nodes(first_nodes(explored.learning_shape)))
    return explored


def products(p_hat: NDArray[np.float64], choices: NDArray[np.int8], response: Response) -> NDArray[np.float64]:
    """Return the probability of all answers for each trace."""
    chosen = choice_probability(p_hat, *response, choice=np.maximum(choices, 0))
    return np.prod(chosen[:, choices >= 0], axis=1)


def from_definitions(
    task: MadeUp, node: tuple[int, int], response: Response, replicates: int
) -> tuple[float, float, float]:
    """Return the log-likelihood at one of the first nodes of a 5 x 5 lattice, its error, and that of plain means."""
    total, variance, plain_total = 0.0, 0.0, 0.0
    lenders = [each for each in product((0, 2, 4), repeat=2) if steps(each, node) <= 2]
    away = np.array(lenders) - np.array(node)
    kernel = np.exp(-0.5 * np.sum((away / 2) ** 2, axis=1) / 0.6**2)
    kernel /= kernel.sum()
    axes = task.space.learning
    traces = {
        each: task.traces(
            np.array([axis.positions[i] for axis, i in zip(axes, each, strict=True)]),
            Replicates(replicates, LATTICE + A_NODE * (5 * each[0] + each[1])),
        ).p_hat
        for each in lenders
    }
    for place, learner in enumerate(task.learners):
        by_node = [products(traces[each][place], learner.choices, response).mean() for each in lenders]
        plain = float(kernel @ by_node)
        log_odds = [logit(traces[each][place]) for each in lenders]
        means = np.array([each.mean(axis=0) for each in log_odds])
        design = np.column_stack([np.ones(len(away)), away])
        mean = np.linalg.lstsq(design, means, rcond=None)[0][0]
        deviations = np.concatenate([each - each.mean(axis=0) for each in log_odds])
        covariance_root = deviations * np.sqrt(replicates / (replicates - 1)) / np.sqrt(len(deviations))
        rng = np.random.default_rng([SEED, place, *node])
        drawn = expit(mean + rng.standard_normal((60_000, len(deviations))) @ covariance_root)
        values = products(drawn, learner.choices, response)
        total += np.log((plain + values.mean()) / 2)
        variance += (values.std() / np.sqrt(len(values)) / (plain + values.mean())) ** 2
        plain_total += np.log(plain)
    return float(total), float(np.sqrt(variance)), plain_total


@pytest.mark.parametrize("node", [(2, 2), (0, 4), (4, 2)])
def test_the_likelihood_at_a_node_is_what_its_definition_says(node: tuple[int, int]) -> None:
    task = made_up()
    explored = on_first_nodes(task)
    found = explored.log_likelihood[explored.nodes.index(node)].reshape(6, 4)
    beta, lapse = task.space.response
    for b, k in ((1, 1), (2, 2), (3, 0), (3, 1)):  # up to a beta of 2: above, Laplace's method is less right
        response = Response(float(beta.values[b]), float(lapse.values[k]), 0.0)
        expected, error, plain = from_definitions(task, node, response, 8)
        assert error < 0.03  # so that Monte Carlo has found the integral
        assert found[b, k] == pytest.approx(expected, abs=4 * error + 0.04)
        if b == 3:
            assert abs(expected - plain) > 0.2  # the density is seen


def test_learners_add_up() -> None:
    both = on_first_nodes(made_up()).log_likelihood
    learners = made_up().learners
    first = on_first_nodes(replace(made_up(), learners=learners[:1])).log_likelihood
    assert np.all(both < first)
    twice = on_first_nodes(replace(made_up(), learners=(learners[0], learners[0]))).log_likelihood
    assert not np.allclose(twice, 2 * first)  # filters of their own
    one = replace(made_up((30,)), learners=learners[:1])
    np.testing.assert_array_equal(on_first_nodes(one).log_likelihood, first)


def test_a_node_alone_lends_to_itself() -> None:
    """Nothing free that is learned: the likelihood is that of one point with no neighbours."""
    task = made_up((30,))
    space = replace(task.space, learning=(), fixed={**task.space.fixed, "alpha": 1.0, "omega": 0.5})
    explored = Explored(replace(task, space=space), 8)
    explored.add([()])
    (p_hat,) = explored.task.traces(np.empty(0), Replicates(8, LATTICE)).p_hat
    own = explored.task.likelihood(np.empty(0), Replicates(8, LATTICE), [np.empty((0, 30))])
    np.testing.assert_allclose(explored.log_likelihood[0], own.on_grid(explored.response.nodes).ravel(), atol=5e-3)
    assert p_hat.shape == (8, 30)


@pytest.mark.parametrize("number", [0, 3, 7])
def test_sets_are_what_the_other_filters_would_say_alone(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explored_module, "NEGLIGIBLE", np.inf)
    task = made_up()
    explored = on_first_nodes(task, 16)
    of_set = explored.of_sets()[number]
    kept = tuple(i for i in range(16) if i % 8 != number)
    alone = on_first_nodes(replace(task, only=kept), 14)
    np.testing.assert_allclose(of_set, alone.log_likelihood, atol=1e-9)
    assert np.abs(of_set - explored.log_likelihood).max() > 0.2


def test_few_knots_are_enough_for_what_leaving_out_filters_changes() -> None:
    cohort = simulate("conditioning", "holmes", 1, seed=3).cohort
    explored = explore(Task(cohort.learners, load_preset("quick").space(MODELS["holmes"])), 16)
    few = posterior_of(explored)
    fewer, knots = (tuple(map(len, each.values)) for each in (explored.response.few_knots, explored.response.knots))
    assert fewer < knots
    explored.response.few = tuple(map(np.arange, knots))
    explored.response.few_knots = explored.response.knots
    every = posterior_of(explored)
    assert few.log_evidence_error == pytest.approx(every.log_evidence_error, rel=0.1)
    assert few.log_evidence_bias == pytest.approx(every.log_evidence_bias, abs=0.2 * every.log_evidence_error)


@pytest.mark.parametrize("replicates", [8, 48])
@pytest.mark.parametrize("kind", ["marginal", "expected"])
def test_every_filter_is_left_out_once(replicates: int, kind: str) -> None:
    sets = Explored(made_up(kind=kind), replicates).sets
    left_out = [set(range(replicates)) - set(np.arange(replicates)[rows].tolist()) for rows in sets]
    assert [len(each) for each in left_out] == [replicates // 8] * 8
    assert sorted(i for each in left_out for i in each) == list(range(replicates))


def test_where_nodes_do_not_matter_sets_are_as_the_whole() -> None:
    """Nodes that are too far below the best one are computed only once."""
    task = made_up((400,))
    explored = on_first_nodes(task)
    whole, sets = explored.log_likelihood, explored.of_sets()
    best = np.max(whole, axis=1)
    assert best.min() < best.max() - 20
    far = best < best.max() - 20
    near = best > best.max() - 1
    for each in sets:
        np.testing.assert_array_equal(each[far], whole[far])
        assert np.all(np.any(each[near] != whole[near], axis=1))


def test_an_averaged_observer_is_the_likelihood_of_the_mean_prediction() -> None:
    task = made_up(kind="expected")
    explored = on_first_nodes(task)
    beta, lapse = task.space.response
    response = Response(float(beta.values[3]), float(lapse.values[1]), 0.0)
    for node in ((0, 0), (2, 4)):
        traces = task.traces(explored.position(node), Replicates(8, LATTICE + A_NODE * (5 * node[0] + node[1])))
        expected = sum(
            np.log(products(p_hat.mean(axis=0, keepdims=True), choices, response)[0])
            for p_hat, choices in zip(*traces, strict=True)
        )
        found = explored.log_likelihood[explored.nodes.index(node)].reshape(6, 4)[3, 1]
        assert found == pytest.approx(expected, abs=1e-4)  # log odds are kept in single precision
    assert explored.lent(explored.position((0, 0))) is None


@pytest.mark.parametrize("node", [(0, 0), (2, 2), (4, 2)])
def test_a_point_is_lent_the_deviations_around_the_nearest_node(node: tuple[int, int]) -> None:
    task = made_up()
    explored = on_first_nodes(task)
    spacing = np.array([axis.spacing for axis in task.space.learning])
    lent = explored.lent(explored.position(node) + 0.9 * spacing * np.array([1, -1]))
    assert lent is not None
    lenders = [each for each in explored.nodes if steps(each, node) <= 2]
    for place, learner in enumerate(task.learners):
        rows = []
        for each in lenders:
            flat = 5 * each[0] + each[1]
            log_odds = logit(task.traces(explored.position(each), Replicates(8, LATTICE + A_NODE * flat)).p_hat[place])
            rows.append(np.sqrt(8 / 7) * (log_odds - log_odds.mean(axis=0)))
        np.testing.assert_allclose(lent[place], np.concatenate(rows), atol=1e-5)
        assert lent[place].shape == (8 * len(lenders), len(learner.choices))


def test_nodes_that_are_added_later_lend_too() -> None:
    at_once, in_turn = Explored(made_up(), 8), Explored(made_up(), 8)
    nodes = grid_nodes([np.arange(5), np.arange(5)])
    at_once.add(nodes)
    in_turn.add(nodes[:9])
    before = in_turn.log_likelihood
    in_turn.add(nodes[9:])
    assert before.shape[0] == 9
    np.testing.assert_array_equal(in_turn.log_likelihood, at_once.log_likelihood)
    # Now that all are there, lenders are one step away.
    assert [len(own.lenders) for own in lending(at_once.nodes, (5, 5))][12] == 9


# ------------------------------------------------------------------------------------------------- response nodes
@pytest.mark.parametrize(
    ("protocol", "limit"), [("conditioning", 0.015), ("compositional_2", 0.015), ("compositional_3", 0.1)]
)
def test_few_knots_give_the_surface_at_all_nodes(protocol: str, limit: float) -> None:
    """Against the integral at every node: a hundredth of a nat where the posterior is.

    On the 3-level task the surface itself has small steps, where another highest point is found.
    """
    space = load_preset("default").space(MODELS["holmes"])
    learners = simulate(protocol, "holmes", 1, {"alpha": 0.5}, seed=4).cohort.learners
    task = Task(learners, space)
    response = ResponseNodes(task)
    assert tuple(map(len, response.nodes)) == (space.response[0].nodes, space.response[1].nodes, 1)
    assert tuple(map(len, response.knots.values)) == (CHOICES.knots["beta"], CHOICES.knots["lapse"], 1)
    traces = task.traces(np.array([axis.positions[axis.nodes // 2] for axis in space.learning]), Replicates(48))
    log_odds = log_odds_of(traces.p_hat[0])
    density = density_of(log_odds.mean(axis=0), deviations_of(log_odds))
    coded, by = CHOICES.coded(traces.choices[0]), Specialised(CHOICES)
    direct = by.integral_on_grid(density, coded, response.nodes)
    found = response.knots.at_nodes(by.integral_on_grid(density, coded, response.knots.values)[None])[0]
    log_prior = np.add.outer(*(axis.log_weights for axis in space.response))[..., None]
    evidence = logsumexp(direct + log_prior)
    assert logsumexp(found + log_prior) == pytest.approx(evidence, abs=0.02)
    mass = np.exp(direct + log_prior - evidence)
    assert np.sqrt(np.sum(mass * (found - direct) ** 2)) < limit


def test_knots_are_the_nodes_where_there_are_few() -> None:
    response = ResponseNodes(made_up())
    for nodes, knots in zip(response.nodes, response.knots.values, strict=True):
        np.testing.assert_allclose(nodes, knots)
    surface = np.random.default_rng(SEED).normal(size=(3, *map(len, response.knots.values)))
    np.testing.assert_allclose(response.knots.at_nodes(surface), surface, atol=1e-9)


def test_cubics_are_interpolated_exactly() -> None:
    space = load_preset("default").space(MODELS["holmes"])
    response = ResponseNodes(replace(made_up(), space=space))
    beta, lapse = (axis.parameter.to_scale for axis in space.response)

    def cubic(grid: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        x, y = beta(grid[0])[:, None, None], lapse(grid[1])[:, None]
        return (x**3 - 2 * x) * (0.1 * y**3 + y**2) + 0 * grid[2]

    np.testing.assert_allclose(
        response.knots.at_nodes(cubic(response.knots.values)), cubic(response.nodes), rtol=1e-8, atol=1e-8
    )


def test_exploring_adds_what_lies_between_once() -> None:
    explored = explore(made_up((400,)), 8)
    assert explored.is_refined
    assert len(set(explored.nodes)) == len(explored.nodes) > 9
    assert explored.nodes[:9] == grid_nodes(first_nodes((5, 5)))
    lattice = explored.on_lattice(explored.log_likelihood)
    for node, own in zip(explored.nodes, explored.log_likelihood, strict=True):
        np.testing.assert_array_equal(lattice[node].ravel(), own)
    assert np.isfinite(lattice).all()
    assert np.isfinite(logsumexp(lattice))
