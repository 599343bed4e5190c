"""One person in several conditions: some parameters differ between them, the others are shared.

Learners have their own filters, so that a person's likelihood, given the parameters, is the product over conditions.
Each condition has a lattice of its own, as if it were all there is; ``JointKnowledge`` integrates over what is shared.
The best points are searched for in all conditions at once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.nodes import node_position
from holmes_fit.fitting.lattice.posterior import Posterior, jackknife, posterior_of
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.optimum import (
    GOALS,
    Goal,
    Optimum,
    Point,
    Score,
    Solver,
    prior_curve,
    score,
    search_from,
    with_prior,
)
from holmes_fit.fitting.person import (
    TIED,
    Fitted,
    PersonFit,
    assembled,
    data_facts,
    effort_of,
    hit_rate,
    lattice_arrays,
    parameter_facts,
    trial_arrays,
    with_map,
)
from holmes_fit.likelihood.answers import AnswerLikelihood
from holmes_fit.likelihood.traces import Replicates
from holmes_fit.runs.knowledge import JointKnowledge
from holmes_fit.settings.preset import Preset
from holmes_fit.settings.spaces import FreeParameter, joint_space, places
from holmes_fit.trials.cohorts import Learner

Places = list[NDArray[np.intp]]  # by condition, which of the joint axes are its own


@dataclass(frozen=True)
class _Joint(Task):
    """All conditions as one task, over the joint axes."""

    names: tuple[str, ...] = ()
    parts: tuple[Task, ...] = ()
    of_learning: Places = field(default_factory=list)
    of_response: Places = field(default_factory=list)

    def likelihood(self, position: NDArray[np.float64], replicates: Replicates, lent: Any = None) -> AnswerLikelihood:
        lenders = [None] * len(self.parts) if lent is None else lent
        each = zip(self.parts, self.of_learning, lenders, strict=True)
        return _JointLikelihood([part.likelihood(position[own], replicates, some) for part, own, some in each])

    def rule(self, position: NDArray[np.float64]) -> Any:
        return [part.rule(position[own]) for part, own in zip(self.parts, self.of_response, strict=True)]

    def own(self, number: int, point: Point) -> Point:
        """Return the point of one condition."""
        return Point(point.learning[self.of_learning[number]], point.response[self.of_response[number]], point.value)


def _joint(task: Task) -> _Joint:
    names = tuple(dict.fromkeys(task.conditions))
    learners = {name: tuple(_of(task, name)) for name in names}
    space, count = task.space, len(names)
    return _Joint(
        tuple(learner for own in learners.values() for learner in own),
        joint_space(space, task.vary, names),
        task.observer,
        task.seed,
        task.kind,
        (),
        task.vary,
        names,
        tuple(replace(task, learners=own, conditions=(), vary=()) for own in learners.values()),
        *(places(axes, task.vary, count) for axes in (space.learning, space.response)),
    )


def _of(task: Task, condition: str) -> list[Learner]:
    return [each for each, own in zip(task.learners, task.conditions, strict=True) if own == condition]


class _JointLikelihood(AnswerLikelihood):
    """The likelihood of all conditions at one point of the joint learning parameters."""

    def __init__(self, parts: Sequence[AnswerLikelihood]):
        self.parts = parts

    def at(self, rule: Any) -> float:
        return sum(part.at(own) for part, own in zip(self.parts, rule, strict=True))


class _JointExplored(Explored):
    """The lattices of all conditions."""

    def __init__(self, task: _Joint, parts: Sequence[Explored]):
        self.task, self.parts, self.places = task, parts, task.of_learning
        self.replicates = parts[0].replicates
        self.nodes = [node for part in parts for node in part.nodes]
        self.is_refined = any(part.is_refined for part in parts)

    def lent(self, position: NDArray[np.float64]) -> Any:
        return [part.lent(position[own]) for part, own in zip(self.parts, self.places, strict=True)]


class _JointSolver(Solver):
    """The best response parameters of all conditions at once."""

    def __init__(self, task: _Joint):
        self.task, self._joint = task, task
        self._axes = task.space.response
        self._priors = [prior_curve(axis) for axis in self._axes]
        self._own = [Solver(part) for part in task.parts]

    def best_node(self, likelihood: Any, goal: Goal) -> NDArray[np.float64]:
        axes = self._joint.parts[0].space.response
        surfaces = [solver.on_nodes(part) for solver, part in zip(self._own, likelihood.parts, strict=True)]
        best = _best_nodes(surfaces, axes, self._joint.vary, goal)
        return _assembled([node_position(axes, node) for node in best], self._joint.of_response, len(self._axes))


def _best_nodes(
    surfaces: Sequence[NDArray[np.float64]], axes: Sequence[FreeParameter], vary: Sequence[str], goal: Goal
) -> list[tuple[np.intp, ...]]:
    """Return the best node of every condition, the same in what they share: given that, each has its own best."""
    varied = [number for number, axis in enumerate(axes) if axis.name in vary]
    order = [*varied, *(number for number in range(len(axes)) if number not in varied)]
    shape = [axes[axis].nodes for axis in order]
    by_shared = []
    for number, surface in enumerate(surfaces):
        # The prior of what is shared counts once.
        own = with_prior(surface, axes, () if goal == "ml" else varied if number else range(len(axes)))
        by_shared.append(np.transpose(own, order).reshape(math.prod(shape[: len(varied)]), -1))
    shared = int(np.argmax(np.sum([own.max(axis=0) for own in by_shared], axis=0)))
    found = []
    for own in by_shared:
        place = int(np.argmax(own[:, shared])) * own.shape[1] + shared
        node = dict(zip(order, np.unravel_index(place, shape), strict=True)) if shape else {}
        found.append(tuple(node[number] for number in range(len(axes))))
    return found


def _assembled(positions: Sequence[NDArray[np.float64]], own: Places, size: int) -> NDArray[np.float64]:
    found = np.empty(size)
    for position, where in zip(positions, own, strict=True):
        found[where] = position
    return found


def fit_conditions(task: Task, preset: Preset) -> PersonFit:
    """Fit one person with one model, with parameters of their own for the conditions."""
    joint = _joint(task)
    explored = [explore(part, preset.likelihood.replicates) for part in joint.parts]
    posteriors = [posterior_of(each) for each in explored]
    axes = task.space.free
    varied = tuple(number for number, axis in enumerate(axes) if axis.name in task.vary)
    known = JointKnowledge.of(axes, varied, [each.log_likelihood for each in posteriors])
    together = _JointExplored(joint, explored)
    optima = _optima(joint, together, posteriors, preset)
    parts = [
        _part(joint, number, explored[number], replace(own, mass=known.condition(number).mass), optima)
        for number, own in enumerate(posteriors)
    ]
    scores = {goal: _sum_of([part.scores[goal] for part in parts]) for goal in GOALS}
    whole = Fitted(together, _whole(known, posteriors), optima, scores)
    if whole.is_map_higher:
        whole, parts = with_map(whole), [with_map(part) for part in parts]
    found = assembled(joint, whole, list(zip(joint.parts, parts, strict=True)), known, preset)
    lattices = [lattice_arrays(part) for part in parts]
    arrays = lattices[0] | {"log_likelihood": np.stack([each["log_likelihood"] for each in lattices])}
    if task.is_noisy:
        arrays["of_sets"] = np.stack([each["of_sets"] for each in lattices], axis=1)  # by set, then by condition
    own = {"parameters": _parameters(joint, parts), "conditions": _conditions(joint, posteriors, parts)}
    return PersonFit(found.facts | own, found.arrays | arrays)


def _optima(
    joint: _Joint, explored: _JointExplored, posteriors: Sequence[Posterior], preset: Preset
) -> dict[Goal, Optimum]:
    space, count = joint.parts[0].space, len(joint.space.learning)
    surfaces, n_learning = [each.log_likelihood for each in posteriors], len(space.learning)
    starts = []
    for goal in GOALS:
        best = _best_nodes(surfaces, space.free, joint.vary, goal)
        positions = [node_position(space.learning, node[:n_learning]) for node in best]
        starts.append(_assembled(positions, joint.of_learning, count))
    effort = effort_of(joint, preset, count / n_learning if n_learning else 1.0)
    return search_from(explored, _JointSolver(joint), starts, effort)


def _part(joint: _Joint, number: int, explored: Explored, posterior: Posterior, optima: dict[Goal, Optimum]) -> Fitted:
    """Return one condition as it is in the light of the others."""
    own = {goal: Optimum(joint.own(number, optimum.point), ()) for goal, optimum in optima.items()}
    return Fitted(explored, posterior, own, {goal: score(explored, each.point) for goal, each in own.items()})


def _sum_of(scores: Sequence[Score]) -> Score:
    return replace(
        scores[0],
        log_likelihood=sum(each.log_likelihood for each in scores),
        error=math.hypot(*(each.error for each in scores)),
        batch_sd=math.hypot(*(each.batch_sd for each in scores)),
        effective_replicates=float(np.mean([each.effective_replicates for each in scores])),
    )


def _whole(known: JointKnowledge, posteriors: Sequence[Posterior]) -> Posterior:
    """Return the evidence of all conditions, with its error by leaving out the same share of filters in each."""
    sets = zip(*(each.whole_sets for each in posteriors), strict=True)
    without = [JointKnowledge.of(known.axes, known.varied, some).log_evidence for some in sets]
    error, bias = jackknife(known.log_evidence, np.array(without))
    return replace(
        posteriors[0],
        log_evidence=known.log_evidence,
        log_evidence_error=error,
        log_evidence_bias=bias,
        lattice_error=sum(each.lattice_error for each in posteriors),
    )


def _parameters(joint: _Joint, parts: Sequence[Fitted]) -> list[dict[str, Any]]:
    """Return one entry a parameter, or one for each condition if it varies."""
    each = zip(joint.parts, parts, strict=True)
    by_parameter = zip(*(parameter_facts(task, part) for task, part in each), strict=True)
    found = []
    for entries in by_parameter:
        source = entries[0]["standing"].removeprefix(TIED) if entries[0]["standing"] != "free" else entries[0]["name"]
        if source in joint.vary:
            found += [entry | {"condition": name} for name, entry in zip(joint.names, entries, strict=True)]
        else:
            found.append(entries[0] | {"condition": ""})
    return found


def _conditions(joint: _Joint, posteriors: Sequence[Posterior], parts: Sequence[Fitted]) -> list[dict[str, Any]]:
    """Return how well the model explains each condition: the evidence by itself, the likelihood at the joint MAP."""
    return [
        {
            "condition": name,
            **{key: value for key, value in data_facts(task).items() if key in ("n_trials", "n_answered")},
            "log_likelihood_map": part.scores["map"].log_likelihood,
            "log_evidence": own.log_evidence,
            "log_evidence_error": own.log_evidence_error,
            "log_evidence_bias": own.log_evidence_bias,
            "hit_rate": hit_rate(task, trial_arrays(task, part)),
        }
        for name, task, own, part in zip(joint.names, joint.parts, posteriors, parts, strict=True)
    ]
