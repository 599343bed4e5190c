"""The paper's metrics, each as a small function of assignments or predictions.

Words in quotation marks are the paper's: main text, "Evaluation metrics", and supplement, "Tasks". Assignments are one
node a trial, ``NO_NODE`` where a trial has none; they come from ``filters.lineage``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters.lineage import NO_NODE

LEAST_ASSIGNED = 5  # "a minimum of 5 valid trials"
EARLY = 0.3  # "the final 70% of trials": what comes before is learning
SMALLEST = 1e-12  # below it, a probability's logarithm is not taken

Labels = NDArray[np.generic]
Floats = NDArray[np.float64]


def accuracy(p_hat: Floats, outcome: Labels) -> float:
    """Return the "proportion of trials on which the model's binarized outcome estimate matched the true outcome".

    An estimate of exactly 0.5 is a prediction of 0, as in the paper's formula [r > 0.5].
    """
    return float(np.mean((p_hat > 0.5) == (outcome == 1)))


def late_accuracy(p_hat: Floats, outcome: Labels) -> float:
    """Return the asymptotic accuracy, "computed from the final 70% of trials"."""
    first = round(EARLY * len(p_hat))
    return accuracy(p_hat[first:], outcome[first:])


def brier(p_hat: Floats, outcome: Labels) -> float:
    """Return the mean squared distance between prediction and outcome."""
    return float(np.mean((p_hat - (outcome == 1)) ** 2))


def log_loss(p_hat: Floats, outcome: Labels) -> float:
    """Return the mean surprise at the outcomes, in nats."""
    p_seen = np.where(outcome == 1, p_hat, 1.0 - p_hat)
    return float(-np.mean(np.log(np.maximum(p_seen, SMALLEST))))


def shape_separation(p_hat: Floats, is_rewarded: Labels) -> float:
    """Return "the difference in mean centered score between these two groups": rewarded shape minus the other."""
    rewarded = is_rewarded == 1
    return float(p_hat[rewarded].mean() - p_hat[~rewarded].mean())


def is_scorable(assigned: Labels) -> bool:
    """Say whether enough trials have a node for a representation to be scored at all."""
    return int(np.sum(assigned != NO_NODE)) >= LEAST_ASSIGNED


def clusters(assigned: Labels) -> float:
    """Return "the total number of distinct cluster identities present in the valid trial assignments"."""
    return float(len(np.unique(assigned[assigned != NO_NODE]))) if is_scorable(assigned) else np.nan


def entropy(assigned: Labels, labels: Labels, normalized: bool = False) -> float:
    """Return the mean entropy of assignments within the true labels, "weighted by label frequency", in nats.

    The supplement divides each label's entropy by the logarithm of its number of clusters; the reported figures do
    not. Trials without a node are left out.
    """
    if not is_scorable(assigned):
        return np.nan
    valid = assigned != NO_NODE
    total = 0.0
    for label in np.unique(labels[valid]):
        counts = np.unique(assigned[valid & (labels == label)], return_counts=True)[1]
        share = counts / counts.sum()
        within = float(-np.sum(share * np.log(share)))
        if normalized:
            within = within / np.log(len(counts)) if len(counts) > 1 else 0.0
        total += counts.sum() * within
    return total / int(valid.sum())


class Transfer(NamedTuple):
    """One-shot transfer of a label from one exemplar to everything that was seen."""

    recall: float
    precision: float
    f1: float


def anchor_trial(labels: Labels) -> int:
    """Return the labelled exemplar: "the first trial in the sequence for which the factor value was 0"."""
    return int(np.flatnonzero(labels == 0)[0])


def transfer(assigned: Labels, labels: Labels) -> Transfer:
    """Return recall, precision and F1 of "assigned to the same cluster" as the exemplar, for category 0.

    A trial without a node is not in the exemplar's cluster. Without a node at the exemplar, nothing can be said.
    """
    anchor = assigned[anchor_trial(labels)]
    if not is_scorable(assigned) or anchor == NO_NODE:
        return Transfer(np.nan, np.nan, np.nan)
    same = assigned == anchor
    member = labels == 0
    hits = int(np.sum(same & member))  # at least one: the exemplar itself
    recall = hits / int(member.sum())
    precision = hits / int(same.sum())
    return Transfer(recall, precision, 2 * precision * recall / (precision + recall))


def node_separation(assigned: Labels, shapes: Labels) -> float:
    """Return how much more often two trials share a node if they share the shape than if they do not.

    Over all pairs of trials that both have a node. Missing where there are no pairs of one of the two kinds.
    """
    valid = assigned != NO_NODE
    names, shape = np.unique(shapes[valid], return_inverse=True)
    _, node = np.unique(assigned[valid], return_inverse=True)
    if len(names) != 2:
        return np.nan
    table = np.zeros((2, int(node.max()) + 1))
    np.add.at(table, (shape, node), 1)
    of_shape = table.sum(axis=1)
    pairs_within = float(np.sum(of_shape * (of_shape - 1) / 2))
    if pairs_within == 0:
        return np.nan
    same_shape = float(np.sum(table * (table - 1) / 2)) / pairs_within
    other_shape = float(np.sum(table[0] * table[1]) / np.prod(of_shape))
    return same_shape - other_shape


def best_level(separations: Floats) -> int:
    """Return the level at which shape separates best; the shallowest of several, -1 if there is none."""
    known = np.isfinite(separations)
    return int(np.argmax(np.where(known, separations, -np.inf))) if known.any() else -1
