"""One chunk of work: make each task, run one model over it, and score what it did."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.filters.lineage import NO_NODE, assignments, readable_assignments
from holmes_fit.models.filters.settings import History
from holmes_fit.trials.cohorts import encode_cues
from holmes_fit.trials.observations import Observations
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol
from paper import scores
from paper.studies import Chunk, Job, Reading, find_latent_cause, observer_of

RUNS, TRIALS = "runs", "trials"
FINAL = 0.2  # "final 20% of trials"

_protocol = cache(load_protocol)

Row = dict[str, object]
Rows = dict[str, list[Row]]  # one a run (and category level) in RUNS, and one a trial in TRIALS where they are kept


@dataclass(frozen=True)
class Task:
    """One instance of a task: the trials, as a model sees them, and the luck that comes with them."""

    protocol: Protocol
    trials: pd.DataFrame
    observations: Observations
    key: np.uint64


@dataclass(frozen=True)
class Run:
    """What one model did on one task."""

    task: Task
    is_flat: bool
    p_hat: NDArray[np.float64]
    history: History


def make_task(job: str, protocol: str, point: int, seed: int) -> Task:
    """Return the task of one seed at one parameter point. Every model of a job sees the same, with the same draws."""
    loaded = _protocol(protocol)
    name = json.dumps(["replication", job, protocol, point])
    trials = generate_trials(loaded, np.random.default_rng(int(stream_key(seed, f"{name} task"))))
    observations = Observations(
        encode_cues(trials, loaded),
        trials["outcome"].to_numpy(dtype=np.uint8),
        trials["feedback"].to_numpy(dtype=np.bool_),
        loaded.length_normalized,
    )
    return Task(loaded, trials, observations, stream_key(seed, f"{name} draws"))


def run_model(job: Job, protocol: str, model: str, reading: Reading, point: int, seed: int) -> Run:
    """Run one model over one task."""
    task = make_task(job.name, protocol, 0 if job.tasks_shared else point, seed)
    chosen = find_latent_cause(model)
    p_hat, history = chosen.history(task.observations, job.values(model, point), observer_of(job, reading), task.key)
    return Run(task, chosen.is_flat, p_hat, history)


def run_chunk(work: tuple[Job, Chunk]) -> tuple[dict[str, object], dict[str, NDArray[np.generic]]]:
    """Run a chunk of a job and return its tables, as records keep them."""
    job, chunk = work
    values = job.values(chunk.model, chunk.point)
    found: Rows = {}
    for protocol in job.protocols:
        for seed in chunk.seeds:
            run = run_model(job, protocol, chunk.model, chunk.reading, chunk.point, seed)
            known: Row = {"protocol": protocol, "model": chunk.model, "point": chunk.point, "seed": seed, **values}
            assert run.task.protocol.generator is not None
            for name, rows in SCORES[run.task.protocol.generator.kind](run).items():
                found.setdefault(name, []).extend(known | row for row in rows)
    return {name: pd.DataFrame(rows).to_dict("split", index=False) for name, rows in found.items()}, {}


def compositional_scores(run: Run) -> Rows:
    """Score predictions, and the representation of every category level from 2 up.

    The flat model has one partition. HOLMES is read at depth l - 1 for level l, or above it where that cannot be read.
    """
    trials = run.task.trials
    outcome = trials["outcome"].to_numpy()
    predictions: Row = {
        "accuracy": scores.accuracy(run.p_hat, outcome),
        "late_accuracy": scores.late_accuracy(run.p_hat, outcome),
    }
    n_levels = sum(str(name).startswith("level_") for name in trials)
    partition = assignments(run.history) if run.is_flat else None
    rows = []
    for level in range(2, n_levels + 1):
        labels = trials[f"level_{level}"].to_numpy(dtype=np.int64)
        if partition is not None:
            assigned, depth = partition, 0
        else:
            assigned, depth = readable_assignments(run.history, level - 1, scores.anchor_trial(labels))
        rows.append(
            {
                "level": level,
                "depth_read": depth,
                **predictions,
                "entropy": scores.entropy(assigned, labels),
                "normalized_entropy": scores.entropy(assigned, labels, normalized=True),
                "clusters": scores.clusters(assigned),
                **scores.transfer(assigned, labels)._asdict(),
            }
        )
    return {RUNS: rows}


def shape_color_scores(run: Run) -> Rows:
    """Score the first exposures to new colours, the training, and the nodes at which the two shapes part."""
    trials = run.task.trials
    outcome = trials["outcome"].to_numpy()
    training = (trials["phase"] == "training").to_numpy()
    first = (trials["first_exposure"] == 1).to_numpy()
    shapes = trials["shape"].to_numpy()[training]
    separation = np.array([scores.node_separation(a[training], shapes) for a in _level_by_level(run)])
    level = scores.best_level(separation)
    run_row: Row = {
        "accuracy": scores.accuracy(run.p_hat[first], outcome[first]),
        "training_accuracy": scores.accuracy(run.p_hat[training], outcome[training]),
        "separation": scores.shape_separation(run.p_hat[first], outcome[first]),
        "brier": scores.brier(run.p_hat[first], outcome[first]),
        "log_loss": scores.log_loss(run.p_hat[first], outcome[first]),
        "clusters": scores.clusters(assignments(run.history)[training]),
        "best_level": level,
        "node_separation": separation[level] if level >= 0 else np.nan,
    }
    return {RUNS: [run_row], TRIALS: _trials(run, "trial", "outcome", chosen=first)}


def _trials(run: Run, *columns: str, chosen: NDArray[np.bool_] | slice = slice(None)) -> list[Row]:
    table = run.task.trials[list(columns)].assign(p_hat=run.p_hat)[chosen]
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _level_by_level(run: Run) -> list[NDArray[np.int32]]:
    """Return the assignments at every level that any trial reaches."""
    by_level = [assignments(run.history, level) for level in range(int(run.history.level.max()) + 1)]
    return [assigned for assigned in by_level if (assigned != NO_NODE).any()]


def conditioning_scores(run: Run) -> Rows:
    """Score the predictions at the end of each phase, by cue, and count the causes."""
    trials = run.task.trials
    row: Row = {"clusters": scores.clusters(assignments(run.history))}
    for phase, rows in trials.groupby("phase", sort=False):
        last = rows.iloc[-max(1, round(FINAL * len(rows))) :]
        row[f"{phase}_final"] = float(run.p_hat[last.index].mean())
        for cue, name in (("CS+", "plus"), ("CS-", "minus")):
            of_cue = rows[rows["cue"] == cue]
            late = of_cue.iloc[-max(1, round(FINAL * len(of_cue))) :]
            row[f"{phase}_{name}"] = float(run.p_hat[late.index].mean())
    return {RUNS: [row], TRIALS: _trials(run, "trial", "phase", "cue", "outcome")}


SCORES: dict[str, Callable[[Run], Rows]] = {
    "compositional": compositional_scores,
    "shape_color": shape_color_scores,
    "conditioning": conditioning_scores,
}
