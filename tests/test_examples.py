"""The example cohorts in data/: simulated, labelled, read by their protocols, and made again byte by byte."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit._support.study_files import study_folder
from holmes_fit.cli import main
from holmes_fit.trials.reading import check_data

ROOT = Path(__file__).resolve().parent.parent
COHORTS = {"compositional_3": 24, "weather_prediction": 20}


def commands(text: str) -> list[list[str]]:
    """Return the simulate commands in a text, without the line breaks in them."""
    joined = re.sub(r"\\\n\s*", " ", text)
    found = re.findall(r"^\s*(?:\"\$\(BIN\)/)?holmes-fit\"? (simulate .*)$", joined, flags=re.MULTILINE)
    return [shlex.split(command) for command in found]


def test_the_makefile_and_the_readme_give_the_same_commands() -> None:
    of_makefile = commands((ROOT / "Makefile").read_text())
    assert of_makefile == commands((ROOT / "data" / "README.md").read_text())
    assert [command[-1] for command in of_makefile] == [f"data/{name}.csv" for name in COHORTS]


@pytest.mark.parametrize("number", range(len(COHORTS)))
def test_examples_are_made_again_byte_by_byte(number: int, tmp_path: Path) -> None:
    command = commands((ROOT / "Makefile").read_text())[number]
    shipped = ROOT / command[-1]
    made = tmp_path / shipped.name
    with pytest.raises(SystemExit, match="0"):
        main([*command[:-1], str(made)])
    for suffix in (".csv", ".truth.csv"):
        assert made.with_suffix(suffix).read_bytes() == shipped.with_suffix(suffix).read_bytes()


@pytest.mark.parametrize(("name", "people"), COHORTS.items())
def test_examples_pass_the_check(name: str, people: int) -> None:
    check = check_data(study_folder("data") / f"{name}.csv", name)
    assert not check.problems
    assert check.cohort is not None
    assert len(check.cohort.subjects) == people
    assert check.cohort.exclusions.empty
    assert (check.cohort.trials["source"] == "simulated").all()


def test_the_truth_is_about_the_same_people() -> None:
    for name in COHORTS:
        trials, truth = (pd.read_csv(study_folder("data") / f"{name}{end}.csv") for end in ("", ".truth"))
        assert trials["subject"].drop_duplicates().tolist() == truth["subject"].tolist()


def test_the_examples_are_the_cohorts_that_are_promised() -> None:
    mixed = pd.read_csv(study_folder("data") / "compositional_3.truth.csv")
    assert set(mixed["model"]) == {"flat", "holmes"}
    groups = pd.read_csv(study_folder("data") / "weather_prediction.truth.csv").groupby("group")
    assert groups.size().to_dict() == {"control": 10, "patient": 10}
    assert groups["omega"].median()["patient"] > 2 * groups["omega"].median()["control"]
