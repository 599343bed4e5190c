"""How many people it takes to see that a model is the more frequent one.

Groups are drawn from the simulated people: each member follows the model with a given probability, the true frequency,
and another one otherwise. What is seen of a member is the log Bayes factor of the two models, as their fits gave it.
The posterior of the frequency given all of them, under a uniform prior, is exact on a grid, and so is the omnibus risk:
the probability that both models are equally frequent (Rigoux et al., 2014). The exceedance probability is protected by
it, as in ``compare``. But ``compare`` has a mixture, in which each model's group is learned from everyone; here people
have evidences of their own, under the priors of the fit, so that thousands of groups need no group model each.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.runs.schema import of
from holmes_fit.studies.statistics import percentiles

FREQUENCIES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SIZES = (10, 20, 40, 80)
GROUPS = 4000  # for the power itself
COHORTS = 200  # bootstrap samples of the simulated people, for its interval
GROUPS_OF_COHORT = 200
CELLS = 50  # of the grid over frequencies; one half lies above .5
CHUNK = 2_000_000  # numbers held at a time
PROTECTED = "protected exceedance above .95"
INTERVAL = "95% interval above .5"
RULES = {PROTECTED: 0.95, INTERVAL: 0.975}  # of the protected exceedance; of the share of the posterior above one half
POWER = of("power.csv").columns


def power_table(
    log_evidence: Mapping[str, pd.DataFrame],
    seed: int,
    sizes: Sequence[int] = SIZES,
    frequencies: Sequence[float] = FREQUENCIES,
) -> pd.DataFrame:
    """Return ``power.csv``: for every pair of models, how often one is found to be the more frequent.

    Log evidences, people x models, are by the model that people follow. Of two models, it is HOLMES that is to be
    found, and otherwise the one that was named later. At a true frequency of .5, power is the rate of false alarms.
    Intervals are for the simulated people: they are drawn anew, with replacement, before groups are drawn from them.
    """
    rows: list[tuple[object, ...]] = []
    pairs = [(b, a) if a == "holmes" else (a, b) for a, b in combinations(log_evidence, 2)]
    for other, model in pairs:
        own, others = ((log_evidence[name][model] - log_evidence[name][other]) for name in (model, other))
        if not (len(own) and len(others)):
            continue
        rng = np.random.default_rng(int(stream_key(seed, f"recover/power/{model}/{other}")))
        study = _Study(own.to_numpy(dtype=np.float64), others.to_numpy(dtype=np.float64))
        for size in sizes:
            for frequency in frequencies:
                found = study.judged(size, frequency, GROUPS, rng)
                again = study.resampled(size, frequency, rng)
                for rule, least in RULES.items():
                    interval = percentiles(without_noise((again[rule] > least).mean(axis=1), GROUPS_OF_COHORT))
                    rows.append((model, other, size, frequency, rule, float((found[rule] > least).mean()), *interval))
    return pd.DataFrame(rows, columns=list(POWER))


def without_noise(shares: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return shares, each of which was counted among ``n``, as far apart as they would be had all been counted.

    Their variance is that of what was counted plus that of counting. Deviations from the mean are shrunk until only the
    first is left; otherwise intervals would never become narrower than counting among ``n`` allows.
    """
    of_counting, found = (shares * (1 - shares)).mean() / (n - 1), shares.var(ddof=1)
    kept = np.sqrt(max(0.0, 1 - of_counting / found)) if found > 0 else 0.0
    return np.asarray(shares.mean() + kept * (shares - shares.mean()))


def log_likelihood(log_bayes_factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(f B + 1 - f) at the cells of the grid, in a new last axis, and at its end for equal frequencies."""
    frequency = np.append((np.arange(CELLS) + 0.5) / CELLS, 0.5)
    return np.logaddexp(np.log(frequency) + log_bayes_factor[..., None], np.log1p(-frequency))


def judged(log_likelihood: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return for each group and rule how probable it is that the model is the more frequent one.

    By the rule ``INTERVAL`` it is the share of the frequency's posterior above one half, by ``PROTECTED`` the same when
    chance is allowed for: with the omnibus risk, both models are equally probable.
    """
    free, equal = log_likelihood[..., :CELLS], log_likelihood[..., CELLS]
    highest = free.max(axis=-1)
    mass = np.exp(free - highest[..., None])
    exceeding = mass[..., CELLS // 2 :].sum(axis=-1) / mass.sum(axis=-1)
    risk = expit(equal - highest - np.log(mass.mean(axis=-1)))
    return {PROTECTED: (1 - risk) * exceeding + risk / 2, INTERVAL: exceeding}


class _Study:
    """Log Bayes factors of those who follow a model, and of those who do not."""

    def __init__(self, own: NDArray[np.float64], others: NDArray[np.float64]):
        self._n_own, self._n_others = len(own), len(others)
        self._terms = log_likelihood(np.concatenate([own, others]))  # people x cells, and equal frequencies

    def judged(
        self, size: int, frequency: float, groups: int, rng: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """Return what is found about so many groups, by rule."""
        own = rng.integers(self._n_own, size=(groups, size))
        others = rng.integers(self._n_others, size=(groups, size)) + self._n_own
        return self._of_groups(np.where(rng.random((groups, size)) < frequency, own, others))

    def resampled(self, size: int, frequency: float, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
        """Return cohorts x groups by rule: the same, people being drawn anew for each cohort."""
        shape = (COHORTS, GROUPS_OF_COHORT * size)
        own = rng.integers(self._n_own, size=(COHORTS, self._n_own))
        others = rng.integers(self._n_others, size=(COHORTS, self._n_others)) + self._n_own
        chosen = np.where(
            rng.random(shape) < frequency,
            np.take_along_axis(own, rng.integers(self._n_own, size=shape), axis=1),
            np.take_along_axis(others, rng.integers(self._n_others, size=shape), axis=1),
        )
        found = self._of_groups(chosen.reshape(-1, size))
        return {rule: values.reshape(COHORTS, GROUPS_OF_COHORT) for rule, values in found.items()}

    def _of_groups(self, groups: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        """Return what is found about groups, who are rows of people."""
        at_once = max(1, CHUNK // (groups.shape[1] * CELLS))
        parts = [groups[first : first + at_once] for first in range(0, len(groups), at_once)]
        found = [judged(self._terms[part].sum(axis=1)) for part in parts]
        return {rule: np.concatenate([each[rule] for each in found]) for rule in RULES}
