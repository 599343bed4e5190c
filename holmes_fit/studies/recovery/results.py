"""A study in its folder: the cohorts, each a run of fits of its own, and what whoever reads it finds there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from holmes_fit._support.errors import InputError, Problem, plain
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.progress import OnProgress
from holmes_fit.fitting.cohort import Fits, carry_out, read_fits
from holmes_fit.fitting.request import Request
from holmes_fit.groups.pooling.results import INPUTS
from holmes_fit.reporting.names import Words
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.manifest import MANIFEST
from holmes_fit.runs.records import Key
from holmes_fit.runs.results import RunResults, StoredTable
from holmes_fit.runs.sets import check_sets
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.studies.recovery.group_study import group_notes
from holmes_fit.studies.recovery.setup import KIND

GROUPS = "groups"  # within the study
SUMMARY = "recovery_summary.txt"


class StudyResults(RunResults):
    """What studies of simulated people have in common, in their folders."""

    summary_file: ClassVar[str]

    @property
    def models(self) -> tuple[str, ...]:
        """The models, each of which has simulated people and fitted everyone."""
        identity: Any = self.run.manifest.identity
        return tuple(identity["models"])

    @property
    def words(self) -> Words:
        """How the models and their parameters are shown."""
        return Words(self.run.manifest.about, self.models)

    @property
    def summary(self) -> str:
        return (self.folder / self.summary_file).read_text(encoding="utf-8")


def cohort_folder(folder: Path, model: str) -> Path:
    """Return the run folder of the people who follow a model."""
    return folder / f"from_{model}"


def inputs_of(models: Iterable[str], part: str = "") -> list[str]:
    """Return the files, within a study or a part of it, that its tables are made from."""
    return [(cohort_folder(Path(part), model) / name).as_posix() for model in models for name in INPUTS]


class Tally:
    """Adds up what is done of several pieces of work, one after the other."""

    def __init__(self, progress: OnProgress | None, total: int):
        self._progress, self._total, self._before = progress or (lambda done, total: None), total, 0

    def part(self, size: int) -> OnProgress:
        """Return what is told how much of the next piece is done."""
        before, self._before = self._before, self._before + size
        return lambda done, _: self._progress(before + done, self._total)

    def one(self) -> None:
        self.part(1)(1, 1)


def size_of(fits: Mapping[str, Request]) -> int:
    """Return the number of fits in all cohorts."""
    return sum(len(list(request.keys)) for request in fits.values())


def missing_fits(fits: Mapping[str, Request], folder: Path) -> list[tuple[Request, list[Key]]]:
    """Return which fits of each cohort are still to be made."""
    found = []
    for model, request in fits.items():
        own = cohort_folder(folder, model)
        begun = (own / MANIFEST).exists()
        found.append((request, list(read_run(own).progress().missing if begun else request.keys)))
    return found


def fit_cohorts(
    fits: Mapping[str, Request], folder: Path, command: str, tally: Tally, workers: int | None, dask: str | None
) -> tuple[dict[str, Fits], dict[Key, Failure]]:
    """Fit who is missing in each cohort; return the fits, and those whose processes died."""
    found: dict[str, Fits] = {}
    lost: dict[Key, Failure] = {}
    for model, request in fits.items():
        told = tally.part(size_of({model: request}))
        with request.open(cohort_folder(folder, model), command) as run:
            lost |= carry_out(request, run, workers=workers, dask=dask, progress=told)
        found[model] = Fits(run)
    return found, lost


def read_study(folder: object, kind: str, allowed: str) -> Run:
    """Return the run in a folder if it is of that kind."""
    run = read_run(folder)  # type: ignore[arg-type]  # refused there if it is no folder
    if run.manifest.identity.get("kind") != kind:
        raise InputError([Problem(f"folder {plain(str(folder), limit=200)}", "a run of something else", allowed)])
    check_sets(run.root)
    return run


def write_text(run: Run, name: str, text: str) -> None:
    """Write a text into the folder of a study."""
    with run.writing(name) as path:
        path.write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Recovery(InNotebook, StudyResults):
    """A recovery study, in its folder. Tables are read from there when they are asked for."""

    main_table: ClassVar = ("parameters",)

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
