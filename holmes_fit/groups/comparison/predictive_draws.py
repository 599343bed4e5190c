"""People's parameters from the posterior that is to be checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np
import xarray as xr

from holmes_fit._support.errors import InputError, Problem
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.folder import Run
from holmes_fit.runs.knowledge import PeopleDraws


def draws_digest(run: Run, draws: Mapping[str, PeopleDraws], datasets: int, seed: int) -> str:
    """Return a SHA-256 of all that predictive checks depend on: the run, everyone's draws, settings and version."""
    about = [run.manifest.identity, datasets, seed, version("holmes-fit")]
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for model, own in draws.items():
        found.update(json.dumps([model, own.subjects, own.parameters]).encode())
        found.update(np.ascontiguousarray(own.values).tobytes())
    return found.hexdigest()


def read_draws(run: Run, model: str, leave_out: Collection[str] = ()) -> PeopleDraws:
    """Read draws of people: under their group if the run was pooled, otherwise each under the fitting prior.

    Those who could not be fitted, or were not pooled, are left out anyway.
    """
    path = run.path(f"pool_{model}.nc")
    found = (_from_group(path) if path.exists() else FittedRun(run).draws(model)).without(leave_out)
    if not found.subjects:
        raise InputError([Problem(f"model {model}", "nobody", "at least one person who was fitted")])
    return found


def _from_group(path: Path) -> PeopleDraws:
    with xr.open_dataset(path, group="individuals", engine="h5netcdf") as data:
        return individual_draws(data)


def individual_draws(data: xr.Dataset) -> PeopleDraws:
    """Return the draws of people in the group ``individuals`` of what was pooled."""
    values = data["value"].transpose("subject", "sample", "parameter")
    subjects, parameters = (tuple(map(str, values[name].to_numpy())) for name in ("subject", "parameter"))
    return PeopleDraws(subjects, parameters, values.to_numpy())
