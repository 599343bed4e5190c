"""The one large sum of a group model, as an operation of PyTensor with a gradient of its own.

Everyone's likelihood under a group is a sum over all nodes of the lattice, at every step of NUTS. Nearly all of the
time goes into reading the lattices from memory. PyTensor's own gradient would read them twice, and copy them in
between, which takes twenty times as long. Here the sums that the gradient needs are taken in the same pass, while a
person's lattice is still in the cache, and lattices are in single precision, as they are in the records of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from numba import njit
from numpy.typing import NDArray
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

VERSION = 1  # of `weighted_sums`: compiled code is kept on disk under this number, so that a change needs another

# Below this, relative to the highest, a sum in single precision can be zero.
LEAST = float(np.finfo(np.float32).tiny)


@njit(cache=False)  # PyTensor keeps what it compiles
def weighted_sums(
    likelihood: NDArray[np.float32], left: NDArray[np.float64], right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return, by person, the sum of likelihood x left x right, that over the right alone, and that over the left."""
    people, rows, columns = likelihood.shape
    weights = right.astype(np.float32)
    total = np.empty(people)
    over_right = np.empty((people, rows))
    over_left = np.empty((people, columns))
    for person in range(people):
        own = left[person].astype(np.float32)
        over_right[person] = np.dot(likelihood[person], weights)
        over_left[person] = np.dot(own, likelihood[person])
        total[person] = np.dot(left[person], over_right[person])
    return total, over_right, over_left


class WeightedSums(Op):
    """The same for PyTensor: people x rows x columns, people x rows, columns. Only the first result has a gradient."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply[Any]:
        return Apply(self, list(inputs), [pt.vector(), pt.matrix(), pt.matrix()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        for storage, value in zip(output_storage, weighted_sums(*map(np.ascontiguousarray, inputs)), strict=True):
            storage[0] = value

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] * 3, [True, False, False], [True, False, False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> list[Any]:
        above, _, _ = output_gradients
        _, over_right, over_left = outputs
        return [disconnected_type(), above[:, None] * over_right, pt.dot(above, over_left)]


@register_funcify_default_op_cache_key(WeightedSums)
def _compiled(op: WeightedSums, **_: Any) -> tuple[Any, int]:
    return weighted_sums, VERSION
