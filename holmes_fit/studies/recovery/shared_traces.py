"""Simulated people who all see the same trials, so that the filters of a lattice run only once for all of them.

p-hat does not depend on what a person chooses. With one trial sequence for everyone, the traces at the nodes of the
lattice are computed once, and a person costs only the integrals. What is then done with them is what a fit does:
``lattice.explore`` and ``lattice.posterior_of``. A person may be several learners, who begin anew with each problem.

Were all people given the same filters, they would also share their luck, and the errors of a cohort's likelihoods would
add up, as those of real fits never do. So every node has a pool of filters from which everyone takes some of their own.
People's own choices come from filters of other draws, at values between the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.exploring import explore
from holmes_fit.fitting.lattice.posterior import Posterior, posterior_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task, natural
from holmes_fit.fitting.person import rounded
from holmes_fit.groups.pooling.lattices import EVIDENCE, Lattices
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import Observer
from holmes_fit.models.responses import choice_probability
from holmes_fit.settings.spaces import Space
from holmes_fit.settings.tables import LikelihoodSettings
from holmes_fit.studies.simulation.people import simulate
from holmes_fit.trials.cohorts import MISSED, Learner

POOL = 128  # filters at each node, from which a person takes 32 at the defaults


def shared_learners(protocol: str, seed: int) -> tuple[Learner, ...]:
    """Return the learners with the trials that everyone sees; nobody's choices are theirs."""
    return simulate(protocol, subjects=1, seed=seed).cohort.learners


def node_traces(
    space: Space, learners: Sequence[Learner], node: int, pool: int = POOL, observer: Observer | None = None
) -> NDArray[np.float64]:
    """Return p-hat at one node, filters x trials of all learners in turn, as a fit of the person would draw them.

    No other node has the same draws.
    """
    shape = tuple(axis.nodes for axis in space.learning)
    place = np.unravel_index(node, shape)
    at = np.array([axis.positions[index] for axis, index in zip(space.learning, place, strict=True)])
    values = space.model_values(natural(space.learning, at))
    replicates = Replicates(pool, LATTICE + A_NODE * node)
    return np.concatenate(traces_of(space.model, learners, values, observer or Observer(), 0, replicates).p_hat, axis=1)


class FilterPool:
    """The filters at all nodes of a lattice, run when they are first asked for."""

    def __init__(self, space: Space, learners: Sequence[Learner], filters: int, observer: Observer | None = None):
        self._space, self._learners, self._observer = space, learners, observer
        self.shape = (math.prod(axis.nodes for axis in space.learning), filters)
        self._found: dict[int, NDArray[np.float64]] = {}

    def __getitem__(self, node: int) -> NDArray[np.float64]:
        if node not in self._found:
            self._found[node] = node_traces(self._space, self._learners, node, self.shape[1], self._observer)
        return self._found[node]


@dataclass(frozen=True, kw_only=True)
class SharedTask(Task):
    """One person and one model, with traces that are there already."""

    p_hat: (
        NDArray[np.float64] | FilterPool
    )  # nodes of the learning parameters x filters x trials of all learners in turn
    order: NDArray[np.intp]  # nodes x filters: in which order this person takes the filters of each node

    def traces(self, position: NDArray[np.float64], replicates: Replicates) -> Traces:
        """Return the person's own choice of filters at a node, which their number says: every node has its own."""
        node, first = divmod(replicates.first - LATTICE, A_NODE)
        own = self.order[node, first : first + replicates.number]
        ends = np.cumsum([len(learner.choices) for learner in self.learners])
        p_hat = np.split(np.asarray(self.p_hat[node])[own], ends[:-1], axis=1)
        return Traces(tuple(p_hat), tuple(learner.choices for learner in self.learners))


@dataclass(frozen=True)
class SharedTraces:
    """One trial sequence, and what one model's filters predict at every node of its lattice."""

    space: Space
    learners: tuple[Learner, ...]
    p_hat: NDArray[np.float64] | FilterPool  # nodes x filters x trials of all learners in turn
    settings: LikelihoodSettings  # how many replicates a fit takes
    observer: Observer = field(default_factory=Observer)  # of people and of fits alike

    def fit(self, learners: tuple[Learner, ...], rng: np.random.Generator, with_error: bool = True) -> Posterior:
        """Compute the posterior of a person with these trials, as a fit does; the error of the evidence takes long."""
        return self.fits(learners, rng, 1, with_error)[0]

    def fits(
        self, learners: tuple[Learner, ...], rng: np.random.Generator, times: int, with_error: bool = True
    ) -> list[Posterior]:
        """Compute it several times, from filters that no two of the fits have in common."""
        order = np.argsort(rng.random(self.p_hat.shape[:2]), axis=1)
        replicates = self.settings.replicates
        parts = [order[:, number * replicates : (number + 1) * replicates] for number in range(times)]
        tasks = [SharedTask(learners, self.space, p_hat=self.p_hat, order=part) for part in parts]
        return [posterior_of(explore(task, replicates), with_error) for task in tasks]

    def simulate(self, position: NDArray[np.float64], name: str, rng: np.random.Generator) -> tuple[Learner, ...]:
        """Return a person with these values, on the scales of search, who has one filter of their own."""
        n_learning = len(self.space.learning)
        values = self.space.model_values(natural(self.space.learning, position[:n_learning]))
        response = self.space.response_values(natural(self.space.response, position[n_learning:]))
        found = []
        for learner in self.learners:
            key = np.uint64(rng.integers(1 << 63))
            p_hat = self.space.model.p_hat(learner.observations, values, self.observer, key)[0]
            chosen = (rng.random(len(p_hat)) < choice_probability(p_hat, **response)).astype(np.int8)
            given = np.where(learner.choices == MISSED, np.int8(MISSED), chosen)  # nobody answers where they did not
            found.append(replace(learner, subject=name, choices=given))
        return tuple(found)


def as_lattices(model: str, subjects: Sequence[str], fits: Sequence[Posterior]) -> Lattices:
    """Return the lattices of a cohort as a run folder keeps them: cut off far below the highest node, and rounded."""
    of_evidence: Any = {name: np.array([getattr(fit, name) for fit in fits]) for name in EVIDENCE}
    return Lattices(
        model=model,
        subjects=tuple(subjects),
        axes=fits[0].axes,
        log_likelihood=np.stack([rounded(fit.log_likelihood) for fit in fits]),
        **of_evidence,
    )
