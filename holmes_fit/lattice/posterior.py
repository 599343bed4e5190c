"""From a noisy likelihood on a lattice to a posterior that says what is known, the noise included.

Each batch of replicates gives a likelihood surface of its own, and each is a fair estimate of the same true one. Where
they agree, nothing matters. Where they do not, one batch is often many nats above the others by luck, and a plain mean
of the likelihoods would be that one batch: far too sure. So three things are done.

- *Batches count alike.* The posterior is the mean of the batches' posteriors: what an analyst who may be handed any of
  them should believe. The disagreement between them becomes part of the interval.
- *Neighbours lend to each other.* The true surface is smooth and nodes have independent draws, so likelihoods are
  averaged over neighbouring nodes by a Gaussian kernel, no wider than the noise calls for.
- *The evidence* is the mean over batches of theirs, with their spread as its error.

With ever more replicates batches agree, the kernel closes, and all of it is the plain posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.lattice.nodes import BATCHES, Explored, first_nodes, spread_of_batches
from holmes_fit.lattice.task import log_prior_mass
from holmes_fit.spaces import FreeParameter

WIDEST_KERNEL = 0.75  # in spacings of the computed nodes
FULL_NOISE = 0.5  # nats between batches at which the kernel is at its widest


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
        At the nodes, such that with the prior it gives ``mass`` and ``log_evidence``. Group models start from it.
    log_evidence, log_evidence_error
        Of the model for this person, with the SD of its Monte Carlo error.
    lattice_error
        Half the difference of the log evidence between the two interleaved halves of the computed nodes.
    batch_log_evidence
        What each batch alone gives.
    """

    axes: tuple[FreeParameter, ...]
    mass: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_evidence: float
    log_evidence_error: float
    lattice_error: float
    batch_log_evidence: NDArray[np.float64]

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
    space = explored.task.space
    log_prior = log_prior_mass(space)
    width = _kernel_width(explored)
    evidence = np.empty(BATCHES)
    mass = np.zeros(log_prior.shape)
    for batch, surface in enumerate(explored.batch_surfaces()):  # one at a time: a lattice can be large
        log_joint = smoothed(surface, explored.learning_shape, width) + log_prior
        evidence[batch] = logsumexp(log_joint)
        mass += np.exp(log_joint - evidence[batch])
    mass /= mass.sum()
    log_evidence = float(logsumexp(evidence) - np.log(BATCHES))
    with np.errstate(divide="ignore"):
        log_likelihood = np.log(mass) - log_prior + log_evidence
    return Posterior(
        axes=space.free,
        mass=mass,
        log_likelihood=log_likelihood,
        log_evidence=log_evidence,
        log_evidence_error=float(explored.independence * np.std(evidence, ddof=1) / np.sqrt(BATCHES)),
        lattice_error=_lattice_error(explored, log_prior),
        batch_log_evidence=evidence,
    )


def smoothed(surface: NDArray[np.float64], learning_shape: tuple[int, ...], width: float) -> NDArray[np.float64]:
    """Average likelihoods over neighbouring learning nodes by a Gaussian kernel.

    Parameters
    ----------
    surface
        Log-likelihoods, learning nodes x response nodes.
    learning_shape
        Which of the axes are learning parameters: the first ones.
    width
        SD of the kernel, in nodes; 0 leaves everything as it is.
    """
    if width == 0.0 or not learning_shape:
        return surface
    learning = tuple(range(len(learning_shape)))
    highest = surface.max(axis=learning, keepdims=True)
    likelihood = np.exp(surface - highest)
    for axis, length in zip(learning, learning_shape, strict=True):
        distance = np.subtract.outer(np.arange(length), np.arange(length)) / width
        kernel = np.exp(-0.5 * distance**2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        likelihood = np.moveaxis(np.tensordot(kernel, likelihood, axes=(1, axis)), 0, axis)
    return np.log(np.maximum(likelihood, np.finfo(np.float64).tiny)) + highest


def _kernel_width(explored: Explored) -> float:
    """Return the kernel's SD in nodes of the lattice. Unless refined, computed nodes are two apart."""
    between_computed = 1 if explored.is_refined else 2
    return between_computed * WIDEST_KERNEL * min(1.0, spread_of_batches(explored) / FULL_NOISE)


def _lattice_error(explored: Explored, log_prior: NDArray[np.float64]) -> float:
    """Compare the two interleaved halves of the first nodes, as on a chessboard."""
    first = first_nodes(explored.learning_shape)
    if not any(len(nodes) > 1 for nodes in first):
        return 0.0
    total = logsumexp(explored.log_mean.sum(axis=0), axis=0) - np.log(BATCHES) + log_prior
    by_node = total.reshape(*explored.learning_shape, -1)[np.ix_(*first)]
    colour = np.indices(by_node.shape[:-1]).sum(axis=0) % 2
    white, black = (float(logsumexp(by_node[colour == side])) - np.log(np.mean(colour == side)) for side in (0, 1))
    return float(abs(white - black) / 2)
