"""The group model in PyMC, people integrated out, and NUTS over what is left: the parameters of the group."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.compile.sharedvalue import shared
from pytensor.configdefaults import config

from holmes_fit.pooling.draws import TINY, Designs, GroupDraws
from holmes_fit.pooling.lattices import Lattices, MergedAxis, MergedLattices
from holmes_fit.pooling.priors import Scaled
from holmes_fit.spaces import FreeParameter
from holmes_fit.workers import usable_cores

# PyTensor's default wants a C++ compiler, and finds no BLAS.
MODE = "NUMBA"
OTHER_MODE = "FAST_COMPILE"  # for what is hardly ever computed, such as where chains begin

LARGEST_R_HAT = 1.01
LEAST_ESS = 400


@dataclass(frozen=True)
class Sampling:
    """How NUTS is run.

    Parameters
    ----------
    chains, tune, draws
        The number of chains, and the steps of each that are for tuning, and that are kept.
    target_accept
        How careful the steps are.
    seed
        Chooses all draws.
    cores
        Processes; all usable cores by default. Results do not depend on it.
    """

    chains: int = 4
    tune: int = 500
    draws: int = 750
    target_accept: float = 0.9
    seed: int = 0
    cores: int | None = None


@dataclass(frozen=True)
class GroupTerm:
    """The part of a PyMC model that belongs to one latent-cause model.

    Parameters
    ----------
    lattices, merged, prior, designs
        What it is made of.
    label
        Stands before the names of its variables where there are several such parts.
    """

    lattices: Lattices
    merged: MergedLattices
    prior: Scaled
    designs: Designs
    label: str = ""

    def named(self, name: str) -> str:
        """Return the name of one of its variables."""
        return f"{self.label}_{name}" if self.label else name

    @property
    def coords(self) -> dict[str, Sequence[str]]:
        """What the dimensions of its variables are called, apart from the columns of designs."""
        return {self.named("parameter"): self.lattices.names}

    def log_likelihood(self) -> Any:
        """Add its variables to the open PyMC model, and return the log-likelihood of every person."""
        prior, dims = self.prior, self.named("parameter")
        if not self.merged.axes:
            return _shared(self.merged.highest)
        mean = pm.Normal(self.named("mean"), prior.mean, prior.mean_sd, dims=dims)
        # A spread that ran into zero between two nodes would make the likelihood a staircase, and one that was cut off
        # would pile up at the edge. This one has none: an excess far below the floor changes nothing.
        log_excess = pm.Normal(self.named("log_excess"), prior.log_excess, prior.log_excess_sd, dims=dims)
        spread = pt.sqrt(_shared(prior.least_spread**2) + pt.exp(2 * log_excess))
        spread = pm.Deterministic(self.named("spread"), spread, dims=dims)
        personal = sorted(self.designs)
        common = [number for number in range(len(self.merged.axes)) if number not in self.designs]
        weights = self._weights(common, mean[common], spread) if common else []
        if personal:
            centres = pt.stack([mean[number] + self._effect(number) for number in personal], axis=-1)
            left, right = self._weights(personal, centres, spread), weights
        else:
            half = len(weights) // 2
            left, right = weights[:half], weights[half:]
        order = (0, *(number + 1 for number in (*personal, *common)))
        total = _contracted(np.transpose(self.merged.likelihood, order), left, right)
        return pt.log(pt.maximum(total, TINY)) + _shared(self.merged.highest)

    def _effect(self, number: int) -> Any:
        name = self.lattices.names[number]
        scale, dims = self.prior.effect_sd[number], self.named(f"effect_of_{name}")
        effects = pm.Normal(self.named(f"effect_{name}"), 0.0, scale, dims=dims)
        return pt.dot(_shared(self.designs[number]), effects)

    def _weights(self, numbers: list[int], mean: Any, spread: Any) -> list[Any]:
        return _weights([self.merged.axes[number] for number in numbers], mean, spread[numbers])

    def draws(self, posterior: Any) -> GroupDraws:
        """Return its variables from a posterior that was sampled, chain after chain."""

        def flat(name: str) -> NDArray[np.float64]:
            values = posterior[self.named(name)].values
            return values.reshape(-1, values.shape[-1])

        if not self.merged.axes:
            empty = np.empty((posterior.sizes["chain"] * posterior.sizes["draw"], 0))
            return GroupDraws(empty, empty)
        effects = {number: flat(f"effect_{self.lattices.names[number]}") for number in self.designs}
        return GroupDraws(flat("mean"), flat("spread"), effects)


def _weights(axes: Sequence[MergedAxis], mean: Any, spread: Any) -> list[Any]:
    """Return the group's density at the merged nodes of each axis, by person where the means are.

    It is narrower by what merging has blurred (see ``MergedAxis``), and normalised by its sum over the nodes as they
    were fitted: the group's distribution restricted to the lattice. All axes are one long vector, as every operation
    takes time to compile.
    """
    numbers = np.arange(len(axes))
    merged_of, fitted_of = (np.repeat(numbers, [axis.nodes for axis in each]) for each in (axes, _fitted(axes)))
    variance = spread**2
    narrow = variance - _shared([axis.lost_variance for axis in axes])
    fitted = _shared(np.concatenate([axis.positions for axis in _fitted(axes)]))
    density = pt.exp(-0.5 * (fitted - mean[..., fitted_of]) ** 2 / variance[fitted_of])
    total = pt.maximum(pt.dot(density, _shared(np.equal.outer(fitted_of, numbers))), TINY)
    merged = _shared(np.concatenate([axis.positions for axis in axes]))
    weights = pt.exp(-0.5 * (merged - mean[..., merged_of]) ** 2 / narrow[merged_of])
    weights = weights * (pt.sqrt(variance / narrow) / total)[..., merged_of]
    ends = np.cumsum([0, *(axis.nodes for axis in axes)])
    return [weights[..., start:end] for start, end in pairwise(ends)]


def _fitted(axes: Sequence[MergedAxis]) -> list[FreeParameter]:
    return [axis.axis for axis in axes]


def _shared(values: Any) -> Any:
    """Return data as an input of the compiled function, so that it need not be compiled again for other data."""
    return shared(np.asarray(values, dtype=np.float64))


def _contracted(likelihood: NDArray[np.float64], left: list[Any], right: list[Any]) -> Any:
    """Return the sum over all nodes of likelihood times weights, by person.

    The axes come as two groups that are weighted jointly, so that only two products are left, the first a ``dot``.
    """
    people = len(likelihood)
    rows = int(np.prod(likelihood.shape[1 : 1 + len(left)], dtype=np.int64))
    matrix = _shared(likelihood.reshape(people * rows, -1))
    within = pt.dot(matrix, _jointly(right)).reshape((people, rows))
    joint = _jointly(left)
    return pt.dot(within, joint) if joint.ndim == 1 else (within * joint).sum(axis=1)


def _jointly(weights: list[Any]) -> Any:
    """Return the products of the weights of all combinations of nodes, the last axis running fastest."""
    if not weights:
        return pt.ones(1)
    joint, *others = weights
    for each in others:
        both = joint[..., :, None] * each[..., None, :]
        joint = both.reshape((-1,)) if both.ndim == 2 else both.reshape((both.shape[0], -1))
    return joint


def nuts(model: pm.Model, sampling: Sampling) -> az.InferenceData:
    """Sample a model. What PyMC says meanwhile is left out: the diagnostics are part of every result."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with model, warnings.catch_warnings(), config.change_flags(mode=OTHER_MODE):
            warnings.simplefilter("ignore")
            return pm.sample(
                draws=sampling.draws,
                tune=sampling.tune,
                chains=sampling.chains,
                cores=min(sampling.chains, sampling.cores or usable_cores()),
                random_seed=sampling.seed,
                target_accept=sampling.target_accept,
                progressbar=False,
                compute_convergence_checks=False,
                compile_kwargs={"mode": MODE},
            )
    finally:
        logger.setLevel(level)


@dataclass(frozen=True)
class Diagnostics:
    """Whether NUTS has done its work: the worst over all variables."""

    divergences: int
    r_hat: float
    ess_bulk: float
    ess_tail: float

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        found = []
        if self.divergences:
            found.append(f"{self.divergences} divergences: parts of the posterior may not have been reached")
        if not self.r_hat < LARGEST_R_HAT:
            found.append(f"R-hat {self.r_hat:.3f}, not below {LARGEST_R_HAT}: the chains disagree; take more draws")
        if not min(self.ess_bulk, self.ess_tail) > LEAST_ESS:
            found.append(
                f"effective draws {self.ess_bulk:.0f} (bulk) and {self.ess_tail:.0f} (tail), not above {LEAST_ESS}: "
                "take more draws"
            )
        return found


def diagnose(idata: az.InferenceData) -> Diagnostics:
    """Return the worst diagnostics of a sampled posterior."""
    summary = az.summary(idata, kind="diagnostics", round_to="none")
    return Diagnostics(
        divergences=int(idata["sample_stats"]["diverging"].sum()),
        r_hat=float(summary["r_hat"].max()),
        ess_bulk=float(summary["ess_bulk"].min()),
        ess_tail=float(summary["ess_tail"].min()),
    )
