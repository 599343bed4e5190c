"""How the cohort report looks: no text over another, names of any kind, and a clear line where there is no result."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pypdf import PdfReader

import holmes_fit as hf
from holmes_fit.reporting.blocks import About, Break, Panel, Row, Section, Text
from holmes_fit.reporting.engine import pdf_of
from holmes_fit.reporting.figures.axes import natural_ticks, to_scale
from holmes_fit.reporting.figures.data import draw_strip
from holmes_fit.reporting.names import term_label
from holmes_fit.reporting.style import use_style
from tests.report_text import by_section, faults, placed, text_by_section
from tests.sample_run import Sample, make_run

WIDTHS = "Width of people's posteriors, against the prior"


# --- Looks
SIX = ("control", "patient", "a group with quite a long name", "d", "e", "f")
TEN = ("flat", "holmes", "rational", "alcove", "gcm", "sustain", "configural", "pearce_hall", "rescorla_wagner", "bias")
OF_A_STUDY = "summary data behaviour stimuli test comparison parameters recovery"


@pytest.mark.parametrize(
    ("sample", "pages"),
    [
        (Sample(3, 12, groups=(), models=("flat", "holmes"), warned=False), ""),
        (Sample(25, 40, tested=6, groups=SIX[:4], records=False), OF_A_STUDY),
        (
            Sample(12, 90, groups=SIX, models=TEN, problems=9, tested=2, warned=False, records=False),
            f"{OF_A_STUDY} trees",
        ),
        (
            Sample(120, 12, warned=False, records=False, names=("n" * 300, "n" * 299 + "m", "$x_1^2$ %", "🦄🦄")),
            "data comparison parameters",
        ),
        (
            Sample(8, 12, groups=("g" * 300, "$h_1$ 100%"), names=("n" * 300, "$x_1$ %", "🦄", "a\nb")),
            "",
        ),
        pytest.param(Sample(500, 24, models=("flat", "holmes"), groups=SIX), "", marks=pytest.mark.slow),
    ],
    ids=[
        "3 people",
        "25 people in 4 groups",
        "10 models, 6 groups, 9 problems",
        "120 people",
        "odd names",
        "500 people",
    ],
)
def test_no_text_lies_over_another_or_is_small_and_no_page_is_near_empty(
    sample: Sample, pages: str, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", sample)
    [path] = hf.report(run, tmp_path / "out.pdf", pages=pages.split() or None)
    shown = PdfReader(path).pages
    assert sum(len(placed(page)) for page in shown) > 100
    assert faults(list(shown)) == []


def test_what_must_not_be_on_a_page_is_found(tmp_path: Path) -> None:
    """A line alone before a page break, letters of 6 points, and two texts in one place."""
    here = Row([Panel("both", lambda ax: _write(ax, 6.0)), Panel("none", lambda ax: ax)], 60)
    sections = [Section("First", [Text("A line."), Break(), here]), Section("Second", [Text("The last.")])]
    with use_style():
        (tmp_path / "out.pdf").write_bytes(pdf_of(sections, About("A study", head="A study · 1 person")))
    found = faults(list(PdfReader(tmp_path / "out.pdf").pages))
    assert ("page 1, First", "near empty") in found
    assert {what for _, what in found} == {"near empty", "6.0 pt", "below"}


def _write(ax: Axes, size: float) -> Axes:
    for text in ("below", "above"):
        ax.text(0.5, 0.5, text, fontsize=size)
    return ax


# --- Odd runs
def test_names_of_any_kind_are_printed_whole_in_the_appendix(tmp_path: Path) -> None:
    names = ("$x^2$", "a_b", "100%", "日本", "A long name " + "x" * 288)
    run = make_run(tmp_path / "run", Sample(6, 8, groups=("$a", "b_%"), names=names, recovered=False))
    [path] = hf.report(run, tmp_path / "out.pdf", pages=["comparison", "people", "appendix"])
    text = text_by_section(path)["Appendix"]
    for name in ("$x^2$", "a_b", "100%", "[U+65E5][U+672C]"):
        assert name in text
    assert "A long name " + "x" * 288 in text.replace("A long name x", "A long name\0x").replace(" ", "").replace(
        "Alongname\0", "A long name "
    )


def test_long_names_take_no_digit_from_any_number(tmp_path: Path) -> None:
    sample = Sample(4, 200, groups=("g" * 300, "h"), names=("n" * 300,), warned=False, recovered=False, records=False)
    run = make_run(tmp_path / "run", sample)
    [path] = hf.report(run, tmp_path / "out.pdf", pages=["data", "comparison", "appendix"])
    sections = text_by_section(path)
    for _, row in pd.read_csv(run / "models.csv").iterrows():
        evidence = f"{row['log_evidence']:.2f} ± {row['log_evidence_error']:.2f}".replace("-", "−")
        likelihood = f"{row['log_likelihood']:.2f} ± {row['log_likelihood_error']:.2f}".replace("-", "−")
        assert f"{row['n_trials']} {row['n_answered']} {likelihood} {evidence} " in sections["Appendix"]
    for section in ("Data", "Flat or HOLMES"):  # where it stands in a sentence
        assert "g" * 26 + "…" + "g" * 13 in sections[section]
        assert "g" * 60 not in sections[section]


@pytest.mark.parametrize(
    ("sample", "missing"),
    [
        (
            Sample(4, 8, models=("flat", "holmes"), pooled=False, compared=False, recovered=False, records=False),
            ["Models against behaviour", "Flat or HOLMES", "Can this study tell?"],
        ),
        (
            Sample(4, 8, models=("holmes",), groups=(), pooled=False, recovered=False),
            ["Flat or HOLMES", "Can this study tell?"],
        ),
        (
            Sample(3, 8, models=("bias",), groups=(), compared=False, recovered=False),
            ["Flat or HOLMES", "Can this study tell?"],
        ),
    ],
    ids=["fitted only", "one model", "one baseline"],
)
def test_what_a_run_does_not_have_is_left_out_and_said(sample: Sample, missing: list[str], tmp_path: Path) -> None:
    [path] = hf.report(make_run(tmp_path / "run", sample), tmp_path / "out.pdf")
    sections = text_by_section(path)
    for title in missing:
        assert title not in sections
        assert f"Not in this report: {title}{'' if title.endswith('?') else '.'} " in sections["Summary"]
    assert "There is no recovery study of this design" in sections["Summary"]
    assert WIDTHS in sections["Summary"]


@pytest.mark.parametrize(("scale", "ends"), [("log", (1.02, 1.44)), ("log", (0.9, 1.4)), ("logit", (0.61, 0.72))])
def test_short_stretches_of_a_scale_have_two_ticks_at_least(scale: str, ends: tuple[float, float]) -> None:
    ax = Figure().subplots()
    ax.set_ylim(*to_scale(ends, scale))
    natural_ticks(ax, scale)
    low, high = ax.get_ylim()
    inside = [text for tick, text in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True) if low <= tick <= high]
    shown = [float(text.get_text()) for text in inside]
    assert len(shown) >= 2
    assert all(ends[0] <= value <= ends[1] for value in shown)
    np.testing.assert_allclose(to_scale(shown, scale), ax.get_yticks())


def test_names_of_groups_stay_whole_where_they_can() -> None:
    for groups in (("control", "amnesic"), ("control", "amnesic", "c"), ("control", "amnesic", "c", "patients")):
        table = pd.DataFrame({"group": groups, "accuracy": 0.5})
        ax = draw_strip(Figure().subplots(), table, "accuracy", groups)
        assert [label.get_text() for label in ax.get_xticklabels()] == list(groups)


def test_effects_are_named_for_people() -> None:
    assert term_label("group[T.patient]") == "group: patient"
    assert term_label("group[T.a b]:age") == "group: a b:age"
    assert term_label("patient - control") == "patient − control"
    assert term_label("age") == "age"


@pytest.mark.parametrize(
    ("sample", "numbers"),
    [
        (Sample(6, 40, records=False), {"Data": 1, "Models against behaviour": 1, "Can this study tell?": 2}),
        (Sample(6, 40, groups=("a", "b", "c", "d"), records=False), {"Data": 1}),
        (Sample(6, 40, groups=("a" * 300, "b"), records=False), {"Data": 1, "Parameters": 2}),
        (Sample(6, 40, groups=(), recovered=False, records=False), {"Parameters": 2, "Can this study tell?": 0}),
    ],
    ids=["two groups", "four groups", "a long name", "no recovery"],
)
def test_no_page_is_begun_for_a_line(sample: Sample, numbers: dict[str, int], tmp_path: Path) -> None:
    pages = ["data", "behaviour", "parameters", "recovery"]
    [path] = hf.report(make_run(tmp_path / "run", sample), tmp_path / "out.pdf", pages=pages)
    heads = [page.extract_text() for page in PdfReader(path).pages]
    found = Counter(section for text in heads for section in by_section([text]))
    assert {section: found[section] for section in numbers} == numbers
    # What choices add to the prior needs no recovery study, and stands with parameters where there is none.
    assert WIDTHS in text_by_section(path)["Can this study tell?" if sample.recovered else "Parameters"]


def test_cells_of_models_are_higher_where_few_would_leave_the_page_empty(tmp_path: Path) -> None:
    heights = []
    for place, groups in enumerate([(), ("a", "b", "c")]):
        run = make_run(tmp_path / f"run_{place}", Sample(6, 16, groups=groups, warned=False, records=False))
        [path] = hf.report(run, tmp_path / f"{place}.pdf", pages=["behaviour"])
        lines = placed(PdfReader(path).pages[0])
        top = next(line.y0 for line in lines if line.text == "bias")  # above a cell, and what is below its axis
        heights.append(top - max(line.y0 for line in lines if line.text.startswith("1–")))
    assert heights[0] > 1.5 * heights[1]


def test_pages_without_results_still_make_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Sample(3, 8, compared=False, records=False))
    [path] = hf.report(run, tmp_path / "out.pdf", pages=["comparison"])
    assert "The models were not compared: run holmes-fit compare RUN." in PdfReader(path).pages[0].extract_text()
