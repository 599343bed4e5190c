"""Finding and reading protocols: by the name of a shipped one, or by the path of a TOML file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from holmes_fit._support.errors import InputError, Problem, nearest, plain, shown
from holmes_fit._support.study_files import find_toml, parse_toml, read_toml, shipped_names
from holmes_fit.trials.protocols.schema import Protocol


def protocol_names() -> tuple[str, ...]:
    """Return the names of the protocols that come with the package, in alphabetical order.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> hf.protocol_names()[:3]
    ('compositional_2', 'compositional_3', 'compositional_4')
    """
    return shipped_names("protocols")


def protocol_file(name_or_path: str | Path) -> Path:
    """Return the TOML file of a shipped protocol, or of a path."""
    return find_toml(name_or_path, "protocols", "protocol")


def load_protocol(name_or_path: str | Path) -> Protocol:
    """Read a protocol.

    Parameters
    ----------
    name_or_path
        A name from :func:`protocol_names`, or the path of a TOML file.

    Raises
    ------
    InputError
        Listing everything that is wrong with the file: key, value seen, what is allowed.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> protocol = hf.load_protocol("weather_prediction")
    >>> list(protocol.features)
    ['x1', 'x2', 'x3', 'x4']
    """
    path = protocol_file(name_or_path)
    return _checked(read_toml(path), path.name, path.stem)


def read_protocol(content: bytes | str, file: str = "protocol", name: str = "protocol") -> Protocol:
    """Read a protocol from the content of a TOML file."""
    return _checked(parse_toml(content, file), file, name)


def _checked(table: Mapping[str, Any], file: str, name: str) -> Protocol:
    try:
        return Protocol.model_validate({"name": name, **table})
    except ValidationError as error:
        problems = [problem for detail in error.errors() for problem in _problems_of(detail, file)]
        raise InputError(problems) from None


def _problems_of(detail: ErrorDetails, file: str) -> Iterator[Problem]:
    """Say in terms of the TOML file what pydantic found."""
    keys = [str(part) for part in detail["loc"]]
    context = detail.get("ctx", {})
    where = _place(file, keys)
    match detail["type"]:
        case "protocol":
            for problem in context["problems"]:
                place = _place(file, keys + ([problem.where] if problem.where else []))
                yield Problem(place, plain(problem.seen, limit=80), problem.allowed, problem.advice)
        case "extra_forbidden":
            known = _known_keys(keys[:-1])
            yield Problem(where, shown(detail["input"]), f"keys {', '.join(known)}", nearest(keys[-1], known))
        case "missing":
            yield Problem(where, "nothing", "a value, as this key is needed")
        case "union_tag_invalid":
            tag = context["tag"]
            known = context["expected_tags"].replace("'", "").split(", ")
            yield Problem(f"{where}.kind", shown(tag), f"one of {', '.join(known)}", nearest(str(tag), known))
        case "union_tag_not_found":
            yield Problem(f"{where}.kind", "nothing", "the kind of generator")
        case _:
            allowed = detail["msg"].removeprefix("Input should be ")
            yield Problem(where, shown(detail["input"]), allowed[:1].lower() + allowed[1:])


def _place(file: str, keys: list[str]) -> str:
    # pydantic puts the kind of generator into the place; the TOML has no such level.
    named = keys[:1] + keys[2:] if keys[:1] == ["generator"] and len(keys) > 1 else keys
    return f"{file}, key {'.'.join(named)}" if named else file


def _known_keys(keys: list[str]) -> list[str]:
    """Return the keys that the table at ``keys`` can have."""
    models: list[type[BaseModel]] = [Protocol]
    for key in keys:
        of_kind = [model for model in models if "kind" in model.model_fields and key in _kinds(model)]
        below = [inner for model in models if key in model.model_fields for inner in _models_in(model, key)]
        models = of_kind or below or models  # a key that is nobody's is a name that the user gave, as in features.x1
    return list(models[0].model_fields)


def _kinds(model: type[BaseModel]) -> tuple[Any, ...]:
    return get_args(model.model_fields["kind"].annotation)


def _models_in(model: type[BaseModel], key: str) -> Iterator[type[BaseModel]]:
    annotations = [model.model_fields[key].annotation]
    while annotations:
        annotation = annotations.pop(0)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        annotations.extend(get_args(annotation))
