"""Simulation-based calibration of group models, small; that a wrong group model is found out; and shared traces."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from holmes_fit._support.uniformity import chi_square_p, ecdf_p
from holmes_fit.fitting.lattice.explored import explore
from holmes_fit.fitting.lattice.posterior import posterior_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task
from holmes_fit.groups.pooling import draws
from holmes_fit.groups.pooling.draws import GroupDraws, People, node_weights
from holmes_fit.groups.pooling.lattices import Lattices, merge
from holmes_fit.groups.pooling.mixture import mix_models
from holmes_fit.groups.pooling.pool import pool_people
from holmes_fit.groups.pooling.priors import GroupPrior, draw_prior, scaled
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.likelihood.traces import Replicates
from holmes_fit.models.parameters import Parameter
from holmes_fit.models.registry import find_model
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.settings.spaces import FreeParameter
from holmes_fit.studies.recovery.group_study import RANKED, as_lattices, draw_people, ranks
from holmes_fit.studies.recovery.shared_traces import SharedTask, SharedTraces, shared_learners
from tests.test_pooling_mixture import FREQUENCY, exact_mass
from tests.toy_lattices import point_lattices

SEED = 20262
FALSE_ALARMS = 1e-3  # over all tests of one set of ranks
RATE = FreeParameter(Parameter("rate", 0.02, 0.98, "logit", 0.5, ""), Distribution("logitnormal", 0.5, 1.5), 24)
ANSWERS = 30
PEOPLE = 8


def answers(positions: NDArray[np.float64], rng: np.random.Generator) -> Lattices:
    """Return the lattices of people who say yes with a probability of their own: the likelihood is exact."""
    yes = rng.binomial(ANSWERS, expit(positions))[:, None]
    log_likelihood = yes * np.log(RATE.values) + (ANSWERS - yes) * np.log1p(-RATE.values)
    nothing = np.zeros(len(positions))
    return Lattices(
        "toy", tuple(f"s{i}" for i in range(len(positions))), (RATE,), log_likelihood, nothing, nothing, nothing
    )


def simulated(n: int, rng: np.random.Generator) -> list[tuple[GroupDraws, Lattices]]:
    """Return groups from the prior, each with the lattices of its people."""
    axes = merge(answers(np.zeros(PEOPLE), rng)).axes
    groups = draw_prior(scaled(GroupPrior(), axes), n, rng)
    found = []
    for number in range(n):
        group = groups.chosen(np.array([number]))
        people = draw_people([RATE], group.mean[0], group.spread[0], PEOPLE, rng)
        found.append((group, answers(people[:, 0], rng)))
    return found


def least_p(rank: NDArray[np.int64]) -> float:
    """Return the smallest p-value of both tests for mean and spread, corrected for there being four."""
    p_values = [test(column, RANKED) for column in rank.reshape(len(rank), -1).T for test in (chi_square_p, ecdf_p)]
    return len(p_values) * min(p_values)


# -------------------------------------------------------------------------------------------- one cohort after another
@pytest.mark.slow
def test_a_mixture_is_that_of_the_people_it_is_given() -> None:
    """Models without free parameters: the posterior of the frequency is known, for one cohort and then another."""
    rng = np.random.default_rng(SEED)
    log_ratios = rng.normal([[2.0], [-2.0]], 1.0, size=(2, 12))
    pairs = [[point_lattices(np.zeros(12), "flat"), point_lattices(ratio, "holmes")] for ratio in log_ratios]
    for pair, ratio in zip(pairs, log_ratios, strict=True):
        found = mix_models(pair, sampling=Sampling(chains=2, tune=150, draws=300, seed=SEED))
        mass = exact_mass(ratio)
        mean = mass @ FREQUENCY
        sd = np.sqrt(mass @ (FREQUENCY - mean) ** 2)
        assert found.frequency[:, 1].mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(150))


# ------------------------------------------------------------------------------------------------- calibration
@pytest.mark.slow
def test_ranks_of_groups_are_uniform() -> None:
    """NUTS over groups: 40 cohorts."""
    rng = np.random.default_rng(SEED + 1)
    cohorts = simulated(40, rng)
    sampling = Sampling(chains=2, tune=100, draws=120, seed=SEED)
    rank = np.array([ranks(group, pool_people(lattices, sampling=sampling).draws) for group, lattices in cohorts])
    assert least_p(rank) > FALSE_ALARMS


def drawn_by_quadrature(lattices: Lattices, rng: np.random.Generator) -> GroupDraws:
    """Draw from the posterior on a grid of mean and spread, with what `draws` has for the density at the nodes."""
    prior = scaled(GroupPrior(), merge(lattices).axes)
    cells = [(-7.0, 7.0, 70), (-3.5, 3.5, 45)]
    widths = np.array([(high - low) / n for low, high, n in cells])
    mean, log_excess = (
        grid.ravel() for grid in np.meshgrid(*(low + (np.arange(n) + 0.5) * (high - low) / n for low, high, n in cells))
    )
    density = norm.logpdf(mean, prior.mean, prior.mean_sd)
    density += norm.logpdf(log_excess, prior.log_excess, prior.log_excess_sd)
    groups = GroupDraws(mean[:, None], np.hypot(prior.least_spread, np.exp(log_excess))[:, None])
    density += People(lattices, groups).log_likelihood().sum(axis=1)
    mass = np.exp(density - density.max())
    chosen = rng.choice(len(mass), size=RANKED, p=mass / mass.sum())
    moved = widths * (rng.random((RANKED, 2)) - 0.5)
    excess = np.exp(log_excess[chosen] + moved[:, 1])
    return GroupDraws((mean[chosen] + moved[:, 0])[:, None], np.hypot(prior.least_spread, excess)[:, None])


def without_normalisation(
    positions: NDArray[np.float64], mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.exp(-0.5 * ((positions - mean[:, None]) / spread[:, None]) ** 2)


def doubled(
    positions: NDArray[np.float64], mean: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    return node_weights(positions, mean, 2 * spread)


@pytest.mark.parametrize(
    ("density", "is_right"), [(node_weights, True), (without_normalisation, False), (doubled, False)]
)
def test_a_wrong_group_model_is_found_out(
    density: Callable[..., NDArray[np.float64]], is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks of 100 groups are uniform, unless the density of the group is not what people were drawn from."""
    monkeypatch.setattr(draws, "node_weights", density)
    rng = np.random.default_rng(SEED + 2)
    rank = np.array([ranks(group, drawn_by_quadrature(lattices, rng)) for group, lattices in simulated(100, rng)])
    assert (least_p(rank) > FALSE_ALARMS) == is_right


def test_people_stay_within_the_bounds_even_of_a_group_far_outside() -> None:
    people = draw_people([RATE], np.array([9.0]), np.array([0.3]), 500, np.random.default_rng(SEED))
    assert np.all((RATE.low <= people) & (people <= RATE.high))
    assert people.min() > RATE.high - 0.3  # an exponential tail towards the mean, of scale 0.3² / (9 - 3.9)


# ------------------------------------------------------------------------------------------------- shared traces
@cache
def shared_by(protocol: str) -> SharedTraces:
    """A short task on a small lattice."""
    table = load_preset("quick").model_dump(exclude_none=True)
    for name, nodes in (("alpha", 3), ("omega", 3), ("beta", 5), ("lapse", 4)):
        table["parameters"][name]["nodes"] = nodes
    preset = Preset.model_validate(table)
    space = preset.space(find_model("holmes"))
    return SharedTraces(space, shared_learners(protocol, SEED), 32, preset.likelihood.replicates)


@pytest.fixture(scope="module")
def shared() -> SharedTraces:
    return shared_by("conditioning")


@pytest.mark.parametrize(("protocol", "learners"), [("conditioning", 1), ("shepard", 6)])
def test_shared_traces_give_the_lattice_of_a_fit(protocol: str, learners: int) -> None:
    """Taken in order, the filters are those of a fit of the same person: everything is equal, to the last digit."""
    shared = shared_by(protocol)
    assert len(shared.learners) == learners
    rng = np.random.default_rng(SEED)
    middle = {axis.name: float(axis.to_natural(0.5 * (axis.low + axis.high))) for axis in shared.space.free}
    person = shared.person(middle, shared.learners[0].subject, rng)
    from_pool = SharedTask(person, shared.space, shared=shared)
    found, wanted = (posterior_of(explore(task, 8)) for task in (from_pool, Task(person, shared.space)))
    np.testing.assert_array_equal(found.log_likelihood, wanted.log_likelihood)
    np.testing.assert_array_equal(found.of_sets, wanted.of_sets)
    assert found.log_evidence == wanted.log_evidence
    assert found.log_evidence_error == wanted.log_evidence_error > 0


def test_each_learner_has_the_traces_of_its_own_trials() -> None:
    """A person of several learners with as many kinds of p-hat: none is given those of another."""
    shared = shared_by("shepard")
    found = tuple(np.full((32, len(each.choices)), 0.1 + 0.1 * n) for n, each in enumerate(shared.learners))
    order = np.broadcast_to(np.arange(32)[::-1], (9, 32))
    task = SharedTask(shared.learners, shared.space, shared=replace(shared, _found={3: found}), order=order)
    traces = task.traces(np.empty(0), Replicates(8, LATTICE + 3 * A_NODE))
    assert [each.shape for each in traces.p_hat] == [(8, len(each.choices)) for each in shared.learners]
    for place, own in enumerate(traces.p_hat):
        np.testing.assert_allclose(own, 0.1 + 0.1 * place)


def test_everyone_takes_filters_of_their_own(shared: SharedTraces) -> None:
    highest = {axis.name: float(axis.to_natural(axis.high)) for axis in shared.space.free}
    person = shared.person(highest, "s01", np.random.default_rng(SEED))
    one, other = (shared.fits(person, np.random.default_rng(seed))[0] for seed in (1, 2))
    assert one.log_evidence != other.log_evidence
    (again,) = shared.fits(person, np.random.default_rng(1))
    assert again.log_evidence == one.log_evidence
    assert len({fit.log_evidence for fit in shared.fits(person, np.random.default_rng(1), 4)}) == 4
    lattices = as_lattices("holmes", [one, other])
    np.testing.assert_array_equal(lattices.log_evidence_bias, [one.log_evidence_bias, other.log_evidence_bias])
    np.testing.assert_array_equal(lattices.log_evidence_error, [one.log_evidence_error, other.log_evidence_error])
