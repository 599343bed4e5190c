"""Panels about recovery, drawn from the tables of a study. Every function takes and returns the axes it draws on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from holmes_fit.reporting.style import INK, MODEL_COLORS, PALE, RULE
from holmes_fit.uniformity import binned, bins_for, ecdf_band

OTHER_COLORS = ("#0072b2", "#009e73", "#cc79a7")  # of Okabe and Ito, for models without a colour of their own
NICE = (1.0, 2.0, 5.0)
MOST_TICKS = 3
MOST_WITH_INTERVALS = 3  # models, whose shares have room for their intervals
LETTERS_ACROSS = 36  # of names of models beside each other


def color_of(model: str, number: int = 0) -> str:
    """Return the colour of a model."""
    return MODEL_COLORS.get(model, OTHER_COLORS[number % len(OTHER_COLORS)])


def truth_and_estimate(ax: Axes, people: pd.DataFrame, color: str = INK, pooled: bool = False) -> Axes:
    """Draw one parameter of one model: estimates with their 95% intervals against the truth.

    Parameters
    ----------
    ax
        The axes.
    people
        Rows of ``recovery_people.csv``.
    color
        That of the model.
    pooled
        Show pooled estimates instead of those of each person alone.
    """
    lower, upper, middle = (
        ("pooled_lower", "pooled_upper", "pooled_on_scale") if pooled else ("lower", "upper", "mean_on_scale")
    )
    scale = str(people["scale"].iloc[0])
    truth = people["truth_on_scale"].to_numpy(dtype=np.float64)
    mean = people[middle].to_numpy(dtype=np.float64)
    ends = [_scaled(people[name].to_numpy(dtype=np.float64), scale) for name in (lower, upper)]
    is_covered = people["pooled_covered" if pooled else "covered"].astype(bool).to_numpy()
    for shown, style in ((is_covered, {"alpha": 0.3}), (~is_covered, {"alpha": 0.8, "linestyle": ":"})):
        ax.vlines(truth[shown], ends[0][shown], ends[1][shown], color=color, linewidth=0.7, **style)
    ax.plot(truth[is_covered], mean[is_covered], "o", color=color, markersize=2.6, markeredgewidth=0)
    ax.plot(truth[~is_covered], mean[~is_covered], "o", color=color, markersize=2.9, markerfacecolor="white")
    everything = np.concatenate([truth, mean])
    limits = float(everything.min()), float(everything.max())
    margin = 0.12 * max(limits[1] - limits[0], 1e-3)
    ax.plot(limits, limits, color=INK, linewidth=0.7, zorder=0)
    ax.set_xlim(limits[0] - margin, limits[1] + margin)
    ax.set_ylim(min(limits[0], float(np.min(ends[0]))) - margin, max(limits[1], float(np.max(ends[1]))) + margin)
    for axis in (ax.xaxis, ax.yaxis):
        low, high = ax.get_xlim() if axis is ax.xaxis else ax.get_ylim()
        axis.set_major_locator(FixedLocator(_ticks(low, high, scale)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda at, _: f"{_natural(at, scale):.3g}"))
    ax.set_xlabel("truth")
    ax.set_ylabel("pooled estimate" if pooled else "estimate")
    return ax


def _scaled(values: NDArray[np.float64], scale: str) -> NDArray[np.float64]:
    if scale == "log":
        return np.log(values)
    return np.log(values) - np.log1p(-values) if scale == "logit" else values


def _natural(at: float, scale: str) -> float:
    if scale == "log":
        return float(np.exp(at))
    return float(1 / (1 + np.exp(-at))) if scale == "logit" else at


def _ticks(low: float, high: float, scale: str) -> list[float]:
    """Return round natural values, not too close, as positions on the scale."""
    if scale == "identity":
        return [float(at) for at in np.linspace(low, high, MOST_TICKS + 2)[1:-1]]
    powers = [digit * 10.0**power for power in range(-4, 4) for digit in NICE]
    inside = [value for value in powers if scale == "log" or value < 1]
    inside += [1 - value for value in inside if scale == "logit" and value < 0.5]
    at = np.sort(_scaled(np.array(inside), scale))
    at = at[(low <= at) & (at <= high)]
    step = max(1, -(-len(at) // MOST_TICKS))
    return [float(each) for each in at[::step]]


def measure_points(ax: Axes, recovery: pd.DataFrame, measure: str, model: str, number: int = 0) -> Axes:
    """Draw one measure of all parameters of a model by estimator, with 95% intervals.

    Parameters
    ----------
    ax
        The axes.
    recovery
        ``recovery.csv``.
    measure
        One of its measures.
    model, number
        The model, and its number among those shown, for its colour.
    """
    rows = recovery[(recovery["model"] == model) & (recovery["measure"] == measure)]
    parameters = list(dict.fromkeys(rows["parameter"]))
    estimators = [name for name in ("ml", "map", "mean", "pooled") if name in set(rows["estimator"])]
    offsets = dict(zip(estimators, np.linspace(-0.24, 0.24, len(estimators)), strict=True)) if estimators else {}
    if len(estimators) == 1:
        offsets = dict.fromkeys(estimators, 0.0)
    markers = {"ml": "v", "map": "s", "mean": "o", "pooled": "D"}
    color = color_of(model, number)
    for estimator in estimators:
        own = rows[rows["estimator"] == estimator].set_index("parameter").reindex(parameters)
        x = np.arange(len(parameters)) + offsets[estimator]
        value = own["value"].to_numpy(dtype=np.float64)
        ends = np.abs(np.stack([value - own["lower"], own["upper"] - value]).astype(np.float64))
        face = color if estimator in ("mean", "pooled") else "white"
        ax.errorbar(
            x,
            value,
            ends,
            fmt=markers[estimator],
            color=color,
            markerfacecolor=face,
            markersize=4,
            linewidth=0.9,
            label=estimator,
        )
    ax.set_xticks(range(len(parameters)), parameters)
    ax.set_xlim(-0.6, max(len(parameters), 1) - 0.4)
    return ax


def coverage_points(ax: Axes, recovery: pd.DataFrame, model: str, number: int = 0) -> Axes:
    """Draw how many 95% intervals hold the truth; the band is what chance allows 99% of the time."""
    from scipy.stats import binom

    rows = recovery[(recovery["model"] == model) & (recovery["measure"] == "coverage")]
    if len(rows):
        n = int(rows["n"].max())
        low, high = (float(end) / n for end in binom.interval(0.99, n, 0.95))
        ax.axhspan(low, high, color=PALE, zorder=0)
    ax.axhline(0.95, color=INK, linewidth=0.7)
    measure_points(ax, recovery, "coverage", model, number)
    ax.set_ylim(min(0.75, float(rows["lower"].min()) - 0.03 if len(rows) else 0.75), 1.01)
    ax.set_ylabel("coverage")
    return ax


def choice_matrix(ax: Axes, confusion: pd.DataFrame, criterion: str, inverted: bool = False) -> Axes:
    """Draw a matrix of models: which is chosen for those who follow one, or, inverted, whom it was chosen for.

    Parameters
    ----------
    ax
        The axes.
    confusion
        ``confusion.csv``.
    criterion
        ``"bic"``, ``"evidence"`` or ``"pooled"``.
    inverted
        Show the probability of the truth given the choice.

    Notes
    -----
    Shares of up to three models have their intervals below them; ``confusion.csv`` has all.
    """
    rows = confusion[confusion["criterion"] == criterion]
    models = list(dict.fromkeys(rows["truth"]))
    column = "inversion" if inverted else "share"
    values = rows.pivot(index="truth", columns="chosen", values=column).reindex(index=models, columns=models)
    ax.imshow(values.to_numpy(dtype=np.float64), cmap="Purples", vmin=0, vmax=1.25, aspect="auto")
    at = rows.set_index(["truth", "chosen"])
    for i, truth in enumerate(models):
        for j, chosen in enumerate(models):
            value = values.loc[truth, chosen]
            text = "–" if pd.isna(value) else f"{value:.2f}"
            if not inverted and not pd.isna(value) and len(models) <= MOST_WITH_INTERVALS:
                text += f"\n{at.loc[(truth, chosen), 'lower']:.2f}–{at.loc[(truth, chosen), 'upper']:.2f}"
            ax.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if value > 0.75 else INK)
    is_short = max(map(len, models)) * len(models) <= LETTERS_ACROSS
    ax.set_xticks(range(len(models)), models, rotation=0 if is_short else 30, ha="center" if is_short else "right")
    ax.set_yticks(range(len(models)), models)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xlabel("chosen")
    ax.set_ylabel("truth")
    return ax


def power_curves(ax: Axes, power: pd.DataFrame, model: str, against: str, rule: str) -> Axes:
    """Draw how often a model is found to be the more frequent one, by its true frequency and the size of the group."""
    rows = power[(power["model"] == model) & (power["against"] == against) & (power["rule"] == rule)]
    sizes = sorted(rows["group_size"].unique())
    for number, size in enumerate(sizes):
        own = rows[rows["group_size"] == size].sort_values("frequency")
        value = own["power"].to_numpy(dtype=np.float64)
        ends = np.stack([value - own["lower"], own["upper"] - value]).clip(0).astype(np.float64)
        ax.errorbar(
            own["frequency"] + 0.006 * (number - (len(sizes) - 1) / 2),
            value,
            ends,
            color=color_of(model),
            alpha=0.3 + 0.7 * (number + 1) / len(sizes),
            marker="os^Dv<>"[number % 7],
            markersize=3.5,
            elinewidth=0.8,
            capsize=0,
            label=f"{size} people",
        )
    ax.axhline(0.8, color=RULE, linewidth=0.7, zorder=0)
    ax.axhline(0.05, color=RULE, linewidth=0.7, linestyle=":", zorder=0)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel(f"true frequency of {model},\nwhere others follow {against}")
    ax.set_ylabel("power")
    return ax


def rank_histogram(ax: Axes, ranks: pd.DataFrame, color: str = INK) -> Axes:
    """Draw the ranks of truths among posterior draws in bins, with what chance allows 99% of the time in each.

    Parameters
    ----------
    ax
        The axes.
    ranks
        Rows of ``sbc.csv``, of one parameter.
    color
        That of the model.
    """
    from scipy.stats import binom

    values, n_draws = ranks["rank"].to_numpy(dtype=np.int64), int(ranks["n_draws"].iloc[0])
    found = binned(values, n_draws, min(bins_for(len(values)), n_draws + 1))
    starts = np.append(0.0, found.ends[:-1])
    share = found.expected / len(values)
    low, high = binom.interval(0.99, len(values), share)
    ax.bar(starts, high - low, found.ends - starts, low, align="edge", color=PALE, zorder=0)
    ax.bar(starts, found.counts, found.ends - starts, align="edge", color=color, alpha=0.75, edgecolor="white")
    ax.set_xlim(0, 1)
    ax.set_xlabel("rank of the truth")
    ax.set_ylabel("people")
    return ax


def rank_ecdf(ax: Axes, ranks: pd.DataFrame, color: str = INK) -> Axes:
    """Draw how far the ECDF of ranks lies from that of uniform ones, with its simultaneous 95% band."""
    values, n_draws = ranks["rank"].to_numpy(dtype=np.int64), int(ranks["n_draws"].iloc[0])
    band = ecdf_band(len(values), n_draws)
    ax.fill_between(band.points, band.lower - band.points, band.upper - band.points, color=PALE, linewidth=0)
    ax.axhline(0, color=INK, linewidth=0.7)
    at = np.linspace(0, 1, 1001)
    below = np.searchsorted(np.sort((values + 0.5) / (n_draws + 1)), at, side="right") / len(values)
    ax.plot(at, below - at, color=color, linewidth=1.1)
    ax.set_xlim(0, 1)
    ax.set_xlabel("rank of the truth")
    ax.set_ylabel("ECDF − uniform")
    return ax
