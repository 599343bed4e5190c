"""What the page on models shows where parameters differ between conditions: the models in each of them."""

from collections.abc import Iterator
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from holmes_fit._support.numbers import listed, probability, share
from holmes_fit.reporting.blocks import Block, Panel, Row, Table, Text, numbers, texts
from holmes_fit.reporting.figures import axes
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import brief, fixed, whole
from holmes_fit.reporting.warnings import warned

FAVOURED = 0.75  # protected exceedance probability
DRAWS = 4000  # from which exceedance probabilities are counted
HOW = (
    "By random-effects model selection from the evidences of single people, their Monte Carlo errors included: in each "
    "condition as if there were no other, and in all together with what does not vary shared."
)


def blocks(data: CohortData) -> Iterator[Block]:
    """Give what was found in all conditions together, then in each."""
    table = data["comparison_by_condition"]
    yield Text(f"{_finding(data, table)}.", "finding")
    yield Text(HOW)
    yield warned(data, "noise", "failures")
    draw = partial(_draw, table=table, words=data.words)
    title, caption = (
        "How many people each model describes",
        "Mean and 95% interval. Dashed: all models equally frequent.",
    )
    yield Row([Panel("comparison_by_condition", draw, title, caption, table=table)], 40 + 15 * len(table))
    yield Table(
        [*texts("condition", "model"), *numbers(*HEADS)], [_cells(row, data.words) for _, row in table.iterrows()]
    )
    if data.has("differences_by_condition"):
        yield from _differences(data)


HEADS = ("share", "95% interval", "exceedance", "protected", "likeliest for", "evidence")


def _cells(row: pd.Series, words: Words) -> list[str]:
    certainty = (probability(row[name], DRAWS) for name in ("exceedance", "protected_exceedance"))
    interval = f"{share(row['frequency_lower'])} to {share(row['frequency_upper'])}"
    likeliest = f"{whole(row['likeliest_for'])} of {whole(row['n_subjects'])}"
    evidence = f"{fixed(row['log_evidence'], 1)} ± {fixed(row['log_evidence_error'], 1)}"
    where = brief(_where(row["condition"]))
    return [where, words.label(row["model"]), share(row["frequency"]), interval, *certainty, likeliest, evidence]


def _where(condition: str) -> str:
    return condition or "all together"


def _finding(data: CohortData, table: pd.DataFrame) -> str:
    told = []
    for condition, own in table.groupby("condition", sort=False):
        first = own.sort_values("frequency", kind="stable").to_dict("records")[-1]
        doubt = "" if first["protected_exceedance"] > FAVOURED else ", which does not stand out"
        where = f"in {brief(str(condition))}" if condition else "in all conditions together"
        told.append(f"{where} {data.words.label(first['model'])} ({share(first['frequency'])} of the people){doubt}")
    labels = listed([data.words.label(name) for name in table["model"].unique()])
    return f"The most frequent of {labels} is {'; '.join(told)}"


def _draw(ax: Axes, table: pd.DataFrame, words: Words) -> Axes:
    labels = []
    for place, row in enumerate(table.to_dict("records")):
        color = words.color(row["model"])
        ax.hlines(place, row["frequency_lower"], row["frequency_upper"], color=color, linewidth=1.8)
        ax.plot(row["frequency"], place, "o", color=color, markersize=5.5, markeredgecolor="white")
        axes.beside(ax, share(row["frequency"]), 1.0, place, color)
        labels.append(f"{_where(brief(row['condition']))}: {words.label(row['model'])}")
    axes.named_rows(ax, labels)
    ax.set_xlim(0, 1)
    axes.reference(ax, 1 / max(2, table["model"].nunique()), axis="x", linestyle=(0, (4, 3)))
    ax.spines["left"].set_visible(False)
    return axes.percent_axis(ax, "x")


def _differences(data: CohortData) -> Iterator[Block]:
    rows = []
    for row in data["differences_by_condition"].to_dict("records"):
        about = [data.words.label(row["model"]), brief(row["above"]), brief(row["below"])]
        interval = f"{fixed(row['lower'], 2)} to {fixed(row['upper'], 2)}"
        rows.append([*about, fixed(row["median"], 2), interval, probability(row["probability_above_0"], DRAWS)])
    yield Text("How much more frequent a model is in one condition than in another", "heading")
    heads = numbers("difference", "95% interval", "above 0")
    yield Table([*texts("model", "in", "than in"), *heads], rows)
