"""A protocol and a model make a cohort: people with known parameters, and the choices that they would make.

Each person's trials, parameters, filter and choices have draws of their own, which depend on the seed and the person's
number alone. So they stay the same whoever else is simulated, and whatever the other parameters are. None of them are
the draws that a fit of the same cohort uses.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import Problems, Quoted, check_kind, nearest
from holmes_fit._support.notebooks import InNotebook
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import MODELS, Model, Observer, check_count, find_model, is_number, parameters_of
from holmes_fit.models.responses.contract import Response
from holmes_fit.models.responses.registry import response_of
from holmes_fit.settings.distributions import Distribution, parse_population
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.designs import RESTARTS
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.writing import write_trials

GROUP = "group"  # the covariate that simulated groups have
CONDITION = "condition"  # the restart column that simulated conditions have
SOURCE = "source"  # the column that marks a file as simulated, unless the protocol has another use for it


@dataclass(frozen=True)
class Person:
    """Someone to be simulated; all draws depend on the number, not on the name."""

    number: int
    name: str
    group: str | None
    condition: str = ""  # of the trials that are simulated; empty if there is only one

    @property
    def place(self) -> str:
        """What luck with trials and choices depends on, beside the seed."""
        return f"{self.number}/{self.condition}" if self.condition else f"{self.number}"


@dataclass(frozen=True)
class Setup:
    """What all people have in common. ``populations`` are by group, or by condition what differs there.

    Everyone's is ``None`` without groups.
    """

    protocol: Protocol
    shares: dict[str, float]
    populations: dict[str | None, dict[str, Distribution]]
    missed: float
    seed: int
    observer: Observer
    conditions: tuple[str, ...]  # one without a name, if there are none


def set_up(
    protocol: Protocol | str | Path,
    model: str,
    subjects: int,
    values: Mapping[str, float | str] | None,
    mix: Mapping[str, float] | None,
    groups: Mapping[str, int] | None,
    missed: float,
    seed: int,
    observer: Observer | None,
    conditions: Sequence[str],
) -> tuple[Setup, list[Person]]:
    """Return what is to be done, or raise everything that is wrong with the arguments."""
    problems = Problems()
    loaded = with_generator(protocol, problems)
    if not check_kind("values", values, Mapping | None, "values by parameter, such as {'alpha': 1.0}", problems):
        values = None
    if not check_kind("mix", mix, Mapping | None, "shares by model, such as {'flat': 0.5, 'holmes': 0.5}", problems):
        mix = None
    if not check_kind("groups", groups, Mapping | None, "people by group, such as {'patients': 20}", problems):
        groups = None
    check_kind("observer", observer, Observer | None, "an Observer", problems)
    shares = [(model, 1.0)] if mix is None else list(mix.items())
    models = _checked_models(shares, mix is not None, problems)
    sizes: dict[str | None, int] = {None: subjects} if groups is None else dict(groups.items())
    _check_groups(loaded, groups, subjects, problems)
    named = _checked_conditions(loaded, conditions, sizes, problems)
    populations = {}
    if len(models) == len(shares):  # else it is not known which parameters there are
        populations = _checked_values(values or {}, models, response_of(loaded), list(sizes), named, problems)
    if not is_number(missed) or not 0 <= missed < 1:
        problems.add("argument missed", missed, "a probability, from 0 to less than 1")
    check_count("seed", seed, problems, least=0)
    problems.raise_if_any()
    setup = Setup(loaded, dict(shares), populations, float(missed), int(seed), observer or Observer(), named or ("",))
    return setup, list(_people(sizes))


def with_generator(protocol: Protocol | str | Path, problems: Problems, advice: str = "") -> Protocol:
    """Return a protocol, after complaining if it cannot make trials."""
    loaded = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    if loaded.generator is None:
        problems.add(f"protocol {loaded.name}", Quoted("no generator"), "a protocol with a [generator] table", advice)
    return loaded


def _people(sizes: Mapping[str | None, int]) -> Iterator[Person]:
    width = max(2, len(str(sum(sizes.values()))))
    number = 0
    for group, size in sizes.items():
        for _ in range(size):
            number += 1
            yield Person(number, f"s{number:0{width}d}", group)


def _checked_models(shares: Sequence[tuple[str, float]], is_mix: bool, problems: Problems) -> list[Model]:
    models = []
    for name, share in shares:
        with problems.collected():
            models.append(find_model(name))
        if not is_number(share) or not 0 <= share <= 1:
            problems.add("argument mix", Quoted(f"{name}={share}"), "a share from 0 to 1")
    total = sum(share for _, share in shares if is_number(share))
    if is_mix and not abs(total - 1) < 1e-6:
        problems.add("argument mix", Quoted(f"shares that add up to {total:g}"), "shares that add up to 1")
    return models


def _check_groups(protocol: Protocol, groups: Mapping[str, int] | None, subjects: int, problems: Problems) -> None:
    if groups is None:
        check_count("subjects", subjects, problems)
        return
    if not groups:
        problems.add("argument groups", dict(groups), "at least one group")
    for name, size in groups.items():
        check_count(f"groups, {name}", size, problems)
        if not isinstance(name, str) or not name.strip():
            problems.add("argument groups", name, "a name for each group")
    if GROUP not in (*protocol.columns.covariates, *protocol.columns.optional_covariates):
        advice = f'Add optional_covariates = ["{GROUP}"] under [columns] in the protocol.'
        problems.add(f"protocol {protocol.name}", Quoted(f"no covariate {GROUP!r}"), "one, to have groups", advice)


def _checked_conditions(
    protocol: Protocol, conditions: Sequence[str], groups: Collection[str | None], problems: Problems
) -> tuple[str, ...]:
    names = (conditions,) if isinstance(conditions, str) else tuple(conditions)
    for name in names:
        if not isinstance(name, str) or not name.strip() or names.count(name) > 1 or name in groups:
            problems.add("argument conditions", name, "a name for each condition, which no other and no group has")
    if len(names) == 1:
        problems.add("argument conditions", list(names), "two conditions or more")
    made = () if protocol.generator is None else RESTARTS.get(protocol.generator.kind, ())
    has = CONDITION in protocol.columns.restart and CONDITION not in made
    if names and not has:
        advice = f'Add restart = ["{CONDITION}"] under [columns] in the protocol: people begin anew in each.'
        where = f"protocol {protocol.name}, restart"
        problems.add(where, list(protocol.columns.restart), f"{CONDITION!r} among the columns", advice)
    if has and not names:
        problems.add("argument conditions", Quoted("nothing"), f"their names, as protocol {protocol.name} has them")
    return names


def _checked_values(
    values: Mapping[str, float | str],
    models: list[Model],
    response: Response,
    groups: list[str | None],
    conditions: Sequence[str],
    problems: Problems,
) -> dict[str | None, dict[str, Distribution]]:
    """Return the populations of each group, those of its own before those of everyone; and those of conditions."""
    known = {parameter.name: parameter for model in models for parameter in parameters_of(model, response)}
    for_all: dict[str, Distribution] = {}
    of_group: dict[str | None, dict[str, Distribution]] = {place: {} for place in (*groups, *conditions)}
    for name, value in values.items():
        group, _, parameter = str(name).rpartition(".")
        if group and group not in of_group:
            named = [other for other in of_group if other is not None]
            what = "groups and conditions" if conditions else "groups"
            problems.add(f"argument {name}", Quoted(f"group {group!r}"), f"one of the {what}: {named}")
        elif (population := checked_population(name, parameter, value, known, problems)) is not None:
            (of_group[group] if group else for_all)[parameter] = population
    return {place: own if place in conditions else for_all | own for place, own in of_group.items()}


def checked_population(
    name: str, parameter: str, value: float | str, known: Mapping[str, Parameter], problems: Problems
) -> Distribution | None:
    """Return how a parameter is spread over people; nothing, after complaining, if it is none or cannot be."""
    if parameter not in known:
        problems.add(f"argument {name}", value, f"the parameters {', '.join(known)}", nearest(parameter, known))
        return None
    return parse_population(value, known[parameter], f"argument {name}", problems)


@dataclass(frozen=True)
class Simulation(InNotebook):
    """A simulated cohort and how it came about."""

    main_table: ClassVar = ("truth",)

    cohort: Cohort
    truth: pd.DataFrame


def simulate(
    protocol: Protocol | str | Path,
    model: str = "holmes",
    subjects: int = 20,
    values: Mapping[str, float | str] | None = None,
    *,
    mix: Mapping[str, float] | None = None,
    groups: Mapping[str, int] | None = None,
    missed: float = 0.0,
    seed: int = 0,
    observer: Observer | None = None,
    conditions: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Simulate a cohort.

    Parameters
    ----------
    protocol
        A protocol with a generator, the name of a shipped one, or the path of a TOML file.
    model
        One of ``holmes_fit.MODELS``.
    subjects
        The number of people.
    values
        Parameters of the model and of the response rule by name: a number, or a population such as
        ``"lognormal:0.8,0.5"`` (see :mod:`holmes_fit.settings.distributions`). ``"patients.omega"`` holds for the group
        ``patients`` only, and so does ``"drug.omega"`` for a condition: the same person is in the same place of either
        population. Those left out have their defaults.
    mix
        Instead of one model, several with their shares, which add up to 1: each person's model is drawn.
    groups
        Instead of ``subjects``, the number of people in each group. The protocol must know the covariate ``group``.
    missed
        The probability that an answer is missed. Everyone gives at least one.
    seed
        Chooses all draws.
    observer
        How the people's own filters are run; fit with the same.
    conditions
        Names of two conditions or more, in each of which everyone learns anew, on trials of their own. The protocol
        must have the restart column ``condition``.
    progress
        Called with the number of people done and their total.

    Raises
    ------
    InputError
        Naming every argument that cannot be used.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> simulation = hf.simulate("reversal", "flat", subjects=2, values={"alpha": 0.5, "beta": "lognormal:3,0.2"})
    >>> simulation.truth["alpha"].tolist()
    [0.5, 0.5]
    """
    setup, people = set_up(protocol, model, subjects, values, mix, groups, missed, seed, observer, conditions)
    trials, truth = [], []
    for done, person in enumerate(people, start=1):
        person_model = _drawn_model(setup, person)
        for condition in setup.conditions:
            there = replace(person, condition=condition)
            values_there = _drawn_values(setup, there, person_model)
            trials.append(_answered(setup, there, person_model, values_there))
            truth.append(_truth(setup, there, person_model, values_there))
        if progress is not None:
            progress(done, len(people))
    table = pd.concat(trials, ignore_index=True)
    cohort = build_cohort(table, setup.protocol, _subject_table(table, setup.protocol))
    return Simulation(cohort, pd.DataFrame(truth))


def write_simulation(simulation: Simulation, trials: Path, truth: Path) -> None:
    """Write the trials in the protocol's own columns, and the truth; neither appears before both are complete."""
    with written_whole(trials) as first, written_whole(truth) as second:
        write_trials(simulation.cohort.trials, simulation.cohort.protocol, first)
        write_table(simulation.truth, second)


def _rng(setup: Setup, person: Person, purpose: str) -> np.random.Generator:
    return np.random.default_rng(int(stream_key(setup.seed, f"simulate/{person.number}/{purpose}")))


def _luck(setup: Setup, person: Person, purpose: str) -> np.random.Generator:
    """Return draws of their own for each condition."""
    return np.random.default_rng(int(stream_key(setup.seed, f"simulate/{person.place}/{purpose}")))


def _drawn_model(setup: Setup, person: Person) -> Model:
    names = list(setup.shares)
    position = np.searchsorted(np.cumsum(list(setup.shares.values())), _rng(setup, person, "model").random(), "right")
    return MODELS[names[min(int(position), len(names) - 1)]]


def _drawn_values(setup: Setup, person: Person, model: Model) -> dict[str, float]:
    populations = setup.populations[person.group] | setup.populations.get(person.condition, {})
    return {
        parameter.name: populations[parameter.name].draw(_rng(setup, person, f"parameter {parameter.name}"))
        if parameter.name in populations
        else parameter.default
        for parameter in parameters_of(model, response_of(setup.protocol))
    }


def _answered(setup: Setup, person: Person, model: Model, values: Mapping[str, float]) -> pd.DataFrame:
    protocol = setup.protocol
    trials = generate_trials(protocol, _luck(setup, person, "trials"))
    trials["subject"] = person.name
    if person.group is not None:
        trials[GROUP] = person.group
    if person.condition:
        trials[CONDITION] = person.condition
    luck = _luck(setup, person, "missed").random(len(trials))
    is_missed = luck < setup.missed
    is_missed[np.argmax(luck)] = False  # makes a difference only if all were missed
    trials["outcome"] = trials["outcome"].astype("Int8")
    if protocol.columns.correct is not None:  # such a file cannot tell the outcome of a trial without an answer
        trials["feedback"] = trials["feedback"] & ~is_missed
        trials.loc[is_missed, "outcome"] = pd.NA
    trials["choice"] = pd.arrays.IntegerArray(np.zeros(len(trials), np.int8), is_missed)
    return with_answers(trials, protocol, model, values, setup.observer, setup.seed, f"simulate/{person.place}")


def with_answers(
    trials: pd.DataFrame,
    protocol: Protocol,
    model: Model,
    values: Mapping[str, float],
    observer: Observer,
    seed: int,
    person: str,
    averaged: int = 1,
) -> pd.DataFrame:
    """Return the trials of one person with what they choose; an answer stays missing where there is none.

    No fit uses the same draws: the names of its draws are lists in brackets, and ``person`` is none. ``averaged`` is
    the number of filters whose predictions are averaged before an answer: 1, except for averaged observers.
    """
    if SOURCE not in trials and SOURCE not in protocol.required_columns:
        trials = trials.assign(**{SOURCE: "simulated"})
    p_hat = np.empty(len(trials))
    for learner in build_cohort(trials, protocol).learners:
        key = stream_key(seed, f"{person}/filter/{learner.restart}")
        p_hat[learner.rows] = model.p_hat(learner.observations, values, observer, key, averaged).mean(axis=0)
    rng = np.random.default_rng(int(stream_key(seed, f"{person}/choices")))
    response = response_of(protocol)
    own = [parameter.name for parameter in response.parameters_beside(model.predicts_choices)]
    kind = "Int8" if protocol.response is None else "Float64"
    answers = response.draw(p_hat, response.rule({name: values[name] for name in own}), rng)
    return trials.assign(choice=pd.Series(answers, trials.index, kind).mask(trials["choice"].isna()))


def _truth(setup: Setup, person: Person, model: Model, values: Mapping[str, float]) -> dict[str, object]:
    models = [MODELS[name] for name in setup.shares]
    parameters = [parameter for each in models for parameter in each.parameters]
    response = response_of(setup.protocol)
    parameters += [own for each in models for own in response.parameters_beside(each.predicts_choices)]
    names = dict.fromkeys(parameter.name for parameter in parameters)
    return {
        "subject": person.name,
        **({} if person.group is None else {GROUP: person.group}),
        **({CONDITION: person.condition} if person.condition else {}),
        "model": model.name,
        **{name: values.get(name, np.nan) for name in names},
        "seed": setup.seed,
        **asdict(setup.observer),
    }


def _subject_table(trials: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    columns = protocol.columns
    names = [name for name in (*columns.covariates, *columns.optional_covariates) if name in trials]
    people = trials[["subject", *names]].drop_duplicates("subject", ignore_index=True)
    return people.mask(people == "").astype("str")
