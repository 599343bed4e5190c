"""Ours beside the published: the difference, its standard error, and a verdict; and the paper's headlines.

``published.csv`` has every published number with its source, the ``sd`` or the 95% interval that was printed with it,
over how many units, and the last digit that was printed (``unit``). There are three sources. ``table``: the
supplement's table of transfer metrics, mean and SD over 200 parameter pairs. ``figure``: a figure's caption, or the
value that a figure shows. ``results``: the authors' published per-seed results of the shape-colour task, summarised as
mean, SD and number of units (seeds, or parameter pairs after averaging seeds). Where the paper does not say which model
or average it means, the number stands there for each of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from paper.statistics import TWO_SIDED_95
from paper.words import WORDS

KEYS = ["study", "task", "model", "metric"]
LIMIT = 3.0  # standard errors of the difference
WITHIN, OUTSIDE, UNKNOWN = "within 3 SE", "outside 3 SE", "no error known"

COLUMNS = [*KEYS, "published", "ours", "difference", "se", "z", "verdict", "z_shared_tasks", "source"]
PUBLISHED_TASKS = 6  # one for each seed, the same for all parameter pairs


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
