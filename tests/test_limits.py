"""Limits with a closed form, symmetries, and identities between variants that hold exactly."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holmes_fit.models.contract import sequence
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.trials.observations import Observations

SEED = 20240917
TOLERANCE = 1e-9  # the same sums in another order
VARIANTS = [name for name, model in MODELS.items() if isinstance(model, LatentCauseModel)]
TREES = [name for name in VARIANTS if not name.startswith("flat")]
VALUES = {"alpha": 1.0, "omega": 0.5, "depth_scale": 0.5}
NO_CAP = 10**6


def p_hat(
    model: str,
    observations: Observations,
    seed: int = SEED,
    learner: str = "",
    replicates: int = 4,
    values: dict[str, float] | None = None,
    **observer: Any,
) -> NDArray[np.float64]:
    key = stream_key(seed, learner)
    return MODELS[model].p_hat(
        observations, VALUES | (values or {}), Observer(**({"particles": 50} | observer)), key, replicates
    )


def running_mean(observations: Observations, omega: float) -> NDArray[np.float64]:
    """The Beta-Bernoulli mean of the outcomes shown before each trial."""
    shown = np.concatenate([[0], np.cumsum(observations.feedback)[:-1]])
    present = np.concatenate([[0], np.cumsum(observations.feedback * observations.outcome)[:-1]])
    return (omega + present) / (2 * omega + shown)


def assert_close(one: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE)


# Limits --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("length_normalized", [False, True])
@pytest.mark.parametrize("resampling", ["systematic", "multinomial"])
@pytest.mark.parametrize("model", VARIANTS)
def test_vanishing_alpha_leaves_the_running_mean(model: str, resampling: str, length_normalized: bool) -> None:
    # A second cause would be opened with a probability of some 1e-12 a particle and trial: 1e-7 in all.
    observations = sequence(SEED, hidden=0.3, length_normalized=length_normalized)
    for omega in (0.02, 0.5, 5.0):
        found = p_hat(model, observations, values={"alpha": 1e-12, "omega": omega}, resampling=resampling)
        assert_close(found, np.tile(running_mean(observations, omega), (4, 1)))


@pytest.mark.parametrize("model", ["holmes_no_stop", "holmes_structure_only"])
def test_a_tree_of_one_branch_gives_the_running_mean_at_any_alpha(model: str) -> None:
    observations = sequence(SEED, hidden=0.3)
    found = p_hat(model, observations, values={"alpha": 3.0}, max_branches=1)
    assert_close(found, np.tile(running_mean(observations, 0.5), (4, 1)))


@pytest.mark.parametrize("model", VARIANTS)
def test_large_omega_leaves_nothing_to_learn(model: str) -> None:
    # (Omega + k) / (2 Omega + n) is at most n / (4 Omega) away from one half.
    observations, omega = sequence(SEED), 1e7
    distance = np.abs(p_hat(model, observations, values={"omega": omega}) - 0.5)
    assert distance.max() <= observations.n_trials / (4 * omega)
    assert distance.max() > 0


@pytest.mark.parametrize("model", VARIANTS)
def test_the_first_prediction_is_one_half(model: str) -> None:
    assert_close(p_hat(model, sequence(SEED))[:, 0], np.full(4, 0.5))


@pytest.mark.parametrize("model", VARIANTS)
def test_predictions_stay_at_one_half_when_no_outcome_is_shown(model: str) -> None:
    found = p_hat(model, sequence(SEED, hidden=1.0))
    assert_close(found, np.full_like(found, 0.5))


# Symmetries ----------------------------------------------------------------------------------------------------------
def permuted(observations: Observations) -> Observations:
    order = np.random.default_rng(SEED).permutation(observations.n_cues)
    assert (order != np.arange(observations.n_cues)).any()
    return replace(observations, cues=np.ascontiguousarray(observations.cues[:, order]))


def recoded(observations: Observations) -> Observations:
    cues = observations.cues.copy()
    cues[:, 1] = 1 - cues[:, 1]
    return replace(observations, cues=cues)


def with_hidden_outcomes_changed(observations: Observations) -> Observations:
    outcome = np.where(observations.feedback, observations.outcome, 1 - observations.outcome)
    assert (outcome != observations.outcome).any()
    return replace(observations, outcome=outcome.astype(np.uint8))


@pytest.mark.parametrize("change", [permuted, recoded, with_hidden_outcomes_changed])
@pytest.mark.parametrize("length_normalized", [False, True])
@pytest.mark.parametrize("model", VARIANTS)
def test_codes_do_not_matter(
    model: str, length_normalized: bool, change: Callable[[Observations], Observations]
) -> None:
    observations = sequence(SEED, n_cues=7, length_normalized=length_normalized)
    assert_close(p_hat(model, change(observations)), p_hat(model, observations))


@pytest.mark.parametrize("model", VARIANTS)
def test_cues_matter(model: str) -> None:
    observations = sequence(SEED)
    without = replace(observations, cues=np.zeros_like(observations.cues))
    assert np.abs(p_hat(model, without) - p_hat(model, observations)).max() > 0.01


@pytest.mark.parametrize("model", VARIANTS)
def test_recoding_the_outcome_turns_predictions_around(model: str) -> None:
    observations = sequence(SEED)
    turned = replace(observations, outcome=1 - observations.outcome)
    assert_close(p_hat(model, turned), 1 - p_hat(model, observations))


@pytest.mark.parametrize("model", VARIANTS)
def test_without_cues_there_is_nothing_to_normalise(model: str) -> None:
    # The cues' likelihood is 1 and the outcome's is the mean of itself.
    plain = p_hat(model, sequence(SEED, n_cues=0))
    assert_close(p_hat(model, sequence(SEED, n_cues=0, length_normalized=True)), plain)


@pytest.mark.parametrize("copies", [2, 5])
def test_copies_of_all_cues_do_not_matter_to_a_mean_over_cues(copies: int) -> None:
    # Where no outcome is shown, only the cues weigh particles; their geometric mean is that of any number of copies.
    model = MODELS["holmes"]
    assert isinstance(model, LatentCauseModel)
    once = sequence(SEED, hidden=1.0, length_normalized=True)
    often = replace(once, cues=np.tile(once.cues, (1, copies)))
    _, expected = model.history(once, VALUES, Observer(particles=50), stream_key(SEED))
    _, found = model.history(often, VALUES, Observer(particles=50), stream_key(SEED))
    np.testing.assert_array_equal(found.ancestors, expected.ancestors)
    np.testing.assert_array_equal(found.leaves, expected.leaves)
    assert (expected.ancestors != np.arange(50)).any()


# Identities between variants -----------------------------------------------------------------------------------------
ONE_LEVEL = {"max_depth": 1, "max_branches": NO_CAP}
ONE_BRANCH = {"max_branches": 1}

SAME: list[tuple[str, str, dict[str, Any], str, dict[str, Any]]] = [
    ("a tree of one level is flat", "flat", {}, "holmes_no_stick", ONE_LEVEL),
    ("without stopping as well", "flat", {}, "holmes_structure_only", ONE_LEVEL),
    ("a sticky tree of one level is flat and sticky", "flat_sticky", {}, "holmes", ONE_LEVEL),
    ("without stopping as well", "flat_sticky", {}, "holmes_no_stop", ONE_LEVEL),
    ("flat causes have no cap", "flat", {}, "flat", {"max_branches": 1}),
    ("flat causes are at level 0", "flat_sticky", {}, "flat_sticky", {"max_depth": 7}),
    ("a node of level 0 is its branch", "flat_sticky", {}, "flat_sticky", {"sticky_by": "node"}),
    ("where nothing sticks", "holmes_no_stick", {}, "holmes_no_stick", {"sticky_by": "node"}),
    ("one branch cannot be left", "holmes", ONE_BRANCH, "holmes_no_stick", ONE_BRANCH),
    ("one branch cannot be left", "holmes_no_stop", ONE_BRANCH, "holmes_structure_only", ONE_BRANCH),
    ("copies of one particle", "holmes", {"particles": 1}, "holmes", {"particles": 1, "branch_counts": "shared"}),
]


@pytest.mark.parametrize(("reason", "one", "its", "other", "others"), SAME)
def test_variants_that_are_the_same(
    reason: str, one: str, its: dict[str, Any], other: str, others: dict[str, Any]
) -> None:
    observations = sequence(SEED)
    assert_close(p_hat(one, observations, **its), p_hat(other, observations, **others))


DIFFERENT: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("flat", {}, "flat_sticky", {}),
    ("flat", {}, "holmes", {}),
    ("holmes", {}, "holmes_no_stick", {}),
    ("holmes", {}, "holmes_no_stop", {}),
    ("holmes_no_stop", {}, "holmes_structure_only", {}),
    ("holmes", {}, "holmes", {"sticky_by": "node"}),
    ("holmes", {}, "holmes", {"branch_counts": "shared"}),
    ("holmes", {}, "holmes", {"resampling": "multinomial"}),
    ("holmes", {}, "holmes", {"max_depth": 2}),
    ("holmes", {}, "holmes", {"max_branches": 2}),
    ("holmes", {}, "holmes", {"particles": 51}),
    ("holmes", {}, "holmes", {"values": {"depth_scale": 1.0}}),
    ("flat", {}, "flat", {"branch_counts": "shared"}),
]


@pytest.mark.parametrize(("one", "its", "other", "others"), DIFFERENT)
def test_every_switch_does_something(one: str, its: dict[str, Any], other: str, others: dict[str, Any]) -> None:
    observations = sequence(SEED)
    assert np.abs(p_hat(one, observations, **its) - p_hat(other, observations, **others)).max() > 1e-3


def test_length_normalisation_does_something() -> None:
    assert np.abs(p_hat("flat", sequence(SEED)) - p_hat("flat", sequence(SEED, length_normalized=True))).max() > 1e-3


# Seeds ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", VARIANTS)
def test_a_seed_and_a_learner_decide_everything(model: str) -> None:
    observations = sequence(SEED)
    once = p_hat(model, observations, learner="anna")
    np.testing.assert_array_equal(once, p_hat(model, observations, learner="anna"))
    for other in (p_hat(model, observations, SEED + 1, "anna"), p_hat(model, observations, learner="bert")):
        assert all((one != another).any() for one in once for another in other)


@pytest.mark.parametrize("model", VARIANTS)
def test_the_future_does_not_reach_back(model: str) -> None:
    # Draws are addressed by trial, so a longer sequence begins with the traces of a shorter one.
    whole = sequence(SEED)
    part = Observations(whole.cues[:70], whole.outcome[:70], whole.feedback[:70])
    np.testing.assert_array_equal(p_hat(model, part), p_hat(model, whole)[:, :70])


@pytest.mark.parametrize("model", VARIANTS)
def test_batches_do_not_matter(model: str) -> None:
    observations, observer, key = sequence(SEED), Observer(particles=50), stream_key(SEED)
    rows = [MODELS[model].p_hat(observations, VALUES, observer, key, 1, first) for first in range(6)]
    np.testing.assert_array_equal(MODELS[model].p_hat(observations, VALUES, observer, key, 6), np.vstack(rows))
