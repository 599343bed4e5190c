"""Is the group layer calibrated, and does pooling help? Simulated cohorts of forty people through the whole pipeline.

A group of each model is drawn from the prior of the group model, people from the groups, and choices from the people.
Everyone is fitted at the defaults, and each cohort is pooled: the ranks of the true means and spreads must be uniform.
Some of the people are then mixed: of forty places, those below a frequency go to HOLMES, the others to flat. The 90%
interval of the frequency must hold the true one nine times in ten. And estimates of people, pooled and separate, are
held against the truth.

People of a sequence see the same trials, and take filters of their own from a pool so large that they hardly share any.
Run with ``python -m benchmarks.group_calibration [TASK ...]``. Groups of a sequence, then the mixtures of its sets, are
kept in reports/pooling/calibration as soon as they are there; stopped, the same command goes on with what is missing,
on any machine. The tables that are made from it are in reports/pooling.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from benchmarks import ROOT, command
from benchmarks.kept import Kept, Rows, by_cell, judged, write_summaries
from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.mixture import mix_models
from holmes_fit.groups.pooling.pool import Pooled
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.runs.knowledge import Knowledge, Marginal
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.group_study import QUANTITIES, RANKED, GroupStudy, as_lattices, ranks, sampled
from holmes_fit.studies.recovery.shared_traces import shared_by_models, shared_learners
from holmes_fit.studies.statistics import Values, allowed, rank_tests

SEED = 3_141_592
MODELS = ("flat", "holmes")
PEOPLE = 40  # of a cohort
SEQUENCES = 8
SETS = {"compositional_3": 5, "compositional_4": 3}  # a cohort of each model, on each sequence
MIXED = {"compositional_3": 3, "compositional_4": 0}  # of those sets, how many are also mixed
FILTERS = 1024  # at a node; a fit takes 32
FREQUENCIES = (0.2, 0.5, 0.8)  # of HOLMES; a fourth mixture of every set has one that is drawn evenly from 0 to 1
FAMILY = 0.01  # false alarms over all cells together
ENDS = (0.05, 0.95)  # of the interval of a frequency
FOR_PEOPLE = 200  # draws of the group over which a person's posterior is averaged
MIXTURE_SAMPLING = Sampling(chains=2, tune=300, draws=500)
RESAMPLES = 2000
KEPT = ROOT / "reports" / "pooling"


def studies_of(task: str, sequence: int) -> list[GroupStudy]:
    """Return a study of each model on one sequence of trials."""
    shared = shared_by_models(load_preset("default"), MODELS, shared_learners(task, SEED + sequence), FILTERS)
    return [GroupStudy(traces, people_each=PEOPLE) for traces in shared.values()]


def pool_sequence(job: tuple[str, int]) -> dict[str, Rows]:
    """Fit and pool a cohort of each model, for all sets of a sequence.

    Pooling takes no errors of evidences, which are most of the work of a fit.
    """
    task, sequence = job
    studies = studies_of(task, sequence)
    rows: dict[str, Rows] = {"groups": [], "people": []}
    for number, (source, study) in product(range(SETS[task]), enumerate(studies)):
        seed = [SEED, sequence, number]
        group, truth, learners, rng = cohort_of(study, seed, source)
        fits = [fit(study, learners[i], [*seed, source, i, source], with_error=False) for i in range(PEOPLE)]
        found = study.pooled(fits, rng)
        who = {"task": task, "sequence": sequence, "set": number, "model": MODELS[source]}
        rows["groups"] += [who | row for row in group_rows(group, found)]
        rows["people"] += [who | row for row in person_rows(truth, fits, found)]
    return rows


def mix_set(job: tuple[str, int, int]) -> Rows:
    """Mix the people of a set, who are those that were pooled."""
    task, sequence, number = job
    studies, seed = studies_of(task, sequence), [SEED, sequence, number]
    people = [cohort_of(study, seed, source)[2] for source, study in enumerate(studies)]

    @cache
    def both(person: int, source: int) -> list[Posterior]:
        return [fit(study, people[source][person], [*seed, source, person, i]) for i, study in enumerate(studies)]

    who = {"task": task, "sequence": sequence, "set": number}
    return [who | row for row in mixture_rows(both, np.random.default_rng([*seed, len(studies)]))]


def cohort_of(study: GroupStudy, seed: Sequence[int], source: int) -> tuple[Any, Any, Any, np.random.Generator]:
    """Return a group, the truth about its people, and these, with the draws that are still to come."""
    rng = np.random.default_rng([*seed, source])
    group = study.group(rng)
    return group, *study.people(group, rng), rng


def fit(study: GroupStudy, person: Any, seed: Sequence[int], with_error: bool = True) -> Posterior:
    return study.traces.fits(person, np.random.default_rng(seed), with_error=with_error)[0]


def group_rows(group: GroupDraws, found: Pooled) -> Rows:
    """Return a row for each parameter and quantity of a group: the rank of the truth, and how NUTS did."""
    of_quantities = zip(QUANTITIES, ranks(group, found.draws), strict=True)
    return [
        sampled(found) | {"parameter": name, "quantity": quantity, "rank": int(rank)}
        for quantity, own in of_quantities
        for name, rank in zip(found.lattices.names, own, strict=True)
    ]


def person_rows(truth: Values, fits: Sequence[Posterior], found: Pooled) -> Rows:
    """Return a row for each person and parameter: the truth, and what was found without the group and with it."""
    under_group = People(found.lattices, found.draws.thinned(FOR_PEOPLE)).masses()
    pooled = [Knowledge(found.lattices.axes, mass) for mass in under_group]
    rows = []
    for person, place in np.ndindex(truth.shape):
        row = {"person": person, "parameter": found.lattices.names[place], "truth": float(truth[person, place])}
        known = {"separate": fits[person].marginal(place), "pooled": pooled[person].marginal(place)}
        row |= {name: own.moments[0] for name, own in known.items()}
        rows.append(row | {f"{name}_covers": _covers(own, truth[person, place]) for name, own in known.items()})
    return rows


def _covers(known: Marginal, truth: float) -> bool:
    return bool(abs(known.below(truth) - 0.5) <= 0.475)


def mixture_rows(fits: Callable[[int, int], list[Posterior]], rng: np.random.Generator) -> Rows:
    """Mix the people of a set at several frequencies, and find each of them.

    Everyone has a place from 0 to 1, and follows HOLMES where it is below the frequency. So mixtures of a set share
    those people who follow the same model in both.
    """
    place = rng.random(PEOPLE)
    rows = []
    for condition, frequency in [*((f"{each:g}", each) for each in FREQUENCIES), ("drawn", float(rng.random()))]:
        member = (place < frequency).astype(int)
        own = [fits(person, int(source)) for person, source in enumerate(member)]
        lattices = [as_lattices(model, fit) for model, fit in zip(MODELS, zip(*own, strict=True), strict=True)]
        found = mix_models(lattices, sampling=replace(MIXTURE_SAMPLING, seed=int(rng.integers(1 << 31))))
        with_errors, without = found.frequency[:, 1], found.sampled_frequency[:, 1]
        row = {"condition": condition, "frequency": frequency, "n_holmes": int(member.sum())}
        row |= {"mean": float(with_errors.mean())} | _ends("", with_errors) | _ends("_without", without)
        row["right"] = float(np.mean(found.probability.argmax(axis=1) == member))
        rows.append(row | {"imputed_effective": float(found.effective.min()), **sampled(found)})
    return rows


def _ends(which: str, frequency: np.ndarray) -> dict[str, float]:
    lower, upper = np.quantile(frequency, ENDS)
    return {f"lower{which}": float(lower), f"upper{which}": float(upper)}


def rank_measures(own: pd.DataFrame) -> dict[str, float]:
    """Return tests of the ranks of one quantity of a group."""
    return {"cohorts": len(own), **rank_tests(own["rank"].to_numpy(), RANKED)}


def shrinkage_table(people: pd.DataFrame) -> pd.DataFrame:
    """Return errors of pooled and separate estimates, with bootstrap intervals over cohorts: a row a parameter."""
    rng = np.random.default_rng(SEED)

    def measure(own: pd.DataFrame) -> dict[str, float]:
        cohort, ways = [own["sequence"], own["set"]], ("separate", "pooled")
        squared = [((own[name] - own["truth"]) ** 2).groupby(cohort).mean().to_numpy() for name in ways]
        picks = rng.integers(len(squared[1]), size=(RESAMPLES, len(squared[1])))
        separate, pooled = (float(np.sqrt(values.mean())) for values in squared)
        again = [np.sqrt(values[picks].mean(axis=1)) for values in squared]
        lower, upper = np.quantile(again[1] - again[0], [0.025, 0.975])
        row = {"cohorts": len(squared[1]), "people": len(own), "rmse_separate": separate, "rmse_pooled": pooled}
        row |= {"difference": pooled - separate, "difference_lower": lower, "difference_upper": upper}
        return row | {f"coverage_{name}": own[f"{name}_covers"].mean() for name in ways}

    return by_cell(people, ("task", "model", "parameter"), measure)


def mixture_measures(own: pd.DataFrame) -> dict[str, Any]:
    """Return the coverage of the intervals of a frequency, with the 99% interval that chance allows."""
    low, high = allowed(len(own), 0.90)
    frequency = own["frequency"]
    covered, without = (frequency.between(own[f"lower{which}"], own[f"upper{which}"]) for which in ("", "_without"))
    row = {"mixtures": len(own), "coverage": covered.mean()}
    row |= {"allowed_low": low, "allowed_high": high, "verdict": "passes" if low <= covered.mean() <= high else "fails"}
    row |= {"coverage_without_errors": without.mean()}
    row |= {"too_high": (own["lower"] > frequency).mean(), "too_low": (own["upper"] < frequency).mean()}
    row |= {"bias": (own["mean"] - frequency).mean(), "width": (own["upper"] - own["lower"]).mean()}
    return row | {"people_told_right": own["right"].mean()}


def check_table(groups: pd.DataFrame, mixtures: pd.DataFrame) -> pd.DataFrame:
    """Return whether NUTS has done its work: a row a task and model."""
    chains = groups.drop_duplicates(["task", "model", "sequence", "set"])
    chains = pd.concat([chains.assign(of=chains["task"] + ", " + chains["model"]), mixtures.assign(of="mixtures")])
    found = chains.groupby("of")
    measures = {
        "sampled": found.size(),
        "with_divergences": found["divergences"].agg(lambda own: int((own > 0).sum())),
        "median_r_hat": found["r_hat"].median(),
        "median_ess": found["ess"].median(),
        "lowest_ess": found["ess"].min(),
    }
    return pd.DataFrame(measures).reset_index()


def summaries(pooled: Kept, mixed: Kept) -> dict[str, pd.DataFrame]:
    """Return the tables of what is done so far."""
    people, groups, mixtures = pooled.tables["people"], pooled.tables["groups"], mixed.table
    tests = by_cell(groups, ("task", "model", "quantity", "parameter"), rank_measures)
    found = {"sbc_summary": judged(tests, ["chi2_p", "ecdf_p"], FAMILY), "shrinkage": shrinkage_table(people)}
    found["checks"] = check_table(groups, mixtures)
    return found | ({"mixture_coverage": by_cell(mixtures, ["condition"], mixture_measures)} if len(mixtures) else {})


def main(only: Annotated[list[str] | None, typer.Argument()] = None, workers: int | None = None) -> None:
    folder = KEPT / "calibration"
    pooled = Kept(folder, "people", "groups", job=("task", "sequence"), digits="%.6g")
    pooled.do(pool_sequence, list(product(only or SETS, range(SEQUENCES))), workers)
    mixed = Kept(folder, "mixtures", job=("task", "sequence", "set"), text=["condition"], digits="%.6g")
    mixed.do(mix_set, mixtures_of(only or SETS), workers)
    write_summaries(KEPT, summaries(pooled, mixed))


def mixtures_of(tasks: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return the sets that are mixed, one of every sequence after the other."""
    numbers = range(max(MIXED.values()))
    return [(task, sequence, n) for n, task, sequence in product(numbers, tasks, range(SEQUENCES)) if n < MIXED[task]]


if __name__ == "__main__":
    command(main)
