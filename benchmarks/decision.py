"""Which likelihood? People of whom everything is known are fitted with several, on the same filters.

The plan, with the rule that decides, is in reports/fitting/decision; it was written before anything was run. Three ways
of making a likelihood from filters:

``batches``  that of revision 1be3e29: a plain mean, batches of filters that count alike, a kernel over nodes
``halves``   that of the package: half plain, half over a density of traces, lent between nodes
``stacked``  the same with weights that are learned from answers of filters that were held out

``python -m benchmarks.decision run runs/decision``, which goes on where it was stopped; ``... judge`` applies the rule
to what there is, and keeps the tables.
"""

import importlib
import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from benchmarks import command
from benchmarks.earlier import NAME, ROOT, lay_out, make_importable
from benchmarks.kept import Kept, Rows, by_cell, write_summaries
from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.task import log_prior_mass
from holmes_fit.likelihood import laplace
from holmes_fit.likelihood.answers import halves
from holmes_fit.likelihood.density import density_of, deviations_of, log_odds_of
from holmes_fit.runs.knowledge import Knowledge, Marginal
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.shared_traces import SharedTask, SharedTraces, drawn, shared_by_models, shared_learners
from holmes_fit.trials.cohorts import Learner

EARLIER = "1be3e29"
SEED = 6_180_339
MODELS = ("flat", "holmes")
TASKS = {"compositional_4": 2, "compositional_3": 2, "weather_prediction": 2, "shepard": 1}  # people of each truth
SEQUENCES = 16
FILTERS, OF_PACKAGE = 64, 32  # at every node: all, and those that the package's own ways take
FOLDS, HELD_OUT_NODES = 4, 12
KEPT = ROOT / "reports" / "fitting" / "decision"
ARMS = ("batches", "halves", "stacked")
TODAY = "batches"
LOG_SCORES = ["alpha", "omega", "beta", "lapse", "model"]

Array = NDArray[np.float64]


def fit_batches(shared: SharedTraces, learners: tuple[Learner, ...], model: str) -> dict[str, tuple[Array, float]]:
    """Fit as the earlier revision did: more filters where the likelihood is noisy, up to all of them."""
    lattice, likelihood, presets, models = (
        importlib.import_module(f"{NAME}.{name}") for name in ("lattice", "likelihood", "presets", "models")
    )

    @dataclass(frozen=True)
    class EarlierTask(lattice.Task):  # type: ignore[misc, name-defined]
        def traces(self, position: Array, replicates: Any) -> Any:
            return likelihood.Traces(shared.taken(replicates), tuple(learner.choices for learner in self.learners))

    preset = presets.load_preset("default")
    task = EarlierTask(learners, preset.space(models.MODELS[model]))
    replicates = preset.likelihood.replicates
    explored = lattice.explore(task, replicates)
    posterior = lattice.posterior_of(explored)
    if _batch_sd(shared, task, posterior, likelihood, replicates) > preset.likelihood.largest_batch_sd:
        lattice.raise_replicates(explored, FILTERS)
        posterior = lattice.posterior_of(explored)
    return {TODAY: (posterior.mass, posterior.log_evidence)}


def _batch_sd(shared: SharedTraces, task: Any, posterior: Any, likelihood: Any, replicates: int) -> float:
    """Return the SD of the log-likelihood over batches of the filters at the most probable node."""
    best = np.unravel_index(int(np.argmax(posterior.mass)), posterior.mass.shape)
    n_learning = len(task.space.learning)
    node = int(np.ravel_multi_index(best[:n_learning], [axis.nodes for axis in task.space.learning]))
    at = np.array([axis.positions[i] for axis, i in zip(task.space.response, best[n_learning:], strict=True)])
    traces = likelihood.Traces(shared.at(node), tuple(learner.choices for learner in task.learners))
    batches = traces.batches(FILTERS // replicates)
    return float(np.std([likelihood.likelihood_of(batch).at(task.response(at)) for batch in batches], ddof=1))


def fit_package(
    shared: SharedTraces, learners: tuple[Learner, ...], rng: np.random.Generator
) -> dict[str, tuple[Array, float]]:
    """Fit as the package does, and once more with learned weights."""
    task = SharedTask(learners, shared.space, shared=shared)
    explored = explore(task, OF_PACKAGE)
    log_prior = log_prior_mass(shared.space)
    parts = list(explored.both_halves())
    share = learned_share(explored, shared, rng)
    mixed = {
        "halves": [halves(plain, smooth) for plain, smooth in parts],
        "stacked": [np.logaddexp(np.log1p(-share) + plain, np.log(share) + smooth) for plain, smooth in parts],
    }
    found = {}
    for arm, of_learners in mixed.items():
        log_joint = explored.on_lattice(np.sum(of_learners, axis=0)) + log_prior
        evidence = float(logsumexp(log_joint))
        found[arm] = (np.exp(log_joint - evidence), evidence)
    return found


def learned_share(explored: Explored, shared: SharedTraces, rng: np.random.Generator) -> float:
    """Return the share of the density of traces that foresees best what filters would answer that were held out."""
    scores, axes = [], {axis.name: axis for axis in shared.space.response}
    for place in rng.choice(len(explored.nodes), HELD_OUT_NODES, replace=False):
        own = explored._lending[place]
        flat = [int(np.ravel_multi_index(explored.nodes[i], explored.learning_shape)) for i in own.lenders]
        at_nodes = [[log_odds_of(each[:OF_PACKAGE]) for each in shared.at(node)] for node in flat]
        itself = int(np.flatnonzero(own.lenders == place)[0])
        beta, lapse = (float(axes[name].draw(rng, 1)[0]) for name in ("beta", "lapse"))
        for learner in range(len(shared.learners)):
            scores += held_out(
                [each[learner] for each in at_nodes], itself, own.kernel, own.plane, (beta, lapse, 0.0), rng
            )
    return float(np.clip(em_share(np.array(scores)), 1e-6, 1 - 1e-6))


def held_out(
    log_odds: list[Array], itself: int, kernel: Array, plane: Array, response: tuple[float, float, float], rng: Any
) -> list[tuple[float, float]]:
    """Return log probabilities of simulated answers, plain and smooth, without the filters that gave them."""
    beta, lapse, _ = response
    fold = rng.permutation(len(log_odds[itself])) % FOLDS
    found = []
    for out in range(FOLDS):
        kept = [each[fold != out] if i == itself else each for i, each in enumerate(log_odds)]
        mean = plane @ np.stack([each.mean(axis=0) for each in kept])
        density = density_of(mean, np.concatenate([deviations_of(each) for each in kept]))
        for trace in log_odds[itself][fold == out]:
            signs = np.where(rng.random(len(trace)) < lapse / 2 + (1 - lapse) * expit(beta * trace), 1.0, -1.0)
            by_node = [
                logsumexp(np.log(lapse / 2 + (1 - lapse) * expit(beta * signs * each)).sum(axis=1)) - np.log(len(each))
                for each in kept
            ]
            smooth = laplace.integral(np.zeros(density.loadings.shape[1]), *density, signs, response)[0]
            found.append((float(logsumexp(by_node, b=kernel)), float(smooth)))
    return found


def em_share(scores: Array, steps: int = 500) -> float:
    """Return the weight of the second of two densities under which the scored answers are likeliest, by EM."""
    ahead = scores[:, 1] - scores[:, 0]
    share = 0.5
    for _ in range(steps):
        share = float(np.mean(expit(ahead + np.log(share) - np.log1p(-share)))) if 0 < share < 1 else share
    return share


def do_sequence(job: tuple[str, int], earlier: Path) -> Rows:
    """Filter one sequence with both models, simulate people of both, and fit everyone in all ways."""
    task, sequence = job
    make_importable(earlier)
    shared = shared_by_models(load_preset("default"), MODELS, shared_learners(task, SEED + sequence), FILTERS, SEED)
    rows = []
    for number, (origin, true_model) in product(range(TASKS[task]), enumerate(MODELS)):
        rng = np.random.default_rng([SEED, sequence, number, origin])
        truth = drawn(shared[true_model].space, rng)
        person = shared[true_model].person(truth, "s01", rng)
        who = {"task": task, "sequence": sequence, "person": number, "truth": true_model}
        for model in MODELS:
            known = truth if model == true_model else None
            rows += [who | {"model": model} | row for row in fitted(shared[model], person, model, known, rng)]
    return rows


def fitted(
    shared: SharedTraces,
    person: tuple[Learner, ...],
    model: str,
    truth: dict[str, float] | None,
    rng: np.random.Generator,
) -> Rows:
    """Return a row for each way: evidence, and, for the true model, log scores and ranks of the true values."""
    rows = []
    for fit in (lambda: fit_batches(shared, person, model), lambda: fit_package(shared, person, rng)):
        begun = time.process_time()
        found = fit()
        seconds = time.process_time() - begun
        for arm, (mass, evidence) in found.items():
            row = {"arm": arm, "log_evidence": evidence, "seconds": seconds}
            rows.append(row | (against_truth(Knowledge(shared.space.free, mass), truth) if truth else {}))
    return rows


def against_truth(found: Knowledge, truth: dict[str, float]) -> dict[str, float]:
    """Return, by parameter, the log density of the truth above the prior's, and the mass below the truth."""
    row = {}
    for number, axis in enumerate(found.axes):
        marginal, at = found.marginal(number), float(axis.parameter.to_scale(truth[axis.name]))
        row[f"{axis.name}_below"] = float(marginal.below(at))
        own, prior = (np.interp(at, axis.positions, each.mass) for each in (marginal, Marginal.of_prior(axis)))
        row[f"{axis.name}_score"] = float(np.log(max(own / prior, 1e-12)))
    return row


def scores_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each person and way: log scores of the true parameters and of the true model."""
    who = ["task", "sequence", "person", "truth", "arm"]
    evidence = rows.pivot_table(index=who, columns="model", values="log_evidence")
    own = rows[rows["model"] == rows["truth"]].set_index(who)
    table = pd.DataFrame({name: own[f"{name}_score"] for name in LOG_SCORES[:-1]})
    for name in LOG_SCORES[:-1]:
        table[f"{name}_below"] = own[f"{name}_below"]
    ahead = (evidence["holmes"] - evidence["flat"]) * np.where(
        evidence.index.get_level_values("truth") == "holmes", 1.0, -1.0
    )
    table["ahead"] = ahead
    table["model"] = -np.logaddexp(0.0, -ahead)
    table["sum"] = table[LOG_SCORES].sum(axis=1)
    return table.reset_index()


def clustered(values: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """Return a mean and its standard error, people of one sequence taken together."""
    deviation = values - values.mean()
    by_cluster = deviation.groupby(clusters.to_numpy()).sum()
    count = len(by_cluster)
    return float(values.mean()), float(np.sqrt(count / (count - 1) * np.sum(by_cluster**2)) / len(values))


def verdicts(scores: pd.DataFrame) -> pd.DataFrame:
    """Return, for each task, truth and way: mean scores, and those above today's way with their standard errors."""
    key = ["task", "sequence", "person", "truth"]
    today = scores[scores["arm"] == TODAY].set_index(key)

    def measure(own: pd.DataFrame) -> dict[str, float]:
        clusters, own = own["sequence"], own.set_index(key)
        row: dict[str, float] = {"people": len(own)}
        for name in [*LOG_SCORES, "sum"]:
            above = (own[name] - today.loc[own.index, name]).to_numpy()
            row[name] = own[name].mean()
            row[f"{name}_above"], row[f"{name}_error"] = clustered(pd.Series(above), clusters)
        for name in LOG_SCORES[:-1]:
            row[f"{name}_covered"] = own[f"{name}_below"].between(0.025, 0.975).mean()
            row[f"{name}_mean_rank"] = own[f"{name}_below"].mean()
        return row | {"right": (own["ahead"] > 0).mean()}

    return by_cell(scores, ("task", "truth", "arm"), measure)


def overall(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the figures that decide: means over tasks and truths, each counting alike, above today's way."""

    def measure(own: pd.DataFrame) -> dict[str, float]:
        row = {"cells": len(own), "sum": own["sum"].mean()}
        for name in [*LOG_SCORES, "sum"]:
            row[f"{name}_above"] = own[f"{name}_above"].mean()
            row[f"{name}_error"] = float(np.sqrt((own[f"{name}_error"] ** 2).sum())) / len(own)
        return row

    return by_cell(verdicts(scores), ["arm"], measure)


def main(do: Literal["run", "judge"], out: Path, workers: int | None = None) -> None:
    kept = Kept(out, "rows", job=("task", "sequence"))
    if do == "run":
        earlier = (out.parent / f"{out.name}_earlier").resolve()
        if not earlier.exists():
            earlier.mkdir(parents=True)
            lay_out(EARLIER, earlier)
        kept.do(partial(do_sequence, earlier=earlier), [*product(TASKS, range(SEQUENCES))], workers)
    scores = scores_of(kept.table)
    write_summaries(KEPT, {"people": scores, "cells": verdicts(scores), "overall": overall(scores)})


if __name__ == "__main__":
    command(main)
