"""The run folder: what was asked for, what was found, and where the same command goes on after it was stopped.

``manifest.json`` says what the results depend on, ``records/`` has one file for each piece of work, and tables are CSV
files. Every file is written whole or not at all. This room knows nothing of models and statistics.
"""

from holmes_fit.runs.folder import HasRun, Progress, Run, open_run, read_run, run_of
from holmes_fit.runs.records import Key, Record
from holmes_fit.runs.results import RunResults

__all__ = ["HasRun", "Key", "Progress", "Record", "Run", "RunResults", "open_run", "read_run", "run_of"]
