"""A recovery study in its folder, as whoever reads it finds it."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from holmes_fit.fitting.cohort import Fits, read_fits
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.manifest import MANIFEST
from holmes_fit.runs.results import StoredTable
from holmes_fit.studies.recovery.cohorts import StudyResults, cohort_folder, read_study
from holmes_fit.studies.recovery.group_study import group_notes
from holmes_fit.studies.recovery.setup import KIND

GROUPS = "groups"  # within the study
SUMMARY = "recovery_summary.txt"
TEXT = (
    *("subject", "model", "parameter", "like", "scale", "at_bound", "warning", "estimator", "measure", "parameter_a"),
    *("parameter_b", "criterion", "chosen", "against", "rule", "level", "unit", "verdict"),
)


@dataclass(frozen=True)
class Recovery(StudyResults):
    """A recovery study, in its folder. Tables are read from there when they are asked for."""

    text_columns: ClassVar = TEXT
    summary_file: ClassVar = SUMMARY

    truth = StoredTable("truth.csv", "a row for each simulated person and parameter")
    people = StoredTable("recovery_people.csv", "truth and estimates, a row for each person and parameter")
    parameters = StoredTable("recovery.csv", "how well parameters are recovered, a row for each estimator and measure")
    error_correlations = StoredTable("error_correlations.csv", "which errors go together")
    confusion = StoredTable("confusion.csv", "which model is chosen for people who follow a model", "truth")
    model_recovery = StoredTable("model_recovery.csv", "which model wins over all people who follow one", "truth")
    power = StoredTable("power.csv", "how often a model is found to be the more frequent one")
    sbc = StoredTable("sbc.csv", "ranks of truths among posterior draws")
    sbc_summary = StoredTable("sbc_summary.csv", "whether these ranks are uniform")

    @property
    def follows_prior(self) -> dict[str, bool]:
        """By model, whether truths are drawn from the fitting prior, so that calibration can be judged."""
        about: Any = self.run.manifest.about
        return dict(about["follows_prior"])

    def fits(self, model: str) -> Fits:
        """Return the fits of the people who follow a model, with all models."""
        return read_fits(cohort_folder(self.folder, model))

    @property
    def group_notes(self) -> list[str]:
        """What must be known of the groups by which pooling was calibrated; nothing if all went well."""
        folder = self.folder / GROUPS
        return group_notes(read_run(folder)) if (folder / MANIFEST).exists() else []

    @property
    def figures(self) -> list[Path]:
        """The figures."""
        return sorted((self.folder / "figures").glob("*.png"))


def read_recovery(folder: str | PathLike[str]) -> Recovery:
    """Return the recovery study in a folder.

    Raises
    ------
    InputError
        If the folder holds none.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> study = hf.read_recovery("runs/pilot/recovery")
    >>> study.models
    ('flat', 'holmes')
    >>> sorted(study.parameters["estimator"].unique())
    ['map', 'mean', 'ml', 'pooled']
    """
    return Recovery(read_study(folder, KIND, "a study of holmes-fit recover"))
