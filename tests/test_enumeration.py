"""The filters against the exact sum over every assignment history.

First the oracle itself is held against closed forms and hand computation, then the filter against the oracle, and last
the comparison against plausible mistakes, to show that it would notice them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import exp, gamma, prod
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import beta as beta_function
from scipy.stats import t as student_t

import holmes_fit
from tests.oracle.enumeration import LevelCounts, Path, PathPrior, StickyBy, p_hat_under, with_path

SEED = 20240917
PARTICLES = 40_000
REPLICATES = 16
FALSE_ALARM_RATE = 1e-3  # of the whole file, if filter and oracle agree
ROUNDING = 1e-9  # floor of a standard error: where the filter makes no Monte Carlo error, its replicates only round

STOPS_AND_STICKS = {
    "flat": (False, False),
    "flat_sticky": (False, True),
    "holmes": (True, True),
    "holmes_no_stick": (True, False),
    "holmes_no_stop": (False, True),
    "holmes_structure_only": (False, False),
}

FIVE_TRIALS = "10+ 01- 10- 11+ 10+"
FIVE_TRIALS_ONE_HIDDEN = "10+ 01-? 10+ 11+? 10+"
FOUR_TRIALS = "11+ 11+ 00- 11-"
FOUR_TRIALS_ONE_HIDDEN = "11+ 00-? 11+ 11-"
REVERSAL = "11+ 00- 11+ 00- 11- 00+"
LONG_REVERSAL = "11+ 00- 11+ 00- 11- 00+ 11-"
REVERSAL_OF_ONE_CUE = "1+ 1+ 1+ 1- 1- 1-"


class Observations(NamedTuple):
    cues: list[list[int]]
    outcome: list[int]
    feedback: list[bool]


def observations(trials: str) -> Observations:
    """Trials spelled as cues, then ``+`` or ``-`` for the outcome, then ``?`` if it was hidden: ``10+ 01-? 11+``."""
    shown = [trial.rstrip("?") for trial in trials.split()]
    return Observations(
        cues=[[int(value) for value in trial[:-1]] for trial in shown],
        outcome=[int(trial.endswith("+")) for trial in shown],
        feedback=[not trial.endswith("?") for trial in trials.split()],
    )


@dataclass(frozen=True)
class Case:
    """One model on one short sequence, in terms that oracle and filter both understand."""

    model: str
    trials: str
    levels: int = 3
    alpha: float = 1.0
    omega: float = 0.5
    depth_scale: float = 1.0
    max_branches: int = 20
    sticky_by: StickyBy = "branch"
    length_normalized: bool = False
    resampling: Literal["systematic", "multinomial"] = "systematic"

    @property
    def is_flat(self) -> bool:
        return self.model.startswith("flat")

    def prior(self, rules: type[PathPrior] = PathPrior) -> PathPrior:
        stops, sticky = STOPS_AND_STICKS[self.model]
        return rules(
            levels=1 if self.is_flat else self.levels,
            alpha=self.alpha,
            omega=self.omega,
            max_branches=None if self.is_flat else self.max_branches,
            stops=stops,
            sticky=sticky,
            sticky_by=self.sticky_by,
            depth_scale=self.depth_scale,
        )


def exact(case: Case, rules: type[PathPrior] = PathPrior) -> NDArray[np.float64]:
    return p_hat_under(case.prior(rules), *observations(case.trials), case.length_normalized)


@cache
def filtered(case: Case) -> NDArray[np.float64]:
    """The filter's p-hat, replicates x trials."""
    cues, outcome, feedback = observations(case.trials)
    tree_switches: dict[str, Any] = {
        "max_depth": case.levels,
        "max_branches": case.max_branches,
        "sticky_by": case.sticky_by,
        "depth_scale": case.depth_scale,
    }
    return holmes_fit.trace(
        np.column_stack([np.array(cues), np.array(outcome)]),
        feedback=np.array(feedback),
        model=case.model,
        alpha=case.alpha,
        omega=case.omega,
        particles=PARTICLES,
        replicates=REPLICATES,
        seed=SEED,
        length_normalized=case.length_normalized,
        resampling=case.resampling,
        branch_counts="particle",
        **({} if case.is_flat else tree_switches),
    )


# The oracle against hand computation -------------------------------------------------------------------------------
def tree(**changes: Any) -> PathPrior:
    """A small sticky tree with stopping, alpha 2 and Omega 3, so that no two rules give the same number."""
    values: dict[str, Any] = {"levels": 3, "alpha": 2.0, "omega": 3.0, "max_branches": 20}
    return PathPrior(**(values | {"stops": True, "sticky": True} | changes))


def flat(alpha: float) -> PathPrior:
    return tree(levels=1, alpha=alpha, max_branches=None, stops=False, sticky=False)


def labellings(size: int) -> Iterator[tuple[int, ...]]:
    """Every way of dividing ``size`` things into groups, groups being numbered in order of appearance."""
    if size == 0:
        yield ()
        return
    for labels in labellings(size - 1):
        for label in range(len(set(labels)) + 1):
            yield (*labels, label)


@cache
def partition_probability(labels: tuple[int, ...], alpha: float) -> float:
    """Closed form of the Chinese restaurant process, which knows nothing of the order of arrival."""
    sizes = Counter(labels).values()
    return alpha ** len(sizes) * prod(gamma(size) for size in sizes) * gamma(alpha) / gamma(alpha + len(labels))


def test_next_flat_cause_follows_the_restaurant_process() -> None:
    assert dict(flat(0.7).paths(((3, 1),), ())) == pytest.approx({(0,): 3 / 4.7, (1,): 1 / 4.7, (2,): 0.7 / 4.7})


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
def test_flat_assignments_have_the_closed_form_probability_of_their_partition(alpha: float) -> None:
    prior, total = flat(alpha), 0.0
    for labels in labellings(5):
        probability = 1.0
        counts: tuple[LevelCounts, ...] = ((),)
        for label in labels:
            probability *= dict(prior.paths(counts, ()))[(label,)]
            counts = with_path(counts, (label,))
        assert probability == pytest.approx(partition_probability(labels, alpha))
        total += probability
    assert total == pytest.approx(1.0)


def test_first_path_stops_by_the_concentration_of_the_level_above() -> None:
    first, second = 2.0, 2.0 * exp(-0.5 * 2.0)
    assert dict(tree(depth_scale=0.5).paths(((), (), ()), ())) == pytest.approx(
        {
            (0,): 1 / (1 + first),
            (0, 0): first / (1 + first) * 1 / (1 + second),
            (0, 0, 0): first / (1 + first) * second / (1 + second),
        }
    )


@pytest.mark.parametrize(("sticky_by", "boost_under_another_parent"), [("branch", 4.0), ("node", 1.0)])
def test_boost_compares_branches_or_whole_nodes(sticky_by: StickyBy, boost_under_another_parent: float) -> None:
    prior = tree(levels=2, stops=False, depth_scale=0.0, sticky_by=sticky_by)
    probability = dict(prior.paths(((1,), (1,)), (0, 0)))
    same, other = 4.0 / (4.0 + 2.0), boost_under_another_parent / (boost_under_another_parent + 2.0)
    assert probability == pytest.approx(
        {(0, 0): same * same, (0, 1): same * (1 - same), (1, 0): (1 - same) * other, (1, 1): (1 - same) * (1 - other)}
    )


def test_no_boost_at_a_level_that_the_previous_path_did_not_reach() -> None:
    prior = tree(levels=2, stops=False, depth_scale=0.0)
    probability = dict(prior.paths(((2,), (1,)), (0,)))
    assert probability[(0, 0)] == pytest.approx(8 / (8 + 2) * 1 / (1 + 2))


def test_a_full_level_takes_no_new_branch() -> None:
    prior = tree(levels=1, stops=False, sticky=False, max_branches=2)
    assert dict(prior.paths(((3, 1),), ())) == pytest.approx({(0,): 3 / 4, (1,): 1 / 4})


@pytest.mark.parametrize("model", STOPS_AND_STICKS)
def test_paths_exhaust_the_prior(model: str) -> None:
    prior = Case(model, FOUR_TRIALS, max_branches=3, depth_scale=0.5).prior()
    counts = ((4, 2), (2, 1, 1), (1,))[: prior.levels]
    assert sum(probability for _, probability in prior.paths(counts, (1, 2))) == pytest.approx(1.0)


@pytest.mark.parametrize("levels", [1, 3])
def test_vanishing_alpha_leaves_one_cause_and_its_running_mean(levels: int) -> None:
    omega = 0.4
    prior = tree(levels=levels, alpha=1e-12, omega=omega, stops=levels > 1)
    p_hat = p_hat_under(prior, *observations("10+ 01-? 11- 10+"))
    seen, present = np.array([0, 1, 1, 2]), np.array([0, 1, 1, 1])
    assert p_hat == pytest.approx((omega + present) / (2 * omega + seen))


def test_two_trials_and_two_levels_by_hand() -> None:
    # alpha = Omega = 1 and no decay. A path stops after level 0 with probability 1/2, and an old branch is kept with
    # (1 + 1) / (1 + 1 + 1) = 2/3. The second trial meets the first one's leaf if both stop early (1/2 * 1/2 * 2/3) or
    # both go on (1/2 * 1/2 * 2/3 * 2/3): 5/18 in all. There cue and outcome have probability 2/3, in a new leaf 1/2:
    # (5/18 * 2/3 * 2/3 + 13/18 * 1/2 * 1/2) / (5/18 * 2/3 + 13/18 * 1/2) = 197/354.
    p_hat = p_hat_under(tree(levels=2, alpha=1.0, omega=1.0, depth_scale=0.0), *observations("1+ 1+"))
    assert p_hat == pytest.approx([1 / 2, 197 / 354])


def test_length_normalisation_by_hand() -> None:
    # alpha = Omega = 1, flat, two cues. Second trial: old cause or new one, 1/2 each; a cue or outcome seen before has
    # probability 2/3, in a new cause 1/2, and so has the geometric mean of several:
    #   (1/2 * 2/3 * 2/3 + 1/2 * 1/2 * 1/2) / (1/2 * 2/3 + 1/2 * 1/2) = 25/42.
    # Third trial: one cause so far (weight 1/2 * 2/3) or two (1/2 * 1/2); an old cause is taken with 2/3:
    #   one:  2/3 * 3/4 * 3/4 + 1/3 * 1/2 * 1/2 = 11/24  over  2/3 * 3/4 + 1/3 * 1/2 = 2/3
    #   two:  2/3 * 2/3 * 2/3 + 1/3 * 1/2 * 1/2 = 41/108 over  2/3 * 2/3 + 1/3 * 1/2 = 11/18
    #   (1/3 * 11/24 + 1/4 * 41/108) / (1/3 * 2/3 + 1/4 * 11/18) = 107/162.
    prior = replace(flat(1.0), omega=1.0)
    p_hat = p_hat_under(prior, *observations("11+ 11+ 11+"), length_normalized=True)
    assert p_hat == pytest.approx([1 / 2, 25 / 42, 107 / 162])


def test_hidden_outcomes_have_no_influence() -> None:
    one_way, other_way = Case("holmes", "11+ 00-? 11+ 11-"), Case("holmes", "11+ 00+? 11+ 11-")
    assert np.array_equal(exact(one_way), exact(other_way))


# The oracle against a closed form: without stickiness the order of the trials does not matter -------------------------


Row = tuple[int | None, ...]
"""Cues and outcome of one trial; None is an outcome that was not shown."""


def depth_probabilities(case: Case) -> list[float]:
    """Of a path with 1, 2, ... levels."""
    stops, _ = STOPS_AND_STICKS[case.model]
    if not stops:
        return [0.0] * (case.levels - 1) + [1.0]
    concentrations = [case.alpha * exp(-case.depth_scale * case.alpha * level) for level in range(case.levels - 1)]
    going_on = [prod(a / (1 + a) for a in concentrations[:level]) for level in range(case.levels)]
    return [here - deeper for here, deeper in zip(going_on, [*going_on[1:], 0.0], strict=True)]


@cache
def leaf_evidence(rows: tuple[Row, ...], omega: float) -> float:
    """Marginal likelihood of the trials of one leaf."""
    evidence = 1.0
    for column in zip(*rows, strict=True):
        evidence *= beta_function(omega + column.count(1), omega + column.count(0)) / beta_function(omega, omega)
    return evidence


def closed_form_evidence(case: Case, rows: Sequence[Row]) -> float:
    """Probability of the rows, over every depth of every trial and every partition of the trials that reach a level."""
    probability_of_depth = depth_probabilities(case)
    total = 0.0
    for depths in product(range(1, case.levels + 1), repeat=len(rows)):
        depth_probability = prod(probability_of_depth[depth - 1] for depth in depths)
        if depth_probability == 0.0:
            continue
        reaching = [[i for i, depth in enumerate(depths) if depth > level] for level in range(case.levels)]
        for labels_by_level in product(*(labellings(len(members)) for members in reaching)):
            probability = depth_probability
            rows_at: dict[Path, tuple[Row, ...]] = defaultdict(tuple)
            paths: list[Path] = [()] * len(rows)
            for level, (members, labels) in enumerate(zip(reaching, labels_by_level, strict=True)):
                probability *= partition_probability(labels, case.alpha * exp(-case.depth_scale * case.alpha * level))
                for member, label in zip(members, labels, strict=True):
                    paths[member] = (*paths[member], label)
            for path, row in zip(paths, rows, strict=True):
                rows_at[path] += (row,)
            total += probability * prod(leaf_evidence(members, case.omega) for members in rows_at.values())
    return total


def closed_form_p_hat(case: Case) -> list[float]:
    cues, outcome, feedback = observations(case.trials)
    shown = [value if seen else None for value, seen in zip(outcome, feedback, strict=True)]
    rows: list[Row] = [(*values, value) for values, value in zip(cues, shown, strict=True)]
    return [
        closed_form_evidence(case, [*rows[:t], (*cues[t], 1)])
        / closed_form_evidence(case, [*rows[:t], (*cues[t], None)])
        for t in range(len(rows))
    ]


@pytest.mark.parametrize(
    "case",
    [
        Case("flat", FIVE_TRIALS, levels=1),
        Case("flat", LONG_REVERSAL, levels=1, alpha=0.6, omega=0.3),
        Case("flat", "+ - +? + -", levels=1, alpha=2.0),
        Case("holmes_structure_only", FOUR_TRIALS_ONE_HIDDEN),
        Case("holmes_structure_only", "1+ 1+ 1- 1- 1-", levels=2, depth_scale=0.3, alpha=1.4),
        Case("holmes_no_stick", FOUR_TRIALS),
        Case("holmes_no_stick", FOUR_TRIALS_ONE_HIDDEN, alpha=1.6, omega=0.2, depth_scale=0.5),
        Case("holmes_no_stick", FIVE_TRIALS_ONE_HIDDEN, levels=2),
    ],
    ids=lambda case: f"{case.model}, {case.levels} levels, {case.trials}",
)
def test_order_free_models_have_the_closed_form_predictions(case: Case) -> None:
    assert exact(case) == pytest.approx(closed_form_p_hat(case), rel=1e-10)


# The filter against the oracle -------------------------------------------------------------------------------------
FLAT = Case("flat", FIVE_TRIALS)
HOLMES = Case("holmes", FOUR_TRIALS)
# Deep levels are used most, and so matter most, where the concentration does not decay.
NO_DECAY_REVERSAL = Case("holmes", REVERSAL, levels=2, depth_scale=0.0)
NO_STOP = Case("holmes_no_stop", FOUR_TRIALS, depth_scale=0.0)

CASES = {
    "flat": FLAT,
    "flat, multinomial": replace(FLAT, resampling="multinomial"),
    "flat, length-normalised": replace(FLAT, length_normalized=True),
    "flat, hidden outcomes": replace(FLAT, trials=FIVE_TRIALS_ONE_HIDDEN),
    "flat, hidden outcomes, length-normalised": replace(FLAT, trials=FIVE_TRIALS_ONE_HIDDEN, length_normalized=True),
    "flat, no cues": replace(FLAT, trials="+ - +? + -"),
    "flat, reversal": replace(FLAT, trials=LONG_REVERSAL),
    "flat, reversal, multinomial": replace(FLAT, trials=LONG_REVERSAL, alpha=0.4, resampling="multinomial"),
    "flat, reversal of one cue": replace(FLAT, trials=REVERSAL_OF_ONE_CUE, alpha=2.0, omega=0.2),
    "flat sticky": replace(FLAT, model="flat_sticky", omega=1.5),
    "flat sticky, hidden outcomes": replace(FLAT, model="flat_sticky", trials=FIVE_TRIALS_ONE_HIDDEN),
    "flat sticky, reversal, multinomial": replace(
        FLAT, model="flat_sticky", trials=LONG_REVERSAL, resampling="multinomial"
    ),
    "holmes": HOLMES,
    "holmes, multinomial": replace(HOLMES, resampling="multinomial"),
    "holmes, length-normalised": replace(HOLMES, length_normalized=True),
    "holmes, hidden outcome": replace(HOLMES, trials=FOUR_TRIALS_ONE_HIDDEN),
    "holmes, hidden outcome, length-normalised": replace(
        HOLMES, trials=FOUR_TRIALS_ONE_HIDDEN, length_normalized=True, resampling="multinomial"
    ),
    "holmes, no cues": replace(HOLMES, trials="+ -? + -"),
    "holmes, no cues, length-normalised": replace(HOLMES, trials="+ -? + -", length_normalized=True),
    "holmes, sticky by node": replace(HOLMES, sticky_by="node"),
    "holmes, two branches": replace(HOLMES, max_branches=2, alpha=1.5, omega=0.3),
    "holmes, half the decay": replace(HOLMES, depth_scale=0.5, alpha=1.5, omega=0.3),
    "holmes, large Omega": replace(HOLMES, alpha=2.0, omega=2.0, depth_scale=0.0),
    "holmes, reversal": NO_DECAY_REVERSAL,
    "holmes, reversal, multinomial": replace(NO_DECAY_REVERSAL, depth_scale=1.0, resampling="multinomial"),
    "holmes, reversal, sticky by node": replace(NO_DECAY_REVERSAL, sticky_by="node", alpha=2.0),
    "holmes, reversal, length-normalised": replace(NO_DECAY_REVERSAL, length_normalized=True),
    "holmes, reversal, three levels of two branches": Case("holmes", REVERSAL_OF_ONE_CUE, max_branches=2),
    "holmes, reversal, seven trials": Case("holmes", LONG_REVERSAL, levels=2, max_branches=2, depth_scale=0.5),
    "holmes without stickiness": replace(HOLMES, model="holmes_no_stick"),
    "holmes without stickiness, reversal": replace(NO_DECAY_REVERSAL, model="holmes_no_stick"),
    "holmes without stopping": NO_STOP,
    "holmes without stopping, sticky by node": replace(NO_STOP, sticky_by="node"),
    "holmes without stopping, hidden outcome, multinomial": replace(
        NO_STOP, trials=FOUR_TRIALS_ONE_HIDDEN, resampling="multinomial"
    ),
    "holmes without stopping, reversal": replace(NO_DECAY_REVERSAL, model="holmes_no_stop"),
    "holmes structure only": replace(NO_STOP, model="holmes_structure_only"),
    "holmes structure only, reversal": replace(NO_DECAY_REVERSAL, model="holmes_structure_only"),
}


def standardised_errors(replicates: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of the mean replicate from ``expected`` on every trial, in standard errors of that mean.

    The bias of a particle filter falls with the number of particles, the standard error only with its square root, and
    with that of the replicates. Here the bias is some hundredths of a standard error, and can be left out.
    """
    standard_error = replicates.std(axis=0, ddof=1) / np.sqrt(len(replicates))
    errors: NDArray[np.float64] = np.abs(replicates.mean(axis=0) - expected) / np.maximum(standard_error, ROUNDING)
    return errors


def critical_value() -> float:
    """Bonferroni over every trial of every case; two-sided."""
    comparisons = sum(len(case.trials.split()) for case in CASES.values())
    return float(student_t.isf(FALSE_ALARM_RATE / comparisons / 2, df=REPLICATES - 1))


@pytest.mark.parametrize("name", CASES)
def test_filter_agrees_with_the_sum_over_all_histories(name: str) -> None:
    case = CASES[name]
    replicates, expected = filtered(case), exact(case)
    errors = standardised_errors(replicates, expected)
    assert errors.max() < critical_value(), (
        f"seed {SEED}, {case}: filter {replicates.mean(axis=0)}, exact {expected}, standard errors apart {errors}"
    )


# The comparison against mistakes -----------------------------------------------------------------------------------
class StopsByTheLevelBelow(PathPrior):
    def stop_probability(self, level: int) -> float:
        return super().stop_probability(level) if level in (0, self.levels) else 1 / (1 + self.concentration(level))


class BoostsByTheLevelAbove(PathPrior):
    def is_boosted(self, path: Path, previous: Path) -> bool:
        return 2 <= len(path) <= len(previous) and path[-1] == previous[len(path) - 2]


class KeepsThePathBeyondItsEnd(PathPrior):
    """A shorter path overwrites only the beginning of the one before, and the rest goes on being boosted."""

    def previous_after(self, path: Path, previous: Path) -> Path:
        return path + previous[len(path) :]


class ForgetsParents(PathPrior):
    def leaf(self, path: Path) -> Path:
        return (len(path), path[-1])


class CountsFeedbackTrialsOnly(PathPrior):
    """Branches opened without feedback count once, since a branch needs a number to exist."""

    def counts_after(self, counts: tuple[LevelCounts, ...], path: Path, feedback: bool) -> tuple[LevelCounts, ...]:
        after = with_path(counts, path)
        if feedback:
            return after
        return tuple(new if len(new) > len(old) else old for old, new in zip(counts, after, strict=True))


WRONG_RULES = [
    ("holmes", StopsByTheLevelBelow),
    ("holmes", BoostsByTheLevelAbove),
    ("holmes", ForgetsParents),
    ("holmes, reversal, multinomial", StopsByTheLevelBelow),
    ("holmes, reversal", KeepsThePathBeyondItsEnd),
    ("holmes, reversal", ForgetsParents),
    ("holmes, hidden outcome", CountsFeedbackTrialsOnly),
    ("flat, hidden outcomes", CountsFeedbackTrialsOnly),
]

WRONG_SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("flat sticky", {"model": "flat"}),
    ("flat sticky, reversal, multinomial", {"model": "flat"}),
    ("flat, length-normalised", {"length_normalized": False}),
    ("flat, hidden outcomes", {"trials": FIVE_TRIALS_ONE_HIDDEN.replace("?", "")}),
    ("holmes", {"model": "holmes_no_stick"}),
    ("holmes", {"model": "holmes_no_stop"}),
    ("holmes", {"levels": 2}),
    ("holmes, reversal", {"model": "holmes_no_stick"}),
    ("holmes, length-normalised", {"length_normalized": False}),
    ("holmes, hidden outcome", {"trials": FOUR_TRIALS_ONE_HIDDEN.replace("?", "")}),
    ("holmes, reversal, sticky by node", {"sticky_by": "branch"}),
    ("holmes, two branches", {"max_branches": 3}),
    ("holmes, half the decay", {"depth_scale": 1.0}),
    ("holmes without stopping", {"sticky_by": "node"}),
    ("holmes without stopping, sticky by node", {"sticky_by": "branch"}),
]


def assert_rejected(case: Case, mistaken: NDArray[np.float64]) -> None:
    errors = standardised_errors(filtered(case), mistaken)
    assert errors.max() > critical_value(), f"seed {SEED}, {case}: only {errors.max():.1f} standard errors apart"


@pytest.mark.parametrize(("name", "rules"), WRONG_RULES)
def test_a_wrong_rule_would_be_noticed(name: str, rules: type[PathPrior]) -> None:
    assert_rejected(CASES[name], exact(CASES[name], rules))


@pytest.mark.parametrize(("name", "changes"), WRONG_SETTINGS)
def test_an_ignored_setting_would_be_noticed(name: str, changes: dict[str, Any]) -> None:
    assert_rejected(CASES[name], exact(replace(CASES[name], **changes)))
