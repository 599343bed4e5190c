"""People's parameters from the posterior that is to be checked, and the models that they belong to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, plain
from holmes_fit.models.registry import Observer, find_model
from holmes_fit.runs.folder import Run
from holmes_fit.runs.records import Record


@dataclass(frozen=True)
class PeopleDraws:
    """Draws of everyone's parameters under one model.

    Parameters
    ----------
    subjects
        The people.
    parameters
        The free parameters.
    values
        People x draws x parameters, natural values. Draws of one number belong together: they are of people under one
        draw of their group, if they have one.
    """

    subjects: tuple[str, ...]
    parameters: tuple[str, ...]
    values: NDArray[np.float64]

    def some(self, person: int, n: int) -> list[dict[str, float]]:
        """Return ``n`` draws of one person, evenly spaced, the same numbers for everyone; some twice if too few."""
        own = self.values[person]
        chosen = own[np.linspace(0, len(own) - 1, n).round().astype(np.intp)]
        return [dict(zip(self.parameters, draw, strict=True)) for draw in chosen.tolist()]


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

    Parameters
    ----------
    run
        The run folder of a fit.
    model
        One of its models.
    leave_out
        People who are to be left out. Those who could not be fitted, or were not pooled, are left out anyway.

    Raises
    ------
    InputError
        If nobody is left.
    """
    path = run.path(f"pool_{model}.nc")
    found = _from_group(path) if path.exists() else _from_records(run, model)
    kept = [number for number, subject in enumerate(found.subjects) if subject not in leave_out]
    if not kept:
        raise InputError([Problem(f"model {model}", "nobody", "at least one person who was fitted")])
    return PeopleDraws(tuple(found.subjects[number] for number in kept), found.parameters, found.values[kept])


def _from_group(path: Path) -> PeopleDraws:
    with xr.open_dataset(path, group="individuals", engine="h5netcdf") as data:
        values = data["value"].transpose("subject", "sample", "parameter").to_numpy()
        subjects, parameters = (tuple(map(str, data[name].to_numpy())) for name in ("subject", "parameter"))
    return PeopleDraws(subjects, parameters, values)


def _from_records(run: Run, model: str) -> PeopleDraws:
    keys = [key for key in run.manifest.keys if key[0] == model]
    records = [record for key in keys if (record := run.load_record(key)) is not None and not record.error]
    if not records:
        return PeopleDraws((), (), np.empty((0, 0, 0)))
    names = tuple(entry["name"] for entry in _entries(records[0]) if entry["standing"] == "free")
    subjects = tuple(record.key[1] for record in records)
    return PeopleDraws(subjects, names, np.stack([record.arrays["draws"] for record in records]))


@dataclass(frozen=True)
class FittedModel:
    """What simulating under a model takes, beside people's free parameters.

    Parameters
    ----------
    name
        The model.
    fixed
        Values of parameters that were not fitted.
    tied
        By name, the free parameter whose value another one shares.
    observer
        How the filters are run.
    averaged
        The number of filters that are averaged: 1, except for averaged observers.
    """

    name: str
    fixed: Mapping[str, float]
    tied: Mapping[str, str]
    observer: Observer
    averaged: int = 1

    def complete(self, free: Mapping[str, float]) -> dict[str, float]:
        """Return the values of all parameters."""
        known = {**self.fixed, **free}
        return known | {name: known[source] for name, source in self.tied.items()}


def read_model(run: Run, name: str, subject: str) -> FittedModel:
    """Return how a model was fitted, as the record of one person has it.

    Raises
    ------
    InputError
        If there is no such record.
    """
    record = run.load_record((name, subject))
    if record is None or record.error:
        raise InputError([Problem(f"model {name}, {plain(subject)}", "no fit", "someone who was fitted")])
    identity: Any = run.manifest.identity
    facts: Any = record.facts
    is_averaged = identity["preset"]["likelihood"]["kind"] == "expected" and find_model(name).uses_particles
    tie = "tied to "
    return FittedModel(
        name=name,
        fixed={entry["name"]: entry["ml"] for entry in _entries(record) if entry["standing"] == "fixed"},
        tied={
            entry["name"]: entry["standing"].removeprefix(tie)
            for entry in _entries(record)
            if entry["standing"].startswith(tie)
        },
        observer=Observer(**identity["observer"]),
        averaged=int(facts["replicates"]) if is_averaged else 1,
    )


def _entries(record: Record) -> Any:
    return record.facts["parameters"]
