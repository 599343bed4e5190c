"""Pages about stimuli and the test: every point is that of the run's tables, counted here in another way."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.stimuli import STIMULI
from holmes_fit.reporting.sections.untaught import TEST
from holmes_fit.reporting.stimuli import HIT, answered, calibration, points
from holmes_fit.runs.folder import read_run
from tests.sample_run import CUES, Sample, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sample = Sample(6, 60, problems=2, tested=8, warned=False, recovered=False, records=False)
    return make_run(tmp_path_factory.mktemp("stimuli") / "run", sample)


@pytest.fixture
def data(run: Path) -> CohortData:
    return CohortData(read_run(run))


def by_hand(run: Path, model: str) -> list[dict[str, object]]:
    """A row for each answer, in plain loops over the files of the run."""
    trials = pd.read_csv(run / "trials.csv", dtype={"subject": str})
    fitted = pd.read_csv(run / "trials_fitted.csv", dtype={"subject": str})
    expected = fitted[fitted["model"] == model].set_index(["subject", "trial"])["p_choice"]
    found, met = [], []
    for row in trials.to_dict("records"):
        who = (row["subject"], row["problem"], "".join(str(row[name]) for name in CUES))
        before = [feedback for other, feedback in met if other == who]
        met.append((who, row["feedback"]))
        if not np.isnan(row["choice"]):
            p = float(expected[row["subject"], row["trial"]])
            kind = ("taught" if any(before) else "new") + (", again" if 0 in before else ", first time")
            found.append({**row, "stimulus": who[2], "p": p, "kind": kind, "exposure": len(before) + 1})
    return found


def test_points_are_means_over_people(run: Path, data: CohortData) -> None:
    own = points(answered(data), ["condition", "stimulus"]).set_index(["model", "condition", "stimulus"])
    table = pd.DataFrame(by_hand(run, "flat"))
    for (condition, stimulus), rows in table.groupby(["condition", "stimulus"]):
        answers = [rows.loc[rows["subject"] == name, ["choice", "p"]].mean() for name in rows["subject"].unique()]
        point = own.loc["flat", condition, stimulus]
        assert point["observed"] == pytest.approx(np.mean([each["choice"] for each in answers]))
        assert point["expected"] == pytest.approx(np.mean([each["p"] for each in answers]))
        assert (point["n_people"], point["n_answers"]) == (len(answers), len(rows))


def test_what_is_new_in_the_test_had_no_feedback_before(run: Path, data: CohortData) -> None:
    [grid, row] = TEST.section(data).figures()
    rows = [each for each in by_hand(run, "holmes") if not each["feedback"]]
    assert row.table is not None
    own = row.table[row.table["model"] == "holmes"].set_index("kind")
    for kind in {each["kind"] for each in rows}:
        of = pd.DataFrame([each for each in rows if each["kind"] == kind])
        hits = (of["choice"] == of["outcome"]).groupby(of["subject"]).mean()
        assert own.loc[kind, "observed"] == pytest.approx(hits.mean())
        assert own.loc[kind, "n_answers"] == len(of)
    assert grid.table is not None
    assert grid.table.groupby("model")["n_answers"].sum().unique() == [len(rows)]


def test_first_meetings_and_tenths_hold_every_answer_once(run: Path, data: CohortData) -> None:
    rows, table = answered(data), pd.DataFrame(by_hand(run, "bias"))
    exposures = points(rows, ["exposure"], HIT).set_index(["model", "exposure"]).loc["bias"]
    assert exposures["n_answers"].to_dict() == table["exposure"].value_counts().to_dict()
    tenths = calibration(rows).set_index(["model", "tenth"]).loc["bias"]
    assert tenths["n_answers"].to_dict() == (table["p"] * 10).astype(int).value_counts().to_dict()
    assert (tenths["expected"].between(tenths.index / 10, (tenths.index + 1) / 10)).all()


def test_outcomes_that_differ_between_learners_part_their_stimuli(run: Path, data: CohortData) -> None:
    assert data.cohort is not None
    trials = data.cohort.trials
    trials["outcome"] = (trials["x1"] == (trials["restart"] == "1")).astype("Int8")
    assert set(answered(data)["stimulus"].str[5:]) == {"→ 0", "→ 1"}
    trials["outcome"] = trials["outcome"].where(trials["restart"] == "1", trials["trial"] % 2)  # not the same each time
    assert not answered(data)["stimulus"].str.contains("→").any()


def test_a_run_without_a_test_has_no_page_of_it(tmp_path: Path) -> None:
    data = CohortData(read_run(make_run(tmp_path / "run", Sample(3, 8, recovered=False, records=False))))
    assert TEST.lacking(data) == "All trials had feedback."
    assert not STIMULI.lacking(data)
    (tmp_path / "run" / "trials.csv").unlink()
    assert "does not hold the trials" in STIMULI.lacking(CohortData(read_run(tmp_path / "run")))
