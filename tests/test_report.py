"""The cohort report: what is printed is what the run says, the same every time, and readable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text
from pypdf import PdfReader

import holmes_fit as hf
from holmes_fit.fitting.tables import FAILURES, FITS, MODELS, TREES, TRIALS
from holmes_fit.reporting.cohort import PAGE_NAMES
from holmes_fit.reporting.cohort.book import MARGIN, WIDTH, Book
from holmes_fit.reporting.cohort.catalogue import PAGES
from holmes_fit.runs import read_run
from tests.sample_run import Sample, make_run
from tests.small_fits import OBSERVER, people, small_preset

SEED = 20
LABEL = "a first look: few replicates. Do not report these numbers"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six people in two groups, with every kind of result, and a warning of every kind."""
    return make_run(tmp_path_factory.mktemp("report") / "run", Sample(6, 24, label=LABEL))


@pytest.fixture(scope="module")
def written(run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return hf.report(run, tmp_path_factory.mktemp("written") / "cohort.pdf")


@pytest.fixture(scope="module")
def texts(written: list[Path]) -> list[str]:
    return [page.extract_text() for page in PdfReader(written[0]).pages]


@pytest.fixture(scope="module")
def pages(texts: list[str]) -> dict[str, str]:
    return by_section(texts)


def text_by_section(path: Path) -> dict[str, str]:
    return by_section([page.extract_text() for page in PdfReader(path).pages])


def by_section(texts: list[str]) -> dict[str, str]:
    """Return the text of each section, by what stands at the head of its pages."""
    found: dict[str, str] = {}
    for text in texts:
        head = re.search(r" · \d+ (?:person|people) (.+)$", text, re.MULTILINE)
        assert head is not None
        section = head[1]
        found[section] = found.get(section, "") + re.sub(r"\s+", " ", text) + " "
    return found


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(run / name, dtype={"subject": str}, keep_default_na=False, na_values=[""])


# --- The invented runs are like real ones


def test_invented_runs_have_the_columns_of_real_ones(run: Path) -> None:
    for name, columns in (("fits.csv", FITS), ("models.csv", MODELS), ("trials_fitted.csv", TRIALS)):
        assert tuple(table(run, name).columns) == columns
    assert tuple(table(run, "failures.csv").columns) == FAILURES
    assert tuple(table(run, "trees.csv").columns)[: len(TREES)] == TREES


# --- Numbers


def percent(value: float) -> str:
    return f"{value:.0%}"


def significant(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def test_the_answer_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    frequencies = table(run, "frequencies.csv")
    row = frequencies[(frequencies["group"] == "everyone") & (frequencies["model"] == "holmes")].iloc[0]
    answer = (
        f"HOLMES describes an estimated {percent(row['median'])} of people (95% interval {percent(row['lower'])} to "
        f"{percent(row['upper'])})."
    )
    assert answer in pages["Flat or HOLMES"]
    assert answer in pages["Summary"]
    comparison = table(run, "comparison.csv").set_index("model")
    for column in ("exceedance", "protected_exceedance"):
        assert f"{comparison.loc['holmes', column]:.3f}".lstrip("0") in pages["Flat or HOLMES"]
    probabilities = table(run, "model_probabilities.csv").pivot(index="subject", columns="model", values="probability")
    best = (probabilities["holmes"] > 0.5).sum()
    assert f"it is the likeliest for {best} of {len(probabilities)} people" in pages["Flat or HOLMES"]


def test_the_table_of_models_is_the_comparison(run: Path, pages: dict[str, str]) -> None:
    text = pages["Flat or HOLMES"]
    for _, row in table(run, "comparison.csv").iterrows():
        evidence = f"{row['log_evidence']:,.1f} ± {row['log_evidence_error']:,.1f}".replace("-", "−")
        assert evidence in text
        for column in ("bic", "aic"):
            assert f"{row[column]:,.1f}".replace("-", "−") in text
        for column in ("over_bias", "over_rescorla_wagner"):
            assert f"{row[column]:+,.1f}".replace("-", "−") in text


def test_counts_of_answers_are_those_of_the_trials(run: Path, pages: dict[str, str]) -> None:
    fitted = table(run, "trials_fitted.csv")
    trials = fitted[fitted["model"] == "flat"]
    n_people, n_answers = trials["subject"].nunique(), int(trials["choice"].notna().sum())
    assert f"{n_people} people gave {n_answers:,} answers" in pages["Data"]
    hits = (trials["choice"] == trials["outcome"]).where(trials["choice"].notna())
    accuracy = hits.astype(float).groupby(trials["subject"]).mean().mean()
    assert f"{accuracy:.3f}" in pages["Data"]


def test_every_estimate_in_the_appendix_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    text = pages["Appendix"]
    shown = re.findall(r"([\d.,−e]+) \(([\d.,−e]+)–([\d.,−e]+)\)", text)
    tables = table(run, "fits.csv"), table(run, "pooled.csv")
    models = dict.fromkeys(tables[0]["model"])
    expected = pd.concat([each[each["model"] == model] for model in models for each in tables])
    assert len(shown) == len(expected)
    wanted = expected[["median", "lower", "upper"]].to_numpy().tolist()
    for numbers, others in zip(shown, wanted, strict=True):
        assert [significant(number) for number in numbers] == pytest.approx(others, rel=0.006)  # three digits


def test_every_evidence_in_the_appendix_is_that_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    for _, row in table(run, "models.csv").iterrows():
        shown = f"{row['log_evidence']:,.2f} ± {row['log_evidence_error']:,.2f}".replace("-", "−")
        assert shown in pages["Appendix"]


def test_parameters_and_recovery_are_those_of_the_tables(run: Path, pages: dict[str, str]) -> None:
    group = table(run, "group.csv")
    medians = group[(group["quantity"] == "median") & group["model"].isin(["flat", "holmes"])]
    for _, row in medians.iterrows():
        assert any(
            significant(found) == pytest.approx(row["median"], rel=0.006)
            for found in re.findall(r"\d*\.\d+", pages["Parameters"])
        )
    confusion = table(run / "recovery", "confusion.csv")
    right = confusion[(confusion["criterion"] == "pooled") & (confusion["truth"] == confusion["chosen"])]
    for _, row in right.iterrows():
        name = {"holmes": "HOLMES"}.get(row["truth"], row["truth"])
        assert f"{percent(row['share'])} of {name} people" in pages["Can this study tell?"]
    for _, row in table(run, "predictive_summary.csv").query("group == 'everyone'").iterrows():
        assert f"{row['rmse']:.3f}" in pages["Models against behaviour"]


# --- Warnings


@pytest.mark.parametrize(
    ("section", "text"),
    [
        ("Data", "could not be fitted with flat, HOLMES, Rescorla–Wagner and bias: all answers are missed (s06)"),
        ("Data", "so few answers that their estimates are mostly the prior (s02)"),
        ("Models against behaviour", "HOLMES: the likelihood of 1 person is noisy (s01)"),
        ("Flat or HOLMES", "HOLMES: the likelihood of 1 person is noisy (s01)"),
        ("Flat or HOLMES", "Mixture of models: R-hat 1.03: the chains do not agree yet."),
        ("Flat or HOLMES", "all answers are missed (s06)"),
        ("Parameters", "Group model of HOLMES: 3 divergences; R-hat 1.08: the chains do not agree."),
        ("Summary", "Group model of HOLMES: 3 divergences"),
        ("Summary", "all answers are missed (s06)"),
        ("Can this study tell?", "is noisy (s01)"),
        ("Appendix", "noisy likelihood: batch SD 1.20 nats"),
    ],
)
def test_warnings_stand_on_the_pages_that_use_the_results(pages: dict[str, str], section: str, text: str) -> None:
    assert text in pages[section]


def test_every_page_says_that_it_is_a_first_look(texts: list[str]) -> None:
    assert len(texts) > len(PAGE_NAMES)
    for text in texts:
        assert "A first look: few replicates. Do not report these numbers." in text


# --- The file


def test_the_same_run_gives_the_same_bytes(run: Path, written: list[Path], tmp_path: Path) -> None:
    again = hf.report(read_run(run), tmp_path / "again.pdf")
    assert again[0].read_bytes() == written[0].read_bytes()


def test_the_file_carries_the_date_and_the_digest_of_the_run(run: Path, written: list[Path]) -> None:
    from holmes_fit.reporting.cohort.data import CohortData

    metadata = PdfReader(written[0]).metadata
    assert metadata is not None
    assert metadata.creation_date == read_run(run).manifest.begun
    assert metadata.modification_date is None
    assert metadata.subject == f"Cohort report of run {CohortData(read_run(run)).digest}"
    assert metadata.title == "Weather prediction"


def test_another_table_gives_another_digest(tmp_path: Path) -> None:
    from holmes_fit.reporting.cohort.data import CohortData

    folder = make_run(tmp_path / "run", Sample(3, 6, compared=False, recovered=False, pooled=False, records=False))
    before = CohortData(read_run(folder)).digest
    (folder / "fits.csv").write_text((folder / "fits.csv").read_text() + "\n")
    assert CohortData(read_run(folder)).digest != before


def test_letters_are_large_enough_and_fonts_are_embedded(written: list[Path]) -> None:
    sizes = []
    for page in PdfReader(written[0]).pages:
        assert (float(page.mediabox.width), float(page.mediabox.height)) == pytest.approx((595, 842), abs=1)
        content = page.get_contents()
        assert content is not None
        sizes += [float(size) for size in re.findall(rb"/F\d+ ([\d.]+) Tf", content.get_data())]
        for font in page["/Resources"]["/Font"].values():
            inside = font.get_object().get("/DescendantFonts", [font])[0].get_object()
            assert "/FontFile2" in inside["/FontDescriptor"]
    assert min(sizes) >= 7


def test_figures_are_written_with_what_they_show(run: Path, tmp_path: Path) -> None:
    pages = ["behaviour", "comparison"]
    pdf, *written = hf.report(run, tmp_path / "some.pdf", pages=pages, figures=tmp_path / "figures")
    names = {suffix: {path.stem for path in written if path.suffix == suffix} for suffix in (".png", ".svg", ".csv")}
    assert names[".png"] == names[".svg"] == names[".csv"]
    expected = {"comparison_people", "comparison_frequencies", "comparison_evidence", "comparison_exceedance"}
    assert expected | {"behaviour_correct", "behaviour_choice", "comparison_leave_one_out"} <= names[".png"]
    assert all(path.stat().st_size > 20 for path in (pdf, *written))
    shown = next(path for path in written if path.name == "comparison_people.csv")
    assert shown.read_bytes() == (run / "model_probabilities.csv").read_bytes()
    svg = next(path for path in written if path.name == "comparison_people.svg").read_text()
    assert "HOLMES</text>" in svg  # letters are letters
    hf.report(run, tmp_path / "some.pdf", pages=["comparison"], figures=tmp_path / "again", force=True)
    for name in ("comparison_people.svg", "comparison_people.png"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "figures" / name).read_bytes()


# --- Looks


Placed = tuple[str, float, float, float, float]


def overlapping(shown: list[Placed]) -> list[tuple[str, str]]:
    """Return the texts beyond the margins, and the pairs that lie over each other."""
    left, right = MARGIN - 3, WIDTH - MARGIN + 3
    found = [(name, "margin") for name, x0, _, x1, _ in shown if x0 < left or x1 > right]
    for place, (one, x0, y0, x1, y1) in enumerate(shown):
        for other, u0, v0, u1, v1 in shown[:place]:
            if x0 < u1 and u0 < x1 and y0 < v1 and v0 < y1:
                found.append((one, other))
    return found


@pytest.fixture
def texts_by_page(monkeypatch: pytest.MonkeyPatch) -> list[list[Placed]]:
    """What is written on each page and where, in points; a little less than the boxes, which have room for accents."""
    pages: list[list[Placed]] = []
    draw, new_page = Text.draw, Book.new_page

    def draw_and_note(text: Text, renderer: Any) -> None:
        if text.get_visible() and text.get_text().strip() and text.get_rotation() in (0, 90):
            box = text.get_window_extent(renderer)
            slack = 1.6 if text.get_rotation() == 0 else 0.8
            pages[-1].append((text.get_text(), box.x0 + 0.8, box.y0 + slack, box.x1 - 0.8, box.y1 - slack))
        draw(text, renderer)

    def begin_and_note(book: Book) -> None:
        new_page(book)  # which finishes the page before
        pages.append([])

    pages.append([])
    monkeypatch.setattr(Text, "draw", draw_and_note)
    monkeypatch.setattr(Book, "new_page", begin_and_note)
    return pages


@pytest.mark.parametrize(
    ("sample", "pages"),
    [
        (Sample(3, 12, groups=(), warned=False, records=False), "summary comparison parameters"),
        (
            Sample(25, 12, groups=("a group with quite a long name", "b", "c", "d"), records=False),
            "summary data behaviour comparison parameters recovery",
        ),
        (
            Sample(120, 12, warned=False, records=False, names=("n" * 300, "n" * 299 + "m", "$x_1^2$ %", "🦄🦄")),
            "data comparison parameters",
        ),
    ],
    ids=["3 people", "25 people in 4 groups", "120 people"],
)
def test_no_text_lies_over_another(
    sample: Sample, pages: str, tmp_path: Path, texts_by_page: list[list[Placed]]
) -> None:
    run = make_run(tmp_path / "run", sample)
    hf.report(run, tmp_path / "out.pdf", pages=pages.split())
    assert sum(map(len, texts_by_page)) > 100
    assert [found for shown in texts_by_page for found in overlapping(shown)] == []


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


@pytest.mark.parametrize(
    ("sample", "missing"),
    [
        (
            Sample(4, 8, models=("flat", "holmes"), pooled=False, compared=False, recovered=False, records=False),
            ["Models against behaviour", "Flat or HOLMES"],
        ),
        (Sample(4, 8, models=("holmes",), groups=(), pooled=False, recovered=False), []),
        (Sample(3, 8, models=("bias",), groups=(), compared=False, recovered=False), ["Flat or HOLMES"]),
    ],
    ids=["fitted only", "one model", "one baseline"],
)
def test_what_a_run_does_not_have_is_left_out_and_said(sample: Sample, missing: list[str], tmp_path: Path) -> None:
    [path] = hf.report(make_run(tmp_path / "run", sample), tmp_path / "out.pdf")
    sections = text_by_section(path)
    for title in missing:
        assert title not in sections
        assert f"Not in this report: {title}. " in sections["Summary"]
    assert "There is no recovery study of this design" in sections["Can this study tell?"]


def test_pages_without_results_still_make_a_report(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Sample(3, 8, compared=False, records=False))
    [path] = hf.report(run, tmp_path / "out.pdf", pages=["comparison"])
    assert "The models were not compared: run holmes-fit compare RUN." in PdfReader(path).pages[0].extract_text()


def test_a_report_for_each_group(run: Path, tmp_path: Path) -> None:
    paths = hf.report(run, tmp_path / "cohort.pdf", by="group", pages=["comparison", "appendix"])
    assert [path.name for path in paths] == ["cohort_control.pdf", "cohort_patient.pdf"]
    frequencies = table(run, "frequencies.csv")
    models = table(run, "models.csv")
    subjects = table(run, "subjects.csv").set_index("subject")["group"]
    for path, group in zip(paths, ("control", "patient"), strict=True):
        sections = text_by_section(path)
        row = frequencies[(frequencies["group"] == group) & (frequencies["model"] == "holmes")].iloc[0]
        answer = f"HOLMES describes an estimated {percent(row['median'])} of people in the group {group}"
        assert answer in sections["Flat or HOLMES"]
        own = [name for name in models["subject"].unique() if subjects[name] == group]
        others = [name for name in models["subject"].unique() if subjects[name] != group]
        assert all(f" {name} " in sections["Appendix"] for name in own)
        assert not any(f" {name} " in sections["Appendix"] for name in others)


def test_a_real_run_makes_a_report_with_every_page_it_can(tmp_path: Path) -> None:
    cohort = people(3)
    fits = hf.fit(
        cohort, ["flat", "holmes"], tmp_path / "run", preset=small_preset(tmp_path), observer=OBSERVER, workers=1
    )
    [path] = hf.report(fits, tmp_path / "real.pdf")
    sections = text_by_section(path)
    assert {"Summary", "Data", "Parameters", "Can this study tell?", "People", "Methods", "Appendix"} <= set(sections)
    answered = int(fits.models.drop_duplicates("subject")["n_answered"].sum())
    assert f"3 people gave {answered} answers" in sections["Data"]
    assert "20 particles and systematic resampling" in sections["Methods"]
    assert str(fits.run.manifest.identity["code"]) in sections["Appendix"]


def test_all_pages_are_in_the_catalogue() -> None:
    assert tuple(PAGES) == PAGE_NAMES
