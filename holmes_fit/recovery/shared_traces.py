"""Simulated people who all see the same trials, so that the filters of a lattice run only once for all of them.

p-hat does not depend on what a person chooses. With one trial sequence for everyone, the traces at the nodes of the
lattice are computed once, and a person costs only the response rule. What is then done with them is what a fit does:
``lattice.explore`` and ``lattice.posterior_of``, replicates raised where the likelihood is noisy.

Were all people given the same filters, they would also share their luck, and the errors of a cohort's likelihoods would
add up, as those of real fits never do. So every node has a pool of filters from which everyone takes some of their own.
People's own choices come from filters of other draws, at values between the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from holmes_fit.choices import choice_probability
from holmes_fit.fitting.person import FLOOR, GRAIN
from holmes_fit.lattice import Posterior, Task, explore, posterior_of, raise_replicates
from holmes_fit.lattice.task import A_NODE, LATTICE, natural
from holmes_fit.likelihood import Replicates, Traces, likelihood_of, traces_of
from holmes_fit.models import Observer
from holmes_fit.pooling import Lattices
from holmes_fit.presets import LikelihoodSettings
from holmes_fit.simulation import simulate
from holmes_fit.spaces import Space
from holmes_fit.trials import MISSED, Learner

POOL = 256  # filters at each node, from which a person takes 32 or 64 at the defaults


def shared_learner(protocol: str, seed: int) -> Learner:
    """Return a learner with the trials that everyone sees; nobody's choices are its own.

    Raises
    ------
    ValueError
        If a person of this protocol is more than one learner.
    """
    learners = simulate(protocol, subjects=1, seed=seed).cohort.learners
    if len(learners) != 1:
        raise ValueError(f"{protocol}: a person is {len(learners)} learners, and traces can be shared for one")
    return learners[0]


def node_traces(
    space: Space, learner: Learner, node: int, pool: int = POOL, observer: Observer | None = None
) -> NDArray[np.float64]:
    """Return p-hat at one node of the learning parameters, filters x trials, as a fit of the learner would draw them.

    No other node has the same draws.
    """
    shape = tuple(axis.nodes for axis in space.learning)
    place = np.unravel_index(node, shape)
    at = np.array([axis.positions[index] for axis, index in zip(space.learning, place, strict=True)])
    values = space.model_values(natural(space.learning, at))
    replicates = Replicates(pool, LATTICE + A_NODE * node)
    return traces_of(space.model, [learner], values, observer or Observer(), 0, replicates).p_hat[0]


@dataclass(frozen=True, kw_only=True)
class SharedTask(Task):
    """One person and one model, with traces that are there already.

    Parameters
    ----------
    p_hat
        Nodes of the learning parameters x filters x trials.
    order
        Nodes x filters: in which order this person takes the filters of each node.
    """

    p_hat: NDArray[np.float64]
    order: NDArray[np.intp]

    def traces(self, position: NDArray[np.float64], replicates: Replicates) -> Traces:
        """Return the person's own choice of filters at a node, which their number says: every node has its own."""
        node, first = divmod(replicates.first - LATTICE, A_NODE)
        own = self.order[node, first : first + replicates.number]
        return Traces((np.asarray(self.p_hat[node])[own],), (self.learners[0].choices,))


@dataclass(frozen=True)
class SharedTraces:
    """One trial sequence, and what one model's filters predict at every node of its lattice.

    Parameters
    ----------
    space
        The model, and what is free.
    learner
        The trials.
    p_hat
        Nodes x filters x trials.
    settings
        How many replicates a fit takes.
    observer
        How filters are run, of people and of fits alike.
    """

    space: Space
    learner: Learner
    p_hat: NDArray[np.float64]
    settings: LikelihoodSettings
    observer: Observer = field(default_factory=Observer)

    def fit(self, learner: Learner, rng: np.random.Generator) -> SharedFit:
        """Compute the lattice of a person with these trials, as a fit does.

        Replicates are doubled as long as the likelihood is too noisy. A fit asks that of fresh filters at the highest
        point; here it is asked of the pool at the most probable node.
        """
        order = np.argsort(rng.random(self.p_hat.shape[:2]), axis=1)
        task = SharedTask((learner,), self.space, p_hat=self.p_hat, order=order)
        replicates = self.settings.replicates
        explored = explore(task, replicates)
        posterior = posterior_of(explored)
        batch_sd = self._batch_sd(task, posterior, replicates)
        while batch_sd > self.settings.largest_batch_sd and replicates < self.settings.most_replicates:
            replicates = min(2 * replicates, self.settings.most_replicates)
            raise_replicates(explored, replicates)
            posterior = posterior_of(explored)
            batch_sd = self._batch_sd(task, posterior, replicates)
        return SharedFit(posterior, batch_sd, replicates)

    def _batch_sd(self, task: SharedTask, posterior: Posterior, replicates: int) -> float:
        """Return the SD of the log-likelihood over batches of so many filters, at the most probable node."""
        best = np.unravel_index(int(np.argmax(posterior.mass)), posterior.mass.shape)
        n_learning = len(self.space.learning)
        node = int(np.ravel_multi_index(best[:n_learning], [axis.nodes for axis in self.space.learning]))
        axes = self.space.response
        at = np.array([axis.positions[i] for axis, i in zip(axes, best[n_learning:], strict=True)])
        count = self.p_hat.shape[1] // replicates
        dealt = Traces((np.asarray(self.p_hat[node])[: count * replicates],), (task.learners[0].choices,))
        batches = dealt.batches(count)
        return float(np.std([likelihood_of(batch).at(task.response(at)) for batch in batches], ddof=1))

    def simulate(self, position: NDArray[np.float64], name: str, rng: np.random.Generator) -> Learner:
        """Return a person with these values, on the scales of search, who has one filter of their own."""
        n_learning = len(self.space.learning)
        values = self.space.model_values(natural(self.space.learning, position[:n_learning]))
        response = self.space.response_values(natural(self.space.response, position[n_learning:]))
        key = np.uint64(rng.integers(1 << 63))
        p_hat = self.space.model.p_hat(self.learner.observations, values, self.observer, key)[0]
        chosen = (rng.random(len(p_hat)) < choice_probability(p_hat, **response)).astype(np.int8)
        given = np.where(self.learner.choices == MISSED, np.int8(MISSED), chosen)  # nobody answers where they did not
        return replace(self.learner, subject=name, choices=given)


@dataclass(frozen=True)
class SharedFit:
    """One person's posterior, the noise of the likelihood at its highest node, and the replicates that it took."""

    posterior: Posterior
    batch_sd: float
    replicates: int


def as_lattices(model: str, subjects: Sequence[str], fits: Sequence[SharedFit]) -> Lattices:
    """Return the lattices of a cohort as a run folder keeps them: cut off far below the highest node, and rounded."""
    kept = []
    for fit in fits:
        log_likelihood = fit.posterior.log_likelihood
        floored = np.maximum(log_likelihood, log_likelihood.max() - FLOOR)
        kept.append((np.round(floored / GRAIN) * GRAIN).astype(np.float32))
    return Lattices(
        model=model,
        subjects=tuple(subjects),
        axes=fits[0].posterior.axes,
        log_likelihood=np.stack(kept),
        log_evidence=np.array([fit.posterior.log_evidence for fit in fits]),
        log_evidence_error=np.array([fit.posterior.log_evidence_error for fit in fits]),
    )
