"""Designs side by side: which task says most about the models, by the trial and by the minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import Problems, Quoted
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.numbers import listed
from holmes_fit._support.progress import Watched
from holmes_fit.fitting.cohort import do_in, read_fits
from holmes_fit.models.registry import is_number
from holmes_fit.runs.schema import of
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.planning.lengths import own_trials
from holmes_fit.studies.planning.study import NO_GENERATOR, PEOPLE, Question, StudyPlan, ask, carry_out_plan
from holmes_fit.studies.recovery.choosing import evidences_of
from holmes_fit.studies.recovery.results import cohort_folder
from holmes_fit.studies.simulation import with_generator
from holmes_fit.studies.statistics import Estimate, bootstrapped, share
from holmes_fit.trials.protocols.schema import Protocol

DESIGNS = "designs.csv"
SECONDS = 5.0  # that a trial takes, unless it is said
MINUTE = 60.0


@dataclass(frozen=True)
class Designs(InNotebook):
    """What designs say about the models, and the plan of each, which is in a folder of its own."""

    main_table: ClassVar = ("table",)

    plans: Mapping[str, StudyPlan]  # by protocol
    table: pd.DataFrame

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return next(iter(self.plans.values())).label

    @property
    def words(self) -> str:
        """Say which design tells best, for each pair of models, by the minute."""
        pairs = self.weaker.groupby(["one", "other"], sort=False)
        return "\n".join(_words(own[["one", "other"]].iloc[0], own) for _, own in pairs)

    @property
    def weaker(self) -> pd.DataFrame:
        """A row for each pair of models and design: the truth under which less speaks for it; the best design first."""
        pairs = pd.DataFrame(np.sort(self.table[["model", "against"]].to_numpy(dtype=str), axis=1))
        own = self.table.assign(one=pairs[0].to_numpy(), other=pairs[1].to_numpy())
        lowest = own.loc[own.groupby(["one", "other", "protocol"], sort=False)["per_minute"].idxmin()]
        return lowest.sort_values(["one", "other", "per_minute"], ascending=[True, True, False], ignore_index=True)


def plan_designs(
    protocols: Sequence[Protocol | str | Path],
    seconds: float | Sequence[float] = SECONDS,
    *,
    out: str | PathLike[str],
    models: Sequence[str] = ("flat", "holmes"),
    people: int = PEOPLE,
    preset: str | Path | Preset = "default",
    seed: int = 0,
    workers: int | None = None,
    dask: str | None = None,
    progress: Watched = True,
) -> Designs:
    """Say which of several designs tells the models apart best.

    For each design, as long as its protocol has it, people with parameters from the fitting priors are simulated from
    each model and fitted with all of them, as :func:`holmes_fit.plan` does it. What speaks for the true model is its
    log evidence less that of another one, in nats a person; it is divided by the number of trials, and by the minutes.

    Parameters
    ----------
    protocols
        The designs: protocols with a generator, their names, or paths of TOML files.
    seconds
        How long a trial takes: one number, or one for each design.
    out
        The folder: each design has a plan in a folder of its own in it, beside ``designs.csv``. The same call goes on
        where it was stopped, and other designs can be added.
    models, people, preset, seed, workers, dask, progress
        As for :func:`holmes_fit.plan`.

    Returns
    -------
    Designs
        The ``table``, the ``words``, and the ``plans`` by protocol.

    Raises
    ------
    InputError
        If an argument cannot be used, or the folder holds something else.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> models = ["rescorla_wagner", "bias"]  # which are fitted in a moment
    >>> designs = ["conditioning", "reversal"]
    >>> found = hf.plan_designs(designs, seconds=4, out="runs/designs", models=models, people=3, workers=1)
    >>> sorted(found.table["protocol"].unique())
    ['conditioning', 'reversal']
    """
    how = {"models": models, "people": people, "preset": preset, "seed": seed, "workers": workers, "dask": dask}
    questions, taken = _ask_all(protocols, seconds, how)
    plans = {
        name: StudyPlan(
            do_in(Path(out) / name, own, carry_out_plan, ("plan", name), progress, workers=workers, dask=dask)
        )
        for name, own in questions.items()
    }
    rows = [row for name, own in questions.items() for row in _rows(own, plans[name].folder, taken[name])]
    found = Designs(plans, pd.DataFrame(rows, columns=list(of(DESIGNS).columns)))
    write_table(found.table, Path(out) / DESIGNS)
    return found


def _ask_all(
    protocols: Sequence[Protocol | str | Path], seconds: float | Sequence[float], how: Mapping[str, object]
) -> tuple[dict[str, Question], dict[str, float]]:
    """Check all designs, before any of them is begun; return them, and the seconds of a trial."""
    problems, found = Problems(), dict[str, Question]()
    for each in protocols:
        with problems.collected():
            protocol = with_generator(each, problems, NO_GENERATOR)
            if protocol.name in found:
                problems.add("argument protocols", protocol.name, "designs with different names")
            elif protocol.generator is not None:
                found[protocol.name] = ask(protocol, [own_trials(protocol)], **how)  # type: ignore[arg-type]
    if not protocols:
        problems.add("argument protocols", Quoted("nothing"), "at least one design")
    given: list[Any] = list(seconds) if isinstance(seconds, list | tuple) else [seconds] * len(protocols)
    if len(given) != len(protocols) or not all(is_number(each) and each > 0 for each in given):
        problems.add("argument seconds", seconds, f"a number above 0, or one for each of {len(protocols)} designs")
    problems.raise_if_any()
    return found, dict(zip(found, given, strict=True))


def _rows(question: Question, folder: Path, seconds: float) -> Iterator[dict[str, object]]:
    """Give, for each pair of models, what speaks for the true one."""
    ((trials, _),) = question.studies.items()
    divided = {"evidence": 1.0, "per_trial": trials, "per_minute": trials * seconds / MINUTE}
    evidence = {
        model: evidences_of(read_fits(cohort_folder(folder / f"trials_{trials}", model)), question.models)
        for model in question.models
    }
    for model, against in permutations(question.models, 2):
        ahead = (evidence[model][model] - evidence[model][against]).to_numpy(dtype=np.float64)
        rng = np.random.default_rng(question.fits.seed)  # the same people are drawn for all designs
        mean = bootstrapped(lambda one, _: np.asarray(one.mean(axis=-1)), ahead, ahead, rng)
        measures = {name: Estimate(*(value / by for value in mean)) for name, by in divided.items()}
        measures["right"] = share(int(np.sum(ahead > 0)), len(ahead))
        yield {
            "protocol": question.protocol.name,
            "trials": trials,
            "minutes": divided["per_minute"],
            "model": model,
            "against": against,
            "people": len(ahead),
            **{f"{name}{end}": each for name, own in measures.items() for end, each in zip(ENDS, own, strict=True)},
        }


ENDS = ("", "_lower", "_upper")


def _words(pair: pd.Series[str], designs: pd.DataFrame) -> str:
    best = designs.iloc[0]
    text = (
        f"To tell {listed(list(pair))} apart, {best['protocol']} says most by the minute: {best['per_minute']:.3f} "
        f"nats (95% {best['per_minute_lower']:.3f} to {best['per_minute_upper']:.3f}) where {best['model']} is true, "
        "and no less where the other one is"
    )
    others = [f"{row.protocol} {row.per_minute:.3f}" for row in designs.iloc[1:].itertuples()]
    return text + (f"; then {', '.join(others)}." if others else ".")
