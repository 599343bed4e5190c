"""The command line: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit.cli import check, main, simulate, trace
from holmes_fit.cli.check_text import sparkline
from holmes_fit.models.registry import Observer
from holmes_fit.trials.protocols.catalogue import protocol_names, read_protocol
from tests.commands import raising, run

ODD_NAMES = [
    "../x",
    "line\rbreak",
    "$a_b$",
    "🙂",
    "x" * 300,
    "[red]x[/red]",
    'a"b,c',
    "tab\there",
    "\x1b[31mred",
    "Ünïcödé",
    "%s{0}",
]
HEADER = "subject,trial,x1,x2,x3,x4,choice,outcome,group"
COMMANDS = [
    [],
    ["protocols"],
    ["protocols", "show"],
    *([name] for name in ("check", "compare", "fit", "import", "init", "plan", "pool", "recover", "report")),
    *([name] for name in ("simulate", "status", "trace")),
]
ROWS = [f"{name},{trial},1,0,0,1,{trial % 2},1,{group}" for name, group in (("a", "g"), ("b", "h")) for trial in (1, 2)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    return path


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# ---------------------------------------------------------------------------------------------------- all commands


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *command, "--help")
    assert code == 0
    assert "Usage: holmes-fit" in out
    assert not command or "Examples:" in out


def test_help_loads_nothing_heavy() -> None:
    script = f"""
import sys
from holmes_fit.cli import main
for command in {COMMANDS}:
    try:
        main([*command, "--help"])
    except SystemExit as ended:
        assert not ended.code
heavy = "numpy pandas scipy numba matplotlib pymc arviz optuna rich".split()  # Typer itself loads pydantic
print("loaded:", sorted(set(heavy) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[:2] == (0, "holmes-fit 0.1.0\n")


def test_the_installed_command_runs(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("holmes-fit")
    arguments = ["check", tmp_path / "none.csv", "--protocol", "shepard"]
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no such file" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_terminal_without_unicode_gets_escapes(data: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    arguments = ["-c", "from holmes_fit.cli import main; main()", "check", data, "--protocol", "weather_prediction"]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0
    assert "\\u25" in done.stdout


@pytest.mark.parametrize("command", ["chek", "check", "check x --protocoll y", "simulate --seed x"])
def test_usage_errors_end_with_2(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *command.split())
    assert code == 2
    assert "Error" in err


def test_ctrl_c_ends_with_130(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes_fit.trials.reading.check_data", raising(KeyboardInterrupt()))
    code, _, err = run(capsys, "check", data, "--protocol", "shepard")
    assert code == 130
    assert "Traceback" not in err


def test_an_unexpected_error_is_one_line(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holmes_fit.trials.reading.check_data", raising(RuntimeError("boom")))
    code, _, err = run(capsys, "check", data, "--protocol", "shepard")
    assert code == 1
    assert err == "unexpected error, RuntimeError: boom. Add --debug to the command to see where.\n"
    with pytest.raises(RuntimeError, match="boom"):
        main(["--debug", "check", str(data), "--protocol", "shepard"])


# ------------------------------------------------------------------------------------------------------- protocols


def test_protocols_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "protocols")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(protocol_names())


@pytest.mark.parametrize("name", protocol_names())
def test_a_protocol_is_shown_as_a_toml_that_reads(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "protocols", "show", name)
    assert code == 0
    assert read_protocol(out).features


def test_a_picture_is_drawn_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "design.png"
    code, out, err = run(capsys, "protocols", "show", "reversal", "--picture", picture)
    assert code == 0
    assert out.startswith("title")
    assert str(picture) in err
    assert picture.read_bytes().startswith(b"\x89PNG")
    code, out, err = run(capsys, "protocols", "show", "reversal", "--picture", picture)
    assert (code, out) == (2, "")
    assert "--force" in err


def test_an_unknown_protocol_is_an_input_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "protocols", "show", "sheppard")
    assert (code, out) == (2, "")
    assert "Did you mean 'shepard'" in err


# ----------------------------------------------------------------------------------------------------------- check


def test_check_says_what_was_read(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text("\n".join([f"{HEADER},room", *(f"{row},7" for row in ROWS)]))
    code, out, err = run(capsys, "check", data, "--protocol", "weather_prediction")
    assert code == 0
    assert err == f"Next:\n  holmes-fit fit {data} --protocol weather_prediction --quick --out runs/look\n"
    for text in (
        "rows       4",
        "subjects   2",
        "2 learners",
        "missed     0",
        "nobody",
        "kept as they are: room",
    ):
        assert text in out
    assert [line.split()[0] for line in out.splitlines() if "%" in line and "answers" not in line] == ["g", "h"]


def test_check_counts_missed_answers_and_names_exclusions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["a,1,0,1,1,0.5", "a,2,1,,0,", "b,1,0,1,1,9.0", "b,2,1,1,1,0.5", "c,1,0,,1,", "c,2,0,,1,"]
    (tmp_path / "d.csv").write_text("\n".join(["subject,trial,x,choice,outcome,rt", *rows]))
    exclusions = "[exclusions]\nrt = { max = 5.0 }\nmin_answered = 1\n"
    (tmp_path / "p.toml").write_text(f'[features]\nx = "binary"\n{exclusions}')
    code, out, _ = run(capsys, "check", tmp_path / "d.csv", "--protocol", tmp_path / "p.toml")
    assert code == 0
    assert "kept       2 subjects, 4 trials" in out
    assert "missed     2 answers (50.0%)" in out
    assert "excluded   1 person; answers of 1 person" in out
    assert "c: person left out; min_answered: saw 0, allowed: at least 1" in out
    assert "b: answers count as missed; rt: saw 1 answer outside, allowed: 0 to 5" in out


def test_check_lists_every_problem(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text(data.read_text().replace("a,1,1", "a,1,7").replace("b,2,1", "b,1,1"))
    code, out, _ = run(capsys, "check", data, "--protocol", "weather_prediction")
    assert code == 2
    assert "2 problems:" in out
    assert "row 2, column x1: saw '7'" in out
    assert "1 again for subject 'b'" in out
    code, out, _ = run(capsys, "check", data, "--protocol", "weather_prediction", "--quiet")
    assert code == 2
    assert out.startswith("2 problems:")


def test_check_speaks_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", data, "--protocol", "weather_prediction", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["rows"], found["subjects"], found["problems"]) == (4, 2, [])
    assert [group["group"] for group in found["groups"]] == ["everyone", "g", "h"]
    assert {row["group"] for row in found["learning_curve"]} == {"g", "h"}
    data.write_text(data.read_text().replace("a,1,1", "a,1,7"))
    code, out, _ = run(capsys, "check", data, "--protocol", "weather_prediction", "--json")
    assert code == 2
    assert json.loads(out)["problems"][0]["seen"] == "'7'"


def test_check_groups_by_a_covariate(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "check", data, "--protocol", "weather_prediction", "--by", "groop")
    assert code == 2
    assert "Did you mean 'group'" in err


def test_check_takes_participants(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text("\n".join([HEADER.removesuffix(",group"), *(row[:-2] for row in ROWS)]))
    (tmp_path / "people.csv").write_text("subject,group\na,young\nb,old\n")
    code, out, _ = run(
        capsys, "check", data, "--protocol", "weather_prediction", "--participants", tmp_path / "people.csv"
    )
    assert code == 0
    assert "young" in out


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_read_printed_and_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{quoted(name)},{trial},1,0,0,1,{trial % 2},1,{group}" for trial, group in ((1, quoted(name)), (2, ""))]
    others = [f"other,{trial},1,0,0,1,0,1,g" for trial in range(1, 40)]  # a tiny file of escapes would count as binary
    (tmp_path / "odd.csv").write_text("\n".join([HEADER, *rows, *others]))
    code, out, _ = run(capsys, "check", tmp_path / "odd.csv", "--protocol", "weather_prediction")
    assert code == 0
    assert name[:15] in out or repr(name)[:15] in out
    assert "\x1b" not in out
    out_file = tmp_path / "traces.csv"
    options = ["--model", "bias", "--replicates", 1, "--out", out_file]
    assert run(capsys, "trace", tmp_path / "odd.csv", "--protocol", "weather_prediction", *options)[0] == 0
    assert pd.read_csv(out_file, dtype=str)["subject"][0] == name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.csv", "traces.csv"]


def test_odd_names_are_printed_in_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{quoted(name)},1,1,0,0,1,9,1," for name in ODD_NAMES]
    (tmp_path / "odd.csv").write_text("\n".join([HEADER.replace("group", "[red]$x$"), *rows]))
    code, out, _ = run(capsys, "check", tmp_path / "odd.csv", "--protocol", "weather_prediction")
    assert code == 2
    assert out.count("saw '9'") == len(ODD_NAMES)
    assert "\x1b" not in out


def test_messages_have_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    protocol = tmp_path / "\x1b[31m.toml"
    protocol.write_text('[features]\nx = "binary"\n')
    options = ["--param", "\x1b[31m\n=1", "--out", tmp_path / "c.csv"]
    code, _, err = run(capsys, "simulate", "--protocol", protocol, *options)
    assert code == 2
    assert "no generator" in err
    assert len(err.splitlines()) == 2
    assert "\x1b" not in err


@pytest.mark.parametrize("out", ["", ".", "/", ".csv"])
def test_an_output_without_a_name_is_refused(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "simulate", "--protocol", "reversal", "--out", out)
    assert code == 2
    assert "output" in err


def test_sparkline_goes_from_none_to_all() -> None:
    assert sparkline([0.0, 0.5, 1.0, float("nan")]) == "▁▅█·"


# ----------------------------------------------------------------------------------------------- simulate and trace


SIMULATE = ["simulate", "--protocol", "conditioning", "--model", "flat", "--subjects", "3", "--particles", "10"]


def test_simulate_writes_a_cohort_and_its_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "cohort.csv"
    values = ["--alpha", "lognormal:0.8,0.5", "--beta", "3", "--lapse", "0.02", "--param", "bias=-1"]
    code, printed, err = run(capsys, *SIMULATE, *values, "--missed", 0.1, "--seed", 1, "--out", out)
    assert (code, printed) == (0, "")
    assert err.count("wrote") == 2
    truth = pd.read_csv(tmp_path / "cohort.truth.csv")
    assert truth["alpha"].nunique() == 3
    assert truth[["beta", "bias", "seed", "particles"]].drop_duplicates().to_numpy().tolist() == [[3, -1, 1, 10]]
    assert run(capsys, "check", out, "--protocol", "conditioning")[0] == 0


def test_simulate_takes_a_mix_and_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--mix", "bias=0.5,rescorla_wagner=0.5", "--groups", "a=2,b=1", "--param", "b.beta=9", "--quiet"]
    done = run(capsys, "simulate", "--protocol", "weather_prediction", *options, "--out", tmp_path / "c.csv")
    assert done == (0, "", "")
    truth = pd.read_csv(tmp_path / "c.truth.csv")
    assert truth["group"].tolist() == ["a", "a", "b"]
    assert set(truth.query("group == 'b'")["beta"].dropna()) <= {9.0}


def test_the_same_command_writes_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        run(capsys, *SIMULATE, "--alpha", "uniform:0.1,3", "--out", tmp_path / f"{name}.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.truth.csv").read_bytes() == (tmp_path / "two.truth.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "x"], "argument alpha: saw 'x'"),
        (["--mix", "flat=0.5,holmes=0.5"], "--model has no meaning with --mix"),
        (["--groups", "a=1"], "--subjects has no meaning with --groups"),
        (["--param", "bias"], "option --param: saw 'bias'; allowed: NAME=VALUE"),
        (["--alpha", "1", "--param", "alpha=2"], "one value for alpha"),
        (["--resampling", "none"], "'systematic' or 'multinomial'"),
        (["--missed", "-0.1"], "from 0 to less than 1"),
    ],
)
def test_simulate_writes_nothing_on_bad_input(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *SIMULATE, *options, "--out", tmp_path / "c.csv")
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mix", ["flat", "flat=x", "flat=0.5,flat=0.5", "=1", ","])
def test_a_mix_that_cannot_be_read_is_refused(mix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "simulate", "--protocol", "reversal", "--mix", mix, "--out", tmp_path / "c.csv")
    assert code == 2
    assert "option --mix" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none/c.csv", "no such folder"),
        ("c.txt", "ends in .csv"),
        ("c" * 300 + ".csv", "too long"),
        ("d.csv", "no file"),
    ],
)
def test_outputs_are_checked_before_anything_is_done(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").mkdir()
    monkeypatch.setattr("holmes_fit.studies.simulation.people.simulate", raising(AssertionError("too late")))
    code, _, err = run(capsys, *SIMULATE, "--force", "--out", tmp_path / name)
    assert code == 2
    assert message in err


@pytest.mark.parametrize("existing", ["c.csv", "c.truth.csv"])
def test_files_are_replaced_only_if_asked(existing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / existing).write_text("mine")
    code, _, err = run(capsys, *SIMULATE, "--out", tmp_path / "c.csv")
    assert code == 2
    assert f"{existing}: saw a file that exists" in err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    assert run(capsys, *SIMULATE, "--force", "--out", tmp_path / "c.csv")[0] == 0
    assert (tmp_path / existing).read_text() != "mine"


def test_a_failure_while_writing_leaves_things_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.csv").write_text("mine")
    monkeypatch.setattr("os.fsync", raising(OSError(28, "No space left on device")))
    code, _, err = run(capsys, *SIMULATE, "--force", "--out", tmp_path / "c.csv")
    assert (code, err) == (1, "No space left on device\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("c.csv", "mine")]


def test_trace_writes_a_row_for_each_replicate(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.csv"
    options = ["--alpha", 1, "--omega", 0.5, "--replicates", 3, "--seed", 2, "--particles", 10, "--out", out]
    assert run(capsys, "trace", data, "--protocol", "weather_prediction", *options)[0] == 0
    traces = pd.read_csv(out)
    assert list(traces.columns) == ["subject", "restart", "trial", "replicate", "p_hat"]
    assert len(traces) == 4 * 3


@pytest.mark.parametrize(
    ("options", "p_hat"),
    [
        (["--model", "rescorla_wagner", "--param", "learning_rate=0.5"], [0.5, 0.6224593312018546]),
        (["--model", "bias", "--param", "choice_probability=0.25"], [0.25, 0.25]),
    ],
)
def test_trace_knows_the_baselines(
    options: list[str], p_hat: list[float], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*options, "--replicates", "1", "--out", str(tmp_path / "t.csv")]
    assert run(capsys, "trace", data, "--protocol", "weather_prediction", *options)[0] == 0
    assert pd.read_csv(tmp_path / "t.csv")["p_hat"][:2].tolist() == pytest.approx(p_hat, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "lognormal:1,1"], "argument alpha: saw 'lognormal:1,1'; allowed: a number above 0"),
        (["--model", "bias", "--alpha", "1"], "the parameters of bias"),
        (["--replicates", "0"], "argument replicates"),
        (["--param", "beta=3"], "the parameters of holmes"),
        (["--sticky-by", "leaf"], "'branch' or 'node'"),
    ],
)
def test_trace_writes_nothing_on_bad_input(
    options: list[str], message: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "trace", data, "--protocol", "weather_prediction", *options, "--out", tmp_path / "t.csv")
    assert code == 2
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_trace_reports_bad_data(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text(data.read_text().replace("a,1,1", "a,1,7"))
    code, _, err = run(capsys, "trace", data, "--protocol", "weather_prediction", "--out", tmp_path / "t.csv")
    assert code == 2
    assert "row 2, column x1: saw '7'" in err
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("command", [simulate.simulate, trace.trace])
def test_options_have_the_defaults_of_the_observer(command) -> None:
    defaults = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    assert {name: defaults[name] for name in asdict(Observer())} == asdict(Observer())


def test_commands_stay_functions() -> None:
    assert callable(check.check)
