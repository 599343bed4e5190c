"""Does the search find what a dense grid finds? Optimisers and plain random search, side by side.

Each pair of a simulated person and a model is fitted from its lattice by every optimiser, within 200 points of (alpha,
Omega) in all, and by brute force: the best of a 40 x 40 grid, with as many replicates. All winners are then scored on
64 replicates that nobody has seen. A search holds its own if it is no worse than the grid by more than 0.3 nats and two
standard errors of the difference.

Run with ``python -m benchmarks.search runs/search``. Stopped, the same command goes on. The summary is kept in
reports/fitting.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit.fitting.optimum import FINALISTS, GOALS, Effort, Point, find_optima, solve
from holmes_fit.fitting.plan import code_identity
from holmes_fit.lattice import Task, explore, posterior_of
from holmes_fit.lattice.nodes import response_grids
from holmes_fit.lattice.task import SEARCH
from holmes_fit.likelihood import Replicates, Response, likelihood_of
from holmes_fit.models import find_model
from holmes_fit.presets import load_preset
from holmes_fit.runs import open_run
from holmes_fit.search import METHODS
from holmes_fit.simulation import simulate
from holmes_fit.workers import do_all

SEED = 40_000
PAIRS = {"conditioning": 14, "compositional_2": 4, "compositional_3": 2}  # people, each with two models
GRID = 40
PROMISING = 20
JUDGES = Replicates(64, 1 << 19)
TOLERANCE = 0.3
MOST_POINTS = 200


def compare(pair: tuple[str, str, int]) -> list[dict[str, Any]]:
    """Fit one person with one model by every method, and score all winners on fresh draws: a row a method."""
    protocol, model, number = pair
    preset = load_preset("default")
    space = preset.space(find_model(model))
    rng = np.random.default_rng([SEED, number])
    truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
    cohort = simulate(protocol, model, 1, truth, seed=SEED + number).cohort
    task = Task(cohort.learners, space, seed=number)
    replicates = preset.likelihood.replicates
    explored = explore(task, replicates)
    posterior = posterior_of(explored)
    winners = {}
    for method in METHODS:
        effort = Effort(method, preset.search.evaluations, preset.search.starts)
        winners[method] = find_optima(task, posterior, replicates, effort)["ml"].point
    points = int(explored.computed.sum()) + preset.search.evaluations + FINALISTS * len(GOALS)
    best = best_of_grid(task, replicates)
    return [
        {
            "protocol": protocol,
            "model": model,
            "person": number,
            "method": method,
            "points": points,
            **judge(task, point, best),
        }
        for method, point in winners.items()
    ]


def best_of_grid(task: Task, replicates: int) -> Point:
    """Return the best of a dense grid on common draws.

    All response parameters of their own grid are tried at each point, and solved exactly at the most promising ones.
    """
    axes = [np.linspace(axis.low, axis.high, GRID) for axis in task.space.learning]
    draws = Replicates(replicates, SEARCH)
    responses = response_grids(task)
    positions = [np.array(position) for position in product(*axes)]
    values = [task.likelihood(position, draws).on_grid(*responses).sum(axis=0).max() for position in positions]
    promising = [positions[place] for place in np.argsort(values)[-PROMISING:]]
    solved = [solve(task, position, task.likelihood(position, draws), "ml") for position in promising]
    return max(solved, key=lambda point: point.value)


def judge(task: Task, point: Point, best: Point) -> dict[str, float]:
    """Score two points on the same fresh replicates, with the bootstrap error of their difference."""
    values = [log_likelihoods(task, each) for each in (point, best)]
    picks = np.random.default_rng(0).integers(0, JUDGES.number, (500, JUDGES.number))
    differences = [log_mean(values[0][pick]) - log_mean(values[1][pick]) for pick in picks]
    difference = log_mean(values[0]) - log_mean(values[1])
    error = float(np.std(differences))
    return {
        "score": log_mean(values[0]),
        "grid_score": log_mean(values[1]),
        "difference": difference,
        "error": error,
        "holds": difference >= -TOLERANCE - 2 * error,
    }


def log_likelihoods(task: Task, point: Point) -> np.ndarray:
    """Return the log-likelihood of each judging replicate; a person of these protocols is one learner."""
    traces = task.traces(point.learning, JUDGES)
    response: Response = task.response(point.response)
    return np.array([likelihood_of(one).at(response) for one in traces.batches(JUDGES.number)])


def log_mean(values: np.ndarray) -> float:
    return float(np.logaddexp.reduce(values) - np.log(len(values)))


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    by_method = rows.groupby("method", sort=False)
    return pd.DataFrame(
        {
            "pairs": by_method.size(),
            "share_that_holds": by_method["holds"].mean(),
            "median_difference": by_method["difference"].median(),
            "worst_difference": by_method["difference"].min(),
            "median_error": by_method["error"].median(),
            "most_points": by_method["points"].max(),
        }
    ).reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    pairs = [
        (protocol, model, number)
        for protocol, people in PAIRS.items()
        for number in range(people)
        for model in ("flat", "holmes")
    ]
    by_key = {(protocol, model, f"{number:03d}"): (protocol, model, number) for protocol, model, number in pairs}
    preset = load_preset("default").model_dump(mode="json")
    identity = {"preset": preset, "grid": GRID, "seed": SEED, **code_identity()}
    with open_run(out, identity=identity, about={}, keys=list(by_key)) as run:
        missing = list(run.progress().missing)
        with closing(do_all(compare, [by_key[key] for key in missing])) as results:
            for done, (index, rows) in enumerate(results, start=1):
                if not isinstance(rows, list):
                    raise RuntimeError(rows.traceback)
                run.save_record(missing[index], {"rows": rows})
                print(f"{done} of {len(missing)}", flush=True)
        table = pd.DataFrame([row for record in run.records() for row in record.facts["rows"]])
        assert table["points"].max() <= MOST_POINTS
        run.write_table("pairs.csv", table)
        run.write_table("summary.csv", summary(table))
    print(summary(table).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
