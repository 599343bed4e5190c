"""What there is to say of the mixture of models: its draws, its checks, and whether other priors would change it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import probability, share
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import fixed

PRIOR_WIDTHS = (0.5, 1.0, 2.0)


def mixture_draws(data: CohortData) -> float:
    """Return how many effective draws the mixture has; without a limit where that is not known."""
    return _mixture(data).get("ess_bulk", np.inf)


def _mixture(data: CohortData) -> dict[str, float]:
    """Return what there is to know of the mixture, by name."""
    if not data.has("mixture"):
        return {}
    table = data["mixture"]
    return dict(zip(table["quantity"], pd.to_numeric(table["value"], errors="coerce"), strict=True))


def mixture_note(data: CohortData) -> str:
    """Return whether the mixture can be relied on, and how little chance explains it."""
    values = _mixture(data)
    if not values:
        return ""

    def shown(name: str, places: int) -> str:
        return fixed(values.get(name, np.nan), places)

    return (
        f"Mixture: {shown('divergences', 0)} divergences, R-hat {shown('r_hat', 3)}, effective draws "
        f"{shown('ess_bulk', 0)} (bulk) and {shown('ess_tail', 0)} (tail); Bayesian omnibus risk "
        f"{probability(values.get('omnibus_risk', np.nan), mixture_draws(data))}."
    )


def with_other_priors(data: CohortData) -> str:
    """Say which model would have been the most frequent with narrower and wider priors, by people's own evidences."""
    if not data.has("prior_sensitivity"):
        return ""
    table = data["prior_sensitivity"]
    best = table.loc[table.groupby("prior_width")["frequency"].idxmax()].sort_values("prior_width")
    told = [f"{data.words.label(row['model'])} ({share(row['frequency'])})" for _, row in best.iterrows()]
    if len(told) != len(PRIOR_WIDTHS):
        return ""
    narrow, own, wide = told
    change = "" if best["model"].nunique() == 1 else ": the answer depends on the priors"
    return (
        f"With priors half and twice as wide, the most frequent by people's own evidences is {narrow} and {wide}, "
        f"with those of the fit {own}{change}."
    )
