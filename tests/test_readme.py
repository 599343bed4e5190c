"""What the README shows is what happens: its Python runs, its commands run, and its output is the real one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [content for name, content in fenced if name == language]


def commands(block: str) -> list[str]:
    lines = block.replace("\\\n", " ").splitlines()
    return [command.strip() for line in lines for command in re.sub(r"\s#.*", "", line).split("&&") if command.strip()]


def test_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = blocks("python")
    assert found
    for block in found:
        exec(block, {})


def test_commands_run(tmp_path: Path) -> None:
    folder = tmp_path
    ran = 0
    for command in [command for block in blocks("sh") for command in commands(block)]:
        name, *arguments = shlex.split(command)
        if name == "cd":
            folder = folder / arguments[0]
        elif name == "holmes-fit":
            done = subprocess.run([HOLMES_FIT, *arguments], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran >= 4


def test_output_is_real() -> None:
    shown = [block for block in blocks("") if block.startswith("$ holmes-fit")]
    assert shown
    for block in shown:
        command, _, output = block.partition("\n")
        environment = os.environ | {"COLUMNS": "120"}
        arguments = shlex.split(command.removeprefix("$ holmes-fit"))
        done = subprocess.run([HOLMES_FIT, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.stdout == output
