"""The tables of pooling, as they are in the run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.groups.pooling.draws import population_median
from holmes_fit.groups.pooling.priors import prior_predictive
from holmes_fit.groups.posteriors import mixing
from holmes_fit.runs.knowledge import summary

if TYPE_CHECKING:
    from holmes_fit.groups.pooling.paired_pool import PooledConditions
    from holmes_fit.groups.pooling.pool import Pooled


def people_table(pooled: Pooled) -> pd.DataFrame:
    """Return a row for each person and parameter: estimates under the group, which shrink towards it.

    Columns are those of ``fits.csv``: natural values, and mean and SD on the scale of search.
    """
    rows = [
        {"subject": subject, "model": pooled.model, "parameter": axis.name, **known.marginal(number).described()}
        for subject, known in zip(pooled.lattices.subjects, pooled.individuals, strict=True)
        for number, axis in enumerate(known.axes)
    ]
    return pd.DataFrame(rows)


def group_table(pooled: Pooled | PooledConditions) -> pd.DataFrame:
    """Return a row for each quantity of the group: means, spreads, effects and contrasts.

    ``scale`` says whether it is on the scale of search or natural. Mean and spread are those of a normal distribution,
    which is cut off at the bounds. The median on the natural scale is that of the people between them, with covariates
    as in the cohort on average. Contrasts are differences of such medians.
    """
    rows = []
    for about, values in pooled.quantities():
        rows.append(
            {"model": pooled.model, **about}
            | summary(values)
            | {"probability_above_0": np.mean(values > 0) if about["quantity"] in ("effect", "contrast") else np.nan}
            | mixing(values.reshape(pooled.sampling.chains, -1))
            | {"divergences": pooled.diagnostics.divergences}
        )
    return pd.DataFrame(rows)


Quantity = tuple[dict[str, str], NDArray[np.float64]]  # what it is, and a value for each draw


def quantity(parameter: str, what: str, name: str, scale: str, values: NDArray[np.float64], **where: str) -> Quantity:
    """Return one quantity of a group; ``where`` says of which condition, where there are several."""
    return {"parameter": parameter, **where, "quantity": what, "name": name, "scale": scale}, values


def quantities_of(pooled: Pooled) -> Iterator[Quantity]:
    """Give all quantities of a group with one set of parameters a person."""
    for number, axis in enumerate(pooled.lattices.axes):
        design = pooled.designs.get(axis.name)
        average = None if design is None else design.matrix.mean(axis=0)
        mean = pooled.draws.mean_at(number, average)
        search = axis.parameter.scale
        yield quantity(axis.name, "mean", "", search, mean)
        spread = pooled.draws.spread[:, number]
        yield quantity(axis.name, "median", "", "natural", population_median(axis, mean, spread))
        yield quantity(axis.name, "spread", "", search, spread)
        if design is None:
            continue
        for column, name in enumerate(design.columns):
            yield quantity(axis.name, "effect", name, search, pooled.draws.effects[number][:, column])
        for contrast in design.contrasts:
            above, below = (
                population_median(axis, pooled.draws.mean_at(number, row), spread)
                for row in (contrast.above, contrast.below)
            )
            yield quantity(axis.name, "contrast", contrast.name, "natural", above - below)


def checks_row(pooled: Pooled | PooledConditions) -> dict[str, object]:
    """Return how far the group of one model can be trusted."""
    return {
        "model": pooled.model,
        "n_subjects": len(pooled.lattices.subjects),
        "formulas": "; ".join(pooled.formulas),
        **asdict(pooled.diagnostics),
        "merging_error": pooled.errors.merging,
        "noise_error": pooled.errors.noise,
        "noise_shift": pooled.errors.shift,
        "warning": "; ".join(pooled.warnings),
    }


def prior_table(pooled: Pooled | PooledConditions) -> pd.DataFrame:
    """Return the prior predictive check: what the prior of the group implies for people."""
    table = prior_predictive(pooled.prior, pooled.merged.axes, rng=np.random.default_rng([pooled.sampling.seed, 2]))
    table.insert(0, "model", pooled.model)
    return table
