"""Simulation-based calibration of people's posteriors: it passes as fits are, and fails if the likelihood is broken.

Everyone sees the same trials, so that filters run once for all, at every node of the lattice. The rest is what a fit
does: the lattice explored, and its posterior.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from holmes_fit.likelihood import Replicates, Traces
from holmes_fit.models import MODELS
from holmes_fit.presets import load_preset
from holmes_fit.recovery.calibration import FAILS, PASSES, SBC, TOO_FEW, sbc_summary
from holmes_fit.recovery.shared_traces import SharedTask, SharedTraces, n_nodes, node_traces, shared_learner
from holmes_fit.spaces import Space
from holmes_fit.trials import Learner
from holmes_fit.uniformity import rank_of

SEED = 91
N_PEOPLE = 120
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
def preset(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("preset") / "one.toml"
    path.write_text(PRESET)
    return load_preset(path)


@pytest.fixture(scope="module")
def learner() -> Learner:
    return shared_learner("compositional_2", SEED)


def shared(preset, learner: Learner, model: str) -> SharedTraces:
    space: Space = preset.space(MODELS[model])
    p_hat = np.stack([node_traces(space, learner, node, FILTERS) for node in range(n_nodes(space))])
    return SharedTraces(space, learner, p_hat, preset.likelihood)


@pytest.fixture(scope="module")
def right(preset, learner: Learner) -> SharedTraces:
    return shared(preset, learner, "holmes")


@pytest.fixture(scope="module")
def people(right: SharedTraces) -> list[tuple[dict[str, float], Learner]]:
    """People of HOLMES, with values from the fitting prior."""
    found = []
    for number in range(N_PEOPLE):
        rng = np.random.default_rng([SEED, number])
        values = {axis.name: float(axis.draw(rng, 1)[0]) for axis in right.space.free}
        position = np.array([float(axis.parameter.to_scale(values[axis.name])) for axis in right.space.free])
        found.append((values, right.simulate(position, f"s{number:03d}", rng)))
    return found


def verdicts(people: list[tuple[dict[str, float], Learner]], traces: SharedTraces) -> pd.DataFrame:
    """Fit everyone, and test the ranks of their truths."""
    rows = []
    for number, (values, learner) in enumerate(people):
        rng = np.random.default_rng([SEED, 1, number])
        fitted = traces.fit(learner, rng)
        draws = fitted.posterior.draw(DRAWS, rng)
        for place, axis in enumerate(fitted.posterior.axes):
            rank = rank_of(values[axis.name], draws[:, place], rng)
            rows.append(("person", "holmes", axis.name, learner.subject, rank, DRAWS, fitted.batch_sd < 1))
    return sbc_summary(pd.DataFrame(rows, columns=list(SBC)))


def test_the_right_likelihood_passes(people: list[tuple[dict[str, float], Learner]], right: SharedTraces) -> None:
    found = verdicts(people, right)
    clean = found[found["subset"] == "clean"]
    assert (clean["n"] > N_PEOPLE / 2).all(), found
    assert (clean["verdict"] == PASSES).all(), found


def test_a_wrong_stop_rule_fails(
    people: list[tuple[dict[str, float], Learner]], preset, learner: Learner, right: SharedTraces
) -> None:
    without_stopping = shared(preset, learner, "holmes_no_stop")
    found = verdicts(people, replace(without_stopping, space=right.space))
    assert FAILS in found["verdict"].tolist(), found


def test_a_likelihood_of_one_replicate_fails(
    people: list[tuple[dict[str, float], Learner]], right: SharedTraces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All replicates but one are dropped, and what is left is taken to be exact."""
    original = SharedTask.traces

    def dropped(self: SharedTask, position: np.ndarray, replicates: Replicates) -> Traces:
        traces = original(self, position, replicates)
        node = (replicates.first - (1 << 20)) // (1 << 12)
        only = self.p_hat[node][self.order[node, :1]]
        return Traces((np.repeat(only, replicates.number, axis=0),), traces.choices)

    monkeypatch.setattr(SharedTask, "traces", dropped)
    found = verdicts(people, right)
    assert FAILS in found["verdict"].tolist(), found


def test_few_ranks_are_not_judged() -> None:
    rows = [("person", "holmes", "alpha", f"s{number}", number, 99, True) for number in range(19)]
    found = sbc_summary(pd.DataFrame(rows, columns=list(SBC)))
    assert (found["verdict"] == TOO_FEW).all()
    assert found["ecdf_p"].isna().all()
