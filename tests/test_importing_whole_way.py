"""From raw files to fits: ``init --from``, the draft as it is, ``check``, ``fit``, for a file of every kind.

The files are made by ``tests/raw_files.py``, in the layout that the programs document, with oddities of public ones:

- jsPsych: "Storing, Aggregating, and Manipulating Data" (www.jspsych.org, overview) and the data of its plugins. Nested
  answers are objects in JSON and text in CSV (pull request 1523 of jspsych/jsPsych); everything shown is a record of
  its own, fixations too; servers such as JATOS write a person a line, or pack a folder a person, in which all files
  have the same name (the example data of the R package jatosR, visionlabels/jatosR).
- PsychoPy: "Data outputs" (www.psychopy.org/general/dataOutputs.html). A separator ends every line (issue 129 of
  psychopy/psychopy), loops leave half-empty rows when they end (1116), routines outside of loops rows of their own
  (6002), the order of columns differs from person to person (1097), and whoever stops early has a column
  ``trials.thisTrial`` (1115), or a file without any loop or row (ethanweed/Learn-PsychoPy).
- Gorilla: "Experiment Tree Nodes" and the pages on the two task builders (support.gorilla.sc). Rows are events, among
  them BEGIN TASK and END TASK, later attempts and screens to go on. The last row says END OF FILE in a single cell, a
  questionnaire may have no other, and unnamed columns stand between others (the example data of the R package
  eyethinkdata, dcr-eyethink/eyethinkdata).
- lab.js: "Data format" (labjs.readthedocs.io, reference). Loops and sequences have rows as screens have; ``meta`` is
  JSON in the first row. Of public files (mklab-japan/labjs_book_support, chapter 12; s-n-1-0/labcsv.py): the row of the
  whole study has no ``sender_id`` and may name nobody, forms end on ``form submission`` and hold the age, a column has
  no name, ``url`` is ``{}``, and files of people are pasted together with their headers.
- BIDS: "Task events" and "Participants file" (bids-specification.readthedocs.io); ``ds002`` of
  bids-standard/bids-examples has baseline trials with ``n/a`` for their kind, ``-`` for a missed answer and ``-1`` for
  whether that was right; ``ds000117`` and ``fnirs_automaticity`` have onsets of ``n/a``, ``ds114`` files of events at
  the top, for everyone.
- Tables: "ECMA-376" for workbooks and "pandas.DataFrame.to_parquet" for what pandas adds to Parquet.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit.trials.reading import read_cohort
from tests import raw_files
from tests.commands import run

EXAMPLES: dict[str, tuple[dict[str, bytes], str]] = {
    "jsPsych JSON": (
        {f"{i}.json": json.dumps(raw_files.jspsych_records(i, f"p{i}")).encode() for i in (0, 1)},
        "--keep task=response",
    ),
    "jsPsych CSV": ({f"{i}.csv": raw_files.jspsych_csv(i, f"p{i}") for i in (0, 1)}, "--keep task=response"),
    "PsychoPy": ({f"{i}.csv": raw_files.psychopy_csv(i, f"p{i}") for i in (0, 1)}, "--drop loop=practice"),
    "Gorilla": ({"task.csv": raw_files.gorilla_csv(), "form.csv": raw_files.gorilla_questionnaire_csv()}, ""),
    "Gorilla, builder 2": ({"task.csv": raw_files.gorilla_builder_2_csv()}, ""),
    "lab.js CSV": ({f"{i}.csv": raw_files.labjs_csv(i) for i in (0, 1)}, "--keep sender=Choice"),
    "lab.js, pasted": ({"all.csv": raw_files.labjs_pasted_csv()}, "--keep sender=Choice"),
    "lab.js JSON": (
        {f"{i}.json": json.dumps(raw_files.labjs_records(i)).encode() for i in (0, 1)},
        "--keep sender=Choice",
    ),
    "BIDS": (raw_files.bids_files(), "--keep trial_type=choice"),
    "BIDS, classification": (raw_files.bids_classification_files(), "--keep trial_type=feedback"),
    "BIDS in a zip": ({"set.zip": raw_files.zipped(raw_files.bids_files())}, "--keep trial_type=choice"),
    **{form: (raw_files.tidy_files(form), "") for form in ("Excel", "Parquet", "zip", "gz")},
}


@pytest.fixture
def raw(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An example in the folder ``raw``, in which commands are given; the options with which it is imported."""
    files, options = EXAMPLES[request.param]
    for name, content in files.items():
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return options


@pytest.mark.parametrize("raw", EXAMPLES, indirect=True)
def test_the_whole_way(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "init", "study", "--from", "raw", *raw.split(), "--json")
    said = json.loads(out)
    assert (code, said["problems"], said["check"]["subjects"]) == (0, [], 2), err
    # What is left to decide is whether two words are one cue or two, and what runs are.
    assert {each.partition(" ")[0] for each in said["undecided"]} <= {"features.cue:", "run"}
    table = pd.read_csv("study/data/trials.csv", dtype="str", keep_default_na=False)
    assert table["cue"].tolist() == [cue for cue, _, _ in raw_files.EXPECTED]
    protocol = ("--protocol", "study/protocols/draft.toml")
    code, out, err = run(capsys, "check", "study/data/trials.csv", *protocol)
    assert code == 0, err
    assert "8 trials" in out
    assert "missed     1 answer (12.5%)" in out
    models = ("--models", "rescorla_wagner", "--quick", "--workers", "1", "-q")
    assert run(capsys, "fit", "study/data/trials.csv", *protocol, *models, "--out", "run")[0] == 0
    read = read_cohort("study/data/trials.csv", "study/protocols/draft.toml").trials
    cells = zip(read["choice"], read["outcome"], raw_files.EXPECTED, strict=True)
    for choice, outcome, (_, key, right) in cells:  # codes of the draft's own, which must say the same
        assert pd.isna(choice) == (key == "")
        assert not key or (choice == outcome) == (key == right)
    assert pd.read_csv("run/fits.csv")["subject"].nunique() == 2


@pytest.mark.parametrize(
    ("raw", "asked", "trials"),
    [
        ("jsPsych JSON", "rows: 8 with trial_type html-keyboard-response have neither an outcome nor two answers; ", 8),
        ("lab.js CSV", "rows: 2 with sender Welcome have neither an outcome nor two answers; they are left out", 8),
        ("BIDS", "rows: 8 with trial_type feedback have neither an outcome nor two answers; they are left out", 8),
        ("PsychoPy", "loop practice: 2 rows look like practice; if they do not count, take the # away before", 10),
    ],
    indirect=["raw"],
)
def test_without_options_the_draft_says_which_rows_are_trials(
    raw: str, asked: str, trials: int, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "init", "study", "--from", "raw", "--json")
    said = json.loads(out)
    assert (code, said["problems"]) == (0, [])
    assert said["undecided"][0].startswith(asked)
    assert said["check"]["groups"][0]["trials"] == trials


@pytest.mark.parametrize("raw", ["lab.js CSV"], indirect=True)
@pytest.mark.parametrize(("answer", "code"), [("", 0), ("n", 3)])
def test_a_terminal_is_asked(raw: str, answer: str, code: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "holmes_fit", "init", "study", "--from", "raw", "--rename", "sender=task"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
    os.write(ours, f"{answer}\n".encode())
    _, err = process.communicate(timeout=300)
    os.close(theirs)
    os.close(ours)
    assert process.returncode == code, err
    assert b"rows: 2 with task Welcome have neither an outcome nor two answers" in err
    assert b"Leave those rows out? [Y/n]: " in err
    assert ("keep.task" in Path("study/protocols/draft.toml").read_text(encoding="utf-8")) == (code == 0)
