"""The figure of conditioning and extinction, in the paper's layout."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, RULE
from paper.figures.parts import bars, bars_of_pair, label_of, titled
from paper.statistics import TWO_SIDED_95
from paper.studies import PAIR
from paper.summaries import picked

# The paper shows CS+ in blue and CS- in red; here the reinforced cue has the colour that outcomes have everywhere.
CUES = {"CS+": OUTCOME, "CS-": NO_OUTCOME}
REINFORCEMENT = 0.5


def conditioning(figure: FigureBase, summary: pd.DataFrame, tests: pd.DataFrame, trials: pd.DataFrame) -> FigureBase:
    """Draw the schedule, the final predictions and clusters, and the mean traces."""
    rows = figure.add_gridspec(2, 1)
    upper, lower = rows[0].subgridspec(1, 3, width_ratios=(4, 5, 2.5)), rows[1].subgridspec(1, 2)
    boundary = int((picked(trials, model="flat").query("seed == 0")["phase"] == "acquisition").sum())
    length = int(trials["trial"].max())
    titled(idealized(figure.add_subplot(upper[0]), boundary, length), "A", "Schedule and ideal trace")
    ax = figure.add_subplot(upper[1])
    titled(final_predictions(ax, summary, tests), "B", "Final 20% of each phase")
    ax = figure.add_subplot(upper[2])
    counts = picked(summary, metric="clusters")
    bars(ax, counts[counts["model"].isin(PAIR)], summary.iloc[:0])
    ax.axhline(2, color=RULE, linestyle="--", linewidth=0.8, zorder=0)
    ax.set_title("Clusters")
    p = float(tests.set_index("metric")["p"].get("clusters", np.nan))
    ax.set_xlabel(_p_text(p))
    for column, model in enumerate(PAIR):
        ax = traces(figure.add_subplot(lower[column]), trials, model, boundary)
        ax.set_title(f"{label_of(model)}: mean over seeds, one seed dotted")
    return figure


def idealized(ax: Axes, boundary: int, length: int) -> Axes:
    """Draw what an ideal observer would come to expect: CS+ near its rate and then less, CS- ever less."""
    trial = np.arange(1, length + 1)
    plus = np.where(trial <= boundary, REINFORCEMENT, REINFORCEMENT * np.exp(-(trial - boundary) / 6))
    ax.plot(trial, plus, color=CUES["CS+"], label="CS+")
    ax.plot(trial, 0.5 * np.exp(-(trial - 1) / 5), color=CUES["CS-"], label="CS−")
    return _phases(ax, boundary)


def traces(ax: Axes, trials: pd.DataFrame, model: str, boundary: int) -> Axes:
    """Draw the prediction after each cue: the mean over seeds with its 95% interval, and one seed."""
    rows = picked(trials, model=model)
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
    ax.set_xlabel("trial")
    ax.set_ylabel("P(outcome | cue)")
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.92))
    return ax


def final_predictions(ax: Axes, summary: pd.DataFrame, tests: pd.DataFrame) -> Axes:
    """Draw final predictions by phase and cue, both models side by side, with the p of their difference below."""
    phases, cues = {"acquisition": "acquis.", "extinction": "extinct."}, {"plus": "CS+", "minus": "CS−"}
    groups = {f"{phase}_{cue}": f"{cues[cue]}\n{text}" for phase, text in phases.items() for cue in cues}
    p = tests.set_index("metric")["p"]
    bars_of_pair(ax, summary, {place: {"metric": metric} for place, metric in enumerate(groups)})
    labels = [f"{text}\n{_p_text(float(p.get(metric, np.nan)))}" for metric, text in groups.items()]
    ax.set_xticks(range(len(groups)), labels)
    ax.set_ylabel("P(outcome | cue)")
    return ax


def _p_text(p: float) -> str:
    if not np.isfinite(p):
        return "equal"
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")
