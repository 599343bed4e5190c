"""A fitted run, read back: its data, how everyone was fitted, and what was found about each person.

What was searched follows from the preset that the manifest has; that a record belongs to it is checked.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from holmes_fit._support.borders import LARGEST_JSON, naming, read_bytes
from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, nearest, plain, shown
from holmes_fit.models.own import files_of
from holmes_fit.models.registry import Model, Observer, find_model
from holmes_fit.models.responses.registry import response_of
from holmes_fit.runs.folder import HasRun, Run, run_of
from holmes_fit.runs.knowledge import PeopleDraws
from holmes_fit.runs.manifest import MANIFEST
from holmes_fit.runs.person_records import conditions_of, flaw_of
from holmes_fit.runs.records import Record, file_of
from holmes_fit.settings.preset import Preset
from holmes_fit.settings.spaces import Space, joint_space
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.kept import kept_form
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import read_cohort


class _Identity(BaseModel):
    """What is read of the identity of a fit."""

    models: tuple[str, ...] = ()
    preset: dict[str, Any] = {}
    observer: dict[str, Any] = {}
    model_files: dict[str, str] = {}
    by: str = ""
    vary: tuple[str, ...] = ()


@dataclass(frozen=True)
class FittedRun:
    """A run of fits. Get one from :func:`fitted_run`."""

    run: Run

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order in which they were asked for."""
        return self._identity.models

    @cached_property
    def preset(self) -> Preset:
        """Its settings, with what was fixed on top."""
        try:
            return Preset.model_validate(self._identity.preset)
        except ValidationError as error:
            raise self._unreadable("one whose preset cannot be read") from error

    @cached_property
    def observer(self) -> Observer:
        """How the filters were run."""
        try:
            return Observer(**self._identity.observer)
        except (TypeError, ValueError) as error:
            raise self._unreadable("one whose observer cannot be read") from error

    @cached_property
    def protocol(self) -> Protocol:
        """How the data were coded."""
        where = f"run {plain(str(self.run.root), 200)}, protocol.json"
        with naming(where, "the file that a fit has written"):
            return Protocol.model_validate_json(read_bytes(self.run.path("protocol.json"), LARGEST_JSON))

    @cached_property
    def cohort(self) -> Cohort:
        """The data, as the folder keeps them."""
        cohort = read_cohort(self.run.path("trials.csv"), kept_form(self.protocol))
        return replace(cohort, protocol=self.protocol, subjects=self.run.read_table("subjects.csv", ("subject",)))

    def model(self, name: str) -> Model:
        """Return a model of the run; one of one's own must have been named here, too, and be what it was."""
        files = self._identity.model_files
        said, here = files.get(name), files_of([name]).get(name)
        if said != here:
            listed = ",".join(files[own].partition(",")[0] if own in files else own for own in self.models)
            again = f"Name it: --models {listed}, with the path. In Python, call holmes_fit.load_model first."
            advice = "Give back the file as it was, or fit again in a new folder." if here else again
            seen = here or "no model of this name, as nobody has named its file, and none is run unasked"
            where = f"run {plain(str(self.run.root), 200)}, model {plain(name)}"
            raise InputError([Problem(where, seen, said or "a model that comes from no file", advice)])
        return find_model(name)

    def space(self, model: str) -> Space:
        """Return what was searched when a model was fitted."""
        return self.preset.space(self.model(model), response_of(self.protocol))

    @property
    def by(self) -> str:
        """The column of the conditions between which parameters differ; empty if there are none."""
        return self._identity.by

    @property
    def vary(self) -> tuple[str, ...]:
        """The parameters that differ between them."""
        return self._identity.vary

    def conditions(self, model: str) -> tuple[str, ...]:
        """Return the conditions, in the order of the records of a model; none if nothing differs."""
        return next(map(conditions_of, _successes(self.records(model)).values()), ()) if self.by else ()

    def averaged(self, model: str) -> int:
        """Return how many filters a person averages: 1, except for averaged observers."""
        likelihood = self.preset.likelihood
        return likelihood.replicates if likelihood.kind == "expected" and self.model(model).uses_particles else 1

    def records(self, model: str) -> dict[str, Record | None]:
        """Return the record of everyone who was to be fitted with a model; none where it is missing or damaged."""
        keys = [key for key in self.run.manifest.keys if key[0] == model and len(key) == 2]
        return {key[1]: self.run.load_record(key) for key in keys}

    def people(self, model: str) -> list[str]:
        """Return who was fitted with a model."""
        return list(_successes(self.records(model)))

    def draws(self, model: str) -> PeopleDraws:
        """Return draws of those who were fitted, each under the fitting prior."""
        records = _successes(self.records(model))
        self._check_records(model, records)
        found = {name: record.arrays["draws"] for name, record in records.items()}
        if not found:
            return PeopleDraws((), (), np.empty((0, 0, 0)))
        space = joint_space(self.space(model), self.vary, self.conditions(model))
        names = tuple(axis.name for axis in space.free)
        return PeopleDraws(tuple(found), names, np.stack(list(found.values())))

    def fits(self, model: str, leave_out: Collection[str] = ()) -> dict[str, Record]:
        """Return the record of everyone but those who are left out, if it is complete and all could be fitted."""
        problems = Problems()
        if model not in self.models:
            allowed = f"a model of the run: {', '.join(self.models) or 'it has none'}"
            problems.add("model", model, allowed, nearest(model, self.models))
        records = self.records(model)
        for name in leave_out:
            if records and name not in records:
                problems.add("leave out", name, "someone who was fitted", nearest(name, records))
        problems.raise_if_any()
        records = {name: record for name, record in records.items() if name not in leave_out}
        self._check_complete(model, records, problems)
        problems.raise_if_any()
        if not records:
            raise InputError([Problem(f"model {model}", "nobody", "at least one person who was fitted")])
        kept = _successes(records)
        self._check_records(model, kept)
        return kept

    def _check_complete(self, model: str, records: dict[str, Record | None], problems: Problems) -> None:
        missing = [name for name, record in records.items() if record is None]
        if missing:
            seen = Quoted(f"no fit of {len(missing)} of {len(records)} people: {shown(missing)}")
            problems.add(f"model {model}", seen, "a complete run", self._how_to_go_on())
        for name, record in records.items():
            if record is not None and record.error:
                advice = "Leave this person out."
                problems.add(f"model {model}, {plain(name)}", Quoted(record.error), "a fit that succeeded", advice)

    def _check_records(self, model: str, records: dict[str, Record]) -> None:
        """Refuse records that the fit cannot have written, or not with the preset that the manifest has."""
        problems = Problems()
        for name, record in records.items():
            flaw = flaw_of(record, next(iter(records.values())), self.space(model).free, bool(self.by))
            if flaw:
                where = f"run {plain(str(self.run.root), 200)}, record of {plain(name)} under {model}"
                advice = f"Delete {file_of(record.key)} in its folder records, and fit again."
                problems.add(where, Quoted(flaw), "the record that the fit has written", advice)
        problems.raise_if_any()

    def _how_to_go_on(self) -> str:
        command = str(self.run.manifest.about.get("command", ""))
        if command.startswith("holmes-fit "):
            return f"The same command goes on where it was: {plain(command, limit=400)}"
        return "The same call of holmes_fit.fit goes on where it was."

    @cached_property
    def _identity(self) -> _Identity:
        try:
            return _Identity.model_validate(self.run.manifest.identity)
        except ValidationError as error:
            names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            raise self._unreadable(f"one in which something is wrong with {names}") from error

    def _unreadable(self, seen: str) -> InputError:
        where = f"{MANIFEST} in {plain(str(self.run.root), limit=200)}"
        return InputError([Problem(where, plain(seen, 200), "the one that the fit has written")])


def fitted_run(where: str | PathLike[str] | Run | HasRun) -> FittedRun:
    """Return the run of fits that is meant; see :func:`holmes_fit.runs.folder.run_of`."""
    return FittedRun(run_of(where, "fit"))


def _successes(records: dict[str, Record | None]) -> dict[str, Record]:
    return {name: record for name, record in records.items() if record is not None and not record.error}
