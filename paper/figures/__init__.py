"""The figures of every study, in the paper's layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.figure import FigureBase

from paper.figures import ablation, backward, conditioning, forward, sweep
from paper.studies import Study
from paper.summaries import Data, conditioning_tests


@dataclass(frozen=True)
class Picture:
    """A figure that can be drawn onto a page or into a file of its own, by any process. ``height`` is in inches."""

    name: str
    height: float
    caption: str
    draw: Callable[[FigureBase], FigureBase]


KEY = "Error bars are 95% intervals; open diamonds are published values."


def pictures(
    study: Study, data: Data, summary: pd.DataFrame, published: pd.DataFrame, trees: pd.DataFrame | None
) -> list[Picture]:
    """Return the figures of a study."""
    published = published[published["study"] == study]
    if study == "backward":
        assert trees is not None
        return _backward(data, summary, published, trees)
    if study == "forward":
        assert trees is not None
        return _forward(data, summary, published, trees)
    if study == "conditioning":
        return _conditioning(data, summary)
    if study == "ablation":
        return _ablation(summary, published)
    return _sweep(data)


def _backward(data: Data, summary: pd.DataFrame, published: pd.DataFrame, trees: pd.DataFrame) -> list[Picture]:
    runs = data.runs["compositional"]
    return [
        Picture(
            "compression",
            6.9,
            "Compression. HOLMES predicts outcomes as well as the flat model with a smaller representation. "
            "A: the simplest task. B, C: accuracy over all trials and entropy of clusters within true categories. "
            "D: accuracy on the final 70% of trials. E: what the two models learned in one run (area: share of trials; "
            "colour: share with the outcome, from blue to orange; below: category and number of trials). "
            f"F, G: entropy and number of clusters at the highest category level. {KEY}",
            partial(backward.compression, summary=summary, published=published, trees=trees),
        ),
        Picture(
            "transfer",
            7.0,
            "One-shot transfer. A: the procedure. B, C: recall of the highest category, and the advantage of HOLMES. "
            "D: recall at every category level of the deepest task. E: transfer against accuracy, one point for each "
            f"parameter pair, with regression lines and 95% confidence bands. {KEY}",
            partial(backward.transfer, summary=summary, published=published, runs=runs),
        ),
    ]


def _forward(data: Data, summary: pd.DataFrame, published: pd.DataFrame, trees: pd.DataFrame) -> list[Picture]:
    trials = data.trials["shape_color"]
    caption = (
        "Forward transfer to new colours. A: the task. B: accuracy at the first exposure to each new pair, for the "
        "length that was run for the paper (5 training repetitions + 1 at test) and the one that its text describes "
        "(10 + 3). C: ROC curves pooled over seeds; intervals are bootstrapped over seeds. D: what was learned in the "
        "first run, and in the run in which HOLMES told the shapes apart best, with 5 + 1 repetitions (area: share of "
        "trials; colour: share with reward, from blue to orange; below: shape and number of trials; nodes with fewer "
        "than 3% of the trials are left out). E: distance of predictions from 0.5 (what lies beyond 8 points "
        "is in the outermost "
        f"bins). {KEY}"
    )
    return [
        Picture(
            "new_colors",
            8.3,
            caption,
            partial(forward.new_colors, summary=summary, published=published, trials=trials, trees=trees),
        )
    ]


def _conditioning(data: Data, summary: pd.DataFrame) -> list[Picture]:
    tests = conditioning_tests(data.runs["conditioning"])
    caption = (
        "Conditioning and extinction, where there is no hierarchy to be found. A: what an ideal observer would expect. "
        "B: predictions in the final 20% of each phase, and number of clusters; p of a paired t test over seeds. "
        "Below: mean predictions after each cue, with 95% intervals."
    )
    trials = data.trials["conditioning"]
    return [
        Picture(
            "conditioning",
            5.4,
            caption,
            partial(conditioning.conditioning, summary=summary, tests=tests, trials=trials),
        )
    ]


def _ablation(summary: pd.DataFrame, published: pd.DataFrame) -> list[Picture]:
    caption = (
        "Ablations. A: recall of the highest category. B: accuracy at the first exposure to new colours. “Structure "
        f"only” has neither stopping nor stickiness; the paper ran it and did not show it. {KEY}"
    )
    return [Picture("ablation", 3.8, caption, partial(ablation.ablation, summary=summary, published=published))]


def _sweep(data: Data) -> list[Picture]:
    runs, forward_runs = data.runs["compositional"], data.runs["shape_color_sweep"]
    return [
        Picture(
            "sweep_maps",
            7.8,
            "The plane of α and Ω. A: accuracy and recall, mean of the tasks of 2 to 5 levels, of HOLMES and as a "
            "difference from flat; a star marks the highest. B: recall of HOLMES by levels, on one scale. C: recall "
            "against accuracy by levels (flat grey, HOLMES violet), with regression lines and 95% bands.",
            partial(sweep.maps, compositional=runs),
        ),
        Picture(
            "sweep_advantages",
            8.8,
            "The advantage of HOLMES along α and Ω, one point for each parameter pair, with regression lines and 95% "
            "bands. A to D: backward transfer, mean of the tasks of 2 to 5 levels. E to H: forward transfer with 160 "
            "training trials.",
            partial(sweep.advantages, compositional=runs, shape_color=forward_runs),
        ),
    ]
