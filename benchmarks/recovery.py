"""What can the paper's tasks tell? Recovery of parameters and models at the defaults, beside a plain dense grid.

Run with ``python -m benchmarks.recovery STUDY runs/recovery``. Stopped, the same command goes on. The studies:

- ``parameters``: 60 people of HOLMES on the 3-level task, alpha and Omega log-uniform on [.1, 3], beta uniform on
  [1, 6], lapse .02. They are fitted with these as priors and the rest as by default, then with the default priors.
  Beside it, a second opinion that shares nothing with the fits but the filter: posterior means on a dense grid of
  (alpha, Omega, beta) of ``--grid`` nodes along the first two, from p-hat traces and NumPy.
- ``models``: 40 people of flat and 40 of HOLMES on the 4-level task, priors and all at the defaults.
- ``time``: 100 people of flat and 100 of HOLMES on the 3-level task, ``--quick`` and at the defaults: how long it takes
  on two cores, and how memory goes. Nothing else should be running. What the defaults find is the 3-level half of
  ``models``.

The tables are kept in reports/recovery.
"""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import psutil
from scipy.special import expit, logit, logsumexp

import holmes_fit as hf
from benchmarks import command
from benchmarks.kept import Kept, Rows
from holmes_fit.fitting.cohort import fit
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.recovery.estimates import people_table, recovery_table
from holmes_fit.studies.recovery.findings import in_words
from holmes_fit.studies.recovery.results import Recovery
from holmes_fit.studies.recovery.setup import set_up_recovery
from holmes_fit.studies.recovery.study import recover
from holmes_fit.studies.statistics import RESAMPLES, allowed, correlation, percentiles
from holmes_fit.trials.cohorts import Learner

SEED = 7
PEOPLE = 60
LOW, HIGH = 0.1, 3.0  # of alpha and Omega
BETA = (1.0, 6.0)
LAPSE = 0.02
PRIORS = {"alpha": f"loguniform:{LOW},{HIGH}", "omega": f"loguniform:{LOW},{HIGH}", "beta": "uniform:1,6"}
NODES, BETA_NODES, REPLICATES = 16, 25, 32
TOLERANCE = 0.03  # by which the correlation may be below that of the dense grid
TABLES = ("confusion", "model_recovery", "power", "recovery", "sbc_summary")
LIMITS = {"quick": 15.0, "default": 70.0}  # minutes
ON_GRID = ("alpha", "omega", "beta")


def matched_preset() -> Preset:
    """Return the default preset with the priors that the people are drawn from."""
    preset = load_preset("default")
    changed = {name: preset.parameters[name].model_copy(update={"prior": prior}) for name, prior in PRIORS.items()}
    return preset.model_copy(update={"name": "matched", "parameters": {**preset.parameters, **changed}})


def midpoints(low: float, high: float, n: int) -> np.ndarray:
    return low + (np.arange(n) + 0.5) * (high - low) / n


def grid_means(job: tuple[str], learners: Mapping[str, Learner], nodes: int) -> Rows:
    """Return a person's posterior means of log alpha, log Omega and log beta, by plain sums over a dense grid.

    All cells have the same prior mass, as the people are drawn uniformly from them. Every node has draws of its own.
    """
    (subject,) = job
    learner = learners[subject]
    seen = learner.observations
    matrix = np.column_stack([seen.cues, seen.outcome])
    log_values = midpoints(np.log(LOW), np.log(HIGH), nodes)
    beta = midpoints(*BETA, BETA_NODES)
    sign = np.where(learner.choices == 1, 1.0, -1.0)
    log_posterior = np.empty((nodes, nodes, BETA_NODES))
    for i, j in np.ndindex(nodes, nodes):
        values = {"alpha": float(np.exp(log_values[i])), "omega": float(np.exp(log_values[j]))}
        luck = {"seed": i * nodes + j, "learner": f"grid/{learner.subject}"}
        p_hat = hf.trace(matrix, model="holmes", replicates=REPLICATES, **values, **luck)  # type: ignore[arg-type]
        towards = sign * logit(p_hat)
        chosen = LAPSE / 2 + (1 - LAPSE) * expit(beta[:, None, None] * towards)  # beta x replicates x trials
        log_posterior[i, j] = logsumexp(np.log(chosen).sum(axis=2), axis=1) - np.log(REPLICATES)
    mass = np.exp(log_posterior - log_posterior.max())
    mass /= mass.sum()
    marginals = mass.sum(axis=(1, 2)), mass.sum(axis=(0, 2)), mass.sum(axis=(0, 1))
    positions = log_values, log_values, np.log(beta)
    means = zip(ON_GRID, marginals, positions, strict=True)
    return [{"subject": subject} | {name: float(marginal @ at) for name, marginal, at in means}]


def compared(people: pd.DataFrame, grid: pd.DataFrame, fit_name: str) -> Iterator[dict[str, Any]]:
    """Give correlations with the truth of fits and of the dense grid, and their difference over the same people."""
    rng = np.random.default_rng(SEED)
    for name in ON_GRID:
        own = people[people["parameter"] == name].set_index("subject")
        truth, mean = own["truth_on_scale"].to_numpy(), own["mean_on_scale"].to_numpy()
        on_grid = grid.set_index("subject").loc[own.index, name].to_numpy()
        chosen = rng.integers(len(own), size=(RESAMPLES, len(own)))
        of_fit, of_grid = (correlation(truth[chosen], each[chosen]) for each in (mean, on_grid))
        low, high = allowed(len(own))
        row = {"priors": fit_name, "parameter": name, "people": len(own)}
        found, found_on_grid = (float(correlation(truth, each)) for each in (mean, on_grid))
        row |= _with_interval("correlation", found, of_fit) | _with_interval("grid_correlation", found_on_grid, of_grid)
        row |= _with_interval("difference", found - found_on_grid, of_fit - of_grid)
        row |= {"holds_its_own": found >= found_on_grid - TOLERANCE}
        row |= {"rmse": np.sqrt(np.mean((mean - truth) ** 2)), "grid_rmse": np.sqrt(np.mean((on_grid - truth) ** 2))}
        yield row | {"coverage": own["covered"].mean(), "allowed_low": low, "allowed_high": high}


def _with_interval(name: str, value: float, samples: np.ndarray) -> dict[str, float]:
    lower, upper = percentiles(samples)
    return {name: value, f"{name}_lower": lower, f"{name}_upper": upper}


def study_parameters(out: Path, nodes: int) -> pd.DataFrame:
    """Fit the people with both kinds of priors, and compare with the dense grid."""
    settings = {"models": ("holmes",), "subjects": PEOPLE, "preset": matched_preset(), "fix": {"lapse": LAPSE}}
    study = recover("compositional_3", out=out / "parameters", seed=SEED, progress=_printed, **settings)  # type: ignore[arg-type]
    print(in_words(study), flush=True)
    _keep(study, out, "_matched_priors", ("recovery", "sbc_summary"))
    plan = set_up_recovery("compositional_3", seed=SEED, **settings)  # type: ignore[arg-type]
    cohort = plan.fits["holmes"].cohort
    by_default = fit(cohort, ("holmes",), out / "parameters_default_priors", seed=SEED, progress=_printed)
    learners = {learner.subject: learner for learner in cohort.learners}
    grid = Kept(out / "dense_grid", f"nodes_{nodes}", job=["subject"], text=["subject"])
    grid.do(partial(grid_means, learners=learners, nodes=nodes), [(subject,) for subject in learners])
    rows = list(compared(study.people, grid.table, "of the people"))
    people = people_table(plan.truths["holmes"], by_default)
    recovery_table(people, SEED).to_csv(out / "recovery_default_priors.csv", index=False)
    rows += compared(people, grid.table, "default")
    return pd.DataFrame(rows)


def _printed(done: int, total: int) -> None:
    if done % max(1, total // 20) == 0 or done == total:
        print(f"{done} of {total}", flush=True)


def study_models(out: Path) -> None:
    """Recover flat and HOLMES on the 4-level task, and keep the tables."""
    study = recover("compositional_4", subjects=40, out=out / "models_4", seed=SEED, progress=_printed)
    print(in_words(study), flush=True)
    _keep(study, out, "_4")


def _keep(study: Recovery, out: Path, suffix: str, names: Sequence[str] = TABLES) -> None:
    for name in names:
        shutil.copy(study.folder / f"{name}.csv", out / f"{name}{suffix}.csv")


class Watch:
    """Time and memory over a study: asked after every fit, it notes them twenty times."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.notes: list[dict[str, float]] = []

    def __call__(self, done: int, total: int) -> None:
        if done % max(1, total // 20) == 0:
            self.notes.append({"done": done, **self.now()})
            print(f"{done} of {total}, {self.notes[-1]}", flush=True)

    def now(self) -> dict[str, float]:
        """Return minutes since the beginning, and the megabytes of this process and of its largest worker."""
        here = psutil.Process()
        workers = [child.memory_info().rss for child in here.children(recursive=True)]
        memory = {"mb_here": here.memory_info().rss / 2**20, "mb_worker": max(workers, default=0) / 2**20}
        return {"minutes": (time.perf_counter() - self.begun) / 60, **memory}


def study_time(out: Path) -> pd.DataFrame:
    """Time studies of 200 people with two models: a row a note, the last of a preset at its end."""
    rows = []
    for preset, limit in LIMITS.items():
        folder = out / f"time_{preset}"
        if folder.exists():
            raise SystemExit(f"{folder} is there already, so that only the rest would be timed: remove it first.")
        watch = Watch()
        how = {"preset": preset, "seed": SEED, "workers": 2, "progress": watch}
        study = recover("compositional_3", subjects=100, out=folder, **how)  # type: ignore[arg-type]
        rows += [{"preset": preset, "limit": limit, **note} for note in [*watch.notes, {"done": np.nan, **watch.now()}]]
        print(rows[-1], in_words(study), sep="\n", flush=True)
        if preset == "default":
            _keep(study, out, "_3")
    return pd.DataFrame(rows)


def main(study: Literal["parameters", "models", "time"], out: Path, grid: int = NODES) -> None:
    out.mkdir(parents=True, exist_ok=True)
    if study == "models":
        study_models(out)
        return
    table = study_parameters(out, grid) if study == "parameters" else study_time(out)
    table.to_csv(out / f"{study}.csv", index=False)
    print(table.round(3).T.to_string() if study == "parameters" else table.round(2).to_string(index=False))


if __name__ == "__main__":
    command(main)
