"""The figure of conditioning and extinction, in the paper's layout."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME
from paper.compare import StudyResult
from paper.figures import parts
from paper.figures.parts import Panel, Rows, label_of
from paper.statistics import TWO_SIDED_95
from paper.studies import PAIR
from paper.summaries import picked

# The paper shows CS+ in blue and CS- in red; here the reinforced cue has the colour that outcomes have everywhere.
CUES = {"CS+": OUTCOME, "CS-": NO_OUTCOME}
REINFORCEMENT = 0.5


def conditioning(found: StudyResult) -> Rows:
    """Draw the schedule, the final predictions and clusters, and the mean traces."""
    trials, tests = found.data.trials, found.further["tests"].set_index("metric")["p"]
    boundary = int((picked(trials, model="flat").query("seed == 0")["phase"] == "acquisition").sum())
    schedule = partial(idealized, boundary=boundary, length=int(trials["trial"].max()))

    at_end = partial(final_predictions, found=found, p=tests)
    clusters = partial(parts.bars, found=found, line=2, metric="clusters")
    upper = [
        Panel("A", "Schedule and ideal trace", schedule, share=4),
        Panel("B", "Final 20% of each phase", at_end, share=5, look={"ylabel": "P(outcome | cue)"}),
        Panel("", "Clusters", clusters, share=2.5, look={"xlabel": _p_text(tests.get("clusters", np.nan))}),
    ]
    lower = []
    for model in PAIR:
        draw = partial(traces, rows=picked(trials, model=model), boundary=boundary)
        lower.append(Panel("", f"{label_of(model)}: mean over seeds, one seed dotted", draw))
    return [upper, lower]


def idealized(ax: Axes, boundary: int, length: int) -> Axes:
    """Draw what an ideal observer would come to expect: CS+ near its rate and then less, CS- ever less."""
    trial = np.arange(1, length + 1)
    plus = np.where(trial <= boundary, REINFORCEMENT, REINFORCEMENT * np.exp(-(trial - boundary) / 6))
    ax.plot(trial, plus, color=CUES["CS+"], label="CS+")
    ax.plot(trial, 0.5 * np.exp(-(trial - 1) / 5), color=CUES["CS-"], label="CS−")
    return _phases(ax, boundary)


def traces(ax: Axes, rows: pd.DataFrame, boundary: int) -> Axes:
    """Draw a model's prediction after each cue: the mean over seeds with its 95% interval, and one seed."""
    for cue, color in CUES.items():
        of_cue = rows[rows["cue"] == cue]
        by_trial = of_cue.groupby("trial")["p_hat"].agg(["mean", "std", "count"])
        half = TWO_SIDED_95 * by_trial["std"] / np.sqrt(by_trial["count"])
        ax.fill_between(
            by_trial.index, by_trial["mean"] - half, by_trial["mean"] + half, color=color, alpha=0.25, linewidth=0
        )
        ax.plot(by_trial.index, by_trial["mean"], color=color, label=cue.replace("-", "−"))
        one = of_cue[of_cue["seed"] == of_cue["seed"].min()]
        ax.plot(one["trial"], one["p_hat"], ":", color=color, linewidth=1.0)
    return _phases(ax, boundary)


def _phases(ax: Axes, boundary: int) -> Axes:
    ax.axvline(boundary + 0.5, color=INK, linestyle="--", linewidth=0.8)
    ax.set_ylim(0, 0.9)
    ax.text(boundary, 0.88, "acquisition", ha="right", va="top", fontsize=7)
    ax.text(boundary + 1, 0.88, "extinction", ha="left", va="top", fontsize=7)
    ax.set(xlabel="trial", ylabel="P(outcome | cue)")
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.92))
    return ax


def final_predictions(ax: Axes, found: StudyResult, p: pd.Series[float]) -> Axes:
    """Draw final predictions by phase and cue, both models side by side, with the p of their difference below."""
    phases, cues = {"acquisition": "acquis.", "extinction": "extinct."}, {"plus": "CS+", "minus": "CS−"}
    groups = {f"{phase}_{cue}": f"{cues[cue]}\n{text}" for phase, text in phases.items() for cue in cues}
    parts.bars_of_pair(ax, found, {place: {"metric": metric} for place, metric in enumerate(groups)})
    labels = [f"{text}\n{_p_text(p.get(metric, np.nan))}" for metric, text in groups.items()]
    ax.set_xticks(range(len(groups)), labels)
    return ax


def _p_text(p: float) -> str:
    if not np.isfinite(p):
        return "equal"
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")
