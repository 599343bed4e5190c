"""The response rule: from a prediction to the probability of a choice."""

import math

import numpy as np
import pytest

from holmes_fit.models.responses.choices import BETA, BIAS, CHOICES, LAPSE, choice_probability


@pytest.mark.parametrize("p_hat", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("beta", "lapse", "bias"), [(1.0, 0.1, 0.0), (3.0, 0.02, 0.4), (0.5, 0.5, -1.0)])
def test_the_rule_is_the_one_written_down(p_hat: float, beta: float, lapse: float, bias: float) -> None:
    evidence = beta * math.log(p_hat / (1 - p_hat)) + bias
    expected = lapse / 2 + (1 - lapse) / (1 + math.exp(-evidence))
    assert choice_probability(p_hat, beta, lapse, bias) == pytest.approx(expected, rel=1e-12)


def test_with_beta_one_and_hardly_any_lapse_people_match_the_prediction() -> None:
    p_hat = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(choice_probability(p_hat, 1.0, 1e-15), p_hat, rtol=1e-12)


def test_the_two_choices_add_up_to_one() -> None:
    rng = np.random.default_rng(1)
    p_hat, beta, lapse = rng.random(500), rng.uniform(0.1, 20, 500), rng.random(500)
    both = [choice_probability(p_hat, beta, lapse, 0.3, choice) for choice in (0, 1)]
    np.testing.assert_allclose(both[0] + both[1], 1.0, rtol=1e-12)


def test_choices_may_differ_from_trial_to_trial() -> None:
    p_hat = np.array([0.2, 0.2, 0.7])
    found = choice_probability(p_hat, 2.0, 0.05, choice=np.array([0, 1, 1]))
    expected = [choice_probability(p, 2.0, 0.05, choice=c) for p, c in zip(p_hat, (0, 1, 1), strict=True)]
    np.testing.assert_array_equal(found, expected)


def test_a_sure_prediction_leaves_the_lapse() -> None:
    np.testing.assert_allclose(choice_probability([0.0, 1.0], 3.0, 0.1), [0.05, 0.95], rtol=1e-14)
    np.testing.assert_allclose(choice_probability([0.0, 1.0], 3.0, 0.1, choice=0), [0.95, 0.05], rtol=1e-14)


def test_a_tiny_probability_keeps_its_digits() -> None:
    unlikely = choice_probability(1 - 1e-9, 2.0, 1e-30, choice=0)
    assert unlikely == pytest.approx(1e-18, rel=1e-6)


def test_arguments_are_broadcast() -> None:
    p_hat = np.full((4, 1, 10), 0.6)
    assert choice_probability(p_hat, np.array([1.0, 2.0, 3.0])[:, None], 0.02).shape == (4, 3, 10)


def test_a_model_that_predicts_choices_has_no_response_parameters() -> None:
    assert CHOICES.parameters_beside(predicts_answers=True) == ()
    assert CHOICES.parameters_beside(predicts_answers=False) == (BETA, LAPSE, BIAS)


def test_bias_is_off_by_default() -> None:
    assert not BIAS.free
    assert BIAS.default == 0
    assert BETA.free
    assert LAPSE.free
