"""What each difference between the paper's text and its authors' published code does to each headline, in numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.runs.folder import Run
from paper.statistics import Floats, auc, bootstrap_over_units, mean_estimate
from paper.studies import READINGS, Job, Reading, Sizes, dissected
from paper.summaries import LENGTH, exposures, table_of, top_level, unit_means
from paper.tasks import RUNS, TRIALS

BACKWARD = ("recall", "entropy", "clusters", "accuracy")
FORWARD = ("accuracy", "separation")
COLUMNS = ["task", "metric", "reading", "value", "se", "change", "change_se", "n"]


def difference_table(run: Run, jobs: dict[str, Job], sizes: Sizes) -> pd.DataFrame:
    """Return HOLMES's headline numbers under every reading, and their change from the paper's text."""
    compositional, shape_color = dissected(jobs, sizes)
    runs = {reading: table_of(run, compositional, reading, RUNS) for reading in READINGS}
    forward = {reading: table_of(run, shape_color, reading, RUNS) for reading in READINGS}
    trials = {reading: table_of(run, shape_color, reading, TRIALS) for reading in READINGS}
    rows = []
    for n_levels in range(2, 6):
        tops = {reading: top_level(table, n_levels) for reading, table in runs.items()}
        for metric in BACKWARD:
            rows += _changes(f"{n_levels}-level", metric, tops, "point")
    for protocol, task in LENGTH.items():
        tops = {reading: table[table["protocol"] == protocol] for reading, table in forward.items()}
        for metric in FORWARD:
            rows += _changes(task, metric, tops, "seed")
        rows += _auc_changes(protocol, task, trials, sizes)
    return pd.DataFrame(rows, columns=COLUMNS)


def _changes(task: str, metric: str, tables: dict[Reading, pd.DataFrame], unit: str) -> list[list[object]]:
    values = {reading: unit_means(table, metric, unit)["holmes"].to_numpy() for reading, table in tables.items()}
    rows: list[list[object]] = []
    for reading in READINGS:
        mean, change = mean_estimate(values[reading]), mean_estimate(values[reading] - values["as_written"])
        rows.append([task, metric, reading, mean.value, mean.se, change.value, change.se, mean.n])
    return rows


def _auc_changes(protocol: str, task: str, trials: dict[Reading, pd.DataFrame], sizes: Sizes) -> list[list[object]]:
    text, rewarded = exposures(trials["as_written"], protocol, "holmes")
    rows: list[list[object]] = []
    for reading in READINGS:
        p_hat, _ = exposures(trials[reading], protocol, "holmes")
        area = bootstrap_over_units(auc, (p_hat, rewarded), sizes.bootstrap, f"{protocol} {reading}")
        arrays, name = (p_hat, text, rewarded), f"{protocol} {reading} change"
        change = bootstrap_over_units(_auc_change, arrays, sizes.bootstrap, name)
        rows.append([task, "auc", reading, area.value, area.se, change.value, change.se, len(p_hat)])
    return rows


def _auc_change(after: Floats, before: Floats, is_rewarded: NDArray[np.bool_]) -> float:
    return auc(after, is_rewarded) - auc(before, is_rewarded)
