"""From what a preset says about parameters to the space in which a model is fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holmes_fit._support.errors import Problems, Quoted, nearest
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import Model, parameters_of
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.settings.distributions import NORMAL, Distribution, parse_prior
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.settings.tables import ParameterSettings, overlaid

MOST_NODES = 4_000_000  # of a lattice; it is held in memory several times
NODES = 12  # along an axis, where a preset gives no number

Key = tuple[str, ...]
Settings = Mapping[str, ParameterSettings]


def space_of(
    everywhere: Settings, here: Settings, model: Model, file: str, problems: Problems, response: Response = CHOICES
) -> Space | None:
    """Return the space of a model, or nothing and what is wrong."""
    before = len(problems.found)
    entries = {own.name: _Entry(everywhere, here, model, own, file, problems) for own in parameters_of(model, response)}
    free = {name: entry.axis() for name, entry in entries.items() if entry.is_free}
    fixed = {name: entry.fixed_value() for name, entry in entries.items() if not entry.is_free and not entry.source}
    tied = {name: entry.source for name, entry in entries.items() if entry.source}
    for name in tied:
        entries[name].check_tie(entries)
    if len(problems.found) > before:
        return None
    own = {parameter.name for parameter in model.parameters}
    learning = tuple(axis for name, axis in free.items() if axis and name in own)
    responding = tuple(axis for name, axis in free.items() if axis and name not in own)
    space = Space(model, learning, responding, fixed, tied, response)
    n_nodes = math.prod(axis.nodes for axis in space.free)
    if n_nodes > MOST_NODES:
        sizes = ", ".join(f"{axis.name} {axis.nodes}" for axis in space.free)
        seen = Quoted(f"{n_nodes} nodes for {model.name}: {sizes}")
        problems.add(
            f"{file}, key parameters", seen, f"up to {MOST_NODES} in all", "Take fewer nodes, or fix a parameter."
        )
        return None
    return space


class _Entry:
    """All that a preset says about one parameter of one model."""

    def __init__(
        self, everywhere: Settings, here: Settings, model: Model, parameter: Parameter, file: str, problems: Problems
    ):
        self.parameter = parameter
        self.model = model
        self._file = file
        self._problems = problems
        general, own = _given(everywhere.get(parameter.name)), _given(here.get(parameter.name))
        self._keys: dict[str, Key] = {
            **dict.fromkeys(general, ("parameters", parameter.name)),
            **dict.fromkeys(own, ("models", model.name, parameter.name)),
        }
        self.settings = ParameterSettings.model_validate(overlaid(general, own))
        self._check_standing()

    @property
    def is_free(self) -> bool:
        if self.settings.fixed is not None or self.settings.tied:
            return False
        return self.parameter.free if self.settings.free is None else self.settings.free

    @property
    def source(self) -> str:
        """The parameter that it is tied to, or nothing."""
        return self.settings.tied or ""

    def _complain(self, key: str, seen: object, allowed: str, advice: str = "") -> None:
        table = self._keys.get(key, ("parameters", self.parameter.name))
        self._problems.add(f"{self._file}, key {'.'.join((*table, key))}", seen, allowed, advice)

    def _check_standing(self) -> None:
        given = [word for word in ("fixed", "tied") if getattr(self.settings, word) is not None]
        if len(given) == 2:
            self._complain("tied", self.settings.tied, "either fixed or tied, not both")
        elif given and self.settings.free:
            self._complain("free", True, f"either free or {given[0]}, not both")

    def fixed_value(self) -> float:
        value = self.parameter.default if self.settings.fixed is None else self.settings.fixed
        if not self.parameter.accepts(value):
            self._complain("fixed", value, self.parameter.allowed)
        return value

    def axis(self) -> FreeParameter | None:
        bounded = self._bounded()
        prior = self._prior(bounded or self.parameter)
        if bounded is None or prior is None:
            return None
        support = prior.support(bounded.low, bounded.high)  # nothing is searched where the prior has no mass
        if support is None:
            allowed = f"a prior that has mass from {bounded.low:g} to {bounded.high:g}"
            self._complain("prior", self.settings.prior, allowed, "Set low and high to where the prior has its mass.")
            return None
        axis = FreeParameter(_with_bounds(bounded, *support), prior, self.settings.nodes or NODES)
        if prior.kind in NORMAL and prior.home == axis.parameter.scale and prior.second < axis.spacing / 2:
            allowed = f"an SD of at least half a cell of the lattice, {axis.spacing / 2:.2g}"
            self._complain("prior", self.settings.prior, allowed, "Take more nodes, closer bounds, or fixed = ...")
        return axis

    def _bounded(self) -> Parameter | None:
        parameter = self.parameter
        bounds = {
            name: getattr(parameter, name) if given is None else given
            for name, given in (("low", self.settings.low), ("high", self.settings.high))
        }
        outside = [name for name, bound in bounds.items() if not parameter.accepts(bound)]
        for name in outside:
            self._complain(name, bounds[name], parameter.allowed)
        if outside:
            return None
        low, high = bounds["low"], bounds["high"]
        if not low < high:
            key = "high" if "high" in self._keys else "low"
            self._complain(key, bounds[key], f"low below high, which are {low:g} and {high:g}")
            return None
        return _with_bounds(parameter, low, high)

    def _prior(self, parameter: Parameter) -> Distribution | None:
        if self.settings.prior is None and not parameter.prior:
            allowed = "a prior, as it is fitted"
            advice = 'Write base = "default" to take those of the shipped preset; a parameter of your own may have one.'
            self._complain("prior", Quoted("nothing"), allowed, advice)
            return None
        if self.settings.prior is None:
            return parse_prior(parameter.prior, parameter, f"model {self.model.name}, {parameter.name}", self._problems)
        place = f"{self._file}, key {'.'.join((*self._keys['prior'], 'prior'))}"
        return parse_prior(self.settings.prior, parameter, place, self._problems)

    def check_tie(self, entries: Mapping[str, _Entry]) -> None:
        """Check that it can share the value of the other: both of learning, fitted, and never out of its range."""
        learning = [parameter.name for parameter in self.model.parameters]
        others = [name for name in learning if name != self.parameter.name and entries[name].is_free]
        allowed = f"a free parameter of learning in {self.model.name}: {', '.join(others) or 'there is none'}"
        if self.parameter.name not in learning:
            self._complain("tied", self.source, "free or fixed", "Parameters of responding cannot be tied.")
        elif self.source == self.parameter.name:
            self._complain("tied", self.source, allowed, "It cannot be tied to itself.")
        elif self.source not in entries:
            self._complain("tied", self.source, allowed, nearest(self.source, others))
        elif self.source not in learning:
            self._complain("tied", self.source, allowed, "One of learning cannot share a value with one of responding.")
        elif self.source not in others:
            standing = "tied itself" if entries[self.source].source else "fixed"
            self._complain("tied", self.source, allowed, f"{self.source} is {standing}.")
        else:
            self._check_range(entries[self.source])

    def _check_range(self, source: _Entry) -> None:
        bounded = source._bounded()
        if bounded and not (self.parameter.accepts(bounded.low) and self.parameter.accepts(bounded.high)):
            seen = Quoted(f"{source.parameter.name} from {bounded.low:g} to {bounded.high:g}")
            self._complain("tied", seen, self.parameter.allowed)


def _with_bounds(parameter: Parameter, low: float, high: float) -> Parameter:
    """Return a parameter with other bounds. It never takes its default, which has to lie between them all the same."""
    return replace(parameter, low=low, high=high, default=min(max(parameter.default, low), high))


def _given(settings: ParameterSettings | None) -> dict[str, Any]:
    return {} if settings is None else settings.model_dump(exclude_none=True, exclude_unset=True)
