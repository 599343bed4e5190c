"""Is the group layer calibrated, and does pooling help? Simulated cohorts through the whole pipeline.

Groups are drawn from the prior of the group model, people from the groups, and choices from the people; everyone is
fitted as usual, and cohorts are pooled as usual. The ranks of the true means and spreads must be uniform. Other cohorts
are mixtures of flat and HOLMES; the 90% interval of the frequency must hold the true one nine times in ten. And
estimates of people, pooled and separate, are held against the truth.

Run with ``python -m benchmarks.group_calibration runs/calibration``. Stopped, the same command goes on. The tables are
kept in reports/pooling.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.stats import binom

from holmes_fit.fitting.plan import code_identity
from holmes_fit.models import Observer, find_model
from holmes_fit.presets import Preset, load_preset
from holmes_fit.recovery.calibration import SBC, sbc_summary
from holmes_fit.recovery.group_calibration import (
    RANKED,
    GroupCohort,
    GroupStudy,
    MixtureCohort,
    MixtureStudy,
    typical_group,
    widest_group,
)
from holmes_fit.recovery.group_study import n_rows, rank_rows, row_traces
from holmes_fit.recovery.shared_traces import POOL, SharedTraces, shared_learners
from holmes_fit.runs import Run, open_run
from holmes_fit.workers import Failure, do_all

SEED = 60_000
PROTOCOL = "compositional_3"
MODELS = ("flat", "holmes")
POOLED_MODEL = "holmes"  # of the cohorts that are pooled: the noisier of the two
FREQUENCIES = (0.2, 0.5, 0.8)  # of HOLMES; a fourth mixture of every set has one that is drawn evenly from 0 to 1
PRIOR, TYPICAL, WIDEST, MIXTURE = "prior", "typical", "widest", "mixture"
KINDS = (PRIOR, TYPICAL, WIDEST, MIXTURE)
RESAMPLES = 2000
NOISY = 0.5  # nats of Monte Carlo error of a log evidence

Found = TypeVar("Found", GroupCohort, MixtureCohort)


def study_preset() -> Preset:
    """Return the default, with every second node of beta. Pooling merges pairs of them anyway."""
    table = load_preset("default").model_dump(exclude_none=True)
    table["parameters"]["beta"]["nodes"] //= 2
    return Preset.model_validate(table)


# ------------------------------------------------------------------------------------------------- the work


def compute_traces(run: Run, workers: int | None) -> None:
    """Filter the trials at all nodes, where that is not done yet: a file for every value of alpha."""
    tasks = [(model, row) for model in MODELS for row in rows_of(model)]
    missing = [task for task in tasks if not run.path(traces_file(*task)).exists()]
    for index, traces in _done(traces_of_row, missing, workers, "traces"):
        with run.writing(traces_file(*missing[index])) as temporary, temporary.open("wb") as file:
            np.save(file, traces)


def rows_of(model: str) -> range:
    return range(n_rows(study_preset().space(find_model(model))))


def traces_file(model: str, row: int) -> str:
    return f"traces_{model}_{row:02d}.npy"


def traces_of_row(task: tuple[str, int]) -> np.ndarray:
    """Return nodes x filters x trials, for all nodes of one value of alpha."""
    model, row = task
    return row_traces((study_preset().space(find_model(model)), shared_learners(PROTOCOL, SEED), Observer(), row))


@cache
def load_traces(folder: Path, model: str) -> SharedTraces:
    """Return the traces of a study."""
    p_hat = np.concatenate([np.load(folder / traces_file(model, row)) for row in rows_of(model)])
    preset = study_preset()
    return SharedTraces(preset.space(find_model(model)), shared_learners(PROTOCOL, SEED), p_hat, preset.likelihood)


@cache
def group_study(folder: Path) -> GroupStudy:
    return GroupStudy(load_traces(folder, POOLED_MODEL))


@cache
def mixture_study(folder: Path) -> MixtureStudy:
    flat, holmes = (load_traces(folder, model) for model in MODELS)
    return MixtureStudy((flat, holmes))


def do_cohort(task: tuple[Path, str, int]) -> list[Any]:
    """Simulate one cohort and pool it, or a set of mixtures of several frequencies."""
    folder, kind, number = task
    # All of it with the first cohort: a process that grows later is taken for one that leaks, and started anew.
    _ = group_study(folder).sampler, mixture_study(folder).sampler
    rng = np.random.default_rng([SEED, KINDS.index(kind), number])
    if kind == MIXTURE:
        return list(mixture_study(folder).cohorts([*FREQUENCIES, float(rng.random())], rng))
    study = group_study(folder)
    axes = study.traces.space.free
    group = study.draw_group(rng) if kind == PRIOR else {TYPICAL: typical_group, WIDEST: widest_group}[kind](axes)
    return [study.cohort(group, rng)]


def _done(
    function: Callable[[Any], Any], tasks: list[Any], workers: int | None, name: str
) -> Iterator[tuple[int, Any]]:
    """Do all tasks, with a line of progress for each."""
    begun = time.monotonic()
    with closing(do_all(function, tasks, workers=workers)) as results:
        for done, (index, result) in enumerate(results, start=1):
            if isinstance(result, Failure):
                raise RuntimeError(f"{result.kind}: {result.message}\n{result.traceback}")
            yield index, result
            minutes = (time.monotonic() - begun) / 60
            left = minutes / done * (len(tasks) - done)
            print(f"{name}: {done} of {len(tasks)}, {minutes:.1f} minutes, about {left:.0f} more", flush=True)


def run_study(run: Run, workers: int | None) -> None:
    """Do every cohort that is missing, of all kinds in turn, so that much can be seen early."""
    compute_traces(run, workers)
    missing = sorted(run.progress().missing, key=lambda key: (key[1], KINDS.index(key[0])))
    tasks = [(run.root, kind, int(number)) for kind, number in missing]
    for index, found in _done(do_cohort, tasks, workers, "cohorts"):
        facts = [{name: value for name, value in _parts(each) if not isinstance(value, np.ndarray)} for each in found]
        arrays = {
            f"{name}_{number}": value
            for number, each in enumerate(found)
            for name, value in _parts(each)
            if isinstance(value, np.ndarray)
        }
        run.save_record(missing[index], {"cohorts": facts}, arrays)


def _parts(found: GroupCohort | MixtureCohort) -> Iterable[tuple[str, Any]]:
    return [(field.name, getattr(found, field.name)) for field in fields(found)]


def cohorts_of(run: Run, kind: str, type_of: type[Found]) -> list[Found]:
    """Return the cohorts of a kind that are done."""
    found = []
    for record in run.records():
        if record.key[0] != kind:
            continue
        cohorts: Any = record.facts["cohorts"]
        for number, facts in enumerate(cohorts):
            arrays: Any = {
                field.name: record.arrays[f"{field.name}_{number}"]
                for field in fields(type_of)
                if field.name not in facts
            }
            found.append(type_of(**facts, **arrays))
    return found


# ------------------------------------------------------------------------------------------------- the tables


def rank_table(cohorts: list[GroupCohort], parameters: list[str]) -> pd.DataFrame:
    """Return a row for every cohort, parameter and quantity."""
    rows = [
        row
        for unit, cohort in enumerate(cohorts)
        for row in rank_rows(POOLED_MODEL, parameters, str(unit), cohort.rank)
    ]
    return pd.DataFrame(rows, columns=list(SBC))


def rank_summary(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return the tests, with the mean rank as a share (.5 if nothing leans) and its standard error under uniformity."""
    summary = sbc_summary(ranks)
    shares = ranks.assign(share=(ranks["rank"] + 0.5) / (RANKED + 1))
    summary["mean_rank"] = summary["parameter"].map(shares.groupby("parameter")["share"].mean())
    summary["mean_rank_error"] = np.sqrt(1 / 12 / summary["n"])
    return summary


def shrinkage_table(population: str, cohorts: list[GroupCohort], parameters: list[str]) -> pd.DataFrame:
    """Return errors of pooled and separate estimates, with bootstrap intervals over cohorts, a row a parameter."""
    rng = np.random.default_rng(SEED)
    picks = rng.integers(len(cohorts), size=(RESAMPLES, len(cohorts)))
    rows = []
    for number, parameter in enumerate(parameters):
        squared = {
            name: np.array([np.mean((getattr(each, name) - each.truth)[:, number] ** 2) for each in cohorts])
            for name in ("separate", "pooled")
        }
        covered = {
            name: np.mean([np.abs(getattr(each, f"{name}_below")[:, number] - 0.5) <= 0.475 for each in cohorts])
            for name in ("separate", "pooled")
        }
        rmse = {name: np.sqrt(values.mean()) for name, values in squared.items()}
        resampled = {name: np.sqrt(values[picks].mean(axis=1)) for name, values in squared.items()}
        lower, upper = np.quantile(resampled["pooled"] - resampled["separate"], [0.025, 0.975])
        rows.append(
            {
                "population": population,
                "parameter": parameter,
                "cohorts": len(cohorts),
                "people": sum(len(each.truth) for each in cohorts),
                "rmse_separate": rmse["separate"],
                "rmse_pooled": rmse["pooled"],
                "difference": rmse["pooled"] - rmse["separate"],
                "difference_lower": lower,
                "difference_upper": upper,
                "coverage_separate": covered["separate"],
                "coverage_pooled": covered["pooled"],
            }
        )
    return pd.DataFrame(rows)


def mixture_table(cohorts: list[MixtureCohort]) -> pd.DataFrame:
    """Return a row for every mixture."""
    columns = [field.name for field in fields(MixtureCohort) if field.name != "evidence_error"]
    table = pd.DataFrame([{name: getattr(each, name) for name in columns} for each in cohorts])
    table.insert(0, "condition", [_condition(each.frequency) for each in cohorts])
    table["noisy_people"] = [float(np.mean((each.evidence_error > NOISY).any(axis=1))) for each in cohorts]
    return table


def _condition(frequency: float) -> str:
    return f"{frequency:g}" if frequency in FREQUENCIES else "drawn"


def mixture_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage of the intervals of each frequency, with the 99% interval that chance allows."""
    rows = []
    for condition, own in table.groupby("condition"):
        low, high = binom.interval(0.99, len(own), 0.90)
        covered = own["frequency"].between(own["lower"], own["upper"])
        rows.append(
            {
                "condition": condition,
                "mixtures": len(own),
                "coverage": covered.mean(),
                "allowed_low": low / len(own),
                "allowed_high": high / len(own),
                "verdict": "passes" if low <= covered.sum() <= high else "fails",
                "coverage_without_errors": own["frequency"].between(own["lower_without"], own["upper_without"]).mean(),
                "too_high": (own["lower"] > own["frequency"]).mean(),
                "too_low": (own["upper"] < own["frequency"]).mean(),
                "bias": (own["mean"] - own["frequency"]).mean(),
                "width": (own["upper"] - own["lower"]).mean(),
                "people_told_right": own["right"].mean(),
            }
        )
    return pd.DataFrame(rows)


def check_table(kinds: dict[str, list[Any]]) -> pd.DataFrame:
    """Return what must be known about the cohorts: noise of the likelihood, and whether NUTS has done its work."""
    rows = []
    for kind, cohorts in kinds.items():
        noise = np.concatenate([each.evidence_error.ravel() for each in cohorts])
        rows.append(
            {
                "cohorts_of": kind,
                "cohorts": len(cohorts),
                "share_noisy": np.mean(noise > NOISY),
                "median_evidence_error": np.median(noise),
                "divergences": sum(each.divergences for each in cohorts),
                "cohorts_with_divergences": sum(each.divergences > 0 for each in cohorts),
                "median_r_hat": np.median([each.r_hat for each in cohorts]),
                "median_ess": np.median([each.ess for each in cohorts]),
                "lowest_ess": min(each.ess for each in cohorts),
            }
        )
    return pd.DataFrame(rows)


def write_tables(run: Run) -> list[pd.DataFrame]:
    """Write all tables of what is done so far, and return the short ones."""
    parameters = [axis.name for axis in study_preset().space(find_model(POOLED_MODEL)).free]
    groups = {kind: cohorts_of(run, kind, GroupCohort) for kind in (PRIOR, TYPICAL, WIDEST)}
    mixtures = cohorts_of(run, MIXTURE, MixtureCohort)
    tables = {}
    if groups[PRIOR]:
        tables["sbc.csv"] = rank_table(groups[PRIOR], parameters)
        tables["sbc_summary.csv"] = rank_summary(tables["sbc.csv"])
    done = {kind: cohorts for kind, cohorts in groups.items() if cohorts}
    if done:
        parts = [shrinkage_table(kind, cohorts, parameters) for kind, cohorts in done.items()]
        tables["shrinkage.csv"] = pd.concat(parts, ignore_index=True)
    if mixtures:
        tables["mixtures.csv"] = mixture_table(mixtures)
        tables["mixture_coverage.csv"] = mixture_summary(tables["mixtures.csv"])
    tables["checks.csv"] = check_table({**done, **({MIXTURE: mixtures} if mixtures else {})})
    for name, table in tables.items():
        run.write_table(name, table)
    return [table for name, table in tables.items() if name not in ("sbc.csv", "mixtures.csv")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cohorts", type=int, default=200, help="from the prior of the group model")
    parser.add_argument("--others", type=int, default=24, help="of a typical group, and of one as wide as the prior")
    parser.add_argument("--mixtures", type=int, default=40, help="sets of mixtures")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--tables", action="store_true", help="only the tables of what is done so far")
    given = parser.parse_args()
    counts = {PRIOR: given.cohorts, TYPICAL: given.others, WIDEST: given.others, MIXTURE: given.mixtures}
    keys = [(kind, f"{number:04d}") for kind, count in counts.items() for number in range(count)]
    identity = {
        "protocol": PROTOCOL,
        "seed": SEED,
        "filters": POOL,
        "preset": study_preset().model_dump(mode="json"),
        **code_identity(),
    }
    with open_run(given.out, identity=identity, about={}, keys=keys) as run:
        if not given.tables:
            run_study(run, given.workers)
        tables = write_tables(run)
    for table in tables:
        print(table.round(3).to_string(index=False), end="\n\n")


if __name__ == "__main__":
    # Workers look functions up by module, and cannot find those that keep a cache in one that is called __main__.
    from benchmarks import group_calibration

    group_calibration.main()
