"""The compiled density as C calls it, so that chains of NUTS walk on it at once, with no Python in between.

nutpie calls a function of C with a point, room for the slopes and the value, and one address: here that of ``Memory``,
which says where the numbers of a group model are. Steps that were kept or used for tuning are counted there, too.
"""

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

STEPS, FIRST = range(2)  # whole numbers in the header: how many steps were made, and then two for each array

_double = types.CPointer(types.double)
VALUE_AND_SLOPES = types.int64(types.uint64, _double, _double, _double, types.voidptr)
AFTER_STEP = types.int64(types.uint64, types.uint64, _double, _double, types.voidptr)
N_ARRAYS = len(Grid._fields) + len(Scaled._fields) + len(People._fields)
# nutpie for PyMC 6 asks for the names of shared variables, too; here are none.
FIELDS = set(CompiledPyMCModel.__dataclass_fields__)
SHARED_NAMES: dict[str, Any] = {name: {} for name in FIELDS & {"shared_var_keys"}}
CANNOT_GO_ON = 3  # what nutpie takes for a step that led out of where the density is finite


class Memory:
    """The arrays of a group model, and a header that says where each of them begins and how long it is."""

    def __init__(self, grid: Grid, prior: Scaled, people: People):
        self.arrays = [np.ascontiguousarray(each) for each in (*grid, *prior, *people)]
        places = [number for each in self.arrays for number in (each.ctypes.data, each.size)]
        self.header = np.array([0, *places], dtype=np.int64)

    @property
    def steps(self) -> int:
        """How many steps chains have made. As they do not wait for each other, some may be missing."""
        return int(self.header[STEPS])


@compiled
def _pointer(header, number):
    return address_as_void_pointer(header[FIRST + 2 * number])


@compiled
def _floats(header, number):
    return carray(_pointer(header, number), (header[FIRST + 2 * number + 1],), np.float64)


@compiled
def _wholes(header, number):
    return carray(_pointer(header, number), (header[FIRST + 2 * number + 1],), np.int64)


@compiled
def _model_at(address):
    """Return the numbers of a group model, its arrays in the order of their fields."""
    h = carray(address, (FIRST + 2 * N_ARRAYS,), np.int64)
    wholes = _wholes(h, 1), _wholes(h, 2), _wholes(h, 3)
    grid = Grid(_floats(h, 0), *wholes, _floats(h, 4), _wholes(h, 5), _wholes(h, 6), _wholes(h, 7), _wholes(h, 8))
    by_axis = _floats(h, 9), _floats(h, 10), _floats(h, 11), _floats(h, 12), _floats(h, 13), _floats(h, 14)
    prior = Scaled(*by_axis, _floats(h, 15), _floats(h, 16))
    likelihood = carray(_pointer(h, 17), (h[FIRST + 2 * 17 + 1],), np.float32)
    first_value, axis_of_effect = _wholes(h, 18), _wholes(h, 21)
    n_models = len(first_value) - 1
    n_people = h[FIRST + 2 * 19 + 1] // n_models
    highest = carray(_pointer(h, 19), (n_models, n_people), np.float64)
    columns = carray(_pointer(h, 20), (n_people, len(axis_of_effect)), np.float64)
    return grid, prior, People(likelihood, first_value, highest, columns, axis_of_effect)


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
    carray(address, (FIRST,), np.int64)[STEPS] += 1
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
        **SHARED_NAMES,
        user_data=memory.header,
        n_expanded=size,
        shape_info=([POINT], [slice(0, size)], [(size,)]),
        logp_func=None,
        expand_func=None,
        _n_dim=size,
        _shapes={POINT: (size,)},
        _coords={},
    )
