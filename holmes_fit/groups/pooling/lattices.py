"""The likelihood lattices of a cohort under one model, as a run has them, and the coarser ones that NUTS walks on."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, plain, shown
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.folder import Run
from holmes_fit.runs.knowledge import Marginal
from holmes_fit.runs.person_records import EVIDENCE
from holmes_fit.runs.records import Record
from holmes_fit.settings.spaces import FreeParameter

MOST_CELLS = 25_000  # of a lattice that NUTS sums over; more take longer
LARGEST_FLOOR = 0.3  # of the fitting prior's SD: smaller spreads need not be told apart


class CoarseAxis(NamedTuple):
    """An axis with fewer nodes: their positions on the scale of search."""

    positions: NDArray[np.float64]

    @property
    def nodes(self) -> int:
        return len(self.positions)


Axis = TypeVar("Axis", covariant=True)


@dataclass(frozen=True)
class RelativeLattices(Generic[Axis]):
    """Likelihoods relative to the highest of each person, people x nodes, with their axes and the highest."""

    axes: tuple[Axis, ...]
    likelihood: NDArray[np.float64]
    highest: NDArray[np.float64]

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return self.likelihood[person]


def relative(axes: tuple[Axis, ...], log_likelihoods: Sequence[NDArray[np.floating]]) -> RelativeLattices[Axis]:
    """Return everyone's likelihoods relative to the highest."""
    values = np.stack(log_likelihoods).astype(np.float64)
    highest = values.reshape(len(values), -1).max(axis=1)
    return RelativeLattices(axes, np.exp(values - highest.reshape(-1, *[1] * (values.ndim - 1))), highest)


SetLattices = RelativeLattices[CoarseAxis]  # without one share of the filters


@dataclass(frozen=True)
class Lattices:
    """What everyone's choices say about the parameters of one model."""

    model: str  # its name
    subjects: tuple[str, ...]  # the people
    axes: tuple[FreeParameter, ...]  # the free parameters, the same for everyone
    log_likelihood: NDArray[np.floating]  # people x nodes, an axis of nodes for each of ``axes``
    log_evidence: NDArray[np.float64]  # of each person under the fitting prior
    log_evidence_error: NDArray[np.float64]  # SD and mean of its Monte Carlo error
    log_evidence_bias: NDArray[np.float64]
    # The same likelihoods without each of several disjoint shares of the filters; none if they are exact
    sets: tuple[SetLattices, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.subjects), *(axis.nodes for axis in self.axes))
        if self.log_likelihood.shape != shape:
            raise ValueError(f"{self.model}: the lattices have shape {self.log_likelihood.shape}, not {shape}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @cached_property
    def digest(self) -> str:
        """What tells these lattices from others: a SHA-256 of all that they hold."""
        axes = [(str(axis.prior), *axis.positions.tolist(), axis.name) for axis in self.axes]
        about = json.dumps([self.model, self.subjects, axes])
        return hashlib.sha256(about.encode() + np.ascontiguousarray(self.log_likelihood).tobytes()).hexdigest()

    @cached_property
    def highest(self) -> NDArray[np.float64]:
        return self.log_likelihood.reshape(len(self.subjects), -1).max(axis=1).astype(np.float64)

    def likelihood_of(self, person: int) -> NDArray[np.float64]:
        """Return one person's likelihoods, relative to the highest."""
        return np.exp(self.log_likelihood[person].astype(np.float64) - self.highest[person])


def load_lattices(run: Run, model: str, leave_out: Collection[str] = ()) -> Lattices:
    """Return the lattices of everyone under one model, but of those who are left out."""
    fitted = FittedRun(run)
    if fitted.by:
        where, seen = f"run {plain(str(run.root), 200)}", Quoted(f"parameters that differ by {fitted.by}")
        raise InputError([Problem(where, seen, "people with one set of parameters")])
    return _lattices(fitted, model, fitted.fits(model, leave_out))


def load_conditions(run: Run, model: str, leave_out: Collection[str] = ()) -> dict[str, Lattices]:
    """Return everyone's lattices in each condition, whose evidences are as if there were no other condition."""
    fitted = FittedRun(run)
    records = fitted.fits(model, leave_out)
    return {name: _lattices(fitted, model, records, c) for c, name in enumerate(fitted.conditions(model))}


def _lattices(fitted: FittedRun, model: str, records: Mapping[str, Record], condition: int | None = None) -> Lattices:
    everyone, axes = list(records.values()), fitted.space(model).free
    facts: list[Any] = [record.facts for record in everyone]
    likelihood = [record.arrays["log_likelihood"] for record in everyone]
    sets = [record.arrays["of_sets"] for record in everyone]
    if condition is not None:
        facts, likelihood = [own["conditions"][condition] for own in facts], [own[condition] for own in likelihood]
        sets = [own[:, condition] if len(own) else own for own in sets]
    return Lattices(
        model=model,
        subjects=tuple(records),
        axes=axes,
        log_likelihood=np.stack(likelihood),
        sets=_sets(everyone[0], sets, axes),
        **{name: np.array([own[name] for own in facts], dtype=np.float64) for name in EVIDENCE},
    )


def _sets(
    record: Record, sets: Sequence[NDArray[np.generic]], axes: tuple[FreeParameter, ...]
) -> tuple[SetLattices, ...]:
    """Return the likelihoods without each share of the filters; none if anyone's likelihood is exact."""
    coarse = tuple(CoarseAxis(axis.positions[record.arrays[f"coarse_{axis.name}"]]) for axis in axes)
    count = min(len(own) for own in sets)
    return tuple(relative(coarse, [np.asarray(own[number]) for own in sets]) for number in range(count))


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


@dataclass(frozen=True)
class MergedAxis:
    """An axis whose neighbouring cells are merged.

    Merging ``k`` cells of width ``h`` takes the mean likelihood and the summed weight of each ``k``: either blurs by a
    kernel of variance (k² - 1) h² / 12. Weights of a normal density whose variance is smaller by that of both,
    ``lost_variance``, undo it up to terms of the fourth order. They sum to 1 over the lattice as the weights of the
    density itself do, also where most of it lies beyond a bound.
    """

    axis: FreeParameter  # the axis as it was fitted
    together: int  # how many of its cells are one now

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


MergedLattices = RelativeLattices[MergedAxis]


def merge(
    lattices: Lattices, most_cells: int = MOST_CELLS, largest_floors: Mapping[str, float] | None = None
) -> MergedLattices:
    """Merge cells until a lattice has few enough for NUTS.

    Cells are merged in powers of two, always along the axis that has the finest, in SDs of its fitting prior. A spread
    of ``LARGEST_FLOOR`` of that SD, or what is said of a parameter, is never lost: where that would be, a lattice stays
    as large as it is.
    """
    limits = [(largest_floors or {}).get(axis.name, LARGEST_FLOOR) for axis in lattices.axes]
    axes = [MergedAxis(axis, 1) for axis in lattices.axes]
    while math.prod(axis.nodes for axis in axes) > most_cells:
        coarser = [MergedAxis(axis.axis, 2 * axis.together) for axis in axes]
        floors = [axis.least_spread / Marginal.of_prior(axis.axis).moments[1] for axis in coarser]
        finest = int(np.argmin(np.array(floors) / limits))
        if floors[finest] > limits[finest]:
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
