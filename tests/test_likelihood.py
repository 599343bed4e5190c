"""The choice likelihood against a plain reading of its definition, one trial at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from holmes_fit.choices import BETA, LAPSE, choice_probability
from holmes_fit.likelihood import AS_PREDICTED, Replicates, Response, Traces, likelihood_of, traces_of
from holmes_fit.models import MODELS, Observer
from holmes_fit.simulation import simulate

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


@pytest.mark.parametrize("kind", ["marginal", "expected"])
def test_terms_of_trials_add_up(kind) -> None:
    likelihood = likelihood_of(some_traces(), kind)
    terms = likelihood.one_step_ahead(RESPONSE)
    assert sum(np.nansum(term.log_probability) for term in terms) == pytest.approx(likelihood.at(RESPONSE), rel=1e-12)


def test_terms_are_predictions_from_earlier_choices_only() -> None:
    traces = some_traces(learners=1)
    changed = traces.choices[0].copy()
    changed[50:] = 1 - np.maximum(changed[50:], 0)
    before, after = (
        likelihood_of(Traces(traces.p_hat, (choices,))).one_step_ahead(RESPONSE)[0]
        for choices in (traces.choices[0], changed)
    )
    np.testing.assert_array_equal(before.log_probability[:50], after.log_probability[:50])
    np.testing.assert_allclose(before.weights[:, :51], after.weights[:, :51])
    np.testing.assert_allclose(before.weights.sum(axis=0), 1.0)


def test_missed_trials_have_no_term_and_leave_the_weights_alone() -> None:
    step = likelihood_of(some_traces(learners=1)).one_step_ahead(RESPONSE)[0]
    missed = np.flatnonzero(some_traces(learners=1).choices[0] == -1)
    assert np.isnan(step.log_probability[missed]).all()
    inside = missed[missed < len(step.log_probability) - 1]
    np.testing.assert_allclose(step.weights[:, inside], step.weights[:, inside + 1])


@pytest.mark.parametrize("lapse_is_tiny", [False, True])
def test_grid_equals_points(lapse_is_tiny) -> None:
    beta, bias = np.array([0.1, 1.7, 20.0]), np.array([-2.0, 0.0])
    lapse = np.array([1e-12, 1e-6]) if lapse_is_tiny else np.array([0.001, 0.3])
    likelihood = likelihood_of(some_traces(trials=700))
    grid = likelihood.on_grid(beta, lapse, bias).sum(axis=0)
    for index in np.ndindex(grid.shape):
        at = Response(beta[index[0]], lapse[index[1]], bias[index[2]])
        assert grid[index] == pytest.approx(likelihood.at(at), rel=1e-9)


@given(st.floats(-1.5, 2.9), st.floats(-6.0, -0.1), st.floats(-2.0, 2.0), st.sampled_from(["marginal", "expected"]))
def test_slope(log_beta, logit_lapse, bias, kind) -> None:
    likelihood = likelihood_of(some_traces(trials=40), kind)

    def value(x: np.ndarray) -> float:
        return likelihood.at(Response(float(BETA.to_natural(x[0])), float(LAPSE.to_natural(x[1])), x[2]))

    at = np.array([log_beta, logit_lapse, bias])
    response = Response(float(BETA.to_natural(log_beta)), float(LAPSE.to_natural(logit_lapse)), bias)
    numeric = approx_fprime(at, value, 1e-6)
    np.testing.assert_allclose(likelihood.with_gradient(response)[1], numeric, rtol=1e-3, atol=2e-3)


def test_certain_predictions_are_finite_and_flat() -> None:
    traces = Traces((np.array([[0.0, 1.0, 1.0]]),), (np.array([0, 1, 0], dtype=np.int8),))
    value, slope = likelihood_of(traces).with_gradient(Response(3.0, 0.1, 0.0))
    assert value == pytest.approx(2 * math.log(0.95) + math.log(0.05))
    assert np.isfinite(slope).all()


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
