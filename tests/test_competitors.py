"""The competing models: the same numbers as a second, plain implementation, and what their papers report of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.trials.observations import Observations
from tests.oracle import competitors as oracle
from tests.oracle.competitors import Stimulus, Trials

SEED = 20261119

Values = dict[str, float]
Oracle = Callable[[Trials, tuple[int, ...], Values], list[float]]

ORACLES: Mapping[str, Oracle] = {
    "alcove": lambda trials, levels, v: oracle.alcove(
        trials, v["specificity"], v["association_rate"], v["attention_rate"], v["gradient"]
    ),
    "gcm": lambda trials, levels, v: oracle.context_model(
        trials, v["specificity"], v["decay"], v["background"], v["gradient"]
    ),
    "sustain": lambda trials, levels, v: oracle.sustain(
        trials, levels, v["cluster_rate"], v["focus"], v["competition"]
    ),
    "rational": lambda trials, levels, v: oracle.rational(as_bits(trials, levels), 1 / (1 + v["alpha"]), v["omega"]),
    "rescorla_wagner": lambda trials, levels, v: oracle.delta_rule(trials, levels, v["learning_rate"]),
    "configural": lambda trials, levels, v: oracle.delta_rule(trials, levels, v["learning_rate"], v["pattern_rate"]),
    "pearce_hall": lambda trials, levels, v: oracle.pearce_hall(
        trials, levels, v["learning_rate"], v["associability_rate"], v["first_associability"]
    ),
    "win_stay": lambda trials, levels, v: oracle.win_stay(trials, v["stay"], v["first_guess"]),
}


def observations_of(trials: Trials, levels: tuple[int, ...]) -> Observations:
    """Encode trials as the reader does: a binary feature as one cue, any other as one cue a level."""
    return Observations(
        cues=np.array([stimulus for stimulus, _ in as_bits(trials, levels)], dtype=np.uint8),
        outcome=np.array([category == "A" for _, category in trials], dtype=np.uint8),
        feedback=np.array([category is not None for _, category in trials], dtype=np.bool_),
        parts=tuple(1 if n == 2 else n for n in levels),
    )


def as_bits(trials: Trials, levels: tuple[int, ...]) -> list[tuple[Stimulus, str | None]]:
    return [
        (tuple(bit for value, n in zip(stimulus, levels, strict=True) for bit in _bits(value, n)), category)
        for stimulus, category in trials
    ]


def _bits(value: int, n: int) -> list[int]:
    return [value] if n == 2 else [int(value == level) for level in range(n)]


def p_hat(name: str, trials: Trials, levels: tuple[int, ...], values: Values) -> NDArray[np.float64]:
    return MODELS[name].p_hat(observations_of(trials, levels), values, Observer(), stream_key(SEED))[0]


def some_trials(
    rng: np.random.Generator, levels: tuple[int, ...], n: int, hidden: float
) -> list[tuple[Stimulus, str | None]]:
    """Stimuli at random; the first feature announces the category seven times out of ten, some feedback is missing."""
    found: list[tuple[Stimulus, str | None]] = []
    for _ in range(n):
        stimulus = tuple(int(rng.integers(0, k)) for k in levels)
        category = "A" if (stimulus[0] == 0) == (rng.random() < 0.7) else "B"
        found.append((stimulus, None if rng.random() < hidden else category))
    return found


# --- A second implementation
@pytest.mark.parametrize("levels", [(2, 2, 2), (2, 3, 4), (5,), (2,) * 7], ids=str)
@pytest.mark.parametrize("name", ORACLES)
def test_the_same_numbers_as_a_plain_implementation(name: str, levels: tuple[int, ...]) -> None:
    rng = np.random.default_rng([SEED, *levels])
    for hidden in (0.0, 0.2):
        trials = some_trials(rng, levels, 60, hidden)
        for draw in range(4):
            values = {
                each.name: each.default
                if draw == 0
                else float(each.to_natural(rng.uniform(*each.to_scale([each.low, each.high]))))
                for each in MODELS[name].parameters
            }
            expected = np.clip(ORACLES[name](trials, levels, values), 1e-13, 1 - 1e-13)
            np.testing.assert_allclose(
                p_hat(name, trials, levels, values), expected, rtol=1e-7, atol=1e-12, err_msg=f"{values}"
            )


@pytest.mark.parametrize("name", ["alcove", "gcm", "sustain", "win_stay"])
def test_coding_a_binary_feature_by_its_levels_changes_nothing(name: str) -> None:
    # To weights of cues and to causes it does: a level is a cue, or a binary feature, of its own.
    trials = some_trials(np.random.default_rng(SEED), (2, 2, 2), 50, 0.1)
    as_cues = observations_of(trials, (2, 2, 2))
    as_levels = np.stack([1 - as_cues.cues, as_cues.cues], axis=-1).reshape(len(trials), 6)
    levelled = Observations(as_levels, as_cues.outcome, as_cues.feedback, parts=(2, 2, 2))
    model = MODELS[name]
    values = {each.name: each.default for each in model.parameters}
    both = [model.p_hat(seen, values, Observer(), stream_key(SEED)) for seen in (as_cues, levelled)]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-12)


def test_the_rational_model_may_normalize_by_length() -> None:
    trials = some_trials(np.random.default_rng(SEED), (2,) * 5, 60, 0.1)
    observations = replace(observations_of(trials, (2,) * 5), length_normalized=True)
    found = MODELS["rational"].p_hat(observations, {"alpha": 0.8, "omega": 0.3}, Observer(), stream_key(SEED))[0]
    np.testing.assert_allclose(found, oracle.rational(trials, 1 / 1.8, 0.3, length_normalized=True), rtol=1e-9)


# --- What the models have to do with each other
def test_configural_cues_and_associability_end_in_rescorla_wagner() -> None:
    trials = some_trials(np.random.default_rng(SEED), (2, 2, 2), 80, 0.1)
    weights = p_hat("rescorla_wagner", trials, (2, 2, 2), {"learning_rate": 0.2})
    units = p_hat("configural", trials, (2, 2, 2), {"learning_rate": 0.2, "pattern_rate": 0.0})
    constant = {"learning_rate": 0.2, "associability_rate": 0.0, "first_associability": 1.0}
    np.testing.assert_array_equal(weights, units)
    np.testing.assert_allclose(weights, p_hat("pearce_hall", trials, (2, 2, 2), constant), rtol=1e-12)


def test_the_rational_model_without_coupling_is_the_context_model() -> None:
    # Nosofsky (1991, Psychological Science 2, 416-421): if every exemplar is a cause of its own, similarities of
    # features multiply, Omega / (1 + Omega) for each that differs. A cause says that its own answer follows with
    # probability (1 + Omega) / (1 + 2 Omega); a cause that is new says nothing.
    n_features, omega, alpha = 4, 0.3, 1e9
    trials = some_trials(np.random.default_rng(SEED), (2,) * n_features, 30, 0.0)
    rational = p_hat("rational", trials, (2,) * n_features, {"alpha": alpha, "omega": omega})
    for now, (stimulus, _) in enumerate(trials):
        similarity = {"A": 0.0, "B": 0.0}
        for exemplar, category in trials[:now]:
            differ = sum(a != b for a, b in zip(stimulus, exemplar, strict=True))
            similarity[str(category)] += (omega / (1 + omega)) ** differ
        own = ((1 + omega) / (1 + 2 * omega)) ** n_features  # what an exemplar says of a stimulus like itself
        new = alpha * 0.5**n_features
        right = (1 + omega) / (1 + 2 * omega)
        joint = own * (similarity["A"] * right + similarity["B"] * (1 - right)) + new / 2
        expected = joint / (own * sum(similarity.values()) + new)
        assert rational[now] == pytest.approx(expected, rel=1e-9)


# --- The six types of Shepard, Hovland & Jenkins (1961), in the order in which people learn them
EIGHT = tuple((a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
TYPES: Mapping[str, Callable[[int, int, int], bool]] = {
    "I": lambda a, b, c: a == 1,
    "II": lambda a, b, c: a != b,
    "III": lambda a, b, c: (a, b, c) in {(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 0)},
    "IV": lambda a, b, c: a + b + c >= 2,
    "V": lambda a, b, c: (a, b, c) in {(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0)},
    "VI": lambda a, b, c: (a + b + c) % 2 == 1,
}
PEOPLE = 40
BLOCKS = 16  # of 16 trials, each stimulus twice, as in Nosofsky, Gluck, Palmeri, McKinley & Glauthier (1994)


def test_structures_of_types() -> None:
    for rule in TYPES.values():
        assert sum(rule(*stimulus) for stimulus in EIGHT) == 4
    # By how many stimuli have one, two or three neighbours of their own category
    neighbours = {
        kind: sorted(
            sum(rule(*a) == rule(*b) for b in EIGHT if sum(x != y for x, y in zip(a, b, strict=True)) == 1)
            for a in EIGHT
        )
        for kind, rule in TYPES.items()
    }
    assert neighbours == {
        "I": [2] * 8, "II": [1] * 8, "III": [1] * 4 + [2] * 4, "IV": [1] * 6 + [3] * 2,
        "V": [0] * 2 + [1] * 4 + [2] * 2, "VI": [0] * 8,
    }  # fmt: skip


def errors(name: str, values: Values, sharpness: float) -> NDArray[np.float64]:
    """Return the probability of an error, people x types: learners with orders of stimuli of their own."""
    rng = np.random.default_rng(SEED)
    found = np.empty((PEOPLE, len(TYPES)))
    for person in found:
        order = [EIGHT[i] for _ in range(2 * BLOCKS) for i in rng.permutation(8)]
        for number, rule in enumerate(TYPES.values()):
            trials = [(stimulus, "A" if rule(*stimulus) else "B") for stimulus in order]
            odds = 1 / p_hat(name, trials, (2, 2, 2), values) - 1
            follows = 1 / (1 + odds**sharpness)
            right = np.array([category == "A" for _, category in trials])
            person[number] = np.mean(np.where(right, 1 - follows, follows))
    return found


def harder(found: NDArray[np.float64], order: str) -> None:
    """Check an order such as "I < II < III IV V < VI", each step by three standard errors over people."""
    steps = [step.split() for step in order.split(" < ")]
    for easy, hard in pairwise(steps):
        for one, other in product(easy, hard):
            more = found[:, list(TYPES).index(other)] - found[:, list(TYPES).index(one)]
            assert more.mean() > 3 * more.std(ddof=1) / np.sqrt(PEOPLE), f"{one} < {other}: {more.mean():.4f}"


def test_alcove_learns_the_types_in_the_order_of_people() -> None:
    # Kruschke (1992), with the parameters of his simulation.
    values = {"specificity": 6.5, "association_rate": 0.03, "attention_rate": 0.0033, "gradient": 1.0}
    harder(errors("alcove", values, 2.0), "I < II < III IV V < VI")


def test_alcove_without_learned_attention_finds_the_second_type_hard() -> None:
    # Kruschke (1992): without it, type II is no longer easier than III, IV and V.
    values = {"specificity": 6.5, "association_rate": 0.03, "attention_rate": 0.0, "gradient": 1.0}
    harder(errors("alcove", values, 2.0), "I < III IV < II < VI")


def test_sustain_learns_the_types_in_the_order_of_people() -> None:
    # Love, Medin & Gureckis (2004), with the parameters of their table; d = 5 beta.
    values = {"cluster_rate": 0.092327, "focus": 9.01245, "competition": 1.252233}
    harder(errors("sustain", values, 16.924073 / 5), "I < II < III IV V < VI")


def test_the_rational_model_learns_the_types_in_the_order_of_people() -> None:
    # With the parameters of Anderson (1991): a coupling of 0.3, and prior counts of 1. Answers match probabilities.
    harder(errors("rational", {"alpha": 0.7 / 0.3, "omega": 1.0}, 1.0), "I < II < III IV V < VI")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("configural", {"learning_rate": 0.05, "pattern_rate": 0.05}),
        ("configural", {"learning_rate": 0.05, "pattern_rate": 0.2}),
        ("gcm", {"specificity": 6.5, "decay": 0.01, "background": 0.5, "gradient": 1.0}),
    ],
)
def test_without_selective_attention_the_second_type_is_hard(name: str, values: Values) -> None:
    # Nosofsky et al. (1994) on configural cues; Shepard, Hovland & Jenkins (1961) on generalization alone.
    harder(errors(name, values, 1.0), "I < III IV < II")


def test_weights_of_features_alone_learn_neither_the_second_nor_the_last_type() -> None:
    found = errors("rescorla_wagner", {"learning_rate": 0.05}, 1.0).mean(axis=0)
    assert found[[1, 5]] == pytest.approx([0.5, 0.5], abs=0.02)
    assert (found[[0, 2, 3, 4]] < 0.48).all()


# --- Associability
def test_surprise_makes_the_next_errors_count_for_more() -> None:
    # Two cues that were followed by the same answer as often, one of them every time: the other is learned about
    # faster from then on, as it is still surprising (Pearce & Hall, 1980).
    certain = [((1, 0), "A")] * 20 + [((1, 0), "B")]
    uncertain = [((0, 1), "A"), ((0, 1), "B")] * 10 + [((0, 1), "B")]
    values = {"learning_rate": 0.3, "associability_rate": 0.5, "first_associability": 1.0}
    steps = []
    for trials, probe in ((certain, (1, 0)), (uncertain, (0, 1))):
        found = np.log(1 / p_hat("pearce_hall", [*trials, (probe, None)], (2, 2), values) - 1)
        error = 1 / (1 + np.exp(found[-2]))  # of the last trial with feedback, whose answer is B
        steps.append((found[-1] - found[-2]) / error)
    assert steps[1] > 2 * steps[0]
