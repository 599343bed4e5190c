"""The published numbers, each with its source, as one tidy table.

Three sources. ``table``: the supplement's table of transfer metrics, mean and SD over 200 parameter pairs. ``figure``:
a figure's caption, or the value that a figure shows. ``results``: the authors' published per-seed results of the
shape-colour task, summarised here as mean, SD and number of units (seeds, or parameter pairs after averaging seeds).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from paper.statistics import TWO_SIDED_95

N_PAIRS = 200


class Published(NamedTuple):
    """One published number.

    ``se`` where an interval was published, ``sd`` where a spread was; otherwise only ``n`` is known. ``unit`` is the
    last digit that was printed.
    """

    study: str
    task: str
    model: str
    metric: str
    value: float
    se: float | None = None
    sd: float | None = None
    n: int = N_PAIRS
    unit: float = 0.001
    source: str = "figure"


# Level, model: recall, precision, F1 as mean and SD (supplement, "Transfer generalization metrics").
TRANSFER = {
    (2, "flat"): ((0.897, 0.147), (0.995, 0.025), (0.918, 0.117)),
    (2, "holmes"): ((0.893, 0.128), (0.656, 0.097), (0.707, 0.106)),
    (3, "flat"): ((0.445, 0.064), (0.661, 0.132), (0.507, 0.064)),
    (3, "holmes"): ((0.655, 0.137), (0.579, 0.091), (0.541, 0.080)),
    (4, "flat"): ((0.329, 0.098), (0.517, 0.076), (0.368, 0.080)),
    (4, "holmes"): ((0.576, 0.186), (0.601, 0.077), (0.468, 0.114)),
    (5, "flat"): ((0.355, 0.085), (0.533, 0.077), (0.397, 0.068)),
    (5, "holmes"): ((0.621, 0.186), (0.590, 0.076), (0.507, 0.110)),
}
# Level, model: entropy, clusters, accuracy over all trials.
REPRESENTATION = {
    (2, "flat"): (0.131, 2.8, 0.967),
    (2, "holmes"): (0.076, 1.6, 0.967),
    (3, "flat"): (0.851, 4.0, 0.858),
    (3, "holmes"): (0.170, 2.1, 0.868),
    (4, "flat"): (1.041, 5.2, 0.827),
    (4, "holmes"): (0.226, 2.7, 0.812),
    (5, "flat"): (1.058, 5.6, 0.831),
    (5, "holmes"): (0.231, 2.9, 0.817),
}
# Half widths of 95% intervals, from captions.
ENTROPY_INTERVAL = {(2, "flat"): 0.030, (2, "holmes"): 0.017}
# HOLMES minus flat, with 95% interval (caption of the transfer figure).
RECALL_ADVANTAGE = {3: (0.210, 0.192, 0.228), 4: (0.247, 0.226, 0.268), 5: (0.266, 0.244, 0.288)}
# Correlation of recall and F1 over parameter pairs; for which model, the paper does not say.
RECALL_F1 = {3: 0.85, 4: 0.95, 5: 0.95}

# Recall in per cent at 2, 3, 4 and 5 levels, 25 parameter cells (the last row was run and not shown).
ABLATION_RECALL = {
    "flat": (89, 44, 32, 36),
    "flat_sticky": (89, 47, 41, 41),
    "holmes": (89, 64, 60, 63),
    "holmes_no_stick": (77, 53, 45, 41),
    "holmes_no_stop": (85, 48, 45, 50),
    "holmes_structure_only": (79, 43, 29, 30),
}
# Accuracy in per cent on the shape-colour task, 10 seeds, 160 training trials.
ABLATION_FORWARD = {"flat": 55, "flat_sticky": 48, "holmes_no_stop": 75, "holmes_no_stick": 93, "holmes": 100}

# Metric, model: mean and SD over 200 seeds of the shape-colour task, 80 training trials.
FORWARD = {
    ("accuracy", "flat"): (0.54375, 0.231661),
    ("accuracy", "holmes"): (0.92625, 0.141327),
    ("separation", "flat"): (0.002282, 0.007976),
    ("separation", "holmes"): (0.040821, 0.020597),
    ("brier", "flat"): (0.248914, 0.003943),
    ("brier", "holmes"): (0.230243, 0.009737),
    ("log_loss", "flat"): (0.690974, 0.007889),
    ("log_loss", "holmes"): (0.653570, 0.019549),
    ("training_accuracy", "flat"): (0.497562, 0.009097),
    ("training_accuracy", "holmes"): (0.532750, 0.024058),
    ("clusters", "flat"): (1.17, 0.389691),
    ("node_separation", "flat"): (0.000499, 0.003471),
    ("node_separation", "holmes"): (0.119461, 0.208082),
    ("best_level", "holmes"): (1.31, 0.989340),
}
# The same over 200 parameter pairs (6 seeds each), 160 training trials, alpha in [0.1, 1], Omega in [0.05, 0.5].
FORWARD_SWEEP = {
    ("accuracy", "flat"): (0.6, 0.123278),
    ("accuracy", "holmes"): (0.837917, 0.097228),
    ("separation", "flat"): (0.004174, 0.004497),
    ("separation", "holmes"): (0.023690, 0.011318),
    ("brier", "flat"): (0.247960, 0.002220),
    ("brier", "holmes"): (0.238470, 0.005435),
    ("log_loss", "flat"): (0.689066, 0.004441),
    ("log_loss", "holmes"): (0.670060, 0.010896),
    ("training_accuracy", "flat"): (0.501125, 0.003987),
    ("training_accuracy", "holmes"): (0.521422, 0.011875),
    ("clusters", "flat"): (1.89, 0.677970),
    ("node_separation", "flat"): (0.003124, 0.004887),
    ("node_separation", "holmes"): (0.126226, 0.092411),
    ("best_level", "holmes"): (1.428333, 0.569441),
}


def published_table() -> pd.DataFrame:
    """Return every published number: study, task, model, metric, value, se, sd, n, unit, source."""
    rows = [*_backward(), *_forward(), *_ablation(), *_sweep()]
    return pd.DataFrame(rows).astype({"se": float, "sd": float})


def _backward() -> Iterator[Published]:
    for (level, model), cells in TRANSFER.items():
        for metric, (mean, sd) in zip(("recall", "precision", "f1"), cells, strict=True):
            yield Published("backward", f"{level}-level", model, metric, mean, sd=sd, source="table")
        entropy, clusters, accuracy = REPRESENTATION[level, model]
        half = ENTROPY_INTERVAL.get((level, model))
        se = None if half is None else half / TWO_SIDED_95
        yield Published("backward", f"{level}-level", model, "entropy", entropy, se=se)
        yield Published("backward", f"{level}-level", model, "clusters", clusters, unit=0.1)
        yield Published("backward", f"{level}-level", model, "accuracy", accuracy)
    for level, (mean, low, high) in RECALL_ADVANTAGE.items():
        yield Published("backward", f"{level}-level", "difference", "recall", mean, se=_se_of(low, high))
    for level, r in RECALL_F1.items():
        for model in ("flat", "holmes", "both"):
            yield Published("backward", f"{level}-level", model, "recall_f1_r", r, unit=0.01, source="table")


def _forward() -> Iterator[Published]:
    for (metric, model), (mean, sd) in FORWARD.items():
        yield Published("forward", "5 + 1", model, metric, mean, sd=sd, unit=0.0, source="results")
    yield Published("forward", "5 + 1", "flat", "accuracy", 0.566, se=0.031 / TWO_SIDED_95)
    yield Published("forward", "5 + 1", "flat", "auc", 0.583, se=_se_of(0.547, 0.620))
    yield Published("forward", "5 + 1", "holmes", "auc", 0.985, se=_se_of(0.979, 0.991))


def _ablation() -> Iterator[Published]:
    for model, recalls in ABLATION_RECALL.items():
        for level, recall in zip((2, 3, 4, 5), recalls, strict=True):
            yield Published("ablation", f"{level}-level", model, "recall", recall / 100, n=25, unit=0.01)
    for model, accuracy in ABLATION_FORWARD.items():
        yield Published("ablation", "10 + 3", model, "accuracy", accuracy / 100, n=10, unit=0.01)


def _sweep() -> Iterator[Published]:
    for average in ("2 to 5 levels", "3 to 5, all"):  # what was averaged, the paper does not say
        yield Published("sweep", average, "difference", "entropy", -0.677)
        yield Published("sweep", average, "difference", "entropy_share", 1.00, unit=0.01)
        yield Published("sweep", average, "difference", "recall_share", 0.94, unit=0.01)
    for (metric, model), (mean, sd) in FORWARD_SWEEP.items():
        yield Published("sweep", "10 + 3", model, metric, mean, sd=sd, unit=0.0, source="results")
    yield Published("sweep", "10 + 3", "difference", "accuracy_share", 0.96, unit=0.005)
    yield Published("sweep", "10 + 3", "difference", "separation_share", 0.995, unit=0.005)


def _se_of(low: float, high: float) -> float:
    """Return the standard error behind a 95% interval."""
    return (high - low) / (2 * TWO_SIDED_95)
