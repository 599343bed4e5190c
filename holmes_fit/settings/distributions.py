"""How a parameter is spread over people: one value for all, or a distribution written as text.

The same texts say how simulated people differ and what a fit holds likely before it has seen anyone: its priors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holmes_fit._support.errors import Problems
from holmes_fit.models.parameters import TO_NATURAL, TO_SCALE, Parameter, Scale

Kind = Literal["fixed", "lognormal", "logitnormal", "normal", "uniform", "loguniform"]

FEWEST_IN_GROUP = 3  # people; of fewer, nobody can see how they are spread

# What a text such as "lognormal:0.8,0.5" means.
FORMS: dict[Kind, str] = {
    "lognormal": "lognormal:MEDIAN,SD_OF_THE_LOG",
    "logitnormal": "logitnormal:MEDIAN,SD_OF_THE_LOGIT",
    "normal": "normal:MEAN,SD",
    "uniform": "uniform:LOW,HIGH",
    "loguniform": "loguniform:LOW,HIGH",
}
# On which scales simulated people can be drawn from it: where it cannot leave what a parameter accepts.
KINDS: dict[Scale, tuple[Kind, ...]] = {
    "log": ("lognormal", "uniform", "loguniform"),
    "logit": ("logitnormal", "uniform", "loguniform"),
    "identity": ("uniform",),
}
# A prior is cut off at the bounds of the fit, so it may reach beyond what the parameter accepts.
PRIOR_KINDS: dict[Scale, tuple[Kind, ...]] = {**KINDS, "identity": ("normal", "uniform")}

# Every kind is a normal or a uniform distribution on a scale of its own.
NORMAL: tuple[Kind, ...] = ("lognormal", "logitnormal", "normal")
HOME: dict[Kind, Scale] = {"lognormal": "log", "loguniform": "log", "logitnormal": "logit"}
WIDEST = 5.0  # SDs beyond that only make draws that no computer can hold
DIGITS = 6  # of a drawn value; the truth is then what its file says, to the last digit


@dataclass(frozen=True)
class Distribution:
    """A distribution over people: how simulated ones differ, or what is held likely of fitted ones."""

    kind: Kind
    first: float  # the value; median (or mean) and SD; or low and high
    second: float = 0.0

    def __str__(self) -> str:
        return f"{self.first:g}" if self.kind == "fixed" else f"{self.kind}:{self.first:g},{self.second:g}"

    @property
    def home(self) -> Scale:
        """The scale on which it is normal or uniform."""
        return HOME.get(self.kind, "identity")

    def wider(self, factor: float) -> Distribution:
        """Return the same distribution, so many times as wide about its centre, on the scale where it is at home."""
        if self.kind in NORMAL:
            return replace(self, second=factor * self.second)
        low, high = (float(TO_SCALE[self.home](end)) for end in (self.first, self.second))
        centre, half = (low + high) / 2, factor * (high - low) / 2
        first, second = (float(TO_NATURAL[self.home](end)) for end in (centre - half, centre + half))
        return replace(self, first=first, second=second)

    def draw(self, rng: np.random.Generator) -> float:
        """Return one person's value."""
        return self.first if self.kind == "fixed" else float(f"{self._drawn(rng):.{DIGITS}g}")

    def _drawn(self, rng: np.random.Generator) -> float:
        to_home, to_natural = TO_SCALE[self.home], TO_NATURAL[self.home]
        if self.kind in NORMAL:
            return float(to_natural(rng.normal(to_home(self.first), self.second)))
        return float(to_natural(rng.uniform(to_home(self.first), to_home(self.second))))

    def draw_between(self, low: float, high: float, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Return ``n`` values of the distribution cut off at ``low`` and ``high``, one uniform for each."""
        at_home = _cut(self, low, high).ppf(rng.random(n))
        return np.clip(TO_NATURAL[self.home](at_home), low, high)

    def log_density(self, value: ArrayLike, scale: Scale, low: float, high: float) -> NDArray[np.float64]:
        """Return the log density on a scale, cut off at ``low`` and ``high`` and normalised between them.

        With the scale ``"log"``, it integrates to 1 over the logarithm of the value.
        """
        natural = np.asarray(value, dtype=np.float64)
        at_home = _cut(self, low, high).logpdf(TO_SCALE[self.home](natural))
        # Change of variables: dP/dscale = dP/dhome x (dhome/dvalue) / (dscale/dvalue).
        return np.asarray(at_home + _log_slope(self.home, natural) - _log_slope(scale, natural))

    def support(self, low: float, high: float) -> tuple[float, float] | None:
        """Return between which natural values it has mass, within two bounds; nothing if it has none there."""
        if self.kind in NORMAL:
            return low, high
        lowest, highest = max(low, self.first), min(high, self.second)
        return (lowest, highest) if lowest < highest else None


@lru_cache(maxsize=1024)  # SciPy takes long to make one, and every point of a search asks for the same
def _cut(prior: Distribution, low: float, high: float) -> Any:
    """Return SciPy's distribution over the values on the scale at home, between the natural bounds."""
    from scipy import stats  # takes a third of a second to load, and simulations never need it

    to_home = TO_SCALE[prior.home]
    if prior.kind in NORMAL:
        centre = to_home(prior.first)
        ends = [(to_home(bound) - centre) / prior.second for bound in (low, high)]
        return stats.truncnorm(*ends, loc=centre, scale=prior.second)
    lowest, highest = to_home(max(low, prior.first)), to_home(min(high, prior.second))
    return stats.uniform(loc=lowest, scale=highest - lowest)


def _log_slope(scale: Scale, value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log derivative of a scale by the natural value."""
    match scale:
        case "log":
            return -np.log(value)
        case "logit":
            return -np.log(value) - np.log1p(-value)
        case _:
            return np.zeros_like(value)


def parse_population(value: object, parameter: Parameter, where: str, problems: Problems) -> Distribution | None:
    """Read how simulated people differ: a number, or a text such as ``lognormal:0.8,0.5``.

    The parameter must accept every value that can come. What is wrong goes to ``problems``, and nothing is returned.
    """
    found = _parsed(value)
    if found is not None and _fits(found, parameter):
        return found
    advice = "Take a tiny value for none at all, such as 1e-6." if value in (0, "0") else ""
    problems.add(where, value, allowed_populations(parameter), advice)
    return None


def parse_prior(value: object, parameter: Parameter, where: str, problems: Problems) -> Distribution | None:
    """Read the prior of a parameter that is fitted, as :func:`parse_population` reads a population.

    It must suit the scale of search, and is cut off at the bounds.
    """
    found = _parsed(value)
    if found is not None and _suits(found, parameter.scale):
        return found
    forms = ", ".join(FORMS[kind] for kind in PRIOR_KINDS[parameter.scale])
    advice = "A value that is not fitted is written fixed = ..." if found and found.kind == "fixed" else ""
    problems.add(where, value, f"{forms}; SD above 0, up to {WIDEST:g}; LOW below HIGH", advice)
    return None


def _suits(prior: Distribution, scale: Scale) -> bool:
    """Say whether a prior has a density on the scale of search."""
    first, second = prior.first, prior.second
    if prior.kind not in PRIOR_KINDS[scale] or not (math.isfinite(first) and math.isfinite(second)):
        return False
    at_home = {"log": first > 0, "logit": 0 < first < 1, "identity": True}[prior.home]
    return at_home and (0 < second <= WIDEST if prior.kind in NORMAL else first < second)


def allowed_populations(parameter: Parameter) -> str:
    """Return what :func:`parse_population` accepts, in words."""
    forms = [FORMS[kind] for kind in KINDS[parameter.scale]]
    spread = "" if parameter.scale == "identity" else f"; SD from 0 to {WIDEST:g}"
    return f"{parameter.allowed}, or drawn for each person: {', '.join(forms)}{spread}"


def _parsed(value: object) -> Distribution | None:
    if isinstance(value, str):
        kind, colon, numbers = value.strip().rpartition(":")
        try:
            given = [float(text) for text in numbers.split(",")]
        except ValueError:
            return None
        if not colon and len(given) == 1:
            return Distribution("fixed", given[0])
        named = next((known for known in FORMS if known == kind), None)
        return Distribution(named, *given) if named and len(given) == 2 else None
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Distribution("fixed", float(value))
    return None


def _fits(population: Distribution, parameter: Parameter) -> bool:
    first, second = population.first, population.second
    if not parameter.accepts(first):
        return False
    if population.kind == "fixed":
        return True
    if population.kind not in KINDS[parameter.scale]:
        return False
    return 0 <= second <= WIDEST if population.kind in NORMAL else parameter.accepts(second) and first < second
