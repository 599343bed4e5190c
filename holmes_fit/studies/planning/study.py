"""A plan in a folder: what is asked, checked before any work begins, and how it is carried out.

People are simulated and fitted once for every number of trials, and groups made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from holmes_fit._support.errors import Problems, Quoted
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.progress import OnProgress, Watched
from holmes_fit.fitting.cohort import Fits, check_workers, do_in
from holmes_fit.fitting.request import Request, request_fit
from holmes_fit.groups.pooling.priors import prior_of
from holmes_fit.models.registry import check_count
from holmes_fit.runs.folder import Run, open_run
from holmes_fit.runs.records import Key
from holmes_fit.runs.results import StoredTable
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.settings.distributions import FEWEST_IN_GROUP
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.planning.advice import plan_figure, recommendation, summary
from holmes_fit.studies.planning.groups import information
from holmes_fit.studies.planning.lengths import MOST_TRIALS, possible_trials, step_of, with_trials
from holmes_fit.studies.planning.measures import plan_table, power_by_length
from holmes_fit.studies.recovery.choosing import evidences_of
from holmes_fit.studies.recovery.estimates import people_table
from holmes_fit.studies.recovery.figures import save_figure
from holmes_fit.studies.recovery.pooled import fitted_lattices
from holmes_fit.studies.recovery.results import (
    StudyResults,
    Tally,
    fit_cohorts,
    inputs_of,
    missing_fits,
    read_study,
    size_of,
    write_text,
)
from holmes_fit.studies.recovery.setup import RecoverySetup, set_up_recovery
from holmes_fit.studies.simulation import with_generator
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.schema import Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "plan"
DONE: Key = (KIND, "tables")  # the record that is there when all tables are
SUBJECTS = (10, 20, 40, 80)
PEOPLE = 24
LARGEST_GROUP = 1000
NO_GENERATOR = "It says how trials are made; without it, there is nothing to make longer or shorter."
SUMMARY = "plan_summary.txt"


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


@dataclass(frozen=True)
class StudyPlan(InNotebook, StudyResults):
    """What numbers of trials and people are good for, in its folder. Tables are read when they are asked for."""

    main_table: ClassVar = ("table",)

    summary_file: ClassVar = SUMMARY

    table = StoredTable("plan.csv")
    power = StoredTable("plan_power.csv")
    people = StoredTable("plan_people.csv")

    @property
    def recommendation(self) -> str:
        return recommendation(self.table, self.power)

    def figure(self) -> Figure:
        """Draw what tasks of each length say about one person, and groups of each size about the models."""
        return plan_figure(self.table, self.power, self.words, self.label)


def plan(
    protocol: Protocol | str | Path,
    trials: Sequence[int],
    subjects: Sequence[int] = SUBJECTS,
    *,
    out: str | PathLike[str],
    models: Sequence[str] = ("flat", "holmes"),
    people: int = PEOPLE,
    preset: str | Path | Preset = "default",
    seed: int = 0,
    workers: int | None = None,
    dask: str | None = None,
    progress: Watched = True,
) -> StudyPlan:
    """Say how many trials and participants a study needs.

    People with parameters from the fitting priors are simulated for every number of trials, from each model, and fitted
    with all of them. Sizes of groups cost nothing: groups are drawn from these people.

    Parameters
    ----------
    protocol
        The design: a protocol with a generator, its name, or the path of a TOML file.
    trials
        The numbers of trials to compare. The design is made longer or shorter in whole steps, such as a repetition of
        all its contexts; other numbers are refused, with those that it can have.
    subjects
        The numbers of participants to compare.
    out
        The folder: a new one, or one in which a plan for the same people was begun. What is fitted there is used again,
        so that other numbers of trials and subjects can be added; the tables are of those that are given.
    models
        Names from ``holmes_fit.MODELS``.
    people
        The people that each model simulates for each number of trials. With more, the numbers are surer.
    preset
        How they are fitted, as for :func:`holmes_fit.fit`. ``"quick"`` is for a first look.
    seed
        Chooses all draws.
    workers, dask
        As for :func:`holmes_fit.fit`.
    progress
        Whether to show how much is done, in a terminal or a notebook; or what is called with the number of fits that
        are done, and their total.

    Returns
    -------
    StudyPlan
        The ``table``, the ``recommendation`` in one sentence, and the ``figure()``.

    Raises
    ------
    InputError
        If an argument cannot be used, or the folder holds something else.
    HolmesFitError
        If results cannot be written, or the process of a fit died every time that it was tried.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> models = ["rescorla_wagner", "bias"]  # which are fitted in a moment
    >>> study = hf.plan("conditioning", [20, 40], [5, 10], out="runs/plan", models=models, people=3, workers=1)
    >>> study.table[["trials", "subjects"]].drop_duplicates().to_records(index=False).tolist()
    [(20, 5), (20, 10), (40, 5), (40, 10)]
    >>> study.recommendation.endswith(".")
    True
    >>> type(study.figure()).__name__
    'Figure'
    """
    question = ask(
        protocol, trials, subjects, models=models, people=people, preset=preset, seed=seed, workers=workers, dask=dask
    )
    return StudyPlan(do_in(out, question, carry_out_plan, ("plan", "fitting"), progress, workers=workers, dask=dask))


def read_plan(folder: str | PathLike[str]) -> StudyPlan:
    """Return the plan in a folder.

    Raises
    ------
    InputError
        If the folder holds none.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> hf.read_plan("runs/plan").table["subjects"].unique().tolist()
    [5, 10]
    """
    return StudyPlan(read_study(folder, KIND, "a folder of holmes-fit plan"))


def missing_of_plan(question: Question, run: Run) -> list[tuple[Request, list[Key]]]:
    """Return which fits are still to be made, over all numbers of trials."""
    studies = question.studies.items()
    return [each for trials, study in studies for each in missing_fits(study.fits, run.root / f"trials_{trials}")]


def carry_out_plan(
    question: Question,
    run: Run,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: OnProgress | None = None,
) -> dict[Key, Failure]:
    """Do what is missing of a plan, then write its tables and figure; return the fits whose processes died.

    If there are any, there are no tables.
    """
    lost: dict[Key, Failure] = {}
    fits: dict[tuple[int, str], Fits] = {}
    tally = Tally(progress, sum(size_of(study.fits) for study in question.studies.values()))
    for trials, study in question.studies.items():
        folder = run.root / f"trials_{trials}"  # a recovery study, as far as its fits
        with study.open(folder, "holmes-fit plan"):
            found, died = fit_cohorts(study.fits, folder, "holmes-fit plan", tally, workers, dask)
        lost |= {(name, f"{subject} at {trials} trials"): died[name, subject] for name, subject in died}
        fits |= {(trials, model): own for model, own in found.items()}
    if not lost:
        inputs = [each for trials in question.studies for each in inputs_of(question.models, f"trials_{trials}")]
        with run.together("plan", inputs) as staged:
            _write_results(question, staged, fits)
    return lost


def _write_results(question: Question, run: Run, fits: dict[tuple[int, str], Fits]) -> None:
    tables = [
        people_table(question.studies[trials].truths[model], own).assign(trials=trials)
        for (trials, model), own in fits.items()
    ]
    people = pd.concat(tables, ignore_index=True)
    evidence = {
        trials: {model: evidences_of(fits[trials, model], question.models) for model in question.models}
        for trials in question.studies
    }
    seed, spaces = question.fits.seed, question.fits.spaces
    power = power_by_length(evidence, question.subjects, seed)
    # What people say about the group of those who follow the same model
    known = {key: information(fitted_lattices(own, key[1])) for key, own in fits.items() if spaces[key[1]].free}
    prior = prior_of(question.fits.preset.pooling)
    table = plan_table(people, known, power, spaces, prior, question.subjects, seed)
    kept = ["trials", *(name for name in people.columns if name != "trials" and "pooled" not in name)]
    for name, content in (("plan.csv", table), ("plan_power.csv", power), ("plan_people.csv", people[kept])):
        run.write_table(name, content)
    found = StudyPlan(run)
    write_text(run, SUMMARY, summary(found.table, found.power, found.label))
    save_figure(run, "plan", found.figure())
    run.save_record(DONE, {"trials": list(question.studies), "subjects": list(question.subjects)})
