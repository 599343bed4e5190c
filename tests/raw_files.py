"""Raw files as the programs write them, with their oddities, for two people who learn by left and right keys."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pandas as pd

TRIALS = (  # cue, key, reaction time in ms, correct key; the second person misses the third trial
    (("circle", "f", 512, "f"), ("square", "j", 634, "f"), ("circle", "j", 701, "j"), ("square", "f", 455, "f")),
    (("square", "j", 388, "j"), ("circle", "f", 590, "j"), ("circle", None, None, "f"), ("square", "j", 377, "j")),
)

# What every import of these trials comes to, under the names that the programs give to the columns.
EXPECTED = [(cue, key or "", answer) for person in TRIALS for cue, key, _, answer in person]


def csv_bytes(rows: Iterable[Sequence[object]], separator: str = ",", encoding: str = "utf-8") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode(encoding)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def jspsych_records(person: int, subject: str | None = None) -> list[dict[str, Any]]:
    """One person's data as ``jsPsych.data.get().json()`` gives them: survey, fixations and trials in one list."""
    own = {} if subject is None else {"subject": subject}
    records: list[dict[str, Any]] = [
        {"success": True, "timeout": False, "trial_type": "preload"},
        {"view_history": [{"page_index": 0, "viewing_time": 810}], "rt": 815, "trial_type": "instructions"},
        {
            "response": {"age": "24", "sex": "f"},
            "rt": 9001.3,
            "question_order": [0, 1],
            "trial_type": "survey-html-form",
        },
    ]
    for cue, key, rt, answer in TRIALS[person]:
        fixation = {"rt": None, "stimulus": "<p>+</p>", "response": None, "task": "fixation"}
        trial = {"rt": rt, "stimulus": f"img/{cue}.png", "response": key, "task": "response", "cue": cue}
        trial |= {"correct_response": answer, "correct": key == answer}
        records += [
            fixation | {"trial_type": "html-keyboard-response"},
            trial | {"trial_type": "image-keyboard-response"},
        ]
    for i, record in enumerate(records):
        record |= {"trial_index": i, "time_elapsed": 1000 * i + 17, "internal_node_id": f"0.0-{i}.0", **own}
    return records


def jspsych_csv(person: int, subject: str | None = None) -> bytes:
    """The same by ``.csv()``: every cell in quotation marks, objects as JSON, ``null`` for nothing."""
    records = jspsych_records(person, subject)
    names = list(dict.fromkeys(name for record in records for name in record))

    def cell(record: dict[str, Any], name: str) -> str:
        if name not in record:
            return ""
        value = record[name]
        return value if isinstance(value, str) else json.dumps(value)

    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([cell(record, name) for name in names] for record in records)
    return text.getvalue().encode()


def psychopy_csv(person: int, participant: str) -> bytes:
    """One person's CSV of Builder: byte order mark, a separator at the end of every line, nested and practice loops."""
    names = ["cue", "corrAns", "practice.thisRepN", "practice.thisTrialN", "practice.thisN", "practice.thisIndex"]
    names += ["blocks.thisRepN", "blocks.thisTrialN", "blocks.thisN", "blocks.thisIndex"]
    names += ["trials_2.thisRepN", "trials_2.thisTrialN", "trials_2.thisN", "trials_2.thisIndex"]
    names += ["key_resp.keys", "key_resp.rt", "key_resp.corr", "welcome.started", "participant", "session", "date"]
    names += ["expName", "psychopyVersion", "frameRate", ""]
    if person:  # who missed the first key and stopped early, has other columns in another order
        names.remove("key_resp.rt")
        names[-1:] = ["key_resp.rt", "trials_2.thisTrial", ""]
    extra = {"participant": participant, "session": "001", "date": f"2024_Mar_0{person + 1}_1017", "expName": "learn"}
    extra |= {"psychopyVersion": "2022.2.5", "frameRate": "59.94"}

    def counters(loop: str, n: int) -> dict[str, object]:
        return {f"{loop}.thisRepN": 0, f"{loop}.thisTrialN": n, f"{loop}.thisN": n, f"{loop}.thisIndex": n}

    rows: list[dict[str, object]] = [{"welcome.started": 0.01, **extra}]
    practice = {"cue": "circle", "corrAns": "f", "key_resp.keys": "f", "key_resp.rt": 0.9, "key_resp.corr": 1}
    rows.append({**counters("practice", 0), **practice, **extra})
    for i, (cue, key, rt, answer) in enumerate(TRIALS[person]):
        row = {**counters("blocks", i // 2), **counters("trials_2", i % 2), "cue": cue, "corrAns": answer}
        row |= {"key_resp.keys": f"['{key}']" if i == 0 else key, "key_resp.corr": int(key == answer)}
        rows.append({**row, "key_resp.rt": "" if rt is None else rt / 1000, **extra})
        if i % 2:
            rows.append({**counters("blocks", i // 2), **extra})  # the feedback at the end of a block
    rows.append({**extra, "trials_2.thisTrial": "None"})
    return csv_bytes([names, *([row.get(name, "") for name in names] for row in rows)], encoding="utf-8-sig")


GORILLA_HEAD = ["Event Index", "UTC Timestamp", "Experiment ID", "Tree Node Key", "Repeat Key", "Participant Public ID"]
GORILLA_HEAD += ["Participant Private ID", "Participant Status", "Task Name", "checkpoint-eqdz", "Spreadsheet Name"]
GORILLA_HEAD += ["Spreadsheet Row", "Trial Number", "Screen Number", "Screen Name", "Zone Name", "Zone Type"]
GORILLA_HEAD += [
    "Reaction Time",
    "Response",
    "Attempt",
    "Correct",
    "Incorrect",
    "Timed Out",
    "display",
    "ANSWER",
    "cue",
]


def gorilla_csv() -> bytes:
    """A task's node of the first task builder, everyone in one file, with the last row that says so."""
    rows = []
    for person, private in enumerate(("508749", "508750")):
        fixed = ["1.54394E+12", 4424, "task-z5kw", "", "", private, "complete", "Learning", "done", "main"]
        rows.append([1, *fixed, "", "BEGIN TASK", "", "", "", "", "", "", "", 0, 1, "", "", "", ""])
        event = 2
        rows.append(
            [event, *fixed, 1, 1, 1, "Screen 1", "next", "continue_button", 1484.5, "", "", 0, 1, "", "info", "", ""]
        )
        for n, (cue, key, rt, answer) in enumerate(TRIALS[person], start=1):
            shown = ["trial", answer, cue]
            at = [*fixed, n + 1, n, 2, "choose"]
            rows.append([event + 1, *at, "z", "content_audio", 9, "AUDIO STARTED", 1, 0, 1, "", *shown])
            if key is None:
                rows.append([event + 2, *at, "limit", "timelimit_screen", 3000, "", "", 0, 1, 1, *shown])
            else:
                right = int(key == answer)
                zone = ["keys", "response_keyboard_single", rt, key, 1, right, 1 - right, ""]
                rows.append([event + 2, *at, *zone, *shown])
                if not right:
                    again = ["keys", "response_keyboard_single", 300, answer, 2, 1, 0, ""]
                    rows.append([event + 3, *at, *again, *shown])
            event += 3
        rows.append([event + 1, *fixed, "", "END TASK", "", "", "", "", "", "", "", 0, 1, "", "", "", ""])
    return csv_bytes([GORILLA_HEAD, *rows, ["END OF FILE"]], encoding="utf-8-sig")


def gorilla_questionnaire_csv() -> bytes:
    head = ["Event Index", "Participant Private ID", "Tree Node Key", "Question Key", "Response"]
    rows: list[list[object]] = []
    for private, age in (("508749", "24"), ("508750", "31")):
        answers = [("BEGIN QUESTIONNAIRE", ""), ("age", age), ("age-quantised", "2"), ("END QUESTIONNAIRE", "")]
        rows += [[i, private, "questionnaire-4vcn", *answer] for i, answer in enumerate(answers, start=1)]
    return csv_bytes([head, *rows, ["END OF FILE"]], encoding="utf-8-sig")


def gorilla_builder_2_csv() -> bytes:
    """The second task builder: types of responses in place of zones, columns of the spreadsheet marked as such."""
    head = ["Event Index", "Participant Private ID", "Tree Node Key", "Spreadsheet Row", "Trial Number", "Screen"]
    head += ["Object Name", "Response Type", "Response", "Reaction Time", "Correct"]
    head += ["Spreadsheet: cue", "Spreadsheet: answer"]
    rows: list[list[object]] = []
    for person, private in enumerate(("11", "12")):
        for n, (cue, key, rt, answer) in enumerate(TRIALS[person], start=1):
            at = [private, "task-a", n, n]
            rows.append([len(rows) + 1, *at, "Screen 1", "Next", "continue", "", 50, "", cue, answer])
            got = ["response", key, rt, int(key == answer)] if key else ["timedout", "", 3000, 0]
            rows.append([len(rows) + 1, *at, "Screen 2", "Keyboard", *got, cue, answer])
    return csv_bytes([head, *rows, ["END OF FILE", *[""] * (len(head) - 1)]])


def labjs_records(person: int) -> list[dict[str, Any]]:
    """One person's rows: technical information, a form, screens, and the loops around them when they end."""
    meta = {"labjs_version": "20.2.4", "location": "https://lab.example/?participant=x", "screen_width": 1920}
    records: list[dict[str, Any]] = [
        {"sender": "Welcome", "sender_type": "html.Screen", "sender_id": "0", "response": "go", "ended_on": "response"},
    ]
    records[0] |= {"duration": 5120.4, "meta": json.dumps(meta), "url": json.dumps({"participant": f"q{person + 1}"})}
    form = {"sender": "About you", "sender_type": "html.Page", "sender_id": "0_1", "ended_on": "form submission"}
    records.append({**form, "duration": 8311.1, "age": ("24", "31")[person]})
    for i, (cue, key, rt, answer) in enumerate(TRIALS[person]):
        own = {"cue": cue, "correctResponse": answer}
        end = {"response": key, "response_action": f"keydown({key})", "ended_on": "response", "duration": rt}
        end = end if key else {"response": None, "ended_on": "timeout", "duration": 2000}
        fixation = {"sender": "Fixation", "sender_type": "html.Screen", "duration": 500.1, "ended_on": "timeout"}
        choice = {"sender": "Choice", "sender_type": "canvas.Screen", **own, **end, "correct": key == answer}
        around = {"sender": "Trial", "sender_type": "flow.Sequence", "ended_on": "completion", **own}
        for j, row in enumerate((fixation, choice, around)):
            records.append({**row, "sender_id": f"1_{i}_{j}" if j < 2 else f"1_{i}"})
    records.append({"sender": "Task", "sender_type": "flow.Loop", "sender_id": "1", "ended_on": "completion"})
    records.append({"sender": "root", "sender_type": "flow.Sequence", "sender_id": "", "ended_on": "completion"})
    for record in records:
        record["timestamp"] = "2024-03-01T10:17:00.000Z"
    return records


def labjs_csv(person: int) -> bytes:
    records = labjs_records(person)
    names = list(dict.fromkeys(name for record in records for name in record))
    names.insert(4, "")  # a variable without a name
    rows = [
        [value if isinstance(value := record.get(name, ""), str) else json.dumps(value) for name in names]
        for record in records
    ]
    return csv_bytes([names, *([cell if cell != "null" else "" for cell in row] for row in rows)])


def labjs_pasted_csv() -> bytes:
    """Files of two people one after the other; the last rows do not say who did them, nor do links."""
    parts = []
    for person in (0, 1):
        records = [{**record, "url": "{}" if "url" in record else ""} for record in labjs_records(person)]
        named = [record | {"participantID": f"q{person + 1}"} for record in records[:-2]] + records[-2:]
        names = [*dict.fromkeys(name for record in labjs_records(0) for name in record), "participantID"]
        parts += [["\ufeffsender", *names[1:]], *([str(record.get(name) or "") for name in names] for record in named)]
    return csv_bytes(parts)


def bids_files() -> dict[str, bytes]:
    """A data set: two people, two runs each, a run out of order, files beside it that are no events."""
    files = {"dataset_description.json": b'{"Name": "learn", "BIDSVersion": "1.9.0"}'}
    people = [["participant_id", "age", "group"], ["sub-01", 24, "control"], ["sub-02", 31, "n/a"], ["sub-03", 9, "x"]]
    files["participants.tsv"] = csv_bytes(people, "\t")
    files["task-learn_events.json"] = b'{"trial_type": {"LongName": "kind"}, "onset": {"Units": "s"}}'
    files["task-rest_events.tsv"] = b"onset\tduration\ttrial_type\n0\t30\tdots\n"  # the same for everyone
    files["task-sleep_events.tsv"] = b"onset\tduration\n"
    head = ["onset", "duration", "trial_type", "cue", "response", "response_time", "answer"]
    for person, trials in enumerate(TRIALS):
        for run in (1, 2):
            rows: list[list[object]] = []
            for i, (cue, key, rt, answer) in enumerate(trials[2 * run - 2 : 2 * run]):
                onset = f"{10.5 * i + 2}"
                seconds = "n/a" if rt is None else rt / 1000
                rows.append([onset, 1, "choice", cue, key or "n/a", seconds, answer])
                rows.append(["n/a" if run == 1 else f"{10.5 * i + 4}", 0.5, "feedback", "n/a", "n/a", "n/a", "n/a"])
            if run == 2:
                rows.reverse()
            folder = f"sub-0{person + 1}/func/sub-0{person + 1}_task-learn_run-{run}"
            files[f"{folder}_events.tsv"] = csv_bytes([head, *rows], "\t")
            files[f"{folder}_physio.tsv"] = b"0.1\t0.1\n0.2\t0.3\n"
    return files


def bids_classification_files() -> dict[str, bytes]:
    """Two runs as in ``ds002`` of the public examples: a baseline without ``trial_type``, ``-`` and ``-1`` for misses.

    ``feedback`` is what was won, ``Feedback`` the answer that was right.
    """
    head = ["onset", "duration", "trial_type", "feedback", "TrialNum", "StimCond", "cue", "Response", "response_time"]
    files = {"participants.tsv": b"participant_id\tsex\tage\nsub-01\tM\t22\nsub-02\tF\t24\n"}
    for person, trials in enumerate(TRIALS):
        for run in (1, 2):
            rows: list[list[object]] = []
            for n, (cue, key, rt, answer) in enumerate(trials[2 * run - 2 : 2 * run]):
                won, right = ("n/a", -1) if key is None else (2 * (key == answer) - 1, int(key == answer))
                own = ["feedback", won, n + 1, 1, cue, key or "-", (rt or 0) / 1000, right, answer]
                rows += [[f"{9 * n + 0.116:.3f}", "2.000", *own]]
                rows += [[f"{9 * n + 4.6:.3f}", "n/a", "n/a", "n/a", n + 1, 1, "0", "f", "0.471", "-", "-"]]
            name = f"sub-0{person + 1}/func/sub-0{person + 1}_task-classification_run-0{run}_events.tsv"
            files[name] = csv_bytes([[*head, "Correct", "Feedback"], *rows], "\t")
    return files


def tidy_table() -> pd.DataFrame:
    """The same trials as a lab keeps them by hand: a row a trial."""
    rows = [(who, t, *TRIALS[i][t - 1]) for i, who in enumerate(("007", "x")) for t in range(1, 5)]
    return pd.DataFrame(rows, columns=["subject", "trial", "cue", "key", "rt", "answer"]).astype({"rt": "Int64"})


def tidy_files(form: str) -> dict[str, bytes]:
    """The tidy table as a file, with what such files have about them.

    A workbook has empty rows above and within, dates, formulas' results and other sheets; Parquet the index and the
    categories of pandas; an archive what its program adds.
    """
    table = tidy_table()
    text, buffer = table.to_csv(index=False).encode(), io.BytesIO()
    match form:
        case "Excel":
            with pd.ExcelWriter(buffer) as book:
                table.assign(day=date(2024, 3, 1)).to_excel(book, sheet_name="trials", index=False, startrow=2)
                book.sheets["trials"].insert_rows(7)
                pd.DataFrame().to_excel(book, sheet_name="empty")
            return {"pilot.xlsx": buffer.getvalue()}
        case "Parquet":
            table.astype({"cue": "category"}).set_index(table.index * 2).to_parquet(buffer)
            return {"pilot.parquet": buffer.getvalue()}
        case "zip":
            return {
                "pilot.zip": zipped({"__MACOSX/raw/._p.csv": b"\0\1", "raw/p.csv": text, "raw/readme.md": b"hello"})
            }
        case _:
            return {"pilot.csv.gz": gzip.compress(text)}
