"""Simulated people who all see the same trials, so that the filters of a lattice run only once for all of them.

p-hat does not depend on what a person chooses. With one trial sequence for everyone, the filters at a node of the
lattice are run once, when they are first asked for, and a person costs only the integrals. What is then done with them
is what a fit does: ``lattice.explore`` and ``lattice.posterior_of``. A person may be several learners, who begin anew
with each problem.

Were all people given the same filters, they would also share their luck, and the errors of a cohort's likelihoods would
add up, as those of real fits never do. So every node has a pool of filters from which everyone takes some of their own.
People's own choices come from filters of other draws, at values between the nodes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.explored import explore
from holmes_fit.fitting.lattice.posterior import Posterior, posterior_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task, natural
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import Observer, find_model
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.settings.preset import Preset
from holmes_fit.settings.spaces import Space
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Learner

PHat = tuple[NDArray[np.float64], ...]  # of every learner, filters x trials


def shared_learners(protocol: str, seed: int) -> tuple[Learner, ...]:
    """Return the learners with the trials that everyone sees; nobody's choices are theirs."""
    return simulate(protocol, subjects=1, seed=seed).cohort.learners


@dataclass(frozen=True)
class SharedTraces:
    """One trial sequence, and what one model's filters predict at every node of its lattice."""

    space: Space
    learners: tuple[Learner, ...]
    filters: int  # at each node
    replicates: int  # of them, that a fit takes
    observer: Observer = field(default_factory=Observer)  # of people and of fits alike
    seed: int = 0
    _found: dict[int, PHat] = field(default_factory=dict, repr=False)

    def at(self, node: int) -> PHat:
        """Return p-hat of all filters at a node, as a fit of a person would draw them; every node has its own."""
        if node not in self._found:
            shape = [axis.nodes for axis in self.space.learning]
            place = zip(self.space.learning, np.unravel_index(node, shape), strict=True)
            position = np.array([axis.positions[index] for axis, index in place])
            values = self.space.model_values(natural(self.space.learning, position))
            wanted = Replicates(self.filters, LATTICE + A_NODE * node)
            self._found[node] = traces_of(
                self.space.model, self.learners, values, self.observer, self.seed, wanted
            ).p_hat
        return self._found[node]

    def taken(self, replicates: Replicates, order: NDArray[np.intp] | None = None) -> PHat:
        """Return what a fit asks for, from those filters that a person takes: nodes x filters, or as they come."""
        node, first = divmod(replicates.first - LATTICE, A_NODE)
        own = slice(first, first + replicates.number)
        return tuple(each[own if order is None else order[node, own]] for each in self.at(node))

    def fits(
        self, person: tuple[Learner, ...], rng: np.random.Generator, times: int = 1, with_error: bool = True
    ) -> list[Posterior]:
        """Compute the posterior of a person with these trials, as a fit does, from filters that no two have in common.

        The error of the evidence takes long.
        """
        nodes = math.prod(axis.nodes for axis in self.space.learning)
        order = np.argsort(rng.random((nodes, self.filters)), axis=1)
        parts = [order[:, number * self.replicates : (number + 1) * self.replicates] for number in range(times)]
        tasks = [SharedTask(person, self.space, shared=self, order=part) for part in parts]
        return [posterior_of(explore(task, self.replicates), with_error) for task in tasks]

    def person(self, values: Mapping[str, float], name: str, rng: np.random.Generator) -> tuple[Learner, ...]:
        """Return a person with these values of the free parameters, who has one filter of their own."""
        model, answers = self.space.model_values(values), self.space.answers
        rule = answers.rule(self.space.response_values(values))
        found = []
        for learner in self.learners:
            key = np.uint64(rng.integers(1 << 63))
            p_hat = self.space.model.p_hat(learner.observations, model, self.observer, key)[0]
            chosen = answers.draw(p_hat, rule, rng)
            given = np.where(learner.answered, chosen, learner.choices)  # nobody answers where they did not
            found.append(replace(learner, subject=name, choices=given))
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class SharedTask(Task):
    """One person and one model, with filters that are run already."""

    shared: SharedTraces
    order: NDArray[np.intp] | None = None  # nodes x filters: which ones the person takes; all in turn if not said

    def traces(self, position: NDArray[np.float64], replicates: Replicates) -> Traces:
        """Return the person's own choice of filters at a node, which their number says: every node has its own."""
        if replicates.first < LATTICE:  # between nodes
            return super().traces(position, replicates)
        return Traces(self.shared.taken(replicates, self.order), tuple(each.choices for each in self.learners))


def shared_by_models(
    preset: Preset,
    models: Sequence[str],
    learners: tuple[Learner, ...],
    filters: int,
    seed: int = 0,
    response: Response = CHOICES,
) -> dict[str, SharedTraces]:
    """Return one trial sequence as each of several models sees it, to be fitted as a preset says."""
    replicates = preset.likelihood.replicates
    spaces = {model: preset.space(find_model(model), response) for model in models}
    return {model: SharedTraces(space, learners, filters, replicates, seed=seed) for model, space in spaces.items()}


def drawn(space: Space, rng: np.random.Generator) -> dict[str, float]:
    """Draw someone's free parameters from the fitting prior, natural values by name."""
    return {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
