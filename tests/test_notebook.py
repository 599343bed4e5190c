"""The notebook runs from its first cell to its last, on fewer people and with less effort than what is saved in it."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from tests.documents import ROOT, run_python
from tests.small_study import draw_groups_from_their_priors, lay_out

NOTEBOOK = ROOT / "reports" / "example.ipynb"
LARGEST = 300_000  # bytes


def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the cell of parameters, which is there to be changed, is changed."""
    lay_out(tmp_path)
    draw_groups_from_their_priors(monkeypatch)
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    names: dict[str, Any] = {}
    for cell in cells():
        run_python("".join(cell["source"]), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            assert Path(names["data"]).is_file()
            names |= {"data": tmp_path / "pilot.csv", "folder": tmp_path / "run", "preset": tmp_path / "small.toml"}
            names |= {"models": ["flat", "holmes"], "workers": 1}
    assert (tmp_path / "run" / "report.pdf").exists()
    assert names["medians"].shape == (4, 5)


def test_the_notebook_has_its_outputs_and_is_small() -> None:
    assert all(cell["outputs"] for cell in cells()[2:])
    assert not [output for cell in cells() for output in cell["outputs"] if output["output_type"] == "error"]
    assert NOTEBOOK.stat().st_size < LARGEST
