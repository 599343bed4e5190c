"""Importing the package is instant: heavy libraries load when they are used."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import holmes_fit

PACKAGE = Path(holmes_fit.__file__).parent

HEAVY = ["pymc", "optuna", "matplotlib", "pandas", "numba", "arviz", "scipy", "sklearn", "statsmodels", "dask"]


def modules_after(program: str) -> list[str]:
    """The heavy libraries that are loaded after a program has run."""
    report = f"import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{program}\n{report}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert modules_after("import holmes_fit; dir(holmes_fit); holmes_fit.__version__") == []


def test_models_can_be_listed_without_numba() -> None:
    loaded = modules_after("import holmes_fit; list(holmes_fit.MODELS)")
    assert not {"numba", "pandas", "pymc", "optuna", "matplotlib"} & set(loaded)


def test_a_trace_loads_numba_and_no_more() -> None:
    loaded = modules_after("import holmes_fit; holmes_fit.trace([[1, 1], [0, 0]], particles=2, replicates=1)")
    assert "numba" in loaded
    assert not {"pandas", "pymc", "optuna", "matplotlib", "arviz"} & set(loaded)


def test_every_public_name_is_listed_and_loads() -> None:
    assert {"trace", "MODELS", "Observer", "InputError", "HolmesFitError", "__version__"} <= set(dir(holmes_fit))
    assert sorted(holmes_fit.__all__) == dir(holmes_fit)
    for name in holmes_fit.__all__:
        assert getattr(holmes_fit, name) is not None


def test_names_lead_to_the_same_objects() -> None:
    from holmes_fit._support.errors import HolmesFitError, InputError
    from holmes_fit.models.registry import MODELS
    from holmes_fit.models.tracing import trace

    assert holmes_fit.trace is trace
    assert holmes_fit.MODELS is MODELS
    assert holmes_fit.InputError is InputError
    assert issubclass(InputError, HolmesFitError)
    assert issubclass(InputError, ValueError)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'holmes_fit' has no attribute 'tracce'"):
        _ = holmes_fit.tracce
    assert not hasattr(holmes_fit, "_private")


def test_what_windows_lacks_is_imported_nowhere_without_asking() -> None:
    """Modules that only POSIX systems have stand below a condition, as in ``runs/lock.py``."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not {"fcntl", "grp", "pwd", "resource", "termios", "posix"} & set(names), path


def test_the_version_is_said_once() -> None:
    assert version("holmes-fit") == holmes_fit.__version__
    assert "version:" not in (PACKAGE.parent / "CITATION.cff").read_text().replace("cff-version:", "")


def test_an_example_that_there_is_not_is_refused() -> None:
    with pytest.raises(
        holmes_fit.InputError, match=r"saw 'wether'; allowed: weather, categories\. Did you mean 'weather'"
    ):
        holmes_fit.example("wether")
