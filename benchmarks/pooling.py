"""How fast is pooling, and how fast would it be in PyMC the plain way?

First, the time that pooling 25 people with two models and their mixture takes, compilation included: a new process with
an empty cache. Then one group model, in turn and on one core: sampled as the package does it, and by PyMC's slice
sampler, which it takes itself where a model has no gradient, with the same likelihood as a black box in three forms:

- ``people``: everyone's parameters are variables of the model beside those of the group, as in a textbook; the black
  box looks their likelihoods up on the lattice.
- ``sums``: the black box is the sum over the lattice as it was fitted, in NumPy; only the group is sampled.
- ``merged sums``: likewise, but over the merged lattice that the package samples on.

Run with ``python -m benchmarks.pooling``; nothing else should be running. ``--run RUN`` takes the people of a complete
run instead of simulated ones, ``--keep FOLDER`` writes the tables there.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from holmes_fit.fitting import fit
from holmes_fit.pooling import GroupPrior, Lattices, Sampling, load_lattices, mix_models, pool_people
from holmes_fit.pooling.draws import GroupDraws, People
from holmes_fit.pooling.lattices import MergedLattices, merge
from holmes_fit.pooling.pool import group_model
from holmes_fit.pooling.priors import Scaled, scaled
from holmes_fit.pooling.sampling import MODE, GroupTerm
from holmes_fit.runs import read_run
from holmes_fit.simulation import simulate

PEOPLE = 25
LIMIT = 120.0  # seconds on two cores
ROUNDS = 2
CHAINS = 4
WANTED = 100.0  # times the effective draws a second of a black box
MODELS = ("flat", "holmes")
QUANTITIES = ("mean", "spread")


# ------------------------------------------------------------------------------------------------- the whole task


def make_run(folder: Path) -> Path:
    """Simulate 25 people and fit them quickly."""
    cohort = simulate("compositional_3", "holmes", PEOPLE, {"omega": "lognormal:0.3,0.5"}, seed=7).cohort
    fit(cohort, list(MODELS), folder / "run", preset="quick", workers=2)
    return folder / "run"


def pool_all(folder: Path) -> None:
    """Pool everyone with two models, then their mixture, and print the seconds that each took."""
    run = read_run(folder)
    begun = time.perf_counter()
    lattices = [load_lattices(run, model) for model in MODELS]
    for each in lattices:
        found = pool_people(each)
        print(f"{each.model},{time.perf_counter() - begun:.1f},{found.diagnostics.divergences}")
        begun = time.perf_counter()
    mixture = mix_models(lattices)
    print(f"mixture,{time.perf_counter() - begun:.1f},{mixture.diagnostics.divergences}")


def time_the_task(folder: Path) -> pd.DataFrame:
    """Do the same in a new process that has nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        flags = {"PYTENSOR_FLAGS": f"base_compiledir={cache}"}
        command = [sys.executable, "-m", "benchmarks.pooling", "--run", str(folder), "--only-the-task"]
        begun = time.perf_counter()
        done = subprocess.run(command, env={**os.environ, **flags}, capture_output=True, text=True, check=True)
        total = time.perf_counter() - begun
    rows = [line.split(",") for line in done.stdout.splitlines()]
    table = pd.DataFrame(rows, columns=["part", "seconds", "divergences"]).astype({"seconds": float})
    everything = {"part": "everything, start of the process included", "seconds": round(total, 1), "divergences": ""}
    return pd.concat([table, pd.DataFrame([everything])], ignore_index=True)


# ------------------------------------------------------------------------------------------------- black boxes


class BlackBox(Op):
    """A number that PyTensor cannot look into."""

    def __init__(self, function: Callable[..., float]):
        self.function = function

    def make_node(self, *inputs: Any) -> Apply[Any]:
        return Apply(self, [pt.as_tensor_variable(each) for each in inputs], [pt.dscalar()])

    def perform(self, node: Apply[Any], inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.asarray(self.function(*inputs), dtype=np.float64)


def group_variables(prior: Scaled) -> tuple[Any, Any]:
    """Add the same priors of the group to the open model as the package has."""
    mean = pm.TruncatedNormal(
        "mean", prior.mean, prior.mean_sd, lower=prior.lowest_mean, upper=prior.highest_mean, shape=len(prior.mean)
    )
    log_excess = pm.Normal("log_excess", prior.log_excess, prior.log_excess_sd)
    spread = pm.Deterministic("spread", pt.sqrt(prior.least_spread**2 + pt.exp(2 * log_excess)))
    return mean, spread


def model_of_sums(lattices: Lattices | MergedLattices, prior: Scaled) -> pm.Model:
    """Return the group model with the sum over the lattice as a black box."""

    def log_likelihood(mean: NDArray[np.float64], spread: NDArray[np.float64]) -> float:
        return float(People(lattices, GroupDraws(mean[None], spread[None])).log_likelihood().sum())

    with pm.Model() as model:
        pm.Potential("people", BlackBox(log_likelihood)(*group_variables(prior)))
    return model


def model_of_people(lattices: Lattices, prior: Scaled) -> pm.Model:
    """Return the group model with everyone's parameters, and their likelihoods on the lattice as a black box."""
    axes = lattices.axes
    low, high, spacing = (np.array([getattr(axis, name) for axis in axes]) for name in ("low", "high", "spacing"))
    everyone, last = np.arange(len(lattices.subjects)), np.array([axis.nodes - 1 for axis in axes])

    def log_likelihood(positions: NDArray[np.float64]) -> float:
        nodes = np.clip(((positions - low) / spacing).astype(np.intp), 0, last)
        return float(lattices.log_likelihood[everyone, *nodes.T].sum())

    with pm.Model() as model:
        mean, spread = group_variables(prior)
        shape = (len(lattices.subjects), len(axes))
        positions = pm.TruncatedNormal("positions", mean, spread, lower=low, upper=high, shape=shape)
        pm.Potential("people", BlackBox(log_likelihood)(positions))
    return model


# ------------------------------------------------------------------------------------------------- the comparison


@dataclass(frozen=True)
class Way:
    """A way to sample: the model, PyMC's step method (NUTS by default), and how many steps a chain takes in a round."""

    name: str
    model: pm.Model
    step: Callable[[], Any] | None
    tune: int
    draws: int


def ways(lattices: Lattices) -> list[Way]:
    """Return all ways to the same posterior; the first is the package's own."""
    merged = merge(lattices)
    prior = scaled(GroupPrior(), merged.axes)
    own = Sampling()
    term = GroupTerm(lattices, merged, prior, {})
    return [
        Way("holmes_fit (NUTS)", group_model(term), None, own.tune, own.draws),
        Way("people", model_of_people(lattices, prior), pm.Slice, 200, 600),
        Way("sums", model_of_sums(lattices, prior), pm.Slice, 10, 30),
        Way("merged sums", model_of_sums(merged, prior), pm.Slice, 50, 150),
    ]


def sample(way: Way, seed: int) -> tuple[az.InferenceData, float, float, float]:
    """Return draws, the seconds of sampling, those with compilation, and those of the processor with compilation."""
    begun, processor = time.perf_counter(), time.process_time()
    settings: dict[str, Any] = {
        "draws": way.draws,
        "tune": way.tune,
        "chains": CHAINS,
        "cores": 1,
        "random_seed": seed,
        "progressbar": False,
        "compute_convergence_checks": False,
    }
    with way.model:
        if way.step is None:
            settings |= {"target_accept": Sampling().target_accept, "compile_kwargs": {"mode": MODE}}
        else:
            settings["step"] = way.step()
        idata = pm.sample(**settings)
    seconds = float(idata["posterior"].attrs["sampling_time"])
    return idata, seconds, time.perf_counter() - begun, time.process_time() - processor


def compare(lattices: Lattices, rounds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sample in all ways in turn, and return speeds, and how far the posteriors are apart."""
    rows: list[tuple[str, float, float, float, float]] = []
    kept: dict[str, list[Any]] = {}
    everything = ways(lattices)
    for number in range(rounds):
        for way in everything:
            idata, seconds, with_compilation, processor = sample(way, 100 + number)
            kept.setdefault(way.name, []).append(idata["posterior"][list(QUANTITIES)])
            ess = smallest_ess(idata["posterior"])
            rows.append((way.name, seconds, with_compilation, processor, ess / seconds))
            print(f"round {number + 1}, {way.name}: {ess:.0f} effective draws in {seconds:.0f} s", flush=True)
    by_round = pd.DataFrame(rows, columns=["way", "seconds", "with_compilation", "processor", "ess_per_second"])
    speeds = by_round.groupby("way", sort=False).agg(
        seconds=("seconds", "sum"),
        with_compilation=("with_compilation", "sum"),
        processor=("processor", "sum"),
        lowest=("ess_per_second", "min"),
        highest=("ess_per_second", "max"),
    )
    together = {name: joined(parts) for name, parts in kept.items()}
    speeds["ess"] = [smallest_ess(together[name]) for name in speeds.index]
    speeds["ess_per_second"] = speeds["ess"] / speeds["seconds"]
    speeds["ess_per_second_with_compilation"] = speeds["ess"] / speeds["with_compilation"]
    speeds["ess_per_processor_second"] = speeds["ess"] / speeds["processor"]
    for name in ("ess_per_second", "ess_per_second_with_compilation", "ess_per_processor_second"):
        speeds[name.replace("ess", "times_slower", 1)] = speeds[name].iloc[0] / speeds[name]
    reference, *others = together.items()
    agreement = [differences(name, posterior, reference[1]) for name, posterior in others]
    return speeds.reset_index(), pd.concat(agreement, ignore_index=True)


def joined(parts: list[Any]) -> Any:
    """Return the chains of all rounds as those of one posterior."""
    return xr.concat(parts, dim="chain").assign_coords(chain=np.arange(CHAINS * len(parts)))


def smallest_ess(posterior: Any) -> float:
    """Return the smallest number of effective draws over all means and spreads of the group."""
    found: Any = az.ess(posterior[list(QUANTITIES)])  # type: ignore[no-untyped-call]
    return min(float(found[name].min()) for name in QUANTITIES)


def differences(way: str, posterior: Any, reference: Any) -> pd.DataFrame:
    """Return means and SDs of both, and their difference in standard errors, a row for every parameter of the group."""
    tables = [az.summary(each, round_to="none") for each in (posterior, reference)]
    table = pd.DataFrame({"way": way, "quantity": tables[0].index})
    for name, error in (("mean", "mcse_mean"), ("sd", "mcse_sd")):
        one, other = (each[name].to_numpy() for each in tables)
        errors = np.hypot(*(each[error].to_numpy() for each in tables))
        table[name], table[f"{name}_of_reference"] = one, other
        table[f"{name}_errors_apart"] = (one - other) / errors
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--model", default="holmes")
    parser.add_argument("--only-the-task", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only_the_task:
        pool_all(given.run)
        return
    logging.getLogger("pymc").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        run = given.run or make_run(Path(folder))
        task = time_the_task(run)
        print(task.to_string(index=False), f"\nlimit: {LIMIT:g} seconds on two cores\n", flush=True)
        with threadpool_limits(1):
            speeds, agreement = compare(load_lattices(read_run(run), given.model), given.rounds)
    print(speeds.round(3).to_string(index=False), f"\nwanted: {WANTED:g} times\n")
    print(agreement.round(3).to_string(index=False))
    if given.keep is not None:
        for name, table in (("seconds", task), ("speeds", speeds), ("same_posterior", agreement)):
            table.to_csv(given.keep / f"{name}.csv", index=False)


if __name__ == "__main__":
    main()
