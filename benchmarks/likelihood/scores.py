"""Estimators against references: several sets of filters for every case, kept so that scoring is quick."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.likelihood.cases import KEPT, LEARNING, Case, at_hand
from benchmarks.likelihood.estimators import ESTIMATORS, OFFSETS, Estimate
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import Observer
from holmes_fit.settings.preset import load_preset

SETS, FILTERS = 6, 64
SEED = 303  # of the draws; references have others
A_POINT = 1 << 12  # numbers of the replicates of a point
KEY = ["case", "estimator", "filters"]
CACHE = Path("runs") / "likelihood"
NONE = "none"  # the way to a reference that did not come out


def points_around(case: Case) -> list[dict[str, float]]:
    """Return the point that is asked, and those that would be its neighbours on a lattice: two of its spacings away."""
    axes = {axis.name: axis for axis in load_preset("default").space(case.asked_model).learning}
    return [
        case.values | {name: case.values[name] * float(np.exp(2 * step * axes[name].spacing)) for name, step in moved}
        for moved in (zip(LEARNING, offset, strict=True) for offset in OFFSETS)
    ]


def sets_of_traces(case: Case, weather: Path | None, filters: int = FILTERS, cache: Path = CACHE) -> list[Traces]:
    """Return at most ``SETS`` sets of so many filters for one case, from the cache if they are there.

    For every learner: points x filters x trials.
    """
    path = cache / f"{case.name}.npz"
    if not path.exists():
        learners = case.learners(weather)
        cache.mkdir(parents=True, exist_ok=True)
        at_points = [
            traces_of(
                case.asked_model, learners, values, Observer(), SEED, Replicates(SETS * FILTERS, A_POINT * number)
            )
            for number, values in enumerate(points_around(case))
        ]
        arrays = {f"p_hat_{i}": np.stack([each.p_hat[i] for each in at_points]) for i in range(len(learners))}
        np.savez(path, **arrays, **{f"choices_{i}": each.choices for i, each in enumerate(learners)})
    with np.load(path) as kept:
        count = len(kept.files) // 2
        p_hat, choices = ([kept[f"{name}_{i}"] for i in range(count)] for name in ("p_hat", "choices"))
    parts = range(0, min(SETS * filters, SETS * FILTERS), filters)
    return [Traces(tuple(each[:, first : first + filters] for each in p_hat), tuple(choices)) for first in parts]


def score_case(case: Case, sets: list[Traces], name: str, estimate: Estimate) -> dict[str, object]:
    """Return the estimates of one estimator for one case: mean and SD over sets, and seconds for one set."""
    begun = time.process_time()
    values = [estimate(each.p_hat, each.choices, case.response) for each in sets]
    seconds = (time.process_time() - begun) / len(sets)
    about = {"case": case.name, "estimator": name, "filters": sets[0].p_hat[0].shape[1]}
    found = {"mean": np.mean(values), "sd": np.std(values, ddof=1), "seconds": seconds}
    return about | found | {"estimates": " ".join(f"{value:.2f}" for value in values)}


def score(
    cases: list[Case], weather: Path | None, names: list[str] | None = None, filters: int = FILTERS, keep: Path = KEPT
) -> pd.DataFrame:
    """Score estimators on all cases, beside what was scored before, and keep the tables."""
    chosen = {name: ESTIMATORS[name] for name in names or ESTIMATORS}
    rows = []
    for case in at_hand(cases, weather):
        sets = sets_of_traces(case, weather, filters)
        if not rows:
            _warm_up(case, sets, chosen)
        rows += [score_case(case, sets, name, estimate) for name, estimate in chosen.items()]
    table = _with_earlier(pd.DataFrame(rows), keep / "scores.csv")
    table.round({"mean": 3, "sd": 3, "seconds": 5}).to_csv(keep / "scores.csv", index=False)
    return table


def _warm_up(case: Case, sets: list[Traces], chosen: dict[str, Estimate]) -> None:
    """Compile before anything is timed."""
    for estimate in chosen.values():
        estimate(sets[0].p_hat, sets[0].choices, case.response)


def _with_earlier(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Keep rows of earlier scores that were not made again, in the order of the registry."""
    if path.exists():
        earlier = pd.read_csv(path, dtype={"case": str})
        again = table.set_index(KEY).index
        table = pd.concat([earlier[~earlier.set_index(KEY).index.isin(again)], table])
    order = {name: place for place, name in enumerate(ESTIMATORS)}
    table = table[table["estimator"].isin(order)]
    return table.sort_values(
        ["case", "filters", "estimator"],
        key=lambda column: column.map(order) if column.name == "estimator" else column,
        ignore_index=True,
    )


def errors_of(table: pd.DataFrame, references: pd.DataFrame) -> pd.DataFrame:
    """Return the error of every single estimate of the cases that have a reference."""
    known = references[references["way"] != NONE][["case", "reference", "luck_sd"]]
    rows = table.merge(known, on="case")
    rows["estimate"] = rows["estimates"].str.split(" ")
    rows = rows.explode("estimate")
    return rows.assign(error=rows["estimate"].astype(float) - rows["reference"])


def summary(errors: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return bias, RMS error, spread over sets and the largest error, by estimator and whatever else is named."""
    grouped = errors.groupby([*by, "filters", "estimator"], sort=False)
    rows = grouped.agg(
        cases=("case", "nunique"),
        bias=("error", "mean"),
        rms=("error", _rms),
        median=("error", lambda error: error.abs().median()),
        largest=("error", lambda error: error.abs().max()),
        sd_over_sets=("sd", _rms),
        seconds=("seconds", "mean"),
    )
    return rows.reset_index()


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
