"""A model's parameters: their names, their bounds, and the scale on which they are searched and pooled."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

Scale = Literal["log", "logit", "identity"]
Transform = Callable[[ArrayLike], NDArray[np.float64]]

TO_SCALE: dict[Scale, Transform] = {"log": np.log, "logit": logit, "identity": np.asarray}
TO_NATURAL: dict[Scale, Transform] = {"log": np.exp, "logit": expit, "identity": np.asarray}

SMALLEST, LARGEST = 1e-12, 1e12  # beyond these, a positive parameter is lost in rounding


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model."""

    name: str  # as it is called in commands, files and results
    low: float  # the bounds within which it is searched
    high: float
    scale: Scale  # where it is searched and pooled: a logarithm, the logit of a probability, or the number itself
    default: float  # the value it has when it is not fitted
    meaning: str  # one line for people
    free: bool = True  # whether it is fitted unless the user says otherwise
    symbol: str = ""  # as in figures, where that is not its name
    prior: str = ""  # where a preset has none, such as lognormal:0.1,1.5

    @property
    def label(self) -> str:
        return self.symbol or self.name

    def __post_init__(self) -> None:
        if not self.low < self.high or not self.low <= self.default <= self.high:
            raise ValueError(f"{self.name}: needs low <= default <= high, has {self.low}, {self.default}, {self.high}")
        if not (self.accepts(self.low) and self.accepts(self.high)):
            raise ValueError(f"{self.name}: bounds {self.low} and {self.high} lie outside the {self.scale} scale")
        inside = self.to_natural(np.linspace(self.to_scale(self.low), self.to_scale(self.high), 33))
        back = self.to_natural(self.to_scale(inside))
        if not np.allclose(back, inside, rtol=1e-9, atol=0.0):
            raise ValueError(f"{self.name}: the {self.scale} scale does not map back onto itself between the bounds")

    def to_scale(self, value: ArrayLike) -> NDArray[np.float64]:
        """Map natural values onto the scale of search."""
        return np.asarray(TO_SCALE[self.scale](value), dtype=np.float64)

    def to_natural(self, position: ArrayLike) -> NDArray[np.float64]:
        """Map positions on the scale of search back to natural values."""
        return np.asarray(TO_NATURAL[self.scale](position), dtype=np.float64)

    def accepts(self, value: float) -> bool:
        """Say whether the model can be computed at this value, inside the bounds of search or not."""
        try:
            if not math.isfinite(value):
                return False
        except OverflowError:  # a whole number beyond any float
            return False
        if self.scale == "identity":
            return self.low <= value <= self.high
        return SMALLEST <= value <= LARGEST if self.scale == "log" else 0 < value < 1

    @property
    def allowed(self) -> str:
        """What ``accepts`` accepts, in words."""
        if self.scale == "identity":
            return f"a number from {self.low:g} to {self.high:g}"
        return f"a number above 0 ({SMALLEST:g} to {LARGEST:g})" if self.scale == "log" else "a number between 0 and 1"


# Of all models of latent causes
ALPHA = Parameter("alpha", 0.05, 5.0, "log", 1.0, "how readily new causes are opened", symbol="α")
OMEGA = Parameter("omega", 0.02, 5.0, "log", 0.5, "pseudocount of features, and stickiness", symbol="Ω")
