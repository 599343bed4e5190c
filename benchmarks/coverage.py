"""Do posteriors and evidences mean what they say? People drawn from the fitting prior, fitted, held to the truth.

People of a sequence see the same trials, so that filters run once for all of them (``recovery.shared_traces``), and
everyone takes some of them at random; what is then done is what a fit does, but for the search of the best point.
Everyone is fitted twice with the model that they follow, from filters that the two fits do not share, and once with the
other one. Then

- intervals hold the truth as often as they say, and ranks of the truth among posterior draws are uniform;
- differences of log evidence between the two fits, divided by their stated errors, have an SD of 1;
- the evidence is higher for the model that a person follows.

Run with ``python -m benchmarks.coverage runs/coverage [TASK ...]``. Stopped, the same command goes on. Summaries are
kept in reports/fitting/coverage.
"""

from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from scipy.stats import binom

from benchmarks import ROOT, command
from benchmarks.kept import Kept, Rows, by_cell, judged, write_summaries
from holmes_fit._support.uniformity import rank_of
from holmes_fit.fitting.lattice.posterior import Posterior
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.shared_traces import drawn, shared_by_models, shared_learners
from holmes_fit.studies.statistics import allowed, rank_tests

SEED = 2_718_281
MODELS = ("flat", "holmes")
TASKS = ("compositional_3", "compositional_4", "weather_prediction", "shepard")
SEQUENCES, PEOPLE = 20, 5  # people of either model on each sequence
FILTERS = 96  # at a node; a fit takes 32
RANKED = 99  # draws of a posterior among which the truth is ranked
ENDS = np.array([0.025, 0.975])
FAMILY = 0.01  # false alarms over all cells together
RESAMPLES = 10_000
KEPT = ROOT / "reports" / "fitting" / "coverage"


def fit_sequence(job: tuple[str, int]) -> Rows:
    """Fit the people of one sequence of trials: a row a person and parameter."""
    task, sequence = job
    traces = shared_by_models(load_preset("default"), MODELS, shared_learners(task, SEED + sequence), FILTERS)
    rows = []
    for (origin, model), number in product(enumerate(MODELS), range(PEOPLE)):
        own, other = traces[model], traces[MODELS[1 - origin]]
        rng = np.random.default_rng([SEED, sequence, origin, number])
        truth = drawn(own.space, rng)
        person = own.person(truth, f"s{number:02d}", rng)
        first, second = own.fits(person, rng, 2)
        who = {"task": task, "sequence": sequence, "model": model, "person": number}
        about = who | evidences(first, second, other.fits(person, rng)[0])
        rows += [about | row for row in against_truth(first, truth, rng)]
    return rows


def evidences(first: Posterior, second: Posterior, other: Posterior) -> dict[str, float]:
    """Return the log evidences of both fits and of the other model, with their errors and biases."""
    return {
        f"{name}{which}": getattr(fit, name)
        for name in ("log_evidence", "log_evidence_error", "log_evidence_bias")
        for which, fit in (("", first), ("_again", second), ("_other", other))
    }


def against_truth(found: Posterior, truth: dict[str, float], rng: np.random.Generator) -> Rows:
    """Hold a posterior against the truth: a row a parameter."""
    draws = found.draw(RANKED, rng)
    rows = []
    for index, axis in enumerate(found.axes):
        marginal, at = found.marginal(index), float(axis.parameter.to_scale(truth[axis.name]))
        (mean, sd), (lower, upper) = marginal.moments, axis.parameter.to_scale(marginal.quantiles(ENDS))
        row = {"parameter": axis.name, "truth": at, "mean": mean, "sd": sd, "covered": bool(lower <= at <= upper)}
        rows.append(row | {"rank": rank_of(truth[axis.name], draws[:, index], rng)})
    return rows


def parameter_measures(own: pd.DataFrame) -> dict[str, float]:
    """Return coverage and tests of the ranks of one parameter."""
    people, covered = len(own), int(own["covered"].sum())
    low, high = allowed(people)
    either_side = min(1.0, 2 * min(binom.cdf(covered, people, 0.95), binom.sf(covered - 1, people, 0.95)))
    error = own["mean"] - own["truth"]
    row = {"people": people, "coverage": covered / people, "allowed_low": low, "allowed_high": high}
    row |= {"coverage_p": float(either_side), **rank_tests(own["rank"].to_numpy(), RANKED)}
    row |= {"correlation": float(np.corrcoef(own["mean"], own["truth"])[0, 1])}
    row |= {"rmse": float(np.sqrt((error**2).mean())), "bias": float(error.mean())}
    return row | {"posterior_sd": float(own["sd"].mean()), "truth_sd": float(own["truth"].std())}


def evidence_measures(own: pd.DataFrame) -> dict[str, float]:
    """Return how far two fits are apart and what they say of it, and how far the true model is ahead."""
    apart = own["log_evidence"] - own["log_evidence_again"]
    stated = np.hypot(own["log_evidence_error"], own["log_evidence_error_again"])
    ahead = own["log_evidence"] - own["log_evidence_other"]
    lower, upper = _mean_interval(ahead, own["sequence"])
    largest = load_preset("default").likelihood.largest_error
    row = {"people": len(own), "apart_median": apart.abs().median(), "apart_90": apart.abs().quantile(0.9)}
    row |= {"sd_of_ratio": float(np.sqrt(np.mean((apart / stated) ** 2)))}
    row |= {"median_error": own["log_evidence_error"].median(), "noisy": (own["log_evidence_error"] > largest).mean()}
    row |= {"mean_bias": own["log_evidence_bias"].mean(), "ahead": ahead.mean()}
    return row | {"ahead_lower": lower, "ahead_upper": upper, "right": (ahead > 0).mean()}


def _mean_interval(values: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """Return the 99% bootstrap interval of a mean, people of a sequence drawn together."""
    by_cluster = values.groupby(clusters.to_numpy()).agg(["sum", "count"]).to_numpy()
    picks = np.random.default_rng(SEED).integers(len(by_cluster), size=(RESAMPLES, len(by_cluster)))
    sums = by_cluster[picks].sum(axis=1)
    lower, upper = np.quantile(sums[:, 0] / sums[:, 1], [0.005, 0.995])
    return float(lower), float(upper)


def summaries(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of what is done so far; parameters are judged over all of them together."""
    parameters = by_cell(rows, ("task", "model", "parameter"), parameter_measures)
    people = rows.drop_duplicates(["task", "sequence", "model", "person"])
    return {
        "parameters": judged(parameters, ["coverage_p", "chi2_p", "ecdf_p"], FAMILY),
        "evidences": by_cell(people, ("task", "model"), evidence_measures),
    }


def main(out: Path, only: Annotated[list[str] | None, typer.Argument()] = None, workers: int | None = None) -> None:
    kept = Kept(out, "rows", job=("task", "sequence"))
    kept.do(fit_sequence, [*product(only or TASKS, range(SEQUENCES))], workers)
    write_summaries(KEPT, summaries(kept.table))


if __name__ == "__main__":
    command(main)
