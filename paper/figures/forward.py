"""The figure of forward transfer to new colours, in the paper's layout."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, RULE
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.designs import ShapeColor
from paper.compare import StudyResult
from paper.figures import parts
from paper.figures.parts import MODEL_COLORS, Panel, Rows, label_of
from paper.statistics import roc_curve
from paper.studies import PAIR, SHORT
from paper.summaries import LENGTH, exposures, picked

# What the colours of the protocol look like.
PAINT = {"cyan": "#33bbbb", "green": "#339944", "gray": "#999999", "yellow": "#e6c619", "pink": "#f29ebc"}


def new_colors(found: StudyResult) -> Rows:
    """Draw task, accuracy, ROC, example structures and decision variables; both lengths of training."""
    results: list[Panel] = []
    curves: list[Panel] = []
    scores: list[Panel] = []
    for protocol, task in LENGTH.items():
        look = {"ylim": (0, 1.05), "ylabel": "" if results else "accuracy, first exposure"}
        accuracy = partial(parts.bars, found=found, line=0.5, task=task, metric="accuracy")
        results.append(Panel("" if results else "B", f"{task} repetitions", accuracy, look=look))
        curve = partial(roc, found=found, protocol=protocol)
        curves.append(Panel("" if curves else "C", f"ROC, {task}", curve))
        for model in PAIR:
            scored = partial(decision_variable, found=found, protocol=protocol, model=model)
            scores.append(Panel("" if scores else "E", f"{label_of(model)}, {task}", scored))
    shapes = [f"{shape}.{copy}" if copy else shape for copy in range(6) for shape in ("circle", "square")]
    structures = parts.panels_of_trees("D", found.further["trees"], [*shapes, *_design().colors], "{}")
    shares = zip(structures, (0.7, 1.3, 2), strict=True)
    structures = [replace(each, share=share, height=0.95) for each, share in shares]
    first = Panel("A", "Reward follows the shape; two colours are new at test", task_structure, height=0.6)
    return [[first], results + curves, structures, scores]


def _design() -> ShapeColor:
    design = load_protocol(SHORT).generator
    assert isinstance(design, ShapeColor)
    return design


def task_structure(ax: Axes) -> Axes:
    """Draw the two shapes in the colours of training and of the test."""
    colors = _design().colors
    n_trained = len(colors) - _design().test_colors
    parts.empty(ax, 14, 3)
    for row, (marker, text) in enumerate([("o", "rewarded"), ("s", "not rewarded")]):
        y = 1.75 - 1.1 * row
        for place, color in enumerate(colors):
            x = 1 + place + (0.8 if place >= n_trained else 0)
            look: dict[str, Any] = {"color": PAINT.get(color, color), "markeredgecolor": INK, "markeredgewidth": 0.6}
            ax.plot(x, y, marker, markersize=11, **look)
        ax.text(11.9, y, text, va="center")
    ax.text(1 + (n_trained - 1) / 2, 2.55, f"training: {n_trained} colours", ha="center", va="center")
    ax.text(1.3 + n_trained + 0.5 * (len(colors) - n_trained), 2.55, "test", ha="center", va="center")
    ax.axvline(0.9 + n_trained, 0.05, 0.9, color=INK, linewidth=0.8, linestyle="--")
    return ax


def roc(ax: Axes, found: StudyResult, protocol: str) -> Axes:
    """Draw both models' ROC curves, pooled over seeds, with the area under each."""
    ax.plot([0, 1], [0, 1], color=RULE, linestyle="--", linewidth=0.8)
    for model in PAIR:
        p_hat, rewarded = exposures(found.data.trials, protocol, model)
        area = picked(found.summary, task=LENGTH[protocol], model=model, metric="auc").iloc[0]
        false_alarms, hits = roc_curve(p_hat.ravel(), rewarded.ravel())
        ax.plot(false_alarms, hits, color=MODEL_COLORS[model])
        y = 0.24 if model == "holmes" else 0.06
        text = f"AUC {area['value']:.3f}\n[{area['low']:.3f}, {area['high']:.3f}]"
        ax.text(1.0, y, text, color=MODEL_COLORS[model], ha="right", fontsize=7, linespacing=1.1)
    ax.set(xlabel="false alarms", ylabel="hits", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    return ax


def decision_variable(ax: Axes, found: StudyResult, protocol: str, model: str) -> Axes:
    """Draw how far predictions lie from 0.5, in percentage points, for the rewarded shape and the other."""
    p_hat, rewarded = exposures(found.data.trials, protocol, model)
    score = 100 * (p_hat.ravel() - 0.5)
    bins = np.linspace(-8, 8, 33).tolist()
    score = np.clip(score, bins[0], bins[-1])
    for is_rewarded, color, label in ((True, OUTCOME, "rewarded"), (False, NO_OUTCOME, "other")):
        ax.hist(score[rewarded.ravel() == is_rewarded], bins, color=color, alpha=0.6, label=label)
    ax.axvline(0, 0, 0.8, color=INK, linewidth=0.8)
    ax.set_xlabel("p − 0.5, points")
    ax.set_ylim(top=ax.get_ylim()[1] * 1.25)
    if (protocol, model) == (SHORT, PAIR[0]):
        ax.set_ylabel("trials")
        ax.legend(loc="upper left", ncols=2, handlelength=0.8, columnspacing=0.8, borderaxespad=0, fontsize=7)
    return ax
