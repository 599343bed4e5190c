"""Who is asked where: the kept table of cases, of simulated people, and of real people from a file that is given."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from benchmarks import ROOT
from holmes_fit.models.registry import LatentCauseModel, find_model
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Rule
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Learner
from holmes_fit.trials.reading import read_cohort

KEPT = ROOT / "reports" / "fitting" / "likelihood"
LEARNING, RESPONSE = ("alpha", "omega"), ("beta", "lapse")
NAMES = (*LEARNING, *RESPONSE)
FROM_FILE = "file"

Values = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One person, and one point at which the likelihood of their choices is asked."""

    name: str
    task: str  # the protocol
    person: int  # the seed of a simulated person, or the position in the file
    origin: str  # the model that made the choices, or "file"
    truth: Values  # that made the choices; empty for real people
    model: str  # whom the person is taken to be
    at: str  # how the point was chosen
    values: Values  # the point

    @property
    def response(self) -> Rule:
        return CHOICES.rule(self.values)

    @property
    def asked_model(self) -> LatentCauseModel:
        model = find_model(self.model)
        assert isinstance(model, LatentCauseModel)
        return model

    def learners(self, weather: Path | None = None) -> tuple[Learner, ...]:
        """Return the person; ``weather`` is the file that real people are in."""
        if self.origin == FROM_FILE:
            return learners_in_file(weather, self.task)[self.person - 1]
        return simulate(self.task, self.origin, 1, self.truth, seed=self.person).cohort.learners


@lru_cache
def learners_in_file(path: Path | None, task: str) -> list[tuple[Learner, ...]]:
    """Return the learners of every person of a file, in the file's order."""
    assert path is not None
    cohort = read_cohort(path, task)
    return [
        tuple(learner for learner in cohort.learners if learner.subject == subject)
        for subject in cohort.subjects["subject"]
    ]


def read_cases(folder: Path = KEPT) -> list[Case]:
    """Read the table of cases."""
    table = pd.read_csv(folder / "cases.csv", dtype={"case": str})
    cases = []
    for row in table.to_dict("records"):
        truth = {} if row["origin"] == FROM_FILE else {name: row[f"true_{name}"] for name in NAMES}
        values = {name: row[name] for name in NAMES}
        about = row["case"], row["task"], row["person"], row["origin"]
        cases.append(Case(*about, truth, row["model"], row["at"], values))
    return cases


def at_hand(cases: list[Case], weather: Path | None) -> list[Case]:
    """Leave real people out, with a word, if their file is not given."""
    known = [case for case in cases if weather is not None or case.origin != FROM_FILE]
    if len(known) < len(cases):
        print(f"{len(cases) - len(known)} cases are skipped: they need the file of real people (--weather FILE)")
    return known
