"""What is asked of a plan, checked before any work begins: numbers of trials and people, and how they are fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit.fitting.cohort import check_workers
from holmes_fit.fitting.request import Request, request_fit
from holmes_fit.models.registry import check_count
from holmes_fit.runs.folder import Run, open_run
from holmes_fit.runs.records import Key
from holmes_fit.settings.distributions import FEWEST_IN_GROUP
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.planning.lengths import MOST_TRIALS, possible_trials, step_of, with_trials
from holmes_fit.studies.recovery.setup import RecoverySetup, set_up_recovery
from holmes_fit.studies.simulation import with_generator
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.schema import Protocol

KIND = "plan"
DONE: Key = (KIND, "tables")  # the record that is there when all tables are
SUBJECTS = (10, 20, 40, 80)
PEOPLE = 24
LARGEST_GROUP = 1000
NO_GENERATOR = "It says how trials are made; without it, there is nothing to make longer or shorter."


@dataclass(frozen=True)
class Question:
    """A plan to be made. Get one from :func:`ask`, which checks it."""

    protocol: Protocol  # with the number of trials that it comes with
    studies: Mapping[int, RecoverySetup]  # by the number of trials; it is the same people for each
    subjects: tuple[int, ...]  # the sizes of groups
    people: int  # how many each model simulates
    fits: Request  # how everyone is fitted

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(model.name for model in self.fits.models)

    def open(self, out: str | PathLike[str], command: str = "holmes_fit.plan") -> AbstractContextManager[Run]:
        """Open the folder of the plan: a new one, or one with the same people, whatever the numbers of trials were."""
        return open_run(out, identity=self.identity(), about=self.fits.about(command), keys=[DONE])

    def identity(self) -> dict[str, object]:
        """Return everything that fits depend on, but for the number of trials: a folder can hold any."""
        own = {name: value for name, value in self.fits.identity().items() if name not in ("kind", "trials")}
        return {"kind": KIND, "people": self.people, **own}


def ask(
    protocol: Protocol | str | Path,
    trials: Sequence[int],
    subjects: Sequence[int] = SUBJECTS,
    *,
    models: Sequence[str] = ("flat", "holmes"),
    people: int = PEOPLE,
    preset: str | Path | Preset = "default",
    seed: int = 0,
    workers: int | None = None,
    dask: str | None = None,
) -> Question:
    """Check what is asked for, and simulate the people. The parameters are those of :func:`holmes_fit.plan`."""
    problems = Problems()
    loaded: Any = None  # whatever is wrong with it, the rest is looked at, too
    with problems.collected():
        loaded = with_generator(protocol, problems, NO_GENERATOR)
    lengths = _counts("trials", trials, 1, MOST_TRIALS, problems)
    sizes = _counts("subjects", subjects, 2, LARGEST_GROUP, problems)
    check_count("people", people, problems, least=FEWEST_IN_GROUP)
    fits = None
    with problems.collected():  # whoever is fitted comes later
        fits = request_fit(Cohort(loaded, pd.DataFrame(), (), pd.DataFrame()), models, preset=preset, seed=seed)
    with problems.collected():
        check_workers(workers, dask)
    resized = {} if loaded is None or loaded.generator is None else _resized(loaded, lengths, problems)
    problems.raise_if_any()
    assert fits is not None
    studies = {
        length: set_up_recovery(own, models=models, subjects=people, preset=fits.preset, seed=seed)
        for length, own in sorted(resized.items())
    }
    return Question(loaded, studies, tuple(sorted(sizes)), people, fits)


def _counts(name: str, values: object, least: int, most: int, problems: Problems) -> list[int]:
    """Return the whole numbers in a list, after complaining about everything else."""
    listed = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    allowed = f"whole numbers from {least} to {most}"
    if not listed:
        problems.add(f"argument {name}", Quoted("nothing"), allowed)
    found: list[int] = []
    for value in listed:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
            problems.add(f"argument {name}", value, allowed)
        elif value in found:
            problems.add(f"argument {name}", value, "each number once")
        else:
            found.append(int(value))
    return found


def _resized(protocol: Protocol, lengths: Sequence[int], problems: Problems) -> dict[int, Protocol]:
    found = {}
    for length in lengths:
        resized = with_trials(protocol, length)
        if resized is None:
            possible = ", ".join(map(str, possible_trials(protocol, length))) or "none"
            advice = f"One step is {step_of(protocol)}."
            allowed = f"a number of trials that the protocol {protocol.name} can have, such as {possible}"
            problems.add("argument trials", length, allowed, advice)
        else:
            found[length] = resized
    return found
