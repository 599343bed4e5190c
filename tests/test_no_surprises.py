"""Nothing that is read can be executed: what the sources never do, and which licences an audit refuses."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.audit import LOCK, is_allowed, locked
from holmes_fit._support.study_files import PACKAGE

# Modules that turn bytes or text into objects or processes.
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "subprocess", "yaml", "code"}
# Functions that execute text, and methods of libraries that execute or unpickle what they are given.
FUNCTIONS = {"eval", "exec", "compile", "__import__", "execfile"}
METHODS = {"eval", "query", "read_pickle", "to_pickle", "system", "popen", "spawnv", "unsafe_load", "full_load"}
METHODS |= {"exec_module", "run_path", "run_module"}
# Where a Python file is run that the user names as that of a model
MODEL_FILES = {Path("models/own.py"): ["text.exec_module(module)"]}
FINE_IF_WRITTEN_OUT = {"query"}  # a condition that stands in the source is part of it
LOADERS = {("joblib", "load"), ("joblib", "dump"), ("yaml", "load"), ("np", "save"), ("np", "fromfile")}


def surprises(source: str) -> Iterator[str]:
    """Give everything in a source by which data could be executed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in MODULES:
            yield node.module
        elif isinstance(node, ast.Call):
            yield from _surprises_of_call(node)


def _surprises_of_call(call: ast.Call) -> Iterator[str]:
    given = {word.arg: word.value for word in call.keywords if word.arg}
    shown = ast.unparse(call)
    if isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS:
        yield shown
    if isinstance(call.func, ast.Attribute):
        owner = ast.unparse(call.func.value)
        is_written_out = bool(call.args) and isinstance(call.args[0], ast.Constant)
        if call.func.attr in METHODS and not (call.func.attr in FINE_IF_WRITTEN_OUT and is_written_out):
            yield shown
        if (owner, call.func.attr) in LOADERS:
            yield shown
        if (owner, call.func.attr) in {("np", "load"), ("numpy", "load")} and "allow_pickle" not in given:
            yield shown
    for word in ("shell", "allow_pickle"):
        if word in given and not (isinstance(given[word], ast.Constant) and given[word].value is False):  # type: ignore[attr-defined]
            yield shown


def test_sources_execute_nothing_that_they_read() -> None:
    found = {path.relative_to(PACKAGE): list(surprises(path.read_text("utf-8"))) for path in PACKAGE.rglob("*.py")}
    assert len(found) > 80
    assert {path: calls for path, calls in found.items() if calls} == MODEL_FILES


SURPRISES = ["import pickle", "from cloudpickle import loads", "import subprocess", "eval(text)", "exec('x')"]
SURPRISES += ["frame.query(text)", "pd.read_pickle(path)", "joblib.load(path)", "yaml.load(text)", "np.load(path)"]
SURPRISES += ["np.load(path, allow_pickle=True)", "np.load(path, allow_pickle=flag)", "os.system(command)"]
SURPRISES += ["np.savez(path, allow_pickle=True, x=1)", "run(command, shell=True)"]


@pytest.mark.parametrize("source", SURPRISES)
def test_a_surprise_would_be_found(source: str) -> None:
    assert list(surprises(source))


def test_what_is_harmless_is_left_alone() -> None:
    assert not list(surprises("import re\nre.compile('x')\nnp.load(file, allow_pickle=False)\nx.query('a > 1')"))


# --- licences
@pytest.mark.parametrize(
    "licence",
    ["MIT", "BSD-3-Clause", "Apache-2.0 OR BSD-2-Clause", "(MIT AND Zlib) OR 0BSD", "MPL-2.0 AND MIT", "LGPL-3.0"],
)
def test_licences_that_ask_nothing_of_a_program_are_allowed(licence: str) -> None:
    assert is_allowed(licence)


@pytest.mark.parametrize(
    "licence",
    ["GPL-3.0", "AGPL-3.0-only", "MIT AND GPL-2.0-or-later", "GNU General Public License", "Proprietary", "MITx", ""],
)
def test_other_licences_are_refused(licence: str) -> None:
    assert not is_allowed(licence)


def test_the_lock_is_read_whole() -> None:
    packages = locked(LOCK.read_text(encoding="utf-8"))
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line and line[0].isalnum()]
    assert len(packages) == len(lines) > 80
    assert {"numpy", "numba", "pymc", "typer"} <= {name for name, _, _ in packages}
    forked = {(name, condition) for name, _, condition in packages if name == "pymc"}
    assert forked == {("pymc", "python_full_version < '3.12'"), ("pymc", "python_full_version >= '3.12'")}
