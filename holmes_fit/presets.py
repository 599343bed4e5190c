"""How fits are run, from a TOML file: the likelihood, the search, and what is known of each parameter beforehand."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from holmes_fit.choices import response_parameters
from holmes_fit.errors import InputError, Problem, Problems, Quoted, nearest, shown
from holmes_fit.models import MODELS, Model, is_number
from holmes_fit.parameters import Parameter
from holmes_fit.populations import NORMAL, Population, parse_prior
from holmes_fit.protocols.base import Count, Name, Part
from holmes_fit.spaces import FreeParameter, Space
from holmes_fit.study_files import study_folder

MOST_NODES = 4_000_000  # of a lattice; it is held in memory several times
NODES = 12  # along an axis, where a preset gives no number
STANDINGS = ("fixed", "tied", "free")  # what a parameter can be; the last word on it replaces the words before
OF_THE_FILE = ("name", "about")  # these a file does not take from its base

Key = tuple[str, ...]
Replicates = Annotated[int, Field(ge=8, le=4096, multiple_of=8)]  # dealt out to eight batches


class LikelihoodSettings(Part):
    """How the likelihood is computed.

    Parameters
    ----------
    kind
        ``"marginal"``, a person who runs one filter, or ``"expected"``, one who averages over many.
    replicates
        Filters for every person, model and point.
    most_replicates
        Up to how many there may be where the likelihood is noisier than ``largest_batch_sd``, in nats.
    """

    kind: Literal["marginal", "expected"] = "marginal"
    replicates: Replicates = 32
    most_replicates: Replicates = 64
    largest_batch_sd: Annotated[float, Field(gt=0)] = 0.5


class SearchSettings(Part):
    """How the highest point is searched: at how many points beside those of the lattice, from how many starts."""

    method: Literal["nelder_mead", "tpe", "cmaes", "random"] = "nelder_mead"
    evaluations: Annotated[int, Field(ge=1, le=1_000_000)] = 36
    starts: Count = 3


class PosteriorSettings(Part):
    """What is kept of the posterior of each person and model."""

    draws: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class ParameterSettings(Part):
    """What a preset says about one parameter.

    Parameters
    ----------
    prior
        A text such as ``lognormal:0.5,1``; it is cut off at the bounds.
    nodes
        Cells of the lattice between the bounds.
    low, high
        The bounds, where they differ from those that the parameter comes with.
    fixed
        The value, if it is not fitted.
    tied
        The parameter whose value it shares; both are parameters of learning.
    free
        Whether it is fitted; without a word, as the parameter itself says.
    reason
        Why, for people.
    """

    prior: str | None = None
    nodes: Annotated[int, Field(ge=3, le=1000)] | None = None
    low: float | None = None
    high: float | None = None
    fixed: float | None = None
    tied: Name | None = None
    free: bool | None = None
    reason: str = ""


class Preset(Part):
    """How fits are run. :func:`load_preset` reads one and checks it against the models."""

    name: Name
    about: str = ""
    likelihood: LikelihoodSettings = LikelihoodSettings()
    search: SearchSettings = SearchSettings()
    posterior: PosteriorSettings = PosteriorSettings()
    parameters: dict[str, ParameterSettings] = Field(default_factory=dict)
    models: dict[str, dict[str, ParameterSettings]] = Field(default_factory=dict)

    def space(self, model: Model) -> Space:
        """Return what is searched when ``model`` is fitted."""
        problems = Problems()
        space = _space(self, model, f"preset {self.name}", problems)
        if space is None or problems:
            raise InputError(problems)
        return space


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets that come with the package, in alphabetical order."""
    return tuple(sorted(path.stem for path in study_folder("fitting").glob("*.toml")))


def load_preset(name_or_path: str | Path) -> Preset:
    """Read a preset.

    Parameters
    ----------
    name_or_path
        A name from :func:`preset_names`, or the path of a TOML file.

    Raises
    ------
    InputError
        Listing everything that is wrong with the file: key, value seen, what is allowed.
    """
    path = _file(name_or_path, Path(), "preset")
    table = _complete_table(path, ())
    return _checked({"name": path.stem, **table}, path.name)


def with_fixed(preset: Preset, values: Mapping[str, float], models: Iterable[Model] | None = None) -> Preset:
    """Return the preset with parameters fixed, in every model that has them.

    Parameters
    ----------
    preset
        The preset.
    values
        The values by parameter.
    models
        The models that are to be fitted; all of them if not given.

    Raises
    ------
    InputError
        For a parameter that none of the models has, and a value that it does not accept.
    """
    fitted = tuple(MODELS.values() if models is None else models)
    known = {parameter.name: parameter for model in fitted for parameter in _parameters_of(model)}
    problems = Problems()
    for name, value in values.items():
        if name not in known:
            allowed = f"a parameter of the models {', '.join(model.name for model in fitted)}: {', '.join(known)}"
            problems.add(f"fix {name}", value, allowed, nearest(name, known))
        elif not is_number(value) or not known[name].accepts(value):
            problems.add(f"fix {name}", value, known[name].allowed)
    problems.raise_if_any()
    table = preset.model_dump(exclude_none=True)
    fixed = {name: {"fixed": float(value)} for name, value in values.items()}
    of_models = {
        name: _overlaid(settings, {own: fixed[own] for own in settings if own in fixed})
        for name, settings in table["models"].items()
    }
    changed = {**table, "parameters": _overlaid(table["parameters"], fixed), "models": of_models}
    return Preset.model_validate(changed)


def _parameters_of(model: Model) -> tuple[Parameter, ...]:
    return (*model.parameters, *response_parameters(model.predicts_choices))


# --- From the preset to what is searched


def _space(preset: Preset, model: Model, file: str, problems: Problems) -> Space | None:
    """Return the space of a model, or nothing and what is wrong."""
    before = len(problems.found)
    entries = {own.name: _Entry(preset, model, own, file, problems) for own in _parameters_of(model)}
    free = {name: entry.axis() for name, entry in entries.items() if entry.is_free}
    fixed = {name: entry.fixed_value() for name, entry in entries.items() if not entry.is_free and not entry.source}
    tied = {name: entry.source for name, entry in entries.items() if entry.source}
    for name in tied:
        entries[name].check_tie(entries)
    if len(problems.found) > before:
        return None
    own = {parameter.name for parameter in model.parameters}
    learning = tuple(axis for name, axis in free.items() if axis and name in own)
    response = tuple(axis for name, axis in free.items() if axis and name not in own)
    space = Space(model, learning, response, fixed, tied)
    n_nodes = math.prod(axis.nodes for axis in space.free)
    if n_nodes > MOST_NODES:
        sizes = ", ".join(f"{axis.name} {axis.nodes}" for axis in space.free)
        seen = Quoted(f"{n_nodes} nodes for {model.name}: {sizes}")
        problems.add(
            f"{file}, key parameters", seen, f"up to {MOST_NODES} in all", "Take fewer nodes, or fix a parameter."
        )
        return None
    return space


class _Entry:
    """All that a preset says about one parameter of one model."""

    def __init__(self, preset: Preset, model: Model, parameter: Parameter, file: str, problems: Problems):
        self.parameter = parameter
        self.model = model
        self._file = file
        self._problems = problems
        everywhere = _given(preset.parameters.get(parameter.name))
        here = _given(preset.models.get(model.name, {}).get(parameter.name))
        self._keys: dict[str, Key] = {
            **dict.fromkeys(everywhere, ("parameters", parameter.name)),
            **dict.fromkeys(here, ("models", model.name, parameter.name)),
        }
        self.settings = ParameterSettings.model_validate(_overlaid(everywhere, here))
        self._check_standing()

    @property
    def is_free(self) -> bool:
        if self.settings.fixed is not None or self.settings.tied:
            return False
        return self.parameter.free if self.settings.free is None else self.settings.free

    @property
    def source(self) -> str:
        """The parameter that it is tied to, or nothing."""
        return self.settings.tied or ""

    def _complain(self, key: str, seen: object, allowed: str, advice: str = "") -> None:
        table = self._keys.get(key, ("parameters", self.parameter.name))
        self._problems.add(f"{self._file}, key {'.'.join((*table, key))}", seen, allowed, advice)

    def _check_standing(self) -> None:
        given = [word for word in ("fixed", "tied") if getattr(self.settings, word) is not None]
        if len(given) == 2:
            self._complain("tied", self.settings.tied, "either fixed or tied, not both")
        elif given and self.settings.free:
            self._complain("free", True, f"either free or {given[0]}, not both")

    def fixed_value(self) -> float:
        value = self.parameter.default if self.settings.fixed is None else self.settings.fixed
        if not self.parameter.accepts(value):
            self._complain("fixed", value, self.parameter.allowed)
        return value

    def axis(self) -> FreeParameter | None:
        bounded = self._bounded()
        prior = self._prior(bounded or self.parameter)
        if bounded is None or prior is None:
            return None
        if not prior.reaches(bounded.low, bounded.high):
            allowed = f"a prior that has mass from {bounded.low:g} to {bounded.high:g}"
            self._complain("prior", self.settings.prior, allowed, "Set low and high to where the prior has its mass.")
            return None
        low, high = prior.support(bounded.low, bounded.high)  # nothing is searched where the prior has no mass
        axis = FreeParameter(_with_bounds(bounded, low, high), prior, self.settings.nodes or NODES)
        if prior.kind in NORMAL and prior.home == axis.parameter.scale and prior.second < axis.spacing / 2:
            allowed = f"an SD of at least half a cell of the lattice, {axis.spacing / 2:.2g}"
            self._complain("prior", self.settings.prior, allowed, "Take more nodes, closer bounds, or fixed = ...")
        return axis

    def _bounded(self) -> Parameter | None:
        parameter = self.parameter
        bounds = {
            name: getattr(parameter, name) if given is None else given
            for name, given in (("low", self.settings.low), ("high", self.settings.high))
        }
        outside = [name for name, bound in bounds.items() if not parameter.accepts(bound)]
        for name in outside:
            self._complain(name, bounds[name], parameter.allowed)
        if outside:
            return None
        low, high = bounds["low"], bounds["high"]
        if not low < high:
            key = "high" if "high" in self._keys else "low"
            self._complain(key, bounds[key], f"low below high, which are {low:g} and {high:g}")
            return None
        return _with_bounds(parameter, low, high)

    def _prior(self, parameter: Parameter) -> Population | None:
        if self.settings.prior is None:
            allowed, advice = "a prior, as it is fitted", 'Write base = "default" to take those of the shipped preset.'
            self._complain("prior", Quoted("nothing"), allowed, advice)
            return None
        place = f"{self._file}, key {'.'.join((*self._keys['prior'], 'prior'))}"
        return parse_prior(self.settings.prior, parameter, place, self._problems)

    def check_tie(self, entries: Mapping[str, _Entry]) -> None:
        """Check that it can share the value of the other: both of learning, fitted, and never out of its range."""
        learning = [parameter.name for parameter in self.model.parameters]
        others = [name for name in learning if name != self.parameter.name and entries[name].is_free]
        allowed = f"a free parameter of learning in {self.model.name}: {', '.join(others) or 'there is none'}"
        if self.parameter.name not in learning:
            self._complain("tied", self.source, "free or fixed", "Parameters of responding cannot be tied.")
        elif self.source == self.parameter.name:
            self._complain("tied", self.source, allowed, "It cannot be tied to itself.")
        elif self.source not in entries:
            self._complain("tied", self.source, allowed, nearest(self.source, others))
        elif self.source not in learning:
            self._complain("tied", self.source, allowed, "One of learning cannot share a value with one of responding.")
        elif self.source not in others:
            standing = "tied itself" if entries[self.source].source else "fixed"
            self._complain("tied", self.source, allowed, f"{self.source} is {standing}.")
        else:
            self._check_range(entries[self.source])

    def _check_range(self, source: _Entry) -> None:
        bounded = source._bounded()
        if bounded and not (self.parameter.accepts(bounded.low) and self.parameter.accepts(bounded.high)):
            seen = Quoted(f"{source.parameter.name} from {bounded.low:g} to {bounded.high:g}")
            self._complain("tied", seen, self.parameter.allowed)


def _with_bounds(parameter: Parameter, low: float, high: float) -> Parameter:
    """Return a parameter with other bounds. It never takes its default, which has to lie between them all the same."""
    return replace(parameter, low=low, high=high, default=min(max(parameter.default, low), high))


def _given(settings: ParameterSettings | None) -> dict[str, Any]:
    return {} if settings is None else settings.model_dump(exclude_none=True, exclude_unset=True)


def _overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two tables as one, inner tables likewise, where ``above`` has the last word."""
    kept = dict(below)
    if any(word in above for word in STANDINGS):
        kept = {key: value for key, value in kept.items() if key not in STANDINGS}
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(kept.get(key), Mapping)
        kept[key] = _overlaid(kept[key], value) if both else value
    return kept


# --- From the file to the preset


def _checked(table: Mapping[str, Any], file: str) -> Preset:
    """Return the preset of a table, or raise everything that is wrong with it."""
    try:
        preset = Preset.model_validate(table)
    except ValidationError as error:
        raise InputError(_problem_of(detail, file) for detail in error.errors()) from None
    problems = Problems()
    _check_names(preset, file, problems)
    likelihood = preset.likelihood
    if likelihood.most_replicates < likelihood.replicates:
        allowed = f"at least replicates, which is {likelihood.replicates}"
        problems.add(f"{file}, key likelihood.most_replicates", likelihood.most_replicates, allowed)
    for model in MODELS.values():
        _space(preset, model, file, problems)
    if problems:  # models that share a parameter find the same thing wrong with it
        raise InputError(dict.fromkeys(problems))
    return preset


def _check_names(preset: Preset, file: str, problems: Problems) -> None:
    everywhere = dict.fromkeys(own.name for model in MODELS.values() for own in _parameters_of(model))
    _check_known("parameters", preset.parameters, everywhere, file, problems)
    _check_known("models", preset.models, MODELS, file, problems)
    for name, settings in preset.models.items():
        if name in MODELS:
            own = [parameter.name for parameter in _parameters_of(MODELS[name])]
            _check_known(f"models.{name}", settings, own, file, problems)


def _check_known(key: str, names: Iterable[str], known: Iterable[str], file: str, problems: Problems) -> None:
    listed = list(known)
    for name in names:
        if name not in listed:
            problems.add(f"{file}, key {key}.{name}", name, f"one of {', '.join(listed)}", nearest(name, listed))


def _file(name_or_path: str | Path, folder: Path, where: str) -> Path:
    """Return the file of a shipped preset, or of a path, which may be relative to a folder."""
    names = preset_names()
    if isinstance(name_or_path, str) and name_or_path in names:
        return study_folder("fitting") / f"{name_or_path}.toml"
    path = folder / name_or_path
    try:
        found = path.is_file()
    except (OSError, ValueError):  # a name that the file system cannot hold
        found = False
    if not found:
        allowed = f"the path of a TOML file, or one of {', '.join(names)}"
        raise InputError([Problem(where, shown(str(name_or_path)), allowed, nearest(str(name_or_path), names))])
    return path


def _complete_table(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Return the content of a file over that of its base, which is checked on its own so that messages name it."""
    table = _read(path)
    base = table.pop("base", None)
    if base is None:
        return table
    where = f"{path.name}, key base"
    if not isinstance(base, str):
        raise InputError([Problem(where, shown(base), "the name of a preset, or the path of one")])
    below = _file(base, path.parent, where)
    if below.resolve() in (chain := (*above, path.resolve())):
        raise InputError([Problem(where, shown(base), "a preset that is not built on this one")])
    inherited = _complete_table(below, chain)
    _checked({"name": below.stem, **inherited}, below.name)
    return _overlaid({key: value for key, value in inherited.items() if key not in OF_THE_FILE}, table)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError([Problem(str(path), error.strerror or "no access", "a file that can be read")]) from None
    except UnicodeDecodeError as error:
        seen, allowed = f"bytes that are no text, at position {error.start}", "TOML text in UTF-8"
    except RecursionError:
        seen, allowed = "brackets nested too deeply", "TOML"
    except ValueError as error:
        seen, allowed = str(error), "TOML"
    raise InputError([Problem(path.name, shown(Quoted(seen)), allowed)])


def _problem_of(detail: ErrorDetails, file: str) -> Problem:
    """Say in terms of the TOML file what pydantic found."""
    keys = [str(part) for part in detail["loc"]]
    where = f"{file}, key {'.'.join(keys)}"
    match detail["type"]:
        case "extra_forbidden":
            known = list(_table_at(keys[:-1]).model_fields)
            return Problem(where, shown(detail["input"]), f"keys {', '.join(known)}", nearest(keys[-1], known))
        case "model_type" | "dict_type":
            return Problem(where, shown(detail["input"]), f"a table, as in [{'.'.join(keys)}]")
        case _:
            allowed = detail["msg"].removeprefix("Input should be ")
            return Problem(where, shown(detail["input"]), allowed[:1].lower() + allowed[1:])


def _table_at(keys: list[str]) -> type[BaseModel]:
    tables: dict[str, type[BaseModel]] = {
        "likelihood": LikelihoodSettings,
        "search": SearchSettings,
        "posterior": PosteriorSettings,
    }
    return tables.get(keys[0], ParameterSettings) if keys else Preset
