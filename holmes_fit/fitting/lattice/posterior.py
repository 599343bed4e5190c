"""From a likelihood on a lattice to the posterior, and to the evidence with its error.

The likelihood of all filters gives the posterior and the evidence. How far the evidence may be off is found by leaving
out one share of the filters after the other, which is the jackknife (Efron & Tibshirani, 1993, "An introduction to the
bootstrap", chapter 11). It is an error of the logarithm of the estimate, densities and lending included.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.fitting.lattice.explored import Explored
from holmes_fit.fitting.lattice.nodes import coarse_nodes, first_nodes
from holmes_fit.fitting.lattice.task import log_prior_mass
from holmes_fit.runs.knowledge import Knowledge


@dataclass(frozen=True)
class Posterior(Knowledge):
    """What one person's choices say about one model's parameters."""

    log_likelihood: NDArray[np.float64]  # at the nodes; no prior has a part in it, and group models start from it
    log_evidence: float
    log_evidence_error: float  # SD of its Monte Carlo error, as far as it is known,
    log_evidence_bias: float  # and mean
    lattice_error: (
        float  # half the difference of the log evidence between the two interleaved halves of the first nodes
    )
    coarse: tuple[NDArray[np.intp], ...]  # by axis, the nodes at which ``of_sets`` is kept
    whole_sets: tuple[NDArray[np.float64], ...]  # without each share of the filters, at all nodes; none if exact

    @property
    def of_sets(self) -> NDArray[np.float64]:
        """Without each share of the filters, shares x coarse nodes; none if they are exact."""
        return np.array([each[np.ix_(*self.coarse)] for each in self.whole_sets])


def posterior_of(explored: Explored, with_error: bool = True) -> Posterior:
    """Return the posterior that a computed lattice gives, and how far its evidence may be off: most of the work."""
    log_prior = log_prior_mass(explored.task.space)
    log_likelihood = explored.on_lattice(explored.log_likelihood)
    log_joint = log_likelihood + log_prior
    log_evidence = float(logsumexp(log_joint))
    of_sets = [explored.on_lattice(each) for each in (explored.of_sets() if with_error else [])]
    evidences = np.array([logsumexp(each + log_prior) for each in of_sets])
    error, bias = jackknife(log_evidence, evidences) if with_error else (np.nan, np.nan)
    coarse = coarse_nodes(explored.learning_shape, explored.response_shape)
    return Posterior(
        axes=explored.task.space.free,
        mass=np.exp(log_joint - log_evidence),
        log_likelihood=log_likelihood,
        log_evidence=log_evidence,
        log_evidence_error=error,
        log_evidence_bias=bias,
        lattice_error=_lattice_error(explored, log_prior),
        coarse=coarse,
        whole_sets=tuple(of_sets),
    )


def jackknife(whole: float, without: NDArray[np.float64]) -> tuple[float, float]:
    """Return SD and mean of the error of an estimate, from the same ``without`` each share of what it was made from."""
    count = len(without)
    if count < 2:
        return 0.0, 0.0
    error = (count - 1) / np.sqrt(count) * np.std(without, ddof=1)
    return float(error), float((count - 1) * (np.mean(without) - whole))


def _lattice_error(explored: Explored, log_prior: NDArray[np.float64]) -> float:
    """Compare the two interleaved halves of the first nodes, as on a chessboard."""
    first = first_nodes(explored.learning_shape)
    if not any(len(nodes) > 1 for nodes in first):
        return 0.0
    joint = explored.on_lattice(explored.log_likelihood) + log_prior
    by_node = joint.reshape(*explored.learning_shape, -1)[np.ix_(*first)]
    colour = np.indices(by_node.shape[:-1]).sum(axis=0) % 2
    white, black = (float(logsumexp(by_node[colour == side])) - np.log(np.mean(colour == side)) for side in (0, 1))
    return float(abs(white - black) / 2)
