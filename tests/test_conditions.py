"""People in several conditions: what varies and what is shared, on the lattice, in the fit and in the run folder."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit.fitting.cohort import Fits
from holmes_fit.fitting.conditions import fit_conditions
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import fit_person
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.models.responses.choices import choice_probability
from holmes_fit.runs.knowledge import JointKnowledge
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.observations import MISSED
from holmes_fit.trials.protocols.schema import Protocol
from tests.small_fits import small_preset
from tests.toy_lattices import log_axis

SEED = 31
AXES = (log_axis("alpha", 3, 1.0), log_axis("omega", 4, 2.0), log_axis("beta", 2, 1.5))
CONDITIONS = ("drug", "placebo")


@pytest.mark.parametrize("varied", [(), (0,), (1,), (0, 2), (0, 1, 2)])
def test_the_joint_is_the_sum_over_the_whole_grid(varied: tuple[int, ...]) -> None:
    rng = np.random.default_rng(SEED)
    shape = tuple(axis.nodes for axis in AXES)
    parts = rng.normal(0, 2, (3, *shape))
    known = JointKnowledge.of(AXES, varied, list(parts))
    draws = np.log(known.draw(20_000, rng))

    prior, joint = [np.exp(axis.log_weights) for axis in AXES], {}
    per_axis = [range(n) if i not in varied else list(product(range(n), repeat=3)) for i, n in enumerate(shape)]
    for nodes in product(*per_axis):
        own = [tuple(node[c] if i in varied else node for i, node in enumerate(nodes)) for c in range(3)]
        weight = np.prod([prior[i][n] for i, node in enumerate(nodes) for n in (node if i in varied else (node,))])
        joint[nodes] = weight * np.exp(sum(part[at] for part, at in zip(parts, own, strict=True)))
    total = sum(joint.values())
    assert known.log_evidence == pytest.approx(np.log(total), abs=1e-12)
    for condition in range(3):
        mass = np.zeros(shape)
        for nodes, weight in joint.items():
            mass[tuple(node[condition] if i in varied else node for i, node in enumerate(nodes))] += weight / total
        np.testing.assert_allclose(known.condition(condition).mass, mass, atol=1e-13)
    # Draws of one number belong together: products of positions of different axes have the mean that they should.
    columns = [[AXES[i].positions[list(np.atleast_1d(nodes[i]))] for nodes in joint] for i in range(3)]
    positions = np.hstack([np.array(column) for column in columns])
    weights = np.array(list(joint.values())) / total
    expected = np.einsum("n,ni,nj->ij", weights, positions, positions)
    error = np.sqrt(np.einsum("n,ni,nj->ij", weights, positions**2, positions**2) / len(draws)) + 0.01
    off = np.einsum("ni,nj->ij", draws, draws) / len(draws) - expected
    within = np.diag([axis.spacing**2 / 12 for i, axis in enumerate(AXES) for _ in range(3 if i in varied else 1)])
    assert np.all(np.abs(off - within) < 5 * error)


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_preset(tmp_path_factory.mktemp("preset"))


def a_task(model: str, preset: Preset) -> Task:
    """One person with two learners, the answers of one of them turned round."""
    learner = simulate("conditioning", "pearce_hall", 1, seed=SEED, missed=0.1).cohort.learners[0]
    turned = np.where(learner.choices == MISSED, MISSED, 1 - learner.choices).astype(np.int8)
    learners = tuple(replace(learner, restart=name) for name in CONDITIONS)
    return Task(
        (learners[0], replace(learners[1], choices=turned)), preset.space(MODELS[model]), Observer(particles=20)
    )


def same(found: dict[str, Any], wanted: dict[str, Any], *names: str) -> None:
    for name in names:
        assert found[name] == pytest.approx(wanted[name], abs=1e-9), name


def test_with_nothing_varied_it_is_the_fit_of_the_whole_person(preset: Path) -> None:
    task = a_task("rescorla_wagner", load_preset(preset))
    whole, found = (fit(task, load_preset(preset)) for fit in (fit_person, in_conditions()))
    same(found.facts, whole.facts, "log_evidence", "log_likelihood", "log_likelihood_map", "hit_rate", "n_parameters")
    for own, wanted in zip(found.facts["parameters"], whole.facts["parameters"], strict=True):
        assert own == wanted | {"condition": ""} | {
            name: pytest.approx(value, rel=1e-6) for name, value in wanted.items() if isinstance(value, float)
        }
    np.testing.assert_allclose(found.arrays["p_hat"], whole.arrays["p_hat"], atol=1e-6)


def test_a_noisy_model_too_where_all_nodes_are_computed(preset: Path) -> None:
    few = load_preset(preset)
    task = a_task("flat", few)
    learning = tuple(replace(axis, nodes=2) for axis in task.space.learning)
    task = replace(task, space=replace(task.space, learning=learning))
    whole, found = (fit(task, few) for fit in (fit_person, in_conditions()))
    same(found.facts, whole.facts, "log_evidence")


def in_conditions(*vary: str):
    return lambda task, preset: fit_conditions(replace(task, conditions=CONDITIONS, vary=vary), preset)


def test_with_everything_varied_they_are_fits_of_their_own(preset: Path) -> None:
    settings = load_preset(preset)
    task = a_task("rescorla_wagner", settings)
    found = in_conditions("learning_rate", "beta", "lapse")(task, settings)
    alone = [fit_person(replace(task, learners=(each,)), settings) for each in task.learners]
    assert found.facts["log_evidence"] == pytest.approx(sum(each.facts["log_evidence"] for each in alone), abs=1e-9)
    assert found.facts["n_parameters"] == 6
    for number, (name, own) in enumerate(zip(CONDITIONS, alone, strict=True)):
        same(found.facts["conditions"][number], own.facts, "log_evidence", "n_trials", "n_answered")
        entries = [entry for entry in found.facts["parameters"] if entry["condition"] == name]
        for entry, wanted in zip(entries, own.facts["parameters"], strict=False):  # bias is fixed, and shared
            same(entry, wanted, "mean", "sd", "median", "lower", "upper", "sd_on_scale")
            on_scale = [np.log(each["map"] / (1 - min(each["map"], 0.99))) for each in (entry, wanted)]
            assert on_scale[0] == pytest.approx(on_scale[1], abs=0.05)
        np.testing.assert_array_equal(found.arrays["log_likelihood"][number], own.arrays["log_likelihood"])


def test_the_best_points_are_those_of_all_conditions_together(preset: Path) -> None:
    """Their likelihood is that of the values in the table, and no node of the lattice has a higher one."""
    settings = load_preset(preset)
    task = a_task("rescorla_wagner", settings)
    found = in_conditions("learning_rate")(task, settings)
    facts = found.facts
    assert [entry["condition"] for entry in facts["parameters"]] == ["drug", "placebo", "", "", ""]
    for goal, name in (("ml", "log_likelihood"), ("map", "log_likelihood_map")):
        shared = {entry["name"]: entry[goal] for entry in facts["parameters"] if not entry["condition"]}
        total = 0.0
        for learner, entry in zip(task.learners, facts["parameters"], strict=False):
            values = {"learning_rate": entry[goal]}
            p_hat = task.space.model.p_hat(learner.observations, values, task.observer, 0)[0]
            p = choice_probability(p_hat, **shared)[learner.choices != MISSED]
            chosen = learner.choices[learner.choices != MISSED]
            total += float(np.log(np.where(chosen == 1, p, 1 - p)).sum())
        assert facts[name] == pytest.approx(total, abs=1e-8)
    arrays = found.arrays["log_likelihood"].astype(np.float64)
    best = arrays.max(axis=1).sum(axis=0).max()  # over what varies in each, then together over what is shared
    assert facts["log_likelihood"] >= best - 0.01
    prior = [axis.log_weights for axis in task.space.free]
    joint = (arrays + prior[0][:, None, None]).max(axis=1).sum(axis=0) + np.add.outer(*prior[1:])
    assert joint.max() > joint[0, 0]  # so that this could fail


PROTOCOL = Protocol.model_validate(
    {
        "name": "two_sessions",
        "columns": {"restart": ["session"]},
        "features": {"x1": "binary", "x2": "binary"},
    }
)


def a_table(people: int = 3, trials: int = 24) -> pd.DataFrame:
    """People who learn in session 2, and answer like a coin in session 1; the conditions of a and b are swapped."""
    rng = np.random.default_rng(SEED)
    table = pd.DataFrame(
        [(f"s{p}", session, trial) for p in range(people) for session in (1, 2) for trial in range(1, trials + 1)],
        columns=["subject", "session", "trial"],
    )
    table[["x1", "x2"]] = rng.integers(0, 2, (len(table), 2))
    table["outcome"] = table["x1"]
    knows = np.where((table["session"] == 2) & (table["trial"] > 6), 0.95, 0.5)
    table["choice"] = np.where(rng.random(len(table)) < knows, table["outcome"], 1 - table["outcome"])
    table["condition"] = np.where(table["session"] == 2, "drug", "placebo")
    return table


def a_cohort(**changed: Any) -> Cohort:
    return hf.read_cohort(a_table().assign(**changed), PROTOCOL)


def fitted(preset: Path, out: Path, **how: Any) -> Fits:
    how = {"by": "condition", "vary": ["learning_rate"], "workers": 1, "progress": False} | how
    return hf.fit(a_cohort(), ["rescorla_wagner", "bias"], out, preset=preset, **how)


@pytest.fixture(scope="module")
def fits(preset: Path, tmp_path_factory: pytest.TempPathFactory) -> Fits:
    return fitted(preset, tmp_path_factory.mktemp("runs") / "one")


def test_tables_have_a_row_for_each_condition_of_what_varies(fits: Fits) -> None:
    table = fits.parameters.query("subject == 's0' and standing == 'free'")
    assert table[["model", "parameter", "condition"]].to_numpy().tolist() == [
        ["rescorla_wagner", "learning_rate", "drug"],
        ["rescorla_wagner", "learning_rate", "placebo"],
        ["rescorla_wagner", "beta", ""],
        ["rescorla_wagner", "lapse", ""],
        ["bias", "choice_probability", ""],  # has nothing that varies
    ]
    medians = fits.parameters.query("parameter == 'learning_rate'").pivot(
        index="subject", columns="condition", values="median"
    )
    assert (medians["drug"] > 2 * medians["placebo"]).all()
    bias = fits.conditions.query("model == 'bias'").groupby("subject")["n_trials"].sum()
    assert (bias == fits.models.query("model == 'bias'").set_index("subject")["n_trials"]).all()
    assert len(fits.failures) == 0


def test_interrupted_and_with_two_workers_the_bytes_are_the_same(fits: Fits, preset: Path, tmp_path: Path) -> None:
    begun = fitted(preset, tmp_path / "two")
    for record in sorted((begun.folder / "records").rglob("*.npz"))[::2]:
        record.unlink()
    fitted(preset, tmp_path / "two", workers=2)
    for path in [*fits.folder.glob("*.csv"), *fits.folder.rglob("*.npz")]:
        assert (begun.folder / path.relative_to(fits.folder)).read_bytes() == path.read_bytes(), path


def test_another_division_is_another_run(fits: Fits, preset: Path) -> None:
    with pytest.raises(InputError, match=r"by = condition; allowed: no by, as asked for now"):
        fitted(preset, fits.folder, by=None, vary=())


ONE_PERSON = {"condition": lambda table: np.where(table["subject"] == "s0", "drug", table["condition"])}


@pytest.mark.parametrize(
    ("how", "changed", "seen"),
    [
        (
            {"by": "cond"},
            {},
            r"argument by: saw 'cond'; allowed: a column of the trials: .* Did you mean 'condition'\?",
        ),
        ({"by": None}, {}, r"argument vary: saw \['learning_rate'\]; allowed: nothing, as by names no column"),
        ({"vary": ()}, {}, "argument vary: saw nothing; allowed: the parameters that differ, of learning_rate, beta"),
        ({"vary": ["lapse", "lapse"]}, {}, r"argument vary \(2 times\): saw 'lapse'; allowed: each parameter once"),
        (
            {"vary": ["bias", "alpha"]},
            {},
            r"(?s)argument vary: saw 'bias'; allowed: a free.*argument vary: saw 'alpha'",
        ),
        ({"vary": [3]}, {}, "argument vary: saw 3; allowed: a free parameter"),
        ({"by": "x1"}, {}, "column x1: saw a condition that changes within a learner: subject s0, restart 1, trial"),
        ({}, {"condition": "drug"}, "column condition: saw nothing but 'drug'; allowed: two conditions or more"),
        ({}, {"condition": lambda table: table["condition"].where(table["trial"] > 2)}, "no condition in 12 trials"),
        ({}, ONE_PERSON, "column condition: saw no trials of s0 in placebo; allowed: everyone in every condition"),
    ],
)
def test_bad_input_is_named(
    how: dict[str, Any], changed: dict[str, Any], seen: str, preset: Path, tmp_path: Path
) -> None:
    how = {"by": "condition", "vary": ["learning_rate"]} | how
    with pytest.raises(InputError, match=seen):
        hf.fit(a_cohort(**changed), ["rescorla_wagner", "bias"], tmp_path / "run", preset=preset, workers=1, **how)
    assert not (tmp_path / "run").exists()


def test_what_is_tied_cannot_vary(preset: Path, tmp_path: Path) -> None:
    path = tmp_path / "tied.toml"
    path.write_text(f'base = "{preset.as_posix()}"\n[parameters.omega]\ntied = "alpha"\n')
    with pytest.raises(InputError, match=r"argument vary: saw 'omega'; allowed: .* It is tied to alpha: vary that"):
        hf.fit(a_cohort(), ["flat"], preset=path, by="condition", vary=["omega"])
