"""Groups of people in several conditions: the density, people under it, and contrasts that are paired within people."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import binom, norm

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit.groups.comparison.by_condition import _scope
from holmes_fit.groups.pooling.mixture import EvidenceErrors
from holmes_fit.groups.pooling.paired import ConditionLattices, Group, PairedDensity, Quadrature
from holmes_fit.groups.pooling.paired_people import PairedPeople
from holmes_fit.groups.pooling.paired_pool import PooledConditions, pool_conditions
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.results import pool
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.knowledge import JointKnowledge
from holmes_fit.studies.simulation import Simulation
from holmes_fit.trials.protocols.schema import Protocol
from tests.small_fits import small_preset
from tests.test_conditions import CONDITIONS, fitted
from tests.toy_lattices import gaussian_lattices, log_axis

SEED = 32
AXES = (log_axis("alpha", 6), log_axis("omega", 5), log_axis("beta", 4))
PEOPLE = 3


def some_lattices(varied: tuple[int, ...], conditions: int = 2) -> ConditionLattices:
    rng = np.random.default_rng(SEED)
    parts = [gaussian_lattices(rng.normal(0, 1.5, (PEOPLE, 3)), np.eye(3), AXES) for _ in range(conditions)]
    return ConditionLattices("phase", ("a", "b", "c")[:conditions], varied, tuple(parts))


def weights(axis: int, mean: float, spread: float) -> np.ndarray:
    return softmax(-0.5 * ((AXES[axis].positions - mean) / spread) ** 2)


@pytest.mark.parametrize(("varied", "conditions"), [((), 2), ((0,), 2), ((2,), 3), ((0, 1), 2)])
def test_the_density_is_the_sum_over_people_effects_and_lattices(varied: tuple[int, ...], conditions: int) -> None:
    lattices = some_lattices(varied, conditions)
    density = PairedDensity(lattices, GroupPrior())
    point = density.middle + np.random.default_rng(SEED).normal(0, 0.4, len(density.middle))
    group = density.group(point)
    assert np.allclose(group.spread[list(varied)] ** 2, group.person**2 + group.rest**2)

    places = np.linspace(-6, 6, 49)  # dense, and none of the density's own
    effects = norm.pdf(places) / norm.pdf(places).sum()
    likelihood = 0.0
    for person in range(PEOPLE):
        total = 0.0
        for chosen in product(range(len(places)), repeat=len(varied)):
            own = np.prod(effects[list(chosen)])
            shared = np.array(1.0)
            for c, part in enumerate(lattices.parts):
                table = np.exp(part.log_likelihood[person])
                for axis in reversed(varied):
                    at = group.mean[axis, c] + group.person[varied.index(axis)] * places[chosen[varied.index(axis)]]
                    table = np.tensordot(weights(axis, at, group.rest[varied.index(axis)]), table, ([0], [axis]))
                shared = shared * table
            for axis in reversed(lattices.shared):
                shared = shared @ weights(axis, group.mean[axis, 0], group.spread[axis])
            total += own * float(shared)
        likelihood += np.log(total)
    assert density._likelihood(group)[0] == pytest.approx(likelihood, abs=0.02)  # of the quadrature's few nodes

    value, slopes = density(point)
    steps = 1e-2 * np.eye(len(point))  # wide, as sums are in single precision
    numbers = [(density(point + step)[0] - density(point - step)[0]) / 2e-2 for step in steps]
    np.testing.assert_allclose(slopes, numbers, atol=2e-3)
    assert np.isfinite(value)


def test_the_prior_of_a_contrast_is_that_of_an_effect() -> None:
    density = PairedDensity(some_lattices((0,), 3), GroupPrior(effect_sd=0.7))
    drawn = density._contrasts @ (np.random.default_rng(SEED).normal(size=(2, 50_000)) * density._contrast_sd[0])
    wanted = density.scaled.effect_sd[0]
    for above, below in ((0, 1), (0, 2), (1, 2)):
        assert np.std(drawn[above] - drawn[below]) == pytest.approx(wanted, rel=0.02)
    np.testing.assert_allclose(drawn.sum(axis=0), 0, atol=1e-9)


def test_without_person_effects_people_are_known_as_one_by_one() -> None:
    """A group of which the lattice's own prior is a normal density: then it is the posterior under that prior."""
    lattices = some_lattices((0,))
    n = 400
    flat = Group(np.zeros((n, 3, 2)), np.ones((n, 3)), np.zeros((n, 1)), np.ones((n, 1)))
    people = PairedPeople.of(lattices, flat, Quadrature.of(1, 7), np.random.default_rng(SEED))
    person = 1
    alone = JointKnowledge.of(AXES, (0,), [part.log_likelihood[person] for part in lattices.parts])
    for c, known in enumerate(people.known(person)):
        np.testing.assert_allclose(known.mass, alone.condition(c).mass, atol=1e-9)
    drawn = np.log(people.draw(person, np.random.default_rng(SEED)))
    for column, (axis, c) in enumerate([(0, 0), (0, 1), (1, 0), (2, 0)]):
        mean, sd = alone.condition(c).marginal(axis).moments
        assert drawn[:, column].mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(n))


ONE_AXIS = (log_axis("alpha", 24, 4.0),)
SHORT = Sampling(chains=2, tune=250, draws=250, cores=1)


def a_group(mean: np.ndarray, person: float, rest: float, rng: np.random.Generator, n: int = 12) -> list[np.ndarray]:
    """Measure people of a group in each condition, with an error of .5."""
    effect = rng.normal(0, person, n)
    return [each + effect + rng.normal(0, np.hypot(rest, 0.5), n) for each in mean]


def pooled(measured: list[np.ndarray]) -> PooledConditions:
    parts = tuple(gaussian_lattices(own[:, None], np.eye(1) * 0.25, ONE_AXIS) for own in measured)
    return pool_conditions(ConditionLattices("phase", ("a", "b"), (0,), parts), sampling=SHORT)


def effect(found: PooledConditions) -> pd.Series:
    return found.group.query("quantity == 'effect'").iloc[0]


def test_pairing_makes_a_contrast_more_certain() -> None:
    """People who differ much, but alike in both conditions; against the same people, their partners exchanged."""
    rng = np.random.default_rng(SEED)
    first, second = a_group(np.array([0.0, 0.6]), 1.2, 0.2, rng)
    own, strangers = pooled([first, second]), pooled([first, np.roll(second, 5)])
    difference = np.diff([first.mean(), second.mean()])[0]
    assert effect(own)["mean"] == pytest.approx(difference, abs=0.1)
    assert effect(own)["sd"] < 0.7 * effect(strangers)["sd"]
    assert effect(own)["sd"] == pytest.approx(np.hypot(0.2, 0.5) * np.sqrt(2 / 12), rel=0.35)  # of differences alone
    correlation = [found.group.query("quantity == 'correlation'")["median"].item() for found in (own, strangers)]
    assert correlation[0] > 0.7 > correlation[1]


@pytest.mark.slow  # forty groups, each sampled
def test_intervals_of_contrasts_hold_the_truth() -> None:
    """Groups that are drawn from the prior of the group model: then coverage is exact but for chance."""
    rng = np.random.default_rng(SEED)
    density = PairedDensity(
        ConditionLattices("phase", ("a", "b"), (0,), (gaussian_lattices(np.zeros((3, 1)), np.eye(1), ONE_AXIS),) * 2),
        GroupPrior(),
    )
    prior, inside, n = density.scaled, 0, 40
    for _ in range(n):
        contrast = rng.normal(0, prior.effect_sd[0])
        mean = rng.normal(prior.mean[0], prior.mean_sd[0]) + np.array([-0.5, 0.5]) * contrast
        excess, share = np.exp(rng.normal(prior.log_excess[0], prior.log_excess_sd[0])), rng.random()
        rest = np.sqrt(prior.least_spread[0] ** 2 + (1 - share) * excess**2)
        found = effect(pooled(a_group(mean, np.sqrt(share) * excess, rest, rng)))
        inside += found["lower"] < contrast < found["upper"]
    assert binom.cdf(inside, n, 0.95) > 0.001


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paired")
    return fitted(small_preset(folder), folder / "run").folder


def test_a_run_is_pooled_with_people_as_the_unit(run: Path) -> None:
    found = pool(run, sampling=SHORT, progress=False)
    table = read_run(run).read_table("group.csv").query("parameter == 'learning_rate'")
    effects = table.query("quantity == 'effect'")
    assert effects["name"].tolist() == ["condition: placebo - drug"]
    assert effects["upper"].item() < 0  # they learn with the drug alone
    medians = table.query("quantity == 'median'").set_index("condition")["median"]
    assert medians.index.tolist() == list(CONDITIONS)
    people = read_run(run).read_table("pooled.csv").query("model == 'rescorla_wagner' and subject == 's0'")
    assert people["condition"].tolist() == [*CONDITIONS, "", ""]
    assert found["bias"].group["condition"].unique().tolist() == [""]
    again = pool(run, sampling=SHORT, progress=False)
    assert not any(each.is_new for each in again.values())
    pd.testing.assert_frame_equal(again["rescorla_wagner"].people, found["rescorla_wagner"].people)


@pytest.fixture(scope="module")
def simulated() -> Simulation:
    values = {
        "learning_rate": "lognormal:0.05,0.5",
        "drug.learning_rate": "lognormal:0.5,0.5",
        "beta": "lognormal:4,0.3",
    }
    protocol = Protocol.model_validate(
        {
            "name": "sessions",
            "columns": {"restart": ["condition"]},
            "features": {"cue": {"levels": ["CS+", "CS-"]}},
            "generator": {"kind": "conditioning", "cues": ["CS+", "CS-"], "trials": 60, "reinforcement": 0.9},
        }
    )
    return hf.simulate(protocol, "rescorla_wagner", 6, values, seed=SEED, conditions=("placebo", "drug"))


def test_people_are_simulated_in_conditions(simulated: Simulation) -> None:
    truth = simulated.truth.pivot(index="subject", columns="condition", values=["learning_rate", "beta"])
    np.testing.assert_allclose(truth["learning_rate", "drug"], 10 * truth["learning_rate", "placebo"])
    assert (truth["beta", "drug"] == truth["beta", "placebo"]).all()
    assert truth["beta", "drug"].nunique() == 6
    by_learner = simulated.cohort.trials.groupby(["subject", "condition"])
    assert (by_learner["trial"].max() == 60).all()
    cues = by_learner["cue"].agg(list).unstack()
    assert (cues["drug"].map(str) != cues["placebo"].map(str)).all()  # trials of their own


def test_a_known_contrast_is_found(simulated: Simulation, tmp_path: Path) -> None:
    """The whole way: people whose learning rates differ tenfold are fitted, pooled and told apart."""
    how = {"by": "condition", "vary": ["learning_rate"], "workers": 1, "progress": False}
    run = hf.fit(simulated.cohort, ["rescorla_wagner"], preset=small_preset(tmp_path), **how)
    row = effect(pool(run, sampling=SHORT, progress=False)["rescorla_wagner"])
    assert row["name"] == "condition: placebo - drug"
    assert row["lower"] < -np.log(10) < row["upper"] < 0
    with pytest.raises(InputError, match="argument from_run: saw a run whose parameters differ by condition; allowed"):
        hf.recover(from_run=run)


def test_formulas_are_refused(run: Path) -> None:
    with pytest.raises(InputError, match=r"argument formulas: .*; allowed: none, as parameters differ by condition"):
        hf.pool(run, formulas=["beta ~ group"], progress=False)


def test_models_are_compared_in_each_condition(run: Path) -> None:
    """Only with the drug do people learn: there Rescorla-Wagner has the evidence, in the other they are level."""
    found = hf.compare(run, progress=False)
    evidence = found.models.pivot(index="condition", columns="model", values="log_evidence")
    assert evidence.index.tolist() == ["", *CONDITIONS]
    parts = read_run(run).read_table("conditions.csv").groupby(["condition", "model"])["log_evidence"].sum()
    assert evidence.loc["drug", "bias"] == pytest.approx(parts["drug", "bias"])
    whole = read_run(run).read_table("models.csv").groupby("model")["log_evidence"].sum()
    assert evidence.loc[""].to_dict() == pytest.approx(whole.to_dict())
    frequency = found.models.pivot(index="condition", columns="model", values="frequency")["rescorla_wagner"]
    assert frequency["drug"] > frequency["placebo"]
    differences = found.differences.query("model == 'rescorla_wagner'")
    assert differences[["above", "below"]].to_numpy().tolist() == [["placebo", "drug"]]
    assert differences["mean"].item() == pytest.approx(frequency["placebo"] - frequency["drug"])
    probability = found.people.groupby(["subject", "condition"])["probability"].sum()
    np.testing.assert_allclose(probability, 1)
    with pytest.raises(InputError, match="argument by: saw 'group'; allowed: nothing, as parameters differ by"):
        hf.compare(run, by="group", progress=False)


def test_errors_of_evidences_make_frequencies_less_certain() -> None:
    evidence, none = np.tile([3.0, 0.0], (8, 1)), np.zeros((8, 2))
    exact, noisy = (
        _scope(evidence, EvidenceErrors(sd * np.ones((8, 2)), none), [0, 0]).found.frequency[:, 0] for sd in (0.0, 4.0)
    )
    assert noisy.mean() < exact.mean() - 0.1
    assert noisy.std() > exact.std()
