"""The competing models a second time: plain Python, a trial at a time, in the words and order of the papers.

Nothing is shared with the package. A stimulus is a tuple of values, one a feature, whatever they are; ``levels`` says
how many values each feature can have. Categories are "A" (the outcome follows) and "B". ``None`` stands for a trial
without feedback. Every function returns the probability of A before each trial, at the response sharpness at which
the package leaves it to beta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Stimulus = tuple[int, ...]
Trials = Sequence[tuple[Stimulus, str | None]]


def exponential_choice(activation: dict[str, float], sharpness: float) -> float:
    """Probability of A by the exponential ratio rule of ALCOVE (equation 3) and SUSTAIN (equation 8)."""
    top = max(activation.values())
    strengths = {name: math.exp(sharpness * (value - top)) for name, value in activation.items()}
    return strengths["A"] / sum(strengths.values())


def alcove(
    trials: Trials,
    specificity: float,
    association_rate: float,
    attention_rate: float,
    gradient: float = 1.0,
    sharpness: float = 1.0,
) -> list[float]:
    """Kruschke (1992), equations 1 to 6, with q / r = gradient; a hidden node for each stimulus since it was shown."""
    n_features = len(trials[0][0])
    attention = [1.0 / n_features] * n_features

    def fall(node: Stimulus, stimulus: Stimulus, attention: Sequence[float]) -> float:
        """How fast the logarithm of similarity falls with distance, at this distance."""
        away = sum(a for a, x, y in zip(attention, node, stimulus, strict=True) if x != y)
        if away == 0:
            return specificity if gradient == 1 else 0.0
        return specificity * gradient * away ** (gradient - 1)

    nodes: list[Stimulus] = []
    association: dict[tuple[str, Stimulus], float] = {}
    answers = []
    for stimulus, category in trials:
        if stimulus not in nodes:
            nodes.append(stimulus)
            association |= {("A", stimulus): 0.0, ("B", stimulus): 0.0}
        hidden = {}
        for node in nodes:
            away = [attention[i] * float(node[i] != stimulus[i]) for i in range(n_features)]
            hidden[node] = math.exp(-specificity * sum(away) ** gradient)
        output = {k: sum(association[k, node] * hidden[node] for node in nodes) for k in "AB"}
        answers.append(exponential_choice(output, sharpness))
        if category is None:
            continue
        teacher = {k: max(1.0, output[k]) if k == category else min(-1.0, output[k]) for k in "AB"}
        error = {k: teacher[k] - output[k] for k in "AB"}
        slopes = []
        for i in range(n_features):
            blamed = [
                sum(error[k] * association[k, node] for k in "AB")
                * hidden[node]
                * fall(node, stimulus, attention)
                * float(node[i] != stimulus[i])
                for node in nodes
            ]
            slopes.append(-attention_rate * sum(blamed))
        for node in nodes:
            for k in "AB":
                association[k, node] += association_rate * error[k] * hidden[node]
        attention = [max(0.0, attention[i] + slopes[i]) for i in range(n_features)]
    return answers


def context_model(
    trials: Trials, specificity: float, decay: float, background: float, gradient: float = 1.0
) -> list[float]:
    """Nosofsky (1986) with equal attention, and strengths that decay with every trial (Nosofsky & Palmeri, 1997)."""
    answers = []
    for now, (stimulus, _) in enumerate(trials):
        evidence = {"A": background, "B": background}
        for then, (exemplar, category) in enumerate(trials[:now]):
            if category is not None:
                distance = sum(a != b for a, b in zip(stimulus, exemplar, strict=True)) / len(stimulus)
                evidence[category] += math.exp(-decay * (now - then)) * math.exp(-specificity * distance**gradient)
        answers.append(evidence["A"] / (evidence["A"] + evidence["B"]))
    return answers


class Cluster:
    """A cluster of SUSTAIN: where it is, value by value of each feature, and its weights to the categories."""

    def __init__(self, stimulus: Stimulus, levels: Sequence[int]):
        self.place = one_of_each(stimulus, levels)
        self.weight = {"A": 0.0, "B": 0.0}

    def distances(self, stimulus: Stimulus, levels: Sequence[int]) -> list[float]:
        """Equation 4."""
        shown = one_of_each(stimulus, levels)
        return [
            0.5 * sum(abs(a - b) for a, b in zip(here, there, strict=True))
            for here, there in zip(shown, self.place, strict=True)
        ]


def one_of_each(stimulus: Stimulus, levels: Sequence[int]) -> list[list[float]]:
    """Each feature as a list with 1 for the value that is shown."""
    return [[float(value == k) for k in range(n)] for value, n in zip(stimulus, levels, strict=True)]


def sustain(
    trials: Trials,
    levels: Sequence[int],
    rate: float,
    focus: float,
    competition: float,
    sharpness: float = 5.0,
) -> list[float]:
    """Love, Medin & Gureckis (2004), equations 4 to 10 and 12 to 14, under supervised learning."""
    tuning = [1.0 for _ in levels]
    clusters: list[Cluster] = []

    def activation(cluster: Cluster, stimulus: Stimulus) -> float:
        away = cluster.distances(stimulus, levels)
        felt = sum(t**focus * math.exp(-t * mu) for t, mu in zip(tuning, away, strict=True))
        return felt / sum(t**focus for t in tuning)

    def outputs(winner: Cluster, stimulus: Stimulus) -> tuple[float, dict[str, float]]:
        active = activation(winner, stimulus)
        inhibited = active**competition / sum(activation(each, stimulus) ** competition for each in clusters)
        return inhibited * active, {k: inhibited * active * winner.weight[k] for k in "AB"}

    answers = []
    for stimulus, category in trials:
        out, predicted = 0.0, {"A": 0.0, "B": 0.0}
        highest = max((activation(each, stimulus) for each in clusters), default=0.0)
        winner = next((each for each in clusters if activation(each, stimulus) >= highest * (1 - 1e-12)), None)
        if winner is not None:
            out, predicted = outputs(winner, stimulus)
        answers.append(exponential_choice(predicted, sharpness))
        if category is None:
            continue
        other = "B" if category == "A" else "A"
        if winner is None or (predicted[category] <= predicted[other] and any(winner.distances(stimulus, levels))):
            winner = Cluster(stimulus, levels)
            clusters.append(winner)
            out, predicted = outputs(winner, stimulus)
        away = winner.distances(stimulus, levels)
        for values, shown in zip(winner.place, one_of_each(stimulus, levels), strict=True):
            values[:] = [place + rate * (value - place) for place, value in zip(values, shown, strict=True)]
        tuning = [t + rate * math.exp(-t * mu) * (1.0 - t * mu) for t, mu in zip(tuning, away, strict=True)]
        for k in "AB":
            teacher = max(predicted[k], 1.0) if k == category else min(predicted[k], 0.0)
            winner.weight[k] += rate * (teacher - predicted[k]) * out
    return answers


def rational(trials: Trials, coupling: float, prior_count: float, length_normalized: bool = False) -> list[float]:
    """Anderson (1991), equations 1 to 5 and 8: binary features, of which the category is one; local MAP.

    With ``length_normalized``, likelihoods are geometric means over features.
    """
    groups: list[list[tuple[Stimulus, str | None]]] = []

    def prior(number: int) -> float:
        so_far = sum(map(len, groups))
        share = coupling * len(groups[number]) if number < len(groups) else 1.0 - coupling
        return share / (1.0 - coupling + coupling * so_far)

    def matching(values: Sequence[object], value: object) -> float:
        return (sum(each == value for each in values) + prior_count) / (len(values) + 2.0 * prior_count)

    def mean(factors: list[float]) -> float:
        return math.prod(factors) ** (1.0 / len(factors) if length_normalized else 1.0)

    def of_features(number: int, stimulus: Stimulus) -> list[float]:
        members = groups[number] if number < len(groups) else []
        return [matching([each[0][i] for each in members], value) for i, value in enumerate(stimulus)]

    def of_category(number: int, category: str) -> float:
        members = groups[number] if number < len(groups) else []
        return matching([each[1] for each in members if each[1] is not None], category)

    answers = []
    for stimulus, category in trials:
        numbers = range(len(groups) + 1)
        joint = [prior(number) * mean(of_features(number, stimulus)) for number in numbers]
        answers.append(sum(joint[number] * of_category(number, "A") for number in numbers) / sum(joint))
        if category is not None:
            joint = [
                prior(number) * mean([*of_features(number, stimulus), of_category(number, category)])
                for number in numbers
            ]
        best = next(number for number in numbers if joint[number] >= max(joint) * (1 - 1e-9))
        if best == len(groups):
            groups.append([])
        groups[best].append((stimulus, category))
    return answers


def delta_rule(trials: Trials, levels: Sequence[int], rate: float, pattern_rate: float = 0.0) -> list[float]:
    """Rescorla & Wagner (1972), with a constant cue; Gluck & Bower (1988), with a unit for each whole stimulus."""
    strength: dict[object, float] = {}
    answers = []
    for stimulus, category in trials:
        present = present_cues(stimulus, levels)
        units = [*present, stimulus]
        predicted = 1.0 / (1.0 + math.exp(-sum(strength.get(unit, 0.0) for unit in units)))
        answers.append(predicted)
        if category is not None:
            for unit in units:
                step = pattern_rate if unit == stimulus else rate
                strength[unit] = strength.get(unit, 0.0) + step * (float(category == "A") - predicted)
    return answers


def pearce_hall(
    trials: Trials, levels: Sequence[int], rate: float, associability_rate: float, first: float
) -> list[float]:
    """The hybrid of Le Pelley (2004) and Li et al. (2011), cue by cue."""
    strength: dict[object, float] = {}
    associability: dict[object, float] = {}
    answers = []
    for stimulus, category in trials:
        present = present_cues(stimulus, levels)
        predicted = 1.0 / (1.0 + math.exp(-sum(strength.get(cue, 0.0) for cue in present)))
        answers.append(predicted)
        if category is not None:
            error = float(category == "A") - predicted
            for cue in present:
                held = associability.get(cue, first)
                strength[cue] = strength.get(cue, 0.0) + rate * held * error
                associability[cue] = (1.0 - associability_rate) * held + associability_rate * abs(error)
    return answers


def present_cues(stimulus: Stimulus, levels: Sequence[int]) -> list[object]:
    """A binary feature is a cue that is there or not; of others, each level is one. One cue is always there."""
    cues: list[object] = ["constant"]
    for number, (value, n) in enumerate(zip(stimulus, levels, strict=True)):
        if n > 2:
            cues.append((number, value, "level"))
        elif value:
            cues.append((number, "present"))
    return cues


def win_stay(trials: Trials, stay: float, first_guess: float) -> list[float]:
    """The category that was right the last time, with probability ``stay``."""
    answers = []
    for now, (stimulus, _) in enumerate(trials):
        before = [category for shown, category in trials[:now] if shown == stimulus and category is not None]
        answers.append((stay if before[-1] == "A" else 1.0 - stay) if before else first_guess)
    return answers
