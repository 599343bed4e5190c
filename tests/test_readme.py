"""What the READMEs show is what happens: Python and commands run, output is real, and every result is explained."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from typer.main import get_command

import holmes_fit as hf
from holmes_fit.cli import app
from holmes_fit.runs.schema import tables
from tests.documents import README, ROOT, blocks, commands, files_of_row, outputs, recipe, run_python, with_dictionary
from tests.small_recovery import exact_preset_file, with_short_searches, without_figures
from tests.small_study import draw_groups_from_their_priors

HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")
TEMPLATE = "holmes_fit/trials/templates/README.md"
DOCUMENTS = (
    "README.md",
    "fitting/README.md",
    "data/README.md",
    "reports/README.md",
    "holmes_fit/trials/templates/README.md",
)
PAGES = (
    "docs/tutorial.md",
    *(f"docs/howto/{page}.md" for page in ("data", "groups", "models", "planning", "scripts", "datasets")),
)
QUICK = ("init", "check", "cd")  # commands whose output is compared
OF_A_NEW_STUDY = ("protocols/my_task.toml", "protocols/draft.toml", "data/example.csv")
SHELL = ("sh", "bash", "text", "console", "")
DATA = {"trials.csv", "subjects.csv", "exclusions.csv"}


def call(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "120"}
    return subprocess.run([HOLMES_FIT, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def is_understood(line: str) -> bool:
    """Say whether a line is a command of the program; one that it cannot parse raises."""
    if not line.startswith("holmes-fit "):
        return False
    command, *arguments = shlex.split(line.partition(" > ")[0])[1:]
    get_command(app).commands[command].make_context(command, arguments)  # type: ignore[attr-defined]
    return True


def test_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    found = blocks("README.md", "python")
    assert len(found) >= 2
    for block in found:
        run_python(block)


def test_commands_run(tmp_path: Path) -> None:
    folder = tmp_path
    ran = 0
    for command in [command for block in blocks("docs/howto/scripts.md", "sh") for command in commands(block)]:
        name, *arguments = shlex.split(command)
        if name == "holmes-fit":
            done = call(arguments, folder)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 4


def test_output_is_real(tmp_path: Path) -> None:
    """What is quick is compared letter by letter; the rest runs in ``test_readme_study.py``, and for the site."""
    folder, compared = tmp_path, 0
    for command, output in outputs("README.md"):
        name, *arguments = shlex.split(command)
        if name == "cd":
            folder = folder / arguments[0]
        elif arguments[0] in QUICK:
            assert call(arguments, folder).stdout.rstrip() == output.rstrip()
            compared += 1
    assert compared == 2


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAGES])
def test_every_command_is_understood(document: str) -> None:
    understood = 0
    for line in [line for block in blocks(document, *SHELL) for line in commands(block)]:
        understood += is_understood(line)
    assert understood or document == "fitting/README.md"


@pytest.mark.parametrize("target", ["demo", "sample", "examples"])
def test_every_command_of_the_makefile_is_understood(target: str) -> None:
    assert sum(map(is_understood, commands(recipe(target)))) >= 2


@pytest.mark.parametrize("document", [*DOCUMENTS, "CONTRIBUTING.md"])
def test_every_target_and_file_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for path in re.findall(r"`((?:reports|fitting|data|holmes_fit|tests|protocols)/[\w./]+)`|\]\((\w[\w./]*)\)", text):
        named = next(filter(None, path))
        assert (ROOT / named).exists() or named in OF_A_NEW_STUDY, named


def test_the_dictionary_of_results_is_that_of_the_schema() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == with_dictionary(text), "make dictionary writes what holmes_fit/runs/tables.toml says into it"
    assert {file for line in text.splitlines() for file in files_of_row(line)} >= set(tables())


@pytest.mark.slow
def test_every_table_that_is_written_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By all commands, with models that are fitted in a moment."""
    draw_groups_from_their_priors(monkeypatch)
    without_figures(monkeypatch)
    with_short_searches(monkeypatch)
    models = ["bias", "rescorla_wagner"]
    effort: dict[str, Any] = {"preset": exact_preset_file(tmp_path), "workers": 1, "progress": False}
    cohort = hf.simulate("weather_prediction", "rescorla_wagner", groups={"old": 3, "young": 3}, seed=1).cohort
    fits = hf.fit(cohort, models, tmp_path / "run", **effort)
    hf.pool(fits, formulas=["beta ~ group"], progress=False)
    hf.compare(fits, datasets=2, workers=1, progress=False)
    hf.recover(from_run=fits, workers=1, progress=False)
    sessions = hf.simulate("shepard", "rescorla_wagner", subjects=3, seed=1).cohort
    conditions = hf.fit(sessions, models, tmp_path / "conditions", by="problem", vary=["choice_probability"], **effort)
    hf.pool(conditions, models=["bias"], progress=False)
    hf.compare(conditions, progress=False)
    hf.plan("conditioning", [20], [5], out=tmp_path / "plan", models=models, people=3, **effort)
    hf.plan_designs(["conditioning"], out=tmp_path / "designs", models=models, people=3, **effort)

    written = {path.name: path for path in tmp_path.rglob("*") if path.suffix in (".csv", ".nc", ".txt")}
    text = README.read_text(encoding="utf-8")
    files = [file for line in text.splitlines() for file in files_of_row(line)]
    told = {file.replace("MODEL", model) for file in files for model in models}
    assert set(written) == told | DATA
    for name, path in written.items():
        if name in tables():
            columns = tuple(pd.read_csv(path, nrows=0).columns)
            assert columns in (tables()[name].columns, tables()[name].all_columns) or tables()[name].more, name
    assert set(tables()) <= set(written)
