"""What one learner sees: the arrays that every model takes, and the checks that make them safe to use."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holmes_fit._support.errors import Problems, Quoted

MAX_TRIALS = 65_535  # feature counts are 16-bit integers in the filter
MISSED = -1  # a choice that was not made


class Stimuli(NamedTuple):
    """The stimuli of a learner, numbered from 0 as they first appear."""

    shown: NDArray[np.intp]  # trials, the number of the stimulus
    values: NDArray[np.intp]  # stimuli x features: numbers that differ where a feature has another value


@dataclass(frozen=True)
class Observations:
    """The trial sequence of one learner, checked and ready for a filter."""

    cues: NDArray[np.uint8]  # trials x cues, 0 or 1
    outcome: NDArray[np.uint8]  # trials, 0 or 1. Ignored by every model on trials without feedback
    feedback: NDArray[np.bool_]  # trials, whether the outcome was shown
    # Whether likelihoods are replaced by their geometric mean over features, so that they do not depend on the number
    # of redundant copies by which a feature is encoded
    length_normalized: bool = False
    parts: tuple[int, ...] = ()  # how many cues in turn make up a feature; one each, if it is empty

    @property
    def n_trials(self) -> int:
        return self.cues.shape[0]

    @property
    def n_cues(self) -> int:
        return self.cues.shape[1]

    @cached_property
    def feature_of_cue(self) -> NDArray[np.intp]:
        """The number of the feature that each cue belongs to."""
        parts = self.parts or (1,) * self.n_cues
        return np.repeat(np.arange(len(parts)), parts)

    @cached_property
    def stimuli(self) -> Stimuli:
        """What was shown, as whole stimuli and as values of features."""
        numbers: dict[bytes, int] = {}
        shown = np.array([numbers.setdefault(cues.tobytes(), len(numbers)) for cues in self.cues], dtype=np.intp)
        first = np.unique(shown, return_index=True)[1]
        n_features = len(np.unique(self.feature_of_cue))
        values = np.zeros((len(first), n_features), dtype=np.intp)
        for feature in range(n_features):
            own = np.ascontiguousarray(self.cues[first][:, self.feature_of_cue == feature])
            values[:, feature] = np.unique(own, axis=0, return_inverse=True)[1].ravel()
        return Stimuli(shown, values)


def observations_from_matrix(
    X: ArrayLike, outcome: int = -1, feedback: ArrayLike | None = None, length_normalized: bool = False
) -> Observations:
    """Split a binary matrix (trials x features) into cues and outcome."""
    problems = Problems()
    matrix = _as_array(X, "X", problems)
    if matrix is not None and _is_trials_by_features(matrix, problems):
        _check_binary(matrix, "X", problems)
        _check_column(outcome, matrix.shape[1], problems)
    shown = None if feedback is None else _as_array(feedback, "feedback", problems)
    if shown is not None:
        _check_binary(shown, "feedback", problems)
        if matrix is not None and matrix.ndim == 2 and shown.shape != matrix.shape[:1]:
            problems.add("argument feedback", Quoted(f"shape {shown.shape}"), f"one entry a trial, {matrix.shape[:1]}")
    if not isinstance(length_normalized, (bool, np.bool_)):
        problems.add("argument length_normalized", length_normalized, "True or False")
    problems.raise_if_any()
    assert matrix is not None
    features = np.ascontiguousarray(matrix, dtype=np.uint8)
    column = outcome % features.shape[1]
    return Observations(
        cues=np.ascontiguousarray(np.delete(features, column, axis=1)),
        outcome=np.ascontiguousarray(features[:, column]),
        feedback=np.ones(len(features), dtype=np.bool_) if shown is None else np.asarray(shown, dtype=np.bool_),
        length_normalized=bool(length_normalized),
    )


def _as_array(value: ArrayLike, name: str, problems: Problems) -> NDArray[np.generic] | None:
    try:
        array = np.asarray(value)
    except ValueError:
        problems.add(f"argument {name}", Quoted("rows of unequal length"), "a rectangular array of 0 and 1")
        return None
    if array.dtype.kind not in "biuf":
        problems.add(f"argument {name}", Quoted(f"entries of type {array.dtype}"), "numbers 0 and 1")
        return None
    return array


def _is_trials_by_features(matrix: NDArray[np.generic], problems: Problems) -> bool:
    fits = matrix.ndim == 2 and 1 <= matrix.shape[0] <= MAX_TRIALS and matrix.shape[1] >= 1
    if not fits:
        allowed = f"trials x features, 1 to {MAX_TRIALS} trials and a column each"
        problems.add("argument X", Quoted(f"shape {matrix.shape}"), allowed)
    return fits


def _check_binary(array: NDArray[np.generic], name: str, problems: Problems) -> None:
    wrong = np.argwhere(~np.isin(array, (0, 1)))
    if len(wrong):
        first = tuple(int(i) for i in wrong[0])
        seen = Quoted(f"{array[first]} at {list(first)}" + (f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""))
        problems.add(f"argument {name}", seen, "0 and 1", "Encode a categorical feature by one column a level.")


def _check_column(outcome: int, n_features: int, problems: Problems) -> None:
    if isinstance(outcome, bool) or not isinstance(outcome, (int, np.integer)):
        problems.add("argument outcome", outcome, "the number of a column of X")
    elif not -n_features <= outcome < n_features:
        problems.add("argument outcome", int(outcome), f"a column of X, {-n_features} to {n_features - 1}")
