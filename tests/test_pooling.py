"""Group models against computations that share nothing with them: closed forms, quadrature and plain sums."""

import itertools
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.blocking import DictToArrayBijection
from pytensor.configdefaults import config
from scipy.special import logsumexp
from scipy.stats import kstest, multivariate_normal, norm, truncnorm
from threadpoolctl import threadpool_info, threadpool_limits

from holmes_fit._support.errors import InputError
from holmes_fit.groups.pooling.compiled import Scaled
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.draws import GroupDraws, People, node_weights, population_median
from holmes_fit.groups.pooling.lattices import CoarseAxis, Lattices, merge, relative
from holmes_fit.groups.pooling.model import pymc_model
from holmes_fit.groups.pooling.pool import LatticeErrors, Pooled, lattice_errors, pool_people
from holmes_fit.groups.pooling.priors import GroupPrior, draw_prior, prior_predictive, scaled
from holmes_fit.groups.pooling.results import in_words, to_arviz
from holmes_fit.groups.pooling.sampling import Diagnostics, Sampling, nuts
from holmes_fit.groups.pooling.tables import checks_row, group_table, people_table
from holmes_fit.groups.posteriors import read_posterior, write_posterior
from tests.toy_lattices import gaussian_lattices, log_axis

SEED = 20260
MEASURED = np.random.default_rng(SEED).normal(0.3, np.hypot(0.6, 0.4), size=12)
SMALL = Sampling(chains=4, tune=500, draws=500, seed=SEED, cores=1)


def cohort(people: int, rng: np.random.Generator, error: float = 0.4) -> Lattices:
    measured = rng.normal(0.3, np.hypot(0.6, error), size=(people, 1))
    return gaussian_lattices(measured, np.array([[error**2]]), [log_axis()])


def draws_of(rng: np.random.Generator, n: int, parameters: int) -> GroupDraws:
    return GroupDraws(rng.normal(0.2, 0.4, size=(n, parameters)), np.exp(rng.normal(-0.5, 0.3, size=(n, parameters))))


def log_excess(draws: GroupDraws, prior: Scaled) -> np.ndarray:
    """Return what has a normal prior: the logarithm of the spread beyond what is resolved."""
    return 0.5 * np.log(draws.spread**2 - prior.least_spread**2)


# ------------------------------------------------------------------------------------------- people under a group
def test_a_person_integrates_out_as_a_normal_distribution_says() -> None:
    """Measured with normal errors in a normal group: the marginal is normal, with the variances added."""
    rng = np.random.default_rng(SEED)
    error = np.array([[0.25, 0.1], [0.1, 0.36]])
    measured = rng.normal(0.0, 0.8, size=(5, 2))
    lattices = gaussian_lattices(measured, error, [log_axis("alpha"), log_axis("omega")])
    draws = draws_of(rng, 7, 2)
    found = People(lattices, draws).log_likelihood()
    for k, s in itertools.product(range(7), range(5)):
        marginal = multivariate_normal(draws.mean[k], error + np.diag(draws.spread[k] ** 2))
        assert found[k, s] == pytest.approx(marginal.logpdf(measured[s]), abs=2e-3)


def test_mass_of_a_person_is_that_of_a_normal_posterior() -> None:
    rng = np.random.default_rng(SEED)
    lattices = gaussian_lattices(np.array([[1.2], [-0.4], [0.1]]), np.array([[0.25]]), [log_axis(nodes=96)])
    one = GroupDraws(np.array([[0.2]]), np.array([[0.7]]))
    positions = lattices.axes[0].positions
    for person, measured in enumerate((1.2, -0.4, 0.1)):
        mass = People(lattices, one).mass(person)
        precision = 1 / 0.25 + 1 / 0.49
        mean = (measured / 0.25 + 0.2 / 0.49) / precision
        assert mass @ positions == pytest.approx(mean, abs=1e-3)
        assert mass @ (positions - mean) ** 2 == pytest.approx(1 / precision, rel=1e-3)
    # Over several draws it is the mean of their posteriors.
    draws = draws_of(rng, 3, 1)
    each = [People(lattices, draws.chosen(np.array([k]))).mass(1) for k in range(3)]
    np.testing.assert_allclose(People(lattices, draws).mass(1), np.mean(each, axis=0), atol=1e-12)


def test_people_are_held_against_their_group_on_one_thread(monkeypatch) -> None:
    rng = np.random.default_rng(SEED)
    lattices, draws, threads = cohort(3, rng), draws_of(rng, 2, 1), []
    weights = People.weights

    def looking(self: People, person: int) -> object:
        threads.extend(pool["num_threads"] for pool in threadpool_info())
        return weights(self, person)

    monkeypatch.setattr(People, "weights", looking)
    with threadpool_limits(2):
        People(lattices, draws).log_likelihood()
    assert set(threads) == {1}


def test_draws_of_people_are_from_their_posteriors_under_each_draw_of_the_group() -> None:
    """In a normal group, measured with normal errors: the posterior of each draw is normal, with two parameters."""
    rng = np.random.default_rng(SEED)
    measured, error = np.array([[0.4, -0.3], [-0.5, 0.8]]), np.array([[0.25, 0.1], [0.1, 0.36]])
    lattices = gaussian_lattices(measured, error, [log_axis("alpha", nodes=96), log_axis("omega", nodes=90)])
    few = GroupDraws(np.array([[-1.0, 0.5], [0.6, -0.8]]), np.array([[0.3, 0.6], [0.5, 0.4]]))
    people = People(lattices, few.chosen(np.repeat([0, 1], 4000)))
    for person in range(2):
        nodes = people.draw_nodes(person, rng)
        drawn = np.column_stack([axis.positions[node] for axis, node in zip(lattices.axes, nodes.T, strict=True)])
        for draw in range(2):
            own = drawn[4000 * draw : 4000 * (draw + 1)]
            group = np.diag(few.spread[draw] ** -2)
            covariance = np.linalg.inv(np.linalg.inv(error) + group)
            wanted = covariance @ (np.linalg.inv(error) @ measured[person] + group @ few.mean[draw])
            sd = np.sqrt(np.diag(covariance))
            np.testing.assert_allclose(own.mean(axis=0), wanted, atol=4.5 * sd.max() / np.sqrt(4000))
            np.testing.assert_allclose(np.cov(own.T), covariance, atol=6 * sd.max() ** 2 / np.sqrt(4000))


def test_people_of_one_draw_share_their_group() -> None:
    """Choices that say little leave people where their group is. Drawn each for themselves, they would not agree."""
    rng = np.random.default_rng(SEED)
    lattices = gaussian_lattices(np.zeros((2, 1)), np.array([[25.0]]), [log_axis(nodes=96)])
    means = rng.normal(0.0, 1.0, size=(3000, 1))
    people = People(lattices, GroupDraws(means, np.full((3000, 1), 0.5)))
    first, second = (people.draw_nodes(person, rng)[:, 0] for person in range(2))
    # Means and people: 1 of 1 + .25 of the variance is shared.
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.8, abs=0.05)


def test_a_group_far_from_what_is_possible_still_gives_people() -> None:
    lattices = gaussian_lattices(np.array([[3.5]]), np.array([[0.0025]]), [log_axis(nodes=96)])
    people = People(lattices, GroupDraws(np.full((5, 1), -3.9), np.full((5, 1), 0.02)))
    nodes = people.draw_nodes(0, np.random.default_rng(SEED))
    np.testing.assert_allclose(lattices.axes[0].positions[nodes], 3.5, atol=0.3)


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 0.6), (1.7, 0.8), (-3.0, 1.2), (2.0, 0.1), (6.0, 1.0)])
def test_the_median_is_that_of_the_people_between_the_bounds(mean: float, spread: float) -> None:
    """Near a bound, and beyond it, the normal distribution has its mean elsewhere."""
    axis = log_axis(nodes=200, half_width=2.0)
    found = population_median(axis, np.array([mean, 0.0]), np.array([spread, 0.5]))
    cut = truncnorm((-2 - mean) / spread, (2 - mean) / spread, loc=mean, scale=spread)
    assert np.log(found) == pytest.approx([cut.median(), 0.0], abs=0.01)


def test_covariates_move_the_mean_of_each_person() -> None:
    rng = np.random.default_rng(SEED)
    lattices = cohort(4, rng)
    design = np.array([[0.0], [1.0], [-0.5], [2.0]])
    draws = GroupDraws(np.array([[0.1]]), np.array([[0.6]]), {0: np.array([[0.7]])})
    found = People(lattices, draws, {0: design}).log_likelihood()
    for person in range(4):
        moved = GroupDraws(draws.mean + 0.7 * design[person], draws.spread)
        assert found[0, person] == pytest.approx(People(lattices, moved).log_likelihood()[0, person])


# ------------------------------------------------------------------------------------------- merging
def test_merging_is_undone_by_a_narrower_density() -> None:
    """Merged cells give nearly the same likelihoods, and far better ones than without the correction."""
    rng = np.random.default_rng(SEED)
    lattices = gaussian_lattices(rng.normal(0, 0.8, size=(6, 1)), np.array([[0.09]]), [log_axis(nodes=41)])
    merged = merge(lattices, most_cells=30)
    (axis,) = merged.axes
    assert axis.together == 2
    assert axis.nodes == 21  # the last holds one node
    np.testing.assert_allclose(merged.likelihood[0, -1], lattices.likelihood_of(0)[-1])
    draws = GroupDraws(rng.normal(0, 0.3, size=(50, 1)), rng.uniform(0.4, 0.8, size=(50, 1)))
    fitted = People(lattices, draws).log_likelihood()
    error = np.abs(People(merged, draws).log_likelihood() - fitted).max()
    plain = node_weights(axis.axis.positions, draws.mean[:, 0], draws.spread[:, 0])
    uncorrected = np.log(np.add.reduceat(plain, np.arange(0, 41, 2), axis=1) @ merged.likelihood.T) + merged.highest
    assert error < 0.02
    assert error < np.abs(uncorrected - fitted).max() / 4


@pytest.mark.parametrize("nodes", [40, 41])
@pytest.mark.parametrize("beyond", [-0.3, 0.0, 0.5, 1.0, 2.0])
def test_merging_is_right_at_the_bounds_too(nodes: int, beyond: float) -> None:
    """A group whose mean lies beyond the lattice has its people at the bound, and no more likelihood than is there."""
    axis = log_axis(nodes=nodes)
    at_bound = axis.positions[-1] + np.array([[-0.5], [0.0], [0.3]])
    lattices = gaussian_lattices(at_bound, np.array([[0.5]]), [axis])
    spread = np.array([[0.3], [0.5], [1.0]])
    draws = GroupDraws(np.full((3, 1), axis.positions[-1] + beyond), spread)
    fitted, merged = (People(each, draws).log_likelihood() for each in (lattices, merge(lattices, most_cells=30)))
    # The last two nodes are 0.2 apart, 0.28 SDs of what the choices say: as one, they are known up to half of that.
    np.testing.assert_allclose(merged, fitted, atol=0.14)


def test_fine_axes_are_merged_where_a_lattice_is_large_and_coarse_ones_are_not() -> None:
    lattices = gaussian_lattices(
        np.zeros((3, 2)), np.eye(2), [log_axis("alpha", nodes=95), log_axis("omega", nodes=12)]
    )
    assert [axis.together for axis in merge(lattices).axes] == [1, 1]
    assert [axis.together for axis in merge(lattices, most_cells=1000).axes] == [2, 1]
    fine, coarse = merge(lattices, most_cells=10).axes
    assert (fine.together, coarse.together) == (4, 1)
    assert fine.least_spread <= 0.3 < 2 * fine.least_spread


# ------------------------------------------------------------------------------------------- noise
def with_noise(exact: Lattices, tilt: float, rng: np.random.Generator, shares: int = 4) -> Lattices:
    """Return lattices that are the mean of several shares, each of which tilts everyone's likelihood by chance."""
    (axis,) = exact.axes
    luck = tilt * rng.normal(size=(shares, len(exact.subjects), 1)) * axis.positions / np.std(axis.positions)
    by_share = exact.log_likelihood + luck
    coarse = np.arange(0, axis.nodes, 2)
    without = [logsumexp(np.delete(by_share, out, axis=0), axis=0) - np.log(shares - 1) for out in range(shares)]
    by_set = [relative((CoarseAxis(axis.positions[coarse]),), list(own[:, coarse])) for own in without]
    whole = logsumexp(by_share, axis=0) - np.log(shares)
    return replace(exact, log_likelihood=whole, sets=tuple(by_set))


@pytest.mark.parametrize(("people", "tilt", "between_shares"), [(60, 0.0, 0.0), (60, 2.0, 1.0), (540, 2.0, 3.0)])
def test_noise_is_the_monte_carlo_error_of_the_group(people: int, tilt: float, between_shares: float) -> None:
    """Shares differ by so many nats about the group: stated is what the error of their mean is over repetitions."""
    rng = np.random.default_rng(SEED)
    exact, draws = cohort(people, rng), draws_of(rng, 100, 1)
    stated, group = [], []
    for _ in range(30):
        lattices = with_noise(exact, tilt, rng)
        stated.append(lattice_errors(lattices, merge(lattices), draws).noise)
        found = People(lattices, draws).log_likelihood().sum(axis=1)
        group.append(found - found.mean())
    noise = np.sqrt(np.mean(np.square(stated)))
    assert (noise > 0.4 * between_shares) == (between_shares > 0)  # about half of it: there are four shares
    # The truth is known from 30 repetitions up to 13%, what is stated up to 6%, and the mean of sets is not quite
    # normal, which makes the truth larger.
    true = np.sqrt(np.var(group, axis=0, ddof=1).mean())
    assert 0.6 * true - 1e-9 < noise < 1.3 * true + 1e-9


def test_what_sets_disagree_about_for_all_groups_alike_is_no_noise() -> None:
    """A person whose evidence is uncertain says nothing wrong about the group by that."""
    rng = np.random.default_rng(SEED)
    lattices = with_noise(cohort(8, rng), 0.0, rng)
    moved = tuple(replace(each, highest=each.highest + rng.normal(0, 5, 8)) for each in lattices.sets)
    assert lattice_errors(replace(lattices, sets=moved), merge(lattices), draws_of(rng, 20, 1)).noise < 1e-9


def test_exact_likelihoods_have_no_noise_and_no_warning() -> None:
    rng = np.random.default_rng(SEED)
    smooth = cohort(10, rng)
    errors = lattice_errors(smooth, merge(smooth), draws_of(rng, 100, 1))
    assert errors.noise == errors.shift == 0.0
    assert errors.merging < 0.1
    assert errors.warnings == []


def test_noise_and_merging_are_said_where_they_are_large() -> None:
    said = LatticeErrors(merging=0.6, noise=3.0, shift=1.0).warnings
    assert said[0] == "merging cells of the lattice changes the group's log-likelihood by 0.60 nats"
    assert "by 1.00 SDs of its posterior" in said[1]
    assert "holds the truth in some 83%" in said[1]  # a normal deviate of 1.96 / sqrt(2)
    assert LatticeErrors(merging=0.5, noise=3.0, shift=0.5).warnings == []


def test_shift_is_how_far_noise_moves_the_group() -> None:
    """Noise that tilts everyone's likelihood moves the group's mean; stated is by how much, over repetitions."""
    rng = np.random.default_rng(SEED)
    exact = cohort(60, rng)
    mean = np.linspace(-0.5, 0.5, 400)
    draws = GroupDraws(rng.permutation(mean)[:, None], np.exp(rng.normal(0, 0.1, (400, 1))))
    stated, moved = [], []
    for _ in range(40):
        lattices = with_noise(exact, 0.5, rng)
        stated.append(lattice_errors(lattices, merge(lattices), draws).shift)
        error = (People(lattices, draws).log_likelihood() - People(exact, draws).log_likelihood()).sum(axis=1)
        moved.append(np.cov(draws.mean[:, 0], error, ddof=0)[0, 1] / draws.mean[:, 0].std())
    # Known from 40 repetitions up to 11%; what is stated, from four shares each time, up to 7% of it. As above, the
    # mean of sets is not quite normal.
    assert np.sqrt(np.mean(np.square(stated))) == pytest.approx(np.std(moved, ddof=1), rel=0.35)


# ------------------------------------------------------------------------------------------- what NUTS walks on
def term_of(people: int, nodes: dict[str, int], personal: tuple[int, ...] = (), label: str = "") -> GroupTerm:
    """Return a group of people on lattices with so many nodes a parameter, some of which depend on two covariates."""
    rng = np.random.default_rng([SEED, *nodes.values()])
    axes = [log_axis(name, number) for name, number in nodes.items()]
    lattices = gaussian_lattices(
        rng.normal(0, 0.7, size=(people, len(axes))), np.diag([0.2, 0.3, 0.5][: len(axes)]), axes
    )
    merged = merge(lattices, most_cells=2000)
    designs = {number: rng.normal(size=(people, 2)) for number in personal}
    prior = scaled(GroupPrior(), merged.axes)
    return GroupTerm(lattices, merged, prior, designs, dict.fromkeys(personal, ("a", "b")), label)


THREE = {"alpha": 33, "omega": 20, "beta": 12}
GROUPS = [Density([term_of(4, THREE, personal)]) for personal in ((), (0,), (1,), (0, 1, 2))]
ONE_OF_TWO = [term_of(5, {"alpha": 20, "omega": 16}, label="flat"), term_of(5, {"alpha": 33}, label="holmes")]
MIXTURE = Density(ONE_OF_TWO)


@pytest.mark.parametrize("density", [*GROUPS, MIXTURE])
def test_nuts_walks_on_the_density_of_the_pymc_model(density: Density) -> None:
    """Value and slopes, up to a constant, at points on the unconstrained scales, with covariates on any of the axes."""
    model = pymc_model(density)
    with config.change_flags(mode="FAST_COMPILE"):
        plain = model.logp_dlogp_function(ravel_inputs=True)
        first = model.initial_point()
    plain.set_extra_values({})
    rng = np.random.default_rng(SEED)
    points = density.middle + rng.uniform(-1.5, 1.5, size=(4, len(density.middle)))
    wanted, found = [], []
    for point in points:
        named = in_pymc_order(density, point, first)
        wanted.append(plain(DictToArrayBijection.map(named)))
        value, slope = density(point)
        found.append(
            (value, np.concatenate([np.ravel(each) for each in in_pymc_order(density, slope, first).values()]))
        )
    for number in (1, 2, 3):  # lattices are summed in single precision
        assert found[number][0] - found[0][0] == pytest.approx(wanted[number][0] - wanted[0][0], abs=1e-4)
        np.testing.assert_allclose(found[number][1], wanted[number][1], atol=1e-4, rtol=1e-5)


def in_pymc_order(density: Density, numbers: np.ndarray, first: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return unconstrained numbers by the names that PyMC has for them."""
    parts = {}
    terms, n_free = density.terms, len(density.terms) - 1
    parts["frequency_simplex__"] = numbers[:n_free][None]
    n_axes = sum(len(term.order) for term in terms)
    at, effect = n_free, n_free + 2 * n_axes
    for term in terms:
        back = np.argsort(term.order)
        parts[term.named("mean_interval__")] = numbers[at : at + len(back)][back]
        parts[term.named("log_excess")] = numbers[at + n_axes : at + n_axes + len(back)][back]
        at += len(back)
        for number in term.personal:
            parts[term.effect_name(number)] = numbers[effect : effect + 2]
            effect += 2
    return {name: parts[name] for name in first}


@pytest.mark.parametrize("density", [*GROUPS, MIXTURE])
def test_points_are_the_variables_that_pymc_has(density: Density) -> None:
    model = pymc_model(density)
    point = density.middle + np.random.default_rng(SEED).uniform(-1, 1, size=len(density.middle))
    with config.change_flags(mode="FAST_COMPILE"):
        values = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars)
        wanted = values(in_pymc_order(density, point, model.initial_point()))
    found = density.variables(point[None])
    for variable, value in zip(model.unobserved_value_vars, wanted, strict=True):
        if variable.name in found:
            np.testing.assert_allclose(found[variable.name][0], value, rtol=1e-9)
    assert set(found) == {variable.name for variable in (*model.free_RVs, *model.deterministics)}


@pytest.mark.parametrize("density", GROUPS)
def test_the_pymc_model_is_the_plain_sum(density: Density) -> None:
    """People under draws of the prior: the graph, and the plain twin."""
    (term,) = density.terms
    draws = draw_prior(term.prior, 3, np.random.default_rng(SEED), dict.fromkeys(term.personal, 2))
    wanted = People(term.merged, draws, term.designs).log_likelihood().sum(axis=1)
    model = pymc_model(density)
    for k in range(3):
        point = {"mean": draws.mean[k], "log_excess": log_excess(draws, term.prior)[k]}
        point |= {term.effect_name(number): draws.effects[number][k] for number in term.personal}
        given = {model[name]: value for name, value in point.items()}
        assert model["people"].eval(given, mode="FAST_COMPILE") == pytest.approx(wanted[k], abs=1e-8)


def test_prior_draws_have_the_density_that_pymc_has() -> None:
    lattices = cohort(3, np.random.default_rng(SEED))
    merged = merge(lattices)
    prior = scaled(GroupPrior(spread=0.3), merged.axes)
    draws = draw_prior(prior, 4000, np.random.default_rng(SEED))
    assert draws.spread.min() >= merged.axes[0].least_spread
    model = pymc_model(Density([GroupTerm(lattices, merged, prior, {}, {})]))
    spread = pm.draw(model["spread"], 4000, random_seed=SEED, mode="FAST_COMPILE")
    mean = pm.draw(model["mean"], 4000, random_seed=SEED, mode="FAST_COMPILE")
    assert kstest(draws.spread[:, 0], spread[:, 0]).pvalue > 1e-4
    assert kstest(draws.mean[:, 0], mean[:, 0]).pvalue > 1e-4


def test_prior_predictive_says_where_people_are_expected() -> None:
    lattices = cohort(3, np.random.default_rng(SEED))
    table = prior_predictive(GroupPrior(), merge(lattices).axes, n=4000).set_index("parameter")
    row = table.loc["alpha"]
    assert row["median"] == pytest.approx(1.0, rel=0.1)
    # The mean has SD 1, and the median spread is 0.5 and what the lattice cannot resolve. Its logarithm has SD 0.6.
    assert 2 * 1.1 < np.log(row["upper"]) < 2 * 1.5
    wanted = np.hypot(0.5, merge(lattices).axes[0].least_spread)
    assert row["spread_median"] == pytest.approx(wanted, rel=4 * 1.25 * 0.6 / np.sqrt(4000))
    assert row["share_at_bounds"] < 0.02


@pytest.mark.parametrize(("people", "seen"), [(1, "one person"), (2, "2 people")])
def test_too_few_people_are_refused(people: int, seen: str) -> None:
    with pytest.raises(InputError, match=f"saw {seen}; allowed: at least 3 people"):
        pool_people(cohort(people, np.random.default_rng(SEED)))


def test_diagnostics_say_what_is_wrong() -> None:
    assert not Diagnostics(0, 1.005, 500, 500).warnings
    found = " ".join(Diagnostics(3, 1.05, 100, 900).warnings)
    for text in ("3 divergences", "R-hat 1.050", "effective draws 100 (bulk) and 900 (tail)"):
        assert text in found
    assert Diagnostics(0, float("nan"), 500, 500).warnings


# ------------------------------------------------------------------------------------------- NUTS against quadrature
def midpoints(low: float, high: float, n: int) -> np.ndarray:
    """Return the centres of equal cells, at which a quadrature sums."""
    return low + (high - low) * (np.arange(n) + 0.5) / n


def assert_close(values: np.ndarray, mean: float, sd: float) -> None:
    """Compare draws with a known mean and SD, within four standard errors for 400 effective draws."""
    assert values.mean() == pytest.approx(mean, abs=4 * sd / 20)
    assert values.std() == pytest.approx(sd, rel=4 / np.sqrt(2 * 400))


@pytest.mark.parametrize("step", [15, 25])  # before anything is kept, and after that
def test_ctrl_c_leaves_no_draws_of_some_chains(step: int) -> None:
    done: list[int] = []

    def press_keys() -> None:
        done.append(1)
        if len(done) == step:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        nuts(GROUPS[0], Sampling(chains=3, tune=20, draws=20, cores=1), press_keys)
    assert len(done) == step
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture(scope="module")
def pooled() -> Pooled:
    lattices = gaussian_lattices(MEASURED[:, None], np.array([[0.16]]), [log_axis()])
    return pool_people(lattices, sampling=SMALL)


@pytest.mark.slow
def test_one_parameter_agrees_with_quadrature(pooled: Pooled) -> None:
    """Measured values are normal with the variances added: the posterior is a sum over a grid of (mean, spread)."""
    assert repr(pooled) == f"<Pooled: {pooled.model}, {len(MEASURED)} people>"
    prior = scaled(GroupPrior(), pooled.merged.axes)
    mean = midpoints(-2, 3, 300)[:, None]
    excess = midpoints(-3.5, 1.5, 300)[None, :]
    log_posterior = norm.logpdf(mean, prior.mean[0], prior.mean_sd[0]) + norm.logpdf(excess, prior.log_excess[0], 0.6)
    total_sd = np.sqrt(np.exp(2 * excess) + prior.least_spread[0] ** 2 + 0.16)
    log_posterior = log_posterior + sum(norm.logpdf(value, mean, total_sd) for value in MEASURED)
    mass = np.exp(log_posterior - logsumexp(log_posterior))
    for values, grid in ((pooled.draws.mean[:, 0], mean), (log_excess(pooled.draws, prior)[:, 0], excess)):
        wanted = float((mass * grid).sum())
        assert_close(values, wanted, float(np.sqrt((mass * (grid - wanted) ** 2).sum())))
    assert not pooled.warnings


@pytest.mark.slow
def test_tables_and_words_say_what_was_found(pooled: Pooled) -> None:
    group = group_table(pooled).set_index("quantity")
    assert group.loc["mean", "mean"] == pytest.approx(pooled.draws.mean.mean())
    assert group.loc["median", "median"] == pytest.approx(np.exp(group.loc["mean", "median"]), rel=1e-3)
    assert (group["divergences"] == 0).all()
    assert (group["r_hat"] < 1.02).all()
    people = people_table(pooled)
    assert list(people["subject"]) == list(pooled.lattices.subjects)
    # Estimates lie between what was measured and the group's mean.
    towards = (people["mean_on_scale"].to_numpy() - MEASURED) / (pooled.draws.mean.mean() - MEASURED)
    assert np.all((towards > 0) & (towards < 1))
    assert np.all(people["lower"] < people["median"])
    drawn = np.log(pooled.draw_people(4000)[:, :, 0])
    np.testing.assert_allclose(drawn.mean(axis=1), people["mean_on_scale"], atol=5 * 0.5 / np.sqrt(4000))
    np.testing.assert_allclose(drawn.std(axis=1), people["sd_on_scale"], rtol=5 / np.sqrt(2 * 4000))
    # People share what is uncertain about their group: given the group they would be independent.
    group_mean = pooled.draws.chosen(np.linspace(0, len(pooled.draws) - 1, 4000).round().astype(np.intp)).mean[:, 0]
    assert np.corrcoef(drawn.mean(axis=0), group_mean)[0, 1] > 0.5
    text = in_words({"holmes": pooled})
    assert text.startswith("holmes: 12 people pooled.\n  alpha: group median")
    assert "0 divergences" in text


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "is_said"), [(0.4, False), (0.6, True)])
def test_noise_of_the_group_is_in_tables_and_words(pooled: Pooled, shift: float, is_said: bool) -> None:
    noisier = replace(pooled, errors=replace(pooled.errors, noise=1.25, shift=shift))
    row = checks_row(noisier)
    assert (row["noise_error"], row["noise_shift"]) == (1.25, shift)
    assert "errors in nats: filters 1.25, merging" in in_words({"holmes": noisier})
    assert any("the Monte Carlo error of the likelihood moves" in text for text in noisier.warnings) == is_said


@pytest.mark.slow
def test_arviz_file_comes_back_and_the_seed_fixes_it(pooled: Pooled, tmp_path) -> None:
    write_posterior(to_arviz(pooled), tmp_path / "pool_holmes.nc")
    back = read_posterior(tmp_path / "pool_holmes.nc")
    np.testing.assert_array_equal(back["posterior"]["mean"], pooled.idata["posterior"]["mean"])
    assert back["log_likelihood"]["choices"].shape == (4, 500, 12)
    assert back["individuals"]["value"].shape == (12, 1000, 1)
    again = pool_people(pooled.lattices, sampling=SMALL)
    np.testing.assert_array_equal(again.draws.mean, pooled.draws.mean)


@pytest.mark.slow
def test_two_parameters_agree_with_quadrature() -> None:
    """Errors of the two parameters are correlated, so that the posterior is no product. Quadrature in 4 dimensions."""
    rng = np.random.default_rng(SEED + 1)
    error = np.array([[0.3, 0.2], [0.2, 0.3]])
    true = error + np.diag([0.8**2, 0.5**2])
    measured = rng.multivariate_normal([0.5, -0.3], true, size=10)
    lattices = gaussian_lattices(measured, error, [log_axis("alpha", 36), log_axis("omega", 36)])
    found = pool_people(lattices, sampling=SMALL)
    prior = scaled(GroupPrior(), found.merged.axes)
    ends = [(-1.5, 2.5), (-2.2, 1.6), (-3.2, 1.4), (-3.2, 1.4)]
    grids = np.meshgrid(*[midpoints(low, high, 40) for low, high in ends], indexing="ij", sparse=True)
    m0, m1, s0, s1 = grids
    known = error + np.diag(prior.least_spread**2)
    a, d, b = known[0, 0] + np.exp(2 * s0), known[1, 1] + np.exp(2 * s1), known[0, 1]
    determinant = a * d - b * b
    log_posterior = norm.logpdf(m0, 0, prior.mean_sd[0]) + norm.logpdf(m1, 0, prior.mean_sd[1])
    log_posterior = log_posterior + sum(norm.logpdf(grid, prior.log_excess[i], 0.6) for i, grid in enumerate((s0, s1)))
    for x, y in measured:
        square = (d * (x - m0) ** 2 - 2 * b * (x - m0) * (y - m1) + a * (y - m1) ** 2) / determinant
        log_posterior = log_posterior - 0.5 * (square + np.log(determinant))
    mass = np.exp(log_posterior - logsumexp(log_posterior))
    values = [*found.draws.mean.T, *log_excess(found.draws, prior).T]
    for drawn, grid in zip(values, grids, strict=True):
        wanted = float((mass * grid).sum())
        assert_close(drawn, wanted, float(np.sqrt((mass * (grid - wanted) ** 2).sum())))
    assert not found.warnings


@pytest.mark.slow
def test_effect_of_a_group_is_found_and_shown_as_a_contrast() -> None:
    """With known spread this is a regression: its effect has a normal posterior, here by quadrature over the spread."""
    rng = np.random.default_rng(SEED + 2)
    group = np.repeat([0.0, 1.0], 10)
    measured = rng.normal(0.2 + 0.9 * group, np.hypot(0.5, 0.3))
    lattices = gaussian_lattices(measured[:, None], np.array([[0.09]]), [log_axis()])
    people = pd.DataFrame({"subject": lattices.subjects, "group": np.where(group == 1, "patient", "control")})
    found = pool_people(lattices, formulas=["alpha ~ group"], people=people, sampling=SMALL)
    prior = scaled(GroupPrior(), found.merged.axes)
    excess = midpoints(-3.2, 1.4, 400)
    design = np.column_stack([np.ones(20), group])
    before = np.diag([prior.mean_sd[0] ** 2, prior.effect_sd[0] ** 2])
    log_mass, means, variances = [], [], []
    for value in excess:
        noise = np.exp(2 * value) + prior.least_spread[0] ** 2 + 0.09
        covariance = np.linalg.inv(design.T @ design / noise + np.linalg.inv(before))
        means.append((covariance @ design.T @ measured / noise)[1])
        variances.append(covariance[1, 1])
        marginal = multivariate_normal(np.zeros(20), design @ before @ design.T + noise * np.eye(20))
        log_mass.append(marginal.logpdf(measured) + norm.logpdf(value, prior.log_excess[0], 0.6))
    mass = np.exp(np.array(log_mass) - logsumexp(log_mass))
    wanted = mass @ means
    assert_close(found.draws.effects[0][:, 0], wanted, np.sqrt(mass @ variances + mass @ (means - wanted) ** 2))
    contrast = group_table(found).set_index("quantity").loc["contrast"]
    assert contrast["name"] == "group: patient - control"
    below = found.draws.mean[:, 0]
    difference = np.exp(below + found.draws.effects[0][:, 0]) - np.exp(below)
    assert contrast["median"] == pytest.approx(np.median(difference), rel=0.005)  # no bound is near
    assert "alpha, group: patient - control: +" in in_words({"holmes": found})
