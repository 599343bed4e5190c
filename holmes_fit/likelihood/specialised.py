"""The likelihood's loops, compiled for one response: with its own density of an answer in their midst."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import njit

from holmes_fit.likelihood import compiled, laplace
from holmes_fit.likelihood.density import TraceDensity
from holmes_fit.models.responses.contract import Array, Response, Rule

Axes = Sequence[Array]  # values of each parameter of a response, in order: one value if it is fixed


@cache
def functions_of(response: type[Response]) -> SimpleNamespace:
    """Return the compiled functions of ``compiled`` and ``laplace`` for a response.

    numba compiles a function with the functions that it finds among its globals, so that each response has copies of
    the templates with globals of its own. What is compiled is kept on disk under a name that tells responses apart.
    """
    better = [each for each in (response.over_residual, response.on_grid) if each is not None]
    own = (response.log_density, *better, *response.helpers)
    mark = f"{response.name}_{_digest(own)}"
    names = _compiled(own, {}, mark)
    grid = names.pop("on_grid", None)  # the response's, not that of the templates
    templates = [each for each in (*compiled.TEMPLATES, *laplace.TEMPLATES) if each.__name__ not in names]
    return SimpleNamespace(**names | _compiled(templates, names, mark), plain_on_grid=grid)


def _compiled(functions: Sequence[Callable[..., Any]], names: dict[str, Any], mark: str) -> dict[str, Any]:
    """Return functions compiled, which may call each other and those of other names."""
    copies: dict[str, FunctionType] = {}
    for each in functions:
        assert isinstance(each, FunctionType)
        copies[each.__name__] = FunctionType(each.__code__, dict(each.__globals__), each.__name__, each.__defaults__)
        copies[each.__name__].__qualname__ = f"{each.__name__}.{mark}"
    found = {name: njit(cache=Path(copy.__code__.co_filename).is_file())(copy) for name, copy in copies.items()}
    for copy in copies.values():
        copy.__globals__.update(names | found)
    return found


def _digest(functions: Sequence[Callable[..., Any]]) -> str:
    """Return what changes with the code of functions and with the numbers among their globals."""
    digest = hashlib.sha256()
    for function in functions:
        assert isinstance(function, FunctionType)
        code = function.__code__
        numbers = [value for name in code.co_names if isinstance(value := function.__globals__.get(name), float | int)]
        digest.update(repr((code.co_code, code.co_consts, code.co_names, numbers)).encode())
    return digest.hexdigest()[:12]


class Specialised:
    """The likelihood of answers by one response, over arrays."""

    def __init__(self, response: Response):
        self.response = response
        self._compiled = functions_of(type(response))
        self._approach = np.array(response.approach)

    def by_trial(self, log_odds: Array, answers: Array, rule: Rule) -> Array:
        """Return the log density of every answer, replicates x trials."""
        return np.asarray(self._compiled.by_trial(log_odds, answers, np.array(rule)))

    def by_replicate(self, log_odds: Array, answers: Array, rule: Rule) -> Array:
        """Return every replicate's log-likelihood."""
        return np.asarray(self._compiled.by_replicate(log_odds, answers, np.array(rule)))

    def on_grid(self, log_odds: Array, answers: Array, axes: Axes) -> Array:
        """Return every replicate's log-likelihood at all points of a grid: replicates x its axes."""
        if self._compiled.plain_on_grid is not None:
            return np.asarray(self._compiled.plain_on_grid(log_odds, answers, *axes))
        rules, shape = self._rules(axes)
        found = self._compiled.by_rule(log_odds, answers, rules)
        return np.asarray(found).reshape(len(log_odds), *shape)

    def integral(self, density: TraceDensity, answers: Array, rule: Rule) -> float:
        """Return the log-likelihood under a density of traces."""
        return float(self._compiled.at_point(*density, answers, np.array(rule), self._approach)[0])

    def integral_on_grid(self, density: TraceDensity, answers: Array, axes: Axes) -> Array:
        """Return the log-likelihood under a density of traces at all points of a grid."""
        rules, shape = self._rules(axes)
        rules = rules.reshape(shape[0], -1, rules.shape[1])
        order = slice(None, None, 1 if self._approach[0] < 1 else -1)  # along the first parameter
        found = self._compiled.on_grid(*density, answers, np.ascontiguousarray(rules[order]))
        return np.asarray(found)[order].reshape(shape)

    def before_each_trial(self, density: TraceDensity, answers: Array, rule: Rule) -> tuple[Array, Array, Array]:
        """Return what is known from the answers before each trial: see :func:`laplace.before_each_trial`."""
        found = self._compiled.before_each_trial(*density, answers, np.array(rule), self._approach)
        return found[0], found[1], found[2]

    def _rules(self, axes: Axes) -> tuple[Array, tuple[int, ...]]:
        """Return the rule of every point of a grid (rows), and the grid's shape."""
        grids = np.meshgrid(*axes, indexing="ij")
        constants = [np.full(grids[0].size, value) for value in self.response.constants]
        return np.column_stack([*(grid.ravel() for grid in grids), *constants]), grids[0].shape
