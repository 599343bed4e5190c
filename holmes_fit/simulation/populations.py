"""How a parameter is spread over simulated people: one value for all, or a distribution written as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from holmes_fit.errors import Problems
from holmes_fit.parameters import Parameter, Scale

Kind = Literal["fixed", "lognormal", "logitnormal", "uniform", "loguniform"]

# What a text such as "lognormal:0.8,0.5" means, and on which scales it cannot leave what a parameter accepts.
FORMS: dict[Kind, str] = {
    "lognormal": "lognormal:MEDIAN,SD_OF_THE_LOG",
    "logitnormal": "logitnormal:MEDIAN,SD_OF_THE_LOGIT",
    "uniform": "uniform:LOW,HIGH",
    "loguniform": "loguniform:LOW,HIGH",
}
KINDS: dict[Scale, tuple[Kind, ...]] = {
    "log": ("lognormal", "uniform", "loguniform"),
    "logit": ("logitnormal", "uniform", "loguniform"),
    "identity": ("uniform",),
}
WIDEST = 5.0  # SDs beyond that only make draws that no computer can hold
DIGITS = 6  # of a drawn value; the truth is then what its file says, to the last digit


@dataclass(frozen=True)
class Population:
    """A distribution over people.

    Parameters
    ----------
    kind
        ``"fixed"``, or one of ``FORMS``.
    first, second
        The value; median and SD; or low and high.
    """

    kind: Kind
    first: float
    second: float = 0.0

    def draw(self, rng: np.random.Generator) -> float:
        """Return one person's value."""
        return self.first if self.kind == "fixed" else float(f"{self._drawn(rng):.{DIGITS}g}")

    def _drawn(self, rng: np.random.Generator) -> float:
        match self.kind:
            case "lognormal":
                return float(np.exp(rng.normal(np.log(self.first), self.second)))
            case "logitnormal":
                return float(expit(rng.normal(logit(self.first), self.second)))
            case "loguniform":
                return float(np.exp(rng.uniform(np.log(self.first), np.log(self.second))))
            case _:
                return float(rng.uniform(self.first, self.second))


def parse_population(value: object, parameter: Parameter, where: str, problems: Problems) -> Population | None:
    """Read a number, or a text such as ``lognormal:0.8,0.5``.

    Parameters
    ----------
    value
        What the user gave.
    parameter
        The parameter that is drawn; it must accept every value that can come.
    where
        The place, for messages.
    problems
        Takes what is wrong. Then nothing is returned.
    """
    population = _parsed(value)
    if population is None or not _fits(population, parameter):
        advice = "Take a tiny value for none at all, such as 1e-6." if value in (0, "0") else ""
        problems.add(where, value, allowed_populations(parameter), advice)
        return None
    return population


def allowed_populations(parameter: Parameter) -> str:
    """Return what :func:`parse_population` accepts, in words."""
    forms = [FORMS[kind] for kind in KINDS[parameter.scale]]
    spread = "" if parameter.scale == "identity" else f"; SD from 0 to {WIDEST:g}"
    return f"{parameter.allowed}, or drawn for each person: {', '.join(forms)}{spread}"


def _parsed(value: object) -> Population | None:
    if isinstance(value, str):
        kind, colon, numbers = value.strip().rpartition(":")
        values = [_number(text) for text in numbers.split(",")]
        given = [number for number in values if number is not None]
        if len(given) != len(values):
            return None
        if not colon and len(given) == 1:
            return Population("fixed", given[0])
        named = next((known for known in FORMS if known == kind), None)
        return Population(named, *given) if named and len(given) == 2 else None
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Population("fixed", float(value))
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _fits(population: Population, parameter: Parameter) -> bool:
    first, second = population.first, population.second
    if not parameter.accepts(first):
        return False
    match population.kind:
        case "fixed":
            return True
        case "lognormal" | "logitnormal" as kind:
            return kind in KINDS[parameter.scale] and 0 <= second <= WIDEST
        case kind:
            return kind in KINDS[parameter.scale] and parameter.accepts(second) and first < second
