"""Leave-one-subject-out: how well a group predicts the choices of someone who was not in it."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holmes_fit.groups.posteriors import Posterior, leave_out_one

LARGEST_K = 0.7  # above, the estimate for a person cannot be trusted


@dataclass(frozen=True)
class LeftOut:
    """The log predictive density of each person's choices when they are left out of their group."""

    density: NDArray[np.float64]  # by person, in nats
    k: NDArray[np.float64]  # Pareto's k of each person, which says whether importance weights can stand for another fit

    @property
    def total(self) -> float:
        return float(self.density.sum())

    @property
    def error(self) -> float:
        """The standard error of the total, people being a sample."""
        return error_of_sum(self.density)

    @property
    def n_high(self) -> int:
        return int(np.sum(self.k > LARGEST_K))


def leave_one_out(pooled: Posterior) -> LeftOut:
    """Return what a pooled group predicts of each person, by Pareto-smoothed importance sampling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a large k is reported with the results
        return LeftOut(*leave_out_one(pooled, "choices"))


def error_of_sum(values: NDArray[np.float64]) -> float:
    """Return the standard error of a sum over people."""
    return float(np.sqrt(len(values) * np.var(values, ddof=1))) if len(values) > 1 else float("nan")
