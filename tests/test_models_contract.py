"""What every registered model has to do. A new entry in the registry is tested by being there."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError
from holmes_fit.models.competitors.bias import Bias
from holmes_fit.models.competitors.rescorla_wagner import RescorlaWagner
from holmes_fit.models.contract import CONTRACT, Promise, broken_promises, defaults, in_words, learns, p_hat, sequence
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import MODELS, LatentCauseModel, Model, Observer, find_model
from holmes_fit.trials.observations import Observations, observations_from_matrix

SEED = 20240917

# Not in the registry: the contract has to hold for what a user defines as well.
NEW_VARIANT = LatentCauseModel("two_levels", "Two levels, sticky", max_depth=2, stops=True, sticky=True)

models = pytest.mark.parametrize("model", [*MODELS.values(), NEW_VARIANT], ids=lambda model: model.name)
parameters = pytest.mark.parametrize(
    "parameter",
    {parameter.name: parameter for model in MODELS.values() for parameter in model.parameters}.values(),
    ids=lambda parameter: parameter.name,
)


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
@pytest.mark.parametrize("promise", CONTRACT, ids=in_words)
def test_models_keep_their_promises(model: Model, promise: Promise) -> None:
    promise(model)


@models
def test_all_learn_but_one(model: Model) -> None:
    assert learns(model) != isinstance(model, Bias)
    # One cue announces the outcome without fail, another one its absence. Predictions come nearer than chance.
    signal = np.tile([1, 0], 40)
    late = p_hat(model, observations_from_matrix(np.column_stack([signal, 1 - signal, signal])))[:, -20:]
    assert (late[:, 0::2].min() > 0.5 > late[:, 1::2].max()) == learns(model)


Change = Callable[[NDArray[np.float64], Observations], NDArray[np.float64]]


@dataclass(frozen=True)
class Changed(RescorlaWagner):
    """A model that keeps all promises, but for what is changed about it."""

    name: str = "changed"
    label: str = "Changed"
    uses_particles: bool = False  # type: ignore[misc]
    change: Change = lambda p_hat, seen: p_hat

    def p_hat(self, observations: Observations, *rest: Any, **others: Any) -> NDArray[np.float64]:
        return self.change(super().p_hat(observations, *rest, **others), observations)


CALLS = count(1)
BREAKING: dict[str, dict[str, Any]] = {
    "it has a label and parameters with meanings": {"label": ""},
    "predictions are probabilities within the bounds": {"change": lambda p, seen: np.where(p > 0.9, 1.0, p)},
    "short sequences and those without cues are predicted": {"change": lambda p, seen: p if seen.n_cues else p[0]},
    "features may have several levels": {"change": lambda p, seen: p * (2 if seen.parts else 1)},
    "the same call gives the same answer": {"change": lambda p, seen: p * (1 - 1e-6 * next(CALLS))},
    "nothing that is given is changed": {"change": lambda p, seen: (seen.cues.fill(0), p)[1]},
    "batches of replicates do not matter": {"change": lambda p, seen: p * (1 - 1e-6 * len(p))},
    "draws matter if and only if particles are used": {"uses_particles": True},
    "predictions do not depend on what is to come": {
        "change": lambda p, seen: p * (1 - 1e-6 * seen.cues[-1, 1:].sum())
    },
    "outcomes that are not shown do not matter": {"change": lambda p, seen: p * (1 - 1e-6 * seen.outcome)},
    "who learns follows the outcome": {"change": lambda p, seen: 1 - p},
}


def test_a_model_that_keeps_all_promises() -> None:
    assert set(BREAKING) == {in_words(promise) for promise in CONTRACT}
    assert broken_promises(Changed()) == {}


@pytest.mark.parametrize("promise", BREAKING)
def test_a_promise_that_is_not_kept_is_named(promise: str) -> None:
    assert broken_promises(Changed(**BREAKING[promise])).get(promise)


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
    found = p_hat(RescorlaWagner(), sequence(SEED, n_cues=30), values={"learning_rate": 10.0})
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.99])
def test_bias_is_one_constant(probability: float) -> None:
    assert (p_hat(Bias(), sequence(SEED), values={"choice_probability": probability}) == probability).all()


def test_only_heuristics_speak_of_choices() -> None:
    assert [name for name, model in MODELS.items() if model.predicts_choices] == ["win_stay", "bias"]


# A new variant -------------------------------------------------------------------------------------------------------
def test_a_new_variant_differs_from_those_it_lies_between() -> None:
    observations = sequence(SEED)
    values = {"alpha": 1.0, "omega": 0.5, "depth_scale": 0.5}
    found = p_hat(NEW_VARIANT, observations, values=values)
    holmes = MODELS["holmes"]
    np.testing.assert_array_equal(
        found, p_hat(holmes, observations, values=values, observer=Observer(particles=40, max_depth=2))
    )
    for other in ("flat_sticky", "holmes"):
        assert (found != p_hat(MODELS[other], observations, values=values)).any()
