"""Does the search find what a dense grid finds? Optimisers and plain random search, side by side.

Each pair of a simulated person and a model is fitted from its lattice by every optimiser, within 200 points of (alpha,
Omega) in all, and by brute force: the best of a 40 x 40 grid, with as many replicates. All winners are then scored on
eight batches of replicates that nobody has seen. A search holds its own if it is no worse than the grid by more than
0.3 nats and two standard errors of the difference.

Run with ``python -m benchmarks.search runs/search``. Stopped, the same command goes on. The summary is kept in
reports/fitting.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import command
from benchmarks.kept import Kept, Rows
from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.posterior import posterior_of
from holmes_fit.fitting.lattice.task import SEARCH, Task
from holmes_fit.fitting.optimum import FINALISTS, GOALS, Point, Solver, find_optima
from holmes_fit.fitting.search import METHODS
from holmes_fit.likelihood.answers import ChoiceLikelihood, likelihood_of
from holmes_fit.likelihood.traces import Replicates
from holmes_fit.models.registry import find_model
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.shared_traces import drawn
from holmes_fit.studies.simulation import simulate

SEED = 40_000
PAIRS = {"conditioning": 14, "compositional_2": 4, "compositional_3": 2}  # people, each with two models
GRID = 40
PROMISING = 20
BATCHES = 8  # of judges
FIRST_JUDGE = 1 << 19
TOLERANCE = 0.3
MOST_POINTS = 200


def compare(pair: tuple[str, str, int]) -> Rows:
    """Fit one person with one model by every method, and score all winners on fresh draws: a row a method."""
    protocol, model, number = pair
    preset = load_preset("default")
    space = preset.space(find_model(model))
    rng = np.random.default_rng([SEED, number])
    cohort = simulate(protocol, model, 1, drawn(space, rng), seed=SEED + number).cohort
    task = Task(cohort.learners, space, seed=number)
    explored = explore(task, preset.likelihood.replicates)
    posterior = posterior_of(explored)
    winners = {}
    for method in METHODS:
        effort = preset.search.model_copy(update={"method": method})
        winners[method] = find_optima(explored, posterior, effort)["ml"].point
    who = {"protocol": protocol, "model": model, "person": number}
    points = len(explored.nodes) + preset.search.evaluations + FINALISTS * len(GOALS)
    best = best_of_grid(explored)
    return [
        {**who, "method": method, "points": points, **judge(explored, point, best)} for method, point in winners.items()
    ]


def best_of_grid(explored: Explored) -> Point:
    """Return the best of a dense grid on common draws.

    All response parameters of their own grid are tried at each point, and solved exactly at the most promising ones.
    """
    task = explored.task
    draws = Replicates(explored.replicates, SEARCH)

    def likelihood(position: np.ndarray) -> ChoiceLikelihood:
        return task.likelihood(position, draws, explored.lent(position))

    axes = [np.linspace(axis.low, axis.high, GRID) for axis in task.space.learning]
    positions = [np.array(position) for position in product(*axes)]
    values = [likelihood(position).on_grid(*explored.response.knots.values).max() for position in positions]
    promising = [positions[place] for place in np.argsort(values)[-PROMISING:]]
    solver = Solver(task)
    solved = [solver.solve(position, likelihood(position), "ml") for position in promising]
    return max(solved, key=lambda point: point.value)


def judge(explored: Explored, point: Point, best: Point) -> dict[str, float]:
    """Score two points on the same fresh replicates, with the error of their difference from disjoint batches."""
    (score, batches), (grid_score, grid_batches) = (log_likelihoods(explored, each) for each in (point, best))
    difference = score - grid_score
    error = float(np.std(batches - grid_batches, ddof=1) / np.sqrt(BATCHES))
    found = {"score": score, "grid_score": grid_score, "difference": difference, "error": error}
    return found | {"holds": difference >= -TOLERANCE - 2 * error}


def log_likelihoods(explored: Explored, point: Point) -> tuple[float, np.ndarray]:
    """Return the log-likelihood by all judging replicates, and by each batch of them."""
    task, lent = explored.task, explored.lent(point.learning)
    traces = task.traces(point.learning, Replicates(BATCHES * explored.replicates, FIRST_JUDGE))
    response = task.response(point.response)
    batches = [likelihood_of(batch, task.kind, lent).at(response) for batch in traces.batches(BATCHES)]
    return likelihood_of(traces, task.kind, lent).at(response), np.array(batches)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how the methods did: a row a method."""
    columns = {
        "pairs": ("person", "size"),
        "share_that_holds": ("holds", "mean"),
        "median_difference": ("difference", "median"),
        "worst_difference": ("difference", "min"),
        "median_error": ("error", "median"),
        "most_points": ("points", "max"),
    }
    return rows.groupby("method", sort=False).agg(**columns).reset_index()


def main(out: Path) -> None:
    people = [(protocol, number) for protocol, people in PAIRS.items() for number in range(people)]
    kept = Kept(out, "pairs", job=("protocol", "model", "person"))
    kept.do(compare, [(protocol, model, number) for protocol, number in people for model in ("flat", "holmes")])
    assert kept.table["points"].max() <= MOST_POINTS
    found = summary(kept.table)
    found.to_csv(out / "summary.csv", index=False)
    print(found.round(3).to_string(index=False))


if __name__ == "__main__":
    command(main)
