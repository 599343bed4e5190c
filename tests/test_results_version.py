"""The version of the results: other numbers need another version, and other code alone does not."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.pooling.density import Density, GroupTerm
from holmes_fit.groups.pooling.lattices import load_lattices, merge
from holmes_fit.groups.pooling.priors import GroupPrior, scaled
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.runs import identity
from holmes_fit.runs.folder import open_run, read_run
from holmes_fit.runs.identity import RESULTS_VERSION, code_digest
from tests.small_fits import OBSERVER, people, small_preset

KEPT = Path(__file__).with_name("results_version.json")
ADVICE = (
    "Results have changed. If they are meant to: raise RESULTS_VERSION in holmes_fit/runs/identity.py, say there why, "
    f"and write the new numbers into {KEPT.name}: python -m tests.test_results_version"
)


def numbers(folder: Path) -> dict[str, float]:
    """Return a few numbers of every kind that a run can hold: traces, likelihoods, evidences, a group's density."""
    cohort = people(2)
    observations = cohort.learners[0].observations
    found = {}
    for name, model in MODELS.items():
        values = {parameter.name: parameter.default for parameter in model.parameters}
        p_hat = model.p_hat(observations, values, Observer(particles=50), np.uint64(7), 2)
        found[f"p_hat of {name}"] = float(np.mean(p_hat * np.arange(1, observations.n_trials + 1)))
    models = ("holmes", "flat", "rescorla_wagner", "bias")
    preset = small_preset(folder, alpha=5, omega=5, beta=8, lapse=4)
    fits = fit(cohort, models, folder / "run", preset=preset, observer=OBSERVER, workers=1)
    for row in fits.models.itertuples():
        found[f"log_likelihood of {row.subject} with {row.model}"] = float(str(row.log_likelihood))
        found[f"log_evidence of {row.subject} with {row.model}"] = float(str(row.log_evidence))
    for name in ("holmes", "rescorla_wagner"):
        lattices = load_lattices(fits.run, name)
        cells = merge(lattices)
        term = GroupTerm(lattices, cells, scaled(GroupPrior(), cells.axes), {}, {})
        density = Density([term])
        found[f"density of the group of {name}"] = density(density.middle + 0.1)[0]
    return found


def test_results_are_those_of_their_version(tmp_path: Path) -> None:
    kept = json.loads(KEPT.read_text())
    assert kept["version"] == RESULTS_VERSION, ADVICE
    found = numbers(tmp_path)
    assert list(found) == list(kept["numbers"]), ADVICE
    for name, value in found.items():
        assert value == pytest.approx(kept["numbers"][name], rel=1e-5), f"{name}: {ADVICE}"


# --- Other code
@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.py").write_text('"""Says."""\n\n\ndef f(x):\n    """Doubles."""\n    return 2 * x  # twice\n')
    return folder


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("def f(x):\n    return 2 * x\n", True),
        ('"""Other words."""\ndef f(x): return (2 * x)', True),
        ("def f(x):\n    return 3 * x\n", False),
        ("def f(x, y=1):\n    return 2 * x\n", False),
    ],
)
def test_comments_docstrings_and_layout_are_no_code(package: Path, text: str, same: bool) -> None:
    before = code_digest.__wrapped__(package)
    (package / "a.py").write_text(text)
    assert (code_digest.__wrapped__(package) == before) is same


def test_the_name_of_a_module_is_code(package: Path) -> None:
    before = code_digest.__wrapped__(package)
    (package / "a.py").rename(package / "b.py")
    assert code_digest.__wrapped__(package) != before


@pytest.fixture
def untold() -> Iterator[None]:
    identity._tell.cache_clear()
    yield
    identity._tell.cache_clear()


def begin(folder: Path, about: dict[str, Any], **changed: object) -> None:
    with open_run(folder, identity={"kind": "fit", "results": 1} | changed, about=about, keys=[]):
        pass


@pytest.mark.usefixtures("untold")
def test_other_code_is_told_once_and_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path / "run", {"code": "0" * 64, "holmes_fit": "0.0.9"})
    assert capfd.readouterr().err == ""
    begin(tmp_path / "run", {"code": code_digest()})
    begin(tmp_path / "run", {"code": code_digest()})
    said = capfd.readouterr().err
    assert said.count("begun by other code of holmes_fit (version 0.0.9; here ") == 1


@pytest.mark.usefixtures("untold")
def test_the_same_code_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        begin(tmp_path / "run", {"code": code_digest()})
    assert capfd.readouterr().err == ""


def test_a_run_with_other_results_is_refused_and_read(tmp_path: Path) -> None:
    begin(tmp_path / "run", {})
    with pytest.raises(InputError, match=r"saw results = 1; allowed: results = 2, as asked for now\. Choose another"):
        begin(tmp_path / "run", {}, results=2)
    assert read_run(tmp_path / "run").manifest.identity["results"] == 1


def test_a_run_from_before_versions_is_refused_in_words_and_read(tmp_path: Path) -> None:
    old = {"kind": "fit", "holmes_fit": "0.1.0", "code": "13" * 32}
    with open_run(tmp_path / "run", identity=old, about={}, keys=[]):
        pass
    with pytest.raises(InputError, match=r"saw a run of an earlier version of holmes_fit.*Choose another folder"):
        begin(tmp_path / "run", {})
    assert read_run(tmp_path / "run").manifest.identity["code"] == "13" * 32


def _keep() -> None:
    with TemporaryDirectory() as folder:
        content = {
            "version": RESULTS_VERSION,
            "numbers": {name: float(f"{value:.7g}") for name, value in numbers(Path(folder)).items()},
        }
    KEPT.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    _keep()
