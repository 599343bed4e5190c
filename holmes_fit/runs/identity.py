"""What results depend on beside data and settings: the version of the results, and the packages that compute them."""

import ast
import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from holmes_fit._support.errors import plain
from holmes_fit._support.study_files import PACKAGE

# Raise it when the same data and settings give other numbers than before; tests/test_results_version.py says when.
# A run that was begun with another one is still read and reported, but not gone on with.
#   1  the first that is counted
#   2  moments of parameters and of priors hold the variance within the cells of a lattice
#   3  rescorla_wagner has a constant cue; models without particles are computed at all nodes, not at every second one
RESULTS_VERSION = 3
RESULTS = "results"  # what the version is called in an identity

PACKAGES = ("numba", "numpy", "optuna", "pandas", "scipy")
WITH_TEXT = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_identity() -> dict[str, object]:
    """Return the part of a run's identity that is the same for all runs here."""
    return {RESULTS: RESULTS_VERSION, "packages": {name: version(name) for name in PACKAGES}}


def code_about() -> dict[str, object]:
    """Return what a run says of the code that began it, on which its identity does not depend."""
    return {"holmes_fit": version("holmes-fit"), "code": code_digest()}


@cache
def fingerprint() -> Mapping[str, str]:
    """Return what decides which numbers are computed here; other processes must have the same."""
    packages = {name: version(name) for name in ("holmes-fit", *PACKAGES)}
    return {**packages, "code": code_digest()}


def unlike_here(there: Mapping[str, str]) -> str:
    """Say in what another place differs from here; nothing if it computes the same."""
    here = fingerprint()
    differing = [name for name in here if there.get(name) != here[name]]
    named = [f"{name} {plain(there.get(name, 'missing'))}, not {here[name]}" for name in differing if name != "code"]
    return "; ".join(named) or ("other code of holmes-fit" if differing else "")


@cache
def code_digest(package: Path = PACKAGE) -> str:
    """Return the SHA-256 of all code of the package, comments, docstrings and layout left out."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, WITH_TEXT) and ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        digest.update(f"{path.relative_to(package).as_posix()}\0{ast.unparse(tree)}\0".encode())
    return digest.hexdigest()


def tell_of_other_code(about: Mapping[str, object]) -> None:
    """Say, once, that a run was begun by other code than this, where its results need not differ."""
    found = about.get("code")
    if found is not None and found != code_digest():
        _tell(str(about.get("holmes_fit", "")))


@cache
def _tell(begun_with: str) -> None:
    print(
        f"Note: this run was begun by other code of holmes_fit (version {begun_with}; here {version('holmes-fit')}), "
        "which says that it computes the same results. To be sure of that, begin in a new folder.",
        file=sys.stderr,
    )
