"""The registry: every estimator takes the traces of R filters at a point and around it, and returns a log-likelihood.

``p_hats`` has, for every learner, points x filters x trials: the point itself first, then those that would be its
neighbours on a lattice (``around``).
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.explored import SHARES
from holmes_fit.fitting.lattice.nodes import Lending, lending
from holmes_fit.fitting.lattice.posterior import jackknife
from holmes_fit.likelihood.answers import halves, log_mean
from holmes_fit.likelihood.density import TraceDensity, density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.specialised import Specialised
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Rule

Array = NDArray[np.float64]
P_hats = Sequence[Array]
Choices = Sequence[NDArray[np.int8]]
Estimate = Callable[[P_hats, Choices, Rule], float]
OfLearner = Callable[[Array, Array, Rule], float]  # log odds (points x filters x trials), coded, response

OFFSETS = tuple(sorted(product((-1, 0, 1), repeat=2), key=lambda offset: offset != (0, 0)))  # itself first


def around() -> Lending:
    """Return what a node in the middle of a lattice is lent by itself and its eight neighbours."""
    nodes = [(1 + i, 1 + j) for i, j in OFFSETS]
    return lending(nodes, (3, 3))[0]


def plain(log_odds: Array, coded: Array, response: Rule) -> float:
    """The mean over the filters at the point."""
    return float(_plain_by_point(log_odds[:1], coded, response)[0])


def gaussian(log_odds: Array, coded: Array, response: Rule) -> float:
    """A normal density of the traces at the point."""
    return _integral(density_of(log_odds[0].mean(axis=0), deviations_of(log_odds[0])), coded, response)


def half(log_odds: Array, coded: Array, response: Rule) -> float:
    """The mean of both, with nothing lent."""
    return float(halves(plain(log_odds, coded, response), gaussian(log_odds, coded, response)))


def lent_plain(log_odds: Array, coded: Array, response: Rule) -> float:
    """The mean over filters, averaged with the neighbours' by a kernel."""
    by_point = _plain_by_point(log_odds, coded, response)
    lent = around()
    highest = by_point.max()
    return float(np.log(lent.kernel @ np.exp(by_point[lent.lenders] - highest)) + highest)


def lent_gaussian(log_odds: Array, coded: Array, response: Rule) -> float:
    """A normal density, its mean from a plane through the neighbours', its covariance from all their filters."""
    lent = around()
    mean = lent.plane @ log_odds[lent.lenders].mean(axis=1)
    return _integral(density_of(mean, np.concatenate([deviations_of(each) for each in log_odds])), coded, response)


def lent_halves(log_odds: Array, coded: Array, response: Rule) -> float:
    """The mean of both: what the package does at a node of a lattice."""
    return float(halves(lent_plain(log_odds, coded, response), lent_gaussian(log_odds, coded, response)))


def _plain_by_point(log_odds: Array, coded: Array, response: Rule) -> Array:
    given = ~np.isnan(coded)
    by = Specialised(CHOICES)
    return np.array(
        [
            log_mean(by.by_replicate(np.ascontiguousarray(each), coded[given], response))
            for each in log_odds[:, :, given]
        ]
    )


def _integral(density: TraceDensity, coded: Array, response: Rule) -> float:
    return Specialised(CHOICES).integral(density, coded, response)


def of_person(p_hats: P_hats, choices: Choices, response: Rule, *, of_learner: OfLearner) -> float:
    """Add learners up."""
    return sum(
        of_learner(log_odds_of(p_hat), CHOICES.coded(own), response) for p_hat, own in zip(p_hats, choices, strict=True)
    )


class WithError(NamedTuple):
    """An estimate, and what the jackknife says of its error."""

    value: float
    error: float
    bias: float


def with_error(p_hats: P_hats, choices: Choices, response: Rule, estimate: Estimate) -> WithError:
    """Return an estimate with its error, by leaving out one share of the filters after the other at all points."""
    share = np.arange(p_hats[0].shape[1]) % SHARES
    without = [estimate([each[:, share != out] for each in p_hats], choices, response) for out in range(SHARES)]
    value = estimate(p_hats, choices, response)
    return WithError(value, *jackknife(value, np.array(without)))


def corrected(p_hats: P_hats, choices: Choices, response: Rule) -> float:
    """What the package does, less the bias that it states."""
    found = with_error(p_hats, choices, response, ESTIMATORS["lent: halves"])
    return found.value - found.bias


ESTIMATORS: dict[str, Estimate] = {
    name: partial(of_person, of_learner=of_learner)
    for name, of_learner in {
        "plain": plain,
        "gaussian": gaussian,
        "half": half,
        "lent: plain": lent_plain,
        "lent: gaussian": lent_gaussian,
        "lent: halves": lent_halves,
    }.items()
}
ESTIMATORS["lent: halves, less its bias"] = corrected
