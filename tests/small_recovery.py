"""Recovery studies that take seconds: models without particles, coarse lattices, and groups without PyMC."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from holmes_fit.groups.pooling.lattices import Lattices
from holmes_fit.runs.folder import Run
from holmes_fit.runs.schema import of

# Fine enough for posteriors to be calibrated, coarse enough for fits of a fraction of a second.
EXACT = """
base = "quick"

[search]
evaluations = 4

[posterior]
draws = 99

[parameters.learning_rate]
prior = "lognormal:0.3,0.8"
low = 0.02
high = 5.0
nodes = 15

[parameters.beta]
nodes = 12

[parameters.lapse]
fixed = 0.02

[parameters.choice_probability]
nodes = 31
"""
MODELS = ("rescorla_wagner", "bias")


def exact_preset_file(folder: Path) -> Path:
    """Write the preset into a folder, and return its path."""
    path = folder / "exact.toml"
    path.write_text(EXACT)
    return path


def with_short_searches(patch: pytest.MonkeyPatch) -> None:
    """Let the best point of an exact likelihood be searched for a moment only; posteriors do not depend on it."""
    patch.setattr("holmes_fit.fitting.person.ENOUGH_IF_EXACT", 4)


def without_figures(patch: pytest.MonkeyPatch) -> None:
    """Draw nothing, and make power a rough number."""
    patch.setattr("holmes_fit.studies.recovery.study.draw_figures", lambda study: None)
    for name, number in (("GROUPS", 100), ("COHORTS", 10), ("GROUPS_OF_COHORT", 10)):
        patch.setattr(f"holmes_fit.studies.recovery.power.{name}", number)


def without_pymc(patch: pytest.MonkeyPatch) -> list[str]:
    """Let groups be made without sampling; return a list to which every group that is made adds its kind.

    Pooled people are as they are alone, and everyone follows the models with probabilities by their evidences.
    """
    made: list[str] = []

    def pool_people(lattices: Lattices, **_: object) -> Any:
        made.append("pool")
        return SimpleNamespace(lattices=lattices, model=lattices.model, warnings=[])

    def write_pooled(run: Run, pooled: Sequence[Any]) -> None:
        run.write_table(
            "pooled.csv",
            pd.concat([_people(each.lattices) for each in pooled]).reindex(columns=list(of("pooled.csv").columns)),
        )

    def mix_models(lattices: Sequence[Lattices], **_: object) -> Any:
        made.append("mixture")
        evidence = np.column_stack([each.log_evidence for each in lattices])
        draws = np.random.default_rng(0).dirichlet(1 + softmax(evidence, axis=1).sum(axis=0), size=400)
        probability = softmax(evidence, axis=1)
        subjects = lattices[0].subjects
        return SimpleNamespace(
            subjects=subjects,
            frequency=draws,
            imputed=np.broadcast_to(evidence, (len(draws), *evidence.shape)),
            probability=probability,
            warnings=[],
        )

    for fake in (pool_people, write_pooled, mix_models):
        patch.setattr(f"holmes_fit.studies.recovery.pooled.{fake.__name__}", fake)
    return made


def _people(lattices: Lattices) -> pd.DataFrame:
    rows = []
    for person, subject in enumerate(lattices.subjects):
        mass = lattices.likelihood_of(person)
        for number, axis in enumerate(lattices.axes):
            mass = np.moveaxis(np.moveaxis(mass, number, -1) * np.exp(axis.log_weights), -1, number)
        for number, axis in enumerate(lattices.axes):
            marginal = mass.sum(axis=tuple(i for i in range(mass.ndim) if i != number))
            marginal /= marginal.sum()
            mean = float(marginal @ axis.positions)
            lower, upper = axis.values[[0, -1]]
            row = {"subject": subject, "model": lattices.model, "parameter": axis.name, "mean": marginal @ axis.values}
            row |= {"lower": lower, "upper": upper, "mean_on_scale": mean}
            rows.append(row | {"sd_on_scale": float(np.sqrt(marginal @ (axis.positions - mean) ** 2))})
    return pd.DataFrame(rows)
