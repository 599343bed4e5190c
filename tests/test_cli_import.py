"""``holmes-fit import`` and ``init --from``: raw files become a table and a study; bad input leaves nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.reading import read_cohort
from tests.commands import run
from tests.raw_files import EXPECTED, csv_bytes, jspsych_records, psychopy_csv

KEEP = ["--keep", "task=response"]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two people's files of jsPsych, in the folder in which commands are given."""
    folder = tmp_path / "raw"
    folder.mkdir()
    for person in (0, 1):
        (folder / f"{person}.json").write_text(json.dumps(jspsych_records(person, f"p{person}")))
    monkeypatch.chdir(tmp_path)
    return folder


def test_import_writes_the_table_and_what_was_done(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(map(str, raw.iterdir()))
    code, out, err = run(capsys, "import", *files, *KEEP, "--rename", "response=choice", "--out", "t.csv")
    assert code == 0
    for said in ("2 files", "kept task response (8 rows)", "column response renamed to choice", "2 people, 8 rows"):
        assert said in out
    table = pd.read_csv("t.csv", dtype="str", keep_default_na=False)
    assert list(zip(table["cue"], table["choice"], table["correct_response"], strict=True)) == EXPECTED
    assert Path("t.import.md").read_text().count("kept task response (4 rows)") == 2
    assert "wrote t.csv\nwrote t.import.md\nNext:\n  holmes-fit init my_study --from t.csv --kind table" in err


def test_import_for_programs(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "import", "raw", *KEEP, "--from", "jspsych", "--out", "t.csv", "--json", "-q")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert (said["command"], said["kind"], said["rows"]) == ("import", "jspsych", 8)
    assert said["written"] == ["t.csv", "t.import.md"]
    assert {"file": "raw/0.json", "rule": "kept task response", "rows": 4} in said["notes"]


def test_rows_are_chosen_by_values_with_commas_and_by_several_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = ["a,b", "<p id=1>", "c", "d", ""]
    Path("table.csv").write_bytes(csv_bytes([["cue", "n"], *([cell, n] for n, cell in enumerate(cells))]))

    def kept(*options: str) -> list[int]:
        assert run(capsys, "import", "table.csv", *options, "--out", "t.csv", "--force")[0] == 0
        return [int(n) for n in pd.read_csv("t.csv")["n"]]

    assert kept("--keep", 'cue="a,b",c') == [0, 2]
    assert kept("--keep", "cue=<p id=1>", "--keep", "cue=d") == [1, 3]
    assert kept("--drop", "cue=", "--drop", "n=0, 3") == [1, 2]


def test_notes_of_many_kinds_are_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for person in range(25):
        Path(f"{person}.csv").write_bytes(psychopy_csv(person % 2, "").replace(b"participant,", b"someone,"))
    code, out, _ = run(capsys, "import", *sorted(map(str, Path().glob("*.csv"))), "--out", "t.csv")
    assert code == 0
    assert "more notes, which are beside the table" in out
    assert len(out.splitlines()) < 25 < len(Path("t.import.md").read_text().splitlines())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out t.txt", "allowed: a name that ends in .csv"),
        ("--out raw/t.csv", "output raw/t.csv: saw a place in raw, which is imported; allowed: a file elsewhere"),
        ("--out there.csv", "Use the option --force to replace it"),
        ("--out t.csv --from jspych", "option --from: saw 'jspych'; allowed: one of auto, jspsych,"),
        ("--out t.csv --keep tsk=response", "option --keep: saw 'tsk'; allowed: a column of the files: "),
        ("--out t.csv --keep task", "option --keep: saw 'task'; allowed: COLUMN=VALUE,..."),
        ("--out t.csv --rename a=b --rename a=c", "option --rename: saw 'a'; allowed: one new name for each column"),
        ("", "Missing option '--out'"),
    ],
)
def test_bad_input_writes_nothing(raw: Path, options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("there.csv").write_text("mine")
    code, _, err = run(capsys, "import", "raw", *shlex.split(options))
    assert code == 2
    assert message in err
    assert sorted(path.name for path in raw.parent.rglob("*")) == ["0.json", "1.json", "raw", "there.csv"]
    assert Path("there.csv").read_text() == "mine"


def test_a_study_begins_with_raw_files(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "init", "study", "--from", raw, *KEEP, "--drop", "cue=triangle,square")
    assert code == 2
    assert "saw 'triangle'; allowed: a value of that column" in err
    assert not Path("study").exists()
    code, out, err = run(capsys, "init", "study", "--from", raw, *KEEP)
    assert code == 0
    for said in (
        "kept task response (8 rows)",
        "kept       2 subjects, 8 trials",
        "What only you can decide\n  features.",
    ):
        assert said in out
    assert "holmes-fit check data/trials.csv --protocol protocols/draft.toml" in err
    protocol = load_protocol("study/protocols/draft.toml")
    assert (protocol.title, list(protocol.features)) == ("study", ["cue"])
    assert "# Why it says what it says:" in Path("study/protocols/draft.toml").read_text()
    assert read_cohort("study/data/trials.csv", protocol).learners[1].choices.tolist() == [1, 0, -1, 1]
    assert {path.name for path in Path("study/data").iterdir()} == {"example.csv", "trials.csv", "trials.import.md"}


def test_an_imported_table_goes_into_a_study_as_it_is(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "import", raw, *KEEP, "--out", "t.csv")[0] == 0
    code, out, _ = run(capsys, "init", "study", "--from", "t.csv", "--kind", "table", "--json")
    said = json.loads(out)
    assert (code, said["imported"]["kind"], said["check"]["subjects"]) == (0, "table", 2)
    assert said["undecided"]
    assert set(said["written"]) > {"study/data/trials.csv", "study/data/trials.import.md", "study/protocols/draft.toml"}
    assert Path("study/data/trials.csv").read_bytes() == Path("t.csv").read_bytes()


def test_a_first_protocol_that_does_not_read_the_data_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [[person, trial, "xyz"[trial % 3], trial % 2] for person in "ab" for trial in range(9)]
    Path("odd.csv").write_bytes(csv_bytes([["subject", "trial", "choice", "outcome"], *rows]))
    code, out, err = run(capsys, "init", "study", "--from", "odd.csv")
    assert code == 3
    assert "What only you can decide\n" in out
    assert "The first protocol does not read them yet.\n" in err
    assert Path("study/protocols/draft.toml").is_file()


def test_options_of_raw_files_need_raw_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--kind", "table"], KEEP, ["--sheet", "x"]):
        code, _, err = run(capsys, "init", tmp_path / "study", *options)
        assert code == 2
        assert "have no meaning without --from" in err
    assert not (tmp_path / "study").exists()
