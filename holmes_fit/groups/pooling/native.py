"""The compiled density as C calls it, so that chains of NUTS walk on it at once, with no Python in between.

nutpie calls a function of C with a point, room for the slopes and the value, and one address: here that of ``Memory``,
which says where the numbers of a group model are. Steps that were kept or used for tuning are counted there, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numpy.typing import NDArray
from nutpie.compile_pymc import CompiledPyMCModel, address_as_void_pointer

from holmes_fit.groups.pooling.compiled import Grid, People, Scaled, compiled, log_density

POINT = "point"

# What is in the header, all whole numbers: the addresses and sizes of the three parts, and how many steps were made
FLOATS, WHOLES, SINGLES, N_FLOATS, N_WHOLES, N_SINGLES, STEPS, HEADER = range(8)

_double = types.CPointer(types.double)
VALUE_AND_SLOPES = types.int64(types.uint64, _double, _double, _double, types.voidptr)
AFTER_STEP = types.int64(types.uint64, types.uint64, _double, _double, types.voidptr)
CANNOT_GO_ON = 3  # what nutpie takes for a step that led out of where the density is finite


class Memory:
    """The numbers of a group model in three arrays, and a header that says where these are."""

    def __init__(self, grid: Grid, prior: Scaled, people: People):
        self.floats = _packed([grid.positions, grid.lost_variance, *prior, people.highest, people.columns], np.float64)
        self.wholes = _packed(
            [
                *(grid.first_node, grid.first_cell, grid.cell_of, grid.first_axis, grid.n_left),
                *(grid.first_row, grid.first_column, people.first_value, people.axis_of_effect),
            ],
            np.int64,
        )
        self.singles = np.ascontiguousarray(people.likelihood, dtype=np.float32)
        self.header = np.zeros(HEADER, dtype=np.int64)
        for place, part in enumerate((self.floats, self.wholes, self.singles)):
            self.header[[FLOATS + place, N_FLOATS + place]] = part.ctypes.data, len(part)

    @property
    def steps(self) -> int:
        """How many steps chains have made. As they do not wait for each other, some may be missing."""
        return int(self.header[STEPS])


def _packed(parts: list[Any], dtype: Any) -> Any:
    """Return arrays one after another, behind their number and where each of them begins, counted from there."""
    flat = [np.asarray(part, dtype=dtype).ravel() for part in parts]
    begins = np.concatenate([[0], np.cumsum([len(part) for part in flat])])
    return np.concatenate([[len(flat)], begins, *flat]).astype(dtype)


@compiled
def _part(packed, number):
    """Return one of the arrays that were packed."""
    first = int(packed[0]) + 2
    return packed[first + int(packed[1 + number]) : first + int(packed[2 + number])]


@compiled
def _model_at(address):
    """Return the numbers of a group model."""
    header = carray(address, (HEADER,), np.int64)
    f = carray(address_as_void_pointer(header[FLOATS]), (header[N_FLOATS],), np.float64)
    w = carray(address_as_void_pointer(header[WHOLES]), (header[N_WHOLES],), np.int64)
    likelihood = carray(address_as_void_pointer(header[SINGLES]), (header[N_SINGLES],), np.float32)
    first_value, highest, columns = _part(w, 7), _part(f, 10), _part(f, 11)
    n_models = len(first_value) - 1
    n_people = len(highest) // n_models
    grid = Grid(
        _part(f, 0),
        _part(w, 0),
        _part(w, 1),
        _part(w, 2),
        _part(f, 1),
        _part(w, 3),
        _part(w, 4),
        _part(w, 5),
        _part(w, 6),
    )
    prior = Scaled(
        *(_part(f, 2), _part(f, 3), _part(f, 4), _part(f, 5), _part(f, 6), _part(f, 7), _part(f, 8), _part(f, 9))
    )
    people = People(
        likelihood,
        first_value,
        highest.reshape((n_models, n_people)),
        columns.reshape((n_people, len(_part(w, 8)))),
        _part(w, 8),
    )
    return grid, prior, people


def _value_and_slopes(size, point, slopes, value, address):
    grid, prior, people = _model_at(address)
    found, slope = log_density(carray(point, (size,)), grid, prior, people)
    written = carray(slopes, (size,))
    is_finite = np.isfinite(found)
    for place in range(len(slope)):
        written[place] = slope[place]
        is_finite = is_finite and np.isfinite(slope[place])
    carray(value, (1,))[0] = found
    return 0 if is_finite else CANNOT_GO_ON


def _after_step(size, expanded, point, kept, address):
    carray(address, (HEADER,), np.int64)[STEPS] += 1
    for place in range(size):
        kept[place] = point[place]
    return 0


@cache
def c_functions() -> tuple[Any, Any]:
    """Return the two functions that C calls; compiled once, and kept beside the particle filter."""
    return cfunc(VALUE_AND_SLOPES, cache=True)(_value_and_slopes), cfunc(AFTER_STEP, cache=True)(_after_step)


def value_and_slopes(memory: Memory, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the log-density at a point, and its slopes, as nutpie is given them."""
    point = np.ascontiguousarray(point, dtype=np.float64)
    value, slopes = np.empty(1), np.empty(len(point))
    addresses = [each.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for each in (point, slopes, value)]
    c_functions()[0].ctypes(len(point), *addresses, memory.header.ctypes.data)
    return float(value[0]), slopes


def for_nutpie(memory: Memory, begin: Callable[[int], NDArray[np.float64]], size: int) -> CompiledPyMCModel:
    """Return a model of nutpie's whose draws are points of the density; ``begin`` says where a chain starts."""
    density, after_step = c_functions()
    return CompiledPyMCModel(
        dims={},
        compiled_logp_func=density,
        compiled_expand_func=after_step,
        initial_point_func=begin,
        shared_data={"memory": memory},  # so that it lives as long as the model
        user_data=memory.header,
        n_expanded=size,
        shape_info=([POINT], [slice(0, size)], [(size,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=size,
        _shapes={POINT: (size,)},
        _coords={},
    )
