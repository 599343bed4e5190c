"""A protocol's design at a glance: which cues come on which trial, and what follows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.errors import plain
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE_SUFFIXES = (".png", ".pdf", ".svg")

# Dark on pale for cues, and two hues of Okabe and Ito's colour-blind safe palette that differ in lightness, too.
ABSENT, PRESENT = "#eeeeee", "#333333"
OUTCOME_0, OUTCOME_1 = "#9ecae9", "#d55e00"
FEEDBACK, BOUNDARY = "#a6a6a6", "#000000"
FONT = 8
GAP = 0.5  # between the rows of different features
LABEL_GAP = 0.25  # between the rows and what is written above them
LONGEST_NAME = 24


@dataclass(frozen=True)
class _Row:
    """One line of the picture: a colour for each trial."""

    label: str
    on: NDArray[np.bool_]
    colors: tuple[str, str]
    opens: bool  # whether a gap comes before it


def draw_design(ax: Axes, protocol: Protocol, trials: pd.DataFrame) -> Axes:
    """Draw one person's trials as a raster: a line for each cue, then outcome and feedback."""
    from matplotlib.colors import ListedColormap

    tops, top = [], 0.0
    rows = list(_rows(protocol, trials))
    for row in rows:
        top += GAP if row.opens else 0.0
        tops.append(top)
        extent = (0.5, len(trials) + 0.5, top + 0.94, top + 0.06)
        colors = ListedColormap(list(row.colors))
        style: dict[str, Any] = {"vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "none"}
        ax.imshow(row.on[np.newaxis].astype(int), cmap=colors, extent=extent, **style)
        top += 1.0
    ax.set_ylim(top, 0)
    ax.set_xlim(0.5, len(trials) + 0.5)
    ax.set_yticks([start + 0.5 for start in tops], [row.label for row in rows], fontsize=FONT, parse_math=False)
    ax.set_xlabel("trial", fontsize=FONT, loc="left", labelpad=1)
    ax.tick_params(axis="x", labelsize=FONT)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    _draw_boundaries(ax, protocol, trials)
    _draw_legend(ax)
    return ax


def save_design(protocol: Protocol, path: Path, seed: int = 0) -> None:
    """Write a picture of the design, for one person drawn with ``seed``; the suffix of ``path`` gives the format."""
    from matplotlib.figure import Figure

    trials = generate_trials(protocol, np.random.default_rng(seed))
    rows = list(_rows(protocol, trials))
    width = float(np.clip(len(trials) / 50, 7.0, 11.0))
    height = 1.5 + 0.19 * (len(rows) + GAP * sum(row.opens for row in rows))
    figure = Figure(figsize=(width, height), dpi=200, layout="constrained")
    ax = draw_design(figure.add_subplot(), protocol, trials)
    space = 22 if any(_part_names(protocol, trials)) else 6
    ax.set_title(protocol.title or protocol.name, fontsize=FONT + 2, loc="left", pad=space, parse_math=False)
    with written_whole(path) as temporary, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # an emoji in a name becomes a box
        figure.savefig(temporary, format=path.suffix[1:].lower())


def _rows(protocol: Protocol, trials: pd.DataFrame) -> Iterator[_Row]:
    opens = False
    for name, feature in protocol.features.items():
        label = plain(name, LONGEST_NAME) + (f" ×{feature.copies}" if feature.copies > 1 else "")
        values = trials[name].to_numpy()
        if feature.levels is None:
            yield _Row(label, values == 1, (ABSENT, PRESENT), opens)
        for position, level in enumerate(feature.levels or ()):
            text = plain(level, LONGEST_NAME)
            named = text if position else f"{label}: {text}"
            yield _Row(named, values == level, (ABSENT, PRESENT), opens and not position)
        opens = feature.levels is not None
    outcome = trials["outcome"].fillna(0).to_numpy() == 1
    yield _Row("outcome", outcome, (OUTCOME_0, OUTCOME_1), opens=True)
    yield _Row("feedback", trials["feedback"].to_numpy(dtype=bool), (ABSENT, FEEDBACK), opens=False)


def _draw_boundaries(ax: Axes, protocol: Protocol, trials: pd.DataFrame) -> None:
    """Mark where a new learner or phase begins, with its name above; a tick at the top says where a block does."""
    names = _part_names(protocol, trials)
    for first, last in _stretches(names):
        if first:
            ax.axvline(first + 0.5, color="white", linewidth=2.0)  # a line alone would be lost among dark cells
            ax.axvline(first + 0.5, color=BOUNDARY, linewidth=0.8)
        middle = (first + last) / 2 + 1
        ax.text(middle, -LABEL_GAP, names[first], ha="center", va="bottom", fontsize=FONT, parse_math=False)
    if "block" in trials:
        edges = [first + 0.5 for first, _ in _stretches(trials["block"].to_numpy()) if first]
        ax.vlines(edges, -LABEL_GAP, 0, color=BOUNDARY, linewidth=1.0, clip_on=False)


def _part_names(protocol: Protocol, trials: pd.DataFrame) -> NDArray[np.object_]:
    """Return what to call the part of the task that each trial is in: restart, else phase, else block."""
    if protocol.columns.restart:
        names = trials[list(protocol.columns.restart)].astype(str).agg(" ".join, axis=1)
        names = f"{plain(protocol.columns.restart[0], LONGEST_NAME)} " + names
        if "condition" in trials:
            names += ", " + trials["condition"].astype(str)
    elif "phase" in trials:
        names = trials["phase"].astype(str)
    elif "block" in trials:
        names = "block " + trials["block"].astype(str)
    else:
        names = pd.Series("", index=trials.index)
    return names.to_numpy(dtype=object)


def _stretches(values: NDArray[np.generic]) -> Iterator[tuple[int, int]]:
    """Give the first and the last position of each stretch of equal values."""
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    for first, end in pairwise(starts):
        yield first, end - 1


def _draw_legend(ax: Axes) -> None:
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    # On the line of the axis label, whatever the height of the axes.
    figure = ax.get_figure(root=True)
    assert figure is not None
    below = ScaledTranslation(0, -17 / 72, figure.dpi_scale_trans)
    kinds = {"cue present": PRESENT, "outcome 1": OUTCOME_1, "outcome 0": OUTCOME_0, "outcome shown": FEEDBACK}
    ax.legend(
        handles=[Patch(color=color, label=label) for label, color in kinds.items()],
        loc="upper right",
        bbox_to_anchor=(1.0, 0.0),
        bbox_transform=ax.transAxes + below,
        ncols=len(kinds),
        fontsize=FONT,
        frameon=False,
        handlelength=1.0,
        handleheight=1.0,
        columnspacing=1.2,
        borderaxespad=0.0,
    )
