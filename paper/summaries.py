"""From single runs to the numbers of the paper: estimates with standard errors, as one tidy table a study.

Backward transfer is summarised "across these 200 parameter combinations" after averaging over seeds, the rest over
seeds. ``difference`` is HOLMES minus flat, unit by unit: both models saw the same tasks.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from holmes_fit.runs.folder import Run
from paper.statistics import Estimate, auc, bootstrap_over_units, correlation_estimate, mean_estimate, share_estimate
from paper.studies import JOBS_OF_STUDY, LONG, PAIR, SHORT, Job, Reading, Study, chunks_of
from paper.tasks import RUNS, TRIALS

REPRESENTATION = ("entropy", "normalized_entropy", "clusters", "recall", "precision", "f1")
BACKWARD = ("accuracy", "late_accuracy", *REPRESENTATION)
DECISIONS = ("accuracy", "training_accuracy", "separation", "brier", "log_loss")
FORWARD = (*DECISIONS, "clusters", "best_level", "node_separation")
PHASES = ("acquisition", "extinction")
BY_CUE = tuple(f"{phase}_{cue}" for phase in PHASES for cue in ("plus", "minus"))
CONDITIONING = (*BY_CUE, *(f"{phase}_final" for phase in PHASES), "clusters")
LENGTH = {SHORT: "5 + 1", LONG: "10 + 3"}  # repetitions of each pair in training + at test
DIFFERENCE = "difference"


Line = tuple[str, str, str, Estimate]  # of a summary: task, model, metric


class Data(NamedTuple):
    """What a study reads: its runs by job, and single trials where they are kept."""

    runs: dict[str, pd.DataFrame]
    trials: pd.DataFrame


def table_of(run: Run, job: Job, reading: Reading, name: str) -> pd.DataFrame:
    """Return one table of a job, all chunks together, in the order of models, points and seeds."""
    records = [run.load_record(chunk.key) for chunk in chunks_of(job, reading)]
    kept: list[Any] = [record.facts[name] for record in records if record is not None]
    return pd.concat([pd.DataFrame(**table) for table in kept], ignore_index=True)


def load_data(run: Run, jobs: dict[str, Job], study: Study, reading: Reading) -> Data:
    """Read the tables of a study."""
    names = JOBS_OF_STUDY[study]
    runs = {name: table_of(run, jobs[name], reading, RUNS) for name in names}
    kept = [jobs[name] for name in names if name in ("shape_color", "conditioning")]
    return Data(runs, table_of(run, kept[0], reading, TRIALS) if kept else pd.DataFrame())


def summarise(study: Study, data: Data, resamples: int) -> pd.DataFrame:
    """Return the summary of a study: task, model, metric, value, se, sd, n, low, high."""
    lines = [(study, *names, *estimate) for *names, estimate in LINES[study](data, resamples)]
    return pd.DataFrame(lines, columns=["study", "task", "model", "metric", *Estimate._fields])


def unit_means(runs: pd.DataFrame, metric: str, unit: str) -> pd.DataFrame:
    """Return a metric's mean for each unit (rows) and model (columns), and HOLMES minus flat if there are both."""
    means = runs.pivot_table(index=unit, columns="model", values=metric, aggfunc="mean", dropna=False)
    return means.assign(difference=means["holmes"] - means["flat"]) if {*PAIR} <= set(means) else means


def picked(table: pd.DataFrame, **keys: str) -> pd.DataFrame:
    """Return the rows that have these values."""
    for column, value in keys.items():
        table = table[table[column] == value]
    return table


def top_level(runs: pd.DataFrame, n_levels: int) -> pd.DataFrame:
    """Return the runs of the task of so many levels, scored at its highest category level, as the paper's table is."""
    return runs[(runs["protocol"] == f"compositional_{n_levels}") & (runs["level"] == n_levels)]


def _by_unit(runs: pd.DataFrame, task: str, metrics: Iterable[str], unit: str) -> Iterator[Line]:
    for metric in metrics:
        for model, values in unit_means(runs, metric, unit).items():
            yield task, str(model), metric, mean_estimate(values.to_numpy())


def _backward(data: Data, resamples: int) -> Iterator[Line]:
    runs = data.runs["compositional"]
    for n_levels in range(2, 6):
        top = top_level(runs, n_levels)
        task = f"{n_levels}-level"
        yield from _by_unit(top, task, BACKWARD, "point")
        recall, f1, accuracy = (unit_means(top, metric, "point") for metric in ("recall", "f1", "accuracy"))
        for model in PAIR:
            r = correlation_estimate(recall[model].to_numpy(), f1[model].to_numpy())
            yield task, model, "recall_f1_r", r
            r = correlation_estimate(accuracy[model].to_numpy(), recall[model].to_numpy())
            yield task, model, "accuracy_recall_r", r
        pooled = correlation_estimate(*(each[[*PAIR]].to_numpy().ravel() for each in (recall, f1)))
        yield task, "both", "recall_f1_r", pooled
    deepest = runs[runs["protocol"] == "compositional_5"]
    for level, rows in deepest.groupby("level"):
        yield from _by_unit(rows, f"5-level, level {level}", REPRESENTATION, "point")


def task_spread(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the SD between tasks of a mean over parameter pairs, where all pairs see the same tasks.

    The component of variance between tasks in a layout of pairs x tasks with one run in each cell.
    """
    rows = []
    for n_levels in range(2, 6):
        top = top_level(runs, n_levels)
        for metric in BACKWARD:
            cells = top.pivot_table(index=["point", "seed"], columns="model", values=metric, dropna=False)
            cells[DIFFERENCE] = cells["holmes"] - cells["flat"]
            for model in cells:
                sd = _between_columns(cells[model].unstack("seed").to_numpy())
                rows.append(("backward", f"{n_levels}-level", str(model), metric, sd))
    return pd.DataFrame(rows, columns=["study", "task", "model", "metric", "task_sd"])


def _between_columns(cells: np.ndarray) -> float:
    n_rows, n_columns = cells.shape
    by_column, by_row = cells.mean(axis=0), cells.mean(axis=1)
    residual = cells - by_column - by_row[:, None] + cells.mean()
    error = float(np.sum(residual**2)) / max(1, (n_rows - 1) * (n_columns - 1))
    between = float(by_column.var(ddof=1)) - error / n_rows
    return float(np.sqrt(max(0.0, between)))


def _forward(data: Data, resamples: int) -> Iterator[Line]:
    for protocol, task in LENGTH.items():
        yield from _by_unit(picked(data.runs["shape_color"], protocol=protocol), task, FORWARD, "seed")
        for model in ("flat", "holmes"):
            p_hat, rewarded = exposures(data.trials, protocol, model)
            yield task, model, "auc", bootstrap_over_units(auc, (p_hat, rewarded), resamples, f"{protocol} {model}")


def exposures(trials: pd.DataFrame, protocol: str, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions at the first exposures, seeds x trials, and whether the shape was the rewarded one."""
    rows = picked(trials, protocol=protocol, model=model).sort_values(["seed", "trial"])
    n_seeds = rows["seed"].nunique()
    return rows["p_hat"].to_numpy().reshape(n_seeds, -1), (rows["outcome"] == 1).to_numpy().reshape(n_seeds, -1)


def conditioning_tests(runs: pd.DataFrame) -> pd.DataFrame:
    """Return tests of HOLMES against flat over seeds: paired t, Wilcoxon, Welch, and the standardised difference."""
    rows = []
    for metric in CONDITIONING:
        means = unit_means(runs, metric, "seed")
        difference = means[DIFFERENCE].to_numpy()
        spread = float(difference.std(ddof=1))
        row: dict[str, object] = {"metric": metric, "flat": means["flat"].mean(), "holmes": means["holmes"].mean()}
        row |= {"difference": difference.mean(), "n": len(difference)}
        if spread > 0:
            t = stats.ttest_rel(means["holmes"], means["flat"])
            row |= {"t": t.statistic, "p": t.pvalue, "p_wilcoxon": stats.wilcoxon(difference).pvalue}
            row["d"] = difference.mean() / spread
        if min(means["holmes"].std(), means["flat"].std()) > 0:
            row["p_unpaired"] = stats.ttest_ind(means["holmes"], means["flat"], equal_var=False).pvalue
        rows.append(row)
    return pd.DataFrame(rows)


def _conditioning(data: Data, resamples: int) -> Iterator[Line]:
    return _by_unit(data.runs["conditioning"], "conditioning", CONDITIONING, "seed")


def _ablation(data: Data, resamples: int) -> Iterator[Line]:
    for n_levels in range(2, 6):
        top = top_level(data.runs["compositional_ablation"], n_levels)
        yield from _by_unit(top, f"{n_levels}-level", ("recall", "entropy"), "point")
    yield from _by_unit(data.runs["shape_color_ablation"], LENGTH[LONG], ("accuracy", "separation"), "seed")


def _sweep(data: Data, resamples: int) -> Iterator[Line]:
    compositional, shape_color = data.runs["compositional"], data.runs["shape_color_sweep"]
    deep = compositional[compositional["protocol"] != "compositional_2"]
    averages = {"2 to 5 levels": sweep_means(highest_levels(compositional)), "3 to 5, all": sweep_means(deep)}
    for (name, backward), metric in product(averages.items(), ("entropy", "recall")):
        advantage = backward[f"{metric}_difference"].to_numpy()
        yield name, DIFFERENCE, metric, mean_estimate(advantage)
        favours = advantage < 0 if metric == "entropy" else advantage > 0
        yield name, DIFFERENCE, f"{metric}_share", share_estimate(favours)
    task = LENGTH[LONG]
    yield from _by_unit(shape_color, task, FORWARD, "point")
    for metric in ("accuracy", "separation"):
        favours = unit_means(shape_color, metric, "point")[DIFFERENCE].to_numpy() > 0
        yield task, DIFFERENCE, f"{metric}_share", share_estimate(favours)


LINES: dict[Study, Callable[[Data, int], Iterator[Line]]] = {
    "backward": _backward,
    "forward": _forward,
    "conditioning": _conditioning,
    "ablation": _ablation,
    "sweep": _sweep,
}


def highest_levels(compositional: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of all tasks, each scored at its highest category level."""
    return pd.concat([top_level(compositional, n_levels) for n_levels in range(2, 6)])


def sweep_means(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean for each pair, by model, and HOLMES minus flat.

    The paper does not say what its sweep averages over. Figures show the highest category levels of the four tasks;
    the table has also all category levels of the three deeper ones.
    """
    table = runs.groupby("point")[["alpha", "omega"]].first()
    for metric in ("accuracy", "entropy", "recall"):
        table = table.join(unit_means(runs, metric, "point").add_prefix(f"{metric}_"))
    return table.reset_index()
