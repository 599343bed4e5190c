"""Is the group layer calibrated, and does pooling help? Simulated cohorts of forty people through the whole pipeline.

A group of each model is drawn from the prior of the group model, people from the groups, and choices from the people.
Everyone is fitted at the defaults, and each cohort is pooled: the ranks of the true means and spreads must be uniform.
Some of the people are then mixed: of forty places, those below a frequency go to HOLMES, the others to flat. The 90%
interval of the frequency must hold the true one nine times in ten. And estimates of people, pooled and separate, are
held against the truth.

People of a sequence see the same trials, and take filters of their own from a pool so large that they hardly share any.
Run with ``python -m benchmarks.group_calibration``; ``--only`` does one of the tasks. What is done of a sequence is
kept in reports/pooling/calibration at once; stopped, the same command goes on with what is missing, on any machine. The
tables that are made from it are in reports/pooling.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks.earlier import ROOT
from benchmarks.kept import Kept, Rows, by_cell, judged, rank_tests, write_summaries
from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.groups.pooling.mixture import mix_models
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.models.registry import find_model
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.group_calibration import RANKED, GroupCohort, GroupStudy
from holmes_fit.studies.recovery.group_study import QUANTITIES
from holmes_fit.studies.recovery.shared_traces import FilterPool, SharedTraces, as_lattices, shared_learners

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
MIXTURE_SAMPLING = Sampling(chains=2, tune=300, draws=500)
RESAMPLES = 2000
NOISY = 0.5  # nats of Monte Carlo error of a log evidence
KEPT = ROOT / "reports" / "pooling"
KINDS = ("people", "mixtures", "groups")


def do_sequence(job: tuple[str, int]) -> dict[str, Rows]:
    """Simulate, fit, pool and mix the people of all sets of one sequence of trials."""
    task, sequence = job
    preset = load_preset("default")
    learners = shared_learners(task, SEED + sequence)
    studies = []
    for model in MODELS:
        space = preset.space(find_model(model))
        pool = FilterPool(space, learners, FILTERS)
        studies.append(GroupStudy(SharedTraces(space, learners, pool, preset.likelihood), people_each=PEOPLE))
    found: dict[str, Rows] = {"groups": [], "people": [], "mixtures": []}
    for number in range(SETS[task]):
        who = {"task": task, "sequence": sequence, "set": number}
        for kind, rows in do_set(studies, [SEED, sequence, number], mixed=number < MIXED[task]).items():
            found[kind] += [who | row for row in rows]
    return found


def do_set(studies: Sequence[GroupStudy], seed: Sequence[int], *, mixed: bool) -> dict[str, Rows]:
    """Simulate a cohort of each model, pool both, and mix their people if asked to."""
    found: dict[str, Rows] = {"groups": [], "people": [], "mixtures": []}
    people = []
    for source, study in enumerate(studies):
        rng = np.random.default_rng([*seed, source])
        group = study.draw_group(rng)
        truth, learners = study.people(group, rng)
        people.append(learners)
        fits = [_fit(studies, learners[i], [*seed, source, i], source) for i in range(PEOPLE)]
        cohort = study.pooled(group, truth, fits, rng)
        found["groups"] += group_rows(MODELS[source], _names(study), cohort)
        found["people"] += person_rows(MODELS[source], _names(study), cohort)
    if mixed:

        @cache
        def both(person: int, source: int) -> list[Posterior]:
            return [_fit(studies, people[source][person], [*seed, source, person], i) for i in range(len(studies))]

        found["mixtures"] = mixture_rows(both, np.random.default_rng([*seed, len(studies)]))
    return found


def _fit(studies: Sequence[GroupStudy], person: Any, seed: Sequence[int], model: int) -> Posterior:
    return studies[model].traces.fit(person, np.random.default_rng([*seed, model]))


def _names(study: GroupStudy) -> list[str]:
    return [axis.name for axis in study.traces.space.free]


def group_rows(model: str, parameters: Sequence[str], cohort: GroupCohort) -> Rows:
    """Return a row for each parameter and quantity of a group: the rank of the truth, and how NUTS did."""
    about = {"model": model, "divergences": cohort.divergences, "r_hat": cohort.r_hat, "ess": cohort.ess}
    return [
        about | {"parameter": parameter, "quantity": quantity, "rank": int(rank)}
        for quantity, ranks in zip(QUANTITIES, cohort.rank, strict=True)
        for parameter, rank in zip(parameters, ranks, strict=True)
    ]


def person_rows(model: str, parameters: Sequence[str], cohort: GroupCohort) -> Rows:
    """Return a row for each person and parameter: the truth, and what was found without the group and with it."""
    rows = []
    for person, place in product(range(PEOPLE), range(len(parameters))):
        row = {"model": model, "person": person, "parameter": parameters[place]}
        row |= {name: float(getattr(cohort, name)[person, place]) for name in ("truth", "separate", "pooled")}
        for name in ("separate", "pooled"):
            row[f"{name}_covers"] = bool(abs(getattr(cohort, f"{name}_below")[person, place] - 0.5) <= 0.475)
        rows.append(row | {"evidence_error": float(cohort.evidence_error[person])})
    return rows


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
        names = [f"s{person:02d}" for person in range(PEOPLE)]
        lattices = [as_lattices(model, names, fit) for model, fit in zip(MODELS, zip(*own, strict=True), strict=True)]
        found = mix_models(lattices, sampling=replace(MIXTURE_SAMPLING, seed=int(rng.integers(1 << 31))))
        with_errors, without = found.frequency[:, 0, 1], found.sampled_frequency[:, 0, 1]
        row = {"condition": condition, "frequency": frequency, "n_holmes": int(member.sum())}
        row |= {"mean": float(with_errors.mean())} | _ends("", with_errors) | _ends("_without", without)
        row["right"] = float(np.mean(found.probability.argmax(axis=1) == member))
        row["imputed_effective"] = float(found.effective.min())
        diagnostics = found.diagnostics
        row |= {"divergences": diagnostics.divergences, "r_hat": diagnostics.r_hat}
        rows.append(row | {"ess": min(diagnostics.ess_bulk, diagnostics.ess_tail)})
    return rows


def _ends(which: str, frequency: np.ndarray) -> dict[str, float]:
    lower, upper = np.quantile(frequency, ENDS)
    return {f"lower{which}": float(lower), f"upper{which}": float(upper)}


def rank_table(groups: pd.DataFrame) -> pd.DataFrame:
    """Return tests of the ranks: a row a task, model, quantity and parameter, judged over all of them together."""
    cells = ("task", "model", "quantity", "parameter")
    measure = lambda own: {"cohorts": len(own), **rank_tests(own["rank"].to_numpy(), RANKED)}  # noqa: E731
    return judged(by_cell(groups, cells, measure), ["chi2_p", "ecdf_p"], FAMILY)


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
    low, high = binom.interval(0.99, len(own), 0.90)
    frequency = own["frequency"]
    covered, without = (frequency.between(own[f"lower{which}"], own[f"upper{which}"]) for which in ("", "_without"))
    row = {"mixtures": len(own), "coverage": covered.mean()}
    row |= {"allowed_low": low / len(own), "allowed_high": high / len(own)}
    row |= {"verdict": "passes" if low <= covered.sum() <= high else "fails", "coverage_without_errors": without.mean()}
    row |= {"too_high": (own["lower"] > frequency).mean(), "too_low": (own["upper"] < frequency).mean()}
    row |= {"bias": (own["mean"] - frequency).mean(), "width": (own["upper"] - own["lower"]).mean()}
    return row | {"people_told_right": own["right"].mean()}


def check_table(groups: pd.DataFrame, people: pd.DataFrame, mixtures: pd.DataFrame) -> pd.DataFrame:
    """Return whether NUTS has done its work, and how noisy the likelihoods were: a row a task and model."""
    chains = groups.drop_duplicates(["task", "model", "sequence", "set"])
    chains = pd.concat([chains.assign(of=chains["task"] + ", " + chains["model"]), mixtures.assign(of="mixtures")])
    found = chains.groupby("of")
    table = pd.DataFrame(
        {
            "sampled": found.size(),
            "with_divergences": found["divergences"].agg(lambda own: int((own > 0).sum())),
            "median_r_hat": found["r_hat"].median(),
            "median_ess": found["ess"].median(),
            "lowest_ess": found["ess"].min(),
        }
    )
    errors = people.drop_duplicates(["task", "model", "sequence", "set", "person"])
    for (task, model), own in errors.groupby(["task", "model"])["evidence_error"]:
        table.loc[f"{task}, {model}", ["share_noisy", "median_evidence_error"]] = [(own > NOISY).mean(), own.median()]
    return table.reset_index()


def summaries(kept: Kept) -> dict[str, pd.DataFrame]:
    """Return the tables of what is done so far."""
    people, mixtures, groups = (kept.tables[kind] for kind in KINDS)
    checks = check_table(groups, people, mixtures)
    found = {"sbc_summary": rank_table(groups), "shrinkage": shrinkage_table(people), "checks": checks}
    return found | ({"mixture_coverage": by_cell(mixtures, ["condition"], mixture_measures)} if len(mixtures) else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    kept = Kept(KEPT / "calibration", *KINDS, job=("task", "sequence"), text=["condition"], digits="%.6g")
    kept.do(do_sequence, [(task, sequence) for task in given.only for sequence in range(SEQUENCES)], given.workers)
    write_summaries(KEPT, summaries(kept))


if __name__ == "__main__":
    main()
