"""The metrics on hand-made assignments with known answers; AUC, ROC and bootstrap against other libraries."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from holmes_fit.models.filters.lineage import NO_NODE, assignments, readable_assignments
from holmes_fit.models.filters.settings import History
from paper import scores
from paper.statistics import auc, bootstrap_over_units, correlation_estimate, mean_estimate, roc_curve, share_estimate

LABELS = np.array([1, 0, 0, 1, 0, 0, 1, 1])


def history_of(paths: list[list[tuple[int, ...]]]) -> History:
    """Return the history of particles that never die: for each trial, the path (branches) of each particle."""
    nodes: dict[tuple[int, ...], int] = {(): 0}
    parent, branch, level = [-1], [-1], [-1]
    for path in (path for trial in paths for path in trial):
        for depth in range(1, len(path) + 1):
            if path[:depth] not in nodes:
                nodes[path[:depth]] = len(nodes)
                parent.append(nodes[path[: depth - 1]])
                branch.append(path[depth - 1])
                level.append(depth - 1)
    leaves = np.array([[nodes[path] for path in trial] for trial in paths], dtype=np.int32)
    ancestors = np.tile(np.arange(leaves.shape[1], dtype=np.int32), (len(leaves), 1))
    return History(leaves, ancestors, *(np.array(column, dtype=np.int32) for column in (parent, branch, level)))


# ---------------------------------------------------------------------------------------------------------- predictions
def test_a_prediction_of_one_half_is_a_prediction_of_no_outcome() -> None:
    assert scores.accuracy(np.array([0.5, 0.5, 0.51, 0.49]), np.array([0, 1, 1, 1])) == 0.5


def test_late_accuracy_leaves_out_the_first_three_tenths() -> None:
    outcome = np.ones(10)
    p_hat = np.array([0.0] * 3 + [1.0] * 6 + [0.0])
    assert scores.late_accuracy(p_hat, outcome) == 6 / 7


def test_brier_and_log_loss_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    p_hat, outcome = rng.uniform(0.01, 0.99, 50), rng.integers(2, size=50)
    assert scores.brier(p_hat, outcome) == pytest.approx(metrics.brier_score_loss(outcome, p_hat))
    assert scores.log_loss(p_hat, outcome) == pytest.approx(metrics.log_loss(outcome, p_hat))


def test_a_certain_mistake_has_a_finite_loss() -> None:
    assert np.isfinite(scores.log_loss(np.array([0.0]), np.array([1])))


def test_shape_separation_is_the_difference_of_means() -> None:
    assert scores.shape_separation(np.array([0.6, 0.5, 0.7, 0.3]), np.array([1, 0, 1, 0])) == pytest.approx(0.25)


# ------------------------------------------------------------------------------------------------------ representations
def test_transfer_of_a_perfect_partition() -> None:
    assert scores.transfer(LABELS + 7, LABELS) == (1.0, 1.0, 1.0)


def test_transfer_counts_hits_misses_and_false_alarms() -> None:
    # The exemplar is trial 1, in cluster 3. Category 0 is trials 1, 2, 4, 5, of which 1 and 4 share its cluster.
    assigned = np.array([3, 3, 5, 5, 3, 6, 3, 5])
    recall, precision, f1 = scores.transfer(assigned, LABELS)
    assert (recall, precision) == (2 / 4, 2 / 4)
    assert f1 == pytest.approx(metrics.f1_score(LABELS == 0, assigned == 3))


def test_a_trial_without_a_node_is_not_recalled() -> None:
    assigned = np.array([5, 3, NO_NODE, 5, 3, 3, NO_NODE, 5])
    assert scores.transfer(assigned, LABELS)[:2] == (3 / 4, 1.0)


def test_nothing_is_said_without_a_node_at_the_exemplar_or_with_fewer_than_five_trials() -> None:
    assert np.isnan(scores.transfer(np.array([3, NO_NODE, 3, 3, 3, 3, 3, 3]), LABELS)).all()
    few = np.array([NO_NODE, 3, 3, 3, 3, NO_NODE, NO_NODE, NO_NODE])
    assert np.isnan(scores.transfer(few, LABELS)).all()
    assert np.isnan(scores.clusters(few))
    assert np.isnan(scores.entropy(few, LABELS))
    few[0] = 4  # the fifth
    assert scores.clusters(few) == 2


def test_entropy_is_weighted_by_the_frequency_of_labels() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1])
    assigned = np.array([1, 1, 2, 2, 3, 3])  # log 2 within label 0, nothing within label 1
    assert scores.entropy(assigned, labels) == pytest.approx(4 / 6 * np.log(2))
    assert scores.entropy(assigned, labels, normalized=True) == pytest.approx(4 / 6)


def test_entropy_agrees_with_scipy_and_leaves_out_trials_without_a_node() -> None:
    labels = np.array([0] * 6 + [1] * 4 + [0, 1])
    assigned = np.array([1, 1, 1, 2, 2, 4, 5, 5, 5, 6, NO_NODE, NO_NODE])
    expected = (6 * stats.entropy([3, 2, 1]) + 4 * stats.entropy([3, 1])) / 10
    assert scores.entropy(assigned, labels) == pytest.approx(expected)
    assert scores.clusters(assigned) == 5


def test_ties_go_to_the_lowest_node() -> None:
    history = history_of([[(0,), (0,), (1,), (1,)], [(1,), (1,), (0,), (1,)]])
    assert assignments(history).tolist() == [1, 2]


def test_only_particles_that_reach_a_depth_vote_there() -> None:
    history = history_of([[(0,), (0,), (0, 0)], [(0, 1), (0, 0), (0, 1)], [(0,), (0,), (0,)]])
    names = {1: (0,), 2: (0, 0), 3: (0, 1)}
    assert [names.get(int(node)) for node in assignments(history, 1)] == [(0, 0), (0, 1), None]


def test_a_depth_that_few_trials_reach_is_read_above_it() -> None:
    shallow, deep = [(0,)] * 3, [(0, 0)] * 3
    enough = history_of([deep, *[shallow] * 9])
    assert readable_assignments(enough, 1, anchor=0)[1] == 1  # one trial in ten
    assert readable_assignments(enough, 1, anchor=3)[1] == 0  # the exemplar has no node there
    too_few = history_of([deep, *[shallow] * 10])
    assert readable_assignments(too_few, 1, anchor=0)[1] == 0
    assert readable_assignments(too_few, 4, anchor=0)[1] == 0  # through depths that nobody reaches


# ----------------------------------------------------------------------------------------------- where shapes are apart
def test_nodes_that_follow_shape_separate_it_fully_and_nodes_that_ignore_it_do_not() -> None:
    shapes = np.array(["circle", "circle", "square", "square"])
    assert scores.node_separation(np.array([1, 1, 2, 2]), shapes) == 1.0
    assert scores.node_separation(np.array([1, 1, 1, 1]), shapes) == 0.0
    # Of two pairs of one shape, one shares a node; of four mixed pairs, two do.
    assert scores.node_separation(np.array([1, 1, 1, 2]), shapes) == 1 / 2 - 2 / 4


def test_separation_needs_pairs_of_both_kinds() -> None:
    shapes = np.array(["circle", "circle", "square"])
    assert np.isnan(scores.node_separation(np.array([1, 1, NO_NODE]), shapes))
    assert np.isnan(scores.node_separation(np.array([1, NO_NODE, 1]), shapes))


def test_the_shallowest_of_equally_good_levels_is_the_best() -> None:
    assert scores.best_level(np.array([0.1, 0.4, 0.4])) == 1
    assert scores.best_level(np.array([np.nan, 0.0])) == 1
    assert scores.best_level(np.array([np.nan])) == -1


# ------------------------------------------------------------------------------------------------------- ROC, bootstrap
@pytest.mark.parametrize("decimals", [1, 8])  # with many ties, and with none
def test_auc_and_roc_agree_with_scikit_learn(decimals: int) -> None:
    rng = np.random.default_rng(3)
    positive = rng.random(200) < 0.4
    score = np.round(rng.normal(size=200) + positive, decimals)
    assert auc(score, positive) == pytest.approx(metrics.roc_auc_score(positive, score))
    false_alarms, hits = roc_curve(score, positive)
    expected = metrics.roc_curve(positive, score, drop_intermediate=False)
    np.testing.assert_allclose(false_alarms, expected[0])
    np.testing.assert_allclose(hits, expected[1])
    assert np.trapezoid(hits, false_alarms) == pytest.approx(auc(score, positive))


def test_auc_of_one_kind_of_trial_is_missing() -> None:
    assert np.isnan(auc(np.array([0.1, 0.2]), np.array([True, True])))


def test_bootstrap_over_units_agrees_with_scipy() -> None:
    rng = np.random.default_rng(5)
    units = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))  # trials of a unit are alike
    ours = bootstrap_over_units(np.mean, (units,), 4000, "test")
    scipys = stats.bootstrap(
        (units.mean(axis=1),), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(6)
    )
    # The Monte Carlo error of a standard error from 4000 resamples is about 1.1%; of an end of the interval, 3% of it.
    assert ours.value == pytest.approx(units.mean())
    assert ours.se == pytest.approx(scipys.standard_error, rel=0.08)
    np.testing.assert_allclose([ours.low, ours.high], scipys.confidence_interval, atol=0.2 * scipys.standard_error)
    assert ours == bootstrap_over_units(np.mean, (units,), 4000, "test")


def test_mean_estimate_leaves_out_what_is_missing() -> None:
    estimate = mean_estimate(np.array([1.0, np.nan, 3.0, 5.0]))
    assert estimate[:4] == (3.0, pytest.approx(2 / np.sqrt(3)), 2.0, 3)
    assert mean_estimate(np.array([np.nan])).n == 0


def test_a_share_of_all_has_an_error_above_zero() -> None:
    assert share_estimate(np.ones(200, dtype=bool)).value == 1.0
    assert 0 < share_estimate(np.ones(200, dtype=bool)).se < 0.01


def test_correlation_agrees_with_scipy() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    assert correlation_estimate(x, y).value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert np.isnan(correlation_estimate(x, np.zeros(40)).value)
