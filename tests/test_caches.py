"""Compiled code is kept where its user can write, and nobody else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holmes_fit._support.caches import set_pytensor_flag

ROOT = Path(__file__).parent.parent
USUAL = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR", "PYTENSOR_FLAGS")

COMPILE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from holmes_fit.models.filters import draws
draws.unit(np.uint64(1), np.uint64(2))
print(draws.__file__)
"""
NAMES = "import os, holmes_fit; print(os.environ.get('XDG_CACHE_HOME'))"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A package, or what matters of it, beside whose sources nothing can be written."""
    package = tmp_path / "installed" / "holmes_fit"
    (package / "models" / "filters").mkdir(parents=True)
    (package / "_support").mkdir()
    for name in ("__init__.py", "_support/caches.py", "models/filters/draws.py"):
        shutil.copy(ROOT / "holmes_fit" / name, package / name)
    (package / "models" / "filters" / "__pycache__").write_text("no folder, so that not even root can write here")
    return package


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.fixture
def no_home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.write_text("no folder, so that not even root can write here")
    return home


def python(*arguments: object, **variables: object) -> str:
    """Run Python with nothing set but these variables, of those that name caches, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in USUAL}
    environment |= {name: str(value) for name, value in variables.items()}
    command = [sys.executable, "-c", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_user_folder_takes_the_place_of_a_package_that_cannot_be_written_to(tmp_path: Path, installed: Path) -> None:
    cache = tmp_path / "cache"
    used = python(COMPILE, installed.parent, HOME=tmp_path, XDG_CACHE_HOME=cache)
    assert Path(used).is_relative_to(installed)
    assert list(cache.rglob("draws.unit*.nbc"))


def test_a_temporary_folder_takes_the_place_of_a_home(installed: Path, temporary: Path, no_home: Path) -> None:
    used = python(COMPILE, installed.parent, HOME=no_home, TMPDIR=temporary)
    assert Path(used).is_relative_to(installed)
    (own,) = temporary.glob("holmes_fit-*")
    assert own.stat().st_mode & 0o777 == 0o700
    assert list((own / "cache").rglob("draws.unit*.nbc"))


def test_libraries_load_without_a_home(temporary: Path, no_home: Path) -> None:
    python(
        "import holmes_fit.groups.pooling.model, matplotlib.pyplot, pytensor as p; p.config.compiledir",
        HOME=no_home,
        TMPDIR=temporary,
    )
    (own,) = temporary.iterdir()  # and nobody had to look for a place elsewhere
    assert {each.name for each in own.iterdir()} >= {"cache", "matplotlib", "pytensor"}


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_that_others_may_open_is_not_used(mode: int, temporary: Path, no_home: Path) -> None:
    theirs = temporary / f"holmes_fit-{os.getuid()}"
    theirs.mkdir()
    theirs.chmod(mode)
    cache = Path(python(NAMES, HOME=no_home, TMPDIR=temporary))
    assert cache.is_relative_to(temporary)
    assert not cache.is_relative_to(theirs)


def test_a_link_to_somewhere_else_is_not_used(temporary: Path, no_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (temporary / f"holmes_fit-{os.getuid()}").symlink_to(elsewhere)
    cache = Path(python(NAMES, HOME=no_home, TMPDIR=temporary))
    assert not cache.resolve().is_relative_to(elsewhere.resolve())


def test_a_home_that_can_be_written_to_is_left_alone(tmp_path: Path, temporary: Path) -> None:
    assert python(NAMES, HOME=tmp_path, TMPDIR=temporary) == "None"
    assert python(NAMES, HOME=tmp_path, TMPDIR=temporary, XDG_CACHE_HOME=tmp_path) == str(tmp_path)
    assert not list(temporary.iterdir())


def test_flags_that_someone_has_set_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTENSOR_FLAGS", raising=False)
    set_pytensor_flag("cxx", "")
    set_pytensor_flag("base_compiledir", "/a")
    set_pytensor_flag("base_compiledir", "/b")
    assert os.environ["PYTENSOR_FLAGS"] == "cxx=,base_compiledir=/a"
