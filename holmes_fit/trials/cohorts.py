"""The cohort: a tidy trial table, and what each learner saw and chose."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem
from holmes_fit._support.notebooks import InNotebook
from holmes_fit.trials.observations import MISSED, Observations
from holmes_fit.trials.protocols.schema import Protocol

EXCLUSION_COLUMNS = ("subject", "rule", "seen", "allowed", "consequence")
ROWS_LEFT_OUT = "rows left out"  # the consequence of a rule that is about rows, whoever they are of


class Notice(NamedTuple):
    """Something about the data that should be looked at before anything is fitted."""

    kind: str
    text: str


@dataclass(frozen=True)
class Learner:
    """One person within one restart: everything that a model learns from, and the choices to be explained."""

    subject: str  # the person, as the file names them
    restart: str  # the value of the restart column, or ``"session=2, problem=1"`` with several; empty without any
    observations: Observations  # the cues, outcomes and feedback, in the order of the trials
    # For each trial 0 or 1, -1 for a missed answer; or a share of the scale on which answers are, NaN if missed
    choices: NDArray[np.int8] | NDArray[np.float64]
    rows: NDArray[np.intp]  # the rows of the cohort's trial table

    @property
    def answered(self) -> NDArray[np.bool_]:
        """The trials that were not missed."""
        return ~np.isnan(self.choices) if self.choices.dtype.kind == "f" else self.choices != MISSED


def hits(answers: pd.Series, outcomes: pd.Series) -> pd.Series:
    """Return how far each answer is towards the outcome: 1 if it equals it; empty where either is."""
    towards = answers.where(outcomes == 1, 1 - answers)
    return towards.where(answers.notna() & outcomes.notna()).astype("Float64")


@dataclass(frozen=True)
class Cohort(InNotebook):
    """Everyone who was read or simulated."""

    main_table: ClassVar = ("subjects",)

    protocol: Protocol  # how the data are coded
    # The tidy table, one row a trial: ``subject``, ``restart``, ``trial``, ``choice`` (or an answer as the share of its
    # scale; empty if missed), ``outcome`` (empty if unknown), ``feedback``, then restart columns, features, and
    # everything else that the file had
    trials: pd.DataFrame
    learners: tuple[Learner, ...]  # the same as arrays, a learner at a time
    subjects: pd.DataFrame  # one row a person: ``subject`` and the covariates
    # What the rules of the protocol took out: ``subject``, ``rule``, ``seen``, ``allowed``, ``consequence``
    exclusions: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(EXCLUSION_COLUMNS)))
    notes: tuple[str, ...] = ()  # what else is worth knowing about the reading
    notices: tuple[Notice, ...] = ()  # what is probably wrong with the data

    def __repr__(self) -> str:  # in a notebook; the trials would take pages
        return f"<Cohort: {len(self.subjects)} people, {len(self.trials):,} trials, protocol {self.protocol.name}>"


def build_cohort(
    trials: pd.DataFrame,
    protocol: Protocol,
    subjects: pd.DataFrame | None = None,
    exclusions: pd.DataFrame | None = None,
) -> Cohort:
    """Encode a tidy trial table, checked, in the order of the trials within each learner.

    ``restart`` is made from the restart columns if it is not there; ``subjects`` are only the names, if left out.
    """
    trials = in_tidy_order(trials.reset_index(drop=True), protocol)
    cues = encode_cues(trials, protocol)
    outcome = trials["outcome"].fillna(0).to_numpy(dtype=np.uint8)
    feedback = trials["feedback"].to_numpy(dtype=np.bool_)
    is_choice = protocol.response is None
    choices = trials["choice"].to_numpy(*((np.int8, False, MISSED) if is_choice else (np.float64, False, np.nan)))
    subject, restart = trials["subject"].to_numpy(dtype=object), trials["restart"].to_numpy(dtype=object)
    parts = tuple(part for feature in protocol.features.values() for part in feature.parts)
    learners = []
    for rows in _rows_of_learners(trials):
        seen = Observations(cues[rows], outcome[rows], feedback[rows], protocol.length_normalized, parts)
        learners.append(Learner(str(subject[rows[0]]), str(restart[rows[0]]), seen, choices[rows], rows))
    return Cohort(
        protocol=protocol,
        trials=trials,
        learners=tuple(learners),
        subjects=trials[["subject"]].drop_duplicates(ignore_index=True) if subjects is None else subjects,
        exclusions=pd.DataFrame(columns=list(EXCLUSION_COLUMNS)) if exclusions is None else exclusions,
    )


def _rows_of_learners(trials: pd.DataFrame) -> list[NDArray[np.intp]]:
    """Return the rows of each learner, learners as they first appear, rows in their order."""
    number = trials.groupby(["subject", "restart"], sort=False).ngroup().to_numpy()
    ends = np.cumsum(np.bincount(number))
    return np.split(np.argsort(number, kind="stable"), ends[:-1])


def encode_cues(trials: pd.DataFrame, protocol: Protocol) -> NDArray[np.uint8]:
    """Return the binary cues, trials x cues, in the order of the protocol's features."""
    parts = [np.empty((len(trials), 0), dtype=np.uint8)]
    for name, feature in protocol.features.items():
        bits = {feature.tidy[label]: code for label, code in feature.bits.items()}
        position = pd.Index(list(bits)).get_indexer(pd.Index(trials[name]))
        if (position < 0).any():
            row = int(np.argmax(position < 0))
            seen = repr(trials[name].iloc[row])
            raise InputError([Problem(f"trial table, row {row}, column {name}", seen, ", ".join(map(repr, bits)))])
        parts.append(np.array(list(bits.values()), dtype=np.uint8)[position])
    return np.ascontiguousarray(np.hstack(parts))


def restart_labels(parts: dict[str, NDArray[np.object_]], n: int) -> NDArray[np.object_]:
    """Return a label for each row that differs wherever any of the restart columns does."""
    if not parts:
        return np.full(n, "", dtype=object)
    if len(parts) == 1:
        return next(iter(parts.values()))
    combined = pd.MultiIndex.from_arrays(list(parts.values()), names=list(parts))
    codes, distinct = combined.factorize()
    labels = [
        ", ".join(f"{name}={_escaped(value)}" for name, value in zip(parts, row, strict=True)) for row in distinct
    ]
    of_row: NDArray[np.object_] = np.array(labels, dtype=object)[codes]
    return of_row


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,")


def in_tidy_order(trials: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Return the table with its own columns first, in their order and with their types."""
    trials = trials.copy(deep=False)
    if "restart" not in trials:
        parts = {name: trials[name].to_numpy(dtype=object) for name in protocol.columns.restart}
        trials["restart"] = pd.array(restart_labels(parts, len(trials)), dtype="str")
    answers = "Int8" if protocol.response is None else "Float64"
    types = {"choice": answers, "outcome": "Int8", "feedback": "bool", "trial": "int64"}
    first = ("subject", "restart", "trial", "choice", "outcome", "feedback")
    order = dict.fromkeys([*first, *protocol.columns.restart, *protocol.features, *trials.columns])
    return trials[list(order)].astype(types)
