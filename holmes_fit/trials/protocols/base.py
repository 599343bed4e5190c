"""What every table of a protocol has in common: strict types, frozen, and no key that it does not know."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from holmes_fit._support.errors import Problem


class Part(BaseModel):
    """A table of the TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def not_allowed(*problems: Problem) -> PydanticCustomError:
    """Return the error that carries ``problems``, whose places are keys relative to the table that is checked."""
    return PydanticCustomError("protocol", "{text}", {"text": "; ".join(map(str, problems)), "problems": problems})


def instead(seen: object, allowed: str, advice: str = "") -> PydanticCustomError:
    """Return the error for the one value that is being checked."""
    return not_allowed(Problem("", repr(seen), allowed, advice))


def unless(default: object) -> Callable[[object], bool]:
    """Return whether a value is the default: later keys are not written then, and digests stay what they were."""
    return lambda value: value == default


def _as_text(value: object) -> object:
    # Levels and codes are compared with the text of a file, so 1 and "1" in the TOML mean the same.
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def as_texts(value: object) -> object:
    """Return a list of words or numbers as texts."""
    return tuple(_as_text(item) for item in value) if isinstance(value, (list, tuple)) else value


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise instead(list(names), f"each name once, and {', '.join(map(repr, repeated))} repeats")
    return names


def _both_codes(codes: dict[str, int]) -> dict[str, int]:
    if set(codes.values()) != {0, 1}:
        raise instead(codes, "the codes 0 and 1, each used at least once, as in {left = 0, right = 1}")
    return codes


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], BeforeValidator(as_texts), AfterValidator(_each_once)]
Pair = Annotated[tuple[Name, Name], BeforeValidator(as_texts), AfterValidator(_each_once)]
Codes = Annotated[dict[Name, Annotated[int, Field(ge=0, le=1)]], AfterValidator(_both_codes)]
Proportion = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10_000)]
