"""The choice likelihood against a plain reading of its definition, one trial at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest

from holmes_fit.likelihood.answers import AnswerLikelihood, halves, likelihood_of
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.studies.simulation import simulate
from tests.rules import AS_PREDICTED, Response

RESPONSE = Response(beta=2.3, lapse=0.07, bias=-0.4)


def some_traces(replicates: int = 6, trials: int = 90, learners: int = 2, seed: int = 3) -> Traces:
    rng = np.random.default_rng(seed)
    p_hat = tuple(rng.uniform(0.02, 0.98, (replicates, trials)) for _ in range(learners))
    choices = tuple(rng.choice([-1, 0, 1], size=trials, p=[0.1, 0.4, 0.5]).astype(np.int8) for _ in range(learners))
    return Traces(p_hat, choices)


def plainly(p_hat: np.ndarray, choices: np.ndarray, response: Response) -> list[float]:
    """Return each replicate's likelihood of all answers, multiplied one by one."""
    products = []
    for trace in p_hat:
        product = 1.0
        for p, choice in zip(trace, choices, strict=True):
            if choice >= 0:
                follows = 1 / (1 + math.exp(-(response.beta * math.log(p / (1 - p)) + response.bias)))
                chose_1 = response.lapse / 2 + (1 - response.lapse) * follows
                product *= chose_1 if choice == 1 else 1 - chose_1
        products.append(product)
    return products


def test_marginal_is_the_mean_over_replicates_of_the_product_over_trials() -> None:
    traces = some_traces()
    expected = sum(math.log(np.mean(plainly(p_hat, choices, RESPONSE))) for p_hat, choices in zip(*traces, strict=True))
    assert likelihood_of(traces).at(RESPONSE) == pytest.approx(expected, rel=1e-12)


def test_expected_is_the_product_over_trials_at_the_mean_p_hat() -> None:
    traces = some_traces()
    expected = sum(
        math.log(plainly(p_hat.mean(axis=0, keepdims=True), choices, RESPONSE)[0])
        for p_hat, choices in zip(*traces, strict=True)
    )
    assert likelihood_of(traces, "expected").at(RESPONSE) == pytest.approx(expected, rel=1e-12)
    assert likelihood_of(traces, "expected").at(RESPONSE) != pytest.approx(likelihood_of(traces).at(RESPONSE), abs=0.1)


def some_lent(traces: Traces, rows: int = 10, seed: int = 5) -> list[np.ndarray]:
    """Return deviations such as neighbours lend: of other filters, in few directions."""
    rng = np.random.default_rng(seed)
    return [0.5 * rng.standard_normal((rows, 3)) @ rng.standard_normal((3, own.shape[1])) for own in traces.p_hat]


def smooth_traces(trials: int = 40, replicates: int = 6, seed: int = 3) -> Traces:
    """Filters that differ by half a logit, in as many directions as there are filters, and answers by one of them."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 1.0, trials) + 0.5 * rng.standard_normal((replicates, trials))
    p_hat = 1 / (1 + np.exp(-log_odds))
    chosen = (rng.random(trials) < choice_probability(p_hat[0], *RESPONSE)).astype(np.int8)
    return Traces((p_hat,), (np.where(rng.random(trials) < 0.1, np.int8(-1), chosen),))


def test_with_a_density_it_is_the_mean_of_two_likelihoods() -> None:
    """The plain mean, and plain Monte Carlo over the normal density that all deviations together have."""
    traces = smooth_traces()
    (p_hat,), (choices,), (lent,) = *traces, some_lent(traces)
    plain = np.mean(plainly(p_hat, choices, RESPONSE))
    log_odds = np.log(p_hat / (1 - p_hat))
    own = log_odds - log_odds.mean(axis=0)
    rows = np.concatenate([own * np.sqrt(6 / 5), lent]) / np.sqrt(6 + 10)  # the covariance is rows' rows
    rng = np.random.default_rng(1)
    drawn = log_odds.mean(axis=0) + rng.standard_normal((100_000, 16)) @ rows
    given = choices >= 0
    chosen = choice_probability(1 / (1 + np.exp(-drawn)), *RESPONSE, choice=np.maximum(choices, 0))
    products = np.prod(chosen[:, given], axis=1)
    error = products.std() / np.sqrt(len(products)) / products.mean()
    expected = math.log((plain + products.mean()) / 2)
    found = likelihood_of(traces, lent=[lent]).at(RESPONSE)
    assert found == pytest.approx(expected, abs=4 * error + 0.05)  # and Laplace's method is nearly right
    assert 4 * error + 0.05 < 0.15 < abs(math.log(plain / products.mean())) / 2  # so that neither half will do


def test_learners_have_densities_of_their_own() -> None:
    one, other = smooth_traces(seed=3), smooth_traces(trials=25, seed=4)
    lent = [some_lent(one)[0], some_lent(other)[0]]
    both = likelihood_of(Traces(one.p_hat + other.p_hat, one.choices + other.choices), lent=lent)
    apart = [likelihood_of(each, lent=[own]) for each, own in zip((one, other), lent, strict=True)]
    assert both.at(RESPONSE) == pytest.approx(sum(each.at(RESPONSE) for each in apart), abs=1e-9)
    grids = [each.on_grid((np.array([1.0, 3.0]), np.array([0.05]), np.zeros(1))) for each in (both, *apart)]
    np.testing.assert_allclose(grids[0], grids[1] + grids[2])


def test_an_averaged_observer_has_no_density() -> None:
    traces = some_traces()
    lent = some_lent(traces)
    assert likelihood_of(traces, "expected", lent).at(RESPONSE) == likelihood_of(traces, "expected").at(RESPONSE)


def some_likelihoods(traces: Traces) -> dict[str, AnswerLikelihood]:
    return {
        "plain": likelihood_of(traces),
        "expected": likelihood_of(traces, "expected"),
        "density": likelihood_of(traces, lent=some_lent(traces)),
    }


KINDS = ["plain", "expected", "density"]


@pytest.mark.parametrize("kind", KINDS)
def test_terms_of_trials_add_up(kind: str) -> None:
    likelihood = some_likelihoods(some_traces())[kind]
    terms = likelihood.one_step_ahead(RESPONSE)
    # Highest points that are found trial by trial are no more exact than that.
    tolerance = 2e-3 if kind == "density" else 1e-9
    total = sum(np.nansum(term.log_probability) for term in terms)
    assert total == pytest.approx(likelihood.at(RESPONSE), abs=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_terms_are_predictions_from_earlier_choices_only(kind: str) -> None:
    traces = some_traces(learners=1)
    changed = traces.choices[0].copy()
    changed[50:] = 1 - np.maximum(changed[50:], 0)
    before, after = (
        some_likelihoods(Traces(traces.p_hat, (choices,)))[kind].one_step_ahead(RESPONSE)[0]
        for choices in (traces.choices[0], changed)
    )
    np.testing.assert_array_equal(before.log_probability[:50], after.log_probability[:50])
    np.testing.assert_allclose(before.p_hat[:51], after.p_hat[:51])
    np.testing.assert_allclose(before.answer[:51], after.answer[:51])
    assert np.allclose(before.p_hat[51:], after.p_hat[51:]) == (kind == "expected")


@pytest.mark.parametrize("kind", KINDS)
def test_terms_are_log_probabilities_of_what_was_predicted(kind: str) -> None:
    """Exactly so without a density; with one, its mean on a trial and its integral are approximations of their own."""
    traces = smooth_traces(trials=90)
    step = some_likelihoods(traces)[kind].one_step_ahead(RESPONSE)[0]
    choices = traces.choices[0]
    given = choices >= 0
    predicted = np.log(np.where(choices == 1, step.answer, 1 - step.answer))[given]
    np.testing.assert_allclose(step.log_probability[given], predicted, atol=0.15 if kind == "density" else 1e-9)
    assert np.abs(step.log_probability[given] - predicted).mean() < 0.02


def test_the_first_prediction_is_that_of_all_filters() -> None:
    traces = smooth_traces()
    for kind, likelihood in some_likelihoods(traces).items():
        step = likelihood.one_step_ahead(RESPONSE)[0]
        assert step.p_hat[0] == pytest.approx(traces.p_hat[0][:, 0].mean(), abs=0.02 if kind == "density" else 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_missed_trials_have_no_term_and_teach_nothing(kind: str) -> None:
    """Everything else is as if those trials had not been predicted at all."""
    traces = some_traces(learners=1)
    (lent,) = some_lent(traces)
    given = traces.choices[0] != -1
    without = Traces((traces.p_hat[0][:, given],), (traces.choices[0][given],))
    lents = (None, None) if kind != "density" else ([lent], [lent[:, given]])
    name = "expected" if kind == "expected" else "marginal"
    step, shorter = (
        likelihood_of(each, name, own).one_step_ahead(RESPONSE)[0]
        for each, own in zip((traces, without), lents, strict=True)
    )
    assert np.isnan(step.log_probability[~given]).all()
    tolerance = 5e-3 if kind == "density" else 1e-9  # directions are those of all trials, whose number differs
    np.testing.assert_allclose(step.log_probability[given], shorter.log_probability, atol=tolerance)
    np.testing.assert_allclose(step.p_hat[given], shorter.p_hat, atol=tolerance)
    np.testing.assert_allclose(step.answer[given], shorter.answer, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lapse_is_tiny", [False, True])
def test_grid_equals_points(kind: str, lapse_is_tiny: bool) -> None:
    beta, bias = np.array([0.1, 1.7, 20.0]), np.array([-2.0, 0.0])
    lapse = np.array([1e-12, 1e-6]) if lapse_is_tiny else np.array([0.001, 0.3])
    traces = some_traces(trials=700)
    if kind == "density":  # where answers are against all that was predicted, there is more than one highest point
        traces, beta, bias = smooth_traces(trials=100), np.array([0.1, 0.6, 1.7, 4.0]), np.array([-0.5, 0.0])
    likelihood = some_likelihoods(traces)[kind]
    grid = likelihood.on_grid((beta, lapse, bias))
    for index in np.ndindex(grid.shape):
        at = Response(beta[index[0]], lapse[index[1]], bias[index[2]])
        assert grid[index] == pytest.approx(likelihood.at(at), rel=1e-9, abs=5e-3 if kind == "density" else 1e-9)


def test_certain_predictions_are_finite() -> None:
    traces = Traces((np.array([[0.0, 1.0, 1.0]]),), (np.array([0, 1, 0], dtype=np.int8),))
    value = likelihood_of(traces).at(Response(3.0, 0.1, 0.0))
    assert value == pytest.approx(2 * math.log(0.95) + math.log(0.05))
    twice = Traces((np.repeat(traces.p_hat[0], 2, axis=0),), traces.choices)
    assert likelihood_of(twice, lent=[np.zeros((2, 3))]).at(Response(3.0, 0.1, 0.0)) == pytest.approx(value)


def test_halves_are_a_mean_of_likelihoods() -> None:
    assert halves(math.log(0.2), math.log(0.6)) == pytest.approx(math.log(0.4))
    assert halves(-1000.0, -2.0) == pytest.approx(-2.0 - math.log(2))
    np.testing.assert_allclose(halves(np.array([-3.0, -3.0]), np.array([-3.0, -np.inf])), [-3.0, -3.0 - math.log(2)])


def test_effective_replicates() -> None:
    same = np.full((5, 20), 0.7)
    choices = (np.ones(20, dtype=np.int8),)
    assert likelihood_of(Traces((same,), choices)).effective_replicates(RESPONSE) == pytest.approx(5)
    lucky = np.full((5, 20), 0.001)
    lucky[3] = 0.999
    one = likelihood_of(Traces((lucky,), choices))
    assert one.effective_replicates(RESPONSE) == pytest.approx(1, abs=1e-6)
    assert one.best_replicates(RESPONSE) == (3,)
    both = likelihood_of(Traces((lucky, same), choices * 2))
    assert both.effective_replicates(RESPONSE) == pytest.approx(1, abs=1e-6)  # of the learner that has the fewest


def test_models_that_predict_choices_are_taken_at_their_word() -> None:
    traces = some_traces(learners=1)
    p_hat, choices = traces.p_hat[0], traces.choices[0]
    answered = choices >= 0
    expected = np.log(np.mean(np.prod(np.where(choices == 1, p_hat, 1 - p_hat)[:, answered], axis=1)))
    assert likelihood_of(traces).at(AS_PREDICTED) == pytest.approx(expected)


def test_batches_deal_out_the_replicates() -> None:
    traces = some_traces(replicates=6)
    batches = traces.batches(3)
    for learner in range(2):
        together = np.concatenate([batch.p_hat[learner] for batch in batches])
        np.testing.assert_array_equal(together, traces.p_hat[learner])


def test_same_draws_whatever_the_number_of_replicates_and_the_other_learners() -> None:
    cohort = simulate("conditioning", "holmes", 3, seed=1).cohort
    values = {"alpha": 0.7, "omega": 0.4, "depth_scale": 1.0}
    model, observer = MODELS["holmes"], Observer(particles=20)
    everyone = traces_of(model, cohort.learners, values, observer, 0, Replicates(6, 10))
    second = traces_of(model, cohort.learners[1:2], values, observer, 0, Replicates(2, 12))
    np.testing.assert_array_equal(everyone.p_hat[1][2:4], second.p_hat[0])


@pytest.mark.parametrize("changed", [{"restart": "after a break"}, {"subject": "somebody else"}])
def test_people_and_restarts_with_the_same_trials_have_draws_of_their_own(changed: dict[str, str]) -> None:
    first = simulate("conditioning", "holmes", 1, seed=1).cohort.learners[0]
    again = replace(first, **changed)  # type: ignore[arg-type]
    values = {"alpha": 0.7, "omega": 0.4, "depth_scale": 1.0}
    traces = traces_of(MODELS["holmes"], [first, again], values, Observer(particles=20), 0, Replicates(2))
    assert not np.array_equal(*traces.p_hat)


def test_probability_agrees_with_the_response_rule() -> None:
    p_hat = np.array([[0.3, 0.6, 0.9]])
    for choice in (0, 1):
        traces = Traces((p_hat,), (np.full(3, choice, dtype=np.int8),))
        expected = np.log(choice_probability(p_hat, *RESPONSE, choice=choice)).sum()
        assert likelihood_of(traces).at(RESPONSE) == pytest.approx(expected)
