"""People with known parameters on the trials of a protocol, or on those that real people have seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from holmes_fit._support.errors import InputError, Problem, shown
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.studies.recovery.truths import Truth
from holmes_fit.studies.simulation.people import SOURCE, simulated_choices
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol

NOT_COPIED = ("choice", "excluded_choice", "subject")


@dataclass(frozen=True)
class Generated:
    """Everyone has trials of their own, made by the protocol."""

    protocol: Protocol
    seed: int

    def trials_of(self, truth: Truth) -> pd.DataFrame:
        rng = np.random.default_rng(int(stream_key(self.seed, f"recover/{truth.subject}/trials")))
        trials = generate_trials(self.protocol, rng)
        trials["outcome"] = trials["outcome"].astype("Int8")
        return trials.assign(choice=pd.array([0] * len(trials), dtype="Int8"))


@dataclass(frozen=True)
class Copied:
    """Everyone has the trials of someone in a cohort, and gives no answer where they gave none."""

    cohort: Cohort

    def __post_init__(self) -> None:
        if not isinstance(self.cohort, Cohort):
            advice = "holmes_fit.read_cohort makes one of files or a DataFrame."
            raise InputError([Problem("argument like", shown(self.cohort), "a cohort", advice)])

    @property
    def protocol(self) -> Protocol:
        return self.cohort.protocol

    def trials_of(self, truth: Truth) -> pd.DataFrame:
        trials = self.cohort.trials[self.cohort.trials["subject"] == truth.like]
        kept = [name for name in trials.columns if name not in NOT_COPIED]
        return trials[kept].reset_index(drop=True).assign(choice=trials["choice"].array)


# Where the trials of simulated people come from. An answer is missing where none is given, and anything elsewhere.
Sequences = Generated | Copied


def simulate_people(
    truths: Sequence[Truth],
    sequences: Sequences,
    *,
    seed: int,
    observer: Observer | None = None,
    averaged: int = 1,
) -> Cohort:
    """Let people with known parameters answer the trials of some sequences; no fit uses the same draws.

    ``averaged`` is the number of filters whose predictions are averaged before an answer: 1, except for averaged
    observers.
    """
    protocol = sequences.protocol
    tables = []
    for truth in truths:
        trials = sequences.trials_of(truth)
        trials.insert(0, "subject", truth.subject)
        if SOURCE not in trials and SOURCE not in protocol.required_columns:
            trials[SOURCE] = "simulated"
        learners = build_cohort(trials, protocol).learners
        person = f"recover/{truth.subject}"
        chosen = simulated_choices(
            MODELS[truth.model], truth.values, learners, observer or Observer(), seed, person, averaged
        )
        trials["choice"] = pd.arrays.IntegerArray(chosen, trials["choice"].isna().to_numpy())
        tables.append(trials)
    return build_cohort(pd.concat(tables, ignore_index=True), protocol)
