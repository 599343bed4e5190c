"""What is held likely of a group before anyone is seen, and what that means for its people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.stats import truncnorm

from holmes_fit._support.errors import Problems
from holmes_fit.groups.pooling.compiled import Scaled
from holmes_fit.groups.pooling.draws import GroupDraws, node_weights
from holmes_fit.groups.pooling.lattices import MergedAxis
from holmes_fit.models.registry import is_number
from holmes_fit.runs.knowledge import INTERVAL, Marginal
from holmes_fit.settings.pooling import PoolingSettings

LARGEST = 100  # of what a prior can say, as in presets


@dataclass(frozen=True)
class GroupPrior:
    """The prior of a group model, in units of each parameter's fitting prior: its centre and its SD."""

    # SD of the group mean about the centre. The mean lies within the bounds of the fit: beyond them, it and the spread
    # could not be told apart.
    mean_sd: float = 1.0
    # Median of the group's spread beyond what the lattice can resolve, and SD of its logarithm: the squared spread is
    # that of the finest resolved plus that of this. So it never runs into zero, and nothing is cut off.
    spread: float = 0.5
    spread_log_sd: float = 0.6
    effect_sd: float = 1.0  # SD of an effect: of one SD of a covariate, or of the difference between two groups

    def __post_init__(self) -> None:
        problems = Problems()
        for name, value in asdict(self).items():
            if not is_number(value) or not 0 < value <= LARGEST:
                problems.add(f"argument {name}", value, f"a number above 0, up to {LARGEST}")
        problems.raise_if_any()


def prior_of(said: PoolingSettings) -> GroupPrior:
    """Return the prior of a group, as a preset has it."""
    return GroupPrior(said.mean_sd, said.spread, said.spread_log_sd, said.effect_sd)


def scaled(prior: GroupPrior, axes: Sequence[MergedAxis]) -> Scaled:
    """Return the prior on the scales of search."""
    centres = [Marginal.of_prior(axis.axis).moments for axis in axes]
    centre = np.array([centre for centre, _ in centres])
    scale = np.array([scale for _, scale in centres])
    return Scaled(
        mean=centre,
        mean_sd=prior.mean_sd * scale,
        lowest_mean=np.array([axis.axis.low for axis in axes]),
        highest_mean=np.array([axis.axis.high for axis in axes]),
        log_excess=np.log(prior.spread * scale),
        log_excess_sd=np.full(len(axes), prior.spread_log_sd),
        least_spread=np.array([axis.least_spread for axis in axes]),
        effect_sd=prior.effect_sd * scale,
    )


def draw_prior(prior: Scaled, n: int, rng: np.random.Generator, effects: Mapping[int, int] | None = None) -> GroupDraws:
    """Draw groups from the prior; ``effects`` are how many each parameter has."""
    ends = ((end - prior.mean) / prior.mean_sd for end in (prior.lowest_mean, prior.highest_mean))
    means = truncnorm(*ends, loc=prior.mean, scale=prior.mean_sd)
    excess = np.exp(rng.normal(prior.log_excess, prior.log_excess_sd, size=(n, len(prior.mean))))
    return GroupDraws(
        mean=means.rvs(size=(n, len(prior.mean)), random_state=rng),
        spread=np.hypot(prior.least_spread, excess),
        effects={axis: rng.normal(0.0, prior.effect_sd[axis], size=(n, k)) for axis, k in (effects or {}).items()},
    )


def prior_predictive(
    prior: GroupPrior, axes: Sequence[MergedAxis], n: int = 2000, rng: np.random.Generator | None = None
) -> pd.DataFrame:
    """Return what the prior implies: a row for each parameter.

    Columns say, on the natural scale, between which values people lie, how large the ratio (or difference) of two
    people of one group typically is on the scale of search (``spread_*``), and which share of people lies in the
    outermost cells, where the bounds of the fit are felt.
    """
    generator = np.random.default_rng(0) if rng is None else rng
    groups = draw_prior(scaled(prior, axes), n, generator)
    rows = []
    for number, merged in enumerate(axes):
        axis = merged.axis
        people = node_weights(axis.positions, groups.mean[:, number], groups.spread[:, number]).mean(axis=0)
        natural = Marginal(axis, people).quantiles(INTERVAL)
        spread = np.quantile(groups.spread[:, number], INTERVAL)
        rows.append(
            {
                "parameter": axis.name,
                **dict(zip(("lower", "median", "upper"), natural, strict=True)),
                **dict(zip(("spread_lower", "spread_median", "spread_upper"), spread, strict=True)),
                "share_at_bounds": float(people[0] + people[-1]),
            }
        )
    return pd.DataFrame(rows)
