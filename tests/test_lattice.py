"""One person's posterior on the lattice, against quadrature that shares no code with it."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logit, logsumexp
from scipy.stats import binom, norm

from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.nodes import KERNEL, first_nodes, grid_nodes
from holmes_fit.fitting.lattice.posterior import Posterior, jackknife, posterior_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, SCORE, SEARCH, SELECTION, Task, log_prior_mass
from holmes_fit.fitting.person import _at_bound, fit_person
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.models.tracing import learner_key
from holmes_fit.settings.preset import Preset, load_preset, with_fixed
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.simulation import simulate

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
        with_constant = np.column_stack([seen.cues, np.ones(seen.n_trials)])
        weights, p_hat = np.zeros(seen.n_cues + 1), []
        for cues, outcome, shown in zip(with_constant, seen.outcome, seen.feedback, strict=True):
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
@pytest.mark.parametrize("nodes", [95, 25])
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
        assert posterior.marginal(number).moments[0] == pytest.approx(mean, abs=tolerance * sd)
        with_cells = np.hypot(sd, posterior.axes[number].spacing / np.sqrt(12))  # mass lies evenly within a cell
        assert posterior.marginal(number).moments[1] == pytest.approx(with_cells, rel=tolerance)
        ends = np.interp([0.025, 0.5, 0.975], np.cumsum(marginal) - marginal / 2, axis)
        found = posterior.axes[number].parameter.to_scale(
            posterior.marginal(number).quantiles(np.array([0.025, 0.5, 0.975]))
        )
        np.testing.assert_allclose(found, ends, atol=tolerance * sd + posterior.axes[number].spacing / 4)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=tolerance)
    assert posterior.log_evidence_error == pytest.approx(0.0, abs=1e-9)


def test_an_exact_model_is_computed_at_all_nodes() -> None:
    task = a_task("rescorla_wagner", protocol="reversal", learning_rate=0.2)
    explored = explore(replace(task, space=with_nodes(task.space, learning_rate=15, beta=64, lapse=24)), 32)
    assert explored.nodes == [(number,) for number in range(15)]
    assert not explored.is_refined


@pytest.mark.slow
def test_a_noisy_model_agrees_with_quadrature_of_many_replicates() -> None:
    """The noise of a lattice is known from repeating it; quadrature has ten times the replicates at every point."""
    observer = Observer(particles=50)
    cohort = simulate("conditioning", "holmes", 1, {"alpha": 0.5, "omega": 0.4}, seed=8, observer=observer).cohort
    space = with_nodes(DEFAULT.space(MODELS["holmes"]), alpha=15, omega=15, beta=16, lapse=8)
    found = []
    for seed in range(8):
        posterior = posterior_of(explore(Task(cohort.learners, space, observer, seed), 32), with_error=False)
        moments = [moment for axis in range(3) for moment in posterior.marginal(axis).moments]
        found.append([*moments, posterior.log_evidence])
    expected = _by_many_replicates(cohort.learners[0], space, observer, replicates=320)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    for place in (0, 2, 4, 6):  # means and evidence
        assert abs(mean[place] - expected[place]) < 5 * error[place] + 0.03, (place, mean, expected, error)
    # SDs hold the noise and the kernel beside the posterior's own width, and nothing more.
    for number in (0, 1):
        own, place = expected[2 * number + 1], 2 * number + 1
        widest = np.sqrt(own**2 + (2 * KERNEL * space.learning[number].spacing) ** 2)
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


class MadeUp(Explored):
    """A lattice that holds these log-likelihoods, nodes x response nodes, and those of these sets."""

    def __init__(self, task: Task, nodes: list[tuple[int, ...]], whole: np.ndarray, sets: np.ndarray | None = None):
        super().__init__(task, 32)
        self.nodes = nodes
        self.whole = whole.reshape(len(nodes), -1)
        self.own = [] if sets is None else [each.reshape(len(nodes), -1) for each in sets]

    @property
    def log_likelihood(self) -> np.ndarray:
        return self.whole

    def of_sets(self) -> list[np.ndarray]:
        return self.own


def made_up(whole: np.ndarray, sets: np.ndarray | None = None, nodes: int = 41, **changes) -> MadeUp:
    """Return a lattice over alpha alone that holds these log-likelihoods."""
    preset = with_fixed(DEFAULT, {"omega": 0.5, "beta": 3.0, "lapse": 0.02})
    task = a_task("flat", preset)
    task = replace(task, space=with_nodes(task.space, alpha=nodes), **changes)
    return MadeUp(task, [(number,) for number in range(nodes)], whole, sets)


SHIFTS = np.array([0.0, 1.0, -2.0, 0.5])
BUMP = norm.logpdf(np.linspace(-3, 1.6, 41), -1.0, 0.3)


def test_the_posterior_is_likelihood_times_prior() -> None:
    explored = made_up(BUMP)
    posterior = posterior_of(explored)
    log_joint = BUMP + log_prior_mass(explored.task.space)
    np.testing.assert_allclose(posterior.mass, np.exp(log_joint - logsumexp(log_joint)), atol=1e-12)
    np.testing.assert_allclose(posterior.log_likelihood, BUMP, atol=1e-9)
    assert posterior.log_evidence == pytest.approx(logsumexp(log_joint))
    assert posterior.log_evidence_error == posterior.log_evidence_bias == 0.0
    assert len(posterior.of_sets) == 0


def test_sets_leave_the_posterior_alone_and_give_its_error_and_bias() -> None:
    """Sets that differ from the whole by constants have evidences that do so too."""
    explored = made_up(BUMP, BUMP - 0.9 + SHIFTS[:, None])
    posterior, alone = posterior_of(explored), posterior_of(made_up(BUMP))
    np.testing.assert_array_equal(posterior.mass, alone.mass)
    assert posterior.log_evidence == alone.log_evidence
    assert posterior.log_evidence_error == pytest.approx(3 * np.std(SHIFTS, ddof=1) / np.sqrt(4))
    assert posterior.log_evidence_bias == pytest.approx(3 * (SHIFTS.mean() - 0.9))
    (coarse,) = posterior.coarse
    assert coarse.tolist() == list(range(0, 41, 2))
    np.testing.assert_allclose(posterior.of_sets, (BUMP - 0.9 + SHIFTS[:, None])[:, ::2])


def test_the_likelihood_that_is_kept_gives_back_posterior_and_evidence() -> None:
    posterior = posterior_of(explore(a_task("holmes", QUICK, alpha=0.5), 8))
    log_joint = posterior.log_likelihood + log_prior_mass(a_task("holmes", QUICK).space)
    assert logsumexp(log_joint) == pytest.approx(posterior.log_evidence)
    np.testing.assert_allclose(np.exp(log_joint - logsumexp(log_joint)), posterior.mass, atol=1e-12)


REPETITIONS = 10_000


@pytest.mark.parametrize(("sd", "share_of_bias"), [(0.5, (0.85, 1.1)), (1.0, (0.65, 1.0))])
def test_errors_are_those_of_repetitions(sd: float, share_of_bias: tuple[float, float]) -> None:
    """The mean of eight shares that are lognormal about the truth, many times over.

    A logarithm is not linear, so that large biases are larger than stated.
    """
    rng = np.random.default_rng(8)
    shares = rng.lognormal(-(sd**2) / 2, sd, (REPETITIONS, 8))
    whole = np.log(shares.mean(axis=1))
    without = np.log((shares.sum(axis=1, keepdims=True) - shares) / 7)
    stated = np.array([jackknife(float(one), own) for one, own in zip(whole, without, strict=True)])
    error = np.sqrt(np.mean(stated[:, 0] ** 2))
    assert error / whole.std() == pytest.approx(1.0, abs=0.05 + 4 / np.sqrt(2 * REPETITIONS))
    assert share_of_bias[0] < stated[:, 1].mean() / whole.mean() < share_of_bias[1]


@pytest.mark.parametrize("count", [2, 8])
def test_a_bias_that_is_inverse_to_the_filters_is_found(count: int) -> None:
    """Without a share of the filters, the bias is larger by that share of what is left."""
    error, bias = jackknife(-10.0 - 0.1, np.full(count, -10.0 - 0.1 * count / (count - 1)))
    assert error == 0.0
    assert bias == pytest.approx(-0.1)


def test_one_share_says_nothing_of_errors() -> None:
    for without in (np.empty(0), np.array([-3.0])):
        assert jackknife(-2.0, without) == (0.0, 0.0)


def test_the_outermost_nodes_are_computed_first() -> None:
    along = [nodes.tolist() for nodes in first_nodes((6, 7, 2, 1))]
    assert along == [[0, 2, 4, 5], [0, 2, 4, 6], [0, 1], [0]]


@pytest.mark.parametrize(("pattern", "error"), [("chessboard", 1.5), ("rows", 0.0), ("columns", 0.0)])
def test_the_lattice_error_is_half_the_difference_of_a_chessboard(pattern, error) -> None:
    task = a_task("flat", with_fixed(QUICK, {"beta": 3.0, "lapse": 0.02}))
    row, column = np.indices((15, 15)) // 2  # the nodes that are computed first are two apart
    odd = {"chessboard": row + column, "rows": row, "columns": column}[pattern] % 2
    explored = MadeUp(task, list(np.ndindex(15, 15)), 3.0 * odd - log_prior_mass(task.space))
    assert posterior_of(explored).lattice_error == pytest.approx(error, abs=1e-9)


def a_posterior(axis: FreeParameter, mass: np.ndarray) -> Posterior:
    with np.errstate(divide="ignore"):
        return Posterior((axis,), mass, np.log(mass), 0.0, 0.0, 0.0, 0.0, (np.arange(axis.nodes),), np.empty(0))


def test_draws_fill_their_cells() -> None:
    axis = replace(made_up(BUMP).task.space.learning[0], nodes=4)
    mass = np.array([0.0, 1.0, 0.0, 0.0])
    posterior = a_posterior(axis, mass)
    within = (np.log(posterior.draw(4000, np.random.default_rng(2))[:, 0]) - axis.positions[1]) / axis.spacing
    assert np.abs(within).max() <= 0.5 + 1e-9
    assert within.mean() == pytest.approx(0.0, abs=5 / np.sqrt(12 * 4000))
    assert np.ptp(within) > 0.98


def test_quantiles_moments_and_draws_of_a_normal_lattice() -> None:
    axis = replace(made_up(BUMP).task.space.learning[0], nodes=201)
    mass = norm.pdf(axis.positions, -0.7, 0.4)
    posterior = a_posterior(axis, mass / mass.sum())
    mean, sd = posterior.marginal(0).moments
    assert mean == pytest.approx(-0.7, abs=1e-3)
    assert sd == pytest.approx(0.4, rel=1e-3)
    probabilities = np.array([0.025, 0.5, 0.975])
    np.testing.assert_allclose(
        np.log(posterior.marginal(0).quantiles(probabilities)), norm.ppf(probabilities, -0.7, 0.4), atol=2e-3
    )
    draws = np.log(posterior.draw(20_000, np.random.default_rng(1))[:, 0])
    assert draws.mean() == pytest.approx(-0.7, abs=5 * 0.4 / np.sqrt(20_000))
    assert draws.std() == pytest.approx(0.4, abs=5 * 0.4 / np.sqrt(2 * 20_000))


def test_nodes_have_draws_of_their_own_that_nothing_else_uses() -> None:
    most = 4096  # replicates that a preset allows
    uses = sorted([(SEARCH, most), (SELECTION, 2 * most), (SCORE, 8 * most), (LATTICE, A_NODE)])
    for (first, count), (following, _) in pairwise(uses):
        assert first + count <= following
    assert most <= A_NODE
    assert LATTICE + A_NODE * 1_000_000 < 2**32  # the counter of the draws


def test_computed_nodes_are_kept_and_the_others_lie_between() -> None:
    explored = Explored(a_task("flat", QUICK, alpha=1.0), 8)
    explored.add(grid_nodes(first_nodes((15, 15))))
    surface = explored.on_lattice(explored.log_likelihood)
    computed = explored.log_likelihood.reshape(8, 8, *explored.response_shape)
    np.testing.assert_array_equal(surface[::2, ::2], computed)
    assert np.isfinite(surface).all()
    low, high = np.minimum(computed[:-1], computed[1:]), np.maximum(computed[:-1], computed[1:])
    between = surface[1::2, ::2]
    assert np.all((between >= low - 1e-9) & (between <= high + 1e-9))


def test_noise_does_not_lower_the_evidence() -> None:
    """The likelihood is 1 everywhere, and estimates are fair but noisy, node by node: so is their evidence."""
    task = a_task("flat", QUICK, alpha=1.0)
    nodes = grid_nodes(first_nodes((15, 15)))
    rng = np.random.default_rng(5)
    size = int(np.prod([axis.nodes for axis in task.space.response]))
    found = []
    for _ in range(40):
        luck = rng.normal(-0.5, 1.0, size=len(nodes))  # exp of it has the mean 1
        found.append(np.exp(posterior_of(MadeUp(task, nodes, np.repeat(luck, size))).log_evidence))
    assert np.mean(found) == pytest.approx(1.0, abs=4 * np.std(found, ddof=1) / np.sqrt(len(found)))


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
        found = posterior_of(explore(Task(cohort.learners, space, seed=number), 8), with_error=False)
        ends = [found.marginal(axis).quantiles([0.025, 0.975]) for axis in range(len(space.free))]
        covered.append([low <= value <= high for (low, high), value in zip(ends, truth.values(), strict=True)])
    counts = np.sum(covered, axis=0)
    low, high = binom.interval(1 - 0.001 / 4, people, 0.95)  # one false alarm in a thousand, over four parameters
    assert np.all((counts >= low) & (counts <= high)), counts


def test_the_two_kinds_differ_on_the_lattice() -> None:
    task = a_task("holmes", QUICK, protocol="compositional_2", alpha=0.5)
    explored = [Explored(replace(task, kind=kind), 8) for kind in ("marginal", "expected")]
    for each in explored:
        each.add([(7, 7)])
    marginal, expected = (each.log_likelihood for each in explored)
    # The mean over one filter each, against eight filters averaged before they choose.
    assert np.abs(marginal - expected).max() > 0.1


def with_likelihood(**settings) -> Preset:
    return QUICK.model_copy(update={"likelihood": QUICK.likelihood.model_copy(update=settings)})


@pytest.mark.parametrize(("allowed", "replicates"), [(1e-9, 16), (1e9, 8)])
def test_a_noisy_likelihood_and_few_replicates_are_said(allowed, replicates) -> None:
    preset = with_likelihood(replicates=replicates, largest_error=allowed)
    task = a_task("flat", preset, alpha=1.0)
    facts = fit_person(replace(task, space=with_nodes(task.space, beta=8, lapse=4)), preset).facts
    assert facts["replicates"] == replicates
    error = f"{facts['log_evidence_error']:.2f}"
    noisy = [text for text in facts["warnings"] if text.startswith("noisy likelihood")]
    assert len(noisy) == (allowed < 1)
    assert all(f"uncertain by {error} nats with {replicates} replicates" in text for text in noisy)
    assert any(text.startswith("first look") for text in facts["warnings"]) == (replicates < 16)


OTHER_PRIORS = """
base = "quick"

[parameters.alpha]
prior = "lognormal:2,0.7"

[parameters.beta]
prior = "lognormal:6,0.4"
"""


def test_what_is_kept_of_the_likelihood_does_not_depend_on_the_fitting_prior(tmp_path) -> None:
    """So that groups, which bring a prior of their own, are told apart by the choices alone."""
    (tmp_path / "other.toml").write_text(OTHER_PRIORS)
    presets = QUICK, load_preset(tmp_path / "other.toml")
    learners = simulate("conditioning", "holmes", 1, {"alpha": 0.5}, seed=4).cohort.learners
    fits = [fit_person(Task(learners, preset.space(MODELS["holmes"])), preset) for preset in presets]
    assert not any(fit.facts["refined"] for fit in fits)  # else the nodes could be others
    assert abs(fits[0].facts["log_evidence"] - fits[1].facts["log_evidence"]) > 0.05
    kept = [fit.arrays["log_likelihood"] for fit in fits]
    np.testing.assert_array_equal(*kept)
    axes = [preset.space(MODELS["holmes"]).free for preset in presets]
    groups = GroupDraws(np.array([[-1.0, -1.0, 1.0, -4.0], [0.5, 0.0, 0.5, -3.0]]), np.full((2, 4), 0.7))
    ratios = []
    for own, log_likelihood in zip(axes, kept, strict=True):
        nothing = np.zeros(1)
        lattices = Lattices("holmes", ("s01",), own, log_likelihood[None], nothing, nothing, nothing)
        first, second = People(lattices, groups).log_likelihood()[:, 0]
        ratios.append(first - second)
    assert ratios[0] == ratios[1] != 0.0


@pytest.mark.parametrize(("model", "protocol"), [("holmes", "conditioning"), ("flat", "shepard"), ("bias", "reversal")])
def test_a_fit_holds_together(model: str, protocol: str) -> None:
    """The most likely point is no less likely than the most probable one, and trials add up to the latter."""
    preset = QUICK
    people = 1 if protocol == "shepard" else 3
    cohort = simulate(protocol, model, people, seed=11, missed=0.1, observer=Observer(particles=20)).cohort
    space = preset.space(MODELS[model])
    space = with_nodes(space, alpha=7, omega=7, beta=8, lapse=4)
    for subject in cohort.subjects["subject"]:
        learners = tuple(each for each in cohort.learners if each.subject == subject)
        fitted = fit_person(Task(learners, space, Observer(particles=20)), preset)
        facts, arrays = fitted.facts, fitted.arrays
        assert facts["log_likelihood"] >= facts["log_likelihood_map"]
        # Highest points that are found trial by trial are only nearly those of all trials.
        tolerance = 0.01 * len(learners) if MODELS[model].uses_particles else 1e-6
        assert np.nansum(arrays["log_p_choice"]) == pytest.approx(facts["log_likelihood_map"], abs=tolerance)
        assert np.sum(np.isfinite(arrays["log_p_choice"])) == facts["n_answered"]
        assert np.all((arrays["p_choice"] > 0) & (arrays["p_choice"] < 1))


def test_the_outermost_nodes_are_at_the_bound() -> None:
    axis = QUICK.space(MODELS["flat"]).learning[0]
    assert _at_bound(axis, float(axis.values[0])) == "low"
    assert _at_bound(axis, float(axis.values[-1])) == "high"
    assert _at_bound(axis, float(axis.values[1])) == ""
