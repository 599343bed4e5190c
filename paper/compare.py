"""Ours beside the published: the difference, its standard error, and a verdict; and the paper's headlines in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

KEYS = ["study", "task", "model", "metric"]
LIMIT = 3.0  # standard errors of the difference
WITHIN, OUTSIDE, UNKNOWN = "within 3 SE", "outside 3 SE", "no error known"

COLUMNS = [*KEYS, "published", "ours", "difference", "se", "z", "verdict", "z_shared_tasks", "source"]
PUBLISHED_TASKS = 6  # one for each seed, the same for all parameter pairs


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


# Why a cell may lie outside, where something is known about it.
SHARED_TASKS_REASON = (
    "Cells with a z within 3 in the last column: in the published forward sweep all parameter pairs share six tasks, "
    "one for each seed, and we take it that those of backward transfer did, too. Scores differ between tasks, so a "
    "mean over six of them has an error that a spread over pairs does not show. We measured that error with tasks "
    "that all pairs share; the last column has the z with it added to the error of the published number."
)
NO_REASON = "{study}, {task}, {model}, {metric}: we do not know why."
REASONS = {
    ("backward", "recall_f1_r"): (
        "Correlation of recall and F1: the paper does not say for which model it is; the other two readings are in "
        "the table of backward transfer."
    ),
    ("sweep", "entropy"): (
        "Entropy in the sweep: the paper does not say which tasks and levels are averaged; another average is in the "
        "table of sweeps."
    ),
    ("sweep", "training_accuracy"): (
        "Training accuracy in the sweep: in the published results all pairs share six tasks, one for each seed, and "
        "the means of the six differ with an SD of 0.003. That is an error of 0.0014, which the SD over pairs does "
        "not show and which covers the difference."
    ),
}


def reason(row: pd.Series[float]) -> str:
    """Say why a cell lies outside three standard errors."""
    if abs(row["z_shared_tasks"]) <= LIMIT:
        return SHARED_TASKS_REASON
    return REASONS.get((str(row["study"]), str(row["metric"])), NO_REASON.format(**row))


# ---------------------------------------------------------------------------------------------------------- headlines


class Headline(NamedTuple):
    """A claim, and how it is read off a summary: the number that decides it, and the range in which it holds."""

    study: str
    claim: str
    task: str
    model: str
    metric: str
    low: float
    high: float


INF = float("inf")


def _headlines() -> list[Headline]:
    tasks = [f"{level}-level" for level in range(2, 6)]
    lines = [
        Headline("backward", "lower entropy than flat", task, "difference", "entropy", -INF, 0.0) for task in tasks
    ]
    lines += [
        Headline("backward", "fewer clusters than flat", task, "difference", "clusters", -INF, 0.0) for task in tasks
    ]
    lines += [
        Headline("backward", "higher recall than flat", task, "difference", "recall", 0.0, INF) for task in tasks[1:]
    ]
    lines += [
        Headline("forward", "HOLMES accuracy .90 to .96", "5 + 1", "holmes", "accuracy", 0.90, 0.96),
        Headline("forward", "HOLMES AUC at least .97", "5 + 1", "holmes", "auc", 0.97, 1.0),
        Headline("forward", "flat accuracy .48 to .62", "5 + 1", "flat", "accuracy", 0.48, 0.62),
    ]
    lines += [
        Headline("forward", "accuracy far above flat (by .2 or more)", task, "difference", "accuracy", 0.2, INF)
        for task in ("5 + 1", "10 + 3")
    ]
    lines += [
        Headline(
            "conditioning", f"{phase}, final 20%: within .05 of flat", "conditioning", "difference", metric, -0.05, 0.05
        )
        for phase, metric in (("acquisition", "acquisition_final"), ("extinction", "extinction_final"))
    ]
    lines += [
        Headline("conditioning", "clusters within .5 of flat", "conditioning", "difference", "clusters", -0.5, 0.5),
    ]
    lines += [
        Headline("ablation", "ablation cells: higher recall than flat", task, "difference", "recall", 0.0, INF)
        for task in tasks[1:]
    ]
    lines += [
        Headline(
            "ablation", "ablation: higher forward accuracy than flat", "10 + 3", "difference", "accuracy", 0.0, INF
        ),
        Headline("sweep", "lower entropy at nearly all pairs", "2 to 5 levels", "difference", "entropy_share", 0.9, 1),
        Headline("sweep", "higher recall at most pairs", "2 to 5 levels", "difference", "recall_share", 0.8, 1),
        Headline("sweep", "higher forward accuracy at most pairs", "10 + 3", "difference", "accuracy_share", 0.8, 1),
    ]
    return lines


HEADLINES = _headlines()


def check_headlines(summary: pd.DataFrame) -> pd.DataFrame:
    """Return each claim that the summary speaks of, the number, its standard error, and whether the claim holds."""
    rows = []
    for line in HEADLINES:
        found = summary.query("study == @line.study and task == @line.task and model == @line.model")
        found = found[found["metric"] == line.metric]
        if len(found):
            value, se = float(found["value"].iloc[0]), float(found["se"].iloc[0])
            holds = line.low <= value <= line.high
            rows.append([line.study, line.task, line.claim, value, se, "holds" if holds else "fails"])
    return pd.DataFrame(rows, columns=["study", "task", "claim", "ours", "se", "verdict"])
