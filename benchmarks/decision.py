"""Which likelihood? People of whom everything is known are fitted with several, on the same filters.

The plan, with the rule that decides, is in reports/fitting/decision; it was written before anything was run. Three ways
of making a likelihood from filters:

``batches``  that of revision 1be3e29: a plain mean, batches of filters that count alike, a kernel over nodes
``halves``   that of the package: half plain, half over a density of traces, lent between nodes
``stacked``  the same with weights that are learned from answers of filters that were held out

``python -m benchmarks.decision run runs/decision``, which goes on where it was stopped; ``... judge`` applies the rule
to what there is, and keeps the tables.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from benchmarks.earlier import NAME, ROOT, lay_out, make_importable
from benchmarks.kept import Kept, Rows, by_cell, write_summaries
from holmes_fit.fitting.lattice.explored import Explored
from holmes_fit.fitting.lattice.exploring import explore
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task, log_prior_mass, natural
from holmes_fit.likelihood import laplace
from holmes_fit.likelihood.answers import halves
from holmes_fit.likelihood.density import density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.traces import Replicates, Traces, traces_of
from holmes_fit.models.registry import Observer, find_model
from holmes_fit.models.responses import choice_probability
from holmes_fit.settings.preset import load_preset
from holmes_fit.settings.spaces import Space
from holmes_fit.studies.simulation.people import simulate
from holmes_fit.trials.cohorts import MISSED, Learner

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


class Filters:
    """What the filters of one model predict on one sequence of trials, node by node, run when first asked for."""

    def __init__(self, space: Space, learners: Sequence[Learner]):
        self.space, self.learners = space, learners
        self.ends = np.cumsum([len(learner.choices) for learner in learners])[:-1]
        self._by_node: dict[int, tuple[Array, ...]] = {}

    def at(self, node: int) -> tuple[Array, ...]:
        """Return p-hat of every learner at a node, filters x trials."""
        if node not in self._by_node:
            shape = tuple(axis.nodes for axis in self.space.learning)
            place = np.unravel_index(node, shape)
            position = np.array([axis.positions[i] for axis, i in zip(self.space.learning, place, strict=True)])
            values = self.space.model_values(natural(self.space.learning, position))
            wanted = Replicates(FILTERS, LATTICE + A_NODE * node)
            self._by_node[node] = traces_of(self.space.model, self.learners, values, Observer(), SEED, wanted).p_hat
        return self._by_node[node]


def stored(task_class: Any, traces_class: Any) -> Any:
    """Return the task of a package, of today or of an earlier revision, with filters that are run already."""

    @dataclass(frozen=True, kw_only=True)
    class StoredTask(task_class):  # type: ignore[misc]
        filters: Filters

        def traces(self, position: Array, replicates: Any) -> Any:
            node, first = divmod(replicates.first - LATTICE, A_NODE)
            p_hat = tuple(each[first : first + replicates.number] for each in self.filters.at(node))
            return traces_class(p_hat, tuple(learner.choices for learner in self.learners))

    return StoredTask


def fit_batches(filters: Filters, learners: tuple[Learner, ...], model: str) -> dict[str, tuple[Array, float]]:
    """Fit as the earlier revision did: more filters where the likelihood is noisy, up to all of them."""
    lattice, likelihood, presets, models = (
        importlib.import_module(f"{NAME}.{name}") for name in ("lattice", "likelihood", "presets", "models")
    )
    preset = presets.load_preset("default")
    space = preset.space(models.MODELS[model])
    task = stored(lattice.Task, likelihood.Traces)(learners, space, filters=filters)
    replicates = preset.likelihood.replicates
    explored = lattice.explore(task, replicates)
    posterior = lattice.posterior_of(explored)
    if _batch_sd(filters, task, posterior, likelihood, replicates) > preset.likelihood.largest_batch_sd:
        lattice.raise_replicates(explored, FILTERS)
        posterior = lattice.posterior_of(explored)
    return {TODAY: (posterior.mass, posterior.log_evidence)}


def _batch_sd(filters: Filters, task: Any, posterior: Any, likelihood: Any, replicates: int) -> float:
    """Return the SD of the log-likelihood over batches of the filters at the most probable node."""
    best = np.unravel_index(int(np.argmax(posterior.mass)), posterior.mass.shape)
    n_learning = len(task.space.learning)
    node = int(np.ravel_multi_index(best[:n_learning], [axis.nodes for axis in task.space.learning]))
    at = np.array([axis.positions[i] for axis, i in zip(task.space.response, best[n_learning:], strict=True)])
    traces = likelihood.Traces(filters.at(node), tuple(learner.choices for learner in task.learners))
    batches = traces.batches(FILTERS // replicates)
    return float(np.std([likelihood.likelihood_of(batch).at(task.response(at)) for batch in batches], ddof=1))


def fit_package(
    filters: Filters, learners: tuple[Learner, ...], rng: np.random.Generator
) -> dict[str, tuple[Array, float]]:
    """Fit as the package does, and once more with learned weights."""
    task = stored(Task, Traces)(learners, filters.space, filters=filters)
    explored = explore(task, OF_PACKAGE)
    log_prior = log_prior_mass(filters.space)
    parts = list(explored.both_halves())
    share = learned_share(explored, filters, rng)
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


def learned_share(explored: Explored, filters: Filters, rng: np.random.Generator) -> float:
    """Return the share of the density of traces that foresees best what filters would answer that were held out."""
    scores = []
    for place in rng.choice(len(explored.nodes), HELD_OUT_NODES, replace=False):
        own = explored._lending[place]
        flat = [int(np.ravel_multi_index(explored.nodes[i], explored.learning_shape)) for i in own.lenders]
        at_nodes = [[log_odds_of(each[:OF_PACKAGE]) for each in filters.at(node)] for node in flat]
        itself = int(np.flatnonzero(own.lenders == place)[0])
        response = (float(_drawn(filters.space, "beta", rng)), float(_drawn(filters.space, "lapse", rng)), 0.0)
        for learner in range(len(filters.learners)):
            scores += held_out([each[learner] for each in at_nodes], itself, own.kernel, own.plane, response, rng)
    return float(np.clip(em_share(np.array(scores)), 1e-6, 1 - 1e-6))


def _drawn(space: Space, name: str, rng: np.random.Generator) -> float:
    (axis,) = [axis for axis in space.response if axis.name == name]
    return float(axis.draw(rng, 1)[0])


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
    preset = load_preset("default")
    learners = simulate(task, subjects=1, seed=SEED + sequence).cohort.learners
    filters = {model: Filters(preset.space(find_model(model)), learners) for model in MODELS}
    rows = []
    for number in range(TASKS[task]):
        for origin, truth_model in enumerate(MODELS):
            rng = np.random.default_rng([SEED, sequence, number, origin])
            truth, person = simulated(filters[truth_model].space, learners, rng)
            who = {"task": task, "sequence": sequence, "person": number, "truth": truth_model}
            for model in MODELS:
                rows += [who | row for row in fitted(filters[model], person, model, truth_model, truth, rng)]
    return rows


def simulated(
    space: Space, learners: Sequence[Learner], rng: np.random.Generator
) -> tuple[dict[str, float], tuple[Learner, ...]]:
    """Draw a person from the fitting prior, and let filters of their own answer."""
    truth = {axis.name: float(axis.draw(rng, 1)[0]) for axis in space.free}
    values = space.model_values({axis.name: truth[axis.name] for axis in space.learning})
    person = []
    for learner in learners:
        key = np.uint64(rng.integers(1 << 63))
        p_hat = space.model.p_hat(learner.observations, values, Observer(), key)[0]
        chosen = (rng.random(len(p_hat)) < choice_probability(p_hat, truth["beta"], truth["lapse"])).astype(np.int8)
        person.append(replace(learner, choices=np.where(learner.choices == MISSED, np.int8(MISSED), chosen)))
    return truth, tuple(person)


def fitted(
    filters: Filters,
    person: tuple[Learner, ...],
    model: str,
    truth_model: str,
    truth: dict[str, float],
    rng: np.random.Generator,
) -> Rows:
    """Return a row for each way: evidence, and, for the true model, log scores and ranks of the true values."""
    found, seconds = {}, {}
    for fit in (lambda: fit_batches(filters, person, model), lambda: fit_package(filters, person, rng)):
        begun = time.process_time()
        own = fit()
        seconds |= dict.fromkeys(own, time.process_time() - begun)
        found |= own
    rows = []
    for arm, (mass, evidence) in found.items():
        row = {"model": model, "arm": arm, "log_evidence": evidence, "seconds": seconds[arm]}
        if model == truth_model:
            row |= against_truth(filters.space, mass, truth)
        rows.append(row)
    return rows


def against_truth(space: Space, mass: Array, truth: dict[str, float]) -> dict[str, float]:
    """Return, by parameter, the log density of the truth above the prior's, and the mass below the truth."""
    found = {}
    for number, axis in enumerate(space.free):
        marginal = mass.sum(axis=tuple(i for i in range(mass.ndim) if i != number))
        at = float(axis.parameter.to_scale(truth[axis.name]))
        edges = axis.low + axis.spacing * np.arange(axis.nodes + 1)
        found[f"{axis.name}_below"] = float(np.interp(at, edges, np.append(0.0, np.cumsum(marginal))))
        ratio = np.interp(at, axis.positions, marginal) / np.interp(at, axis.positions, np.exp(axis.log_weights))
        found[f"{axis.name}_score"] = float(np.log(max(ratio, 1e-12)))
    return found


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "judge"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    kept = Kept(given.out, "rows", job=("task", "sequence"))
    if given.command == "run":
        earlier = (given.out.parent / f"{given.out.name}_earlier").resolve()
        if not earlier.exists():
            earlier.mkdir(parents=True)
            lay_out(EARLIER, earlier)
        jobs = [(task, sequence) for task in TASKS for sequence in range(SEQUENCES)]
        kept.do(partial(do_sequence, earlier=earlier), jobs, given.workers)
    scores = scores_of(kept.table)
    write_summaries(KEPT, {"people": scores, "cells": verdicts(scores), "overall": overall(scores)})


if __name__ == "__main__":
    main()
