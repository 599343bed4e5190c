"""How people are pooled into groups. No fit depends on it, so that it is no part of what identifies a run."""

from typing import Annotated

from pydantic import Field

from holmes_fit.trials.protocols.base import Part

Positive = Annotated[float, Field(gt=0, le=100)]


class PoolingSettings(Part):
    """What is held likely of a group before anyone is seen, and how its posterior is sampled."""

    mean_sd: Positive = 1.0  # the prior of a group; see ``GroupPrior`` in ``holmes_fit.groups.pooling``
    spread: Positive = 0.5
    spread_log_sd: Positive = 0.6
    effect_sd: Positive = 1.0
    chains: Annotated[int, Field(ge=2, le=100)] = 4  # how NUTS is run; see ``Sampling`` there
    tune: Annotated[int, Field(ge=50, le=100_000)] = 500
    draws: Annotated[int, Field(ge=50, le=100_000)] = 1000
    target_accept: Annotated[float, Field(ge=0.5, lt=1)] = 0.9
