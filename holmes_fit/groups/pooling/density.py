"""Group models as NUTS walks on them: numbers for the compiled density, and points of it as named variables."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from holmes_fit.groups.pooling.compiled import Grid, People, Scaled
from holmes_fit.groups.pooling.draws import Designs, GroupDraws
from holmes_fit.groups.pooling.lattices import Lattices, MergedLattices, merge
from holmes_fit.groups.pooling.native import Memory, for_nutpie, value_and_slopes
from holmes_fit.groups.pooling.priors import GroupPrior, scaled
from holmes_fit.trials.summaries import EVERYONE

if TYPE_CHECKING:
    from nutpie.compile_pymc import CompiledPyMCModel

    from holmes_fit.groups.pooling.covariates import Design


@dataclass(frozen=True)
class GroupTerm:
    """The part of a group model that belongs to one latent-cause model."""

    lattices: Lattices  # what it is made of
    merged: MergedLattices
    prior: Scaled
    designs: Designs
    columns: Mapping[int, Sequence[str]]  # by the number of the parameter, what the columns of its design are called
    label: str = ""  # stands before the names of its variables where there are several such parts

    @classmethod
    def of(
        cls, lattices: Lattices, prior: GroupPrior, designs: Mapping[str, Design] | None = None, label: str = ""
    ) -> GroupTerm:
        """Return that of some people, with designs by parameter."""
        merged = merge(lattices)
        by_number = {lattices.names.index(name): design for name, design in (designs or {}).items()}
        matrices = {number: design.matrix for number, design in by_number.items()}
        columns = {number: design.columns for number, design in by_number.items()}
        return cls(lattices, merged, scaled(prior, merged.axes), matrices, columns, label)

    def named(self, name: str) -> str:
        return f"{self.label}_{name}" if self.label else name

    @property
    def personal(self) -> list[int]:
        """The numbers of the parameters whose mean depends on the person."""
        return sorted(self.designs)

    @property
    def order(self) -> list[int]:
        """The numbers of all parameters, those that depend on the person first."""
        return [*self.personal, *(number for number in range(len(self.merged.axes)) if number not in self.designs)]

    @property
    def nodes(self) -> list[int]:
        return [self.merged.axes[number].nodes for number in self.order]

    @property
    def n_left(self) -> int:
        """How many of these are weighted jointly on the left of a lattice, the others on the right."""
        return len(self.personal) or len(self.merged.axes) // 2

    @property
    def coords(self) -> dict[str, Sequence[str]]:
        effects = {self._effect_dimension(number): self.columns[number] for number in self.personal}
        return {self.named("parameter"): self.lattices.names, **effects}

    @property
    def dims(self) -> dict[str, list[str]]:
        if not self.merged.axes:
            return {}
        common = {self.named(name): [self.named("parameter")] for name in ("mean", "log_excess", "spread")}
        return common | {self.effect_name(number): [self._effect_dimension(number)] for number in self.personal}

    def effect_name(self, number: int) -> str:
        return self.named(f"effect_{self.lattices.names[number]}")

    def _effect_dimension(self, number: int) -> str:
        return self.named(f"effect_of_{self.lattices.names[number]}")

    def likelihood(self) -> NDArray[np.float32]:
        """Return likelihoods with the axes in order, flat."""
        axes = (0, *(number + 1 for number in self.order))
        return np.transpose(self.merged.likelihood, axes).astype(np.float32).ravel()

    def draws(self, posterior: Any) -> GroupDraws:
        """Return its variables from a posterior that was sampled, chain after chain."""

        def flat(name: str) -> NDArray[np.float64]:
            values = posterior[name].values
            return values.reshape(-1, values.shape[-1])

        if not self.merged.axes:
            empty = np.empty((posterior.sizes["chain"] * posterior.sizes["draw"], 0))
            return GroupDraws(empty, empty)
        effects = {number: flat(self.effect_name(number)) for number in self.personal}
        return GroupDraws(flat(self.named("mean")), flat(self.named("spread")), effects)


@dataclass(frozen=True)
class Density:
    """The log-density of a group, or of a mixture of several models, over unconstrained numbers."""

    terms: Sequence[GroupTerm]  # a part for each model

    def __call__(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the log-density, up to a constant, and its slopes."""
        return value_and_slopes(self._memory, point)

    def for_nutpie(self, begin: Callable[[int], NDArray[np.float64]]) -> tuple[CompiledPyMCModel, Memory]:
        """Return a model of nutpie's whose draws are points of the density, and what counts its steps."""
        memory = self._new_memory()
        return for_nutpie(memory, begin, len(self.middle)), memory

    def _new_memory(self) -> Memory:
        return Memory(self._grid, self._prior, self._people)

    @cached_property
    def _memory(self) -> Memory:
        return self._new_memory()

    @cached_property
    def digest(self) -> str:
        """What tells this group model from others: a SHA-256 of all that it holds."""
        found = hashlib.sha256(json.dumps([self.coords, [term.lattices.digest for term in self.terms]]).encode())
        for part in (*self._grid, *self._prior, *self._people):
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    @cached_property
    def middle(self) -> NDArray[np.float64]:
        """The middle of the prior, where chains begin, give or take."""
        prior = self._prior
        below, above = prior.mean - prior.lowest_mean, prior.highest_mean - prior.mean
        odds, n_effects = np.log(below) - np.log(above), len(self._people.axis_of_effect)
        return np.concatenate([np.zeros(len(self.terms) - 1), odds, prior.log_excess, np.zeros(n_effects)])

    @property
    def coords(self) -> dict[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        if len(self.terms) > 1:
            found = {"group": (EVERYONE,), "model": [term.lattices.model for term in self.terms]}
        return found | {name: labels for term in self.terms for name, labels in term.coords.items()}

    @property
    def dims(self) -> dict[str, list[str]]:
        found = {"frequency": ["group", "model"]} if len(self.terms) > 1 else {}
        return found | {name: dims for term in self.terms for name, dims in term.dims.items()}

    def variables(self, points: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the variables of the model by name, from points (... x numbers)."""
        prior, n_axes, n_free = self._prior, len(self._prior.mean), len(self.terms) - 1
        free, odds, log_excess, effects = np.split(points, n_free + np.array([0, n_axes, 2 * n_axes]), axis=-1)
        mean = prior.lowest_mean + (prior.highest_mean - prior.lowest_mean) * expit(odds)
        spread = np.sqrt(prior.least_spread**2 + np.exp(2 * log_excess))
        found = {}
        if n_free:
            everyone = np.append(free, -free.sum(axis=-1, keepdims=True), axis=-1)[..., None, :]
            found["frequency"] = softmax(everyone, axis=-1)
        first_axis, first_effect = 0, 0
        for term in self.terms:
            where = first_axis + np.argsort(term.order)
            first_axis += len(where)
            for name, values in (("mean", mean), ("log_excess", log_excess), ("spread", spread)):
                if len(where):
                    found[term.named(name)] = values[..., where]
            for number in term.personal:
                end = first_effect + len(term.columns[number])
                found[term.effect_name(number)] = effects[..., first_effect:end]
                first_effect = end
        return found

    @cached_property
    def _grid(self) -> Grid:
        axes = [term.merged.axes[number] for term in self.terms for number in term.order]
        first_cell = _starts([axis.nodes for axis in axes])
        cells = [axis.cell_of + first for axis, first in zip(axes, first_cell, strict=False)]
        return Grid(
            positions=np.concatenate([np.empty(0), *(axis.axis.positions for axis in axes)]),
            first_node=_starts([axis.axis.nodes for axis in axes]),
            first_cell=first_cell,
            cell_of=np.concatenate([np.empty(0, dtype=np.int64), *cells]),
            lost_variance=np.array([axis.lost_variance for axis in axes], dtype=np.float64),
            first_axis=_starts([len(term.order) for term in self.terms]),
            n_left=np.array([term.n_left for term in self.terms], dtype=np.int64),
            first_row=_starts([math.prod(term.nodes[: term.n_left]) for term in self.terms]),
            first_column=_starts([math.prod(term.nodes[term.n_left :]) for term in self.terms]),
        )

    @cached_property
    def _prior(self) -> Scaled:
        by_term = [[values[np.array(term.order, dtype=np.intp)] for values in term.prior] for term in self.terms]
        return Scaled(*(np.concatenate(values) for values in zip(*by_term, strict=True)))

    @cached_property
    def _people(self) -> People:
        likelihood = [term.likelihood() for term in self.terms]
        designs = [term.designs[number] for term in self.terms for number in term.personal]
        first_axis = _starts([len(term.order) for term in self.terms])
        axis_of_effect = [
            first_axis[model] + place
            for model, term in enumerate(self.terms)
            for place, number in enumerate(term.personal)
            for _ in term.columns[number]
        ]
        return People(
            likelihood=np.concatenate(likelihood),
            first_value=_starts([len(each) for each in likelihood]),
            highest=np.stack([term.merged.highest for term in self.terms]),
            columns=np.column_stack([np.empty((len(self.terms[0].merged.highest), 0)), *designs]),
            axis_of_effect=np.array(axis_of_effect, dtype=np.int64),
        )


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return where parts of these sizes begin one after another, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
