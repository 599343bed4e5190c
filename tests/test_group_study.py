"""Studies that calibrate pooling, in a folder: they go on where they were, and their ranks join those of people."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError
from holmes_fit.fitting.request import request_fit
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.studies.recovery import study as studies
from holmes_fit.studies.recovery.estimates import SBC
from holmes_fit.studies.recovery.group_study import (
    COHORT,
    FILTERS,
    RANKED,
    GroupSetup,
    GroupStudy,
    carry_out_groups,
    group_ranks,
    set_up_groups,
)
from holmes_fit.studies.recovery.setup import set_up_recovery
from holmes_fit.studies.simulation import simulate
from tests.commands import Shell
from tests.small_recovery import without_figures

SEED = 4
NODES = {"alpha": 3, "omega": 3, "beta": 6, "lapse": 5}


def tiny_preset() -> Preset:
    table = load_preset("quick").model_dump(exclude_none=True)
    for name, nodes in NODES.items():
        table["parameters"][name]["nodes"] = nodes
    return Preset.model_validate(table)


def plan_of_one(model: str, preset: Preset | None = None) -> GroupSetup:
    """Request one small cohort of a model."""
    cohort = simulate("conditioning", subjects=1, seed=SEED).cohort
    return set_up_groups(request_fit(cohort, (model,), preset=preset or tiny_preset(), seed=SEED), 1)


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> list[GroupStudy]:
    """Let cohorts be found without sampling; return the study of each."""
    studies: list[GroupStudy] = []

    def cohort(self: GroupStudy, rng: np.random.Generator) -> tuple[NDArray[np.int64], dict[str, float]]:
        studies.append(self)
        rank = rng.integers(RANKED + 1, size=(2, len(self.traces.space.free)))
        return rank, {"divergences": 0, "r_hat": 1.0, "ess": 500.0}

    monkeypatch.setattr(GroupStudy, "cohort", cohort)
    return studies


def test_a_study_goes_on_where_it_was(tmp_path: Path, pooled: list[GroupStudy]) -> None:
    cohort = simulate("conditioning", subjects=2, seed=SEED).cohort
    plan = set_up_groups(request_fit(cohort, ("bias", "flat"), preset=tiny_preset(), seed=SEED), 3)
    assert plan.keys == [(COHORT, "flat", f"{n:04d}") for n in range(3)]
    told: list[tuple[int, int]] = []

    def stop_after_two(*done: int) -> None:
        told.append(done)
        if done[0] == 2:
            raise KeyboardInterrupt("enough")

    with plan.open(tmp_path / "groups") as run, pytest.raises(KeyboardInterrupt, match="enough"):
        carry_out_groups(plan, run, workers=1, progress=stop_after_two)
    assert len(pooled) == 2
    with plan.open(tmp_path / "groups") as run:
        carry_out_groups(plan, run, workers=1, progress=lambda *done: told.append(done))
    assert len(pooled) == 3
    assert told == [(0, 3), (1, 3), (2, 3), (2, 3), (3, 3)]
    assert not run.progress().missing


def test_ranks_have_a_row_for_each_group_parameter_and_quantity(tmp_path: Path, pooled: list[GroupStudy]) -> None:
    cohort = simulate("conditioning", subjects=2, seed=SEED).cohort
    plan = set_up_groups(request_fit(cohort, ("flat",), preset=tiny_preset(), seed=SEED), 2)
    for _ in range(2):  # the second time, everything is there
        with plan.open(tmp_path / "groups") as run:
            carry_out_groups(plan, run, workers=1)
    assert len(pooled) == 2
    assert pooled[0] is pooled[1]  # so that its filters are run once
    ranks = group_ranks(plan, run)
    assert tuple(ranks.columns) == SBC
    free = [axis.name for axis in plan.fits.spaces["flat"].free]
    wanted = [f"{quantity} of {name}" for quantity in ("mean", "spread") for name in free]
    assert ranks["parameter"].tolist() == 2 * wanted
    assert ranks["unit"].unique().tolist() == ["group0000", "group0001"]
    record = run.load_record((COHORT, "flat", "0001"))
    assert record is not None
    np.testing.assert_array_equal(ranks["rank"].tail(len(wanted)), np.ravel(record.arrays["rank"]))


def test_another_study_has_filters_of_its_own(tmp_path: Path, pooled: list[GroupStudy]) -> None:
    """Within one session, as in a notebook."""
    for nodes in (3, 4):
        table = tiny_preset().model_dump(exclude_none=True)
        table["parameters"]["alpha"]["nodes"] = nodes
        plan = plan_of_one("flat", Preset.model_validate(table))
        with plan.open(tmp_path / str(nodes)) as run:
            carry_out_groups(plan, run, workers=1)
    assert [study.traces.space.learning[0].nodes for study in pooled] == [3, 4]


def test_people_who_begin_anew_are_filtered_problem_by_problem() -> None:
    fits = request_fit(simulate("shepard", subjects=1, seed=SEED).cohort, ("flat",), preset=tiny_preset())
    traces = set_up_groups(fits, 1).study("flat").traces
    assert len(traces.learners) == 6
    assert [each.shape for each in traces.at(4)] == [(FILTERS, each.observations.n_trials) for each in traces.learners]


def test_models_without_causes_are_refused() -> None:
    fits = request_fit(simulate("conditioning", subjects=1, seed=SEED).cohort, ("bias",))
    with pytest.raises(InputError, match="saw no model with latent causes"):
        set_up_groups(fits, 2)


def test_more_replicates_than_the_pool_can_tell_apart_are_refused() -> None:
    cohort = simulate("conditioning", subjects=1, seed=SEED).cohort
    with pytest.raises(InputError, match=r"saw a preset with 128 replicates; allowed: up to 64, as groups share 128"):
        set_up_groups(request_fit(cohort, ("flat",), preset="careful"), 2)


def test_a_recovery_tells_its_groups_from_its_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are from the prior of the group model, and can be tested even where people are not from theirs."""
    plan = set_up_recovery(
        "conditioning", models=("flat",), subjects=2, groups=30, population={"alpha": 1.0}, preset=tiny_preset()
    )
    assert plan.groups is not None
    assert plan.groups.study("flat").traces.learners[0].subject == plan.truths["flat"][0].subject
    written: dict[str, pd.DataFrame] = {}
    run = SimpleNamespace(write_table=lambda name, table: written.update({name: table}))
    person = pd.DataFrame([("person", "flat", "alpha", f"s{i}", i, 99) for i in range(30)], columns=list(SBC))
    group = pd.DataFrame([("group", "flat", "mean of alpha", f"g{i}", 0, 99) for i in range(30)], columns=list(SBC))
    monkeypatch.setattr(studies, "person_ranks", lambda truths, fits, seed: person)
    for name in ("people_table", "pooled_table", "recovery_table", "error_table", "evidences_of", "mixture_of"):
        monkeypatch.setattr(studies, name, lambda *args: pd.DataFrame())
    for name in ("confusion_table", "model_table", "power_table"):
        monkeypatch.setattr(studies, name, lambda *args: pd.DataFrame())
    studies.write_tables(plan, run, {"flat": None}, group)  # type: ignore[arg-type, dict-item]
    verdicts = written["sbc_summary.csv"].set_index("level")["verdict"]
    assert verdicts["person"].startswith("no test")
    assert verdicts["group"] == "fails"  # every rank is 0
    assert written["sbc.csv"]["level"].tolist() == ["person"] * 30 + ["group"] * 30


def test_groups_stay_when_they_are_not_asked_for_again_and_others_are_refused_at_once(
    tmp_path: Path, pooled: list[GroupStudy], monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    without_figures(monkeypatch)
    options = {"models": ("flat",), "subjects": 1, "preset": tiny_preset(), "workers": 1, "out": tmp_path / "study"}
    made = studies.recover("conditioning", groups=2, **options).sbc  # type: ignore[arg-type]
    assert set(made["level"]) == {"person", "group"}
    again = studies.recover("conditioning", **options).sbc  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(again, made)
    monkeypatch.setattr("holmes_fit.studies.recovery.results.carry_out", None)
    with pytest.raises(InputError, match=r"saw cohorts = 2; allowed: cohorts = 3"):
        studies.recover("conditioning", groups=3, **options)  # type: ignore[arg-type]
    assert "done       2 of 2" in shell("status", tmp_path / "study")[0]  # the groups
