"""The tables of a preset: what can be said about the likelihood, the search, the posterior and each parameter."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from holmes_fit.trials.protocols.base import Count, Name, Part

STANDINGS = ("fixed", "tied", "free")  # what a parameter can be; the last word on it replaces the words before

Replicates = Annotated[int, Field(ge=8, le=4096, multiple_of=8)]  # in eight shares


class LikelihoodSettings(Part):
    """How the likelihood is computed."""

    # ``"marginal"``, a person who runs one filter, or ``"expected"``, one who averages over many
    kind: Literal["marginal", "expected"] = "marginal"
    replicates: Replicates = 32  # filters for every person, model and point
    # Of a person's log evidence, in nats, above which the likelihood is called noisy
    largest_error: Annotated[float, Field(gt=0)] = 0.5


class SearchSettings(Part):
    """How the highest point is searched: at how many points beside those of the lattice, from how many starts."""

    method: Literal["nelder_mead", "tpe", "cmaes", "random"] = "nelder_mead"
    evaluations: Annotated[int, Field(ge=1, le=1_000_000)] = 36
    starts: Count = 3


class PosteriorSettings(Part):
    """What is kept of the posterior of each person and model."""

    draws: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class ParameterSettings(Part):
    """What a preset says about one parameter."""

    prior: str | None = None  # a text such as ``lognormal:0.5,1``; it is cut off at the bounds
    nodes: Annotated[int, Field(ge=3, le=1000)] | None = None  # cells of the lattice between the bounds
    low: float | None = None  # the bounds, where they differ from those that the parameter comes with
    high: float | None = None
    fixed: float | None = None  # the value, if it is not fitted
    tied: Name | None = None  # the parameter whose value it shares; both are parameters of learning
    free: bool | None = None  # whether it is fitted; without a word, as the parameter itself says
    reason: str = ""  # why, for people


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables as one, inner tables likewise, where ``above`` has the last word."""
    kept = dict(below)
    if any(word in above for word in STANDINGS):
        kept = {key: value for key, value in kept.items() if key not in STANDINGS}
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(kept.get(key), Mapping)
        kept[key] = overlaid(kept[key], value) if both else value
    return kept
