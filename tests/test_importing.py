"""Importing raw files: each layout, with its oddities, becomes the table that it should, and the notes say how."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from holmes_fit.trials.importing.reading import Imported, import_files
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import read_cohort
from tests import raw_files
from tests.raw_files import EXPECTED, csv_bytes, tidy_files, tidy_table, zipped

PROTOCOL = """
[columns]
choice = "{key}"
outcome = "{answer}"
[features]
cue = {{ levels = ["circle", "square"] }}
[choice]
coding = {{ f = 0, j = 1 }}
[outcome]
coding = {{ f = 0, j = 1 }}
"""


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def rules(imported: Imported, about: str = "") -> list[tuple[str, int | None]]:
    """The notes about a file, without its folder."""
    return [(note.rule, note.rows) for note in imported.notes if note.file.endswith(about)]


def assert_expected(imported: Imported, key: str, answer: str, subjects: tuple[str, str], folder: Path) -> None:
    """Check the trials, and that a protocol reads what is written to a file."""
    table = imported.table
    assert list(zip(table["cue"], table[key], table[answer], strict=True)) == EXPECTED
    assert table["subject"].tolist() == [subjects[0]] * 4 + [subjects[1]] * 4
    assert table["trial"].tolist() == ["1", "2", "3", "4"] * 2
    assert all(isinstance(cell, str) for cell in table.to_numpy().ravel())
    path, notes = imported.write(folder / "pilot.csv")
    cohort = read_cohort(path, read_protocol(PROTOCOL.format(key=key, answer=answer)))
    assert [learner.subject for learner in cohort.learners] == list(subjects)
    assert cohort.learners[1].choices.tolist() == [1, 0, -1, 1]
    assert cohort.learners[0].observations.outcome.tolist() == [0, 0, 1, 0]
    assert notes == folder / "pilot.import.md"
    assert [f"- {note}" for note in imported.notes] == notes.read_text(encoding="utf-8").splitlines()[2:]


def jspsych_files(form: str) -> dict[str, bytes]:
    one, two = (raw_files.jspsych_records(person, f"p{person + 1}") for person in (0, 1))
    match form:
        case "a file each":
            return {
                "p1.json": json.dumps(one, indent=1).encode("utf-8-sig"),
                "p2.json": json.dumps(two).encode("utf-16"),
            }
        case "CSV":
            return {f"p{person + 1}.csv": raw_files.jspsych_csv(person, f"p{person + 1}") for person in (0, 1)}
        case "list of lists":
            return {"all.json": json.dumps([one, two]).encode()}
        case "a text within a text":
            return {f"p{i}.json": json.dumps(json.dumps(data)).encode() for i, data in enumerate((one, two), start=1)}
        case "a person a line":  # as JATOS exports results
            return {"jatos_results.txt": f"{json.dumps(one)}\n{json.dumps(two)}\n".encode()}
        case "a trial a line":
            return {"all.jsonl": "\n".join(map(json.dumps, one + two)).encode()}
        case _:
            bare = raw_files.jspsych_records(0), raw_files.jspsych_records(1)
            wrapped = [{"subject": f"p{i}", "finished": True, "trials": data} for i, data in enumerate(bare, start=1)]
            return {f"{i}.json": json.dumps(record).encode() for i, record in enumerate(wrapped)}


FORMS = ("a file each", "a text within a text", "CSV", "list of lists", "a person a line", "a trial a line", "wrapped")


@pytest.mark.parametrize("form", FORMS)
def test_jspsych(form: str, tmp_path: Path) -> None:
    folder = lay(tmp_path / "raw", jspsych_files(form))
    imported = import_files(folder, keep={"task": ["response"]})
    assert imported.kind == "jspsych"
    assert_expected(imported, "response", "correct_response", ("p1", "p2"), tmp_path)
    assert set(imported.table["correct"]) == {"true", "false"}
    assert "view_history" not in imported.table
    assert sum(n or 0 for rule, n in rules(imported) if rule == "kept task response") == 8


def test_files_of_the_same_name_are_called_by_their_folders(tmp_path: Path) -> None:
    files = {f"study_result_{i + 9}/comp-result_{i}/data.txt": raw_files.jspsych_records(i) for i in (0, 1)}
    packed = {"metadata.json": b'{"data": [{"id": 1}]}'} | {name: json.dumps(r).encode() for name, r in files.items()}
    lay(tmp_path / "raw", {"jatos_results.jzip": zipped(packed)})
    imported = import_files(tmp_path / "raw", keep={"task": "response"})
    people = ("study_result_9", "study_result_10")
    assert_expected(imported, "response", "correct_response", people, tmp_path)
    one, two = (json.dumps(records).encode() for records in files.values())
    folder = lay(tmp_path / "groups", {"control/1.json": one, "control/2.json": two, "patient/1.json": two})
    assert import_files(folder).table["subject"].unique().tolist() == ["control-1", "control-2", "patient-1"]
    folder = lay(tmp_path / "days", {"p1/1/data.json": one, "p1/2/data.json": two, "p2/1/data.json": two})
    table = import_files(folder, keep={"task": "response"}).table
    assert table["subject"].tolist() == ["p1"] * 8 + ["p2"] * 4
    assert [name[-14:] for name in table["file"].unique()] == ["p1/1/data.json", "p1/2/data.json", "p2/1/data.json"]


def test_jspsych_keeps_what_may_be_a_trial_and_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s07.json"
    path.write_text(json.dumps(raw_files.jspsych_records(0)), encoding="utf-8")
    imported = import_files(path)
    assert rules(imported, "s07.json") == [
        ("read as jspsych: columns trial_type and trial_index", 11),
        ("subject s07 from the file's name", None),
        ("dropped trial types that are no trials: preload, instructions, survey-html-form", 3),
        ("kept trial_type html-keyboard-response 4, image-keyboard-response 4", 8),
        ("answers given once, carried to all trials of the person: response.age, response.sex", None),
    ]
    assert imported.table[["subject", "response.age"]].drop_duplicates().to_numpy().tolist() == [["s07", "24"]]
    everything = import_files(path, keep={"trial_type": ["preload", "survey-html-form"]})
    assert everything.table["response.age"].tolist() == ["", "24"]


def test_jspsych_records_out_of_order_are_noted(tmp_path: Path) -> None:
    one, two = raw_files.jspsych_records(0, "p1"), raw_files.jspsych_records(1, "p2")
    one[4], one[6] = one[6], one[4]
    (tmp_path / "all.json").write_text(json.dumps(one + two), encoding="utf-8")
    imported = import_files(tmp_path / "all.json")
    rule = "trial_index goes back within a person; rows stay in the order of the file"
    assert (rule, 2) in rules(imported)
    assert imported.table["trial_index"].tolist()[:4] == ["3", "6", "5", "4"]


def test_jspsych_data_saved_as_a_record_of_their_own(tmp_path: Path) -> None:
    records = [{"trial_type": "x", "trial_index": i, "data": {"cue": "circle", "rt": 5}, "rt": i} for i in range(2)]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    imported = import_files(path)
    assert imported.table["cue"].tolist() == ["circle", "circle"]
    assert imported.table[["rt", "data.rt"]].to_numpy().tolist() == [["0", "5"], ["1", "5"]]
    assert ("entries of data merged into the trials: cue", None) in rules(imported)


def test_surveys_of_older_versions_hold_for_the_person(tmp_path: Path) -> None:
    survey = {"trial_type": "survey-text", "trial_index": 0, "responses": '{"age":"24"}'}
    trials = [{"trial_type": "image-keyboard-response", "trial_index": i, "key_press": 70} for i in (1, 2)]
    (tmp_path / "p.json").write_text(json.dumps([survey, *trials]), encoding="utf-8")
    assert import_files(tmp_path / "p.json").table["responses.age"].tolist() == ["24", "24"]


def test_the_subject_in_one_row_holds_for_the_person(tmp_path: Path) -> None:
    one, two = (raw_files.jspsych_records(person) for person in (0, 1))
    one[2]["response"]["id"], two[2]["response"]["id"] = "x9", "x10"
    path = tmp_path / "all.json"
    path.write_text(json.dumps([one, two]), encoding="utf-8")
    imported = import_files(path, subject="response.id", keep={"task": "response"})
    assert_expected(imported, "response", "correct_response", ("x9", "x10"), tmp_path)
    named = import_files(path, keep={"task": "response"})
    assert named.table["subject"].unique().tolist() == ["all-1", "all-2"]


def psychopy_folder(folder: Path) -> Path:
    files = {f"00{i + 1}_learn_2024.csv": raw_files.psychopy_csv(i, f"00{i + 1}") for i in (0, 1)}
    return lay(folder, files | {"001_learn_2024.log": b"0.1 EXP start", "conditions.csv": b"cue,corrAns\ncircle,f\n"})


def test_psychopy(tmp_path: Path) -> None:
    folder = psychopy_folder(tmp_path / "data")
    imported = import_files(folder, keep={"loop": "trials_2"})
    assert imported.kind == "psychopy"
    assert_expected(imported, "key_resp.keys", "corrAns", ("001", "002"), tmp_path)
    assert imported.table["key_resp.rt"].tolist()[4:] == ["0.388", "0.59", "", "0.377"]
    assert imported.table["blocks.thisN"].tolist() == ["0", "0", "1", "1"] * 2
    assert ("left aside, as it is no file of psychopy", 1) in rules(imported, "conditions.csv")
    assert ("left aside 1 other files, such as 001_learn_2024.log", None) in rules(imported, "data")
    assert rules(imported, "001_learn_2024.csv") == [
        ("read as psychopy: column blocks.thisN", 9),
        ("dropped rows outside of any loop", 2),
        ("lists of one entry in column key_resp.keys became that entry", 1),
        ("column participant renamed to subject", None),
        ("kept loop trials_2", 4),
    ]


def test_psychopy_sessions_that_were_broken_off_and_summaries_are_left_aside(tmp_path: Path) -> None:
    folder = psychopy_folder(tmp_path)
    head = "instruct.started,participant,date,expName,psychopyVersion,frameRate,"
    lay(
        folder,
        {"003_learn.csv": f"{head}\n0.1,003,2024,learn,2022.2.5,60,\n".encode(), "004.csv": f"{head}\n".encode()},
    )
    summed = b"cue,n,key_resp.rt_mean,key_resp.rt_raw,order\ncircle,1,0.5,0.5,0\n\nextraInfo\nparticipant,001\n"
    lay(folder, {"001_trials.csv": summed})
    imported = import_files(folder, keep={"loop": "trials_2"})
    assert imported.table["subject"].unique().tolist() == ["001", "002"]
    assert ("left aside, as no loop was begun", 1) in rules(imported, "003_learn.csv")
    summary = "left aside, as it sums up a loop of PsychoPy, without the order of trials"
    assert (summary, None) in rules(imported, "001_trials.csv")
    assert ("left aside, as it is a header without rows", None) in rules(imported, "004.csv")


def test_psychopy_says_which_loops_there_are(tmp_path: Path) -> None:
    imported = import_files(psychopy_folder(tmp_path), rename={"key_resp.keys": "key"})
    about = rules(imported, "001_learn_2024.csv")
    assert ("dropped loops in which nothing was answered: blocks", 2) in about
    assert ("kept loop practice 1, trials_2 4", 5) in about
    assert imported.table["loop"].tolist() == ["practice", *["trials_2"] * 4] * 2
    assert imported.table["trial"].tolist() == ["1", "2", "3", "4", "5"] * 2
    assert imported.table["key"].tolist()[:2] == ["f", "f"]


def test_gorilla(tmp_path: Path) -> None:
    files = {"data_exp_4424-v9_task-z5kw.csv": raw_files.gorilla_csv()}
    files["data_exp_4424-v9_questionnaire-4vcn.csv"] = raw_files.gorilla_questionnaire_csv()
    files["data_exp_4424-v9_questionnaire-5.csv"] = files["data_exp_4424-v9_questionnaire-6.csv"] = (
        raw_files.gorilla_questionnaire_csv()
    )
    imported = import_files(lay(tmp_path / "raw", files))
    assert imported.kind == "gorilla"
    assert_expected(imported, "Response", "ANSWER", ("508749", "508750"), tmp_path)
    assert imported.table["Correct"].tolist() == ["1", "0", "1", "1", "1", "0", "", "1"]
    for name in ("age", "age (questionnaire)", "age (questionnaire) (questionnaire)"):
        assert imported.table[name].tolist() == ["24"] * 4 + ["31"] * 4
    assert rules(imported, "task-z5kw.csv") == [
        ("read as gorilla: column Participant Private ID", 25),
        ("dropped the row END OF FILE", 1),
        ("dropped marks of a beginning or an end", 4),
        ("column Participant Private ID renamed to subject", None),
        ("dropped second and later attempts", 2),
        ("dropped events that are no answers", 10),
        ("trials that ended by a time limit kept without a response", 1),
        ("kept Zone Type response_keyboard_single 7, timelimit_screen 1", 8),
    ]


def test_gorilla_second_builder_and_events_out_of_order(tmp_path: Path) -> None:
    lines = raw_files.gorilla_builder_2_csv().decode().splitlines()
    path = tmp_path / "task.csv"
    path.write_text("\n".join([lines[0], *reversed(lines[1:9]), *lines[9:-1]]), encoding="utf-8")
    imported = import_files(path)
    assert_expected(imported, "Response", "answer", ("11", "12"), tmp_path)
    assert ("no row END OF FILE: the file may not be whole", None) in rules(imported)
    assert ("rows put in the order of Event Index, person by person", 8) in rules(imported)
    assert ("Spreadsheet: taken off the names of cue, answer", None) in rules(imported)


def test_gorilla_short_questionnaires(tmp_path: Path) -> None:
    wide = [["Event Index", "Participant Private ID", "age", "hand"], [1, "508749", 24, "left"], [1, "508750", 31, ""]]
    files = {"task.csv": raw_files.gorilla_csv(), "q.csv": csv_bytes([*wide, ["END OF FILE", "", "", ""]])}
    files["q4.csv"] = csv_bytes([wide[0], ["END OF FILE"]])  # which nobody has answered
    files["q3.csv"] = files["q2.csv"] = files["q.csv"]
    imported = import_files(lay(tmp_path / "raw", files))
    assert "age (questionnaire)" not in imported.table
    left_out = "columns that the task has as well left out: Event Index, age, hand"
    assert (left_out, None) in rules(imported, "q3.csv")
    assert ("columns joined by participant: none", 0) in rules(imported, "q4.csv")
    assert imported.table[["age", "hand"]].drop_duplicates().to_numpy().tolist() == [["24", "left"], ["31", ""]]


@pytest.mark.parametrize("form", ["JSON", "CSV"])
def test_labjs(form: str, tmp_path: Path) -> None:
    files = {f"q{i + 1}.csv": raw_files.labjs_csv(i) for i in (0, 1)}
    if form == "JSON":
        bodies = [{"url": "https://lab.example", "data": raw_files.labjs_records(i)} for i in (0, 1)]
        for body in bodies:
            body["data"][0]["url"] = json.dumps({"participant": "q1" if body is bodies[0] else "q2"})  # type: ignore[index]
        files = {"all.json": "\n".join(map(json.dumps, bodies)).encode()}
    folder = lay(tmp_path / "raw", files)
    subject = None if form == "CSV" else "file name"
    imported = import_files(folder, keep={"sender": ["Choice"]}, subject=subject)
    assert imported.kind == "labjs"
    subjects = ("q1", "q2") if form == "CSV" else ("all-1", "all-2")
    assert_expected(imported, "response", "correctResponse", subjects, tmp_path)


def test_labjs_leaves_out_what_nobody_could_answer(tmp_path: Path) -> None:
    folder = lay(tmp_path, {"a.csv": raw_files.labjs_csv(0), "b.csv": raw_files.labjs_csv(1)})
    imported = import_files(folder)
    assert imported.table["sender"].tolist() == ["Welcome", *["Choice"] * 4] * 2
    assert imported.table["subject"].unique().tolist() == ["q1", "q2"]
    assert imported.table["meta.screen_width"].tolist()[0] == "1920"
    assert imported.table["age"].tolist() == ["24"] * 5 + ["31"] * 5
    assert ("dropped loops and sequences (sender_type flow)", 6) in rules(imported, "a.csv")
    assert ("dropped screens without any response: About you, Fixation", 5) in rules(imported, "a.csv")
    assert ("column url.participant renamed to subject", None) in rules(imported, "a.csv")
    assert ("subject q1 filled in where it was empty", 15) in rules(imported, "a.csv")


def test_labjs_files_that_were_pasted_together(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_bytes(raw_files.labjs_pasted_csv())
    imported = import_files(tmp_path / "all.csv", keep={"sender": "Choice"})
    assert_expected(imported, "response", "correctResponse", ("q1", "q2"), tmp_path)
    assert imported.table["age"].tolist() == ["24"] * 4 + ["31"] * 4
    dropped = "dropped headers between rows; what follows each is read as a file of its own"
    assert (dropped, 1) in rules(imported, "all.csv")
    assert ("answers given once, carried to all trials of the person: age", None) in rules(imported, "all.csv, part 2")


def test_labjs_trials_that_are_forms(tmp_path: Path) -> None:
    form = {"sender": "Guess", "sender_type": "html.Form", "ended_on": "form submission", "sender_id": "0", "id": "x"}
    records = [form | {"guess": "rain"}, form | {"guess": "sun"}, form | {"sender": "Pause", "ended_on": "timeout"}]
    (tmp_path / "p.json").write_text(json.dumps(records), encoding="utf-8")
    assert import_files(tmp_path / "p.json").table[["subject", "guess"]].to_numpy().tolist() == [
        ["x", "rain"],
        ["x", "sun"],
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_bids(packed: bool, tmp_path: Path) -> None:
    path = lay(tmp_path / "set", raw_files.bids_files())
    if packed:
        path = tmp_path / "set.zip"
        path.write_bytes(zipped({f"set/{name}": content for name, content in raw_files.bids_files().items()}))
    imported = import_files(path, keep={"trial_type": "choice"})
    assert imported.kind == "bids"
    assert_expected(imported, "response", "answer", ("sub-01", "sub-02"), tmp_path)
    assert imported.table["run"].tolist() == ["1", "1", "2", "2"] * 2
    assert imported.table["age"].tolist() == ["24"] * 4 + ["31"] * 4
    assert imported.table["response_time"].tolist()[6] == imported.table["group"].tolist()[6] == ""
    assert ("left aside 6 files that hold no events", None) in rules(imported)
    assert ("left aside, as its name tells no person", 1) in rules(imported, "task-rest_events.tsv")
    assert ("left aside, as it is a header without rows", None) in rules(imported, "task-sleep_events.tsv")
    assert ("rows put in the order of their onsets", 4) in rules(imported, "sub-02_task-learn_run-2_events.tsv")
    assert ("columns joined by participant: age, group", 3) in rules(imported, "participants.tsv")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx", ".parquet", ".csv.gz", ".parquet.gz", ".zip"])
def test_tidy_tables(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"trials{suffix}"
    text = tidy_table().to_csv(index=False, sep="\t" if suffix == ".tsv" else ",").encode()
    if suffix == ".xlsx":
        tidy_table().to_excel(path, index=False)
    elif suffix.startswith(".parquet"):
        content = tidy_table().to_parquet(index=False)
        path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    elif suffix == ".zip":
        path.write_bytes(zipped({"__MACOSX/._a.csv": b"\0", "raw/a.csv": text, "readme.md": b"hello"}))
    else:
        path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    imported = import_files(path)
    assert imported.kind == "table"
    assert_expected(imported, "key", "answer", ("007", "x"), tmp_path)
    assert imported.table["rt"].tolist() == ["512", "634", "701", "455", "388", "590", "", "377"]
    assert rules(imported)[-1] == ("read as table: no column that another program writes", 8)


def test_the_sheet_of_a_workbook_is_named(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        tidy_table().to_excel(book, sheet_name="trials", index=False)
        pd.DataFrame({"note": ["by hand"]}).to_excel(book, sheet_name="notes", index=False)
        pd.DataFrame().to_excel(book, sheet_name="empty")
    imported = import_files(path, sheet="trials")
    assert_expected(imported, "key", "answer", ("007", "x"), tmp_path)
    assert import_files(path).table.equals(imported.table)  # a single column of remarks is no table of trials
    assert rules(imported)[0] == ("read sheet trials of trials, notes, empty", None)


def test_a_title_above_the_header_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        tidy_table().to_excel(book, sheet_name="trials", index=False, startrow=3)
        book.sheets["trials"]["A1"] = "Study 2"
        book.sheets["trials"]["A2"] = "by hand"
    imported = import_files(path)
    assert_expected(imported, "key", "answer", ("007", "x"), tmp_path)
    assert rules(imported)[:2] == [
        ("skipped what stands above the header in row 4", 2),
        ("skipped rows without any entry", 1),
    ]


def test_empty_rows_of_a_workbook_are_said(tmp_path: Path) -> None:
    imported = import_files(lay(tmp_path, tidy_files("Excel")) / "pilot.xlsx")
    assert rules(imported)[:2] == [("read sheet trials of trials, empty", None), ("skipped rows without any entry", 3)]
    assert imported.table["day"].unique().tolist() == ["2024-03-01T00:00:00"]


def test_rows_and_names_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    tidy_table().rename(columns={"subject": "who", "trial": "subject"}).to_csv(path, index=False)
    imported = import_files(path, subject="who", keep={"cue": ["circle", "square"]}, drop={"subject": 4})
    assert imported.table["subject"].tolist() == ["007"] * 3 + ["x"] * 3
    assert imported.table["subject_in_file"].tolist() == ["1", "2", "3"] * 2
    again = import_files(path, kind="table", rename={"who": "subject", "subject": "trial"})
    assert again.table.columns.tolist() == ["subject", "trial", "cue", "key", "rt", "answer"]
    assert rules(again, "all files") == [
        ("column who renamed to subject", None),
        ("column subject renamed to trial", None),
    ]


def test_a_person_in_several_files_is_said(tmp_path: Path) -> None:
    records: list[list[dict[str, Any]]] = [raw_files.jspsych_records(person, "p1") for person in (0, 1)]
    for n, each in enumerate(records, start=1):
        (tmp_path / f"day{n}.json").write_text(json.dumps(each), encoding="utf-8")
    imported = import_files(tmp_path, keep={"task": "response"})
    assert imported.table["trial"].tolist() == [str(n) for n in range(1, 9)]
    assert imported.table["file"].tolist() == ["day1"] * 4 + ["day2"] * 4
    assert any(
        rule.startswith("people with several files: 1, such as p1 with day1, day2; trials")
        for rule, _ in rules(imported)
    )


def test_of_names_that_services_give_to_people_the_first_counts(tmp_path: Path) -> None:
    record = {"trial_type": "x", "trial_index": 0, "run_id": 7, "PROLIFIC_PID": "5fa"}
    (tmp_path / "p.json").write_text(json.dumps([record]), encoding="utf-8")
    imported = import_files(tmp_path / "p.json")
    assert imported.table["subject"].tolist() == ["5fa"]
    assert ("of PROLIFIC_PID, run_id, the first is taken for the person", None) in rules(imported)


def test_tables_that_name_nobody_are_of_a_person_each(tmp_path: Path) -> None:
    for name in ("anna", "ben"):
        (tmp_path / f"{name}.csv").write_text("cue,choice\n1,0\n0,1\n", encoding="utf-8")
    imported = import_files(tmp_path)
    assert imported.table["subject"].tolist() == ["anna", "anna", "ben", "ben"]
    assert ("subject ben from the file's name", None) in rules(imported, "ben.csv")
    assert "subject" not in import_files(tmp_path / "anna.csv").table
    (tmp_path / "ben.csv").write_text("id,cue,choice\nb,1,0\n", encoding="utf-8")
    assert "subject" not in import_files(tmp_path).table


def test_columns_of_the_import_do_not_hide_those_of_the_file(tmp_path: Path) -> None:
    records = [{"trial_type": "x", "trial_index": i, "subject": "a", "trial": 7} for i in range(2)]
    (tmp_path / "p.json").write_text(json.dumps(records), encoding="utf-8")
    imported = import_files(tmp_path / "p.json")
    assert imported.table[["subject", "trial", "trial_in_file"]].to_numpy().tolist() == [
        ["a", "1", "7"],
        ["a", "2", "7"],
    ]
    assert ("column trial of the file renamed to trial_in_file", None) in rules(imported)


def test_text_that_no_file_can_hold_is_replaced(tmp_path: Path) -> None:
    record = {"trial_type": "x", "trial_index": 0, "said": "a\ud800b\0c\r\nd", "big": 10**30, "none": None, "many": [1]}
    (tmp_path / "p.json").write_text(json.dumps([record]), encoding="utf-8")
    table = import_files(tmp_path / "p.json").table
    assert table[["said", "big", "many"]].to_numpy().tolist() == [["a?b\ufffdc\r\nd", str(10**30), "[1]"]]


def test_lists_of_records_saved_as_text_within_a_record(tmp_path: Path) -> None:
    body = {"participant": "x1", "filedata": json.dumps(raw_files.jspsych_records(0)), "id": 7}
    (tmp_path / "sent.json").write_text(json.dumps(body), encoding="utf-8")
    imported = import_files(tmp_path / "sent.json", keep={"task": "RESPONSE", "correct": [True, False]})
    assert imported.table["subject"].tolist() == ["x1"] * 4
    assert imported.table["id"].tolist() == ["7"] * 4


def test_psychopy_counters_without_a_loop(tmp_path: Path) -> None:
    """Since 2024 the counters of the running loop and its answers are there once more, under other names."""
    head = ["cue", "thisN", "thisTrialN", "thisRepN", "resp.keys", "resp.rt", "resp.duration", "trials.thisRepN"]
    head += ["trials.thisTrialN", "trials.thisN", "trials.thisIndex", "trials.resp.keys", "participant", "expStart", ""]
    rows = [["a", n, n, 0, "f", "None", "None", 0, n, n, n, "f", "044195", "2024-10-23", ""] for n in range(2)]
    before = [*[""] * 12, "044195", "2024-10-23", ""]
    (tmp_path / "p.csv").write_bytes(csv_bytes([head, before, *rows]))
    imported = import_files(tmp_path / "p.csv")
    assert imported.table["resp.keys"].tolist() == imported.table["trials.resp.keys"].tolist() == ["f", "f"]
    assert imported.table["loop"].tolist() == ["trials", "trials"]
    assert ("dropped columns without any entry: resp.rt, resp.duration", None) in rules(imported)


def test_the_representation_is_short(tmp_path: Path) -> None:
    tidy_table().to_csv(tmp_path / "trials.csv", index=False)
    assert repr(import_files(tmp_path / "trials.csv")) == "<Imported: 2 people, 8 rows, table>"
