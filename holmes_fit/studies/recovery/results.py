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


@dataclass(frozen=True)
class Recovery(StudyResults):
    """A recovery study, in its folder. Tables are read from there when they are asked for."""

    summary_file: ClassVar = SUMMARY

    truth = StoredTable("truth.csv")
    people = StoredTable("recovery_people.csv")
    parameters = StoredTable("recovery.csv")
    error_correlations = StoredTable("error_correlations.csv")
    confusion = StoredTable("confusion.csv")
    model_recovery = StoredTable("model_recovery.csv")
    power = StoredTable("power.csv")
    sbc = StoredTable("sbc.csv")
    sbc_summary = StoredTable("sbc_summary.csv")

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
