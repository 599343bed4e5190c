"""The truth of every case, as well as it can be known: brute force, and tempering over luck where that fails.

A reference counts only if independent parts of it agree: the log-means of four quarters of the filters, or two runs of
tempering, within ``AGREE`` nats from the lowest to the highest. Learners of one person are independent, so their
disagreements add up in squares.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit

from benchmarks.kept import Kept, Rows
from benchmarks.likelihood.cases import KEPT, Case, at_hand
from benchmarks.likelihood.tempering import temper
from holmes_fit.likelihood import compiled
from holmes_fit.likelihood.answers import Response, log_mean
from holmes_fit.models.filters.kernel import traces_of_luck
from holmes_fit.models.registry import Observer
from holmes_fit.models.tracing import learner_key
from holmes_fit.trials.cohorts import MISSED, Learner

BRUTE_SEED, TEMPER_SEED = 101, 202  # of the draws; estimators have others
FILTERS, FIRST, AT_ONCE = 24_000, 6_000, 500
HOPELESS = 3.0  # nats between quarters of the first filters, beyond which no more are run
AGREE = 0.5
CHAINS, LENGTH = 64, 48
QUARTERS = 4
BRUTE, TEMPERED, NONE = "brute force", "tempering", "none"

Person = tuple[Learner, ...]


@dataclass(frozen=True)
class Measured:
    """One learner's log-likelihood: by which way, from parts that lie so far apart."""

    way: str
    value: float
    apart: float
    filters: int
    luck_sd: float
    parts: tuple[float, ...]


def log_likelihoods(p_hat: NDArray[np.float64], choices: NDArray[np.int8], response: Response) -> NDArray[np.float64]:
    """Return the log-likelihood of one learner's choices for every filter."""
    is_answered = choices != MISSED
    sign = np.where(choices[is_answered] == 1, 1.0, -1.0)
    towards = np.ascontiguousarray(sign * logit(p_hat[:, is_answered]))
    return np.log(compiled.probabilities(towards, sign, *response)).sum(axis=1)


def brute_force(case: Case, learner: Learner, filters: int = FILTERS, agree: float = AGREE) -> Measured:
    """Average over very many filters, a few at a time. Stops early where it is hopeless."""
    key, model = learner_key(learner, BRUTE_SEED), case.asked_model
    values = np.empty(0)
    while len(values) < filters and not (len(values) == FIRST and _apart(_quarters(values)) > HOPELESS):
        p_hat = model.p_hat(learner.observations, case.values, Observer(), key, AT_ONCE, len(values))
        values = np.append(values, log_likelihoods(p_hat, learner.choices, case.response))
    quarters = _quarters(values)
    way = BRUTE if _apart(quarters) <= agree else NONE
    return Measured(way, float(log_mean(values)), _apart(quarters), len(values), float(values.std()), tuple(quarters))


def _quarters(values: NDArray[np.float64]) -> list[float]:
    # Every fourth filter, so that a quarter is the same share of any number of filters.
    return [float(log_mean(values[first::QUARTERS])) for first in range(QUARTERS)]


def _apart(parts: list[float]) -> float:
    return max(parts) - min(parts)


def tempered(
    case: Case, learner: Learner, brute: Measured, agree: float = AGREE, length: int = LENGTH, chains: int = CHAINS
) -> Measured:
    """Temper over luck twice."""
    likelihood = luck_likelihood(case, learner)
    runs = [
        temper(likelihood, len(learner.choices), chains, length, np.random.default_rng([TEMPER_SEED, run]))
        for run in range(2)
    ]
    parts = [run.log_likelihood for run in runs]
    way = TEMPERED if _apart(parts) <= agree else NONE
    filters = sum(run.filters for run in runs)
    return Measured(way, float(log_mean(np.array(parts))), _apart(parts), filters, brute.luck_sd, tuple(parts))


def luck_likelihood(case: Case, learner: Learner) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    """Return the function that gives rows of luck their log-likelihoods."""
    settings = case.asked_model.settings(case.values, Observer())
    key = learner_key(learner, TEMPER_SEED)

    def of_block(luck: NDArray[np.int64]) -> NDArray[np.float64]:
        p_hat = traces_of_luck(learner.observations, settings, key, luck)
        return log_likelihoods(p_hat, learner.choices, case.response)

    return lambda luck: np.concatenate([*map(of_block, np.split(luck, range(AT_ONCE, len(luck), AT_ONCE)))])


def reference(job: tuple[str], people: Mapping[str, tuple[Case, Person]], length: int = LENGTH) -> Rows:
    """Return the row of a case: the reference, by which way, and how far its parts are from each other.

    ``length`` is that of the chains, where tempering is needed.
    """
    case, learners = people[job[0]]
    begun = time.process_time()
    agree = AGREE / np.sqrt(len(learners))
    measured = []
    for learner in learners:
        brute = brute_force(case, learner, agree=agree)
        measured.append(brute if brute.way == BRUTE else tempered(case, learner, brute, agree, length))
    apart, luck_sd = (
        float(np.sqrt(sum(getattr(each, name) ** 2 for each in measured))) for name in ("apart", "luck_sd")
    )
    ways = {each.way for each in measured} if apart <= AGREE else {NONE}
    row = {"case": case.name, "way": " and ".join(sorted(ways))}
    row |= {"reference": round(sum(each.value for each in measured), 3), "apart": round(apart, 3)}
    row |= {"filters": sum(each.filters for each in measured), "luck_sd": round(luck_sd, 2)}
    parts = "; ".join(" ".join(f"{part:.2f}" for part in each.parts) for each in measured)
    return [row | {"seconds": round(time.process_time() - begun, 1), "parts": parts}]


def make_references(cases: list[Case], weather: Path | None, folder: Path = KEPT, again: int | None = None) -> None:
    """Make every reference that is missing, short tasks first.

    With ``again``, those that did not come out are tried anew, with chains that are so many times longer.
    """
    kept = Kept(folder, "references", job=["case"], text=["case"])
    people = {case.name: (case, case.learners(weather)) for case in at_hand(cases, weather)}
    if again is not None:
        is_open = (kept.table["way"] == NONE) & kept.table["case"].isin(list(people))
        kept.tables["references"] = kept.table[~is_open]
    trials = {name: sum(len(learner.choices) for learner in learners) for name, (_, learners) in people.items()}
    jobs = [(name,) for name in sorted(people, key=lambda name: trials[name])]
    kept.do(partial(reference, people=people, length=LENGTH * (again or 1)), jobs, workers=1)


def check_tempering(cases: list[Case], weather: Path | None, folder: Path = KEPT, length: int = 24) -> None:
    """Temper cases of one learner that brute force has decided, and set the two beside each other."""
    references = pd.read_csv(folder / "references.csv", dtype={"case": str}).set_index("case")
    people = {case.name: (case, case.learners(weather)) for case in at_hand(cases, weather)}
    check = partial(checked, people=people, references=references, length=length)
    Kept(folder, "tempering", job=["case"], text=["case"]).do(check, [(name,) for name in people], workers=1)


def checked(job: tuple[str], people: Mapping[str, tuple[Case, Person]], references: pd.DataFrame, length: int) -> Rows:
    """Return the row of a case: brute force and tempering."""
    case, [learner] = people[job[0]]
    known = references.loc[case.name]
    brute = Measured(BRUTE, known["reference"], known["apart"], known["filters"], known["luck_sd"], ())
    found = tempered(case, learner, brute, length=length)
    row = {"case": case.name, "brute_force": brute.value, "brute_force_apart": brute.apart}
    row |= {"tempering": round(found.value, 3), "tempering_apart": round(found.apart, 3)}
    return [row | {"filters": found.filters}]
