"""From a likelihood on a lattice to the posterior, and to the evidence with its error.

The likelihood of all filters gives the posterior and the evidence. How far the evidence may be off is found by leaving
out one share of the filters after the other, which is the jackknife (Efron & Tibshirani, 1993, "An introduction to the
bootstrap", chapter 11). It is an error of the logarithm of the estimate, densities and lending included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.fitting.lattice.explored import Explored
from holmes_fit.fitting.lattice.nodes import coarse_nodes, first_nodes
from holmes_fit.fitting.lattice.task import log_prior_mass
from holmes_fit.settings.spaces import FreeParameter


@dataclass(frozen=True)
class Posterior:
    """What one person's choices say about one model's parameters.

    Parameters
    ----------
    axes
        The free parameters, in the order of the lattice's axes.
    mass
        Posterior mass of the nodes, adding up to 1.
    log_likelihood
        At the nodes. No prior has a part in it, and group models start from it.
    log_evidence
        Of the model for this person.
    log_evidence_error, log_evidence_bias
        What is known of its Monte Carlo error: its SD, and its mean.
    lattice_error
        Half the difference of the log evidence between the two interleaved halves of the computed nodes.
    coarse
        By axis, the nodes at which ``of_sets`` is kept.
    of_sets
        Log-likelihoods without each share of the filters, shares x coarse nodes; none if the likelihood is exact.
    """

    axes: tuple[FreeParameter, ...]
    mass: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_evidence: float
    log_evidence_error: float
    log_evidence_bias: float
    lattice_error: float
    coarse: tuple[NDArray[np.intp], ...]
    of_sets: NDArray[np.float64]

    def marginal(self, axis: int) -> NDArray[np.float64]:
        """Return the mass along one axis."""
        return self.mass.sum(axis=tuple(i for i in range(self.mass.ndim) if i != axis))

    def moments(self, axis: int) -> tuple[float, float]:
        """Return mean and SD of a parameter on its scale of search."""
        position, marginal = self.axes[axis].positions, self.marginal(axis)
        mean = float(marginal @ position)
        return mean, float(np.sqrt(marginal @ (position - mean) ** 2))

    def quantiles(self, axis: int, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles on the natural scale, mass spread evenly within cells."""
        one = self.axes[axis]
        edges = one.positions[0] + one.spacing * (np.arange(one.nodes + 1) - 0.5)
        below = np.concatenate([[0.0], np.cumsum(self.marginal(axis))])
        return one.to_natural(np.interp(probabilities, below / below[-1], edges))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return draws x axes on the natural scale: a node by its mass, then a place within its cell."""
        if not self.axes:
            return np.empty((n, 0))
        nodes = np.unravel_index(rng.choice(self.mass.size, size=n, p=self.mass.ravel()), self.mass.shape)
        return np.column_stack(
            [
                axis.to_natural(axis.positions[node] + axis.spacing * (rng.random(n) - 0.5))
                for axis, node in zip(self.axes, nodes, strict=True)
            ]
        )


def posterior_of(explored: Explored) -> Posterior:
    """Return the posterior that a computed lattice gives."""
    log_prior = log_prior_mass(explored.task.space)
    log_likelihood = explored.on_lattice(explored.log_likelihood)
    log_joint = log_likelihood + log_prior
    log_evidence = float(logsumexp(log_joint))
    of_sets = [explored.on_lattice(each) for each in explored.of_sets()]
    evidences = np.array([logsumexp(each + log_prior) for each in of_sets])
    error, bias = jackknife(log_evidence, evidences)
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
        of_sets=np.array([each[np.ix_(*coarse)] for each in of_sets]),
    )


def mass_of(explored: Explored) -> NDArray[np.float64]:
    """Return the posterior mass of the nodes alone."""
    log_joint = explored.on_lattice(explored.log_likelihood) + log_prior_mass(explored.task.space)
    return np.exp(log_joint - logsumexp(log_joint))


def jackknife(whole: float, without: NDArray[np.float64]) -> tuple[float, float]:
    """Return SD and mean of the error of an estimate.

    Parameters
    ----------
    whole
        The estimate.
    without
        The same without each share of what it was made from; none if there is no error.
    """
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
