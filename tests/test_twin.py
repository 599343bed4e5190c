"""The compiled kernel against the plain filter, draw for draw.

The switches are covered pair by pair: every value of every switch meets every value of every other switch in at least
one run. That needs some thirty runs where all combinations would need tens of thousands.
"""

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from holmes_fit.models.contract import sequence
from holmes_fit.models.filters import kernel, plain
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.filters.settings import History, Settings
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.trials.observations import Observations, observations_from_matrix

SEED = 20240917
KEY = stream_key(SEED)
TOLERANCE = 1e-9  # the two add the same numbers in a different order

VARIANTS = [name for name, model in MODELS.items() if isinstance(model, LatentCauseModel)]

SWITCHES: dict[str, list[Any]] = {
    "model": VARIANTS,
    "alpha": [0.3, 1.0, 3.0],
    "omega": [0.1, 0.5, 2.0],
    "depth_scale": [0.0, 0.5, 1.0],
    "max_depth": [1, 3, 20],
    "max_branches": [1, 2, 20],
    "resampling": ["systematic", "multinomial"],
    "branch_counts": ["particle", "shared"],
    "sticky_by": ["branch", "node"],
    "length_normalized": [False, True],
    "n_cues": [3, 4],
}

Run = dict[str, Any]
Pair = tuple[tuple[str, Any], tuple[str, Any]]


def pairs_of(run: Run) -> set[Pair]:
    return set(combinations(run.items(), 2))


def covering_runs() -> list[Run]:
    """Choose runs greedily until every pair of values of two switches has met. No chance is involved.

    Where several values would serve, they take turns, so that larger combinations vary as well.
    """
    missing: dict[Pair, None] = {
        ((one, here), (other, there)): None
        for one, other in combinations(SWITCHES, 2)
        for here, there in product(SWITCHES[one], SWITCHES[other])
    }
    runs = []
    while missing:
        run: Run = dict(next(iter(missing)))
        for switch in SWITCHES:
            if switch not in run:
                turn = len(runs) % len(SWITCHES[switch])
                values = SWITCHES[switch][turn:] + SWITCHES[switch][:turn]
                gains = [_gain(run, switch, value, missing) for value in values]
                run[switch] = values[gains.index(max(gains))]
        run = {switch: run[switch] for switch in SWITCHES}
        runs.append(run)
        for pair in pairs_of(run):
            missing.pop(pair, None)
    return runs


def _gain(run: Run, switch: str, value: Any, missing: dict[Pair, None]) -> int:
    order = list(SWITCHES)
    pairs = [sorted([(switch, value), known], key=lambda item: order.index(item[0])) for known in run.items()]
    return sum(tuple(pair) in missing for pair in pairs)


RUNS = covering_runs()


def settings_of(run: Run, particles: int = 25) -> Settings:
    model = MODELS[run["model"]]
    assert isinstance(model, LatentCauseModel)
    switches = ("resampling", "branch_counts", "sticky_by", "max_depth", "max_branches")
    observer = Observer(particles=particles, **{name: run[name] for name in switches if name in run})
    return model.settings({"alpha": 1.0, "omega": 0.5} | run, observer)


def assert_twins_agree(observations: Observations, settings: Settings, replicate: int = 0) -> History:
    """Compare everything that the two filters say, and return what they agree on."""
    fast_p_hat, fast = kernel.trace_with_history(observations, settings, KEY, replicate)
    slow_p_hat, slow = plain.trace_with_history(observations, settings, KEY, replicate)
    for name, one, other in zip(History._fields, fast, slow, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"{name}, seed {SEED}, {settings}")
    np.testing.assert_allclose(fast_p_hat, slow_p_hat, rtol=0, atol=TOLERANCE, err_msg=f"seed {SEED}, {settings}")
    return fast


def test_the_runs_cover_every_pair_of_switches() -> None:
    met = set().union(*map(pairs_of, RUNS))
    values = [(switch, value) for switch in SWITCHES for value in SWITCHES[switch]]
    assert met == {pair for pair in combinations(values, 2) if pair[0][0] != pair[1][0]}
    assert len(RUNS) <= 40


@pytest.mark.parametrize("run", RUNS, ids=lambda run: "-".join(map(str, run.values())))
def test_twins_agree_across_a_reversal(run: Run) -> None:
    observations = sequence(SEED, n_cues=run["n_cues"], length_normalized=run["length_normalized"])
    assert_twins_agree(observations, settings_of(run))


def test_most_runs_open_causes_and_resample() -> None:
    # Where one branch is allowed and no path stops, there is one cause and nothing to choose.
    busy = 0
    for run in RUNS:
        _, history = kernel.trace_with_history(sequence(SEED), settings_of(run), KEY)
        busy += len(np.unique(history.leaves)) > 1 and bool((history.ancestors != np.arange(25)).any())
    assert busy >= 0.7 * len(RUNS)


TWO_WAY_SWITCHES = [switch for switch, values in SWITCHES.items() if len(values) == 2]


@pytest.mark.parametrize("choices", list(product(*(SWITCHES[switch] for switch in TWO_WAY_SWITCHES))))
def test_twins_agree_on_a_deep_tree_with_every_combination_of_two_way_switches(choices: tuple[Any, ...]) -> None:
    run: Run = dict(zip(TWO_WAY_SWITCHES, choices, strict=True))
    run |= {"model": "holmes", "alpha": 1.5, "omega": 1.0, "depth_scale": 0.2, "max_depth": 5, "max_branches": 6}
    observations = sequence(SEED + 2, n_cues=run["n_cues"], length_normalized=run["length_normalized"])
    assert_twins_agree(observations, settings_of(run, particles=20))


@pytest.mark.parametrize("model", VARIANTS)
@pytest.mark.parametrize("branch_counts", ["particle", "shared"])
def test_twins_agree_at_the_default_switches(model: str, branch_counts: str) -> None:
    run = {"model": model, "branch_counts": branch_counts, "depth_scale": 0.5, "alpha": 1.5}
    assert_twins_agree(sequence(SEED + 1), settings_of(run, particles=30), replicate=3)


@pytest.mark.parametrize("branch_counts", ["particle", "shared"])
@pytest.mark.parametrize("model", ["flat", "flat_sticky"])
def test_twins_agree_with_many_causes(model: str, branch_counts: str) -> None:
    run = {"model": model, "branch_counts": branch_counts, "alpha": 50.0}
    history = assert_twins_agree(sequence(SEED, n_cues=6), settings_of(run))
    assert history.branch.max() > 40


@pytest.mark.parametrize("branch_counts", ["particle", "shared"])
def test_twins_agree_with_many_branches_and_nodes(branch_counts: str) -> None:
    run = {"model": "holmes", "branch_counts": branch_counts, "alpha": 50.0, "depth_scale": 0.0, "max_branches": 100}
    history = assert_twins_agree(sequence(SEED), settings_of(run | {"max_depth": 4}, particles=12))
    assert history.branch.max() > 40
    assert len(history.parent) > 2_000


@pytest.mark.parametrize("model", VARIANTS)
@pytest.mark.parametrize(
    ("n_cues", "particles", "resampling"), [(0, 20, "systematic"), (4, 1, "multinomial"), (30, 15, "systematic")]
)
def test_twins_agree_at_odd_sizes(model: str, n_cues: int, particles: int, resampling: str) -> None:
    run = {"model": model, "resampling": resampling, "max_depth": 4, "depth_scale": 0.5}
    assert_twins_agree(sequence(SEED, n_trials=100, n_cues=n_cues), settings_of(run, particles))


def test_twins_agree_where_products_of_likelihoods_would_vanish() -> None:
    # The likelihood of 120 cues has 600 ** 120 in its denominator, beyond any floating-point number.
    observations = sequence(SEED, n_trials=800, n_cues=120)
    history = assert_twins_agree(observations, settings_of({"model": "flat", "alpha": 0.01}, particles=1))
    assert np.bincount(history.leaves[:, 0]).max() > 600


@pytest.mark.parametrize("n_cues", range(1, 10))
def test_twins_agree_whatever_the_number_of_cues(n_cues: int) -> None:
    # Counts are packed four to a word, so the number of cues decides how a leaf is laid out.
    assert_twins_agree(sequence(SEED, n_cues=n_cues), settings_of({"model": "flat"}))


@pytest.mark.parametrize("shown", [False, True])
def test_twins_agree_when_nothing_or_everything_is_shown(shown: bool) -> None:
    matrix = np.random.default_rng(SEED).integers(0, 2, (100, 4))
    observations = observations_from_matrix(matrix, feedback=np.full(100, shown))
    assert_twins_agree(observations, settings_of({"model": "holmes", "depth_scale": 0.5}))


def test_twins_agree_on_a_single_trial() -> None:
    assert_twins_agree(observations_from_matrix([[1, 0, 1]]), settings_of({"model": "holmes"}))


# Calls and batches ---------------------------------------------------------------------------------------------------
def traces(settings: Settings, replicates: int, first: int = 0) -> NDArray[np.float64]:
    return kernel.p_hat_traces(sequence(SEED), settings, KEY, replicates, first)


@pytest.mark.parametrize("branch_counts", ["particle", "shared"])
@pytest.mark.parametrize("model", VARIANTS)
def test_batches_do_not_matter(model: str, branch_counts: str) -> None:
    settings = settings_of({"model": model, "branch_counts": branch_counts, "depth_scale": 0.0, "alpha": 2.0})
    at_once = traces(settings, 8)
    np.testing.assert_array_equal(at_once, traces(settings, 8), err_msg="a second call")
    np.testing.assert_array_equal(at_once, np.vstack([traces(settings, 4), traces(settings, 4, first=4)]))
    np.testing.assert_array_equal(at_once, np.vstack([traces(settings, 1, first=first) for first in range(8)]))
    assert len(np.unique(at_once, axis=0)) == 8


@pytest.mark.parametrize("resampling", ["systematic", "multinomial"])
@pytest.mark.parametrize("replicate", [0, 5])
def test_every_row_is_the_trace_of_its_replicate(replicate: int, resampling: str) -> None:
    settings = settings_of({"model": "holmes", "depth_scale": 0.5, "resampling": resampling})
    alone, _ = plain.trace_with_history(sequence(SEED), settings, KEY, replicate)
    np.testing.assert_allclose(traces(settings, 6)[replicate], alone, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("resampling", ["systematic", "multinomial"])
def test_luck_can_change_from_trial_to_trial(resampling: str) -> None:
    settings = settings_of({"model": "holmes", "depth_scale": 0.5, "resampling": resampling})
    n_trials, changed = sequence(SEED).n_trials, 10
    luck = np.repeat(np.array([[2], [5]]), n_trials, axis=1)
    np.testing.assert_array_equal(
        kernel.traces_of_luck(sequence(SEED), settings, KEY, luck), traces(settings, 6)[[2, 5]]
    )
    luck[0, changed:] = 5
    mixed = kernel.traces_of_luck(sequence(SEED), settings, KEY, luck)[0]
    # The paths of the trial that has new luck differ already; what was before is as it was.
    np.testing.assert_array_equal(mixed[:changed], traces(settings, 6)[2, :changed])
    assert mixed[changed] != traces(settings, 6)[2, changed]
    luck[0, changed + 1 :] = 2
    window = kernel.traces_of_luck(sequence(SEED), settings, KEY, luck)[0]
    assert window[changed] == mixed[changed]
    assert window[changed + 1] != mixed[changed + 1]
