"""What a report is asked to show: the trees of some people, and the sheet of one."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from pypdf import PdfReader

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit._support.numbers import share
from holmes_fit.reporting.asking import asked_trees
from holmes_fit.reporting.blocks import About, Section
from holmes_fit.reporting.engine import RC, pdf_of
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.people import best_models
from holmes_fit.reporting.sections.person import sheet
from holmes_fit.reporting.sections.trees import TREES, chosen_learners
from holmes_fit.reporting.style import use_style
from holmes_fit.reporting.text import number
from holmes_fit.runs.folder import read_run
from tests.sample_run import Sample, make_run


def pages_of(section: Section) -> list[str]:
    """The words of each page of a section."""
    with use_style(), rc_context(RC):
        reader = PdfReader(BytesIO(pdf_of([section], About("A study"))))
    return [" ".join(page.extract_text().split()) for page in reader.pages]


def with_problems(folder: Path) -> CohortData:
    """A run of three people with HOLMES, each of whom learns three problems."""
    make_run(folder, Sample(n_people=3, warned=False, recovered=False, models=("holmes",)))
    fitted, nodes = (pd.read_csv(folder / name) for name in ("trials_fitted.csv", "trees.csv"))
    fitted["restart"] = "problem=" + pd.Series(np.clip(fitted["trial"] // 10, 1, 3)).astype(str)
    fitted.to_csv(folder / "trials_fitted.csv", index=False)
    pd.concat([nodes.assign(restart=f"problem={n}") for n in (1, 2, 3)]).to_csv(folder / "trees.csv", index=False)
    return CohortData(read_run(folder))


def test_the_trees_that_are_asked_for_are_shown(tmp_path: Path) -> None:
    data = with_problems(tmp_path / "run")
    assert asked_trees(data, ["s02:problem=3", "s01"]) == [("s02", "problem=3"), ("s01", "")]
    data = replace(data, asked_trees=asked_trees(data, ["s02:problem=3", "s01"]))
    found = [(learner.subject, learner.restart) for learner in chosen_learners(data, "holmes")]
    assert found == [("s02", "problem=3"), *(("s01", f"problem={n}") for n in (1, 2, 3))]
    words = " ".join(pages_of(TREES.section(data)))
    r2 = data["models"].set_index("subject")["pseudo_r2"]
    assert f"s02, pseudo-R² {r2['s02']:.2f}" in words
    assert "Of 3 problems learned afresh, this is “problem=3”." in words
    assert "Best fit" not in words


def test_trees_of_one_group_do_not_end_the_report_of_another(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Sample(6, 12, warned=False, records=False))
    data = replace(CohortData(read_run(folder)), asked_trees=[("s01", "")])
    found = [[each.subject for each in chosen_learners(data.within(name), "holmes")] for name in data.groups]
    assert found[0] == ["s01"]
    assert len(found[1]) == 3


def test_someone_without_a_tree_of_the_shown_model_is_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Sample(3, 12, warned=False, records=False))
    nodes = pd.read_csv(folder / "trees.csv")
    nodes[(nodes["subject"] != "s02") | (nodes["model"] == "flat")].to_csv(folder / "trees.csv", index=False)
    with pytest.raises(InputError, match=r"saw 's02'; allowed: someone whose tree the run has"):
        asked_trees(CohortData(read_run(folder)), ["s02"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("s9", r"argument trees: saw 's9'; allowed: someone of the run"),
        (
            "s02:problem=4",
            r"saw 's02:problem=4'; allowed: SUBJECT:PROBLEM, with one of problem=1, problem=2, problem=3",
        ),
        ("s02:", None),
    ],
)
def test_trees_of_nobody_and_of_no_problem_are_refused(asked: str, message: str | None, tmp_path: Path) -> None:
    folder = with_problems(tmp_path / "run").run.root
    if message is None:
        assert hf.report(folder, tmp_path / "a.pdf", pages=["trees"], trees=asked)
        return
    with pytest.raises(InputError, match=message):
        hf.report(folder, tmp_path / "a.pdf", pages=["trees"], trees=[asked])


@pytest.mark.parametrize("compared", [True, False])
def test_the_sheet_of_a_person_is_one_page_with_the_numbers_of_the_tables(compared: bool, tmp_path: Path) -> None:
    data = CohortData(read_run(make_run(tmp_path / "run", Sample(6, 24, compared=compared, pooled=compared))))
    for subject in data.everyone["subject"]:
        [words] = pages_of(sheet(data, subject))
        rows = data["models"][data["models"]["subject"] == subject].sort_values("log_evidence", ascending=False)
        if not len(rows):
            assert f"{subject} could not be fitted." in words
            assert "all answers are missed" in words
            continue
        first, second, *_ = rows["log_evidence"]
        assert (
            f"By their own evidence alone, {data.words.label(rows['model'].iloc[0])} is {first - second:.1f} ± "
            in words
        )
        assert words.count("By their own evidence alone") == 1
        for row in rows.to_dict("records"):
            evidence = f"{row['log_evidence']:.1f} ± {row['log_evidence_error']:.1f}".replace("-", "−")
            assert f"{data.words.label(row['model'])} {evidence} " in words
        best = best_models(data)[subject]
        if compared:
            assert (
                f"{data.words.label(best.model)} is the likeliest model of {subject}, at {share(best.probability)} by"
                in words
            )
        for name in ("fits", "pooled"):
            own = data.of_model(name, best.model)
            for row in own[own["subject"] == subject].to_dict("records") if len(own) else ():
                assert f"{number(row['median'])} ({number(row['lower'])} to {number(row['upper'])})" in words
        trials = data.trials[data.trials["subject"] == subject]
        answered = trials[trials["choice"].notna()]
        right = share((answered["choice"] == answered["outcome"]).mean())
        assert f"{len(answered)} answers on {len(trials)} trials, {right} right" in words


def test_a_sheet_can_be_shared_and_has_no_pages_beside_it(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", Sample(4, 12, names=("Anna", "Bert"), warned=False))
    pdf, key = hf.report(folder, tmp_path / "sheet.pdf", person="Anna", anonymous=True)
    number_of = pd.read_csv(key, dtype=str).set_index("subject")["number"]
    [page] = PdfReader(pdf).pages
    text = page.extract_text()
    assert "Anna" not in text
    assert f"the likeliest model of {number_of['Anna']}," in " ".join(text.split())
    assert " age " not in text
    for options, message in (
        ({"pages": ["data"]}, "a sheet is one page"),
        ({"by": "group"}, "a sheet is one page"),
        ({"trees": ["Bert"]}, "a sheet is one page"),
        ({"person": "Ana"}, "Did you mean 'Anna'"),
    ):
        with pytest.raises(InputError, match=message):
            hf.report(folder, tmp_path / "other.pdf", **{"person": "Anna", **options})  # type: ignore[arg-type]
