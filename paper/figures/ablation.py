"""The figure of the ablations, in the paper's layout."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import FigureBase

from holmes_fit.reporting.style import RULE
from paper.figures.parts import bars, label_of, lines_by_level, titled
from paper.studies import LONG, VARIANTS
from paper.summaries import LENGTH, picked


def ablation(figure: FigureBase, summary: pd.DataFrame, published: pd.DataFrame) -> FigureBase:
    """Draw recall by levels, and first-exposure accuracy, for the six variants."""
    grid = figure.add_gridspec(1, 2, width_ratios=(1.25, 1))
    ax = lines_by_level(figure.add_subplot(grid[0]), summary, published, "recall", VARIANTS)
    titled(ax, "A", "Backward transfer").set_ylabel("recall")
    ax.set_ylim(0.15, 1.0)
    ax.legend(loc="upper right", bbox_to_anchor=(1.03, 1.04), labelspacing=0.25)
    keys = {"task": LENGTH[LONG], "metric": "accuracy"}
    rows = picked(summary, **keys).set_index("model").reindex(VARIANTS).dropna(how="all").reset_index()
    ax = bars(figure.add_subplot(grid[1]), rows, picked(published, **keys))
    titled(ax, "B", "Forward transfer, 160 training trials").set_ylabel("accuracy, first exposure")
    ax.axhline(0.5, color=RULE, linestyle="--", linewidth=0.8, zorder=0)
    ax.set_ylim(0, 1.05)
    names = [label_of(model).replace("HOLMES ", "HOLMES\n").replace("Flat +", "Flat +\n") for model in rows["model"]]
    ax.set_xticks(range(len(names)), names, rotation=50, ha="right", rotation_mode="anchor", linespacing=0.95)
    return figure
