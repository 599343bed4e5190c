"""What can be asked of a report: presets, pages, covariates, files; and what is said where it cannot be done."""

import os
from pathlib import Path

import pytest

import holmes_fit as hf
from holmes_fit._support.errors import InputError
from holmes_fit._support.numbers import probability, share
from holmes_fit._support.study_files import shipped_names
from holmes_fit.reporting.registry import PAGES
from holmes_fit.reporting.settings import Settings, load_settings
from holmes_fit.reporting.text import (
    fixed,
    number,
    people,
    printable,
    short_names,
    shortened,
    signed,
    width_of,
    wrapped,
)
from tests.commands import Shell
from tests.sample_run import Sample, make_run

PAGE_NAMES = tuple(PAGES)
SMALL = Sample(4, 6, models=("flat", "holmes"), pooled=False, compared=False, recovered=False, records=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("report") / "run", SMALL)


# --- Presets
@pytest.mark.parametrize("name", shipped_names("reports"))
def test_shipped_presets_can_be_read(name: str) -> None:
    settings = load_settings(name, PAGE_NAMES)
    assert settings.name == name
    assert settings.about
    assert set(settings.pages) <= set(PAGE_NAMES)


def test_the_default_preset_has_all_pages() -> None:
    assert load_settings("default", PAGE_NAMES).pages == PAGE_NAMES


def test_a_preset_gives_title_question_and_pages(run: Path, tmp_path: Path) -> None:
    from pypdf import PdfReader

    path = tmp_path / "mine.toml"
    path.write_text('title = "My pilot"\nquestion = "Why?"\npages = ["summary"]\n')
    [pdf] = hf.report(run, tmp_path / "out.pdf", preset=path)
    [page] = PdfReader(pdf).pages
    assert "My pilot" in page.extract_text()
    assert "Why?" in page.extract_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('pages = ["sumary"]', r"mine.toml, key pages: saw 'sumary'.*Did you mean 'summary'\?"),
        ('pages = ["data", "data"]', "every page once"),
        ('pagse = ["data"]', r"key pagse: .*Did you mean 'pages'\?"),
        ("people_per_page = 0", "key people_per_page: saw 0"),
        ("title = ", r"mine\.toml: saw Invalid value.*; allowed: TOML"),
        ("title = " + "[" * 100_000, r"mine\.toml: saw brackets nested too deeply; allowed: TOML"),
    ],
)
def test_what_is_wrong_with_a_preset_is_said(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_settings(path, PAGE_NAMES)


def test_a_preset_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Étude"', encoding="utf-8-sig")
    assert load_settings(path, PAGE_NAMES).title == "Étude"


def test_unknown_presets_and_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'default'"):
        load_settings("defautl", PAGE_NAMES)
    with pytest.raises(InputError, match="a TOML file"):
        load_settings(tmp_path / "none.toml", PAGE_NAMES)


def test_a_text_is_one_page_and_not_its_letters(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"saw 'summery'; .* Did you mean 'summary'"):
        hf.report(run, tmp_path / "one.pdf", pages="summery")


# --- The command line
def test_the_command_writes_and_says_so(run: Path, tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "out.pdf"
    _, text = shell("report", run, "--out", out, "--pages", "summary,data", "--figures", tmp_path / "f")
    assert f"wrote {out}" in text
    assert "files of figures and tables" in text
    assert (tmp_path / "f" / "data_learning_curves.svg").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pages", "sumary"], "Did you mean 'summary'?"),
        (["--pages", "data,data"], "every page once"),
        (["--by", "grup"], "Did you mean 'group'?"),
        (["--by", "age"], "a covariate that makes groups of people"),
        (["--preset", "nothing"], "the path of a TOML file"),
        (["--recovery", "nowhere"], "the folder of holmes-fit recover"),
    ],
)
def test_bad_options_end_with_2(options: list[str], message: str, run: Path, tmp_path: Path, shell: Shell) -> None:
    assert message in shell.refuses("report", run, "--out", tmp_path / "out.pdf", *options)
    assert not (tmp_path / "out.pdf").exists()


def test_bad_files_end_with_2(run: Path, tmp_path: Path, shell: Shell) -> None:
    there = tmp_path / "there.pdf"
    there.write_text("something")
    (tmp_path / "file").write_text("no folder")
    for arguments, message in (
        ([str(tmp_path), "--out", str(tmp_path / "a.pdf")], "no manifest.json; allowed: the folder of a run"),
        ([str(tmp_path / "none"), "--out", str(tmp_path / "a.pdf")], "no such folder; allowed: the folder of a run"),
        ([str(run), "--out", str(there)], "Use the option --force to replace it."),
        ([str(run), "--out", str(tmp_path / "a.txt")], "a name that ends in .pdf"),
        ([str(run), "--out", str(tmp_path / "none" / "a.pdf")], "no such folder"),
        ([str(run), "--out", str(tmp_path / "a.pdf"), "--figures", str(tmp_path / "file")], "a folder to write into"),
    ):
        assert message in shell.refuses("report", *arguments)
    assert there.read_text() == "something"


@pytest.mark.skipif(os.name == "nt" or getattr(os, "geteuid", lambda: 1)() == 0, reason="may write everywhere")
def test_a_folder_that_is_read_only(run: Path, tmp_path: Path, shell: Shell) -> None:
    tmp_path.chmod(0o500)
    text = shell.refuses("report", run, "--out", tmp_path / "a.pdf")
    tmp_path.chmod(0o700)
    assert "read-only" in text


def test_runs_that_have_not_ended_are_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", SMALL)
    (folder / "fits.csv").unlink()
    with pytest.raises(InputError, match=r"a run without fits\.csv; allowed: a run that has come to its end"):
        hf.report(folder, tmp_path / "out.pdf")


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", SMALL)
    (folder / "models.csv").write_bytes(b"\xff\xfe\x00 nothing")
    with pytest.raises(InputError, match=r"models\.csv: saw .*allowed: a file as it was written"):
        hf.report(folder, tmp_path / "out.pdf")
    assert not (tmp_path / "out.pdf").exists()


def test_force_replaces_a_file(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.pdf"
    path.write_text("old")
    assert hf.report(run, path, preset=Settings(pages=("methods",)), force=True) == [path]
    assert path.read_bytes().startswith(b"%PDF")


# --- Text
def test_what_the_font_lacks_is_printed_by_its_number() -> None:
    assert printable("a_$% é α") == "a_$% é α"
    assert printable("日\n🦄") == "[U+65E5][U+000A][U+1F984]"


def test_long_names_are_shortened_to_fit_and_stay_different() -> None:
    name = "x" * 300
    short = shortened(name, 8, 60)
    assert "…" in short
    assert width_of(short, 8) <= 60
    assert shortened("short", 8, 60) == "short"
    names = [name, name + "x", name + "y", "z"]
    found = short_names(names, 8, 60)
    assert len(set(found.values())) == len(names)
    assert all(width_of(one, 8) <= 60 for one in found.values())


def test_lines_are_broken_to_fit_even_within_words() -> None:
    lines = wrapped("some words and " + "y" * 90, 9, 100)
    assert all(width_of(line, 9) <= 100 for line in lines)
    assert "".join(lines).replace(" ", "") == "somewordsand" + "y" * 90


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.2345, "1.23"), (99.96, "100"), (123456.0, "123,456"), (-0.04567, "−0.0457"), (float("nan"), "–")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_are_never_rounded_to_certainty() -> None:
    assert [share(value) for value in (0.0, 0.001, 0.5, 0.999, 1.0)] == ["0%", "<1%", "50%", ">99%", "100%"]
    assert [probability(value) for value in (0.0001, 0.05, 0.99999)] == ["<.001", ".050", ">.999"]
    assert (fixed(-1.005, 1), signed(2.0), people(1), people(2)) == ("−1.0", "+2.0", "1 person", "2 people")
