"""What is to be simulated: the arguments, checked all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holmes_fit._support.errors import Problems, Quoted, check_kind, nearest
from holmes_fit.models.registry import Model, Observer, check_count, find_model, is_number, parameters_of
from holmes_fit.settings.distributions import Distribution, parse_population
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.schema import Protocol

GROUP = "group"  # the covariate that simulated groups have


@dataclass(frozen=True)
class Person:
    """Someone to be simulated; all draws depend on the number, not on the name."""

    number: int
    name: str
    group: str | None


@dataclass(frozen=True)
class Setup:
    """What all people have in common. ``populations`` are by group; everyone's is ``None`` without groups."""

    protocol: Protocol
    shares: dict[str, float]
    populations: dict[str | None, dict[str, Distribution]]
    missed: float
    seed: int
    observer: Observer


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
) -> tuple[Setup, list[Person]]:
    """Return what is to be done, or raise everything that is wrong with the arguments."""
    loaded = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    problems = Problems()
    if loaded.generator is None:
        problems.add(f"protocol {loaded.name}", Quoted("no generator"), "a protocol with a [generator] table")
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
    populations = {}
    if len(models) == len(shares):  # else it is not known which parameters there are
        populations = _checked_values(values or {}, models, list(sizes), problems)
    if not is_number(missed) or not 0 <= missed < 1:
        problems.add("argument missed", missed, "a probability, from 0 to less than 1")
    check_count("seed", seed, problems, least=0)
    problems.raise_if_any()
    setup = Setup(loaded, dict(shares), populations, float(missed), int(seed), observer or Observer())
    return setup, list(_people(sizes))


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


def _checked_values(
    values: Mapping[str, float | str], models: list[Model], groups: list[str | None], problems: Problems
) -> dict[str | None, dict[str, Distribution]]:
    """Return the populations of each group, those of its own before those of everyone."""
    known = {parameter.name: parameter for model in models for parameter in parameters_of(model)}
    for_all: dict[str, Distribution] = {}
    of_group: dict[str | None, dict[str, Distribution]] = {group: {} for group in groups}
    for name, value in values.items():
        group, _, parameter = str(name).rpartition(".")
        if group and group not in groups:
            named = [other for other in groups if other is not None]
            problems.add(f"argument {name}", Quoted(f"group {group!r}"), f"one of the groups: {named}")
        elif parameter not in known:
            problems.add(f"argument {name}", value, f"the parameters {', '.join(known)}", nearest(parameter, known))
        else:
            population = parse_population(value, known[parameter], f"argument {name}", problems)
            if population is not None:
                (of_group[group] if group else for_all)[parameter] = population
    return {group: for_all | own for group, own in of_group.items()}
