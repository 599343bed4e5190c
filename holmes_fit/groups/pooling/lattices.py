"""The likelihood lattices of a cohort under one model, as a run has them, and the coarser ones that NUTS walks on."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, nearest, plain, shown
from holmes_fit.models.parameters import Parameter
from holmes_fit.runs.folder import Run
from holmes_fit.runs.records import Record
from holmes_fit.settings.distributions import parse_prior
from holmes_fit.settings.spaces import FreeParameter

MOST_CELLS = 25_000  # of a lattice that NUTS sums over; more take longer
LARGEST_FLOOR = 0.3  # of the fitting prior's SD: smaller spreads need not be told apart


class CoarseAxis(NamedTuple):
    """An axis with fewer nodes: their positions on the scale of search."""

    positions: NDArray[np.float64]

    @property
    def nodes(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class SetLattices:
    """Without one share of the filters: likelihoods relative to the highest of each person, people x coarse nodes."""

    axes: tuple[CoarseAxis, ...]
    likelihood: NDArray[np.float64]
    highest: NDArray[np.float64]

    @classmethod
    def of(cls, axes: tuple[CoarseAxis, ...], log_likelihoods: Sequence[NDArray[np.floating]]) -> SetLattices:
        """Make one from everyone's log-likelihoods."""
        values = np.stack(log_likelihoods).astype(np.float64)
        highest = values.reshape(len(values), -1).max(axis=1)
        return cls(axes, np.exp(values - highest.reshape(-1, *[1] * (values.ndim - 1))), highest)

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return self.likelihood[person]


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
    log_evidence
        Of each person under the fitting prior.
    log_evidence_error, log_evidence_bias
        SD and mean of its Monte Carlo error.
    sets
        The same likelihoods without each of several disjoint shares of the filters; none if they are exact.
    """

    model: str
    subjects: tuple[str, ...]
    axes: tuple[FreeParameter, ...]
    log_likelihood: NDArray[np.floating]
    log_evidence: NDArray[np.float64]
    log_evidence_error: NDArray[np.float64]
    log_evidence_bias: NDArray[np.float64]
    sets: tuple[SetLattices, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.subjects), *(axis.nodes for axis in self.axes))
        if self.log_likelihood.shape != shape:
            raise ValueError(f"{self.model}: the lattices have shape {self.log_likelihood.shape}, not {shape}")

    @property
    def names(self) -> tuple[str, ...]:
        """The free parameters."""
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def digest(self) -> str:
        """What tells these lattices from others: a SHA-256 of all that they hold."""
        axes = [(str(axis.prior), *axis.positions.tolist(), axis.name) for axis in self.axes]
        about = json.dumps([self.model, self.subjects, axes])
        return hashlib.sha256(about.encode() + np.ascontiguousarray(self.log_likelihood).tobytes()).hexdigest()

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
    people = [key[1] for key in run.manifest.keys if key[0] == model and len(key) == 2]
    for name in leave_out:
        if people and name not in people:
            problems.add("leave out", name, "someone who was fitted", nearest(name, people))
    problems.raise_if_any()
    records = {name: run.load_record((model, name)) for name in people if name not in leave_out}
    kept = {name: record for name, record in records.items() if record is not None and not record.error}
    missing = [name for name, record in records.items() if record is None]
    if missing:
        seen = Quoted(f"no fit of {len(missing)} of {len(records)} people: {shown(missing)}")
        problems.add(f"model {model}", seen, "a complete run", _how_to_go_on(run))
    for name, record in records.items():
        if record is not None and record.error:
            advice = "Leave this person out."
            problems.add(f"model {model}, {plain(name)}", Quoted(record.error), "a fit that succeeded", advice)
    problems.raise_if_any()
    return _lattices(model, kept)


def _how_to_go_on(run: Run) -> str:
    command = str(run.manifest.about.get("command", ""))
    if command.startswith("holmes-fit "):
        return f"The same command goes on where it was: {plain(command, limit=400)}"
    return "The same call of holmes_fit.fit goes on where it was."


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
        log_evidence_bias=_numbers(records, "log_evidence_bias"),
        sets=_sets(list(records.values()), axes),
    )


def _sets(records: Sequence[Record], axes: tuple[FreeParameter, ...]) -> tuple[SetLattices, ...]:
    """Return the likelihoods without each share of the filters; none if anyone's likelihood is exact."""
    counts = [len(record.arrays["of_sets"]) for record in records]
    coarse = tuple(CoarseAxis(axis.positions[records[0].arrays[f"coarse_{axis.name}"]]) for axis in axes)
    return tuple(
        SetLattices.of(coarse, [record.arrays["of_sets"][number] for record in records])
        for number in range(min(counts))
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

    Merging ``k`` cells of width ``h`` takes the mean likelihood and the summed weight of each ``k``: either blurs by a
    kernel of variance (k² - 1) h² / 12. Weights of a normal density whose variance is smaller by that of both,
    ``lost_variance``, undo it up to terms of the fourth order. They sum to 1 over the lattice as the weights of the
    density itself do, also where most of it lies beyond a bound.

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
    def cell_of(self) -> NDArray[np.intp]:
        """The merged cell of each node; the last may have fewer of them."""
        return np.arange(self.axis.nodes) // self.together

    @property
    def lost_variance(self) -> float:
        return (self.together**2 - 1) * self.axis.spacing**2 / 6

    @property
    def least_spread(self) -> float:
        """Half the distance of the merged cells. Sums over them can hardly tell smaller spreads apart."""
        return 0.5 * self.together * self.axis.spacing


@dataclass(frozen=True)
class MergedLattices:
    """Likelihoods relative to the highest of each person, people x merged cells, with their axes and the highest."""

    axes: tuple[MergedAxis, ...]
    likelihood: NDArray[np.float64]
    highest: NDArray[np.float64]

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return self.likelihood[person]


def merge(lattices: Lattices, most_cells: int = MOST_CELLS) -> MergedLattices:
    """Merge cells until a lattice has few enough for NUTS.

    Cells are merged in powers of two, always along the axis that has the finest, in SDs of its fitting prior. A spread
    of ``LARGEST_FLOOR`` of that SD is never lost: where that would be, a lattice stays as large as it is.
    """
    axes = [MergedAxis(axis, 1) for axis in lattices.axes]
    while math.prod(axis.nodes for axis in axes) > most_cells:
        coarser = [MergedAxis(axis.axis, 2 * axis.together) for axis in axes]
        floors = [axis.least_spread / centre_and_scale(axis.axis)[1] for axis in coarser]
        finest = int(np.argmin(floors))
        if floors[finest] > LARGEST_FLOOR:
            break
        axes[finest] = coarser[finest]
    merged = [_merged(lattices.likelihood_of(person), axes) for person in range(len(lattices.subjects))]
    return MergedLattices(tuple(axes), np.stack(merged), lattices.highest)


def _merged(likelihood: NDArray[np.float64], axes: Sequence[MergedAxis]) -> NDArray[np.float64]:
    for number, axis in enumerate(axes):
        starts = np.arange(0, axis.axis.nodes, axis.together)
        sums = np.add.reduceat(likelihood, starts, axis=number)
        likelihood = np.moveaxis(np.moveaxis(sums, number, -1) / np.bincount(axis.cell_of), -1, number)
    return likelihood


def centre_and_scale(axis: FreeParameter) -> tuple[float, float]:
    """Return mean and SD of the fitting prior on the scale of search."""
    mass = np.exp(axis.log_weights)
    centre = float(mass @ axis.positions)
    return centre, float(np.sqrt(mass @ (axis.positions - centre) ** 2))
