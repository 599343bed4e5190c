"""Fits that take a fraction of a second: a coarse lattice, few evaluations, observers with few particles."""

from pathlib import Path

import numpy as np
import pandas as pd

from holmes_fit.models.registry import Observer
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Cohort, build_cohort

# As few as the priors allow: their SDs must be at least half a cell.
NODES = {"alpha": 3, "omega": 3, "beta": 5, "lapse": 4, "learning_rate": 9}


def small_text(**nodes: int) -> str:
    """Return a preset as its file says it, with the usual nodes or others."""
    head = 'base = "quick"\n[search]\nevaluations = 6\nstarts = 2\n[posterior]\ndraws = 20\n'
    return head + "".join(f"[parameters.{name}]\nnodes = {n}\n" for name, n in (NODES | nodes).items())


SMALL = small_text()
OBSERVER = Observer(particles=20)
OBSERVER_OPTIONS = ["--particles", "20"]


def small_preset(folder: Path, **nodes: int) -> Path:
    """Write the preset into a folder, and return its path."""
    path = folder / "small.toml"
    path.write_text(small_text(**nodes))
    return path


def exact_preset(evaluations: int = 150) -> Preset:
    """The default preset with a longer search, for models without particles, whose fits can be known exactly."""
    preset = load_preset("default")
    return preset.model_copy(update={"search": preset.search.model_copy(update={"evaluations": evaluations})})


def people(n: int, protocol: str = "conditioning", seed: int = 0, missed: float = 0.1) -> Cohort:
    return simulate(protocol, "holmes", n, seed=seed, missed=missed).cohort


def with_choices(cohort: Cohort, choices: pd.Series | int | None, subject: str | None = None) -> Cohort:
    """Return the cohort with other choices, of everyone or of one person."""
    trials = cohort.trials.copy()
    chosen = slice(None) if subject is None else (trials["subject"] == subject).to_numpy()
    trials.loc[chosen, "choice"] = pd.NA if choices is None else choices
    return build_cohort(trials, cohort.protocol, cohort.subjects)


def in_other_order(cohort: Cohort) -> Cohort:
    """Return the same people, the last one first."""
    subjects = cohort.subjects.iloc[::-1].reset_index(drop=True)
    place = dict(zip(subjects["subject"], range(len(subjects)), strict=True))
    order = np.argsort(cohort.trials["subject"].map(place).to_numpy(), kind="stable")
    return build_cohort(cohort.trials.iloc[order], cohort.protocol, subjects)
