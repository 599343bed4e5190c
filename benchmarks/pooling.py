"""How fast is pooling, and how fast would it be in PyMC the plain way?

First, the seconds that ``holmes-fit pool`` and ``holmes-fit compare`` take, start of the process included, for 6 and 25
people with two models: with nothing compiled, not even the particle filter, and again in other processes that find
what was compiled. Then one group model, in turn and on one core: sampled as the package does it, and by PyMC's slice
sampler, which it takes itself where a model has no gradient, with the same likelihood as a black box in three forms:

- ``people``: everyone's parameters are variables of the model beside those of the group, as in a textbook; the black
  box looks their likelihoods up on the lattice.
- ``sums``: the black box is the sum over the lattice as it was fitted, in NumPy; only the group is sampled.
- ``merged sums``: likewise, but over the merged lattice that the package samples on.

Run with ``python -m benchmarks.pooling``; nothing else should be running. ``--only-times`` leaves out the second part,
``--keep FOLDER`` writes the tables there.
"""

import logging
import shutil
import tempfile
import time
from collections.abc import Callable
from itertools import product
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

from benchmarks import command
from benchmarks.whole_way import call
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.pooling.compiled import Scaled
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.draws import GroupDraws, People
from holmes_fit.groups.pooling.lattices import Lattices, MergedLattices, load_lattices, merge
from holmes_fit.groups.pooling.priors import GroupPrior, scaled
from holmes_fit.groups.pooling.sampling import Sampling, nuts
from holmes_fit.runs.folder import read_run
from holmes_fit.studies.simulation import simulate

LIMITS = {"nothing": {6: 30, 25: 60}, "everything": {6: 15, 25: 40}}  # seconds of both commands, on two cores
ROUNDS = 2
CHAINS = 4
WANTED = 100.0  # times the effective draws a second of a black box
MODELS = ("flat", "holmes")
QUANTITIES = ("mean", "spread")


def make_run(folder: Path, people: int) -> Path:
    """Simulate people and fit them quickly."""
    cohort = simulate("compositional_3", "holmes", people, {"omega": "lognormal:0.3,0.5"}, seed=7).cohort
    fit(cohort, list(MODELS), folder, preset="quick", workers=2)
    return folder


def time_commands(run: Path, people: int) -> pd.DataFrame:
    """Pool and compare copies of a run, first with nothing compiled, then with what that has left."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cache = {"NUMBA_CACHE_DIR": f"{folder}/numba", "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor"}
        for state in LIMITS:
            copy = shutil.copytree(run, Path(folder) / state)
            for command in ("pool", "compare"):
                rows.append(
                    {"people": people, "compiled": state, "command": command, **call([command, str(copy)], cache)}
                )
    return pd.DataFrame(rows)


def both_commands(table: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of both commands together, and how many they may take."""
    total = table.groupby(["people", "compiled"], sort=False)["seconds"].sum().reset_index()
    total["limit"] = [LIMITS[state][people] for people, state in zip(total["people"], total["compiled"], strict=True)]
    return total


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


def ways(lattices: Lattices) -> dict[str, Callable[[int], tuple[az.InferenceData, float]]]:
    """Return all ways to the same posterior; the first is the package's own.

    Each takes a seed and returns draws and the seconds of sampling, without those of compiling where it can tell. The
    slice sampler of PyMC takes as many steps of tuning and draws in a round as it can be waited for.
    """
    merged = merge(lattices)
    prior = scaled(GroupPrior(), merged.axes)
    density = Density([GroupTerm(lattices, merged, prior, {}, {})])
    return {
        "holmes_fit (NUTS)": lambda seed: by_nuts(density, seed),
        "people": lambda seed: by_slices(model_of_people(lattices, prior), 200, 600, seed),
        "sums": lambda seed: by_slices(model_of_sums(lattices, prior), 10, 30, seed),
        "merged sums": lambda seed: by_slices(model_of_sums(merged, prior), 50, 150, seed),
    }


def by_nuts(density: Density, seed: int) -> tuple[az.InferenceData, float]:
    """Sample as the package does, on one core."""
    begun = time.perf_counter()
    idata = nuts(density, Sampling(chains=CHAINS, seed=seed, cores=1))
    return idata, time.perf_counter() - begun


def by_slices(model: pm.Model, tune: int, draws: int, seed: int) -> tuple[az.InferenceData, float]:
    """Sample with PyMC's slice sampler, on one core."""
    quietly: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False}
    with model:
        idata = pm.sample(draws, tune=tune, chains=CHAINS, cores=1, step=pm.Slice(), random_seed=seed, **quietly)
    return idata, float(idata["posterior"].attrs["sampling_time"])


def compare(lattices: Lattices, rounds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sample in all ways in turn, and return speeds, and how far the posteriors are apart."""
    rows: list[dict[str, Any]] = []
    kept: dict[str, list[Any]] = {}
    for number, (name, sample) in product(range(rounds), ways(lattices).items()):
        begun, processor = time.perf_counter(), time.process_time()
        idata, seconds = sample(100 + number)
        row = {"way": name, "seconds": seconds, "with_compilation": time.perf_counter() - begun}
        row["processor"] = time.process_time() - processor
        kept.setdefault(name, []).append(idata["posterior"][list(QUANTITIES)])
        ess = smallest_ess(idata["posterior"])
        rows.append(row | {"lowest": ess / seconds, "highest": ess / seconds})
        print(f"round {number + 1}, {name}: {ess:.0f} effective draws in {seconds:.0f} s", flush=True)
    of_rounds = {"seconds": "sum", "with_compilation": "sum", "processor": "sum", "lowest": "min", "highest": "max"}
    speeds = pd.DataFrame(rows).groupby("way", sort=False).agg(of_rounds)
    together = {name: joined(parts) for name, parts in kept.items()}
    speeds["ess"] = [smallest_ess(together[name]) for name in speeds.index]
    rates = {"second": "seconds", "second_with_compilation": "with_compilation", "processor_second": "processor"}
    for name, taken in rates.items():
        speeds[f"ess_per_{name}"] = speeds["ess"] / speeds[taken]
    for name in rates:
        speeds[f"times_slower_per_{name}"] = speeds[f"ess_per_{name}"].iloc[0] / speeds[f"ess_per_{name}"]
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


def main(only_times: bool = False, keep: Path | None = None, rounds: int = ROUNDS, model: str = "holmes") -> None:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        sizes = tuple(LIMITS["nothing"])
        runs = {people: make_run(Path(folder) / str(people), people) for people in sizes}
        tables["seconds"] = pd.concat([time_commands(run, people) for people, run in runs.items()], ignore_index=True)
        print(tables["seconds"].to_string(index=False), "\n", flush=True)
        print(both_commands(tables["seconds"]).to_string(index=False), "\n", flush=True)
        if not only_times:
            with threadpool_limits(1):
                lattices = load_lattices(read_run(runs[max(sizes)]), model)
                tables["speeds"], tables["same_posterior"] = compare(lattices, rounds)
            print(tables["speeds"].round(3).to_string(index=False), f"\nwanted: {WANTED:g} times\n")
            print(tables["same_posterior"].round(3).to_string(index=False))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.to_csv(keep / f"{name}.csv", index=False)


if __name__ == "__main__":
    command(main)
