"""How far the answer depends on the priors of the fit: evidences under narrower and wider ones.

An evidence is an average of the likelihood over a prior, so that a prior that is wider than it need be costs a model
something, and one with more parameters costs more. The lattice holds the likelihood, whatever the prior was: under
another prior, a person's evidence is another weighted sum over the same nodes. Frequencies are those of random-effects
model selection from the evidences of single people; a group model, which learns from everyone how wide people are
spread, is what the mixture has.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit._support.numbers import share
from holmes_fit.groups.comparison.omnibus import random_effects
from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.runs.schema import frame

WIDTHS = (0.5, 1.0, 2.0)


def evidence_under(lattices: Lattices, width: float) -> NDArray[np.float64]:
    """Return everyone's log evidence with all priors so many times as wide, about the same centre.

    Priors stay cut off at the bounds of the lattice, so that a uniform one cannot become wider.
    """
    weights = np.zeros(())
    for axis in lattices.axes:
        own = replace(axis, prior=axis.prior.wider(width)).log_weights
        weights = weights[..., None] + own
    found = [logsumexp(own.astype(np.float64) + weights) for own in lattices.log_likelihood]
    return np.array(found, dtype=np.float64)


def prior_sensitivity(lattices: Sequence[Lattices]) -> pd.DataFrame:
    """Return ``prior_sensitivity.csv`` of the same people: a row for each width of the priors and model."""
    rows: list[tuple[object, ...]] = []
    for width in WIDTHS:
        evidence = np.column_stack([evidence_under(each, width) for each in lattices])
        found = random_effects(evidence, np.random.default_rng([22, len(evidence)]))
        lower, upper = np.quantile(found.frequency, (0.025, 0.975), axis=0)
        total = evidence.sum(axis=0)
        for number, each in enumerate(lattices):
            error = float(np.sqrt(np.sum(each.log_evidence_error**2)))
            about = (each.model, width, total[number], error, total[number] - total.max())
            frequency = found.frequency[:, number].mean()
            rows.append((*about, frequency, lower[number], upper[number], found.protected[number]))
    return frame("prior_sensitivity.csv", rows)


def sensitivity_in_words(table: pd.DataFrame) -> str:
    """Return whether priors of another width would have given another answer."""
    best = table.loc[table.groupby("prior_width")["frequency"].idxmax()].set_index("prior_width")
    models, shares = (dict(best[name].items()) for name in ("model", "frequency"))
    narrow, own, wide = WIDTHS
    told = {width: share(shares[width]) for width in WIDTHS}
    beginning = "With priors half and twice as wide, "
    if len(set(models.values())) == 1:
        return (
            f"{beginning}{models[own]} is still the most frequent by people's own evidences: {told[narrow]} and "
            f"{told[wide]}, against {told[own]} with the priors of the fit."
        )
    return (
        f"{beginning}the most frequent by people's own evidences are {models[narrow]} ({told[narrow]}) and "
        f"{models[wide]} ({told[wide]}), against {models[own]} ({told[own]}) with the priors of the fit: the answer "
        "depends on them."
    )
