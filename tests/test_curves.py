"""Learning curves by the file's own blocks, conditions and phases, with the learners at every point."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.cli.check_text import check_as_text
from holmes_fit.fitting.cohort import fit
from holmes_fit.reporting.learning import change, curves_within, learning_curve
from holmes_fit.reporting.run_data import read_data
from holmes_fit.trials import curves, summaries
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import check_data, read_cohort
from tests.commands import Shell
from tests.small_fits import small_preset

PROTOCOL = '[columns]\ncurves = ["difficulty"]\n[features]\nx = "binary"\n'


def file_of(folder: Path, lengths: dict[str, int], **columns: object) -> Path:
    """Write people who learn at their tenth trial, with as many trials as each needs."""
    parts = []
    for name, n in lengths.items():
        trial = np.arange(1, n + 1)
        outcome = trial % 2
        choice = np.where(trial <= 10, 1 - outcome, outcome)
        parts.append(
            pd.DataFrame({"subject": name, "trial": trial, "x": outcome, "outcome": outcome, "choice": choice})
        )
    table = pd.concat(parts, ignore_index=True)
    table["difficulty"] = np.where(table["trial"] % 4 < 2, "easy", "hard")
    for name, values in columns.items():
        table[name] = values(table) if callable(values) else values
    table.to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def by_tens(table: pd.DataFrame) -> pd.Series:
    return (table["trial"] - 1) // 10 + 1


def cohort_of(path: Path, protocol: str = PROTOCOL) -> Cohort:
    return read_cohort(path, read_protocol(protocol))


def test_the_blocks_of_the_file_make_the_points(tmp_path: Path) -> None:
    curve = summaries.learning_curve(cohort_of(file_of(tmp_path, {"a": 30, "b": 50}, block=by_tens)))
    assert curve["by"].unique().tolist() == ["block"]
    assert curve["label"].tolist() == ["1", "2", "3", "4", "5"]
    assert curve[["first", "last"]].to_numpy().tolist() == [[1, 10], [11, 20], [21, 30], [31, 40], [41, 50]]
    assert curve["learners"].tolist() == [2, 2, 2, 1, 1]
    assert curve["answers"].tolist() == [20, 20, 20, 10, 10]
    assert curve["accuracy"].tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "block",
    [
        lambda table: table["trial"] % 2,
        lambda table: table["trial"],
        lambda table: by_tens(table).where(table["trial"] > 5),
    ],
    ids=["back and forth", "as many as trials", "not everywhere"],
)
def test_blocks_that_are_none_are_passed_over(block: object, tmp_path: Path) -> None:
    curve = summaries.learning_curve(cohort_of(file_of(tmp_path, {"a": 80}, block=block)))
    assert curve["by"].unique().tolist() == ["trial"]
    assert curve["label"].tolist()[:2] == ["1-10", "11-20"]


def test_conditions_phases_and_named_columns_have_curves(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"a": 40, "b": 40}, phase=lambda table: np.where(table["trial"] > 20, "test", "training"))
    found = dict(curves.curves_within(cohort_of(path)))
    assert list(found) == ["phase", "difficulty"]
    assert found["phase"]["group"].unique().tolist() == ["training", "test"]  # as they come
    assert found["phase"].groupby("group")["last"].max().to_dict() == {"training": 20, "test": 40}
    assert set(found["difficulty"]["group"]) == {"easy", "hard"}
    assert found["difficulty"]["answers"].sum() == 80


def test_a_column_that_is_named_for_curves_must_be_there(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"a": 20})
    with pytest.raises(InputError, match=r"header: saw no column 'dificulty'.*Did you mean 'difficulty'\?"):
        cohort_of(path, PROTOCOL.replace("difficulty", "dificulty"))
    with pytest.raises(InputError, match=r"columns\.curves"):
        read_protocol(PROTOCOL.replace('["difficulty"]', "3"))


def test_a_column_may_have_another_use_as_well(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"a": 20})
    found = dict(curves.curves_within(cohort_of(path, PROTOCOL.replace("difficulty", "outcome"))))
    assert found["outcome"]["group"].unique().tolist() == ["0", "1"]


def test_check_says_how_many_learners_are_left_at_each_point(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"a": 20, "b": 40, "c": 40}, block=by_tens)
    text = list(check_as_text(check_data(path, read_protocol(PROTOCOL))))
    start = text.index("Answers that equal the outcome, by block of the file")
    assert text[start + 2].split()[1:5] == ["0%", "100%", "100%", "100%"]
    assert text[start + 3].split() == ["learners", "3", "3", "2", "2"]
    assert "The same by difficulty" in text


def test_who_is_left_is_compared_with_himself_in_the_report(tmp_path: Path) -> None:
    """Those who are done early were right all along, those who are left were not; nobody fell."""
    path = file_of(
        tmp_path,
        {"quick": 20, "slow": 60},
        block=by_tens,
        choice=lambda table: np.where(table["subject"] == "quick", table["outcome"], 1 - table["outcome"]),
    )
    run = fit(cohort_of(path), ["bias"], tmp_path / "run", preset=small_preset(tmp_path), workers=1, progress=False)
    data = read_data(run)
    curve = learning_curve(data)
    assert curve["mean"].tolist() == [0.5, 0.5, 0, 0, 0, 0]
    assert curve["n_learners"].tolist() == [2, 2, 1, 1, 1, 1]
    assert curve["x"].tolist() == [1, 2, 3, 4, 5, 6]
    assert change(data) == (0.0, 0.0, 1, 2)
    assert [name for name, _ in curves_within(data)] == ["difficulty"]


def test_messages_that_come_again_are_folded(tmp_path: Path, shell: Shell) -> None:
    protocol = tmp_path / "task.toml"
    protocol.write_text(PROTOCOL)
    (tmp_path / "data").mkdir()
    for number in range(8):
        file_of(tmp_path, {f"p{number}": 20}).rename(tmp_path / "data" / f"p{number}.csv")
        with (tmp_path / "data" / f"p{number}.csv").open("a") as file:
            file.write(",,,,,\n" * (1 + number // 7))
    out, _ = shell("check", tmp_path / "data", "--protocol", protocol)
    notes = [line for line in out.splitlines() if "skipped" in line]
    assert len(notes) == 2
    assert "p0.csv and 6 more files: skipped 1 rows without any entry." in notes[0]
    path = file_of(tmp_path, {"a": 60})
    path.write_text(path.read_text().replace(",1,easy", ",lft,easy"))
    out, _ = shell("check", path, "--protocol", protocol, code=2)
    assert out.count("saw 'lft'") == 1
    assert re.search(r"data\.csv, row 5, column choice; .* and \d+ more places: saw 'lft'", out)
    path.write_text(path.read_text().replace(",lft,easy", ",1,easy").replace("a,1", "a,x1"))
    out, _ = shell("check", path, "--protocol", protocol, code=2)
    assert out.count("allowed: a whole number") == 5
    assert "data.csv, column trial: 6 more like these." in out
