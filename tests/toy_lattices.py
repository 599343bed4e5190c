"""Lattices whose group posteriors are known: everyone's likelihood is a normal density about what was measured."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.models.parameters import Parameter
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.spaces import FreeParameter


def log_axis(name: str = "alpha", nodes: int = 48, half_width: float = 4.0, sd: float = 1.0) -> FreeParameter:
    """Return an axis that is symmetric about 0 on the log scale."""
    parameter = Parameter(name, float(np.exp(-half_width)), float(np.exp(half_width)), "log", 1.0, "")
    return FreeParameter(parameter, Distribution("lognormal", 1.0, sd), nodes)


def gaussian_lattices(
    measured: NDArray[np.float64],
    covariance: NDArray[np.float64],
    axes: Sequence[FreeParameter],
    model: str = "holmes",
    level: NDArray[np.float64] | float = 0.0,
    error: float = 0.0,
) -> Lattices:
    """Return lattices of people x parameters that were ``measured`` with normal errors, in log densities + level."""
    people = len(measured)
    grid = np.stack(np.meshgrid(*[axis.positions for axis in axes], indexing="ij"), axis=-1)
    away = measured.reshape(people, *[1] * len(axes), len(axes)) - grid
    precision = np.linalg.inv(covariance)
    constant = -0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    log_likelihood = constant - 0.5 * np.einsum("...i,ij,...j->...", away, precision, away)
    levels = np.broadcast_to(np.asarray(level, dtype=np.float64), (people,))
    return Lattices(
        model=model,
        subjects=tuple(f"s{number:02d}" for number in range(people)),
        axes=tuple(axes),
        log_likelihood=log_likelihood + levels.reshape(people, *[1] * len(axes)),
        log_evidence=levels.copy(),
        log_evidence_error=np.full(people, error),
        log_evidence_bias=np.zeros(people),
    )


def point_lattices(log_likelihood: NDArray[np.float64], model: str, error: float = 0.0) -> Lattices:
    """Return the lattices of a model without free parameters: one log-likelihood a person."""
    subjects = tuple(f"s{number:02d}" for number in range(len(log_likelihood)))
    errors = np.full(len(log_likelihood), error)
    return Lattices(model, subjects, (), log_likelihood, log_likelihood, errors, np.zeros(len(log_likelihood)))
