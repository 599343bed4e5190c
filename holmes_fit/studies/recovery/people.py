"""Who is simulated, on which trials.

True values of every parameter come from the fitting prior, given populations, or fitted posteriors; trials from a
protocol, or from those that real people have seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from holmes_fit._support.errors import InputError, Problem, Problems, check_kind, shown
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Model, Observer, parameters_of
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.simulation import checked_population, with_answers
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol

Origin = Literal["prior", "population", "posterior"]  # where truths come from
NOT_COPIED = ("choice", "excluded_choice", "subject")


@dataclass(frozen=True)
class Truth:
    """Someone to be simulated."""

    subject: str  # that nobody else in the study has; all draws depend on it and the seed
    model: str  # which makes the choices
    values: Mapping[str, float]  # all parameters of the model and of the response rule, natural values
    like: str = ""  # whose trials the person sees, unless they are generated


def check_population(
    population: Mapping[str, float | str], models: Sequence[Model], response: Response, problems: Problems
) -> dict[str, Distribution]:
    """Return how given parameters are spread over simulated people; a parameter must belong to one of the models."""
    if not check_kind("population", population, Mapping, "values by parameter, such as {'alpha': 1.0}", problems):
        return {}
    known = {parameter.name: parameter for model in models for parameter in parameters_of(model, response)}
    found = {name: checked_population(name, name, value, known, problems) for name, value in population.items()}
    return {name: spread for name, spread in found.items() if spread is not None}


def follows_prior(space: Space, population: Mapping[str, Distribution]) -> bool:
    """Say whether truths are distributed as the fit takes them to be; then intervals and ranks must be calibrated."""
    free = {axis.name: axis.prior for axis in space.free}
    for name in [parameter.name for parameter in parameters_of(space.model, space.answers)]:
        given = population.get(name)
        if given is None:
            continue
        if name in space.tied or given != free.get(name, Distribution("fixed", space.fixed.get(name, np.nan))):
            return False
    return True


def draw_truths(
    space: Space,
    n: int,
    *,
    seed: int,
    population: Mapping[str, Distribution] | None = None,
    like: Sequence[str] = (),
) -> list[Truth]:
    """Draw people who follow one model; the first ones are the same for any larger number.

    Free parameters are drawn from their priors between their bounds unless ``population`` says otherwise. ``like`` is
    whose trials they see, in turn.
    """
    given = population or {}
    found = []
    for number, subject in enumerate(_names(space.model.name, n)):
        free = {axis.name: _drawn(axis, given, seed, subject) for axis in space.free}
        values = space.values(free)
        for name in values:
            if name in given and name not in free:
                values[name] = given[name].draw(_rng(seed, subject, name))
        found.append(Truth(subject, space.model.name, values, like[number % len(like)] if like else ""))
    return found


def _drawn(axis: FreeParameter, population: Mapping[str, Distribution], seed: int, subject: str) -> float:
    rng = _rng(seed, subject, axis.name)
    given = population.get(axis.name)
    return float(axis.draw(rng, 1)[0]) if given is None or given == axis.prior else given.draw(rng)


def posterior_truths(fitted: FittedRun, model: str, n: int | None, *, seed: int) -> list[Truth]:
    """Draw people from a fitted run: everyone in turn, each time with another draw from their own posterior.

    Posterior draws differ between people by as much as the people may truly differ; medians would be too much alike.
    There are as many as were fitted unless another number is asked for.
    """
    space, draws = fitted.space(model), fitted.draws(model)
    people = len(draws.subjects)
    found = []
    for number, subject in enumerate(_names(model, people if n is None else n)):
        own = draws.values[number % people]
        chosen = own[_rng(seed, subject, "posterior").integers(len(own))]
        free = dict(zip(draws.parameters, chosen.tolist(), strict=True))
        found.append(Truth(subject, model, space.values(free), draws.subjects[number % people]))
    return found


def truth_table(truths: Sequence[Truth], response: Response = CHOICES) -> pd.DataFrame:
    """Return the truth for people: a row a person and parameter, the natural value and that on the scale of search."""
    rows = [
        (truth.subject, truth.model, each.name, value, float(each.to_scale(value)), truth.like)
        for truth in truths
        for each in parameters_of(MODELS[truth.model], response)
        for value in [truth.values[each.name]]
    ]
    return pd.DataFrame(rows, columns=["subject", "model", "parameter", "value", "on_scale", "like"])


def _names(model: str, n: int) -> list[str]:
    return [f"{model}_{number:03d}" for number in range(1, n + 1)]


def _rng(seed: int, subject: str, purpose: str) -> np.random.Generator:
    return np.random.default_rng(int(stream_key(seed, f"recover/{subject}/{purpose}")))


@dataclass(frozen=True)
class Generated:
    """Everyone has trials of their own, made by the protocol."""

    protocol: Protocol
    seed: int

    def trials_of(self, truth: Truth) -> pd.DataFrame:
        rng = np.random.default_rng(int(stream_key(self.seed, f"recover/{truth.subject}/trials")))
        trials = generate_trials(self.protocol, rng)
        trials["outcome"] = trials["outcome"].astype("Int8")
        return trials.assign(choice=pd.array([0] * len(trials), dtype="Int8"))


@dataclass(frozen=True)
class Copied:
    """Everyone has the trials of someone in a cohort, and gives no answer where they gave none."""

    cohort: Cohort

    def __post_init__(self) -> None:
        if not isinstance(self.cohort, Cohort):
            advice = "holmes_fit.read_cohort makes one of files or a DataFrame."
            raise InputError([Problem("argument like", shown(self.cohort), "a cohort", advice)])

    @property
    def protocol(self) -> Protocol:
        return self.cohort.protocol

    def trials_of(self, truth: Truth) -> pd.DataFrame:
        trials = self.cohort.trials[self.cohort.trials["subject"] == truth.like]
        kept = [name for name in trials.columns if name not in NOT_COPIED]
        return trials[kept].reset_index(drop=True).assign(choice=trials["choice"].array)


# Where the trials of simulated people come from. An answer is missing where none is given, and anything elsewhere.
Sequences = Generated | Copied


def simulate_people(
    truths: Sequence[Truth],
    sequences: Sequences,
    *,
    seed: int,
    observer: Observer | None = None,
    averaged: int = 1,
) -> Cohort:
    """Let people with known parameters answer the trials of some sequences; no fit uses the same draws.

    ``averaged`` is the number of filters whose predictions are averaged before an answer: 1, except for averaged
    observers.
    """
    protocol = sequences.protocol
    tables = []
    for truth in truths:
        trials = sequences.trials_of(truth)
        trials.insert(0, "subject", truth.subject)
        who = MODELS[truth.model], truth.values, observer or Observer(), seed, f"recover/{truth.subject}"
        tables.append(with_answers(trials, protocol, *who, averaged))
    return build_cohort(pd.concat(tables, ignore_index=True), protocol)
