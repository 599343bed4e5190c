"""What is to be fitted, checked before any work begins: everyone, with every model, under one preset."""

import hashlib
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from holmes_fit._support.errors import Problems, Quoted, check_kind, nearest
from holmes_fit.fitting.division import check_conditions
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import ENOUGH_REPLICATES
from holmes_fit.models.own import files_of
from holmes_fit.models.registry import MODELS, Model, Observer, check_count, descriptions
from holmes_fit.models.responses.contract import Response
from holmes_fit.models.responses.registry import response_of
from holmes_fit.runs.described import ABOUT
from holmes_fit.runs.folder import Run, open_run
from holmes_fit.runs.identity import code_about, code_identity
from holmes_fit.runs.records import Key
from holmes_fit.settings.preset import Preset, load_preset, with_fixed
from holmes_fit.settings.spaces import Space
from holmes_fit.trials.cohorts import Cohort, Learner

_InOrder = tuple[list[tuple[int, str]], str]

FIRST_LOOK = "a first look: few replicates. Do not report these numbers; fit with the default preset for that."


@dataclass(frozen=True)
class Request:
    """Who is fitted with what, and how. Get one from :func:`request_fit`, which checks it."""

    cohort: Cohort  # the data
    models: tuple[Model, ...]  # in the order in which tables list them
    spaces: Mapping[str, Space]  # what is searched, by the name of the model
    preset: Preset  # its settings, with what was fixed on top
    observer: Observer  # how the filters are run
    seed: int  # chooses all draws
    by: str = ""  # the column that has the condition of a trial, if parameters differ between conditions
    vary: tuple[str, ...] = ()  # which ones do

    @cached_property
    def people(self) -> dict[str, tuple[Learner, ...]]:
        """The learners of each person, by condition, name and restart, whatever the order in the file."""
        found: dict[str, list[Learner]] = {}
        for learner in self.cohort.learners:
            found.setdefault(learner.subject, []).append(learner)
        return {
            subject: tuple(sorted(found[subject], key=self._place)) for subject in sorted(found, key=_as_people_count)
        }

    def _place(self, learner: Learner) -> tuple[_InOrder, _InOrder]:
        return _as_people_count(self.condition_of(learner)), _as_people_count(learner.restart)

    def condition_of(self, learner: Learner) -> str:
        """Return the condition that a learner is in; none, if there are no conditions."""
        return str(self.cohort.trials[self.by].iloc[learner.rows[0]]) if self.by else ""

    @property
    def keys(self) -> Iterator[Key]:
        """The records that make the run complete, person by person, in the order of all tables."""
        return ((model.name, subject) for subject in self.people for model in self.models)

    def task(self, key: Key) -> Task:
        """Return one piece of work. It holds that person's trials and no others."""
        model, subject = key
        learners, kind = self.people[subject], self.preset.likelihood.kind
        conditions = tuple(self.condition_of(each) for each in learners) if self.by else ()
        return Task(learners, self.spaces[model], self.observer, self.seed, kind, conditions, self.vary)

    @property
    def response(self) -> Response:
        """What people answer."""
        return response_of(self.cohort.protocol)

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return FIRST_LOOK if self.preset.likelihood.replicates < ENOUGH_REPLICATES else ""

    def open(self, out: str | PathLike[str], command: str = "holmes_fit.fit") -> AbstractContextManager[Run]:
        """Open the run folder, a new one or one in which the same was begun; see :func:`holmes_fit.runs.open_run`."""
        return open_run(out, identity=self.identity(), about=self.about(command), keys=self.keys)

    def about(self, command: str) -> dict[str, object]:
        """Return what else is worth knowing of a run, such as what people are told of its models."""
        words = {ABOUT: descriptions(self.models, self.response)}
        return {"command": command, "label": self.label, "python": platform.python_version(), **code_about(), **words}

    def identity(self) -> dict[str, object]:
        """Return everything that the results depend on."""
        protocol = self.cohort.protocol
        return {
            "kind": "fit",
            "trials": _digest(self.cohort.trials.to_csv(index=False, lineterminator="\n").encode()),
            "protocol": {"name": protocol.name, "sha256": _digest(protocol.model_dump_json().encode())},
            "preset": self.preset.model_dump(mode="json", exclude_none=True, exclude={"pooling"}),
            "models": [model.name for model in self.models],
            "seed": self.seed,
            "observer": asdict(self.observer),
            **({"model_files": files} if (files := files_of(model.name for model in self.models)) else {}),
            **({"by": self.by, "vary": list(self.vary)} if self.by else {}),
            **code_identity(),
        }


def request_fit(
    cohort: Cohort,
    models: Sequence[str] = ("flat", "holmes"),
    *,
    preset: str | Path | Preset = "default",
    fix: Mapping[str, float] | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    by: str | None = None,
    vary: Sequence[str] = (),
) -> Request:
    """Check what is asked for. The parameters are those of :func:`holmes_fit.fit`."""
    problems = Problems()
    if not isinstance(cohort, Cohort):
        problems.add("argument cohort", cohort, "a cohort", "holmes_fit.read_cohort makes one of files or a DataFrame.")
    if fix is not None and not isinstance(fix, Mapping):
        problems.add("argument fix", fix, "values by the names of parameters, such as {'lapse': 0.02}")
    check_kind("observer", observer, Observer | None, "an Observer", problems)
    chosen = _models(models, problems)
    check_count("seed", seed, problems, least=0)
    settings = None
    with problems.collected():
        settings = preset if isinstance(preset, Preset) else load_preset(preset)
    problems.raise_if_any()
    assert settings is not None
    response = response_of(cohort.protocol)
    if fix:
        settings = with_fixed(settings, fix, chosen, response)
    spaces = {model.name: settings.space(model, response) for model in chosen}
    varied = check_conditions(cohort, by, vary, spaces)
    return Request(cohort, chosen, spaces, settings, observer or Observer(), int(seed), by or "", varied)


def _models(names: Sequence[str], problems: Problems) -> tuple[Model, ...]:
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not listed:
        problems.add("argument models", Quoted("nothing"), f"one or more of {', '.join(MODELS)}")
    for number, name in enumerate(listed):
        if not isinstance(name, str) or name not in MODELS:
            problems.add("argument models", name, ", ".join(MODELS), nearest(str(name), MODELS))
        elif name in listed[:number]:
            problems.add("argument models", name, "every model once")
    return tuple(MODELS[name] for name in listed if isinstance(name, str) and name in MODELS)


def _as_people_count(name: str) -> _InOrder:
    """Return a key that sorts s2 before s10."""
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]
    return parts, name


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
