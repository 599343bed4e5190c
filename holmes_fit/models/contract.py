"""What every model promises, whoever wrote it: each promise is a function that raises ``Broken`` where it is not kept.

``holmes-fit models check my_models.py:Alcove2`` asks a model of one's own for them, and the tests those of the package.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Model, Observer
from holmes_fit.trials.observations import Observations, observations_from_matrix

SEED = 20240917
TRIALS = 120

Promise = Callable[[Model], None]


class Broken(Exception):
    """A promise that a model does not keep."""


def broken_promises(model: Model) -> dict[str, str]:
    """Return the promises that a model does not keep, in words, and what was seen."""
    found = {}
    for promise in CONTRACT:
        try:
            promise(model)
        except Exception as error:
            told = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
            found[in_words(promise)] = told
    return found


def in_words(promise: Promise) -> str:
    """Return a promise for people: functions are named by what they ask for."""
    return promise.__name__.strip("_").replace("_", " ")


def sequence(
    seed: int = SEED, n_trials: int = TRIALS, n_cues: int = 4, hidden: float = 0.15, length_normalized: bool = False
) -> Observations:
    """Return trials whose outcome follows the first cue nine times out of ten, from the middle on its opposite.

    Every other cue is a copy of the first one, the rest are noise, and some outcomes are hidden. Without cues the
    outcome follows itself.
    """
    rng = np.random.default_rng(seed)
    signal = rng.integers(0, 2, n_trials)
    cues = rng.integers(0, 2, (n_trials, n_cues))
    cues[:, ::2] = signal[:, np.newaxis]
    reversed_by_now = np.arange(n_trials) >= n_trials // 2
    outcome = signal ^ reversed_by_now ^ (rng.random(n_trials) < 0.1)
    feedback = rng.random(n_trials) >= hidden
    return observations_from_matrix(np.column_stack([cues, outcome]), -1, feedback, length_normalized)


def defaults(model: Model) -> dict[str, float]:
    """Return the default of every parameter of learning."""
    return {parameter.name: parameter.default for parameter in model.parameters}


def p_hat(model: Model, observations: Observations, seed: int = SEED, **changes: Any) -> NDArray[np.float64]:
    """Return what a model predicts, at its defaults unless something else is said."""
    arguments: dict[str, Any] = {"values": defaults(model), "observer": Observer(particles=40), "replicates": 3}
    return np.asarray(model.p_hat(observations, key=stream_key(seed), **(arguments | changes)))


def learns(model: Model) -> bool:
    """Say whether a model's predictions depend on what came before at all."""
    seen = sequence()
    return bool(_differ(model, seen, replace(seen, outcome=1 - seen.outcome)).any())


def _hold(holds: object, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


def _differ(model: Model, one: Observations, other: Observations) -> NDArray[np.bool_]:
    """Return on which trials the predictions of two sequences differ."""
    return np.any(p_hat(model, one) != p_hat(model, other), axis=0)


def _before(differ: NDArray[np.bool_], trial: int, what: str) -> None:
    """Ask that nothing differs before a trial, counted from 0."""
    early = np.flatnonzero(differ[:trial])
    _hold(not len(early), f"the prediction of trial {early[:1] + 1} changes with {what} of trial {trial + 1} or later")


def _probabilities(found: NDArray[np.float64], n_trials: int, where: str) -> None:
    _hold(found.shape == (3, n_trials), f"an array of shape {found.shape}, for 3 replicates and {n_trials} trials")
    _hold(found.dtype == np.float64, f"an array of type {found.dtype}, which is to be float64")
    outside = found[~((found > 0) & (found < 1))]
    _hold(not len(outside), f"a prediction of {outside[:1]} {where}, which is not above 0 and below 1")


def _it_has_a_label_and_parameters_with_meanings(model: Model) -> None:
    names = [parameter.name for parameter in model.parameters]
    _hold(model.label, "no label")
    _hold(sum(other.label == model.label for other in MODELS.values()) <= 1, f"another model is called {model.label}")
    _hold(names and len(set(names)) == len(names), f"parameters {names}, of which there must be some, each once")
    silent = [parameter.name for parameter in model.parameters if not parameter.meaning]
    _hold(not silent, f"no meaning of {', '.join(silent)}")


def _predictions_are_probabilities_within_the_bounds(model: Model) -> None:
    for length_normalized in (False, True):
        seen = sequence(length_normalized=length_normalized)
        for end in ("low", "default", "high"):
            values = {parameter.name: float(getattr(parameter, end)) for parameter in model.parameters}
            _probabilities(p_hat(model, seen, values=values), TRIALS, f"at {values}")


def _short_sequences_and_those_without_cues_are_predicted(model: Model) -> None:
    for n_trials, n_cues in ((1, 0), (1, 3), (30, 0)):
        found = p_hat(model, sequence(n_trials=n_trials, n_cues=n_cues))
        _probabilities(found, n_trials, f"of {n_trials} trials with {n_cues} cues")


def _features_may_have_several_levels(model: Model) -> None:
    rng = np.random.default_rng(SEED)
    levels = rng.integers(0, 3, 40)
    cues = np.column_stack([*(levels == level for level in range(3)), rng.integers(0, 2, 40)]).astype(np.uint8)
    seen = Observations(cues, (levels == 0).astype(np.uint8), np.ones(40, dtype=np.bool_), parts=(3, 1))
    _probabilities(p_hat(model, seen), 40, "for a feature of three levels and a binary one")


def _the_same_call_gives_the_same_answer(model: Model) -> None:
    _hold(not _differ(model, sequence(), sequence()).any(), "two calls give different predictions")


def _nothing_that_is_given_is_changed(model: Model) -> None:
    given, expected, values = sequence(), sequence(), defaults(model)
    p_hat(model, given, values=values)
    _hold(values == defaults(model), "the values of parameters are changed")
    for name in ("cues", "outcome", "feedback"):
        _hold(np.array_equal(getattr(given, name), getattr(expected, name)), f"the array {name} is changed")


def _batches_of_replicates_do_not_matter(model: Model) -> None:
    at_once = p_hat(model, sequence(), replicates=6)
    in_parts = [p_hat(model, sequence(), replicates=2, first_replicate=first) for first in (0, 2, 4)]
    _hold(np.array_equal(at_once, np.vstack(in_parts)), "six replicates differ from three times two of them")


def _draws_matter_if_and_only_if_particles_are_used(model: Model) -> None:
    one, other = p_hat(model, sequence()), p_hat(model, sequence(), seed=SEED + 1)
    for differ, what in ((one != other, "the key of the draws"), (one[0] != one[1], "the replicate")):
        found, said = bool(differ.any()), "change" if differ.any() else "do not change"
        _hold(found == model.uses_particles, f"predictions {said} with {what}, uses_particles: {model.uses_particles}")


def _predictions_do_not_depend_on_what_is_to_come(model: Model) -> None:
    seen = replace(sequence(), feedback=np.ones(TRIALS, dtype=np.bool_))
    for trial in (0, 33, 60, TRIALS - 1):
        later = np.arange(TRIALS) >= trial
        outcome = np.where(later, 1 - seen.outcome, seen.outcome).astype(np.uint8)
        _before(_differ(model, seen, replace(seen, outcome=outcome)), trial + 1, "the outcome")
        cues = np.where(later[:, np.newaxis], 1 - seen.cues, seen.cues).astype(np.uint8)
        _before(_differ(model, seen, replace(seen, cues=cues)), trial, "the cues")


def _outcomes_that_are_not_shown_do_not_matter(model: Model) -> None:
    seen = sequence(hidden=0.4)
    outcome = np.where(seen.feedback, seen.outcome, 1 - seen.outcome).astype(np.uint8)
    _hold(not _differ(model, seen, replace(seen, outcome=outcome)).any(), "predictions change with hidden outcomes")
    hidden = replace(sequence(hidden=0.0), feedback=np.arange(TRIALS) // 10 != 2)
    _before(_differ(model, sequence(hidden=0.0), hidden), 21, "the feedback")


def _who_learns_follows_the_outcome(model: Model) -> None:
    if not learns(model):
        return
    always, never = (
        p_hat(model, observations_from_matrix(np.tile([1, 0, outcome], (40, 1))))[:, -1] for outcome in (1, 0)
    )
    seen = f"{always.min():.3f} where the outcome always followed, {never.max():.3f} where it never did"
    _hold(always.min() > 0.5 > never.max(), seen)


CONTRACT: tuple[Promise, ...] = (
    _it_has_a_label_and_parameters_with_meanings,
    _predictions_are_probabilities_within_the_bounds,
    _short_sequences_and_those_without_cues_are_predicted,
    _features_may_have_several_levels,
    _the_same_call_gives_the_same_answer,
    _nothing_that_is_given_is_changed,
    _batches_of_replicates_do_not_matter,
    _draws_matter_if_and_only_if_particles_are_used,
    _predictions_do_not_depend_on_what_is_to_come,
    _outcomes_that_are_not_shown_do_not_matter,
    _who_learns_follows_the_outcome,
)
