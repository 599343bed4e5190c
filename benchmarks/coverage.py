"""Do posteriors mean what they say? People drawn from the fitting prior, fitted with the defaults, held to the truth.

Everyone of a sequence sees the same trials, so that filters run once for all of them (``recovery.shared_traces``); what
is then done is what a fit does, but for the search of the best point. Intervals must hold the truth as often as they
say, and the ranks of the truth among posterior draws must be uniform.

Run with ``python -m benchmarks.coverage compositional_3 runs/coverage_3 --people 120``. Stopped, the same command goes
on. The summaries are kept in reports/fitting.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from holmes_fit.fitting.plan import code_identity
from holmes_fit.models import Observer, find_model
from holmes_fit.presets import Preset, load_preset
from holmes_fit.recovery.calibration import SBC, sbc_summary
from holmes_fit.recovery.group_study import n_rows, row_traces
from holmes_fit.recovery.shared_traces import POOL, SharedTraces, shared_learners
from holmes_fit.runs import Run, open_run
from holmes_fit.uniformity import rank_of
from holmes_fit.workers import do_all

SEED = 20_000
RANKED = 99  # draws of a posterior among which the truth is ranked
ENDS = np.array([0.025, 0.975])


def fit_sequence(task: tuple[str, str, Preset, int, int]) -> list[dict[str, Any]]:
    """Filter one sequence of trials at all nodes, and fit its people: a row a person and parameter."""
    protocol, model, preset, sequence, people = task
    space, learners = preset.space(find_model(model)), shared_learners(protocol, SEED + sequence)
    p_hat = np.concatenate([row_traces((space, learners, Observer(), row)) for row in range(n_rows(space))])
    traces = SharedTraces(space, learners, p_hat, preset.likelihood)
    return [row for number in range(people) for row in fit_one(traces, sequence, number)]


def fit_one(traces: SharedTraces, sequence: int, number: int) -> list[dict[str, Any]]:
    """Simulate one person with values from the prior, fit them, and compare: a row a parameter."""
    rng = np.random.default_rng([SEED, sequence, number])
    axes = traces.space.free
    truth = np.array([float(axis.parameter.to_scale(axis.draw(rng, 1)[0])) for axis in axes])
    found = traces.fit(traces.simulate(truth, f"s{number:03d}", rng), rng)
    draws = found.draw(RANKED, rng)
    rows = []
    for index, axis in enumerate(axes):
        mean, sd = found.moments(index)
        lower, upper = axis.parameter.to_scale(found.quantiles(index, ENDS))
        rows.append(
            {
                "person": f"{sequence}/{number:03d}",
                "parameter": axis.name,
                "truth": truth[index],
                "mean": mean,
                "sd": sd,
                "covered": bool(lower <= truth[index] <= upper),
                "rank": rank_of(float(axis.to_natural(truth[index])), draws[:, index], rng),
                "evidence_error": found.log_evidence_error,
                "evidence_bias": found.log_evidence_bias,
            }
        )
    return rows


def run_study(run: Run, tasks: dict[str, Any], workers: int | None) -> pd.DataFrame:
    """Do every sequence that is missing, and return the rows of all."""
    missing = [name for (name,) in run.progress().missing]
    with closing(do_all(fit_sequence, [tasks[name] for name in missing], workers=workers)) as results:
        for index, rows in results:
            if not isinstance(rows, list):
                raise RuntimeError(rows.traceback)
            run.save_record((missing[index],), {"rows": rows})
            print(f"sequence {missing[index]} is done", flush=True)
    facts: list[Any] = [record.facts["rows"] for record in run.records()]
    return pd.DataFrame([row for rows in facts for row in rows])


def summary(rows: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return coverage with what chance allows, tests of the ranks, errors and widths: a row a parameter."""
    about = {"level": "person", "model": model, "n_draws": RANKED}
    ranks = rows.assign(**about, unit=rows["person"])
    tests = sbc_summary(ranks[list(SBC)]).drop(columns=["level", "model"])
    by_parameter = dict(list(rows.groupby("parameter")))
    return pd.DataFrame([{**test, **_measures(by_parameter[test["parameter"]])} for test in tests.to_dict("records")])


def _measures(own: pd.DataFrame) -> dict[str, float]:
    low, high = binom.interval(0.99, len(own), 0.95)
    error = own["mean"] - own["truth"]
    return {
        "mean_rank": float((own["rank"] + 0.5).mean() / (RANKED + 1)),
        "mean_rank_error": float(np.sqrt(1 / 12 / len(own))),
        "coverage": own["covered"].mean(),
        "allowed_low": low / len(own),
        "allowed_high": high / len(own),
        "correlation": np.corrcoef(own["mean"], own["truth"])[0, 1],
        "rmse": float(np.sqrt((error**2).mean())),
        "bias": error.mean(),
        "posterior_sd": own["sd"].mean(),
        "truth_sd": own["truth"].std(),
        "evidence_error": own["evidence_error"].median(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("protocol")
    parser.add_argument("out", type=Path)
    parser.add_argument("--people", type=int, default=60, help="of each sequence of trials")
    parser.add_argument("--sequences", type=int, default=2)
    parser.add_argument("--model", default="holmes")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    preset = load_preset(given.preset)
    identity = {
        "protocol": given.protocol,
        "model": given.model,
        "people": given.people,
        "filters": POOL,
        "preset": preset.model_dump(mode="json"),
        **code_identity(),
    }
    tasks = {
        f"{number:02d}": (given.protocol, given.model, preset, number, given.people)
        for number in range(given.sequences)
    }
    with open_run(given.out, identity=identity, about={}, keys=[(name,) for name in tasks]) as run:
        rows = run_study(run, tasks, given.workers)
        table = summary(rows, given.model)
        run.write_table("people.csv", rows)
        run.write_table("summary.csv", table)
    print(table.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
