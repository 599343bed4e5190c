"""Ours beside the published: the difference, its standard error, and a verdict; and the paper's headlines.

``published.csv`` has every published number with its source, the ``sd`` or the 95% interval that was printed with it,
over how many units, and the last digit that was printed (``unit``). There are three sources. ``table``: the
supplement's table of transfer metrics, mean and SD over 200 parameter pairs. ``figure``: a figure's caption, or the
value that a figure shows. ``results``: the authors' published per-seed results of the shape-colour task, summarised as
mean, SD and number of units (seeds, or parameter pairs after averaging seeds). Where the paper does not say which model
or average it means, the number stands there for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.runs.folder import Run
from paper.statistics import TWO_SIDED_95, Floats, auc, bootstrap_over_units, mean_estimate
from paper.studies import READINGS, Job, Reading, Sizes, Study, dissected
from paper.summaries import LENGTH, Data, exposures, table_of, top_level, unit_means
from paper.tasks import RUNS, TRIALS
from paper.words import WORDS

KEYS = ["study", "task", "model", "metric"]
LIMIT = 3.0  # standard errors of the difference
WITHIN, OUTSIDE, UNKNOWN = "within 3 SE", "outside 3 SE", "no error known"

COLUMNS = [*KEYS, "published", "ours", "difference", "se", "z", "verdict", "z_shared_tasks", "source"]
PUBLISHED_TASKS = 6  # one for each seed, the same for all parameter pairs
# Headline numbers of which it is known what each difference between text and code does.
BACKWARD = ("recall", "entropy", "clusters", "accuracy")
FORWARD = ("accuracy", "separation")
CHANGES = ["task", "metric", "reading", "value", "se", "change", "change_se", "n"]


@dataclass(frozen=True)
class StudyResult:
    """One study under one reading of the paper."""

    study: Study
    reading: Reading
    data: Data
    summary: pd.DataFrame
    published: pd.DataFrame
    comparison: pd.DataFrame
    headlines: pd.DataFrame
    further: dict[str, pd.DataFrame]

    def in_one_line(self) -> str:
        """Return how the study came out."""
        parts = [f"{self.study}, {self.reading.replace('_', ' ')}:"]
        if len(self.comparison):
            within = int((self.comparison["verdict"] == WITHIN).sum())
            parts.append(f"{within} of {len(self.comparison)} numbers within 3 SE of the published ones;")
        holding = int((self.headlines["verdict"] == "holds").sum())
        parts.append(f"{holding} of {len(self.headlines)} headlines hold")
        return " ".join(parts)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return every table by its name."""
        several = len(self.data.runs) > 1
        found = {f"runs_{job}" if several else "runs": runs for job, runs in self.data.runs.items()}
        found |= {"trials": self.data.trials, "summary": self.summary, "comparison": self.comparison}
        found |= {"headlines": self.headlines, **self.further}
        return {name: table for name, table in found.items() if len(table)}


def published_table() -> pd.DataFrame:
    """Return every published number: study, task, model, metric, value, sd, n, unit, source, se."""
    table = pd.read_csv(Path(__file__).with_name("published.csv"))
    interval = table.pop("high") - table.pop("low")
    return table.assign(se=interval / (2 * TWO_SIDED_95))


def compare(summary: pd.DataFrame, published: pd.DataFrame, task_spread: pd.DataFrame | None = None) -> pd.DataFrame:
    """Set a summary beside the published numbers.

    The error of a difference combines ours with the published one: the published interval or SD where there is one,
    otherwise our own spread at the published number of units; and the rounding of what was printed. The verdict goes
    by that error. ``z_shared_tasks`` adds what a published mean over parameter pairs owes to its few tasks: all pairs
    saw the same six, so a spread over pairs does not show it. ``task_spread`` is measured (see ``summaries``).
    """
    both = published.merge(summary, on=KEYS, suffixes=("_published", ""))
    published_se = both["se_published"].fillna(both["sd_published"] / np.sqrt(both["n_published"]))
    published_se = published_se.fillna(both["sd"] / np.sqrt(both["n_published"]))
    both["difference"] = both["value"] - both["value_published"]
    both["se"] = np.sqrt(both["se"] ** 2 + published_se**2 + both["unit"] ** 2 / 12)
    both["z"] = both["difference"] / both["se"]
    both["verdict"] = [verdict(z) for z in both["z"]]
    both["z_shared_tasks"] = np.nan
    if task_spread is not None:
        spread = both[KEYS].merge(task_spread, on=KEYS, how="left")["task_sd"].to_numpy()
        both["z_shared_tasks"] = both["difference"] / np.sqrt(both["se"] ** 2 + spread**2 / PUBLISHED_TASKS)
    return both.rename(columns={"value_published": "published", "value": "ours"})[COLUMNS]


def verdict(z: float) -> str:
    """Return what a difference of z standard errors means."""
    if not np.isfinite(z):
        return UNKNOWN
    return WITHIN if abs(z) <= LIMIT else OUTSIDE


def reason(row: pd.Series[float]) -> str:
    """Say why a cell lies outside three standard errors."""
    reasons: dict[str, str] = WORDS["reasons"]
    if abs(row["z_shared_tasks"]) <= LIMIT:
        return reasons["shared_tasks"]
    return reasons.get(f"{row['study']}_{row['metric']}", reasons["unknown"].format(**row))


def check_headlines(summary: pd.DataFrame) -> pd.DataFrame:
    """Return each claim that the summary speaks of, the number, its standard error, and whether the claim holds.

    ``headlines.csv`` says which number decides it, and between which bounds it holds.
    """
    claims = pd.read_csv(Path(__file__).with_name("headlines.csv")).fillna({"low": -np.inf, "high": np.inf})
    found = claims.merge(summary[[*KEYS, "value", "se"]], on=KEYS)
    holds = found["value"].between(found["low"], found["high"])
    found["verdict"] = np.where(holds, "holds", "fails")
    return found.rename(columns={"value": "ours"})[["study", "task", "claim", "ours", "se", "verdict"]]


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
    return pd.DataFrame(rows, columns=CHANGES)


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
