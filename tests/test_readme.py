"""What the README shows is what happens: its Python runs, its commands run or are understood, its output is real."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from typer.main import get_command

from holmes_fit.cli import app
from tests.documents import ROOT, blocks, commands, run_python

HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")
DOCUMENTS = ("README.md", "fitting/README.md", "data/README.md", "reports/README.md", "holmes_fit/templates/README.md")
QUICK = ("init", "check", "cd")  # commands whose output is compared
OF_A_NEW_STUDY = ("protocols/my_task.toml", "data/example.csv")
SHELL = ("sh", "text", "console", "")


def call(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "120"}
    return subprocess.run([HOLMES_FIT, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


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
    for command in [command for block in blocks("README.md", "sh") for command in commands(block)]:
        name, *arguments = shlex.split(command)
        if name == "holmes-fit":
            done = call(arguments, folder)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 4


def test_output_is_real(tmp_path: Path) -> None:
    """What is quick is compared letter by letter; the rest runs in ``test_readme_study.py``."""
    folder, compared = tmp_path, 0
    for block in blocks("README.md", "console"):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            name, *arguments = shlex.split(command)
            if name == "cd":
                folder = folder / arguments[0]
            elif arguments[0] in QUICK:
                assert call(arguments, folder).stdout.rstrip() == output.rstrip()
                compared += 1
    assert compared == 2


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_is_understood(document: str) -> None:
    known = get_command(app)
    understood = 0
    for line in [line for block in blocks(document, *SHELL) for line in commands(block)]:
        if line.startswith("holmes-fit "):
            command, *arguments = shlex.split(line.partition(" > ")[0])[1:]
            known.commands[command].make_context(command, arguments)  # type: ignore[attr-defined]
            understood += 1
    assert understood or document == "fitting/README.md"


@pytest.mark.parametrize("document", [*DOCUMENTS, "CONTRIBUTING.md"])
def test_every_target_and_file_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for path in re.findall(r"`((?:reports|fitting|data|holmes_fit|tests|protocols)/[\w./]+)`|\]\((\w[\w./]*)\)", text):
        named = next(filter(None, path))
        assert (ROOT / named).exists() or named in OF_A_NEW_STUDY, named
