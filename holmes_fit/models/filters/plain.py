"""The particle filter in plain Python: the executable specification, one function a step of the paper.

Equation names are those of the paper (Aitsahalia & Iigaya, "Hierarchical Latent Structure Learning through Online
Inference"). The compiled ``kernel`` must do what is written here, draw for draw; the tests hold the two together.
Where the paper's text leaves something open, the comment says what was settled.
"""

import copy
import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters import draws
from holmes_fit.models.filters.settings import History, Settings
from holmes_fit.trials.observations import Observations

Node = tuple[int, ...]  # a node of the tree is its whole prefix of branches; () is the root, where no path ends


@dataclass
class Leaf:
    """A latent cause: how often each feature was present and absent when this cause was at work."""

    present: list[int]
    absent: list[int]


@dataclass
class Particle:
    """One hypothesis: how often each branch was taken at each level, the causes' statistics, and the last path."""

    branch_counts: list[list[int]] = field(default_factory=list)  # level, branch; pooled over parents
    leaves: dict[Node, Leaf] = field(default_factory=dict)
    last_path: Node = ()


@dataclass(frozen=True)
class Trial:
    """What is seen on one trial. Features are the cues in order, then the outcome."""

    features: tuple[int, ...]
    feedback: bool
    length_normalized: bool

    @property
    def cues(self) -> range:
        return range(len(self.features) - 1)

    @property
    def outcome(self) -> int:
        return len(self.features) - 1


@dataclass(frozen=True)
class Draws:
    """The uniforms of one trial of one filter."""

    key: np.uint64
    replicate: int
    trial: int

    def at(self, particle: int, level: int, purpose: int) -> float:
        return float(draws.uniform(self.key, self.replicate, self.trial, particle, level, purpose))


def trace_with_history(
    observations: Observations, settings: Settings, key: np.uint64, replicate: int = 0
) -> tuple[NDArray[np.float64], History]:
    """Return p-hat of every trial, with what every particle did."""
    particles = [Particle() for _ in range(settings.particles)]
    register: dict[Node, int] = {(): 0}
    p_hat, leaves, ancestors = [], [], []
    for number in range(observations.n_trials):
        trial = _trial(observations, number)
        luck = Draws(key, replicate, number)

        paths = [sample_path(particle, settings, luck, p) for p, particle in enumerate(particles)]
        enter_nodes(register, paths)
        causes = [leaf_at(particle, path, len(trial.features)) for particle, path in zip(particles, paths, strict=True)]
        cue_log_likelihoods = [log_likelihood(cause, trial, trial.cues, settings.omega) for cause in causes]
        p_hat.append(predict(causes, cue_log_likelihoods, trial, settings.omega))
        weights = weigh(causes, cue_log_likelihoods, trial, settings.omega)
        for cause in causes:
            update(cause, trial)
        slots = resample(weights, luck, settings.multinomial)
        particles = [descend(particles, slot, parent, settings.shared_counts) for slot, parent in enumerate(slots)]

        leaves.append([register[path] for path in paths])
        ancestors.append(slots)
    return np.array(p_hat), _history(leaves, ancestors, register)


# ------------------------------------------------------------------------------------------------- step 1: the prior


def concentration(settings: Settings, level: int) -> float:
    """Return alpha_l (Eq. depth_decay, with the supplement's depth scale)."""
    return settings.alpha * math.exp(-settings.depth_scale * settings.alpha * level)


def sample_path(particle: Particle, settings: Settings, luck: Draws, p: int) -> Node:
    """Draw a path level by level, never looking at the trial, and count it (trial by trial, feedback or not)."""
    path: Node = ()
    while True:
        level = len(path)
        boosted = boosted_branch(particle.last_path, path, settings)
        if level == len(particle.branch_counts):
            particle.branch_counts.append([])
        counts = particle.branch_counts[level]
        branch = choose_branch(counts, boosted, settings, level, luck.at(p, level, draws.BRANCH))
        if branch == len(counts):
            counts.append(0)
        counts[branch] += 1
        path = (*path, branch)
        if stops_after(level, settings, luck.at(p, level, draws.STOP)):
            particle.last_path = path
            return path


def boosted_branch(last_path: Node, path: Node, settings: Settings) -> int | None:
    """Return the branch that stickiness favours at the next level, if any (Eq. stickiness).

    The equation compares branch indices; by node, the whole prefix has to be that of the previous trial.
    """
    level = len(path)
    if not settings.sticky or level >= len(last_path):
        return None
    if settings.sticky_by_node and last_path[:level] != path:
        return None
    return last_path[level]


def choose_branch(counts: list[int], boosted: int | None, settings: Settings, level: int, u: float) -> int:
    """Choose an old branch by its count, or a new one by alpha_l (Eq. ncrp_existingnew).

    One turn of a wheel: the bonus Omega x count of the boosted branch, then every count, then the new branch. A full
    level opens no new branch, and the first branch at a level is certain.
    """
    if not counts:
        return 0
    bonus = settings.omega * counts[boosted] if boosted is not None else 0.0
    new = concentration(settings, level) if len(counts) < settings.max_branches else 0.0
    point = u * (bonus + sum(counts) + new) - bonus
    if point < 0 and boosted is not None:
        return boosted
    for branch, upper_end in enumerate(itertools.accumulate(counts)):
        if point < upper_end:
            return branch
    return len(counts) if new > 0 else len(counts) - 1  # rounding: the wheel stopped at its very end


def stops_after(level: int, settings: Settings, u: float) -> bool:
    """Say whether the path ends at this level (Eq. stopping: before level l the test uses alpha_(l-1))."""
    if level + 1 == settings.max_depth:
        return True
    return settings.stops and u < 1.0 / (1.0 + concentration(settings, level))


def enter_nodes(register: dict[Node, int], paths: list[Node]) -> None:
    """Number the nodes in the order in which any particle first visits them, level by level."""
    for length in range(1, max(map(len, paths)) + 1):
        for path in paths:
            if len(path) >= length:
                register.setdefault(path[:length], len(register))


def leaf_at(particle: Particle, path: Node, n_features: int) -> Leaf:
    """Return the statistics at the end of the path. A node may be a leaf on one trial and an inner node on another."""
    return particle.leaves.setdefault(path, Leaf([0] * n_features, [0] * n_features))


# ------------------------------------------------------------------------------- steps 2 to 5: predict, weigh, update


def feature_probability(cause: Leaf, feature: int, value: int, omega: float) -> float:
    """Return the Beta-Bernoulli predictive probability of one feature (Eqs. bernoulli_pred and init_nb)."""
    n = omega + cause.present[feature]
    b = omega + cause.absent[feature]
    return (n if value else b) / (n + b)


def log_likelihood(cause: Leaf, trial: Trial, features: range, omega: float) -> float:
    """Return the log-likelihood of some features (Eq. likelihood), or its mean if it is length-normalised."""
    total = sum(math.log(feature_probability(cause, f, trial.features[f], omega)) for f in features)
    return total / len(features) if trial.length_normalized and features else total


def predict(causes: list[Leaf], cue_log_likelihoods: list[float], trial: Trial, omega: float) -> float:
    """Return p-hat, with particles weighted by the cues alone (Eqs. predweight and prediction)."""
    cue_weights = np.exp(np.array(cue_log_likelihoods) - max(cue_log_likelihoods))
    predictions = [feature_probability(cause, trial.outcome, 1, omega) for cause in causes]
    return float(np.sum(cue_weights * predictions) / np.sum(cue_weights))


def weigh(causes: list[Leaf], cue_log_likelihoods: list[float], trial: Trial, omega: float) -> NDArray[np.float64]:
    """Return the weights: all features where the outcome is shown, the cues alone otherwise (Eq. particle_weight)."""
    if not trial.feedback:
        log_weights = np.array(cue_log_likelihoods)
    else:
        everything = range(len(trial.features))
        log_weights = np.array([log_likelihood(cause, trial, everything, omega) for cause in causes])
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def update(cause: Leaf, trial: Trial) -> None:
    """Count the trial in (Eqs. nupdate_full and bupdate_full); without feedback the outcome is not counted."""
    for f in range(len(trial.features)) if trial.feedback else trial.cues:
        cause.present[f] += trial.features[f]
        cause.absent[f] += 1 - trial.features[f]


# ----------------------------------------------------------------------------------------------- step 6: resampling


def resample(weights: NDArray[np.float64], luck: Draws, multinomial: bool) -> list[int]:
    """Return for every slot the particle that is copied into it.

    A particle that survives keeps its slot; further copies fill the slots of dead particles in order. The paper
    resamples multinomially; systematic resampling leaves less to chance.
    """
    n = len(weights)
    upper_ends = np.cumsum(weights)
    if multinomial:
        points = np.array([luck.at(slot, 0, draws.RESAMPLE) for slot in range(n)]) * upper_ends[-1]
    else:
        points = (luck.at(0, 0, draws.RESAMPLE) + np.arange(n)) / n
    last = np.flatnonzero(weights)[-1]  # rounding can leave a point beyond the end
    parents = np.minimum(np.searchsorted(upper_ends, points, side="right"), last)
    spare = [parent for parent, copies in enumerate(np.bincount(parents, minlength=n)) for _ in range(copies - 1)]
    survivors = set(parents.tolist())
    return [slot if slot in survivors else spare.pop(0) for slot in range(n)]


def descend(particles: list[Particle], slot: int, parent: int, shared_counts: bool) -> Particle:
    """Return the particle that goes on in this slot: the survivor itself, or a copy.

    With shared counts, copies go on writing into their parent's branch counts, as the authors' published code does.
    """
    original = particles[parent]
    if slot == parent:
        return original
    return Particle(
        branch_counts=original.branch_counts if shared_counts else copy.deepcopy(original.branch_counts),
        leaves=copy.deepcopy(original.leaves),
        last_path=original.last_path,
    )


# ------------------------------------------------------------------------------------------------------------- records


def _trial(observations: Observations, number: int) -> Trial:
    features = (*observations.cues[number].tolist(), int(observations.outcome[number]))
    return Trial(features, bool(observations.feedback[number]), observations.length_normalized)


def _history(leaves: list[list[int]], ancestors: list[list[int]], register: dict[Node, int]) -> History:
    nodes = list(register)  # in the order of their numbers
    return History(
        leaves=np.array(leaves, dtype=np.int32),
        ancestors=np.array(ancestors, dtype=np.int32),
        parent=np.array([-1] + [register[node[:-1]] for node in nodes[1:]], dtype=np.int32),
        branch=np.array([-1] + [node[-1] for node in nodes[1:]], dtype=np.int32),
        level=np.array([len(node) - 1 for node in nodes], dtype=np.int32),
    )
