"""Importing the package is instant: heavy libraries load when they are used."""

import subprocess
import sys

import pytest

import holmes_fit

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
