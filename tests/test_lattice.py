"""One person's posterior on the lattice, against quadrature that shares no code with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logit, logsumexp
from scipy.stats import binom, norm

from holmes_fit.choices import choice_probability
from holmes_fit.cohort_traces import learner_key
from holmes_fit.fitting.person import _at_bound, fit_person
from holmes_fit.lattice import Explored, Posterior, Task, explore, posterior_of, raise_replicates
from holmes_fit.lattice.nodes import BATCHES, first_nodes, response_grids, spread_of_batches
from holmes_fit.lattice.posterior import smoothed
from holmes_fit.lattice.task import A_NODE, LATTICE, SCORE, SEARCH, SELECTION, log_prior_mass
from holmes_fit.likelihood import Replicates, likelihood_of
from holmes_fit.models import MODELS, Observer
from holmes_fit.presets import Preset, load_preset, with_fixed
from holmes_fit.simulation import simulate
from holmes_fit.spaces import FreeParameter, Space

DEFAULT = load_preset("default")
QUICK = load_preset("quick")


def a_task(model: str, preset: Preset = DEFAULT, protocol: str = "conditioning", seed: int = 0, **values) -> Task:
    cohort = simulate(protocol, model, 1, values, seed=4).cohort
    return Task(cohort.learners, preset.space(MODELS[model]), seed=seed)


def truncated_normal(x: np.ndarray, centre: float, sd: float) -> np.ndarray:
    """Return prior weights over equally spaced points of a whole range, normalised over them."""
    density = norm.pdf(x, centre, sd)
    return density / density.sum()


def with_nodes(space: Space, **nodes: int) -> Space:
    def changed(axes: tuple[FreeParameter, ...]) -> tuple[FreeParameter, ...]:
        return tuple(replace(axis, nodes=nodes.get(axis.name, axis.nodes)) for axis in axes)

    return replace(space, learning=changed(space.learning), response=changed(space.response))


def rescorla_wagner_by_quadrature(task: Task) -> tuple[list[np.ndarray], np.ndarray, float]:
    """Return axes, masses and log evidence on a dense grid, from the definitions alone."""
    learner = task.learners[0]
    rates, betas = np.linspace(np.log(0.001), np.log(10), 151), np.linspace(np.log(0.1), np.log(20), 81)
    lapses = np.linspace(logit(0.001), logit(0.5), 31)
    seen, choices = learner.observations, learner.choices
    log_likelihood = np.empty((len(rates), len(betas), len(lapses)))
    for index, rate in enumerate(np.exp(rates)):
        weights, p_hat = np.zeros(seen.n_cues), []
        for cues, outcome, shown in zip(seen.cues, seen.outcome, seen.feedback, strict=True):
            p_hat.append(1 / (1 + np.exp(-np.clip(weights @ cues, -30, 30))))
            weights = weights + rate * (float(outcome) - p_hat[-1]) * cues * shown
        probability = choice_probability(
            np.array(p_hat), np.exp(betas)[:, None, None], (1 / (1 + np.exp(-lapses)))[:, None], 0.0, choices
        )
        log_likelihood[index] = np.log(probability)[..., choices >= 0].sum(axis=-1)
    prior = (
        truncated_normal(rates, np.log(0.1), 1.5)[:, None, None]
        * truncated_normal(betas, np.log(2.5), 0.7)[:, None]
        * truncated_normal(lapses, logit(0.03), 1.0)
    )
    log_joint = log_likelihood + np.log(prior)
    log_evidence = float(logsumexp(log_joint))
    return [rates, betas, lapses], np.exp(log_joint - log_evidence), log_evidence


@pytest.mark.parametrize("protocol", ["conditioning", "reversal"])
@pytest.mark.parametrize("nodes", [95, 15])
def test_an_exact_model_agrees_with_quadrature(protocol, nodes) -> None:
    task = a_task("rescorla_wagner", protocol=protocol, learning_rate=0.2)
    task = replace(task, space=with_nodes(task.space, learning_rate=nodes, beta=64, lapse=24))
    posterior = posterior_of(explore(task, 32))
    axes, mass, log_evidence = rescorla_wagner_by_quadrature(task)
    # Midpoint sums over coarse cells: the error is far below the posterior SD, and smaller the finer the lattice.
    tolerance = 0.02 if nodes == 95 else 0.1
    for number, axis in enumerate(axes):
        marginal = mass.sum(axis=tuple(i for i in range(3) if i != number))
        mean = marginal @ axis
        sd = np.sqrt(marginal @ (axis - mean) ** 2)
        assert posterior.moments(number)[0] == pytest.approx(mean, abs=tolerance * sd)
        assert posterior.moments(number)[1] == pytest.approx(sd, rel=tolerance)
        ends = np.interp([0.025, 0.5, 0.975], np.cumsum(marginal) - marginal / 2, axis)
        found = posterior.axes[number].parameter.to_scale(posterior.quantiles(number, np.array([0.025, 0.5, 0.975])))
        np.testing.assert_allclose(found, ends, atol=tolerance * sd + posterior.axes[number].spacing / 4)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=tolerance)
    assert posterior.log_evidence_error == pytest.approx(0.0, abs=1e-9)


def test_refinement_is_what_makes_a_narrow_posterior_right() -> None:
    task = a_task("rescorla_wagner", protocol="reversal", learning_rate=0.2)
    task = replace(task, space=with_nodes(task.space, learning_rate=15, beta=64, lapse=24))
    refined = explore(task, 32)
    assert refined.is_refined
    coarse = Explored(task)
    coarse.extend([(int(i),) for i in first_nodes((15,))[0]], BATCHES)
    _, mass, _ = rescorla_wagner_by_quadrature(task)
    sd = np.sqrt(np.cov(np.linspace(np.log(0.001), np.log(10), 151), aweights=mass.sum(axis=(1, 2))))
    errors = [abs(posterior_of(explored).moments(0)[1] - sd) for explored in (refined, coarse)]
    assert errors[0] < errors[1]


@pytest.mark.slow
def test_a_noisy_model_agrees_with_quadrature_of_many_replicates() -> None:
    """The noise of a lattice is known from repeating it; quadrature has ten times the replicates at every point."""
    observer = Observer(particles=50)
    cohort = simulate("conditioning", "holmes", 1, {"alpha": 0.5, "omega": 0.4}, seed=8, observer=observer).cohort
    space = with_nodes(DEFAULT.space(MODELS["holmes"]), alpha=15, omega=15, beta=16, lapse=8)
    found = []
    widths = []
    for seed in range(8):
        explored = explore(Task(cohort.learners, space, observer, seed), 32)
        posterior = posterior_of(explored)
        widths.append(min(1.0, spread_of_batches(explored) / 0.5) * 0.75 * 2)
        found.append([*posterior.moments(0), *posterior.moments(1), *posterior.moments(2), posterior.log_evidence])
    expected = _by_many_replicates(cohort.learners[0], space, observer, replicates=320)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    for place in (0, 2, 4, 6):  # means and evidence
        assert abs(mean[place] - expected[place]) < 5 * error[place] + 0.03, (place, mean, expected, error)
    # SDs hold the noise and the kernel beside the posterior's own width, and nothing more.
    for number in (0, 1):
        own, place = expected[2 * number + 1], 2 * number + 1
        widest = np.sqrt(own**2 + (max(widths) * space.learning[number].spacing) ** 2)
        assert own - 5 * error[place] - 0.03 < mean[place] < widest + 5 * error[place] + 0.03


def _by_many_replicates(learner, space: Space, observer: Observer, replicates: int) -> list[float]:
    """Return means and SDs of log alpha, log omega and log beta, and the log evidence, by plain sums."""
    alphas, omegas = (np.linspace(axis.low, axis.high, 12) for axis in space.learning)
    betas, lapses = np.linspace(np.log(0.1), np.log(20), 24), np.linspace(logit(0.001), logit(0.5), 8)
    key = learner_key(learner, 77)
    log_joint = np.empty((12, 12, 24, 8))
    answered = learner.choices >= 0
    prior = [
        np.log(truncated_normal(axis, centre, sd))
        for axis, centre, sd in (
            (alphas, np.log(0.5), 1.0),
            (omegas, np.log(0.5), 1.0),
            (betas, np.log(2.5), 0.7),
            (lapses, logit(0.03), 1.0),
        )
    ]
    for i, alpha in enumerate(np.exp(alphas)):
        for j, omega in enumerate(np.exp(omegas)):
            values = {"alpha": alpha, "omega": omega, "depth_scale": 1.0}
            traces = MODELS["holmes"].p_hat(learner.observations, values, observer, key, replicates)[:, answered]
            for k, beta in enumerate(np.exp(betas)):
                for m, lapse in enumerate(1 / (1 + np.exp(-lapses))):
                    p = choice_probability(traces, beta, lapse, 0.0, learner.choices[answered])
                    log_joint[i, j, k, m] = np.log(np.mean(np.prod(p, axis=1)))
            log_joint[i, j] += prior[0][i] + prior[1][j] + prior[2][:, None] + prior[3]
    evidence = logsumexp(log_joint)
    mass = np.exp(log_joint - evidence)
    moments = []
    for number, axis in enumerate((alphas, omegas, betas)):
        marginal = mass.sum(axis=tuple(i for i in range(4) if i != number))
        mean = marginal @ axis
        moments += [mean, np.sqrt(marginal @ (axis - mean) ** 2)]
    return [*moments, float(evidence)]


def made_up(surfaces: np.ndarray, nodes: int = 41) -> Explored:
    """Return a lattice over alpha alone that holds these log-likelihoods: batches x nodes."""
    preset = with_fixed(DEFAULT, {"omega": 0.5, "beta": 3.0, "lapse": 0.02})
    task = a_task("flat", preset)
    explored = Explored(replace(task, space=with_nodes(task.space, alpha=nodes)))
    explored.log_mean[0] = surfaces
    explored.replicates[:] = 32
    explored.is_refined = True
    return explored


def test_batches_that_agree_give_the_plain_posterior() -> None:
    explored = made_up(np.tile(norm.logpdf(np.linspace(-3, 1.6, 41), -1.0, 0.3), (BATCHES, 1)))
    posterior = posterior_of(explored)
    plain = explored.log_mean[0, 0] + log_prior_mass(explored.task.space)
    np.testing.assert_allclose(posterior.mass, np.exp(plain - logsumexp(plain)), atol=1e-12)
    np.testing.assert_allclose(posterior.log_likelihood, explored.log_mean[0, 0], atol=1e-9)
    assert posterior.log_evidence == pytest.approx(logsumexp(plain))


def test_batches_count_alike_however_lucky_one_of_them_is() -> None:
    x = np.linspace(-3, 1.6, 41)
    surfaces = np.array([norm.logpdf(x, centre, 0.3) for centre in np.linspace(-2, 0, BATCHES)])
    lucky = surfaces.copy()
    lucky[2] += 9.0
    usual, with_luck = posterior_of(made_up(surfaces)), posterior_of(made_up(lucky))
    np.testing.assert_allclose(with_luck.mass, usual.mass, atol=1e-12)
    alone = posterior_of(made_up(np.tile(surfaces[2], (BATCHES, 1))))
    assert usual.moments(0)[1] > 1.5 * alone.moments(0)[1]
    assert with_luck.log_evidence_error > usual.log_evidence_error


def test_the_likelihood_that_is_kept_gives_back_posterior_and_evidence() -> None:
    posterior = posterior_of(explore(a_task("holmes", QUICK, alpha=0.5), 8))
    log_joint = posterior.log_likelihood + log_prior_mass(a_task("holmes", QUICK).space)
    assert logsumexp(log_joint) == pytest.approx(posterior.log_evidence)
    np.testing.assert_allclose(np.exp(log_joint - logsumexp(log_joint)), posterior.mass, atol=1e-12)


SHIFTS = np.array([0.0, 1.0, -2.0, 0.5, 3.0, -1.0, 2.0, 0.25])
BUMP = norm.logpdf(np.linspace(-3, 1.6, 41), -1.0, 0.3)


def test_evidence_is_the_mean_over_batches_with_their_spread_as_its_error() -> None:
    explored = made_up(BUMP + SHIFTS[:, None])
    posterior = posterior_of(explored)
    # Batches that differ by constants have the same posterior; the kernel is at its widest.
    unshifted = logsumexp(smoothed(BUMP, (41,), 0.75) + log_prior_mass(explored.task.space))
    np.testing.assert_allclose(posterior.batch_log_evidence, unshifted + SHIFTS)
    assert posterior.log_evidence == pytest.approx(unshifted + np.log(np.mean(np.exp(SHIFTS))))
    assert posterior.log_evidence_error == pytest.approx(np.std(SHIFTS, ddof=1) / np.sqrt(BATCHES))


@pytest.mark.parametrize(("is_refined", "apart"), [(True, 1), (False, 2)])
@pytest.mark.parametrize(("noise", "share"), [(0.1, 0.2), (0.5, 1.0), (3.0, 1.0)])
def test_the_kernel_is_as_wide_as_the_noise_and_the_nodes_call_for(is_refined, apart, noise, share) -> None:
    explored = made_up(BUMP + noise * SHIFTS[:, None] / SHIFTS.std(ddof=1))
    explored.is_refined = is_refined
    log_joint = smoothed(BUMP, (41,), 0.75 * apart * share) + log_prior_mass(explored.task.space)
    np.testing.assert_allclose(posterior_of(explored).mass, np.exp(log_joint - logsumexp(log_joint)), atol=1e-12)


def test_the_spread_of_batches_is_that_of_independent_ones() -> None:
    # Means of all batches but one differ as many times less as there are batches in them.
    independent = made_up(BUMP + SHIFTS[:, None])
    jackknife = made_up(BUMP + (SHIFTS.sum() - SHIFTS[:, None]) / (BATCHES - 1))
    jackknife.task = replace(jackknife.task, kind="expected")
    for explored in (independent, jackknife):
        assert spread_of_batches(explored) == pytest.approx(SHIFTS.std(ddof=1))
    errors = [posterior_of(explored).log_evidence_error for explored in (independent, jackknife)]
    assert errors[0] == pytest.approx(errors[1])


def test_all_learners_of_a_person_count() -> None:
    surfaces = BUMP + np.random.default_rng(5).normal(0, 0.2, (BATCHES, 41))
    one = made_up(surfaces)
    two = Explored(replace(one.task, learners=one.task.learners * 2))
    two.log_mean[:] = np.array([0.25, 0.75])[:, None, None] * surfaces
    two.replicates[:] = 32
    two.is_refined = True
    expected, found = posterior_of(one), posterior_of(two)
    np.testing.assert_allclose(found.mass, expected.mass, atol=1e-12)
    assert found.log_evidence == pytest.approx(expected.log_evidence)
    assert found.lattice_error == pytest.approx(expected.lattice_error)


def test_the_outermost_nodes_are_computed_first() -> None:
    along = [nodes.tolist() for nodes in first_nodes((6, 7, 2, 1))]
    assert along == [[0, 2, 4, 5], [0, 2, 4, 6], [0, 1], [0]]


@pytest.mark.parametrize(("pattern", "error"), [("chessboard", 1.5), ("rows", 0.0), ("columns", 0.0)])
def test_the_lattice_error_is_half_the_difference_of_a_chessboard(pattern, error) -> None:
    task = a_task("flat", with_fixed(QUICK, {"beta": 3.0, "lapse": 0.02}))
    explored = Explored(task)
    row, column = np.indices((15, 15)) // 2  # the nodes that are computed first are two apart
    odd = {"chessboard": row + column, "rows": row, "columns": column}[pattern] % 2
    explored.log_mean[:] = 3.0 * odd - log_prior_mass(task.space)
    explored.replicates[:] = 32
    assert posterior_of(explored).lattice_error == pytest.approx(error, abs=1e-9)


def test_draws_fill_their_cells() -> None:
    axis = replace(made_up(np.zeros((BATCHES, 41))).task.space.learning[0], nodes=4)
    mass = np.array([0.0, 1.0, 0.0, 0.0])
    posterior = Posterior((axis,), mass, np.zeros(4), 0.0, 0.0, 0.0, np.zeros(BATCHES))
    within = (np.log(posterior.draw(4000, np.random.default_rng(2))[:, 0]) - axis.positions[1]) / axis.spacing
    assert np.abs(within).max() <= 0.5 + 1e-9
    assert within.mean() == pytest.approx(0.0, abs=5 / np.sqrt(12 * 4000))
    assert np.ptp(within) > 0.98


def test_smoothing_averages_likelihoods_and_keeps_a_flat_surface() -> None:
    flat = np.full((9, 7, 3), -50.0)
    np.testing.assert_allclose(smoothed(flat, (9, 7), 1.3), flat)
    spike = np.full((9, 1), -1000.0)
    spike[4] = 0.0
    kernel = np.exp(-0.5 * (np.arange(9)[:, None] - np.arange(9)) ** 2 / 1.3**2)
    expected = (kernel / kernel.sum(axis=1, keepdims=True))[:, 4]
    np.testing.assert_allclose(np.exp(smoothed(spike, (9,), 1.3))[:, 0], expected, rtol=1e-9)
    np.testing.assert_array_equal(smoothed(spike, (9,), 0.0), spike)


def test_quantiles_moments_and_draws_of_a_normal_lattice() -> None:
    axis = made_up(np.zeros((BATCHES, 41)), 41).task.space.learning[0]
    axis = replace(axis, nodes=201)
    mass = norm.pdf(axis.positions, -0.7, 0.4)
    posterior = Posterior((axis,), mass / mass.sum(), np.log(mass), 0.0, 0.0, 0.0, np.zeros(BATCHES))
    mean, sd = posterior.moments(0)
    assert mean == pytest.approx(-0.7, abs=1e-3)
    assert sd == pytest.approx(0.4, rel=1e-3)
    probabilities = np.array([0.025, 0.5, 0.975])
    np.testing.assert_allclose(
        np.log(posterior.quantiles(0, probabilities)), norm.ppf(probabilities, -0.7, 0.4), atol=2e-3
    )
    draws = np.log(posterior.draw(20_000, np.random.default_rng(1))[:, 0])
    assert draws.mean() == pytest.approx(-0.7, abs=5 * 0.4 / np.sqrt(20_000))
    assert draws.std() == pytest.approx(0.4, abs=5 * 0.4 / np.sqrt(2 * 20_000))


def test_more_replicates_extend_those_that_are_there() -> None:
    task = a_task("flat", QUICK, alpha=1.0)
    node = (4, 7)
    in_steps, at_once = Explored(task), Explored(task)
    in_steps.extend([node], 8)
    in_steps.extend([node], 32)
    at_once.extend([node], 32)
    assert in_steps.replicates[node] == 32
    together = [logsumexp(each.log_mean[0][(slice(None), *node)], axis=0) for each in (in_steps, at_once)]
    np.testing.assert_allclose(together[0], together[1], rtol=1e-12)


def test_nodes_have_draws_of_their_own_that_nothing_else_uses() -> None:
    most = 4096  # replicates that a preset allows
    uses = sorted([(SEARCH, most), (SELECTION, 2 * most), (SCORE, 8 * most), (LATTICE, A_NODE)])
    for (first, count), (following, _) in pairwise(uses):
        assert first + count <= following
    assert most <= A_NODE
    assert LATTICE + A_NODE * 1_000_000 < 2**32  # the counter of the draws


def test_computed_nodes_are_kept_and_the_others_lie_between() -> None:
    explored = Explored(a_task("flat", QUICK, alpha=1.0))
    explored.extend([(int(i), int(j)) for i in first_nodes((15, 15))[0] for j in first_nodes((15, 15))[1]], 8)
    surfaces = np.array(list(explored.batch_surfaces()))
    total = explored.log_mean.sum(axis=0)
    np.testing.assert_array_equal(surfaces[:, ::2, ::2], total[:, ::2, ::2])
    assert np.isfinite(surfaces).all()
    low, high = (
        np.minimum(total[:, :-2:2, ::2], total[:, 2::2, ::2]),
        np.maximum(total[:, :-2:2, ::2], total[:, 2::2, ::2]),
    )
    between = surfaces[:, 1::2, ::2]
    assert np.all((between >= low - 1e-9) & (between <= high + 1e-9))


def test_noise_does_not_lower_the_evidence() -> None:
    """The likelihood is 1 everywhere, and batches are fair but noisy estimates of it: so is their evidence."""
    task = a_task("flat", QUICK, alpha=1.0)
    rng = np.random.default_rng(5)
    found = []
    for _ in range(40):
        explored = Explored(task)
        first = np.ix_(*first_nodes(explored.learning_shape))
        explored.replicates[first] = BATCHES
        shape = explored.log_mean.sum(axis=0)[0][first].shape[:2]
        luck = rng.normal(-0.5, 1.0, size=(BATCHES, *shape))  # exp of it has the mean 1
        at_nodes = luck.reshape(*luck.shape, *[1] * len(explored.response_shape))
        for batch in range(BATCHES):
            explored.log_mean[0, batch][first] = at_nodes[batch]
        found.append(np.exp(posterior_of(explored).log_evidence))
    assert np.mean(found) == pytest.approx(1.0, abs=4 * np.std(found, ddof=1) / np.sqrt(len(found)))


def test_replicates_are_raised_where_the_mass_is() -> None:
    task = a_task("holmes", QUICK, protocol="compositional_2", alpha=0.5)
    explored = explore(replace(task, space=with_nodes(task.space, beta=8, lapse=4)), 8)
    raise_replicates(explored, 64)
    counts = np.unique(explored.replicates)
    assert set(counts) == {0, 8, 64}
    mass = posterior_of(explored).mass.sum(axis=(2, 3))
    assert mass[explored.replicates == 64].sum() > mass[explored.replicates == 8].sum()


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("kind", ["marginal", "expected"])
def test_every_model_has_a_posterior(model, kind) -> None:
    task = replace(a_task(model, QUICK, protocol="conditioning"), kind=kind)
    posterior = posterior_of(explore(task, 8))
    assert posterior.mass.shape == tuple(axis.nodes for axis in task.space.free)
    assert posterior.mass.sum() == pytest.approx(1.0)
    assert np.isfinite(posterior.log_evidence)


def test_everything_fixed_leaves_one_node() -> None:
    preset = with_fixed(DEFAULT, {"alpha": 1.0, "omega": 0.5, "beta": 3.0, "lapse": 0.02})
    posterior = posterior_of(explore(a_task("flat", preset), 32))
    assert posterior.mass.shape == ()
    assert posterior.log_evidence == pytest.approx(float(posterior.log_likelihood))
    assert posterior.draw(5, np.random.default_rng(0)).shape == (5, 0)


@pytest.mark.slow
def test_intervals_cover_in_a_small_study() -> None:
    """The defaults' study is kept in reports/fitting; this one is small, and fails only where something is broken."""
    people = 60
    model = MODELS["flat"]
    space = with_nodes(QUICK.space(model), beta=16, lapse=8)
    covered = []
    for number in range(people):
        rng = np.random.default_rng([31, number])
        truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
        cohort = simulate("conditioning", "flat", 1, truth, seed=900 + number).cohort
        facts = fit_person(Task(cohort.learners, space, seed=number), QUICK).facts
        found = {entry["name"]: entry for entry in facts["parameters"]}
        covered.append([found[name]["lower"] <= value <= found[name]["upper"] for name, value in truth.items()])
    counts = np.sum(covered, axis=0)
    low, high = binom.interval(1 - 0.001 / 4, people, 0.95)  # one false alarm in a thousand, over four parameters
    assert np.all((counts >= low) & (counts <= high)), counts


def test_an_averaged_observer_averages_over_all_replicates() -> None:
    task = replace(a_task("holmes", QUICK, alpha=0.5), kind="expected")
    explored, node = Explored(task), (5, 5)
    for replicates in (16, 64):  # the first ones are computed again: an average over all is none of averages
        explored.extend([node], replicates)
    position = np.array([axis.positions[5] for axis in task.space.learning])
    first = LATTICE + A_NODE * int(np.ravel_multi_index(node, (15, 15)))
    traces = task.traces(position, Replicates(64, first))
    for batch, part in enumerate(traces.all_but_one(BATCHES)):
        assert len(part.p_hat[0]) == 56
        expected = likelihood_of(part, "expected").on_grid(*response_grids(task))[0, :, :, 0]
        np.testing.assert_allclose(explored.log_mean[0, batch][node], expected)
    whole = likelihood_of(traces, "expected").on_grid(*response_grids(task))[0, :, :, 0]
    parts = explored.log_mean[0][(slice(None), *node)]
    error = (BATCHES - 1) / np.sqrt(BATCHES) * parts.std(axis=0, ddof=1)  # of the jackknife
    assert np.all(np.abs(parts.mean(axis=0) - whole) < 3 * error + 1e-9)


def test_the_two_kinds_differ_on_the_lattice() -> None:
    task = a_task("holmes", QUICK, protocol="compositional_2", alpha=0.5)
    explored = [Explored(replace(task, kind=kind)) for kind in ("marginal", "expected")]
    for each in explored:
        each.extend([(7, 7)], 8)
    marginal, expected = (each.log_mean[0][:, 7, 7] for each in explored)
    # The mean over one filter each, against seven filters averaged before they choose.
    assert np.abs(logsumexp(marginal, axis=0) - logsumexp(expected, axis=0)).max() > 1e-3


def with_likelihood(**settings) -> Preset:
    return QUICK.model_copy(update={"likelihood": QUICK.likelihood.model_copy(update=settings)})


@pytest.mark.parametrize(("allowed", "replicates"), [(1e-9, 24), (1e9, 8)])
def test_replicates_are_raised_up_to_the_limit_while_the_likelihood_is_noisy(allowed, replicates) -> None:
    preset = with_likelihood(most_replicates=24, largest_batch_sd=allowed)
    task = a_task("flat", preset, alpha=1.0)
    facts = fit_person(replace(task, space=with_nodes(task.space, beta=8, lapse=4)), preset).facts
    assert facts["replicates"] == replicates
    assert any(text.startswith("noisy likelihood") for text in facts["warnings"]) == (allowed < 1)
    assert any(text.startswith("first look") for text in facts["warnings"]) == (replicates < 16)


def test_the_outermost_nodes_are_at_the_bound() -> None:
    axis = QUICK.space(MODELS["flat"]).learning[0]
    assert _at_bound(axis, float(axis.values[0])) == "low"
    assert _at_bound(axis, float(axis.values[-1])) == "high"
    assert _at_bound(axis, float(axis.values[1])) == ""
