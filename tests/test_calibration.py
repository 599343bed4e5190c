"""Simulation-based calibration of people's posteriors: it passes as fits are, and fails if the likelihood is broken.

Everyone sees the same trials, so that filters run once for all, at every node of the lattice. The rest is what a fit
does: the lattice explored, and its posterior. The right likelihood and the broken one are given the same people.

People share filters, and so their luck, which keeps ranks from being quite uniform even with the right likelihood. So
the pool is large against what one person takes.

The settings of the 2-level task were found by trial, with an earlier likelihood. With 256 filters at a node the right
one failed for 3 of 10 seeds, this one among them, and with 1024 for 1 of 6, another one. A wrong stop rule was not
noticed with alpha free, so alpha is fixed. The 3-level task has as many replicates as fits have by default.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.uniformity import rank_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE
from holmes_fit.likelihood.traces import Replicates, Traces
from holmes_fit.models.registry import MODELS
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.recovery.estimates import FAILS, PASSES, SBC, TOO_FEW, sbc_summary
from holmes_fit.studies.recovery.shared_traces import SharedTask, SharedTraces, drawn, shared_learners
from holmes_fit.trials.cohorts import Learner

SEED = 91
DRAWS = 99
PEOPLE = 120
FILTERS = 1024  # at a node, of which a person takes 32
# People who answer strictly, by whom a wrong stop rule is seen more clearly.
STRICT = """
base = "default"

[parameters.alpha]
fixed = 1.0

[parameters.omega]
nodes = 9

[parameters.beta]
prior = "lognormal:6,0.3"
low = 1.0
nodes = 8

[parameters.lapse]
fixed = 0.02
"""
NOISY = """
base = "default"

[parameters.alpha]
fixed = 0.5

[parameters.omega]
nodes = 9

[parameters.beta]
nodes = 8

[parameters.lapse]
fixed = 0.02
"""


def preset_of(text: str, folder: Path) -> Preset:
    path = folder / "one.toml"
    path.write_text(text)
    return load_preset(path)


class Study:
    """A task that everyone does, what HOLMES predicts at the nodes of the lattice, and people of HOLMES."""

    def __init__(self, protocol: str, preset: Preset, filters: int):
        self.preset, self.filters, self.learners = preset, filters, shared_learners(protocol, SEED)
        self.right = self.traces("holmes")
        self.people = [self._person(np.random.default_rng([SEED, number]), number) for number in range(PEOPLE)]

    def traces(self, model: str) -> SharedTraces:
        space = self.preset.space(MODELS[model])
        return SharedTraces(space, self.learners, self.filters, self.preset.likelihood.replicates)

    def _person(self, rng: np.random.Generator, number: int) -> tuple[dict[str, float], tuple[Learner, ...]]:
        """Return someone with values from the fitting prior."""
        values = drawn(self.right.space, rng)
        return values, self.right.person(values, f"s{number:03d}", rng)

    def ranks(self, traces: SharedTraces) -> pd.DataFrame:
        """Fit everyone, and rank their truths among draws of their posteriors."""
        rows = []
        for number, (values, person) in enumerate(self.people):
            rng = np.random.default_rng([SEED, 1, number])
            (fitted,) = traces.fits(person, rng, with_error=False)
            draws = fitted.draw(DRAWS, rng)
            for place, axis in enumerate(fitted.axes):
                rank = rank_of(values[axis.name], draws[:, place], rng)
                rows.append(("person", "holmes", axis.name, person[0].subject, rank, DRAWS))
        return pd.DataFrame(rows, columns=list(SBC))


def verdicts(ranks: pd.DataFrame) -> dict[str, str]:
    """Return by parameter whether ranks are uniform over everyone."""
    found = sbc_summary(ranks)
    assert (found["n"] == PEOPLE).all(), found
    return dict(zip(found["parameter"], found["verdict"], strict=True))


@pytest.mark.slow
def test_the_right_likelihood_passes_and_one_that_never_stops_fails(tmp_path: Path) -> None:
    """Choices of people who stop, explained by a model that does not."""
    study = Study("compositional_2", preset_of(STRICT, tmp_path), FILTERS)
    assert verdicts(study.ranks(study.right)) == dict.fromkeys(("omega", "beta"), PASSES)
    without_stopping = study.traces("holmes_no_stop")
    for node in range(math.prod(axis.nodes for axis in without_stopping.space.learning)):
        without_stopping.at(node)
    without_stopping = replace(without_stopping, space=study.right.space)  # which keeps what was filtered
    assert FAILS in verdicts(study.ranks(without_stopping)).values()


@pytest.mark.slow
def test_the_right_likelihood_passes_and_one_of_a_single_replicate_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filters disagree by several nats on this task; all but one are dropped, and what is left is held for exact."""
    study = Study("compositional_3", preset_of(NOISY, tmp_path), FILTERS)
    assert verdicts(study.ranks(study.right)) == dict.fromkeys(("omega", "beta"), PASSES)

    def one_for_all(self: SharedTask, position: np.ndarray, replicates: Replicates) -> Traces:
        node = (replicates.first - LATTICE) // A_NODE
        assert self.order is not None
        only = self.shared.at(node)[0][self.order[node, :1]]
        return Traces((np.repeat(only, replicates.number, axis=0),), (self.learners[0].choices,))

    monkeypatch.setattr(SharedTask, "traces", one_for_all)
    assert verdicts(study.ranks(study.right)) == dict.fromkeys(("omega", "beta"), FAILS)


def test_few_ranks_are_not_judged() -> None:
    rows = [("person", "holmes", "alpha", f"s{number}", number, 99) for number in range(19)]
    found = sbc_summary(pd.DataFrame(rows, columns=list(SBC)))
    assert (found["verdict"] == TOO_FEW).all()
    assert found["ecdf_p"].isna().all()


def test_ranks_of_truths_from_elsewhere_are_not_tested() -> None:
    rows = [("person", "holmes", "alpha", f"s{number}", number, 99) for number in range(50)]
    found = sbc_summary(pd.DataFrame(rows, columns=list(SBC)), {"holmes": False})
    assert found["verdict"].str.startswith("no test").all()
    assert found[["chi2_p", "ecdf_p"]].isna().all(axis=None)
