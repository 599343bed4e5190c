"""What the comparison says of other models: what each would need, families, and axes on which models are told apart."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from holmes_fit.reporting.blocks import Table
from holmes_fit.reporting.figures.comparison import draw_differences_of_models
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.comparison import COMPARISON
from holmes_fit.reporting.sections.rivals import needs, shortfalls
from holmes_fit.runs.folder import read_run
from tests.sample_run import Sample, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sample = Sample(9, 12, models=("flat", "holmes", "alcove", "rescorla_wagner"), warned=False, records=False)
    return make_run(tmp_path_factory.mktemp("rivals") / "run", sample)


@pytest.fixture
def data(run: Path) -> CohortData:
    return CohortData(read_run(run))


def test_what_a_model_would_need_makes_it_level(run: Path, data: CohortData) -> None:
    evidence = pd.read_csv(run / "model_probabilities.csv").pivot(index="subject", columns="model")["log_evidence"]
    found = shortfalls(data, "holmes").set_index("model")
    assert set(found.index) == {"flat", "alcove", "rescorla_wagner"}
    assert list(found["total"]) == sorted(found["total"])
    for model, row in found.iterrows():
        assert (evidence[model] + row["mean"]).sum() == pytest.approx(evidence["holmes"].sum())
        gained = evidence[model] + row["median"] + 1e-9
        assert (gained > evidence["holmes"]).sum() == 5  # of nine
        assert row["ahead"] == (evidence[model] > evidence["holmes"]).sum()
    [table] = [block for block in needs(data, "holmes") if isinstance(block, Table)]
    assert [row[0] for row in table.rows] == [data.words.label(str(name)) for name in found.index]


def test_flat_and_holmes_are_set_side_by_side_whichever_model_leads(run: Path, data: CohortData) -> None:
    names = {figure.name for figure in COMPARISON.section(data).figures()}
    assert "comparison_evidence" in names
    assert "comparison_flat_or_holmes" not in names  # it is the same
    data = CohortData(read_run(run))
    data.tables["comparison"] = data["comparison"].assign(frequency=lambda of: 1.0 * (of["model"] == "alcove"))
    assert data.lead_model == "alcove"
    assert "comparison_flat_or_holmes" in {figure.name for figure in COMPARISON.section(data).figures()}


def test_baselines_do_not_press_the_other_models_together(data: CohortData) -> None:
    values = {"holmes": 0.0, "flat": -8.0, "alcove": -20.0, "rescorla_wagner": -300.0}
    table = pd.DataFrame({"model": list(values), "value": list(values.values()), "error": 1.0})
    ax = draw_differences_of_models(Figure().subplots(), table, "value", "error", data.words)
    assert -60 < ax.get_xlim()[0] < -20
    assert [text.get_text() for text in ax.texts][-1] == "−300.0"
