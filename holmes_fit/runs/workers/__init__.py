"""Many independent tasks, over the cores of this machine or over a Dask cluster.

A task that fails, or that takes its process with it, is a result like any other: the rest go on.
"""
