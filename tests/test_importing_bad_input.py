"""Raw files that cannot be imported: everything that is wrong, said in the user's terms, and no library's traceback."""

from __future__ import annotations

import gzip
import json
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holmes_fit._support.errors import InputError
from holmes_fit.trials.importing import files, workbooks
from holmes_fit.trials.importing.reading import Imported, import_files
from holmes_fit.trials.reading import check_data
from tests import raw_files
from tests.fuzzing import EFFORT, assert_clear, mutated, rng_for, tried
from tests.raw_files import csv_bytes, zipped

OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
ROW = {"trial_type": "x", "trial_index": 0}


def refused(*args: Any, **options: Any) -> list[str]:
    """Every problem with an import that must fail, each a line."""
    with pytest.raises(InputError, match=r".") as caught:
        import_files(*args, **options)
    assert_clear(caught.value)
    return [str(problem) for problem in caught.value.problems]


def refused_file(folder: Path, name: str, content: bytes | str, **options: Any) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return "\n".join(refused(path, **options)).replace(f"{folder}/", "")


def workbook(folder: Path) -> bytes:
    path = folder / "made.xlsx"
    pd.DataFrame({"subject": ["a"], "trial": [1]}).to_excel(path, index=False)
    return path.read_bytes()


CASES: list[tuple[str, bytes | str, str]] = [
    ("empty.csv", b"", "empty.csv: saw an empty file"),
    ("header.csv", b"a,b\n", "header.csv: saw a header without rows"),
    ("twice.csv", b"a,b,a\n1,2,3\n", "twice.csv, header: saw 'a'; allowed: each column name once"),
    ("ragged.csv", b"a,b\n1,2,3\n", "ragged.csv, row 2: saw 3 cells; allowed: 2 cells, as in the header"),
    ("image.csv", bytes(range(256)) * 4, "image.csv: saw a binary file, or a damaged one"),
    ("deep.json", "[" * 200_000, "deep.json: saw brackets nested too deeply"),
    ("cut.json", json.dumps([ROW, ROW])[:-5], "cut.json: saw"),
    ("bytes.json", b'[{"trial_type": "\xff\xfe"}]', "bytes.json: saw"),
    ("number.json", '[{"trial_index": ' + "1" * 5000 + "}]", "number.json: saw"),
    ("twice.json", '[{"trial_type": "x", "trial_type": "y"}]', "a record that has the key 'trial_type' twice"),
    ("same.json", '[{"trial_type": "x", "a.b": 1, "a": {"b": 2}}]', "two entries that are both called 'a.b'"),
    ("blank.json", '[{"trial_type": "x", "a": 1, " a": 2}]', "blank.json, header: saw 'a'; allowed: each column name"),
    ("wide.json", json.dumps([{f"k{i}": i for i in range(10_001)}]), "allowed: at most 50,000,000 cells and 10,000"),
    ("object.json", '{"a": 1}', "object.json: saw no list of records"),
    ("numbers.json", "[1, 2]", "numbers.json: saw no list of records"),
    ("old.xlsx", OLD_EXCEL, "old.xlsx: saw a workbook with a password, or of an old Excel"),
    ("cut.zip", zipped({"a.csv": b"a\n1\n"})[:40], "cut.zip: saw a damaged archive"),
    ("none.zip", zipped({"a.txt~": b"a\n1\n"}), "none.zip: saw an archive without such files"),
    ("inner.zip", zipped({"b.gz": zipped({"a.csv": b"a\n1\n"})}), "inner.zip/b.gz: saw an archive in an archive"),
    ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-9], "cut.csv.gz: saw a damaged gzip file"),
    ("bad.parquet", b"PAR1" + bytes(40) + b"PAR1", "bad.parquet: saw a damaged file"),
]


@pytest.mark.parametrize(
    ("name", "content", "said"), CASES, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(CASES)]
)
def test_files_that_cannot_be_read(name: str, content: bytes | str, said: str, tmp_path: Path) -> None:
    assert said in refused_file(tmp_path, name, content)


def test_all_problems_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    (tmp_path / "b.json").write_bytes(b"[{")
    (tmp_path / "c.xlsx").write_bytes(OLD_EXCEL)
    said = refused([tmp_path, tmp_path / "d.csv", 3])
    places = [line.split(":")[0].rsplit("/", 1)[-1] for line in said]
    assert places == ["argument paths", "d.csv", "a.csv", "b.json", "c.xlsx"]


def test_paths_that_are_none(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.csv")[0].endswith("allowed: a file, several, or a folder.")
    assert "a folder without such files" in refused(tmp_path)[0]
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    assert "the same file more than once; allowed: each file once" in refused([tmp_path, tmp_path / "a.csv"])[0]
    assert refused([]) == ["argument paths: saw no file; allowed: a file, several, or a folder."]
    assert refused(pd.DataFrame({"a": [1]}))[0].startswith("argument paths: saw a DataFrame; allowed: a file, several,")
    assert "saw no such file" in refused("a\0b.csv")[0]


def test_options_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps([ROW]), encoding="utf-8")
    assert refused(path, kind="jsPsych", keep="x", drop={"a": []}, subject=3, rename={"a": "b", "c": "b"}, sheet=1) == [
        "argument kind: saw 'jsPsych'; allowed: one of auto, jspsych, psychopy, gorilla, labjs, bids, table. "
        "Did you mean 'jspsych'?",
        "argument subject: saw 3; allowed: a name.",
        "argument sheet: saw 1; allowed: a name.",
        "argument keep: saw 'x'; allowed: a mapping from a column to the values, such as "
        "{'trial_type': ['image-keyboard-response']}.",
        "argument drop, column a: saw no value; allowed: a mapping from a column to the values, such as "
        "{'trial_type': ['image-keyboard-response']}.",
        "argument rename: saw {'a': 'b', 'c': 'b'}; allowed: a new name for each column, none of them twice.",
    ]
    assert refused(path, keep={"trial_tipe": "x"}, drop={"trial_type": ["z"]}, subject="who", rename={"q": "r"}) == [
        "argument keep: saw 'trial_tipe'; allowed: a column of the files: trial_type, trial_index. "
        "Did you mean 'trial_type'?",
        "argument rename: saw 'q'; allowed: a column of the files: trial_type, trial_index.",
        "argument subject: saw 'who'; allowed: a column of the files: trial_type, trial_index.",
        "argument drop, column trial_type: saw 'z'; allowed: a value of that column: x.",
    ]
    assert "allowed: a name that no column has" in refused(path, rename={"trial_type": "subject"})[0]
    assert "at least one trial after all rules. What went: " in refused(path, drop={"trial_type": "x"})[0]


def test_kinds_that_cannot_be_told(tmp_path: Path) -> None:
    said = refused_file(tmp_path, "events.csv", b"onset,duration\n1,2\n")
    assert "columns of several kinds: bids (columns onset and duration); table (its name tells no person)" in said
    assert "Say by the argument kind which one, 'bids', 'table'" in said
    assert import_files(tmp_path / "events.csv", kind="table").kind == "table"
    said = refused_file(tmp_path, "both.csv", b"trial_type,trial_index,sender,sender_id\nx,1,y,2\n")
    assert "jspsych (columns trial_type and trial_index); labjs (columns sender and sender_id)" in said
    (tmp_path / "j.json").write_text(json.dumps([ROW]), encoding="utf-8")
    (tmp_path / "p.csv").write_bytes(raw_files.psychopy_csv(0, "a"))
    (tmp_path / "t.csv").write_text("subject,trial\na,1\n", encoding="utf-8")
    said = "\n".join(refused([tmp_path / "j.json", tmp_path / "p.csv"]))
    assert "files of several kinds: jspsych: " in said
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "p.json").write_text(json.dumps([ROW]), encoding="utf-8")
    (tmp_path / "both" / "sub-1_events.tsv").write_bytes(b"onset\tduration\n1\t2\n")
    assert "files of several kinds: bids: " in refused(tmp_path / "both")[0]
    said = "\n".join(refused([tmp_path / "j.json", tmp_path / "t.csv"]))
    assert "t.csv: saw a table with the columns subject, trial; allowed: files of jspsych, as the others are" in said


@pytest.mark.parametrize("kind", ["jspsych", "psychopy", "gorilla", "labjs", "bids"])
def test_files_of_another_kind_than_was_said(kind: str, tmp_path: Path) -> None:
    assert "t.csv" in refused_file(tmp_path, "t.csv", b"subject,trial\na,1\n", kind=kind)


def test_people_that_cannot_be_told(tmp_path: Path) -> None:
    records = [ROW | {"subject": "a", "participant": "b"}, ROW | {"subject": "", "participant": "c"}]
    path = tmp_path / "p.json"
    path.write_text(json.dumps([*records, ROW | {"subject": "d", "participant": "e"}]), encoding="utf-8")
    assert "several columns that may name the person: subject, participant" in refused(path)[0]
    said = refused(path, subject="subject")[0]
    assert "row 2, column subject: saw 1 rows without a name; allowed: a name in each row, or one person in" in said
    assert import_files(path, subject="participant").table["subject"].tolist() == ["b", "c", "e"]


def test_gorilla_trials_with_two_answers(tmp_path: Path) -> None:
    lines = raw_files.gorilla_csv().decode("utf-8-sig").splitlines()
    at = next(i for i, line in enumerate(lines) if "response_keyboard_single" in line)
    lines.insert(at + 1, lines[at].replace("choose,keys,response_keyboard", "confidence,scale,response_rating"))
    said = refused_file(tmp_path, "task.csv", "\n".join(lines))
    assert "1 trials with more than one answer, such as trial '1' of 508749" in said
    assert "by the argument keep and the column Screen Name, out of choose 1, confidence 1." in said
    assert len(import_files(tmp_path / "task.csv", keep={"Screen Name": "choose"}).table) == 8
    said = refused_file(tmp_path, "task.csv", "\n".join(lines).replace("\n6,", "\nsix,"))
    assert "column Event Index: saw 'six'; allowed: the number of an event, or END OF FILE" in said
    said = refused_file(tmp_path, "q.csv", raw_files.gorilla_questionnaire_csv())
    assert "allowed: at least one file of a task" in said


def test_bids_names_and_onsets(tmp_path: Path) -> None:
    events = csv_bytes([["onset", "duration"], ["soon", 1], ["2", 1]], "\t")
    assert "the name task-learn_events; allowed: a name such as sub-01" in refused_file(
        tmp_path, "task-learn_events.tsv", events
    )
    assert "row 2, column onset: saw 'soon'; allowed: a time in seconds, or n/a" in refused_file(
        tmp_path, "sub-1_task-x_events.tsv", events
    )
    people = csv_bytes([["participant_id", "age"], ["sub-1", 3], ["sub-1", 4]], "\t")
    (tmp_path / "participants.tsv").write_bytes(people)
    (tmp_path / "sub-1_task-x_events.tsv").write_bytes(events.replace(b"soon", b"1"))
    said = refused([tmp_path / "participants.tsv", tmp_path / "sub-1_task-x_events.tsv"])
    assert "column participant_id: saw 'sub-1'; allowed: each participant once" in said[0]


def test_archives_with_passwords(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.csv": b"a\n1\n"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    said = refused_file(tmp_path, "locked.zip", bytes(content))
    assert "locked.zip/a.csv: saw a file with a password; allowed: files without one" in said


def test_archives_that_are_too_large_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({f"{i}.csv": b"a,b\n" + bytes(10**6) for i in range(3)})
    many = zipped({f"{i}.csv": b"a" for i in range(3)})
    monkeypatch.setattr(files, "LARGEST", 2 * 10**6)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    assert "3 files of 3,000,012 bytes, unpacked; allowed: at most 20,000 files of 2,000,000 bytes" in refused_file(
        tmp_path, "bomb.zip", bomb
    )
    assert "bomb.csv.gz: saw more than that, unpacked" in refused_file(
        tmp_path, "bomb.csv.gz", gzip.compress(bytes(3 * 10**6))
    )
    monkeypatch.setattr(files, "MOST_MEMBERS", 2)
    assert "3 files of 3 bytes" in refused_file(tmp_path, "many.zip", many)


def test_archives_that_lie_about_their_size(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.csv": b"a,b\n" + b"1,2\n" * 100_000}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(mark) + offset
        content[at : at + 4] = struct.pack("<I", 100)
    assert "lie.zip/a.csv: saw a damaged file" in refused_file(tmp_path, "lie.zip", bytes(content))


def test_workbooks_that_lie_about_their_size(tmp_path: Path) -> None:
    content = bytearray(zipped({"[Content_Types].xml": b"<a/>" * 100_000}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(mark) + offset
        content[at : at + 4] = struct.pack("<I", 100)
    assert "lie.xlsx: saw a damaged file" in refused_file(tmp_path, "lie.xlsx", bytes(content))


def test_compressions_that_cannot_be_unpacked_in_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", "a\n1\n")
    assert "a.zip/a.csv: saw an unusual compression; allowed: plain zip files" in refused(path)[0]


def test_parquet_that_grows_when_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"a": ["x" * 1_000] * 5_000}).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(workbooks, "LARGEST", 10**6)
    assert "saw more than that, unpacked; allowed: at most 1,000,000 bytes" in refused(tmp_path / "a.parquet")[0]


def test_members_outside_of_the_archive_are_only_names(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("subject,trial\nsecret,1\n", encoding="utf-8")
    path = tmp_path / "in" / "a.zip"
    path.parent.mkdir()
    path.write_bytes(zipped({"../secret.csv": b"subject,trial\np,1\n", "/secret.csv": b"subject,trial\nq,1\n"}))
    assert sorted(import_files(path).table["subject"]) == ["q"]  # the other one is left aside, as a hidden file is
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.zip", "in", "secret.csv"]


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "raw"
    (folder / "kept").mkdir(parents=True)
    (folder / "kept" / "a.csv").write_text("subject,trial\np,1\n", encoding="utf-8")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b.csv").write_text("subject,trial\nsecret,1\n", encoding="utf-8")
    (folder / "b.csv").symlink_to(tmp_path / "secret" / "b.csv")
    (folder / "more").symlink_to(tmp_path / "secret", target_is_directory=True)
    imported = import_files(folder)
    assert imported.table["subject"].tolist() == ["p"]
    left = [note.rule for note in imported.notes if "left aside" in note.rule]
    assert left[0].startswith("left aside 1 links that lead out of the folder, such as b.csv")
    (folder / "kept" / "a.csv").unlink()
    assert "only links that lead out of the folder" in refused(folder)[0]
    (folder / "same.csv").symlink_to(folder / "kept" / "c.csv")
    (folder / "kept" / "c.csv").write_text("subject,trial\nq,1\n", encoding="utf-8")
    assert "the same file more than once" in refused(folder)[0]


def test_workbooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = workbook(tmp_path)
    assert "made.xlsx" in refused_file(tmp_path, "made.xlsx", content[:200])
    assert "cut.xlsx: saw a damaged" in refused_file(tmp_path, "cut.xlsx", content[: len(content) // 2])
    broken = zipped({"[Content_Types].xml": b"<x", "xl/workbook.xml": b"<y"})
    assert "broken.xlsx: saw a damaged file" in refused_file(tmp_path, "broken.xlsx", broken)
    said = refused_file(tmp_path, "made.xlsx", content, sheet="Sheet")
    assert said == "made.xlsx, sheet: saw 'Sheet'; allowed: one of Sheet1. Did you mean 'Sheet1'?"
    path = tmp_path / "two.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="one", index=False)
        pd.DataFrame({"a": [1], " a": [2]}).to_excel(book, sheet_name="two", index=False)
        pd.DataFrame({"a": []}).to_excel(book, sheet_name="three", index=False)
        pd.DataFrame([[1, 2, 3]]).to_excel(book, sheet_name="four", index=False, header=False, startrow=1)
        book.sheets["four"]["A1"] = "a"
    assert "2 sheets with content: two, four; allowed: one sheet. Name it by the argument sheet." in refused(path)[0]
    assert "header: saw 'a'; allowed: each column name once" in refused(path, sheet="two")[0]
    assert "a header without rows" in refused(path, sheet="three")[0]
    assert "row 2: saw 3 cells; allowed: 1 cells" in refused(path, sheet="four")[0]
    monkeypatch.setattr(workbooks, "MOST_CELLS", 3)
    assert "allowed: at most 3 cells" in refused_file(tmp_path, "made.xlsx", content)


@pytest.mark.parametrize(("library", "name"), [("openpyxl", "a.xlsx"), ("pyarrow.parquet", "a.parquet")])
def test_extras_that_are_not_installed(
    library: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = workbook(tmp_path) if name.endswith("xlsx") else pd.DataFrame({"a": [1]}).to_parquet()
    monkeypatch.setitem(sys.modules, library, None)
    assert "Install what reads it: pip install 'holmes-fit[tables]'." in refused_file(tmp_path, name, content)


def examples(folder: Path) -> dict[str, bytes]:
    """A small file of each kind and each form."""
    tidy = pd.DataFrame({"subject": ["a", "a"], "trial": [1, 2], "cue": ["é", None]})
    return {
        "p1.json": json.dumps(raw_files.jspsych_records(0, "p1")).encode(),
        "p1.csv": raw_files.jspsych_csv(0, "p1"),
        "001.csv": raw_files.psychopy_csv(0, "001"),
        "task.csv": raw_files.gorilla_csv(),
        "task2.csv": raw_files.gorilla_builder_2_csv(),
        "lab.json": json.dumps({"data": raw_files.labjs_records(1)}).encode(),
        "lab.csv": raw_files.labjs_csv(0),
        "pasted.csv": raw_files.labjs_pasted_csv(),
        "sub-02_run-2_events.tsv": raw_files.bids_files()["sub-02/func/sub-02_task-learn_run-2_events.tsv"],
        "set.zip": zipped(raw_files.bids_files()),
        "made.xlsx": workbook(folder),
        "tidy.parquet": tidy.to_parquet(index=False),
        "tidy.csv.gz": gzip.compress(tidy.to_csv(index=False).encode()),
    }


def assert_correct(imported: Imported, folder: Path) -> None:
    """Check what every import must be, whatever the file was: text, named once, and as it was when read again."""
    table = imported.table
    assert len(table)
    assert table.columns.is_unique
    assert not table.isna().any(axis=None)
    assert all(str(note).isprintable() for note in imported.notes)
    if imported.kind != "table":
        assert (table["subject"] != "").all()
        assert table["trial"].tolist() == (table.groupby("subject").cumcount() + 1).astype("str").tolist()
    path, _ = imported.write(folder / "out.csv")
    check = check_data(path, "shepard")
    assert check.rows == len(table), check.problems


@pytest.mark.parametrize("number", range(13))
def test_spoilt_raw_files(number: int, tmp_path: Path) -> None:
    file, original = list(examples(tmp_path).items())[number]
    rng = rng_for(f"raw {file}")
    (tmp_path / "raw").mkdir()
    path = tmp_path / "raw" / file
    read: list[Imported | InputError] = []
    calls: list[Callable[[], Imported]] = [lambda: import_files(path), lambda: import_files(path.parent)]
    for i in range(60 * EFFORT):
        path.write_bytes(mutated(original, rng) if i else original)
        read.append(tried(calls[i % 2]))
        if isinstance(read[-1], InputError):
            assert_clear(read[-1])
        else:
            assert_correct(read[-1], tmp_path)
    assert isinstance(read[0], Imported)
    assert any(isinstance(each, InputError) for each in read)


KINDS = ("auto", "jspsych", "labjs", "psychopy", "gorilla", "bids", "table")
KEYS = [
    "trial_type",
    "trial_index",
    "time_elapsed",
    "subject",
    "trial",
    "data",
    "response",
    "sender",
    "sender_id",
    "",
    " ",
]
TEXTS = st.one_of(
    st.sampled_from(
        ["", "0", "x", "null", "None", "['f']", '{"a": {"b": 1}}', "{", "END OF FILE", "n/a", "1", "\ud800", "\0"]
    ),
    st.text(max_size=3),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)),
    max_leaves=5,
)
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=80 * EFFORT, deadline=None, suppress_health_check=SLOW)
@given(
    value=st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), max_size=4), kind=st.sampled_from(KINDS)
)
@example(value=[{"sender": "x", "subject": ""}, {"sender_id": "y"}], kind="labjs")  # nobody, who answered nothing
def test_any_json(value: object, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "any.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    imported = tried(lambda: import_files(path, kind))
    if isinstance(imported, InputError):
        assert_clear(imported)
    else:
        assert_correct(imported, tmp_path)


HEADS = {
    "jspsych.csv": "trial_type trial_index response data.x participant subject trial",
    "psychopy.csv": "a.thisN b.thisN b.thisRepN key.keys key.rt participant loop",
    "gorilla.csv": "Event_Index Participant_Private_ID Trial_Number Zone_Type Response Attempt Timed_Out",
    "gorilla2.csv": "Event_Index Participant_Private_ID Trial_Number Response_Type Response Spreadsheet:_a a",
    "labjs.csv": "sender sender_type sender_id response ended_on meta meta.a",
    "sub-1_ses-2_events.tsv": "onset duration trial_type session ses subject age",
}
CELL = st.one_of(
    TEXTS, st.sampled_from(["2", "response", "response_x", "flow.Loop", "BEGIN TASK", "timedout", "-1.5", "p"])
)


@settings(max_examples=80 * EFFORT, deadline=None, suppress_health_check=SLOW)
@given(
    name=st.sampled_from(sorted(HEADS)), rows=st.lists(st.lists(CELL, min_size=7, max_size=7), min_size=1, max_size=6)
)
def test_any_cells(name: str, rows: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / name
    head = [column.replace("_", " ") if name.startswith("gorilla") else column for column in HEADS[name].split()]
    cells = [[cell.encode("utf-8", "replace").decode().replace("\0", "") for cell in row] for row in rows]
    path.write_bytes(csv_bytes([head, *cells], "\t" if name.endswith("tsv") else ","))
    imported = tried(lambda: import_files(path))
    if isinstance(imported, InputError):
        assert_clear(imported)
    else:
        assert_correct(imported, tmp_path)
