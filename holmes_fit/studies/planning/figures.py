"""The figure of a plan: a row for each model, one person to the left and groups to the right."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from holmes_fit.reporting.figures.recovery import draw_interval_shares, draw_power
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.style import use_style
from holmes_fit.studies.planning.measures import MOST

ROW, TOP = 2.05, 0.35  # inches
WIDTH = 7.4


def plan_figure(table: pd.DataFrame, power: pd.DataFrame, words: Words, label: str = "") -> Figure:
    """Draw what is left of the prior's interval by trials, and the power by people and trials: a row for each model.

    The label, of which a reader must be told, is not drawn if it is empty.
    """
    with use_style():
        figure = Figure(figsize=(WIDTH, ROW * len(words.models) + (TOP if label else 0)))
        axes = figure.subplots(len(words.models), 2 if len(power) else 1, squeeze=False)
        for number, model in enumerate(words.models):
            color = words.color(model)
            own = table[table["model"] == model]
            if len(own):
                draw_interval_shares(axes[number, 0], own, color, words)
            axes[number, 0].set_title(f"One person who follows {words.label(model)}", parse_math=False)
            axes[number, 0].set_ylabel("share of the prior's interval")
            if len(power):
                against = hardest(power, model)
                rows = power[(power["model"] == model) & (power["against"] == against) & (power["frequency"] == MOST)]
                draw_power(axes[number, 1], rows, "trials", "{:g} trials".format, color)
                title = f"Three in four follow {words.label(model)}, one {words.label(against)}"
                axes[number, 1].set_title(title, parse_math=False)
                axes[number, 1].set_ylabel("power")
        if label:
            figure.suptitle(f"This is {label.split(':')[0]}; do not report it", x=0.01, ha="left", fontsize=8)
        return figure


def hardest(power: pd.DataFrame, model: str) -> str:
    """Return the model from which another one is the hardest to tell, over all combinations."""
    own = power[(power["model"] == model) & (power["frequency"] == MOST)]
    return str(own.groupby("against", sort=False)["power"].mean().idxmin())
