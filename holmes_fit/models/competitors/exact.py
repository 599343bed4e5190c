"""What models without particles share: one prediction for all replicates, by code that is compiled when it is used."""

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from holmes_fit.trials.observations import Observations

CERTAIN = 30.0  # logits beyond which a prediction is as good as certain


class Exact:
    """A model without particles, which predicts the same in every replicate."""

    uses_particles: ClassVar[bool] = False
    predicts_choices: ClassVar[bool] = False

    def predictions(self, observations: Observations, values: Mapping[str, float]) -> NDArray[np.float64]:
        """Return p-hat of every trial."""
        raise NotImplementedError

    def p_hat(
        self,
        observations: Observations,
        values: Mapping[str, float],
        observer: object,
        key: np.uint64,
        replicates: int = 1,
        first_replicate: int = 0,
    ) -> NDArray[np.float64]:
        """Return p-hat, replicates x trials."""
        return np.tile(self.predictions(observations, values), (replicates, 1))


def from_log_odds(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities that are never quite 0 or 1."""
    return np.asarray(expit(np.clip(log_odds, -CERTAIN, CERTAIN)))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba, which is not imported before the first call; machine code is kept on the disk."""

    @cache
    def machine_code() -> Callable[..., Any]:
        from numba import njit

        return njit(cache=True)(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return machine_code()(*arguments)

    return call
