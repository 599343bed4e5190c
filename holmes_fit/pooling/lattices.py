"""The likelihood lattices of a cohort under one model, as a run has them, and the coarser ones that NUTS walks on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.errors import InputError, Problem, Problems, Quoted, nearest, plain, shown
from holmes_fit.parameters import Parameter
from holmes_fit.populations import parse_prior
from holmes_fit.runs import Run
from holmes_fit.runs.records import Record
from holmes_fit.spaces import FreeParameter

LARGEST_FLOOR = 0.3  # of the fitting prior's SD: smaller spreads need not be told apart


@dataclass(frozen=True)
class Lattices:
    """What everyone's choices say about the parameters of one model.

    Parameters
    ----------
    model
        Its name.
    subjects
        The people.
    axes
        The free parameters, the same for everyone.
    log_likelihood
        People x nodes, an axis of nodes for each of ``axes``.
    log_evidence, log_evidence_error
        Of each person under the fitting prior, with the SD of its Monte Carlo error.
    """

    model: str
    subjects: tuple[str, ...]
    axes: tuple[FreeParameter, ...]
    log_likelihood: NDArray[np.floating]
    log_evidence: NDArray[np.float64]
    log_evidence_error: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = (len(self.subjects), *(axis.nodes for axis in self.axes))
        if self.log_likelihood.shape != shape:
            raise ValueError(f"{self.model}: the lattices have shape {self.log_likelihood.shape}, not {shape}")

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def highest(self) -> NDArray[np.float64]:
        """The highest log-likelihood of each person."""
        return self.log_likelihood.reshape(len(self.subjects), -1).max(axis=1).astype(np.float64)

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return np.exp(self.log_likelihood[person].astype(np.float64) - self.highest[person])


# ------------------------------------------------------------------------------------------------- from a run folder


def fitted_models(run: Run) -> tuple[str, ...]:
    """Return the models of a run, in the order in which they were asked for."""
    return tuple(str(name) for name in _listed(run.manifest.identity.get("models")))


def load_lattices(run: Run, model: str, leave_out: Collection[str] = ()) -> Lattices:
    """Read the lattices of everyone under one model.

    Parameters
    ----------
    run
        The run folder of a fit.
    model
        One of its models.
    leave_out
        People who are to be left out.

    Raises
    ------
    InputError
        If the run has no such model or no such people, is not complete, or someone could not be fitted.
    """
    problems = Problems()
    known = fitted_models(run)
    if model not in known:
        problems.add("model", model, f"a model of the run: {', '.join(known) or 'it has none'}", nearest(model, known))
    people = [key[1] for key in run.manifest.keys if key[0] == model]
    for name in leave_out:
        if people and name not in people:
            problems.add("leave out", name, "someone who was fitted", nearest(name, people))
    problems.raise_if_any()
    records = {name: run.load_record((model, name)) for name in people if name not in leave_out}
    kept = {name: record for name, record in records.items() if record is not None and not record.error}
    for name, record in records.items():
        if record is None:
            advice = "Give the command of the fit again, and it goes on where it was."
            problems.add(f"model {model}, {plain(name)}", Quoted("no fit"), "a complete run", advice)
        elif record.error:
            advice = "Leave this person out."
            problems.add(f"model {model}, {plain(name)}", Quoted(record.error), "a fit that succeeded", advice)
    problems.raise_if_any()
    return _lattices(model, kept)


def _lattices(model: str, records: Mapping[str, Record]) -> Lattices:
    if not records:
        raise InputError([Problem(f"model {model}", "nobody", "at least one person who was fitted")])
    first = next(iter(records.values()))
    axes = _axes(first, model)
    for name, record in records.items():
        for axis in axes:
            if not np.allclose(_positions(record, axis.name), axis.positions, rtol=0, atol=1e-9 * axis.spacing):
                raise ValueError(f"{model}: {name} has another lattice of {axis.name} than its bounds say")
    return Lattices(
        model=model,
        subjects=tuple(records),
        axes=axes,
        log_likelihood=np.stack([record.arrays["log_likelihood"] for record in records.values()]),
        log_evidence=_numbers(records, "log_evidence"),
        log_evidence_error=_numbers(records, "log_evidence_error"),
    )


def _axes(record: Record, model: str) -> tuple[FreeParameter, ...]:
    """Return the axes of the lattice from what the record says about its parameters."""
    problems = Problems()
    found = []
    entries: Any = record.facts["parameters"]
    for entry in entries:
        if entry["standing"] != "free":
            continue
        low, high = entry["low"], entry["high"]
        parameter = Parameter(entry["name"], low, high, entry["scale"], low, "")
        prior = parse_prior(entry["prior"], parameter, f"model {model}, {entry['name']}", problems)
        if prior is not None:
            found.append(FreeParameter(parameter, prior, len(_positions(record, entry["name"]))))
    problems.raise_if_any()
    return tuple(found)


def _positions(record: Record, name: str) -> NDArray[np.float64]:
    return np.asarray(record.arrays[f"positions_{name}"], dtype=np.float64)


def _numbers(records: Mapping[str, Record], name: str) -> NDArray[np.float64]:
    values: list[Any] = [record.facts[name] for record in records.values()]
    return np.array(values, dtype=np.float64)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def check_same_people(lattices: Collection[Lattices]) -> None:
    """Refuse models that were fitted on different people."""
    problems = Problems()
    first, *others = lattices
    for other in others:
        differ = sorted(set(first.subjects) ^ set(other.subjects))
        if differ:
            seen = Quoted(f"{len(differ)} people in only one of {first.model} and {other.model}: {shown(differ)}")
            problems.add("people", seen, "the same people in all models", "Leave them out, or fit them.")
        elif first.subjects != other.subjects:
            raise ValueError("the people come in different orders")
    problems.raise_if_any()


# ------------------------------------------------------------------------------------------------- coarser lattices


@dataclass(frozen=True)
class MergedAxis:
    """An axis whose neighbouring cells are merged.

    Merging ``k`` cells of width ``h`` blurs the likelihood by a kernel of variance (k² - 1) h² / 12. A normal density
    of that much smaller a variance undoes it, up to terms of the fourth order: ``lost_variance``.

    Parameters
    ----------
    axis
        The axis as it was fitted.
    together
        How many of its cells are one now.
    """

    axis: FreeParameter
    together: int

    @property
    def nodes(self) -> int:
        return -(-self.axis.nodes // self.together)

    @property
    def positions(self) -> NDArray[np.float64]:
        """The centres of the merged cells; the last may reach beyond the lattice, where no likelihood is."""
        first = self.axis.positions[0] + 0.5 * (self.together - 1) * self.axis.spacing
        return first + np.arange(self.nodes) * self.together * self.axis.spacing

    @property
    def lost_variance(self) -> float:
        return (self.together**2 - 1) * self.axis.spacing**2 / 12

    @property
    def least_spread(self) -> float:
        """Half the distance of the nodes. Sums over them can hardly tell smaller spreads apart."""
        return 0.5 * self.together * self.axis.spacing


@dataclass(frozen=True)
class MergedLattices:
    """Likelihoods relative to the highest of each person, people x merged nodes, with their axes and the highest."""

    axes: tuple[MergedAxis, ...]
    likelihood: NDArray[np.float64]
    highest: NDArray[np.float64]

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return self.likelihood[person]


def merge(lattices: Lattices) -> MergedLattices:
    """Merge cells as far as no spread above ``LARGEST_FLOOR`` of the fitting prior's SD is lost.

    Cells are merged in powers of two; an axis that is coarse already stays as it is.
    """
    axes = tuple(MergedAxis(axis, _how_many(axis)) for axis in lattices.axes)
    likelihood = np.stack([_merged(lattices.likelihood_of(i), axes) for i in range(len(lattices.subjects))])
    return MergedLattices(axes, likelihood, lattices.highest)


def _how_many(axis: FreeParameter) -> int:
    _, scale = centre_and_scale(axis)
    together = 1
    while MergedAxis(axis, 2 * together).least_spread <= LARGEST_FLOOR * scale:
        together *= 2
    return together


def _merged(likelihood: NDArray[np.float64], axes: tuple[MergedAxis, ...]) -> NDArray[np.float64]:
    for number, axis in enumerate(axes):
        starts = np.arange(0, axis.axis.nodes, axis.together)
        likelihood = np.add.reduceat(likelihood, starts, axis=number)
    return likelihood


def centre_and_scale(axis: FreeParameter) -> tuple[float, float]:
    """Return mean and SD of the fitting prior on the scale of search."""
    mass = np.exp(axis.log_weights)
    centre = float(mass @ axis.positions)
    return centre, float(np.sqrt(mass @ (axis.positions - centre) ** 2))
