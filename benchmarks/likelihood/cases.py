"""Who is asked where: simulated people by the rules of ``cases.toml``, and real people from a file that is given.

The table of cases is kept: real people's were chosen when it was made, as the rules say.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import ROOT
from holmes_fit.likelihood.answers import Response
from holmes_fit.models.registry import LatentCauseModel, find_model
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Learner
from holmes_fit.trials.reading import read_cohort

RULES = Path(__file__).with_name("cases.toml")
KEPT = ROOT / "reports" / "fitting" / "likelihood"
LEARNING, RESPONSE = ("alpha", "omega"), ("beta", "lapse")
NAMES = (*LEARNING, *RESPONSE)
FROM_FILE = "file"
DIGITS = 4  # significant ones of all values, so that the table says them exactly

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
    def response(self) -> Response:
        return Response(beta=self.values["beta"], lapse=self.values["lapse"], bias=0.0)

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


def draw_cases() -> list[Case]:
    """Draw all simulated people and the points at which they are asked, by the rules."""
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))
    rng = np.random.default_rng(rules["seed"])
    cases = []
    for group in rules["people"]:
        for _ in range(group["number"]):
            seed, truth = int(rng.integers(1_000_000)), drawn_values(rng)
            for model, at in group["asked"]:
                name = f"{len(cases) + 1:02d}"
                values = point(at, truth, rng)
                cases.append(Case(name, group["task"], seed, group["model"], truth, model, at, values))
    return cases


def point(at: str, truth: Values, rng: np.random.Generator) -> Values:
    """Return the values at which a person is asked."""
    if at == "truth":
        return truth
    if at == "prior":
        return drawn_values(rng)
    assert at == "shifted"
    return truth | {name: rounded(truth[name] * rng.choice([0.5, 2.0])) for name in LEARNING}


def drawn_values(rng: np.random.Generator) -> Values:
    """Draw learning and response parameters from the fitting prior."""
    axes = {axis.name: axis for axis in load_preset("default").space(find_model("flat")).free}
    return {name: rounded(float(axes[name].draw(rng, 1)[0])) for name in NAMES}


def rounded(value: float) -> float:
    """Return a value as the table of cases will say it."""
    return float(f"{value:.{DIGITS}g}")


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
