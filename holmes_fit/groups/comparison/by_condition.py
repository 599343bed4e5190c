"""Which model describes people in each condition, and in all of them together: by the evidences of single people.

Frequencies are those of random-effects model selection, a draw of the evidences' Monte Carlo errors in each draw. The
evidence of a condition is as if there were no other; that of all of them takes what is shared as shared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from holmes_fit._support.errors import plain
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.numbers import listed, probability, share
from holmes_fit.fitting.summary import NOISY
from holmes_fit.groups.comparison.omnibus import DRAWS, FAVOURED, RandomEffects, imputed, random_effects_of
from holmes_fit.groups.pooling.lattices import Lattices, check_same_people, load_conditions
from holmes_fit.groups.pooling.mixture import EvidenceErrors, check_mixture, errors_of
from holmes_fit.groups.pooling.results import INPUTS
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.folder import Run
from holmes_fit.runs.knowledge import summary
from holmes_fit.runs.schema import frame
from holmes_fit.runs.sets import check_sets

if TYPE_CHECKING:
    import pandas as pd

TOGETHER = ""  # the condition of what is about all of them
TABLES = ("comparison_by_condition.csv", "people_by_condition.csv", "differences_by_condition.csv")
SHARE = ("frequency", "frequency_lower", "frequency_upper")


@dataclass(frozen=True)
class _Scope:
    """The people in one condition, or in all."""

    evidence: NDArray[np.float64]  # people x models, and its errors
    errors: EvidenceErrors
    found: RandomEffects
    probability: NDArray[np.float64]  # people x models


@dataclass(frozen=True)
class ConditionComparison(InNotebook):
    """What was found about the models of a run whose parameters differ between conditions."""

    main_table: ClassVar = ("models",)

    run: Run
    by: str
    names: tuple[str, ...]  # the models
    subjects: tuple[str, ...]
    scopes: dict[str, _Scope]  # by condition, all of them first
    warnings: tuple[str, ...]  # what a reader must know

    @cached_property
    def models(self) -> pd.DataFrame:
        """``comparison_by_condition.csv``: a row for each condition and model, all conditions together first."""
        rows: list[tuple[object, ...]] = []
        for condition, own in self.scopes.items():
            lower, upper = np.quantile(own.found.frequency, (0.025, 0.975), axis=0)
            best = own.evidence.argmax(axis=1)
            likeliest = own.probability.argmax(axis=1)
            for number, model in enumerate(self.names):
                of_people = (int(np.sum(each == number)) for each in (likeliest, best))
                numbers = own.found.frequency[:, number].mean(), lower[number], upper[number]
                certainty = own.found.exceedance[number], own.found.protected[number]
                error = float(np.sqrt(np.sum(own.errors.sd[:, number] ** 2)))
                total = own.evidence[:, number].sum(), error
                rows.append((condition, model, len(self.subjects), *numbers, *certainty, *of_people, *total))
        return frame(TABLES[0], rows)

    @cached_property
    def people(self) -> pd.DataFrame:
        """``people_by_condition.csv``: a row for each person, condition and model."""
        rows = [
            (subject, condition, model, own.probability[p, m], own.evidence[p, m], own.errors.sd[p, m])
            for p, subject in enumerate(self.subjects)
            for condition, own in self.scopes.items()
            for m, model in enumerate(self.names)
        ]
        return frame(TABLES[1], rows)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """``differences_by_condition.csv``: how much more frequent each model is in one condition than in another."""
        rows = []
        for below, above in combinations([name for name in self.scopes if name != TOGETHER], 2):
            away = self.scopes[above].found.frequency - self.scopes[below].found.frequency
            for number, model in enumerate(self.names):
                own = summary(away[:, number])
                numbers = (own[name] for name in ("mean", "lower", "median", "upper"))
                rows.append((model, above, below, *numbers, np.mean(away[:, number] > 0)))
        return frame(TABLES[2], rows)

    def in_words(self) -> str:
        """Return what was found, for people."""
        lines = [f"Among {listed(self.names)}, by the evidences of {len(self.subjects)} people:"]
        for condition, table in self.models.groupby("condition", sort=False):
            first = table.sort_values("frequency", ascending=False).iloc[0]
            where = f"{self.by} {plain(str(condition))}" if condition else "all conditions together"
            shares = (share(first[name]) for name in SHARE)
            lines.append(
                "  {}: {}{} is the most frequent, in an estimated {} (95% {} to {}); with probability {}, or {} when "
                "chance is allowed for.".format(
                    where,
                    "" if first["protected_exceedance"] > FAVOURED else "no model stands out; ",
                    first["model"],
                    *shares,
                    *(probability(first[name], DRAWS) for name in ("exceedance", "protected_exceedance")),
                )
            )
        return "\n".join([*lines, *(f"Warning: {text}." for text in self.warnings)])


def compare_conditions(
    fitted: FittedRun, models: Sequence[str], leave_out: Collection[str], seed: int
) -> ConditionComparison:
    """Compare models in each condition, and in all of them together, and write the tables into the run folder."""
    loaded = {name: load_conditions(fitted.run, name, leave_out) for name in models}
    check_sets(fitted.run.root, ["fit"])
    conditions = list(next(iter(loaded.values())))
    firsts = [own[conditions[0]] for own in loaded.values()]
    check_same_people(firsts)
    check_mixture(firsts)
    subjects = firsts[0].subjects
    fits = fitted.run.read_table("models.csv")
    together = [_column(fits, subjects, models, name) for name in ("log_evidence", *_ERRORS)]
    scopes = {TOGETHER: _scope(together[0], EvidenceErrors(*together[1:]), [seed, 0])}
    for number, condition in enumerate(conditions, start=1):
        own: list[Lattices] = [of_model[condition] for of_model in loaded.values()]
        evidence = np.column_stack([each.log_evidence for each in own])
        scopes[condition] = _scope(evidence, errors_of(own), [seed, number])
    noisy = fits[fits["subject"].isin(subjects) & fits["model"].isin(models)]
    n_noisy = int(noisy["warning"].str.contains(NOISY, regex=False).sum())
    notes = (
        (f"{n_noisy} of {len(noisy)} evidences are noisy, and fits with more replicates are surer",) if n_noisy else ()
    )
    found = ConditionComparison(fitted.run, fitted.by, tuple(models), subjects, scopes, notes)
    with fitted.run.together("compare", INPUTS) as staged:
        for name, table in zip(TABLES, (found.models, found.people, found.differences), strict=True):
            staged.write_table(name, table)
    return found


_ERRORS = ("log_evidence_error", "log_evidence_bias")


def _column(fits: pd.DataFrame, subjects: Sequence[str], models: Sequence[str], name: str) -> NDArray[np.float64]:
    table = fits.pivot(index="subject", columns="model", values=name)
    return table.loc[list(subjects), list(models)].to_numpy(np.float64)


def _scope(evidence: NDArray[np.float64], errors: EvidenceErrors, seed: Sequence[int]) -> _Scope:
    rng = np.random.default_rng([23, *seed])
    drawn = imputed(evidence, rng, errors)
    found = random_effects_of(drawn, rng)
    with np.errstate(divide="ignore"):
        chances = softmax(np.log(found.frequency)[:, None] + drawn, axis=2)
    return _Scope(evidence, errors, found, chances.mean(axis=0))
