"""Exact one-step predictions of the latent-cause models, by summing over every assignment history.

A particle filter approximates a sum over all ways of assigning the past trials to causes. For a handful of trials that
sum can be carried out in full, and this module does so: no sampling, no resampling, no code shared with the package.
The flat model is the special case of a tree with one level, no stopping and no limit on branches.

A *path* is a tuple of branch indices, one per level, from level 0; a *history* is one path per past trial. Histories
that leave the same counts behind have the same future, so they are merged and their weights added: this is exact, and
it is what makes six or seven trials feasible.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

StickyBy = Literal["branch", "node"]

Path = tuple[int, ...]
LevelCounts = tuple[int, ...]
"""How often each branch of one level was taken, whatever its parent."""


class LeafStatistics(NamedTuple):
    """What one cause has seen. Cues and outcome have their own totals, as the outcome may be hidden."""

    cue_present: tuple[int, ...]
    trials: int
    outcome_present: int
    outcomes_seen: int


class State(NamedTuple):
    """All that the future depends on after some history."""

    counts: tuple[LevelCounts, ...]
    leaves: tuple[tuple[Path, LeafStatistics], ...]
    previous: Path


class Trial(NamedTuple):
    cues: tuple[int, ...]
    outcome: int
    feedback: bool


class Terms(NamedTuple):
    """One trial seen from one leaf: cue likelihood, probability of the outcome, likelihood that enters the weight."""

    cues: float
    outcome_present: float
    weight: float


@dataclass(frozen=True)
class PathPrior:
    """The prior over the next path, given the branch counts so far and the previous trial's path.

    The rules are separate methods so that a test can replace one of them by a plausible mistake.
    """

    levels: int  # 1 for the flat model
    alpha: float
    omega: float
    max_branches: int | None  # None for no limit, as in the flat model
    stops: bool  # whether a path may end before the last level
    sticky: bool
    sticky_by: StickyBy = "branch"
    depth_scale: float = 1.0

    def concentration(self, level: int) -> float:
        return self.alpha * exp(-self.depth_scale * self.alpha * level)

    def stop_probability(self, level: int) -> float:
        """Of ending the path just before ``level``: governed by the level that was entered last."""
        if level == self.levels:
            return 1.0
        if level == 0 or not self.stops:
            return 0.0
        return 1.0 / (1.0 + self.concentration(level - 1))

    def is_boosted(self, path: Path, previous: Path) -> bool:
        """Whether the last branch of ``path`` repeats what the previous trial did at that level."""
        if not self.sticky or len(path) > len(previous):
            return False
        if self.sticky_by == "node":
            return path == previous[: len(path)]
        return path[-1] == previous[len(path) - 1]

    def branch_probabilities(self, counts: LevelCounts, prefix: Path, previous: Path) -> list[float]:
        """Of every branch used so far at this level, then of a new one, where one is allowed."""
        boost = 1.0 + self.omega
        weights = [
            count * (boost if self.is_boosted((*prefix, branch), previous) else 1.0)
            for branch, count in enumerate(counts)
        ]
        if self.max_branches is None or len(counts) < self.max_branches:
            weights.append(self.concentration(len(prefix)))
        total = sum(weights)
        return [weight / total for weight in weights]

    def paths(self, counts: Sequence[LevelCounts], previous: Path, prefix: Path = ()) -> Iterator[tuple[Path, float]]:
        """Every path that begins with ``prefix``, with its probability given that prefix."""
        level = len(prefix)
        stop = self.stop_probability(level)
        if stop > 0.0:
            yield prefix, stop
        if stop == 1.0:
            return
        for branch, probability in enumerate(self.branch_probabilities(counts[level], prefix, previous)):
            for path, rest in self.paths(counts, previous, (*prefix, branch)):
                yield path, (1.0 - stop) * probability * rest

    def leaf(self, path: Path) -> Path:
        """The name under which a path's statistics are kept: the whole path, so that parents tell leaves apart."""
        return path

    def counts_after(self, counts: tuple[LevelCounts, ...], path: Path, feedback: bool) -> tuple[LevelCounts, ...]:
        """Occupancy grows on every trial, whether or not its outcome was shown."""
        return with_path(counts, path)

    def previous_after(self, path: Path, previous: Path) -> Path:
        """Only the latest path is remembered; without stickiness it has no bearing on the future, so not even that."""
        return path if self.sticky else ()


def p_hat_under(
    prior: PathPrior, cues: ArrayLike, outcome: ArrayLike, feedback: ArrayLike, length_normalized: bool = False
) -> NDArray[np.float64]:
    """Probability of the outcome on every trial, given that trial's cues and all that was shown before.

    There may be no cue at all, and the outcome is ignored where there is no feedback. With ``length_normalized``, a
    likelihood is the geometric mean over its features.
    """
    trials = as_trials(cues, outcome, feedback)
    weight_of: dict[State, float] = {State(((),) * prior.levels, (), ()): 1.0}
    p_hat = [predict(prior, weight_of, trials[0], length_normalized)]
    for past, present in pairwise(trials):
        weight_of = carry_over(prior, weight_of, past, length_normalized)
        p_hat.append(predict(prior, weight_of, present, length_normalized))
    return np.array(p_hat)


def as_trials(cues: ArrayLike, outcome: ArrayLike, feedback: ArrayLike) -> list[Trial]:
    cue_rows = np.asarray(cues, dtype=int)
    outcomes, shown = np.asarray(outcome, dtype=int), np.asarray(feedback, dtype=bool)
    if cue_rows.ndim != 2 or not len(cue_rows) == len(outcomes) == len(shown):
        raise ValueError(f"need one row of cues per outcome, got {cue_rows.shape}, {outcomes.shape}, {shown.shape}")
    return [
        Trial(tuple(row), outcome_here, shown_here)
        for row, outcome_here, shown_here in zip(cue_rows.tolist(), outcomes.tolist(), shown.tolist(), strict=True)
    ]


def predict(prior: PathPrior, weight_of: dict[State, float], trial: Trial, length_normalized: bool) -> float:
    """Probability of the outcome over all states and the paths each can take, weighted by the trial's cues."""
    terms_at = likelihood_terms(trial, prior.omega, length_normalized)
    predicted = evidence = 0.0
    for state, weight in weight_of.items():
        leaves = dict(state.leaves)
        for path, probability in prior.paths(state.counts, state.previous):
            terms = terms_at(leaves.get(prior.leaf(path)) or unseen(trial))
            predicted += weight * probability * terms.cues * terms.outcome_present
            evidence += weight * probability * terms.cues
    return predicted / evidence


def carry_over(
    prior: PathPrior, weight_of: dict[State, float], trial: Trial, length_normalized: bool
) -> dict[State, float]:
    """Weights of all states after the trial: every state extended by every path that it can take."""
    terms_at = likelihood_terms(trial, prior.omega, length_normalized)
    successors: dict[State, float] = defaultdict(float)
    for state, weight in weight_of.items():
        leaves = dict(state.leaves)
        for path, probability in prior.paths(state.counts, state.previous):
            statistics = leaves.get(prior.leaf(path)) or unseen(trial)
            leaves_after = leaves | {prior.leaf(path): with_trial(statistics, trial)}
            state_after = State(
                prior.counts_after(state.counts, path, trial.feedback),
                tuple(sorted(leaves_after.items())),
                prior.previous_after(path, state.previous),
            )
            successors[state_after] += weight * probability * terms_at(statistics).weight
    return successors


def likelihood_terms(trial: Trial, omega: float, length_normalized: bool) -> Callable[[LeafStatistics], Terms]:
    """What the trial looks like from a leaf, as a function of that leaf."""

    @cache
    def terms_at(leaf: LeafStatistics) -> Terms:
        cue_factors = [
            beta_bernoulli(value, present, leaf.trials, omega)
            for value, present in zip(trial.cues, leaf.cue_present, strict=True)
        ]
        outcome_factor = beta_bernoulli(trial.outcome, leaf.outcome_present, leaf.outcomes_seen, omega)
        weight_factors = [*cue_factors, outcome_factor] if trial.feedback else cue_factors
        return Terms(
            cues=joint(cue_factors, length_normalized),
            outcome_present=beta_bernoulli(1, leaf.outcome_present, leaf.outcomes_seen, omega),
            weight=joint(weight_factors, length_normalized),
        )

    return terms_at


def beta_bernoulli(value: int, times_present: int, times_seen: int, omega: float) -> float:
    """Predictive probability of a feature's value; ``omega`` is the pseudocount of either value."""
    matches = times_present if value else times_seen - times_present
    return (omega + matches) / (2.0 * omega + times_seen)


def joint(factors: Sequence[float], length_normalized: bool) -> float:
    """Product of the factors, or their geometric mean; 1 if there are none."""
    likelihood = prod(factors)
    return likelihood ** (1.0 / len(factors)) if length_normalized and factors else likelihood


def with_path(counts: tuple[LevelCounts, ...], path: Path) -> tuple[LevelCounts, ...]:
    """Counts after one more visit to every branch on the path; new branches are numbered in order of appearance."""
    grown = list(counts)
    for level, branch in enumerate(path):
        at_level = grown[level]
        if branch == len(at_level):
            grown[level] = (*at_level, 1)
        else:
            grown[level] = (*at_level[:branch], at_level[branch] + 1, *at_level[branch + 1 :])
    return tuple(grown)


def unseen(trial: Trial) -> LeafStatistics:
    return LeafStatistics((0,) * len(trial.cues), 0, 0, 0)


def with_trial(leaf: LeafStatistics, trial: Trial) -> LeafStatistics:
    """The leaf after the trial: cues always count, the outcome only if it was shown."""
    return LeafStatistics(
        tuple(present + value for present, value in zip(leaf.cue_present, trial.cues, strict=True)),
        leaf.trials + 1,
        leaf.outcome_present + (trial.outcome if trial.feedback else 0),
        leaf.outcomes_seen + (1 if trial.feedback else 0),
    )
