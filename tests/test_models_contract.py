"""What every registered model has to do. A new entry in the registry is tested by being there."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError
from holmes_fit.models.competitors.bias import Bias
from holmes_fit.models.competitors.rescorla_wagner import RescorlaWagner
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import MODELS, LatentCauseModel, Model, Observer, find_model
from holmes_fit.trials.observations import Observations, observations_from_matrix
from tests.sequences import reversal

SEED = 20240917
KEY = stream_key(SEED)
OBSERVER = Observer(particles=40)

# Not in the registry: the contract has to hold for what a user defines as well.
NEW_VARIANT = LatentCauseModel("two_levels", "Two levels, sticky", max_depth=2, stops=True, sticky=True)

models = pytest.mark.parametrize("model", [*MODELS.values(), NEW_VARIANT], ids=lambda model: model.name)
parameters = pytest.mark.parametrize(
    "parameter",
    {parameter.name: parameter for model in MODELS.values() for parameter in model.parameters}.values(),
    ids=lambda parameter: parameter.name,
)


def defaults(model: Model) -> dict[str, float]:
    return {parameter.name: parameter.default for parameter in model.parameters}


def p_hat(model: Model, observations: Observations, key: np.uint64 = KEY, **changes: Any) -> NDArray[np.float64]:
    arguments: dict[str, Any] = {"values": defaults(model), "observer": OBSERVER, "replicates": 3} | changes
    return model.p_hat(observations, key=key, **arguments)


# Names and parameters ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MODELS)
def test_models_are_found_by_their_name(name: str) -> None:
    assert MODELS[name].name == name
    assert find_model(name) is MODELS[name]


def test_the_registry_holds_the_variants_and_baselines_that_comparisons_need() -> None:
    switches = {
        model.name: (model.max_depth, model.stops, model.sticky)
        for model in MODELS.values()
        if isinstance(model, LatentCauseModel)
    }
    assert switches == {
        "flat": (1, False, False),
        "flat_sticky": (1, False, True),
        "holmes": (20, True, True),
        "holmes_no_stick": (20, True, False),
        "holmes_no_stop": (10, False, True),
        "holmes_structure_only": (10, False, False),
    }
    competitors = {"alcove", "gcm", "sustain", "rational", "configural", "pearce_hall", "rescorla_wagner"}
    assert set(MODELS) - set(switches) == competitors | {"win_stay", "bias"}


def test_at_most_three_learning_parameters_are_free() -> None:
    assert max(sum(parameter.free for parameter in model.parameters) for model in MODELS.values()) <= 3


@models
def test_labels_and_parameter_names_are_distinct(model: Model) -> None:
    assert model.label
    assert [other.label for other in MODELS.values()].count(model.label) <= 1
    assert len(defaults(model)) == len(model.parameters) > 0


@parameters
def test_parameters_have_bounds_a_default_and_a_scale_that_maps_back(parameter: Parameter) -> None:
    assert parameter.low < parameter.high
    assert parameter.low <= parameter.default <= parameter.high
    assert parameter.meaning
    inside = np.linspace(parameter.low, parameter.high, 101)
    np.testing.assert_allclose(parameter.to_natural(parameter.to_scale(inside)), inside, rtol=1e-9)
    assert np.all(np.diff(parameter.to_scale(inside)) > 0)
    assert all(parameter.accepts(value) for value in (parameter.low, parameter.default, parameter.high))


# Predictions ---------------------------------------------------------------------------------------------------------
@models
@pytest.mark.parametrize("length_normalized", [False, True])
def test_predictions_are_probabilities_within_the_bounds(model: Model, length_normalized: bool) -> None:
    observations = reversal(SEED, length_normalized=length_normalized)
    for end in ("low", "default", "high"):
        values = {parameter.name: getattr(parameter, end) for parameter in model.parameters}
        found = p_hat(model, observations, values=values)
        assert found.shape == (3, observations.n_trials)
        assert found.dtype == np.float64
        assert ((found > 0) & (found < 1)).all(), f"{values}"


@models
@pytest.mark.parametrize(("n_trials", "n_cues"), [(1, 0), (1, 3), (30, 0)])
def test_small_sequences(model: Model, n_trials: int, n_cues: int) -> None:
    found = p_hat(model, reversal(SEED, n_trials=n_trials, n_cues=n_cues))
    assert found.shape == (3, n_trials)
    assert ((found > 0) & (found < 1)).all()


@models
def test_the_same_call_gives_the_same_answer(model: Model) -> None:
    np.testing.assert_array_equal(p_hat(model, reversal(SEED)), p_hat(model, reversal(SEED)))


@models
def test_nothing_that_is_given_is_changed(model: Model) -> None:
    given, expected = reversal(SEED), reversal(SEED)
    values = defaults(model)
    p_hat(model, given, values=values)
    assert values == defaults(model)
    for name in ("cues", "outcome", "feedback"):
        np.testing.assert_array_equal(getattr(given, name), getattr(expected, name))


@models
def test_batches_of_replicates_do_not_matter(model: Model) -> None:
    observations = reversal(SEED)
    at_once = p_hat(model, observations, replicates=6)
    in_parts = [p_hat(model, observations, replicates=2, first_replicate=first) for first in (0, 2, 4)]
    np.testing.assert_array_equal(at_once, np.vstack(in_parts))


@models
def test_draws_matter_to_particles_alone(model: Model) -> None:
    observations = reversal(SEED)
    one, other = p_hat(model, observations), p_hat(model, observations, key=stream_key(SEED + 1))
    assert (one != other).any() == model.uses_particles
    assert (one[0] != one[1]).any() == model.uses_particles


@models
@pytest.mark.parametrize("trial", [0, 33, 60, 119])
def test_predictions_do_not_depend_on_outcomes_to_come(model: Model, trial: int) -> None:
    observations = replace(reversal(SEED), feedback=np.ones(120, dtype=np.bool_))
    outcome = observations.outcome.copy()
    outcome[trial:] = 1 - outcome[trial:]
    changed = p_hat(model, replace(observations, outcome=outcome))
    unchanged = p_hat(model, observations)
    np.testing.assert_array_equal(changed[:, : trial + 1], unchanged[:, : trial + 1])
    learns = not isinstance(model, Bias)
    assert (changed[:, trial + 1 :] != unchanged[:, trial + 1 :]).any() == (learns and trial < 119)


@models
def test_predictions_do_not_depend_on_cues_to_come(model: Model) -> None:
    observations = reversal(SEED)
    cues = observations.cues.copy()
    cues[50:] = 1 - cues[50:]
    np.testing.assert_array_equal(
        p_hat(model, replace(observations, cues=cues))[:, :50], p_hat(model, observations)[:, :50]
    )


@models
def test_hidden_outcomes_do_not_matter(model: Model) -> None:
    observations = reversal(SEED, hidden=0.4)
    outcome = np.where(observations.feedback, observations.outcome, 1 - observations.outcome).astype(np.uint8)
    assert (outcome != observations.outcome).sum() > 20
    np.testing.assert_array_equal(
        p_hat(model, replace(observations, outcome=outcome)), p_hat(model, observations), err_msg=f"seed {SEED}"
    )


@models
def test_hiding_an_outcome_matters_to_whoever_learns(model: Model) -> None:
    observations = reversal(SEED, hidden=0.0)
    hidden = replace(observations, feedback=np.arange(120) // 10 != 2)
    changed = p_hat(model, hidden) != p_hat(model, observations)
    assert not changed[:, :21].any()  # the first that is hidden can only matter to the next
    assert changed[:, 21:].any() != isinstance(model, Bias)


@models
def test_whoever_learns_follows_the_outcome(model: Model) -> None:
    # One cue announces the outcome without fail. A learner's predictions come nearer than chance, on either side.
    signal = np.tile([1, 0], 40)
    observations = observations_from_matrix(np.column_stack([signal, 1 - signal, signal]))
    late = p_hat(model, observations)[:, -20:]
    if isinstance(model, Bias):
        assert (late == 0.5).all()
    else:
        assert late[:, 0::2].min() > 0.5 > late[:, 1::2].max()


# The observer --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"particles": 0}, "argument particles: saw 0; allowed: a whole number from 1 to"),
        ({"max_depth": 2.0}, "argument max_depth: saw 2.0; allowed: a whole number from 1 to"),
        ({"max_branches": True}, "argument max_branches: saw True; allowed: a whole number from 1 to"),
        ({"resampling": "residual"}, "argument resampling: saw 'residual'; allowed: 'systematic' or 'multinomial'"),
        ({"branch_counts": None}, "argument branch_counts: saw None; allowed: 'particle' or 'shared'"),
        ({"sticky_by": "leaf"}, "argument sticky_by: saw 'leaf'; allowed: 'branch' or 'node'"),
    ],
)
def test_an_observer_that_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Observer(**changes)


def test_a_model_of_its_own_limits_keeps_them() -> None:
    no_stop = MODELS["holmes_no_stop"]
    assert isinstance(no_stop, LatentCauseModel)
    assert no_stop.settings(defaults(no_stop), Observer(max_depth=15)).max_depth == 10
    assert no_stop.settings(defaults(no_stop), Observer(max_depth=4)).max_depth == 4
    assert NEW_VARIANT.settings(defaults(NEW_VARIANT), Observer()).max_depth == 2


# The baselines -------------------------------------------------------------------------------------------------------
def test_rescorla_wagner_by_hand() -> None:
    # Learning rate 0.5, weights from 0, the last one of the constant cue; the outcome follows the cues.
    #   10+  w.x = 0          p = 1/2                 w = (1/4, 0, 1/4)
    #   11-  w.x = 1/2        p = s(1/2), -p          w = (1/4 - p/2, -p/2, 1/4 - p/2)
    #   01+? w.x = 1/4 - p    hidden: nothing is learned
    #   01+  the same prediction again
    def s(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    observations = observations_from_matrix([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 1]], feedback=[1, 1, 0, 1])
    found = p_hat(RescorlaWagner(), observations, values={"learning_rate": 0.5})
    second = s(0.5)
    np.testing.assert_allclose(found, np.tile([0.5, second, s(0.25 - second), s(0.25 - second)], (3, 1)), rtol=1e-12)
    assert found[0, 1:3] == pytest.approx([0.6224593, 0.4079469], abs=1e-7)


def test_rescorla_wagner_without_cues_learns_how_frequent_the_outcome_is() -> None:
    observations = observations_from_matrix(np.tile([[1], [1], [1], [0]], (100, 1)))
    found = p_hat(RescorlaWagner(), observations, values={"learning_rate": 0.05})
    assert found[0, -40:].mean() == pytest.approx(0.75, abs=0.02)


def test_rescorla_wagner_is_never_certain() -> None:
    found = p_hat(RescorlaWagner(), reversal(SEED, n_cues=30), values={"learning_rate": 10.0})
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.99])
def test_bias_is_one_constant(probability: float) -> None:
    assert (p_hat(Bias(), reversal(SEED), values={"choice_probability": probability}) == probability).all()


def test_only_heuristics_speak_of_choices() -> None:
    assert [name for name, model in MODELS.items() if model.predicts_choices] == ["win_stay", "bias"]


# A new variant -------------------------------------------------------------------------------------------------------
def test_a_new_variant_differs_from_those_it_lies_between() -> None:
    observations = reversal(SEED)
    values = {"alpha": 1.0, "omega": 0.5, "depth_scale": 0.5}
    found = p_hat(NEW_VARIANT, observations, values=values)
    holmes = MODELS["holmes"]
    np.testing.assert_array_equal(
        found, p_hat(holmes, observations, values=values, observer=Observer(particles=40, max_depth=2))
    )
    for other in ("flat_sticky", "holmes"):
        assert (found != p_hat(MODELS[other], observations, values=values)).any()
