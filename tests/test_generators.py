"""Generators: the designs of the paper and of three tasks from the field, count by count."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.trials.cohorts import build_cohort, encode_cues
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names, read_protocol
from holmes_fit.trials.protocols.generators import SHEPARD_CATEGORY, generate_trials


def generate(name: str, seed: int = 0) -> pd.DataFrame:
    return generate_trials(load_protocol(name), np.random.default_rng(seed))


def many(name: str, people: int = 60) -> pd.DataFrame:
    return pd.concat([generate(name, seed).assign(person=seed) for seed in range(people)], ignore_index=True)


@pytest.mark.parametrize("name", protocol_names())
def test_a_person_is_a_function_of_the_seed(name: str) -> None:
    pd.testing.assert_frame_equal(generate(name, 3), generate(name, 3))
    assert not generate(name, 3).equals(generate(name, 4))


@pytest.mark.parametrize("name", protocol_names())
def test_trials_are_numbered_and_complete(name: str) -> None:
    trials = generate(name)
    assert trials["trial"].tolist() == list(range(1, len(trials) + 1))
    assert trials["outcome"].isin([0, 1]).all()
    assert trials["feedback"].all()
    assert trials.notna().all(axis=None)
    assert "choice" not in trials


@pytest.mark.parametrize(("levels", "contexts", "n_trials"), [(2, 8, 80), (3, 16, 160), (4, 32, 320), (5, 64, 640)])
def test_compositional_has_the_contexts_of_the_paper(levels: int, contexts: int, n_trials: int) -> None:
    trials = generate(f"compositional_{levels}")
    assert len(trials) == n_trials
    assert trials["context"].value_counts().tolist() == [10] * contexts
    factors = [f"level_{level}" for level in range(1, levels + 1)]
    assert trials[factors].drop_duplicates().shape[0] == contexts
    assert trials.groupby("context")[factors].nunique().eq(1).all(axis=None)
    assert set(trials["level_1"]) == {0, 1, 2, 3}


@pytest.mark.parametrize("levels", [2, 3, 4, 5])
def test_compositional_outcomes_follow_the_two_highest_levels(levels: int) -> None:
    for row in generate(f"compositional_{levels}").to_dict("records"):
        top = row[f"level_{levels}"] == 0
        expected = top if levels == 2 else top and row[f"level_{levels - 1}"] == 0
        assert row["outcome"] == int(expected)


@pytest.mark.parametrize("levels", [2, 3, 4, 5])
def test_compositional_cues_are_the_feature_vector_of_the_paper(levels: int) -> None:
    protocol = load_protocol(f"compositional_{levels}")
    trials = generate(f"compositional_{levels}")
    cues = encode_cues(trials, protocol)
    assert cues.shape[1] == levels + 4
    quiet = trials["noisy"].to_numpy() == 0
    assert (cues[quiet, :4] == np.eye(4)[trials["level_1"][quiet]]).all()
    flips = (cues[:, :4] != np.eye(4)[trials["level_1"]]).sum(axis=1)
    assert (flips == trials["noisy"]).all()  # one bit, and an observation bit only
    assert (cues[:, 4] == trials["level_2"]).all()
    assert (cues[:, 5] == trials["level_2"]).all()
    for level in range(3, levels + 1):
        assert (cues[:, level + 3] == trials[f"level_{level}"]).all()


def test_compositional_noise_is_two_percent_and_flips_every_bit_alike() -> None:
    trials = many("compositional_4")
    n = len(trials)
    assert abs(trials["noisy"].mean() - 0.02) < 4 * np.sqrt(0.02 * 0.98 / n)
    noisy = trials[trials["noisy"] == 1]
    flipped = (noisy[["obs_0", "obs_1", "obs_2", "obs_3"]].to_numpy() != np.eye(4)[noisy["level_1"]]).sum(axis=0)
    assert flipped.sum() == len(noisy)
    assert (np.abs(flipped - len(noisy) / 4) < 4 * np.sqrt(len(noisy) * 3 / 16)).all()


def test_without_noise_no_bit_is_flipped() -> None:
    features = "\n".join(f"obs_{i} = 'binary'" for i in range(4))
    protocol = read_protocol(f"[features]\n{features}\n[generator]\nkind = 'compositional'\nlevels = 3\nnoise = 0.0")
    trials = generate_trials(protocol, np.random.default_rng(0))
    assert (trials[[f"obs_{i}" for i in range(4)]].sum(axis=1) == 1).all()


@pytest.mark.parametrize(("name", "training", "test"), [("shape_color", 80, 4), ("shape_color_long", 160, 12)])
def test_shape_color_has_the_counts_of_the_paper(name: str, training: int, test: int) -> None:
    trials = generate(name)
    assert trials["phase"].tolist() == ["training"] * training + ["test"] * test
    pairs = trials.groupby("phase")[["shape", "color"]].value_counts()
    assert (pairs["training"] == training // 16).all()
    assert len(pairs["training"]) == 16
    assert (pairs["test"] == test // 4).all()
    assert len(pairs["test"]) == 4
    held_out = set(trials.loc[trials["phase"] == "test", "color"])
    assert held_out.isdisjoint(trials.loc[trials["phase"] == "training", "color"])
    blocks = trials[trials["phase"] == "training"].groupby("block")["shape"]
    assert blocks.nunique().tolist() == [1, 1]
    assert blocks.size().tolist() == [training // 2] * 2


@pytest.mark.parametrize("name", ["shape_color", "shape_color_long"])
def test_first_exposures_are_the_first_of_each_new_pair(name: str) -> None:
    trials = generate(name)
    first = trials[trials["first_exposure"] == 1]
    assert len(first) == 4
    assert set(first["phase"]) == {"test"}
    for row in first.to_dict("records"):
        earlier = trials[trials["trial"] < row["trial"]]
        assert not ((earlier["shape"] == row["shape"]) & (earlier["color"] == row["color"])).any()


def test_the_rewarded_shape_is_drawn_and_decides_the_outcome() -> None:
    trials = many("shape_color")
    assert (trials["outcome"] == (trials["shape"] == trials["rewarded_shape"])).all()
    rewarded = trials.groupby("person")["rewarded_shape"].agg(["nunique", "first"])
    assert (rewarded["nunique"] == 1).all()
    assert 12 < (rewarded["first"] == "circle").sum() < 48


def test_shape_color_cues_are_six_copies_of_shape_and_one_of_color() -> None:
    trials = generate("shape_color")
    cues = encode_cues(trials, load_protocol("shape_color"))
    is_circle = (trials["shape"] == "circle").to_numpy()
    assert (cues[:, 0:12:2] == is_circle[:, None]).all()
    assert (cues[:, 1:12:2] == ~is_circle[:, None]).all()
    assert (cues[:, 12:].sum(axis=1) == 1).all()


def test_conditioning_reinforces_half_of_one_cue_in_acquisition_only() -> None:
    trials = generate("conditioning")
    assert trials["phase"].tolist() == ["acquisition"] * 16 + ["extinction"] * 24
    counts = trials.groupby(["phase", "cue"])["outcome"].agg(["size", "sum"])
    assert counts.loc[("acquisition", "CS+")].tolist() == [8, 4]
    assert counts.loc[("acquisition", "CS-")].tolist() == [8, 0]
    assert counts.loc[("extinction", "CS+")].tolist() == [12, 0]
    assert counts.loc[("extinction", "CS-")].tolist() == [12, 0]


def test_weather_patterns_come_at_their_published_frequencies() -> None:
    counts = generate("weather_prediction")["pattern"].value_counts()
    assert counts.to_dict() == {
        **{"0001": 19, "0010": 9, "0011": 26, "0100": 9, "0101": 12, "0110": 6, "0111": 19},
        **{"1000": 19, "1001": 6, "1010": 12, "1011": 9, "1100": 26, "1101": 9, "1110": 19},
    }


def test_each_card_goes_with_rain_as_published() -> None:
    trials = many("weather_prediction", people=200)
    expected = {"x1": 0.2, "x2": 0.4, "x3": 0.6, "x4": 0.8}
    for card, probability in expected.items():
        shown = trials[trials[card] == 1]
        assert shown["probability"].mean() == pytest.approx(probability)
        assert abs(shown["outcome"].mean() - probability) < 4 * np.sqrt(0.25 / len(shown))
    assert (trials[["x1", "x2", "x3", "x4"]].astype(str).agg("".join, axis=1) == trials["pattern"]).all()


def neighbours_alike(category: frozenset[str]) -> int:
    """Count the edges of the cube whose ends are in the same category."""
    cube = ["".join(corner) for corner in product("01", repeat=3)]
    edges = [(a, b) for a, b in combinations(cube, 2) if sum(x != y for x, y in zip(a, b, strict=True)) == 1]
    return sum((a in category) == (b in category) for a, b in edges)


def relevant_dimensions(category: frozenset[str]) -> int:
    """Count the dimensions along which some neighbours differ in category."""
    flip = {"0": "1", "1": "0"}
    cube = ["".join(corner) for corner in product("01", repeat=3)]
    return sum(any((c in category) != (c[:i] + flip[c[i]] + c[i + 1 :] in category) for c in cube) for i in range(3))


def separable(category: frozenset[str]) -> bool:
    """Say whether a plane divides the categories; small whole weights are enough for a cube."""
    corners = [tuple(map(int, corner)) for corner in product("01", repeat=3)]
    for weights in product(range(-2, 3), repeat=3):
        score = {corner: sum(w * c for w, c in zip(weights, corner, strict=True)) for corner in corners}
        inside = [score[tuple(map(int, corner))] for corner in category]
        outside = [value for corner, value in score.items() if "".join(map(str, corner)) not in category]
        if min(inside) > max(outside):
            return True
    return False


def test_the_six_types_are_those_of_shepard() -> None:
    described = {
        name: (len(category), relevant_dimensions(category), neighbours_alike(category), separable(category))
        for name, category in SHEPARD_CATEGORY.items()
    }
    assert described == {
        "I": (4, 1, 8, True),
        "II": (4, 2, 4, False),
        "III": (4, 3, 6, False),
        "IV": (4, 3, 6, True),
        "V": (4, 3, 4, False),
        "VI": (4, 3, 0, False),
    }


def test_shepard_problems_are_of_their_type_in_every_disguise() -> None:
    trials = many("shepard", people=20)
    for (_, _), problem in trials.groupby(["person", "problem"]):
        stimuli = problem[["size", "color", "shape"]].astype(str).agg("".join, axis=1)
        assert stimuli.value_counts().tolist() == [12] * 8
        assert problem.groupby("block").size().tolist() == [16] * 6
        assert problem["problem_trial"].tolist() == list(range(1, 97))
        category = frozenset(stimuli[problem["outcome"] == 1])
        type_ = problem["condition"].iloc[0].removeprefix("type ")
        canonical = SHEPARD_CATEGORY[type_]
        assert len(category) == 4
        assert neighbours_alike(category) == neighbours_alike(canonical)
        assert relevant_dimensions(category) == relevant_dimensions(canonical)
        assert separable(category) == separable(canonical)
    order = trials.drop_duplicates(["person", "problem"]).groupby("person")["condition"].agg(tuple)
    assert all(len(set(types)) == 6 for types in order)
    assert order.nunique() > 10
    simple = trials[trials["condition"] == "type I"].groupby(["person", "size"])["outcome"].mean().unique()
    assert set(simple) == {0.0, 0.5, 1.0}  # size decides for some people, in either direction, and not for others


def test_each_problem_is_a_learner() -> None:
    trials = generate("shepard").assign(subject="S1", choice=0)
    cohort = build_cohort(trials, load_protocol("shepard"))
    assert [learner.restart for learner in cohort.learners] == ["1", "2", "3", "4", "5", "6"]
    assert all(learner.observations.n_trials == 96 for learner in cohort.learners)


def test_reversal_turns_round_at_every_block_and_pays_out_at_its_rate() -> None:
    trials = many("reversal")
    assert generate("reversal").groupby("block").size().tolist() == [40, 40, 40, 40]
    better = trials.groupby(["block", "cue"])["better_option"].agg(["nunique", "first"])
    assert (better["nunique"] == 1).all()
    assert better["first"].unstack("cue")["circle"].tolist() == [1, 0, 1, 0]
    assert better["first"].unstack("cue")["square"].tolist() == [0, 1, 0, 1]
    rate = (trials["outcome"] == trials["better_option"]).mean()
    assert abs(rate - 0.8) < 4 * np.sqrt(0.16 / len(trials))
    assert (trials.groupby(["person", "block"])["cue"].agg(lambda cue: (cue == "circle").sum()) == 20).all()


def test_a_protocol_without_generator_says_so() -> None:
    with pytest.raises(InputError, match="protocol mine: saw no generator; allowed: a protocol with a"):
        generate_trials(read_protocol("[features]", name="mine"), np.random.default_rng(0))


def test_columns_that_no_design_makes_are_filled_in() -> None:
    content = """
    [columns]
    restart = ["session"]
    covariates = ["group"]
    [features]
    cue = { levels = ["a", "b"] }
    [choice.by]
    column = "key_map"
    [choice.by.codings]
    A = { l = 0, r = 1 }
    B = { l = 1, r = 0 }
    [exclusions]
    rt = { max = 3 }
    [generator]
    kind = "conditioning"
    cues = ["a", "b"]
    """
    protocol = read_protocol(content)
    people = [generate_trials(protocol, np.random.default_rng(seed)) for seed in range(20)]
    assert {trials["session"].iloc[0] for trials in people} == {"1"}
    assert {trials["key_map"].iloc[0] for trials in people} == {"A", "B"}
    assert all(trials["key_map"].nunique() == 1 for trials in people)
    assert (people[0][["rt", "group"]] == "").all(axis=None)
