"""Lineage: assignments and trees from histories made by hand, and from the filter."""

import numpy as np
import pytest

from holmes_fit.models.filters import draws, lineage
from holmes_fit.models.filters.settings import History
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.trials.observations import observations_from_matrix

# Root 0; level 0: nodes 1, 2; level 1: 3 below 1, 4 below 2, 5 below 1; level 2: 6 below 3.
PARENT = np.array([-1, 0, 0, 1, 2, 1, 3], dtype=np.int32)
BRANCH = np.array([-1, 0, 1, 0, 0, 1, 0], dtype=np.int32)
LEVEL = np.array([-1, 0, 0, 1, 1, 1, 2], dtype=np.int32)


def history(leaves: list[list[int]], ancestors: list[list[int]] | None = None) -> History:
    rows = np.array(leaves, dtype=np.int32)
    own = np.tile(np.arange(rows.shape[1], dtype=np.int32), (len(rows), 1))
    return History(rows, own if ancestors is None else np.array(ancestors, dtype=np.int32), PARENT, BRANCH, LEVEL)


def test_ancestry_is_traced_through_every_resampling() -> None:
    # After trial 0 all slots descend from slot 2; after trial 1 slots 0 and 1 swap, slot 2 descends from slot 0.
    past = history([[1, 2, 3], [4, 5, 6], [1, 1, 2]], [[2, 2, 2], [1, 0, 0], [0, 1, 1]])
    # So final slots 0, 1, 2 were slots 0, 1, 1 on trial 2, slots 1, 0, 0 on trial 1, and all of them slot 2 on trial 0.
    assert lineage.surviving_leaves(past).tolist() == [[3, 3, 3], [5, 4, 4], [1, 1, 1]]


@pytest.mark.parametrize(
    ("depth", "expected"), [(0, [1, 2, 1, 1]), (1, [3, 4, 5, -1]), (2, [6, -1, -1, -1]), (3, [-1, -1, -1, -1])]
)
def test_nodes_on_the_way_to_a_leaf(depth: int, expected: list[int]) -> None:
    past = history([[6, 4, 5, 1]])
    assert lineage.nodes_at(past, past.leaves, depth)[0].tolist() == expected


def test_majority_with_ties_and_without_voters() -> None:
    past = history([[1, 1, 2, 2], [2, 2, 2, 1], [3, 1, 1, 2], [1, 1, 2, 2]])
    assert lineage.assignments(past, 0).tolist() == [1, 2, 1, 1]  # ties go to the lowest node
    assert lineage.assignments(past, 1).tolist() == [-1, -1, 3, -1]  # only the path that reaches depth 1 votes


def test_dead_particles_do_not_vote() -> None:
    past = history([[1, 1, 2]], [[2, 2, 2]])
    assert lineage.assignments(past, 0).tolist() == [2]


def test_reading_falls_back_while_too_few_trials_have_a_node() -> None:
    deep_once = history([[3]] + [[1]] * 10)  # 1 of 11 trials has a node at depth 1: below a tenth
    assert lineage.readable_assignments(deep_once, 1, anchor=0)[1] == 0
    deep_enough = history([[3]] + [[1]] * 9)  # 1 of 10 is a tenth
    assigned, depth = lineage.readable_assignments(deep_enough, 1, anchor=0)
    assert depth == 1
    assert assigned.tolist() == [3] + [-1] * 9


def test_reading_falls_back_while_the_anchor_has_no_node() -> None:
    past = history([[4], [6], [6], [2]])
    assert lineage.readable_assignments(past, 2, anchor=1)[1] == 2
    assert lineage.readable_assignments(past, 2, anchor=0)[1] == 1
    assigned, depth = lineage.readable_assignments(past, 2, anchor=3)
    assert depth == 0
    assert assigned.tolist() == [2, 1, 1, 2]


def test_tree_table_counts_visits_and_outcomes() -> None:
    past = history([[3, 3], [1, 1], [4, 3], [5, 5]])
    matrix = [[1, 1], [0, 0], [1, 1], [1, 1]]  # a cue and the outcome
    observations = observations_from_matrix(matrix, feedback=[1, 1, 1, 0])
    table = lineage.tree_table(past, observations, ["light"]).set_index("node")
    assert table.index.tolist() == [1, 2, 3, 4, 5]
    assert table["parent"].tolist() == [0, 0, 1, 2, 1]
    assert table["visits"].tolist() == [3.5, 0.5, 1.5, 0.5, 1.0]
    assert table["leaf_visits"].tolist() == [1.0, 0.0, 1.5, 0.5, 1.0]
    assert table.loc[1, "outcome_rate"] == pytest.approx(1.5 / 2.5)
    assert np.isnan(table.loc[5, "outcome_rate"])
    assert table.loc[1, "light"] == pytest.approx(2.5 / 3.5)


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.uses_particles])
def test_tree_of_a_run_adds_up(name: str) -> None:
    rng = np.random.default_rng(5)
    observations = observations_from_matrix(rng.integers(0, 2, (60, 5)))
    model = MODELS[name]
    assert isinstance(model, LatentCauseModel)
    key = draws.stream_key(5, name)
    _, past = model.history(observations, {"alpha": 1.0, "omega": 0.5}, Observer(particles=50), key)
    table = lineage.tree_table(past, observations)
    assert table.loc[table["level"] == 0, "visits"].sum() == pytest.approx(60)
    assert table["leaf_visits"].sum() == pytest.approx(60)
    assert set(table.loc[table["level"] > 0, "parent"]) <= set(table["node"])
    below = table.groupby("parent")["visits"].sum()
    for row in table.itertuples():
        assert row.visits == pytest.approx(row.leaf_visits + below.get(row.node, 0.0))
    assigned = lineage.assignments(past, 0)
    assert set(assigned) <= set(table.loc[table["level"] == 0, "node"])
