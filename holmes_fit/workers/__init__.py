"""Many independent tasks, over the cores of this machine or over a Dask cluster.

A task that fails, or that takes its process with it, is a result like any other: the rest go on.
"""

from holmes_fit.workers.cluster import check_cluster
from holmes_fit.workers.pool import LOST, Failure
from holmes_fit.workers.processes import one_thread, usable_cores
from holmes_fit.workers.tasks import do_all

__all__ = ["LOST", "Failure", "check_cluster", "do_all", "one_thread", "usable_cores"]
