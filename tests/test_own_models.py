"""Models of one's own: files that are run when they are named, wherever the work is done, and never otherwise."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit.models import own
from holmes_fit.models.competitors.bias import Bias
from holmes_fit.models.registry import MODELS
from holmes_fit.runs.fitted import fitted_run
from tests.commands import Shell

SEED = 20261120
TEXT = """
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from holmes_fit.models.competitors.exact import Exact, compiled
from holmes_fit.models.parameters import Parameter

STEP = Parameter("step", 0.01, 1.0, "log", 0.2, "step towards each outcome", prior="lognormal:0.2,1")


@dataclass(frozen=True)
class BaseRate(Exact):
    name: str = "base_rate"
    label: str = "Base rate"
    parameters: tuple[Parameter, ...] = (STEP,)
    family: ClassVar[str] = "error-driven"

    def predictions(self, observations, values):
        return rates(observations.outcome, observations.feedback, float(values["step"]))


@compiled
def rates(outcome, feedback, step):
    rate, found = 0.5, np.empty(len(outcome))
    for trial in range(len(outcome)):
        found[trial] = rate
        if feedback[trial]:
            rate += 0.99 * step * (outcome[trial] - rate)
    return found


slow = BaseRate("slow_rate", "Slow rate")
"""
CHANGED = TEXT.replace("0.99", "0.98")


@pytest.fixture(autouse=True)
def own_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget, after each test, what it has loaded."""
    monkeypatch.setattr(own, "_FILES", {})
    for name in ("base_rate", "slow_rate"):
        monkeypatch.setitem(MODELS, name, Bias())
        monkeypatch.delitem(MODELS, name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "my_models.py").write_text(TEXT)
    return tmp_path / "my_models.py"


def people() -> hf.simulate:  # type: ignore[valid-type]
    return hf.simulate("conditioning", "rescorla_wagner", subjects=2, seed=SEED).cohort


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


# --- loading
def test_a_class_and_a_model_of_a_file(file: Path) -> None:
    assert hf.load_model(f"{file}:BaseRate") == hf.load_model(f"{file}:BaseRate") == "base_rate"
    assert hf.load_model(f"{file}:slow") == "slow_rate"
    found = [hf.trace([[1, 1]] * 3, model=name, replicates=1, step=0.5)[0] for name in ("base_rate", "slow_rate")]
    assert found[0] == pytest.approx([0.5, 0.7475, 0.8725], abs=1e-3)
    assert (found[0] == found[1]).all()


REFUSED = {
    "my_models.py": (TEXT, "saw no model; allowed: FILE.py:CLASS"),
    "none.py:BaseRate": (TEXT, "none.py: saw No such file.*allowed: a Python file that can be read"),
    "my_models.py:BaseRat": (TEXT, "nothing of this name; allowed: a model of the file: .*BaseRate.*Did you mean"),
    "my_models.py:A": ("x = 1\nif x\n", "my_models.py, line 2: saw SyntaxError.*a file that Python can run"),
    "my_models.py:B": ("x = 1\n\nx.y\n", "my_models.py, line 3: saw AttributeError.*a file that Python can run"),
    "my_models.py:C": ("import sys\nsys.exit()", "my_models.py, line 2: saw SystemExit"),
    "my_models.py:D": ("class D:\n    def __init__(self, x): pass", "a class that can be called without arguments"),
    "my_models.py:E": ("class E: name = 'e f'", "E, name: saw 'e f'; .*\n.*E, label: saw nothing.*\n.*parameters.*"),
    "my_models.py:BaseRate": (TEXT.replace('"base_rate"', '"holmes"'), "saw 'holmes'; allowed: a name that no model"),
}


@pytest.mark.parametrize("reference", REFUSED)
def test_what_cannot_be_loaded(reference: str, tmp_path: Path) -> None:
    text, message = REFUSED[reference]
    (tmp_path / "my_models.py").write_text(text)
    with pytest.raises(InputError, match=message):
        hf.load_model(f"{tmp_path}/{reference}")
    assert MODELS["holmes"].label == "HOLMES"


# --- wherever the work is done
def test_processes_and_a_cluster_find_the_same(file: Path, tmp_path: Path, cluster: Any) -> None:
    models, cohort = [hf.load_model(f"{file}:BaseRate"), hf.load_model(f"{file}:slow"), "bias"], people()
    how = {"here": {"workers": 1}, "processes": {"workers": 2}, "cluster": {"dask": cluster.scheduler_address}}
    found = []
    for name, workers in how.items():
        hf.fit(cohort, models, tmp_path / name, preset="quick", seed=SEED, progress=False, **workers)
        found.append(contents(tmp_path / name))
        file.unlink(missing_ok=True)  # no other process needs the file, nor any other machine
    assert found[0] == found[1] == found[2]
    assert b"base_rate" in found[0]["fits.csv"]
    assert b"," not in found[0]["failures.csv"].split(b"\n", 1)[1]


@dataclass(frozen=True)
class Locked(Bias):
    """As from a notebook, and with something that no other process can have."""

    name: str = "locked"
    lock: Any = threading.Lock()  # noqa: RUF009


def test_a_model_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(MODELS, "locked", Locked())
    with pytest.raises(InputError, match=r"saw locked, which cannot be sent to other processes .*load_model"):
        hf.fit(people(), ["locked"], tmp_path / "run", preset="quick", workers=2, progress=False)
    alone = hf.fit(people(), ["locked"], tmp_path / "run", preset="quick", workers=1, progress=False)
    assert len(alone.models) == 2


# --- what a run says of files
def test_a_run_names_the_file_and_knows_when_it_has_changed(file: Path, tmp_path: Path) -> None:
    cohort, run, models = people(), tmp_path / "run", ["bias", hf.load_model(f"{file}:BaseRate")]
    fits = hf.fit(cohort, models, run, preset="quick", workers=1, progress=False)
    said = fits.run.manifest.identity["model_files"]
    assert isinstance(said, dict)
    assert said["base_rate"].startswith("my_models.py:BaseRate, sha256 ")
    assert fitted_run(run).space("base_rate").free[0].name == "step"
    file.write_text(CHANGED)
    hf.load_model(f"{file}:BaseRate")
    with pytest.raises(InputError, match=r"model_files.base_rate = my_models.py:BaseRate, sha256 .* as asked for now"):
        hf.fit(cohort, models, run, preset="quick", workers=1, progress=False)
    with pytest.raises(InputError, match="Give back the file as it was, or fit again in a new folder"):
        hf.pool(run, progress=False)


def test_no_file_is_run_because_a_run_names_it(file: Path, tmp_path: Path, shell: Shell) -> None:
    was_run, people_csv, run = (tmp_path / name for name in ("was_run", "people.csv", "run"))
    file.write_text(f"from pathlib import Path\n{TEXT.replace('from __future__ import annotations', '')}\n")
    with file.open("a") as more:
        more.write(f"Path({str(was_run)!r}).touch()\n")
    named = ["--models", f"bias,{file}:BaseRate"]
    task = ["--protocol", "conditioning"]
    shell("simulate", *task, "--model", f"{file}:BaseRate", "--subjects", 4, "--out", people_csv)
    _, err = shell("fit", people_csv, *task, *named, "--quick", "--workers", 1, "--out", run)
    assert f"holmes-fit compare {run} {' '.join(named)}" in err
    was_run.unlink()
    own._FILES.clear()
    own._run.cache_clear()
    MODELS.pop("base_rate")
    for command in (["pool"], ["compare"], ["recover", "--from"]):
        assert "Name it: --models bias,my_models.py:BaseRate" in shell.refuses(*command, run)
    assert not was_run.exists()
    with pytest.raises(InputError, match=r"formula"):  # read no further than to the parameters
        hf.pool(run, [hf.load_model(f"{file}:BaseRate")], formulas=["alpha ~ group"], progress=False)
    assert was_run.exists()


# --- the contract
def test_a_model_of_ones_own_is_checked(file: Path, shell: Shell) -> None:
    out, _ = shell("models", "check", f"{file}:BaseRate")
    assert "base_rate keeps all 11 promises" in out
    file.write_text(
        TEXT.replace("found[trial] = rate", "found[trial] = 2 * rate").replace(', prior="lognormal:0.2,1"', "")
    )
    message = shell.refuses("models", "check", f"{file}:BaseRate")
    assert "a prediction of [1.] at" in message
    assert "allowed: predictions are probabilities within the bounds" in message
    assert "parameters.step.prior: saw nothing" in message
