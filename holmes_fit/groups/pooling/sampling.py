"""NUTS over the parameters of a group, people integrated out.

The sampler is nutpie, written in Rust by PyMC's makers: chains are threads that never meet Python, so that they need no
processes, and draws depend on the seed but not on the number of cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import nutpie
from numpy.typing import NDArray

from holmes_fit._support.errors import Problems
from holmes_fit._support.progress import OnProgress
from holmes_fit.groups.pooling.density import Density
from holmes_fit.groups.pooling.native import POINT, Memory
from holmes_fit.groups.pooling.paired import PairedDensity, Steps
from holmes_fit.groups.posteriors import Posterior, draws_of, group_of, has_shapes, mixing, posterior_of
from holmes_fit.models.registry import check_count, is_number
from holmes_fit.runs.identity import RESULTS, RESULTS_VERSION
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.settings.pooling import PoolingSettings

if TYPE_CHECKING:
    import pymc as pm

JITTER = 1.0  # chains begin so far at most from the middle of the prior, in every direction
SOON = 0.02  # seconds after which chains are looked at again
KEPT = ("diverging", "depth", "n_steps", "step_size", "energy", "logp", "mean_tree_accept")  # of what nutpie says

LARGEST_R_HAT = 1.01
LEAST_ESS = 400
LEAST_OF = {"chains": 2, "tune": 1, "draws": 4, "seed": 0}  # with fewer chains or draws there are no diagnostics


@dataclass(frozen=True)
class Sampling:
    """How NUTS is run."""

    chains: int = 4  # the number of chains, and the steps of each that are for tuning, and that are kept
    tune: int = 500
    draws: int = 1000
    target_accept: float = 0.9  # how careful the steps are
    seed: int = 0  # chooses all draws
    cores: int | None = None  # threads; all usable cores by default. Results do not depend on it.

    def __post_init__(self) -> None:
        problems = Problems()
        for name, least in LEAST_OF.items():
            check_count(name, getattr(self, name), problems, least=least)
        if self.cores is not None:
            check_count("cores", self.cores, problems)
        if not is_number(self.target_accept) or not 0.5 <= self.target_accept < 1:
            problems.add("argument target_accept", self.target_accept, "a number from 0.5 to less than 1")
        problems.raise_if_any()

    @property
    def steps(self) -> int:
        return self.chains * (self.tune + self.draws)

    @property
    def identity(self) -> str:
        """All that draws depend on, beside the group model: settings, and what makes them."""
        settings = {name: value for name, value in asdict(self).items() if name != "cores"}
        return json.dumps(settings | {"nutpie": version("nutpie"), RESULTS: RESULTS_VERSION})


def sampling_of(said: PoolingSettings, seed: int, cores: int | None = None) -> Sampling:
    """Return how NUTS is run, as a preset has it."""
    return Sampling(said.chains, said.tune, said.draws, said.target_accept, seed, cores)


OnStep = Callable[[], None]


def counted(progress: OnProgress | None, total: int) -> OnStep | None:
    """Return what counts steps, and says how many are done of all."""
    if progress is None:
        return None
    numbers = count(1)
    return lambda: progress(next(numbers), total)


def nuts(density: Density | PairedDensity, sampling: Sampling, on_step: OnStep | None = None) -> Posterior:
    """Sample a group model: all chains, or none if Ctrl-C is pressed; ``on_step`` follows every step."""

    def begin(seed: int) -> NDArray[np.float64]:
        return density.middle + np.random.default_rng(seed).uniform(-JITTER, JITTER, len(density.middle))

    model, memory = density.for_nutpie(begin)
    sampler = nutpie.sample(
        model,
        draws=sampling.draws,
        tune=sampling.tune,
        chains=sampling.chains,
        cores=min(sampling.chains, sampling.cores or usable_cores()),
        seed=sampling.seed,
        target_accept=sampling.target_accept,
        progress_bar=False,
        save_warmup=False,
        blocking=False,
    )
    try:
        found = _watched(sampler, memory, sampling.steps, on_step or (lambda: None))
    except BaseException:
        sampler.cancel()
        raise
    points = found["posterior"][POINT].values
    stats = {name: found["sample_stats"][name].values for name in KEPT}
    draws = draws_of(density.variables(points), density.coords, density.dims)
    draws.attrs |= {"density": density.digest, "sampling": sampling.identity, "pymc": version("pymc")}
    return posterior_of({"posterior": draws, "sample_stats": draws_of(stats)})


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """A group model that NUTS has walked on."""

    density: Any  # Density or PairedDensity
    idata: Posterior  # the draws
    diagnostics: Diagnostics
    is_new: bool = True  # whether NUTS was run, or the draws are those of an earlier time

    @cached_property
    def pymc(self) -> pm.Model:
        """The same group model in PyMC, to read, to change, or to sample in another way."""
        from holmes_fit.groups.pooling.model import pymc_model

        return pymc_model(self.density)


def nuts_once(
    density: Density | PairedDensity,
    sampling: Sampling,
    kept: Posterior | None = None,
    on_step: OnStep | None = None,
) -> Sampled:
    """Return the draws that were kept, if they are of the same model and sampling, or else new ones."""
    found = None if kept is None else _draws_of(kept, density, sampling)
    idata = nuts(density, sampling, on_step) if found is None else found
    return Sampled(density=density, idata=idata, diagnostics=diagnose(idata), is_new=found is None)


def _draws_of(kept: Posterior, density: Density | PairedDensity, sampling: Sampling) -> Posterior | None:
    """Return what NUTS has left of just this model and sampling; nothing if it is of another."""
    wanted = {"density": density.digest, "sampling": sampling.identity}
    if any(kept["posterior"].attrs.get(name) != value for name, value in wanted.items()):
        return None
    each = (sampling.chains, sampling.draws)
    shapes = {name: own.shape for name, own in density.variables(np.zeros((*each, len(density.middle)))).items()}
    is_whole = has_shapes(kept, "posterior", shapes) and has_shapes(kept, "sample_stats", {"diverging": each})
    return posterior_of({name: group_of(kept, name) for name in ("posterior", "sample_stats")}) if is_whole else None


def _watched(sampler: Any, memory: Memory | Steps, total: int, on_step: OnStep) -> Posterior:
    """Wait for the chains here, where Ctrl-C arrives, and say how far they are."""
    said, found = 0, None
    while found is None:
        with suppress(TimeoutError):
            found = sampler.wait(timeout=SOON)
        for _ in range(said, memory.steps if found is None else total):
            said += 1
            on_step()
    return found


@dataclass(frozen=True)
class Diagnostics:
    """Whether NUTS has done its work: the worst over all variables."""

    divergences: int
    r_hat: float
    ess_bulk: float
    ess_tail: float

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        found = []
        if self.divergences:
            found.append(f"{self.divergences} divergences: parts of the posterior may not have been reached")
        if not self.r_hat < LARGEST_R_HAT:
            found.append(f"R-hat {self.r_hat:.3f}, not below {LARGEST_R_HAT}: the chains disagree; take more draws")
        if not min(self.ess_bulk, self.ess_tail) > LEAST_ESS:
            found.append(
                f"effective draws {self.ess_bulk:.0f} (bulk) and {self.ess_tail:.0f} (tail), not above {LEAST_ESS}: "
                "take more draws"
            )
        return found


def diagnose(idata: Posterior) -> Diagnostics:
    """Return the worst diagnostics of a sampled posterior."""
    return Diagnostics(int(idata["sample_stats"]["diverging"].sum()), **mixing(group_of(idata, "posterior")))
