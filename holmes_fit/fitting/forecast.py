"""How long fits will take: a short piece of the real work, timed here, times how much of it there is."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from holmes_fit.fitting.optimum import FINALISTS, GOALS, SCORE_BATCHES, SELECTION_FACTOR, solve
from holmes_fit.fitting.plan import Plan
from holmes_fit.lattice import Task
from holmes_fit.lattice.exploring import FIRST_SHARE
from holmes_fit.lattice.nodes import BATCHES, first_nodes, response_grids
from holmes_fit.lattice.task import SEARCH
from holmes_fit.likelihood import Replicates
from holmes_fit.presets import Preset
from holmes_fit.runs import Key

SHARE_THAT_MATTERS = 0.6  # of the first nodes get all replicates, as seen on the shipped protocols
SHARE_RAISED = 0.5  # of the people need more replicates than the first number


def seconds_of_work(plan: Plan, missing: Iterable[Key]) -> float:
    """Return about how many seconds the missing fits take on one core of this machine.

    One person is timed for each model; others cost in proportion to their trials.
    """
    by_model: dict[str, list[str]] = {}
    for model, subject in missing:
        by_model.setdefault(model, []).append(subject)
    total = 0.0
    for name, subjects in by_model.items():
        task = plan.task((name, subjects[0]))
        trials = sum(_n_trials(plan.task((name, subject))) for subject in subjects)
        total += _seconds(task, plan.preset) * trials / _n_trials(task)
    return total


def _n_trials(task: Task) -> int:
    return sum(learner.observations.n_trials for learner in task.learners)


def _seconds(task: Task, preset: Preset) -> float:
    """Time a node of the lattice and a point of the search for one person, and multiply by how many there will be."""
    position = np.array([axis.positions[np.argmax(axis.log_weights)] for axis in task.space.learning])
    _node_seconds(task, position)  # compiles, or loads what was compiled before
    node = _node_seconds(task, position)
    likelihood = task.likelihood(position, Replicates(BATCHES, SEARCH))
    begun = time.perf_counter()
    for goal in GOALS:
        solve(task, position, likelihood, goal)
    solved = time.perf_counter() - begun
    return node * _lattice_replicates(task, preset) / BATCHES + solved * preset.search.evaluations


def _node_seconds(task: Task, position: np.ndarray) -> float:
    begun = time.perf_counter()
    task.likelihood(position, Replicates(BATCHES, SEARCH)).on_grid(*response_grids(task))
    return time.perf_counter() - begun


def _lattice_replicates(task: Task, preset: Preset) -> float:
    """Return about how many replicates are computed in all."""
    shape = tuple(axis.nodes for axis in task.space.learning)
    nodes = float(np.prod([len(along) for along in first_nodes(shape)]))
    evaluations = preset.search.evaluations
    if not task.is_noisy:
        return nodes * BATCHES + evaluations
    replicates, most = preset.likelihood.replicates, preset.likelihood.most_replicates
    matter = SHARE_THAT_MATTERS * nodes
    explored = nodes * max(BATCHES, replicates / FIRST_SHARE) + matter * (replicates - replicates / FIRST_SHARE)
    raised = SHARE_RAISED * (most - replicates) * (matter + SCORE_BATCHES)
    chosen = len(GOALS) * (FINALISTS * SELECTION_FACTOR + SCORE_BATCHES) * replicates
    return explored + raised + chosen + evaluations * replicates
