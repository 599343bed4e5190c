"""How fits are run, from a TOML file: the likelihood, the search, and what is known of each parameter beforehand."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from holmes_fit._support.errors import InputError, Problem, Problems, nearest, shown
from holmes_fit._support.study_files import find_toml, read_toml
from holmes_fit.models.registry import MODELS, Model, check_known, parameters_of
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.models.responses.registry import names_of_responding
from holmes_fit.settings.entries import space_of
from holmes_fit.settings.pooling import PoolingSettings
from holmes_fit.settings.spaces import Space
from holmes_fit.settings.tables import (
    LikelihoodSettings,
    ParameterSettings,
    PosteriorSettings,
    SearchSettings,
    overlaid,
)
from holmes_fit.trials.protocols.base import Name, Part

MOST_BASES = 20
OF_THE_FILE = ("name", "about")  # these a file does not take from its base


class Preset(Part):
    """How fits are run, and pooled. :func:`load_preset` reads one and checks it against the models."""

    name: Name
    about: str = ""
    likelihood: LikelihoodSettings = LikelihoodSettings()
    search: SearchSettings = SearchSettings()
    posterior: PosteriorSettings = PosteriorSettings()
    parameters: dict[str, ParameterSettings] = Field(default_factory=dict)
    models: dict[str, dict[str, ParameterSettings]] = Field(default_factory=dict)
    pooling: PoolingSettings = PoolingSettings()

    def space(self, model: Model, response: Response = CHOICES) -> Space:
        """Return what is searched when ``model`` is fitted to such answers."""
        problems = Problems()
        own = self.models.get(model.name, {})
        space = space_of(self.parameters, own, model, f"preset {self.name}", problems, response)
        if space is None or problems:
            raise InputError(problems)
        return space


def load_preset(name_or_path: str | Path) -> Preset:
    """Read a preset."""
    path = find_toml(name_or_path, "fitting", "preset")
    table = _complete_table(path, ())
    return _checked({"name": path.stem, **table}, path.name)


def with_fixed(
    preset: Preset, values: Mapping[str, float], models: Iterable[Model] | None = None, response: Response = CHOICES
) -> Preset:
    """Return the preset with parameters fixed, in every model that has them."""
    fitted = tuple(MODELS.values() if models is None else models)
    known = {parameter.name: parameter for model in fitted for parameter in parameters_of(model, response)}
    problems = Problems()
    check_known("fix", values, known, f"a parameter of the models {', '.join(each.name for each in fitted)}", problems)
    problems.raise_if_any()
    table = preset.model_dump(exclude_none=True)
    fixed = {name: {"fixed": float(value)} for name, value in values.items()}
    of_models = {
        name: overlaid(settings, {own: fixed[own] for own in settings if own in fixed})
        for name, settings in table["models"].items()
    }
    changed = {**table, "parameters": overlaid(table["parameters"], fixed), "models": of_models}
    return Preset.model_validate(changed)


def _checked(table: Mapping[str, Any], file: str) -> Preset:
    """Return the preset of a table, or raise everything that is wrong with it."""
    try:
        preset = Preset.model_validate(table)
    except ValidationError as error:
        raise InputError(_problem_of(detail, file) for detail in error.errors()) from None
    problems = Problems()
    _check_names(preset, file, problems)
    for model in MODELS.values():
        space_of(preset.parameters, preset.models.get(model.name, {}), model, file, problems)
    if problems:  # models that share a parameter find the same thing wrong with it
        raise InputError(dict.fromkeys(problems))
    return preset


def _check_names(preset: Preset, file: str, problems: Problems) -> None:
    everywhere = dict.fromkeys(own.name for model in MODELS.values() for own in parameters_of(model))
    everywhere |= dict.fromkeys(names_of_responding())
    _check_known("parameters", preset.parameters, everywhere, file, problems)
    _check_known("models", preset.models, MODELS, file, problems)
    for name, settings in preset.models.items():
        if name in MODELS:
            model = MODELS[name]
            own = [own.name for own in model.parameters] + [*names_of_responding(model.predicts_choices)]
            _check_known(f"models.{name}", settings, own, file, problems)


def _check_known(key: str, names: Iterable[str], known: Iterable[str], file: str, problems: Problems) -> None:
    listed = list(known)
    for name in names:
        if name not in listed:
            problems.add(f"{file}, key {key}.{name}", name, f"one of {', '.join(listed)}", nearest(name, listed))


def _complete_table(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """Return the content of a file over that of its base, which is checked on its own so that messages name it."""
    table = read_toml(path)
    base = table.pop("base", None)
    if base is None:
        return table
    where = f"{path.name}, key base"
    if not isinstance(base, str):
        raise InputError([Problem(where, shown(base), "the name of a preset, or the path of one")])
    below = find_toml(base, "fitting", where, beside=path.parent)
    if below.resolve() in (chain := (*above, path.resolve())) or len(above) > MOST_BASES:
        raise InputError([Problem(where, shown(base), "a preset that is not built on this one")])
    inherited = _complete_table(below, chain)
    _checked({"name": below.stem, **inherited}, below.name)
    return overlaid({key: value for key, value in inherited.items() if key not in OF_THE_FILE}, table)


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
    table = Preset.model_fields[keys[0]].annotation if keys else Preset
    return table if isinstance(table, type) and issubclass(table, BaseModel) else ParameterSettings
