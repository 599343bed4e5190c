"""A small part of ``make chaos``: commands are disturbed at random moments, and nothing is lost or left behind."""

import os
import subprocess
import sys

import pytest

from tests.documents import ROOT


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_nothing_is_lost_or_left_behind() -> None:
    program = [sys.executable, "-m", "benchmarks.chaos", "--minutes", "0", "--only", "import,fit,pool"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("; 0 times something was lost or left.\n")
