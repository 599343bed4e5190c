"""What holds for any binary matrix, any feedback, any parameters and any switches.

Hypothesis draws its examples from the test's own name (see ``conftest``), so every run tries the same ones.
"""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holmes_fit.models.filters import kernel
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.filters.settings import History, Settings
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.trials.observations import Observations, observations_from_matrix

ROUNDING = 1e-9
VARIANTS = [model for model in MODELS.values() if isinstance(model, LatentCauseModel)]


class Problem(NamedTuple):
    """Everything that a filter is given."""

    observations: Observations
    settings: Settings
    key: np.uint64

    def traces(self, replicates: int = 1, first: int = 0) -> NDArray[np.float64]:
        return kernel.p_hat_traces(self.observations, self.settings, self.key, replicates, first)

    def history(self) -> tuple[NDArray[np.float64], History]:
        return kernel.trace_with_history(self.observations, self.settings, self.key)


UP_TO_SIXTY = st.integers(1, 60)

magnitudes = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)

observers = st.builds(
    Observer,
    particles=st.integers(1, 40),
    resampling=st.sampled_from(["systematic", "multinomial"]),
    branch_counts=st.sampled_from(["particle", "shared"]),
    sticky_by=st.sampled_from(["branch", "node"]),
    max_depth=st.integers(1, 20),
    max_branches=st.integers(1, 30),
)


@st.composite
def matrices(draw: st.DrawFn, n_trials: st.SearchStrategy[int], most_features: int) -> NDArray[np.uint8]:
    shape = (draw(n_trials), draw(st.integers(2, most_features)))
    n_bytes = -(-shape[0] * shape[1] // 8)
    content = draw(st.binary(min_size=n_bytes, max_size=n_bytes))
    return np.unpackbits(np.frombuffer(content, dtype=np.uint8))[: shape[0] * shape[1]].reshape(shape)


@st.composite
def problems(draw: st.DrawFn, n_trials: st.SearchStrategy[int] = UP_TO_SIXTY, most_features: int = 12) -> Problem:
    # The first column says whether the outcome was shown, the last one is the outcome; there may be none between.
    matrix = draw(matrices(n_trials, most_features))
    model = draw(st.sampled_from(VARIANTS))
    values = {"alpha": draw(magnitudes), "omega": draw(magnitudes), "depth_scale": draw(st.floats(0, 1))}
    return Problem(
        observations_from_matrix(matrix[:, 1:], feedback=matrix[:, 0], length_normalized=draw(st.booleans())),
        model.settings(values, draw(observers)),
        stream_key(draw(st.integers(0, 2**31 - 1))),
    )


long_problems = problems(st.sampled_from([2_000, 1_999, 1_025, 700]), most_features=5)
many_examples = settings(max_examples=300)
few_long_examples = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


# Predictions ---------------------------------------------------------------------------------------------------------
def assert_predictions(p_hat: NDArray[np.float64], shape: tuple[int, int]) -> None:
    assert p_hat.shape == shape
    assert np.isfinite(p_hat).all()
    assert ((p_hat > 0) & (p_hat < 1)).all()


@many_examples
@given(problems(), st.integers(1, 4))
def test_predictions_are_probabilities(problem: Problem, replicates: int) -> None:
    assert_predictions(problem.traces(replicates), (replicates, problem.observations.n_trials))


@few_long_examples
@given(long_problems)
def test_predictions_are_probabilities_on_long_sequences(problem: Problem) -> None:
    assert_predictions(problem.traces(2), (2, problem.observations.n_trials))


@pytest.mark.parametrize("alpha", [1e-3, 1e3])
@pytest.mark.parametrize("omega", [1e-3, 1e3])
@pytest.mark.parametrize("model", VARIANTS, ids=lambda model: model.name)
def test_predictions_are_probabilities_at_the_extremes(model: LatentCauseModel, alpha: float, omega: float) -> None:
    # Half of 2,000 trials say the one thing, the other half the opposite: the likelihoods are as far apart as they get.
    matrix = np.repeat([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 0]], [900, 900, 200], axis=0)
    filter_settings = model.settings({"alpha": alpha, "omega": omega, "depth_scale": 1.0}, Observer(particles=20))
    problem = Problem(observations_from_matrix(matrix), filter_settings, stream_key(0))
    assert_predictions(problem.traces(), (1, 2_000))


# No stale state ------------------------------------------------------------------------------------------------------
@many_examples
@given(problems(), problems())
def test_one_run_leaves_nothing_behind_for_another(one: Problem, other: Problem) -> None:
    before, before_history = one.history()
    other.traces(2)
    after, after_history = one.history()
    np.testing.assert_array_equal(before, after)
    for here, there in zip(before_history, after_history, strict=True):
        np.testing.assert_array_equal(here, there)


@many_examples
@given(problems())
def test_one_replicate_leaves_nothing_behind_for_the_next(problem: Problem) -> None:
    alone = [problem.traces(1, first) for first in range(3)]
    np.testing.assert_array_equal(problem.traces(3), np.vstack(alone))


@many_examples
@given(problems())
def test_looking_at_the_history_does_not_change_it(problem: Problem) -> None:
    p_hat, _ = problem.history()
    np.testing.assert_array_equal(p_hat, problem.traces(2)[0])


@few_long_examples
@given(long_problems, problems())
def test_nothing_is_left_behind_on_long_sequences(long: Problem, short: Problem) -> None:
    short_before, long_before = short.traces(), long.traces()
    np.testing.assert_array_equal(short.traces(), short_before)
    np.testing.assert_array_equal(long.traces(2)[:1], long_before)


# Histories -----------------------------------------------------------------------------------------------------------
@many_examples
@given(problems())
def test_nodes_form_a_tree_within_its_limits(problem: Problem) -> None:
    _, history = problem.history()
    parent, branch, level = history.parent, history.branch, history.level
    nodes = np.arange(1, len(parent))
    assert (parent[0], branch[0], level[0]) == (-1, -1, -1)
    assert ((parent[1:] >= 0) & (parent[1:] < nodes)).all()
    assert (level[1:] == level[parent[1:]] + 1).all()
    assert (level < problem.settings.max_depth).all()
    assert ((branch[1:] >= 0) & (branch[1:] < problem.settings.max_branches)).all()
    assert len(set(zip(parent[1:].tolist(), branch[1:].tolist(), strict=True))) == len(nodes)


@many_examples
@given(problems())
def test_every_node_lies_on_some_path(problem: Problem) -> None:
    _, history = problem.history()
    visited = np.zeros(len(history.parent), dtype=bool)
    visited[np.unique(history.leaves)] = True
    for node in range(len(visited) - 1, 0, -1):  # children have higher numbers than their parents
        visited[history.parent[node]] |= visited[node]
    assert visited.all()


@many_examples
@given(problems())
def test_every_path_ends_at_a_node(problem: Problem) -> None:
    _, history = problem.history()
    assert history.leaves.shape == (problem.observations.n_trials, problem.settings.particles)
    assert ((history.leaves > 0) & (history.leaves < len(history.parent))).all()
    if not problem.settings.stops:
        assert (history.level[history.leaves] == problem.settings.max_depth - 1).all()


@many_examples
@given(problems())
def test_survivors_keep_their_place(problem: Problem) -> None:
    _, history = problem.history()
    assert history.ancestors.shape == history.leaves.shape
    assert ((history.ancestors >= 0) & (history.ancestors < problem.settings.particles)).all()
    for ancestors in history.ancestors:
        survivors = np.unique(ancestors)
        np.testing.assert_array_equal(ancestors[survivors], survivors)


# The filter's arithmetic, from its history alone ---------------------------------------------------------------------
def log_probability(
    value: NDArray[np.uint8], present: NDArray[np.int64], seen: NDArray[np.int64], omega: float
) -> NDArray[np.float64]:
    """Of a feature's value, where it was present so many times of those it was seen."""
    matches = np.where(value, present, seen - present)
    return np.log((omega + matches) / (2 * omega + seen))


def replay(problem: Problem, history: History) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute p-hat and normalised weights (trials x particles) from the trials that each particle put in one leaf."""
    cues, outcome, feedback = (getattr(problem.observations, name) for name in ("cues", "outcome", "feedback"))
    omega, normalized = problem.settings.omega, problem.observations.length_normalized
    n_cues = problem.observations.n_cues
    lineage = np.zeros_like(history.leaves)  # of every particle alive: the leaves of its ancestors
    p_hat, weights = [], []
    for trial, leaves in enumerate(history.leaves):
        together = (lineage[:trial] == leaves).T.astype(np.int64)  # particles x past trials in the same leaf
        cues_present, visits = together @ cues[:trial], together.sum(axis=1)
        outcomes_seen, outcomes_present = together @ feedback[:trial], together @ (outcome * feedback)[:trial]
        log_cues = log_probability(cues[trial], cues_present, visits[:, np.newaxis], omega).sum(axis=1)
        log_all = log_cues + log_probability(outcome[trial], outcomes_present, outcomes_seen, omega)
        cue_weight = np.exp((log_cues - log_cues.max()) / (max(n_cues, 1) if normalized else 1))
        full_weight = np.exp((log_all - log_all.max()) / (n_cues + 1 if normalized else 1))
        weight = full_weight if feedback[trial] else cue_weight
        p_hat.append(np.average((omega + outcomes_present) / (2 * omega + outcomes_seen), weights=cue_weight))
        weights.append(weight / weight.sum())
        lineage[trial] = leaves
        lineage[: trial + 1] = lineage[: trial + 1, history.ancestors[trial]]
    return np.array(p_hat), np.array(weights)


def assert_history_explains_predictions(problem: Problem) -> None:
    p_hat, history = problem.history()
    expected, weights = replay(problem, history)
    np.testing.assert_allclose(p_hat, expected, rtol=0, atol=ROUNDING)
    n_particles = problem.settings.particles
    offspring = np.array([np.bincount(ancestors, minlength=n_particles) for ancestors in history.ancestors])
    if not problem.settings.multinomial:  # systematic resampling rounds the expected number up or down
        assert (np.abs(offspring - n_particles * weights) < 1 + n_particles * ROUNDING).all()
    assert (offspring[weights == 0] == 0).all()


@many_examples
@given(problems())
def test_predictions_and_offspring_follow_from_the_history(problem: Problem) -> None:
    assert_history_explains_predictions(problem)


@settings(few_long_examples, max_examples=5)
@given(long_problems)
def test_predictions_and_offspring_follow_from_a_long_history(problem: Problem) -> None:
    assert_history_explains_predictions(problem)
