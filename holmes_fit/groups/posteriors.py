"""The one door to ArviZ: posteriors as it keeps them, how well chains have mixed, and importance weights.

ArviZ 0.23 keeps a posterior as its InferenceData, and version 1 as the DataTree of xarray; PyMC 5 goes with the one,
PyMC 6 with the other. Both are indexed by group, and either reads the files of the other.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from holmes_fit._support.array_files import check_hdf5

HAS_TREES = int(version("arviz").partition(".")[0]) >= 1
ENGINE = "h5netcdf"
DIGEST = "sha256"  # of all values, among the attributes of the draws
TAILS = (0.05, 0.95)

Posterior: TypeAlias = Any  # an InferenceData or a DataTree


def posterior_of(groups: Mapping[str, xr.Dataset]) -> Posterior:
    """Return groups of draws, by name, as this ArviZ keeps them."""
    return xr.DataTree.from_dict(groups) if HAS_TREES else az.InferenceData(**dict[str, Any](groups))


def draws_of(
    variables: Mapping[str, NDArray[Any]],
    coords: Mapping[str, Sequence[Any]] | None = None,
    dims: Mapping[str, list[str]] | None = None,
) -> xr.Dataset:
    """Return variables, chains x draws x their own dimensions, as a group."""
    named = {name: list(labels) for name, labels in (coords or {}).items()}
    return az.dict_to_dataset(dict(variables), coords=named, dims=dims)


def group_of(posterior: Posterior, name: str) -> xr.Dataset:
    """Return a copy of a group."""
    return posterior[name].to_dataset() if HAS_TREES else posterior[name].copy()


def with_groups(posterior: Posterior, groups: Mapping[str, xr.Dataset]) -> Posterior:
    """Return a copy that has further groups."""
    return posterior_of({name: group_of(posterior, name) for name in _groups(posterior)} | dict(groups))


def write_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior as NetCDF."""
    posterior["posterior"].attrs[DIGEST] = _digest(posterior)
    posterior.to_netcdf(str(path), engine=ENGINE)


def read_posterior(path: Path) -> Posterior | None:
    """Return a posterior that was written to a file, or nothing if it is not there or is not as it was written."""
    try:
        check_hdf5(path)
        opened = az.from_netcdf(str(path), engine=ENGINE)
        found = posterior_of({name: group_of(opened, name).load() for name in _groups(opened)})
        return found if found["posterior"].attrs.pop(DIGEST) == _digest(found) else None
    except Exception:  # a damaged file of HDF5 can raise nearly anything
        return None


def _groups(posterior: Posterior) -> Sequence[str]:
    return sorted(posterior.children if HAS_TREES else posterior.groups())


def _digest(posterior: Posterior) -> str:
    """Return the SHA-256 of the names, dimensions and values of all that a posterior holds."""
    digest = hashlib.sha256()
    for group in _groups(posterior):
        own = group_of(posterior, group)
        for name in sorted(map(str, own.variables)):
            values = own[name].values
            digest.update(json.dumps([group, name, own[name].dims, values.shape]).encode())
            is_text = values.dtype.kind in "OUST"
            digest.update(json.dumps(values.tolist()).encode() if is_text else np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def has_shapes(posterior: Posterior, group: str, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a group has these variables, in these shapes and finite."""
    own = group_of(posterior, group) if group in _groups(posterior) else xr.Dataset()
    return all(
        name in own and own[name].shape == shape and bool(np.isfinite(own[name].values).all())
        for name, shape in shapes.items()
    )


def mixing(draws: ArrayLike | xr.Dataset) -> dict[str, float]:
    """Return R-hat and the effective numbers of draws (chains x draws), the worst of all variables of a group."""
    values = draws if isinstance(draws, xr.Dataset) else xr.Dataset({"x": (("chain", "draw"), np.asarray(draws))})
    r_hat, bulk, tail = az.rhat(values), az.ess(values, method="bulk"), az.ess(values, method="tail", prob=TAILS)
    return {
        "r_hat": float(r_hat.to_array().max()),
        "ess_bulk": float(bulk.to_array().min()),
        "ess_tail": float(tail.to_array().min()),
    }


def smoothed_weights(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return importance weights whose largest follow a generalised Pareto distribution; they sum to 1."""
    if HAS_TREES:
        from arviz_stats.base import array_stats

        smoothed, _ = array_stats.psislw(-log_weights, axis=-1)  # it is given minus the logarithm
    else:
        smoothed, _ = az.psislw(log_weights)
    weights = np.exp(np.asarray(smoothed, dtype=np.float64))
    return weights / weights.sum()


def leave_out_one(posterior: Posterior, variable: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log predictive density of each unit of ``log_likelihood`` when it is left out, and Pareto's k."""
    found = az.loo(posterior, pointwise=True, var_name=variable)
    density = found.elpd_i if HAS_TREES else found.loo_i
    return np.asarray(density, dtype=np.float64), np.asarray(found.pareto_k, dtype=np.float64)
