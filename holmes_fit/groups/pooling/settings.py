"""What a preset says about groups: their prior, and how they are sampled."""

from __future__ import annotations

from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.settings.pooling import PoolingSettings


def prior_of(said: PoolingSettings) -> GroupPrior:
    """Return the prior of a group."""
    return GroupPrior(said.mean_sd, said.spread, said.spread_log_sd, said.effect_sd)


def sampling_of(said: PoolingSettings, seed: int, cores: int | None = None) -> Sampling:
    """Return how NUTS is run."""
    return Sampling(said.chains, said.tune, said.draws, said.target_accept, seed, cores)
