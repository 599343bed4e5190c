"""Every response: its density, its draws, its derivatives and its mean; people who answer so are found again."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import betainc, expit, logit
from scipy.stats import binom, chisquare, kstest, norm

from holmes_fit._support.errors import InputError
from holmes_fit._support.uniformity import chi_square_p, ecdf_p, rank_of
from holmes_fit.fitting.cohort import fit
from holmes_fit.fitting.lattice.explored import explore
from holmes_fit.fitting.lattice.nodes import ResponseNodes
from holmes_fit.fitting.lattice.posterior import posterior_of
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.likelihood.density import TraceDensity
from holmes_fit.likelihood.specialised import Specialised
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Array, Response, Rule
from holmes_fit.models.responses.numbers import Numbers
from holmes_fit.models.responses.ratings import Ratings
from holmes_fit.models.responses.registry import RESPONSES, names_of_responding, response_of
from holmes_fit.reporting.run_data import read_data
from holmes_fit.reporting.scores import people_table
from holmes_fit.settings.preset import load_preset, with_fixed
from holmes_fit.settings.spaces import Space
from holmes_fit.studies.recovery.shared_traces import shared_learners
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Learner
from holmes_fit.trials.observations import MISSED
from holmes_fit.trials.protocols.catalogue import load_protocol, read_protocol
from holmes_fit.trials.reading import read_cohort
from holmes_fit.trials.writing import write_trials

SEED = 20261123
LOG_ODDS = (-4.0, -0.7, 0.0, 1.3, 5.0)
FINE, COARSE, NUMBERS = Ratings(100), Ratings(4), Numbers()
CASES: list[tuple[Response, Rule]] = [
    (CHOICES, CHOICES.rule({"beta": 2.0, "lapse": 0.05, "bias": 0.3})),
    (CHOICES, CHOICES.rule({"beta": 0.3, "lapse": 0.4})),
    (FINE, FINE.rule({"precision": 8.0, "shift": 0.5, "slope": 0.8})),
    (FINE, FINE.rule({"precision": 0.6, "shift": -2.0})),  # at the ends more than elsewhere
    (FINE, FINE.rule({"precision": 250.0, "shift": 0.0, "slope": 2.0})),
    (COARSE, COARSE.rule({"precision": 5.0, "shift": -0.4})),
    (COARSE, COARSE.rule({"precision": 100.0, "shift": 1.0})),
    (NUMBERS, NUMBERS.rule({"noise": 0.2, "baseline": -0.1, "gain": 1.4})),
    (NUMBERS, NUMBERS.rule({"noise": 2.0, "baseline": 0.5, "gain": 0.3})),
]
NAMES = [f"{response.name}{getattr(response, 'steps', '')}-{rule[0]:g}" for response, rule in CASES]
cases = pytest.mark.parametrize(("response", "rule"), CASES, ids=NAMES)


def possible(response: Response) -> Array:
    """Return all answers that can be given; none if they are any number."""
    if isinstance(response, Numbers):
        return np.empty(0)
    return np.array([0.0, 1.0]) if response is CHOICES else np.arange(response.steps + 1) / response.steps


def density(response: Response, log_odds: float, rule: Rule, order: int = 0) -> Array:
    """Return the log densities of all possible answers, or their derivatives, as the function itself has them."""
    coded = response.coded(possible(response))
    return np.array([response.log_density(answer, log_odds, np.array(rule))[order] for answer in coded])


def moment(response: Response, log_odds: float, rule: Rule, power: int) -> float:
    """Return the mean of a power of the answers, from their density."""
    if not len(possible(response)):
        noise, baseline, gain = rule
        ends = baseline - 12 * noise, baseline + gain + 12 * noise

        def integrand(answer: float) -> float:
            return answer**power * float(np.exp(response.log_density(answer, log_odds, np.array(rule))[0]))

        return float(quad(integrand, *ends, limit=200, epsabs=1e-11)[0])
    return float(np.sum(possible(response) ** power * np.exp(density(response, log_odds, rule))))


def test_all_responses_are_tried() -> None:
    assert {response.name for response, _ in CASES} == set(RESPONSES)


@cases
@pytest.mark.parametrize("log_odds", LOG_ODDS)
def test_a_density_adds_up_to_one(response: Response, rule: Rule, log_odds: float) -> None:
    assert moment(response, log_odds, rule, 0) == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("log_odds", LOG_ODDS)
def test_ratings_are_parts_of_a_beta_distribution(log_odds: float) -> None:
    for response, rule in (case for case in CASES if isinstance(case[0], Ratings)):
        precision, shift, slope, part = rule
        mean, ends = expit(slope * log_odds + shift), np.arange(response.steps + 2) * part
        below = betainc(mean * precision, (1 - mean) * precision, np.minimum(ends, 1.0))
        above = betainc((1 - mean) * precision, mean * precision, np.maximum(1 - ends, 0.0))
        expected = np.where(ends[:-1] < mean, np.diff(below), -np.diff(above))  # from the side that keeps its digits
        found = np.exp(density(response, log_odds, rule))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-13)


def test_numbers_are_normal() -> None:
    for answer in (-2.0, 0.3, 1.7):
        found = NUMBERS.log_density(answer, 0.7, np.array([0.4, -0.1, 1.4]))[0]
        assert found == pytest.approx(norm.logpdf(answer, -0.1 + 1.4 * expit(0.7), 0.4), rel=1e-12)


@cases
@pytest.mark.parametrize("log_odds", LOG_ODDS)
def test_derivatives_are_those_of_differences(response: Response, rule: Rule, log_odds: float) -> None:
    """In the log odds of p-hat; by Richardson's rule, from two steps."""
    answers = response.coded(possible(response)) if len(possible(response)) else np.array([-1.0, 0.2, 1.9])
    for answer in answers[:: max(1, len(answers) // 12)]:

        def slopes(step: float, order: int, answer: float = answer) -> float:
            above, below = (
                response.log_density(answer, log_odds + way * step, np.array(rule))[order] for way in (1, -1)
            )
            return (above - below) / (2 * step)

        _, *derivatives = response.log_density(answer, log_odds, np.array(rule))
        for order, derivative in enumerate(derivatives):
            expected = (4 * slopes(1e-3, order) - slopes(2e-3, order)) / 3
            scale = 1 + abs(derivatives[0]) + abs(derivatives[1])
            assert derivative == pytest.approx(expected, abs=2e-6 * scale), (answer, order)


@cases
@pytest.mark.parametrize("log_odds", LOG_ODDS)
def test_the_mean_is_that_of_the_density(response: Response, rule: Rule, log_odds: float) -> None:
    """That of ratings is nearly so, to an eighth of a step or half a hundredth: what is said in steps has that mean."""
    expected = moment(response, log_odds, rule, 1)
    near = max(0.005, 0.125 / response.steps) if isinstance(response, Ratings) else 1e-8
    assert response.mean(log_odds, rule) == pytest.approx(expected, abs=near)


@cases
def test_a_mean_over_a_residual_is_nearly_that_of_many_draws(response: Response, rule: Rule) -> None:
    """To 0.02, or an eighth of a step."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    near = max(0.02, 0.125 / response.steps) if isinstance(response, Ratings) else 0.02
    for log_odds in LOG_ODDS:
        over = weights @ response.mean(log_odds + np.sqrt(0.8) * nodes, rule) / weights.sum()
        assert response.mean(log_odds, rule, 0.8) == pytest.approx(over, abs=near)


@cases
def test_draws_are_those_of_the_density(response: Response, rule: Rule) -> None:
    rng, alarms = np.random.default_rng(SEED), 0.001 / (len(CASES) * len(LOG_ODDS))
    for log_odds in LOG_ODDS:
        drawn = response.draw(np.full(20_000, expit(log_odds)), rule, rng)
        answers = possible(response)
        if not len(answers):
            noise, baseline, gain = rule
            assert kstest(drawn, norm(baseline + gain * expit(log_odds), noise).cdf).pvalue > alarms
            continue
        counts = np.array([np.isclose(drawn, answer).sum() for answer in answers])
        assert counts.sum() == len(drawn)  # nothing else is said
        expected = len(drawn) * np.exp(density(response, log_odds, rule))
        few = np.cumsum(expected) // 20  # neighbours together, so that at least twenty are expected
        few = np.minimum(few, few[-1] - 1) if few[-1] > 0 else few
        seen, awaited = (np.bincount(few.astype(int), each) for each in (counts, expected))
        seen, awaited = seen[awaited > 0], awaited[awaited > 0]
        if len(seen) > 1:
            assert chisquare(seen, awaited * seen.sum() / awaited.sum()).pvalue > alarms


@cases
def test_values_of_a_rule_may_differ_from_draw_to_draw(response: Response, rule: Rule) -> None:
    p_hat = np.random.default_rng(SEED).uniform(0.05, 0.95, (3, 7))
    rules = tuple(np.full((3, 1), value) for value in rule)
    one, other = (response.draw(p_hat, each, np.random.default_rng(1)) for each in (rule, rules))
    np.testing.assert_array_equal(one, other)


@cases
def test_compiled_and_plain_densities_are_the_same(response: Response, rule: Rule) -> None:
    rng, by = np.random.default_rng(SEED), Specialised(response)
    p_hat = rng.uniform(0.02, 0.98, 9)
    coded, log_odds = response.coded(response.draw(p_hat, rule, rng)), logit(p_hat)[None]
    expected = [response.log_density(*each, np.array(rule))[0] for each in zip(coded, log_odds[0], strict=True)]
    np.testing.assert_allclose(by.by_trial(log_odds, coded, rule)[0], expected, rtol=1e-10, atol=1e-12)
    axes = [np.array([value]) for value in rule[: len(response.parameters)]]
    assert by.on_grid(log_odds, coded, axes).item() == pytest.approx(sum(expected), rel=1e-10)


@pytest.mark.parametrize(("response", "rule"), [CASES[2], CASES[5], CASES[7]], ids=["fine", "coarse", "numbers"])
@pytest.mark.parametrize("residual", [0.0, 0.3])
def test_a_density_of_traces_is_integrated_as_by_quadrature(response: Response, rule: Rule, residual: float) -> None:
    """One component, and residuals by trial: each a sum over many points."""
    rng = np.random.default_rng(SEED)
    traces = TraceDensity(rng.normal(0, 1, 30), rng.normal(0, 0.6, (30, 1)), np.full(30, residual))
    log_odds = traces.mean + 0.5 * traces.loadings[:, 0] + np.sqrt(residual) * rng.standard_normal(30)
    coded = response.coded(response.draw(expit(log_odds), rule, rng))
    coded[::10] = np.nan
    at, weight = np.polynomial.hermite_e.hermegauss(41)
    along = np.linspace(-6, 6, 241)
    by, given = Specialised(response), ~np.isnan(coded)
    shifts = np.sqrt(residual) * at
    points = traces.mean + along[:, None, None] * traces.loadings[:, 0] + shifts[:, None]  # along x shifts x trials
    log_density = by.by_trial(points.reshape(-1, 30)[:, given], coded[given], rule).reshape(241, 41, -1)
    by_trial = np.log(np.einsum("s,ast->at", weight / weight.sum(), np.exp(log_density)))
    exact = np.log(np.sum(np.exp(by_trial.sum(axis=1)) * norm.pdf(along)) * (along[1] - along[0]))
    assert by.integral(traces, coded, rule) == pytest.approx(exact, abs=0.05)


# --- Answers
def test_answers_are_coded_and_missed_ones_are_none() -> None:
    np.testing.assert_array_equal(CHOICES.coded(np.array([0, 1, MISSED])), [-1, 1, np.nan])
    np.testing.assert_allclose(COARSE.coded(np.array([0, 0.25, 1, np.nan])), [0.1, 0.3, 0.9, np.nan])
    np.testing.assert_array_equal(NUMBERS.coded(np.array([-3.0, np.nan])), [-3, np.nan])


def test_chance_and_hits_are_what_they_say() -> None:
    assert CHOICES.log_chance(np.array([0, 1, 1])) == pytest.approx(3 * np.log(0.5))
    assert COARSE.log_chance(np.array([0.25, 1.0])) == pytest.approx(2 * np.log(0.2))
    assert NUMBERS.log_chance(np.array([0.5])) == pytest.approx(norm.logpdf(0.0, 0, 0.5))
    assert CHOICES.hit_rate(np.array([1, 0, 1]), np.array([0.8, 0.6, 0.5])) == pytest.approx(0.5)
    for response in (FINE, NUMBERS):
        assert response.hit_rate(np.array([0.2, 0.9]), np.array([0.3, 0.9])) == pytest.approx(0.95)


def test_models_that_predict_answers_keep_what_says_how_they_scatter() -> None:
    assert [each.name for each in Ratings.parameters_beside(True)] == ["precision"]
    assert [each.name for each in Numbers.parameters_beside(True)] == ["noise"]
    assert set(names_of_responding(predicts_answers=True)) == {"precision", "noise"}
    neutral = FINE.rule({"precision": 40.0})
    assert FINE.mean(logit(0.3), neutral) == pytest.approx((0.3 - 0.5 / 101) / (100 / 101))


def test_protocols_name_responses() -> None:
    assert response_of(load_protocol("conditioning")) is CHOICES
    assert response_of(load_protocol("renewal")) == Ratings(100)
    with pytest.raises(InputError, match=r"key response\.kind: saw 'ratings'; allowed: rating, number.*'rating'"):
        response_of(a_protocol(kind="ratings"))


# --- Cells that are wider than the likelihood
def test_divided_cells_have_the_mean_likelihood_of_their_parts() -> None:
    space = load_preset("default").space(MODELS["rescorla_wagner"], FINE)
    task = Task((), space)
    precision, shift = space.response
    parts = [np.ones(precision.nodes, dtype=np.intp), np.where(np.arange(shift.nodes) == 3, 4, 1)]
    nodes = ResponseNodes(task, parts)
    assert [len(each) for each in nodes.nodes] == [precision.nodes, shift.nodes + 3, 1]
    np.testing.assert_allclose(nodes.nodes[0], precision.values)
    own = nodes.nodes[1][3:7]
    np.testing.assert_allclose(np.diff(own), shift.spacing / 4)
    assert own.mean() == pytest.approx(shift.positions[3])
    surface = np.random.default_rng(SEED).normal(size=(2, precision.nodes, shift.nodes + 3))
    found = nodes.averaged(surface.reshape(2, -1)).reshape(2, precision.nodes, shift.nodes)
    np.testing.assert_allclose(found[:, :, 3], np.log(np.exp(surface[:, :, 3:7]).mean(axis=2)))
    np.testing.assert_allclose(found[:, :, 4:], surface[:, :, 7:], rtol=1e-9)
    assert ResponseNodes(task).averaged(surface) is surface


@pytest.mark.parametrize("response", [FINE, NUMBERS], ids=["rating", "number"])
def test_a_lattice_has_the_likelihood_of_a_far_finer_grid(response: Response) -> None:
    """At one learning rate, averaged over the response's parameters; most cells are far wider than what is likely."""
    space = load_preset("default").space(MODELS["rescorla_wagner"], response)
    beside = {axis.name: axis.positions[axis.nodes // 2] + 0.4 * axis.spacing for axis in space.free}
    truth = {axis.name: float(axis.to_natural(beside[axis.name])) for axis in space.free}
    number = space.learning[0].nodes // 2
    truth |= {"learning_rate": float(space.learning[0].values[number])}
    truth |= {"noise": 0.1} if response is NUMBERS else {}
    (learner,) = person = a_person(space, truth, shared_learners("conditioning", SEED), np.random.default_rng(SEED))
    found = explore(Task(person, space), 1).log_likelihood[number]
    p_hat = space.model.p_hat(learner.observations, space.model_values(truth), Observer(), stream_key(0))[0]
    given, answers = p_hat[learner.answered], learner.choices[learner.answered]
    exact = finely(space, given, answers) if response is FINE else finely_numbers(space, given, answers)
    assert np.logaddexp.reduce(found) - np.log(found.size) == pytest.approx(exact, abs=0.03)
    (middle, *_), (at_nodes, *_) = ResponseNodes(Task(person, space)).nodes, space.response
    np.testing.assert_array_equal(middle, at_nodes.values)  # nothing is divided unless it must be


def test_cells_of_learning_parameters_have_the_mean_likelihood_where_it_is_exact(tmp_path: Path) -> None:
    """Precise ratings tell a learning rate to a third of a cell."""
    (tmp_path / "few.toml").write_text('base = "default"\n[parameters.learning_rate]\nnodes = 24\n')
    model, rule = MODELS["rescorla_wagner"], {"precision": 100.0, "shift": 0.0}
    space = with_fixed(load_preset(tmp_path / "few.toml"), rule, [model], FINE).space(model, FINE)
    (axis,) = space.free
    at = axis.positions[axis.nodes // 2] + 0.45 * axis.spacing
    truth = {"learning_rate": float(axis.to_natural(at)), **rule}
    (learner,) = person = a_person(space, truth, shared_learners("conditioning", SEED), np.random.default_rng(SEED))
    found = explore(Task(person, space), 1).log_likelihood.ravel()
    fine = np.linspace(axis.low, axis.high, 4001)
    seen, given = learner.observations, learner.answered
    p_hat = [model.p_hat(seen, {"learning_rate": rate}, Observer(), stream_key(0))[0] for rate in axis.to_natural(fine)]
    coded = FINE.coded(learner.choices)[given]
    surface = Specialised(FINE).by_replicate(logit(np.array(p_hat))[:, given], coded, FINE.rule(rule))
    exact = np.logaddexp.reduce(surface) - np.log(len(fine))
    assert np.logaddexp.reduce(found) - np.log(axis.nodes) == pytest.approx(exact, abs=0.03)
    share = np.exp(surface - np.logaddexp.reduce(surface))
    assert np.sqrt(share @ fine**2 - (share @ fine) ** 2) < 0.4 * axis.spacing  # so that nodes alone would miss it


def finely(space: Space, p_hat: Array, ratings: Array) -> float:
    """Return the log of the mean likelihood of ratings, over all values of both parameters."""
    axes = [np.linspace(axis.low, axis.high, 801) for axis in space.response]
    values = [*(axis.to_natural(at) for axis, at in zip(space.response, axes, strict=True)), np.ones(1)]
    surface = Specialised(FINE).on_grid(logit(p_hat)[None], FINE.coded(ratings), values)[0, :, :, 0]
    middles = np.logaddexp(surface[1:], surface[:-1])
    return float(np.logaddexp.reduce(np.logaddexp(middles[:, 1:], middles[:, :-1]), axis=None) - np.log(4 * 800**2))


def finely_numbers(space: Space, p_hat: Array, numbers: Array) -> float:
    """The same of numbers; the baseline is integrated in closed form."""
    of_noise, of_baseline, of_gain = space.response
    noise, gain = (axis.to_natural(np.linspace(axis.low, axis.high, 2001)) for axis in (of_noise, of_gain))
    rest, sigma, n = numbers - gain[:, None] * p_hat, noise[:, None], len(numbers)
    mean, squares = rest.mean(axis=1), n * rest.var(axis=1)
    bounds = [norm.cdf((end - mean) * np.sqrt(n) / sigma) for end in (of_baseline.low, of_baseline.high)]
    inside = np.log(np.maximum(bounds[1] - bounds[0], 1e-300)) + np.log(sigma * np.sqrt(2 * np.pi / n))
    surface = inside - squares / (2 * sigma**2) - n * np.log(sigma * np.sqrt(2 * np.pi))
    return float(np.logaddexp.reduce(surface, axis=None) - np.log(surface.size * (of_baseline.high - of_baseline.low)))


# --- People who answer so
def a_person(
    space: Space, truth: dict[str, float], shown: tuple[Learner, ...], rng: np.random.Generator
) -> tuple[Learner, ...]:
    """Return a person's answers, straight from the definitions; one in ten is missed."""
    learners = []
    for learner in shown:
        seen = learner.observations
        p_hat = space.model.p_hat(seen, space.model_values(truth), Observer(), stream_key(0))[0]
        if isinstance(space.answers, Ratings):
            mean, steps = expit(logit(p_hat) + truth["shift"]), space.answers.steps
            meant = rng.beta(mean * truth["precision"], (1 - mean) * truth["precision"])
            answers = np.minimum(np.floor(meant * (steps + 1)), steps) / steps
        else:
            answers = rng.normal(truth["baseline"] + truth["gain"] * p_hat, truth["noise"])
        answers[rng.random(len(answers)) < 0.1] = np.nan
        learners.append(Learner("someone", learner.restart, seen, answers, learner.rows))
    return tuple(learners)


PEOPLE, DRAWS = 30, 199


@pytest.mark.slow
@pytest.mark.parametrize("response", [FINE, NUMBERS], ids=["rating", "number"])
@pytest.mark.parametrize("protocol", ["conditioning", "renewal"])
def test_ranks_of_truths_are_uniform_and_intervals_cover(response: Response, protocol: str, tmp_path: Path) -> None:
    (tmp_path / "fewer.toml").write_text('base = "default"\n[parameters.learning_rate]\nnodes = 40\n')
    space = load_preset(tmp_path / "fewer.toml").space(MODELS["rescorla_wagner"], response)
    shown, ends = shared_learners(protocol, SEED), np.array([0.025, 0.975])
    ranks, covered = np.empty((2, PEOPLE, len(space.free)), dtype=np.int64)
    for person in range(PEOPLE):
        rng = np.random.default_rng([SEED, person])
        truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
        found = posterior_of(explore(Task(a_person(space, truth, shown, rng), space), 1))
        draws = found.draw(DRAWS, rng)
        for number, axis in enumerate(space.free):
            low, high = found.marginal(number).quantiles(ends)
            ranks[person, number] = rank_of(truth[axis.name], draws[:, number], rng)
            covered[person, number] = low <= truth[axis.name] <= high
    for axis, own, count in zip(space.free, ranks.T, covered.sum(axis=0), strict=True):
        least, tail = min(chi_square_p(own, DRAWS), ecdf_p(own, DRAWS)), binom.cdf(count, PEOPLE, 0.95)
        told = f"{axis.name}: p = {least:.2g}, mean rank {own.mean() / DRAWS:.3f}, {count} of {PEOPLE} covered"
        print(f"{response.name} {protocol} {told}")
        assert min(least, tail) > FALSE_ALARMS / TESTS, told


TESTS, FALSE_ALARMS = 3 * 2 * (3 + 4), 0.01  # over all tests of all parameters, responses and protocols


# --- Files
TASK = """
features = {{ cue = {{ levels = ["a", "b"] }} }}
[response]
kind = "{kind}"
column = "said"
low = 0
high = 10
{more}
"""


def a_protocol(kind: str = "rating", more: str = ""):
    return read_protocol(TASK.format(kind=kind, more=more))


def a_file(folder: Path, **columns: object) -> Path:
    """Write the answers of two people: eight trials each, rated from 0 to 10."""
    rows = {"subject": ["p1"] * 8 + ["p2"] * 8, "trial": [*range(1, 9)] * 2, "cue": ["a", "b"] * 8}
    rows |= {"outcome": [1, 0] * 8, "choice": [1, 0, 1, 0, 1, 1, 0, 0] * 2, "said": [7, 2, 8, 1, 9, 3, 10, 0] * 2}
    path = folder / "rated.csv"
    pd.DataFrame(rows | columns).to_csv(path, index=False)
    return path


def said(cell: object) -> list[object]:
    return [7, 2, 8, cell, 9, 3, 10, 0] * 2


@pytest.mark.parametrize(
    ("kind", "more", "answers", "message"),
    [
        ("rating", "", said(11), "row 5, column said: saw '11'; allowed: a number from 0 to 10, or empty"),
        ("rating", "", said(-1), "row 5, column said: saw '-1'; allowed: a number from 0 to 10, or empty"),
        ("rating", "step = 1", said(2.5), "saw '2.5'; allowed: a number from 0 to 10 in steps of 1, or empty"),
        ("rating", "", said("high"), "row 5, column said: saw 'high'; allowed: a number from 0 to 10"),
        ("rating", "", said("1e400"), "row 5, column said: saw '1e400'; allowed: a number from 0 to 10"),
        ("number", "", said("high"), "row 5, column said: saw 'high'; allowed: a number, or empty"),
        ("number", "", said("inf"), "row 5, column said: saw 'inf'; allowed: a number, or empty"),
        ("number", "beyond = false", said(11), "saw '11'; allowed: a number from 0 to 10, or empty"),
        (
            "rating",
            "",
            [5] * 16,
            "column said: saw 5 in all 16 answers; allowed: answers that differ. Such answers say",
        ),
        (
            "number",
            "",
            [5] * 16,
            "column said: saw 5 in all 16 answers; allowed: answers that differ. Such answers say",
        ),
    ],
)
def test_answers_that_are_none_are_refused(
    tmp_path: Path, kind: str, more: str, answers: list[object], message: str
) -> None:
    with pytest.raises(InputError, match=r"column said: saw ") as caught:
        read_cohort(a_file(tmp_path, said=answers), a_protocol(kind, more))
    assert message in str(caught.value.problems[0])


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        ("rating", "step = 3", "key response.step: saw 3; allowed: a step that divides the scale from 0 to 10"),
        ("rating", "beyond = true", "key response.beyond: saw true; allowed: "),
    ],
)
def test_scales_that_are_none_are_refused(kind: str, more: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        a_protocol(kind, more)


def test_a_file_with_choices_and_ratings_is_fitted_on_either(tmp_path: Path) -> None:
    answers = [7, 2, 8, "", 9, 3, 10, 0, *[5] * 8]  # the second person always says the same
    path = a_file(tmp_path, said=answers)
    chosen = read_protocol('features = { cue = { levels = ["a", "b"] } }')
    by_choices, by_ratings = (
        fit(read_cohort(path, protocol), ["rescorla_wagner", "bias"], preset="quick", workers=1, progress=False)
        for protocol in (chosen, a_protocol(more="step = 1"))
    )
    names = [set(each.parameters["parameter"]) for each in (by_choices, by_ratings)]
    assert names[0] == {"learning_rate", "beta", "lapse", "bias", "choice_probability"}
    assert names[1] == {"learning_rate", "precision", "shift", "slope", "choice_probability"}
    people = people_table(read_data(by_ratings)).set_index("subject")
    assert people.loc["p1", "accuracy"] == pytest.approx(np.mean([0.7, 0.8, 0.8, 0.9, 0.7, 1.0, 1.0]))
    assert people.loc["p2", "accuracy"] == pytest.approx(0.5)
    answered = by_ratings.models.set_index(["subject", "model"])["n_answered"]
    assert (answered["p1"] == 7).all()
    warned = by_ratings.models.set_index(["subject", "model"])["warning"]
    assert "all answers are 0.5: they say little about learning" in warned["p2", "rescorla_wagner"]
    assert "all answers" not in warned["p1", "rescorla_wagner"]


def test_simulated_ratings_are_read_as_they_were(tmp_path: Path) -> None:
    made = simulate("renewal", "rescorla_wagner", 2, missed=0.1, seed=SEED).cohort
    path = tmp_path / "renewal.csv"
    write_trials(made.trials, made.protocol, path)
    read = read_cohort(path, "renewal")
    for one, other in zip(made.learners, read.learners, strict=True):
        np.testing.assert_allclose(one.choices, other.choices)
        np.testing.assert_array_equal(one.observations.cues, other.observations.cues)
