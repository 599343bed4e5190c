"""The numbers and switches of one filter run: everything that makes one variant of the model differ from another."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_LIMIT = 2**31 - 1


class Settings(NamedTuple):
    """One observer: a prior over causes and the particles that carry it.

    ``max_depth`` counts levels. The flat model is the tree of one level with no limit on its branches.
    """

    alpha: float
    omega: float
    depth_scale: float = 1.0
    max_depth: int = 20
    max_branches: int = 20
    stops: bool = True
    sticky: bool = True
    sticky_by_node: bool = False
    shared_counts: bool = False
    particles: int = 200
    multinomial: bool = False


class History(NamedTuple):
    """What every particle did on every trial, and the nodes that it speaks of."""

    leaves: NDArray[np.int32]  # trials x particles, the node at which each particle's path ended
    # Trials x particles, the slot whose particle was copied into this slot when the trial was over
    ancestors: NDArray[np.int32]
    # One entry a node. Nodes are numbered in the order in which any particle first visited them; node 0 is the root
    # above level 0, where no path ends
    parent: NDArray[np.int32]
    branch: NDArray[np.int32]
    level: NDArray[np.int32]
