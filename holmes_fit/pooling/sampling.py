"""The group model in PyMC, people integrated out, and NUTS over what is left: the parameters of the group."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.compile.sharedvalue import shared
from pytensor.configdefaults import config

from holmes_fit.errors import Problems
from holmes_fit.models import check_count, is_number
from holmes_fit.pooling.contraction import LEAST, WeightedSums
from holmes_fit.pooling.draws import TINY, Designs, GroupDraws
from holmes_fit.pooling.lattices import Lattices, MergedAxis, MergedLattices
from holmes_fit.pooling.priors import Scaled
from holmes_fit.progress import OnProgress
from holmes_fit.workers import usable_cores

# PyTensor's default wants a C++ compiler, and finds no BLAS.
MODE = "NUMBA"
OTHER_MODE = "FAST_COMPILE"  # for what is hardly ever computed, such as where chains begin

LARGEST_R_HAT = 1.01
LEAST_ESS = 400
LEAST_OF = {"chains": 2, "tune": 1, "draws": 4, "seed": 0}  # with fewer chains or draws there are no diagnostics


@dataclass(frozen=True)
class Sampling:
    """How NUTS is run.

    Parameters
    ----------
    chains, tune, draws
        The number of chains, and the steps of each that are for tuning, and that are kept.
    target_accept
        How careful the steps are.
    seed
        Chooses all draws.
    cores
        Processes; all usable cores by default. Results do not depend on it.
    """

    chains: int = 4
    tune: int = 500
    draws: int = 1000
    target_accept: float = 0.9
    seed: int = 0
    cores: int | None = None

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
        """The steps of all chains."""
        return self.chains * (self.tune + self.draws)


@dataclass(frozen=True)
class GroupTerm:
    """The part of a PyMC model that belongs to one latent-cause model.

    Parameters
    ----------
    lattices, merged, prior, designs
        What it is made of.
    label
        Stands before the names of its variables where there are several such parts.
    """

    lattices: Lattices
    merged: MergedLattices
    prior: Scaled
    designs: Designs
    label: str = ""

    def named(self, name: str) -> str:
        """Return the name of one of its variables."""
        return f"{self.label}_{name}" if self.label else name

    @property
    def coords(self) -> dict[str, Sequence[str]]:
        """What the dimensions of its variables are called, apart from the columns of designs."""
        return {self.named("parameter"): self.lattices.names}

    def log_likelihood(self) -> Any:
        """Add its variables to the open PyMC model, and return the log-likelihood of every person."""
        prior, dims = self.prior, self.named("parameter")
        if not self.merged.axes:
            return self._highest
        mean = pm.TruncatedNormal(
            self.named("mean"), prior.mean, prior.mean_sd, lower=prior.lowest_mean, upper=prior.highest_mean, dims=dims
        )
        # A spread that ran into zero between two nodes would make the likelihood a staircase, and one that was cut off
        # would pile up at the edge. This one has none: an excess far below the floor changes nothing.
        log_excess = pm.Normal(self.named("log_excess"), prior.log_excess, prior.log_excess_sd, dims=dims)
        spread = pt.sqrt(_shared(prior.least_spread**2) + pt.exp(2 * log_excess))
        spread = pm.Deterministic(self.named("spread"), spread, dims=dims)
        personal, common = self._personal, self._common
        weights = self._weights(common, self._chosen(mean, common), spread) if common else []
        if personal:
            centres = pt.stack([mean[number] + self._effect(number) for number in personal], axis=-1)
            left, right = self._weights(personal, centres, spread), weights
        else:
            half = len(weights) // 2
            left, right = weights[:half], weights[half:]
        by_person = pt.ones((len(self.merged.highest), 1)) * _jointly(left)
        total = WeightedSums().make_node(self._likelihood, by_person, _jointly(right)).outputs[0]
        return pt.log(pt.maximum(total, LEAST)) + self._highest

    def replace_people(self, merged: MergedLattices) -> None:
        """Put as many other people in the place of these, in everything that was compiled with them."""
        if merged.likelihood.shape != self.merged.likelihood.shape:
            raise ValueError(f"lattices of shape {merged.likelihood.shape}, not {self.merged.likelihood.shape}")
        self._highest.set_value(merged.highest)
        self._likelihood.set_value(self._arranged(merged))

    @cached_property
    def _highest(self) -> Any:
        return _shared(self.merged.highest)

    @cached_property
    def _likelihood(self) -> Any:
        return shared(self._arranged(self.merged))

    def _arranged(self, merged: MergedLattices) -> NDArray[np.float32]:
        """Return likelihoods as people x rows x columns: the axes in two groups that are weighted jointly."""
        order = [*self._personal, *self._common]
        n_left = len(self._personal) or len(self._common) // 2
        rows = int(np.prod([merged.axes[number].nodes for number in order[:n_left]], dtype=np.int64))
        in_order = np.transpose(merged.likelihood, (0, *(number + 1 for number in order)))
        return np.ascontiguousarray(in_order.reshape(len(in_order), rows, -1), dtype=np.float32)

    @property
    def _personal(self) -> list[int]:
        """The numbers of the parameters whose mean depends on the person."""
        return sorted(self.designs)

    @property
    def _common(self) -> list[int]:
        return [number for number in range(len(self.merged.axes)) if number not in self.designs]

    def _effect(self, number: int) -> Any:
        name = self.lattices.names[number]
        scale, dims = self.prior.effect_sd[number], self.named(f"effect_of_{name}")
        effects = pm.Normal(self.named(f"effect_{name}"), 0.0, scale, dims=dims)
        return pt.dot(_shared(self.designs[number]), effects)

    def _weights(self, numbers: list[int], mean: Any, spread: Any) -> list[Any]:
        return _weights([self.merged.axes[number] for number in numbers], mean, self._chosen(spread, numbers))

    def _chosen(self, values: Any, numbers: list[int]) -> Any:
        """Return the values of some parameters."""
        every = np.eye(len(self.merged.axes))
        return values if numbers == list(range(len(every))) else pt.dot(values, _shared(every[:, numbers]))

    def draws(self, posterior: Any) -> GroupDraws:
        """Return its variables from a posterior that was sampled, chain after chain."""

        def flat(name: str) -> NDArray[np.float64]:
            values = posterior[self.named(name)].values
            return values.reshape(-1, values.shape[-1])

        if not self.merged.axes:
            empty = np.empty((posterior.sizes["chain"] * posterior.sizes["draw"], 0))
            return GroupDraws(empty, empty)
        effects = {number: flat(f"effect_{self.lattices.names[number]}") for number in self.designs}
        return GroupDraws(flat("mean"), flat("spread"), effects)


def _weights(axes: Sequence[MergedAxis], mean: Any, spread: Any) -> list[Any]:
    """Return the weights of the group in the merged cells of each axis, by person where the means are.

    The density is narrower by what merging has blurred (see ``MergedAxis``), and restricted to the lattice. All axes
    are one long vector, and everything is spread over it and gathered from it by products with matrices of 0 and 1, as
    every operation takes time to compile: indexing and its gradient take longest.
    """
    numbers = np.arange(len(axes))
    axis_of = np.repeat(numbers, [axis.axis.nodes for axis in axes])
    on_axis = _shared(np.equal.outer(numbers, axis_of))
    positions = _shared(np.concatenate([axis.axis.positions for axis in axes]))
    variance = spread**2 - _shared([axis.lost_variance for axis in axes])
    density = pt.exp(-0.5 * (positions - pt.dot(mean, on_axis)) ** 2 / pt.dot(variance, on_axis))
    total = pt.maximum(pt.dot(density, on_axis.T), TINY)
    share = density / pt.dot(total, on_axis)
    return [pt.dot(share, _shared(_cells(axis, axis_of == number))) for number, axis in enumerate(axes)]


def _cells(axis: MergedAxis, is_own: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of all nodes belong to which merged cell of an axis, whose own nodes are marked."""
    found = np.zeros((len(is_own), axis.nodes), dtype=np.bool_)
    found[is_own] = np.equal.outer(axis.cell_of, np.arange(axis.nodes))
    return found


def _shared(values: Any) -> Any:
    """Return data as an input of the compiled function, so that it need not be compiled again for other data."""
    return shared(np.asarray(values, dtype=np.float64))


def _jointly(weights: list[Any]) -> Any:
    """Return the products of the weights of all combinations of nodes, the last axis running fastest."""
    if not weights:
        return pt.ones(1)
    joint, *others = weights
    for each in others:
        both = joint[..., :, None] * each[..., None, :]
        joint = both.reshape((-1,)) if both.ndim == 2 else both.reshape((both.shape[0], -1))
    return joint


OnStep = Callable[[], None]


def counted(progress: OnProgress | None, total: int) -> OnStep | None:
    """Return what counts steps, and says how many are done of all."""
    if progress is None:
        return None
    numbers = count(1)
    return lambda: progress(next(numbers), total)


def nuts(model: pm.Model, sampling: Sampling, on_step: OnStep | None = None) -> az.InferenceData:
    """Sample a model. What PyMC says meanwhile is left out: the diagnostics are part of every result.

    Parameters
    ----------
    model
        The model.
    sampling
        How NUTS is run.
    on_step
        Called after every step of every chain, ``sampling.steps`` in all.
    """
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with (
            _all_or_nothing() as check,
            model,
            warnings.catch_warnings(),
            config.change_flags(mode=OTHER_MODE),
        ):
            warnings.simplefilter("ignore")

            def after_step(**_: Any) -> None:
                check()
                if on_step is not None:
                    on_step()

            return pm.sample(
                draws=sampling.draws,
                tune=sampling.tune,
                chains=sampling.chains,
                cores=min(sampling.chains, sampling.cores or usable_cores()),
                random_seed=sampling.seed,
                target_accept=sampling.target_accept,
                progressbar=False,
                compute_convergence_checks=False,
                callback=after_step,
                compile_kwargs={"mode": MODE},
            )
    finally:
        logger.setLevel(level)


@contextmanager
def _all_or_nothing() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C end what is done here. PyMC would end one chain, and give the draws of the others as if it were all.

    Gives what is called meanwhile, now and then, so that other chains are not begun.
    """
    arrived: list[int] = []
    handler = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        arrived.append(number)
        if callable(handler):
            handler(number, frame)

    def check() -> None:
        if arrived:
            raise KeyboardInterrupt

    watches = threading.current_thread() is threading.main_thread() and callable(handler)
    if watches:
        signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        if watches:
            signal.signal(signal.SIGINT, handler)
        check()  # also where too few draws were an error


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


def diagnose(idata: az.InferenceData) -> Diagnostics:
    """Return the worst diagnostics of a sampled posterior."""
    summary = az.summary(idata, kind="diagnostics", round_to="none")
    return Diagnostics(
        divergences=int(idata["sample_stats"]["diverging"].sum()),
        r_hat=float(summary["r_hat"].max()),
        ess_bulk=float(summary["ess_bulk"].min()),
        ess_tail=float(summary["ess_tail"].min()),
    )
