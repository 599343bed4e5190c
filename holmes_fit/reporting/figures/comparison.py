"""Figures of the comparison: whom each model describes, how frequent it is, and how sure one can be."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from holmes_fit._support.numbers import probability, share
from holmes_fit.reporting.figures import axes
from holmes_fit.reporting.figures.axes import LABEL, Array
from holmes_fit.reporting.names import Words, color_of
from holmes_fit.reporting.run_data import EVERYONE
from holmes_fit.reporting.style import INK
from holmes_fit.reporting.text import shortened, signed, width_of

PAGE = 440.0  # points that the axes of a figure as wide as the page have, about
NAME = 8.5  # points, of a model within its colour
POINTS = 72  # of an inch
GROUP_NAME = 45.0  # points, of a group beside its models
GROUP_GAP = 0.6  # between groups, in lines
STRONG = 3.0  # nats: odds of 20 to 1
GROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # of letters that may lie on a line


def draw_probabilities(
    ax: Axes,
    table: pd.DataFrame,
    models: Sequence[str],
    order: Sequence[str],
    group_of: Mapping[str, str],
    words: Words,
    groups: Sequence[str] = (),
    named: bool = True,
) -> Axes:
    """Draw each person's probabilities of the models as a bar from 0 to 1, with the group's colour above it."""
    wide = table.pivot_table(index="subject", columns="model", values="probability").reindex(list(order))
    shares = wide[list(models)].fillna(0.0).to_numpy(dtype=np.float64).T
    bottoms = np.cumsum(shares, axis=0) - shares
    places, gap = np.arange(len(order)), 0.6 if len(order) <= 60 else 0.0
    for model, own, bottom in zip(models, shares, bottoms, strict=True):
        ax.bar(places, own, 1.0, bottom, color=words.color(model), edgecolor="white", linewidth=gap)
    _write_models(ax, shares, bottoms, models, words)
    for group in groups:
        there = [place for place, name in enumerate(order) if group_of.get(name) == group]
        style: dict[str, Any] = {"color": color_of(group, groups), "label": shortened(group, LABEL, 90)}
        ax.bar(places[there], 0.045, 1.0, 1.025, linewidth=0, clip_on=False, **style)
    if groups:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.06), ncols=len(groups), handlelength=0.9, handleheight=0.9)
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
    axes.reference(ax, 0.5, color="white", linewidth=0.8, zorder=3)
    ax.spines[["left", "bottom"]].set_visible(False)
    if named:
        return axes.people_axis(ax, list(order), PAGE)
    ax.set_xlim(-0.7, len(order) - 0.3)
    ax.set_xticks([])
    ax.set_xlabel(f"{len(order)} people")
    return ax


def _write_models(ax: Axes, shares: Array, bottoms: Array, models: Sequence[str], words: Words) -> None:
    """Write the name of a model where its colour fills the most, unless another name is there."""
    size = np.array([ax.bbox.width, ax.bbox.height]) * POINTS / ax.figure.dpi
    taken: list[Bbox] = []
    for model, own, bottom in zip(models, shares, bottoms, strict=True):
        window = max(1, len(own) // 8)
        mean = np.convolve(own, np.ones(window) / window, mode="valid")
        if mean.max() <= 0.3:
            continue
        at = int(np.argmax(mean)) + window // 2
        y = bottom[at] + own[at] * (0.72 if model == models[-1] else 0.4)
        across = width_of(words.label(model), NAME, "bold") / size[0] * (len(own) + 0.4)
        left = max(-0.3, min(at - 0.5 * across, len(own) - 0.7 - across))  # within the bars
        box = Bbox.from_bounds(left, y - 0.7 * NAME / size[1], across, 1.4 * NAME / size[1])
        if not any(box.overlaps(other) for other in taken):
            ax.text(left, y, words.label(model), color="white", weight="bold", va="center", fontsize=NAME)
            taken.append(box)


def draw_evidence_differences(
    ax: Axes, table: pd.DataFrame, above: str, below: str, order: Sequence[str], words: Words, width: float = PAGE
) -> Axes:
    """Draw how many nats of evidence each person's choices give for one model over another, with their errors."""
    wide = table.pivot_table(index="subject", columns="model", values=["log_evidence", "log_evidence_error"])
    wide = wide.reindex(list(order)).astype(np.float64)
    values = (wide["log_evidence"][above] - wide["log_evidence"][below]).to_numpy()
    errors = np.hypot(wide["log_evidence_error"][above], wide["log_evidence_error"][below]).to_numpy()
    places = np.arange(len(order))
    colors = np.where(values >= 0, words.color(above), words.color(below))
    reach = np.concatenate([values - errors, values + errors, [-STRONG, STRONG]])
    low, high = float(np.nanmin(reach)), float(np.nanmax(reach))
    margin = 0.12 * (high - low)
    ax.axhspan(-STRONG, STRONG, color="#f1f1f1", zorder=0, linewidth=0)
    ax.vlines(places, values - errors, values + errors, color=colors, linewidth=1.2, alpha=0.55)
    ax.scatter(places, values, color=colors, s=22 if len(order) <= 60 else 7, zorder=3, linewidth=0)
    axes.reference(ax, 0.0, color="#777777", zorder=1)
    ax.set_ylim(low - 2 * margin, high + margin)
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=axes.ROUND))
    # People stand in falling order, so that these corners are empty.
    for model, x, y, across, up in ((above, 1.0, 1.0, "right", "top"), (below, 0.008, 0.02, "left", "bottom")):
        style: dict[str, Any] = {"fontsize": LABEL, "color": words.color(model), "weight": "bold"}
        ax.text(x, y, f"{words.label(model)} better", transform=ax.transAxes, ha=across, va=up, **style)
    return axes.people_axis(ax, list(order), width)


def draw_frequencies(
    ax: Axes,
    table: pd.DataFrame,
    models: Sequence[str],
    words: Words,
    groups: Sequence[str],
    in_groups: Sequence[str] = (),
) -> Axes:
    """Draw the share of people whom each model describes: mean, 90% and 95% intervals; everyone, then groups.

    Groups may show fewer models than everyone.
    """
    y, middles, ticks = -1.0 - GROUP_GAP, [], []
    for place, name in enumerate([EVERYONE, *groups]):
        # Of a group that is itself called everyone, the first rows are those of everyone.
        own = table[table["group"] == name].drop_duplicates("model").set_index("model")
        shown = [model for model in (models if place == 0 else in_groups) or models if model in own.index]
        first, y = y + 1 + GROUP_GAP, y + GROUP_GAP
        for model in shown:
            row: dict[Any, float] = own.loc[model].to_dict()
            color, y = words.color(model), y + 1
            ax.hlines(y, row["lower"], row["upper"], color=color, linewidth=1.2)
            ax.hlines(y, row["lower90"], row["upper90"], color=color, linewidth=3.4)
            ax.plot(row["mean"], y, "o", color=color, markersize=6, markeredgecolor="white", markeredgewidth=1)
            told = f"{share(row['mean'])}{f' {words.label(model)}' if place == 0 else ''}"
            axes.beside(ax, told, 1.0, y, color)
        middles.append((first + max(first, y)) / 2)
        ticks.append(shortened(name, LABEL, GROUP_NAME))
    ax.set_yticks(middles, ticks, parse_math=False)
    ax.set_ylim(y + 0.7, -0.7)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1] if len(models) < 3 else [0, 1])  # names of more models leave less room
    axes.reference(ax, 1 / max(2, len(models)), axis="x", linestyle=(0, (4, 3)))
    ax.set_xlabel("share of people")
    return axes.percent_axis(ax, "x")


def draw_exceedance(ax: Axes, comparison: pd.DataFrame, words: Words, draws: float = np.inf) -> Axes:
    """Draw the probability that a model is the most frequent one: protected as a bar, unprotected as a diamond."""
    rows = comparison.dropna(subset=["protected_exceedance"]).to_dict("records")
    for place, row in enumerate(rows):
        color, value = words.color(row["model"]), float(row["protected_exceedance"])
        ax.barh(place, value, 0.56, color=color)
        ax.plot(
            row["exceedance"], place, "D", markersize=5, markerfacecolor="white", markeredgecolor=INK, clip_on=False
        )
        near = max(value, float(np.nan_to_num(row["exceedance"], nan=0.0)))
        at, shade, away = (near, color, 7) if near < 0.72 else (0.03, "white", 0)
        style: dict[str, Any] = {"xytext": (away, 0), "fontsize": 8, "weight": "bold"}
        axes.beside(ax, probability(value, draws), at, place, shade, **style)
    axes.named_rows(ax, [words.label(row["model"]) for row in rows], -0.6, 0.6)
    ax.set_xlim(-0.05, 1.05)  # with room for whole diamonds
    ax.set_xticks([0, 0.5, 1])
    axes.reference(ax, 0.95, axis="x", linestyle=(0, (4, 3)), zorder=2)
    ax.set_xlabel("probability")
    return ax


def draw_differences_of_models(ax: Axes, comparison: pd.DataFrame, column: str, error: str, words: Words) -> Axes:
    """Draw how far each model is from the best, in nats, with its standard error.

    Baselines, and a model that is much worse than all others, would press these together: they are arrows at the edge.
    """
    table = comparison.dropna(subset=[column])
    is_baseline = table["model"].map(words.is_baseline).to_numpy(dtype=bool)
    values = table[column].to_numpy(dtype=np.float64)
    edge, rows = _edge(values[~is_baseline] if (~is_baseline).sum() > 1 else values), table.to_dict("records")
    for place, row in enumerate(rows):
        color, value = words.color(row["model"]), float(row[column])
        spread = float(np.nan_to_num(row.get(error, 0.0), nan=0.0))
        if value >= edge:
            ax.hlines(place, max(value - spread, edge), value + spread, color=color, linewidth=2)
        mark = "o" if value >= edge else "<"
        ax.plot(max(value, edge), place, mark, color=color, markersize=6, markeredgecolor="white")
        told = "best" if value == 0 and spread == 0 else signed(value)
        ink = INK if words.is_baseline(row["model"]) else color
        axes.beside(ax, told, 1.0, place, ink, xycoords=("axes fraction", "data"))
    axes.named_rows(ax, [words.label(row["model"]) for row in rows])
    ax.margins(x=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(2, steps=axes.ROUND))
    axes.reference(ax, 0.0, axis="x")
    ax.set_xlabel("nats")
    return ax


def _edge(values: Array) -> float:
    """Return the lowest difference that is drawn where it is: below all, unless one lies far below several others."""
    lowest, *others = sorted(values)
    far = len(others) > 1 and lowest < 4 * min(others[0], -1.0)
    return 1.8 * min(others[0] if far else lowest, -1.0)


def draw_families(ax: Axes, table: pd.DataFrame, labels: Mapping[str, str]) -> Axes:
    """Draw the share of people whom each family of models describes, with 95% intervals, and which models it has."""
    for place, row in enumerate(table.to_dict("records")):
        ax.hlines(place, row["lower"], row["upper"], color=INK, linewidth=1.6)
        ax.plot(row["mean"], place, "o", color=INK, markersize=6, markeredgecolor="white", markeredgewidth=1)
        told = f"{share(row['mean'])}  {shortened(labels[str(row['family'])], LABEL, 200)}"
        axes.beside(ax, told, 1.0, place, INK, parse_math=False)
    axes.named_rows(ax, [shortened(name, LABEL, 90) for name in table["family"]])
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of people")
    return axes.percent_axis(ax, "x")


def draw_group_differences(ax: Axes, rows: pd.DataFrame, color: str, draws: float = np.inf) -> Axes:
    """Draw differences between groups in the share of people whom a model describes, with 95% intervals."""
    labels = []
    for place, row in enumerate(rows.to_dict("records")):
        ax.hlines(place, row["lower"], row["upper"], color=color, linewidth=1.6)
        ax.plot(row["mean"], place, "o", color=color, markersize=6, markeredgecolor="white")
        told = (
            f"{signed(100 * row['mean'], 0)} points, above 0 with P = {probability(row['probability_above_0'], draws)}"
        )
        style: dict[str, Any] = {"xytext": (0, 7), "ha": "center", "va": "baseline", "color": INK, "bbox": GROUND}
        axes.beside(ax, told, row["mean"], place, **style)
        labels.append(f"{shortened(row['above'], LABEL, 60)} − {shortened(row['below'], LABEL, 60)}")
    axes.named_rows(ax, labels, -0.8, 0.6)
    ax.set_xlim(-1, 1)
    axes.reference(ax, 0.0, axis="x")
    ax.set_xlabel("difference of shares")
    return axes.percent_axis(ax, "x")
