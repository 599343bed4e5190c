"""The draws: the generator against its published answers, the addresses against statistics.

Every statistical threshold is a p-value with a family-wise false alarm rate over the whole file.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, chisquare, kstest, spearmanr

from holmes_fit.models.filters import draws

SEED = 20240917
FALSE_ALARM_RATE = 1e-3  # of all statistical tests of this file together, if the draws are uniform and independent
N_DRAWS = 20_000

# From the known-answer tests of Random123: counter, key, result.
KNOWN_ANSWERS = [
    (
        (0x00000000, 0x00000000, 0x00000000, 0x00000000),
        (0x00000000, 0x00000000),
        (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
    ),
    (
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

PURPOSES = {"branch": draws.BRANCH, "stop": draws.STOP, "resample": draws.RESAMPLE}

# One draw for every position on an axis, all other parts of the address fixed.
AXES: dict[str, Callable[[int, int], float]] = {
    "seed": lambda i, purpose: draws.uniform(draws.stream_key(i, "anna"), 0, 7, 3, 0, purpose),
    "learner": lambda i, purpose: draws.uniform(draws.stream_key(SEED, f"p{i}"), 0, 7, 3, 0, purpose),
    "replicate": lambda i, purpose: draws.uniform(KEY, i, 7, 3, 0, purpose),
    "trial": lambda i, purpose: draws.uniform(KEY, 1, i, 3, 0, purpose),
    "particle": lambda i, purpose: draws.uniform(KEY, 1, 7, i, 0, purpose),
    "level": lambda i, purpose: draws.uniform(KEY, 1, 7, 3, i, purpose),
}
KEY = draws.stream_key(SEED)
LINES = [(axis, purpose) for axis, purpose in product(AXES, PURPOSES) if (axis, purpose) != ("level", "resample")]
PURPOSE_PAIRS = [("branch", "stop"), ("branch", "resample"), ("stop", "resample")]
# Two tests of uniformity and two of independence along every line, two of independence for every pair of purposes.
THRESHOLD = FALSE_ALARM_RATE / (4 * len(LINES) + 2 * len(PURPOSE_PAIRS))


def line(axis: str, purpose: str) -> NDArray[np.float64]:
    return np.array([AXES[axis](i, PURPOSES[purpose]) for i in range(N_DRAWS)])


def independence(one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, float]:
    """p-values of a rank correlation and of an 8 x 8 table."""
    table, _, _ = np.histogram2d(one, other, bins=8, range=[[0, 1], [0, 1]])
    return {"rank correlation": float(spearmanr(one, other).pvalue), "table": float(chi2_contingency(table).pvalue)}


def uniformity(values: NDArray[np.float64]) -> dict[str, float]:
    """p-values of Kolmogorov and Smirnov, and of a count in 100 bins."""
    counts, _ = np.histogram(values, bins=100, range=(0, 1))
    return {"Kolmogorov-Smirnov": float(kstest(values, "uniform").pvalue), "bins": float(chisquare(counts).pvalue)}


def assert_no_alarm(p_values: dict[str, float]) -> None:
    assert min(p_values.values()) > THRESHOLD, f"seed {SEED}: {p_values}, threshold {THRESHOLD:.1e}"


# The generator -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_philox_gives_its_published_answers(
    counter: tuple[int, ...], key: tuple[int, int], answer: tuple[int, ...], compiled: bool
) -> None:
    # With compilation off, as when deliberate faults are tried, the function is plain already.
    philox = draws.philox if compiled else getattr(draws.philox, "py_func", draws.philox)
    words = philox(np.uint64(key[0] | key[1] << 32), *map(np.uint64, counter))
    assert tuple(map(int, words)) == answer


@pytest.mark.parametrize(
    ("high", "low", "value"),
    [
        (0, 0, 2.0**-53),
        (0, 0xFFF, 2.0**-53),
        (0, 0x1000, 3 * 2.0**-53),
        (1, 0, 2.0**-32 + 2.0**-53),
        (0x80000000, 0, 0.5 + 2.0**-53),
        (0xFFFFFFFF, 0xFFFFFFFF, 1 - 2.0**-53),
    ],
)
def test_words_map_into_the_open_interval(high: int, low: int, value: float) -> None:
    assert draws.unit(np.uint64(high), np.uint64(low)) == value
    assert 0.0 < value < 1.0


# The addresses -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("axis", "purpose"), LINES)
def test_draws_along_an_axis_are_uniform_and_independent(axis: str, purpose: str) -> None:
    values = line(axis, purpose)
    assert_no_alarm(uniformity(values) | independence(values[0::2], values[1::2]))


@pytest.mark.parametrize(("one", "other"), PURPOSE_PAIRS)
def test_draws_for_different_purposes_are_independent(one: str, other: str) -> None:
    assert_no_alarm(independence(line("particle", one), line("particle", other)))


def test_a_correlation_of_a_tenth_would_be_noticed() -> None:
    # Ten standard errors with 10,000 pairs; the threshold lies at four and a half.
    values = line("particle", "branch")
    mixed = 0.9 * values[0::2] + 0.1 * values[1::2]
    assert independence(mixed, values[1::2])["rank correlation"] < THRESHOLD


def test_every_address_has_its_own_draw() -> None:
    keys = [draws.stream_key(seed, learner) for seed, learner in product((0, 1), ("", "anna"))]
    values = [
        draws.uniform(key, replicate, trial, particle, level, purpose)
        for key, replicate, trial, particle in product(keys, range(4), range(6), range(6))
        for level, purpose in [*product(range(5), (draws.BRANCH, draws.STOP)), (0, draws.RESAMPLE)]
    ]
    assert len(set(values)) == len(values)


def test_draws_are_the_same_today_and_tomorrow() -> None:
    # Golden values: results on file depend on them.
    addresses = [(0, 0, 0, 0, draws.BRANCH), (1, 2, 3, 4, draws.STOP), (7, 171, 199, 0, draws.RESAMPLE)]
    values = [draws.uniform(draws.stream_key(1, "anna"), *address) for address in addresses]
    assert values == [0.1062280246043098, 0.5036260346971116, 0.23851390809970618]


@pytest.mark.parametrize("purpose", [draws.BRANCH, draws.STOP])
def test_a_pair_holds_the_draws_for_branch_and_stop(purpose: int) -> None:
    assert draws.pair(KEY, 1, 2, 3, 4)[purpose] == draws.uniform(KEY, 1, 2, 3, 4, purpose)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 33, 200])
def test_resampling_draws_at_once_are_the_draws_one_by_one(length: int) -> None:
    uniforms = np.full(length + 2, -1.0)
    draws.fill_resampling(KEY, 5, 11, uniforms[:length])
    expected = [draws.uniform(KEY, 5, 11, slot, 0, draws.RESAMPLE) for slot in range(length)]
    assert uniforms.tolist() == [*expected, -1.0, -1.0]


# The key -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("seed", "learner", "key"),
    [(0, "", 0xABF6BEDB09E7E2B0), (1, "anna", 0x95ED156BB8CDF80E), (20240917, "p 01/ä", 0x3E1F3B890E1C6893)],
)
def test_the_key_is_the_same_on_every_machine(seed: int, learner: str, key: int) -> None:
    assert int(draws.stream_key(seed, learner)) == key


def test_seeds_and_learners_have_keys_of_their_own() -> None:
    names = ["", "1", "11", "a", "ab", "a,b", 'a","b', "a\x00b", "Anna", "anna", "é", "e\u0301"]
    keys = {int(draws.stream_key(seed, learner)) for seed, learner in product((0, 1, 11, 2**31 - 1), names)}
    assert len(keys) == 4 * len(names)


def test_the_kind_of_integer_does_not_matter() -> None:
    assert draws.stream_key(np.int64(3), "a") == draws.stream_key(3, "a")
    assert isinstance(draws.stream_key(3), np.uint64)
