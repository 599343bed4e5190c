"""Studies of the benchmarks go on where they were stopped, and end with the same tables."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks import competitors
from benchmarks.kept import Kept, Rows
from holmes_fit._support.errors import HolmesFitError
from holmes_fit.settings.preset import load_preset
from tests.small_fits import small_preset

JOBS = [("a", 0), ("a", 1), ("b", 0)]


def work(job: tuple[str, int]) -> dict[str, Rows]:
    who = {"task": job[0], "sequence": job[1]}
    return {"people": [{**who, "value": job[1] / 3, "name": "001"}] * 2, "groups": [{**who, "rank": 7}]}


def kept(folder: Path) -> Kept:
    return Kept(folder, "people", "groups", job=("task", "sequence"), text=["name"])


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    kept(tmp_path / "whole").do(work, JOBS, workers=1)
    kept(tmp_path / "parts").do(work, [JOBS[2], JOBS[0]], workers=1)
    # As if it had been stopped between two tables of a sequence.
    people = pd.read_csv(tmp_path / "parts" / "people.csv", dtype={"name": "str"})
    half = people.iloc[:1].assign(sequence=1)
    pd.concat([people, half]).to_csv(tmp_path / "parts" / "people.csv", index=False)
    done: list[tuple[str, int]] = []
    again = kept(tmp_path / "parts")
    again.do(lambda job: done.append(job) or work(job), JOBS, workers=1)  # type: ignore[func-returns-value]
    assert done == [JOBS[1]]
    for kind in again.kinds:
        files = [(tmp_path / name / f"{kind}.csv").read_bytes() for name in ("whole", "parts")]
        assert files[0] == files[1]
    pd.testing.assert_frame_equal(again.tables["people"], kept(tmp_path / "parts").tables["people"])


def test_a_job_that_fails_is_named_and_what_was_done_stays(tmp_path: Path) -> None:
    def failing(job: tuple[str, int]) -> Rows:
        if job == JOBS[1]:
            raise ValueError("no")
        return work(job)["groups"]

    study = Kept(tmp_path, "groups", job=("task", "sequence"))
    with pytest.raises(HolmesFitError, match=r"\('a', 1\): ValueError: no"):
        study.do(failing, JOBS, workers=1)
    assert len(Kept(tmp_path, "groups", job=("task", "sequence")).table) == 1


def test_all_models_are_recovered_against_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sequence of the kept study, with few models and nodes; ``flat`` has filters, which people share."""
    monkeypatch.setattr(competitors, "MODELS", ("flat", "rescorla_wagner", "win_stay"))
    monkeypatch.setattr(competitors, "BEFORE", ("flat", "rescorla_wagner"))
    monkeypatch.setattr(competitors, "TASKS", ("conditioning",))
    monkeypatch.setattr(competitors, "SEQUENCES", 1)
    monkeypatch.setattr(competitors, "KEPT", tmp_path)
    monkeypatch.setattr(competitors, "load_preset", lambda name: load_preset(small_preset(tmp_path)))
    competitors.recovery()
    tables = {path.stem: pd.read_csv(path) for path in tmp_path.glob("*.csv")}
    assert set(tables) == {"parameters", "evidences", "recovery", "confusion", "confusion_before"}
    assert len(tables["evidences"]) == 3 * competitors.PEOPLE * 3
    assert tables["evidences"]["log_evidence"].between(-100, 0).all()
    assert tables["recovery"].groupby("model")["parameter"].nunique().to_dict() == {
        "flat": 4, "rescorla_wagner": 3, "win_stay": 2
    }  # fmt: skip
    confusion = tables["confusion"].groupby("truth")
    assert (confusion["count"].sum() == competitors.PEOPLE).all()
    assert (tmp_path / "confusion.png").stat().st_size > 10_000
    before = (tmp_path / "evidences.csv").read_bytes()
    competitors.recovery()  # nothing is missing
    assert (tmp_path / "evidences.csv").read_bytes() == before
