"""How long fits will take: a short piece of the real work, timed here, times how much of it there is."""

import time
from collections.abc import Iterable

from holmes_fit.fitting.lattice.explored import Explored, nodes_at_first
from holmes_fit.fitting.lattice.nodes import Node
from holmes_fit.fitting.lattice.task import SEARCH, Task
from holmes_fit.fitting.optimum import FINALISTS, GOALS, SCORE_BATCHES, SELECTION_FACTOR, Solver
from holmes_fit.fitting.request import Request
from holmes_fit.likelihood.traces import Replicates
from holmes_fit.runs.records import Key
from holmes_fit.settings.preset import Preset

SETS_AND_WHOLE = 2.5  # as much work as for all filters together, where sets are computed at the nodes that matter


def seconds_of_work(request: Request, missing: Iterable[Key]) -> float:
    """Return about how many seconds the missing fits take on one core of this machine.

    One person is timed for each model; others cost in proportion to their trials.
    """
    by_model: dict[str, list[str]] = {}
    for model, subject in missing:
        by_model.setdefault(model, []).append(subject)
    total = 0.0
    for name, subjects in by_model.items():
        task = request.task((name, subjects[0]))
        trials = sum(request.task((name, subject)).n_trials for subject in subjects)
        total += _seconds(task, request.preset) * trials / task.n_trials
    return total


def _seconds(task: Task, preset: Preset) -> float:
    """Time nodes of the lattice and a point of the search for one person, and multiply by how many there will be."""
    replicates = preset.likelihood.replicates if task.is_noisy else 1
    nodes = nodes_at_first(task)
    middle = nodes[len(nodes) // 2]
    _timed(task, middle, replicates)  # compiles, or loads what was compiled before
    explored, filtered, integrated = _timed(task, middle, replicates)
    position, solver = explored.position(middle), Solver(task)
    begun = time.perf_counter()
    for goal in GOALS:
        solver.solve(position, task.likelihood(position, Replicates(replicates, SEARCH), explored.lent(position)), goal)
    solved = time.perf_counter() - begun - filtered * len(GOALS)
    filters = len(nodes) + _points(task, preset)
    return filtered * filters + integrated * SETS_AND_WHOLE * len(nodes) + max(solved, 0.0) * preset.search.evaluations


def _timed(task: Task, node: Node, replicates: int) -> tuple[Explored, float, float]:
    """Return a lattice with one node, and how long its filters and its integrals take."""
    explored = Explored(task, replicates)
    begun = time.perf_counter()
    explored.add([node])
    filtered = time.perf_counter()
    assert explored.log_likelihood.size
    return explored, filtered - begun, time.perf_counter() - filtered


def _points(task: Task, preset: Preset) -> float:
    """Return at how many points beside the lattice as many filters are run as at a node."""
    if not task.is_noisy:
        return float(preset.search.evaluations)
    return preset.search.evaluations + len(GOALS) * (FINALISTS * SELECTION_FACTOR + SCORE_BATCHES)
