"""The command line: what it prints, what it writes, and how it ends."""

import inspect
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit._support.errors import Problem
from holmes_fit._support.progress import ProgressLines
from holmes_fit.cli import check, main, simulate, trace
from holmes_fit.cli.check_text import sparkline
from holmes_fit.cli.output import Output
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.trials.protocols.catalogue import protocol_names, read_protocol
from tests.commands import Shell, raising

ODD_NAMES = ["../x", "line\rbreak", "$a_b$", "🙂", "x" * 300, "[red]x[/red]", 'a"b,c', "tab\there"]
ODD_NAMES += ["\x1b[31mred", "Ünïcödé", "%s{0}"]
HEADER = "subject,trial,x1,x2,x3,x4,choice,outcome,group"
COMMANDS = [
    [],
    ["protocols"],
    ["protocols", "show"],
    *([name] for name in ("check", "compare", "fit", "import", "init", "models", "plan")),
    *([name] for name in ("pool", "recover", "report", "simulate", "status", "trace")),
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
def test_help_has_examples(command: list[str], shell: Shell) -> None:
    out, _ = shell(*command, "--help")
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


def test_version(shell: Shell) -> None:
    assert shell("--version")[0] == "holmes-fit 0.1.0\n"


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
def test_usage_errors_end_with_2(command: str, shell: Shell) -> None:
    assert "Error" in shell.refuses(*command.split())


def test_ctrl_c_ends_with_130(data: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes_fit.trials.reading.check_data", raising(KeyboardInterrupt()))
    _, err = shell("check", data, "--protocol", "shepard", code=130)
    assert "Traceback" not in err


def test_an_unexpected_error_is_one_line(data: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holmes_fit.trials.reading.check_data", raising(RuntimeError("boom")))
    _, err = shell("check", data, "--protocol", "shepard", code=1)
    assert err == "unexpected error, RuntimeError: boom. Add --debug to the command to see where.\n"
    with pytest.raises(RuntimeError, match="boom"):
        main(["--debug", "check", str(data), "--protocol", "shepard"])


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("x.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
        ValueError("Unable to allocate 7.45 GiB for an array"),
    ],
)
def test_a_want_of_memory_is_called_so(error: Exception, monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    monkeypatch.setattr("holmes_fit.trials.reading.check_data", raising(error))
    _, err = shell("check", "x.csv", "--protocol", "weather_prediction", code=1)
    assert err.startswith("There was not enough memory.")


# ---------------------------------------------------------------------------------------------------------- models
def test_models_are_listed_by_family_with_their_parameters(shell: Shell) -> None:
    out, _ = shell("models")
    lines = out.splitlines()
    families = [line for line in lines if not line.startswith(" ")]
    assert families == ["latent-cause:", "exemplar:", "clustering:", "error-driven:", "heuristic:"]
    for name, model in MODELS.items():
        place = next(number for number, line in enumerate(lines) if line.startswith(f"  {name}: "))
        parameters = lines[place + 1 : place + 1 + len(model.parameters)]
        assert [line.split(":")[0].strip() for line in parameters] == [each.name for each in model.parameters]
    assert "    competition: how much clusters inhibit each other (fixed at 1.25223)" in lines


# ------------------------------------------------------------------------------------------------------- protocols
def test_protocols_are_listed(shell: Shell) -> None:
    out, _ = shell("protocols")
    assert [line.split()[0] for line in out.splitlines()] == list(protocol_names())


@pytest.mark.parametrize("name", protocol_names())
def test_a_protocol_is_shown_as_a_toml_that_reads(name: str, shell: Shell) -> None:
    out, _ = shell("protocols", "show", name)
    assert read_protocol(out).features


def test_a_picture_is_drawn_on_request(tmp_path: Path, shell: Shell) -> None:
    picture = tmp_path / "design.png"
    out, err = shell("protocols", "show", "reversal", "--picture", picture)
    assert out.startswith("title")
    assert str(picture) in err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "--force" in shell.refuses("protocols", "show", "reversal", "--picture", picture)


def test_an_unknown_protocol_is_an_input_error(shell: Shell) -> None:
    assert "Did you mean 'shepard'" in shell.refuses("protocols", "show", "sheppard")


# ----------------------------------------------------------------------------------------------------------- check
def test_check_says_what_was_read(data: Path, shell: Shell) -> None:
    data.write_text("\n".join([f"{HEADER},room", *(f"{row},7" for row in ROWS)]))
    out, err = shell("check", data, "--protocol", "weather_prediction")
    assert err == f"Next:\n  holmes-fit fit {data} --protocol weather_prediction --quick --out runs/look\n"
    for text in ("rows       4", "subjects   2", "2 learners", "missed     0", "nobody", "kept as they are: room"):
        assert text in out
    assert [line.split()[0] for line in out.splitlines() if "%" in line and "answers" not in line] == ["g", "h"]


def test_check_counts_missed_answers_and_names_exclusions(tmp_path: Path, shell: Shell) -> None:
    rows = ["a,1,0,1,1,0.5", "a,2,1,,0,", "b,1,0,1,1,9.0", "b,2,1,1,1,0.5", "c,1,0,,1,", "c,2,0,,1,"]
    (tmp_path / "d.csv").write_text("\n".join(["subject,trial,x,choice,outcome,rt", *rows]))
    exclusions = "[exclusions]\nrt = { max = 5.0 }\nmin_answered = 1\n"
    (tmp_path / "p.toml").write_text(f'[features]\nx = "binary"\n{exclusions}')
    out, _ = shell("check", tmp_path / "d.csv", "--protocol", tmp_path / "p.toml")
    assert "kept       2 subjects, 4 trials" in out
    assert "missed     2 answers (50.0%)" in out
    assert "excluded   1 person; answers of 1 person" in out
    assert "c: person left out; min_answered: saw 0, allowed: at least 1" in out
    assert "b: answers count as missed; rt: saw 1 answer outside, allowed: 0 to 5" in out


def test_check_lists_every_problem(data: Path, shell: Shell) -> None:
    data.write_text(data.read_text().replace("a,1,1", "a,1,7").replace("b,2,1", "b,1,1"))
    out, _ = shell("check", data, "--protocol", "weather_prediction", code=2)
    assert "2 problems:" in out
    assert "row 2, column x1: saw '7'" in out
    assert "1 again for subject 'b'" in out
    out, _ = shell("check", data, "--protocol", "weather_prediction", "--quiet", code=2)
    assert out.startswith("2 problems:")


def test_check_speaks_json(data: Path, shell: Shell) -> None:
    found = json.loads(shell("check", data, "--protocol", "weather_prediction", "--json")[0])
    assert (found["rows"], found["subjects"], found["problems"]) == (4, 2, [])
    assert [group["group"] for group in found["groups"]] == ["everyone", "g", "h"]
    assert {row["group"] for row in found["learning_curve"]} == {"g", "h"}
    data.write_text(data.read_text().replace("a,1,1", "a,1,7"))
    out, _ = shell("check", data, "--protocol", "weather_prediction", "--json", code=2)
    assert json.loads(out)["problems"][0]["seen"] == "'7'"


def test_check_groups_by_a_covariate(data: Path, shell: Shell) -> None:
    assert "Did you mean 'group'" in shell.refuses("check", data, "--protocol", "weather_prediction", "--by", "groop")


def test_check_takes_participants(data: Path, tmp_path: Path, shell: Shell) -> None:
    data.write_text("\n".join([HEADER.removesuffix(",group"), *(row[:-2] for row in ROWS)]))
    (tmp_path / "people.csv").write_text("subject,group\na,young\nb,old\n")
    given = "--participants", tmp_path / "people.csv"
    assert "young" in shell("check", data, "--protocol", "weather_prediction", *given)[0]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_read_printed_and_written(name: str, tmp_path: Path, shell: Shell) -> None:
    rows = [f"{quoted(name)},{trial},1,0,0,1,{trial % 2},1,{group}" for trial, group in ((1, quoted(name)), (2, ""))]
    others = [f"other,{trial},1,0,0,1,1,1,g" for trial in range(1, 40)]  # a tiny file of escapes would count as binary
    (tmp_path / "odd.csv").write_text("\n".join([HEADER, *rows, *others]))
    out, _ = shell("check", tmp_path / "odd.csv", "--protocol", "weather_prediction")
    assert name[:15] in out or repr(name)[:15] in out
    assert "\x1b" not in out
    out_file = tmp_path / "traces.csv"
    options = ["--model", "bias", "--replicates", 1, "--out", out_file]
    shell("trace", tmp_path / "odd.csv", "--protocol", "weather_prediction", *options)
    assert pd.read_csv(out_file, dtype=str)["subject"][0] == name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.csv", "traces.csv"]


def test_odd_names_are_printed_in_problems(tmp_path: Path, shell: Shell) -> None:
    rows = [f"{quoted(name)},1,1,0,0,1,9,1," for name in ODD_NAMES]
    (tmp_path / "odd.csv").write_text("\n".join([HEADER.replace("group", "[red]$x$"), *rows]))
    out, _ = shell("check", tmp_path / "odd.csv", "--protocol", "weather_prediction", code=2)
    assert f"and {len(ODD_NAMES) - 5} more places: saw '9'" in out
    assert out.count("saw '9'") == 1
    found = json.loads(shell("check", tmp_path / "odd.csv", "--protocol", "weather_prediction", "--json", code=2)[0])
    assert [problem["seen"] for problem in found["problems"]] == ["'9'"] * len(ODD_NAMES)
    assert "\x1b" not in out


def test_messages_have_no_control_characters(tmp_path: Path, shell: Shell) -> None:
    protocol = tmp_path / "\x1b[31m.toml"
    protocol.write_text('[features]\nx = "binary"\n')
    options = ["--param", "\x1b[31m\n=1", "--out", tmp_path / "c.csv"]
    err = shell.refuses("simulate", "--protocol", protocol, *options)
    assert "no generator" in err
    assert len(err.splitlines()) == 2
    assert "\x1b" not in err


def test_names_that_a_spreadsheet_would_evaluate_are_pointed_out_and_kept(tmp_path: Path, shell: Shell) -> None:
    names = ["=cmd|' /C calc'!A0", "@SUM(1)", "-1+1", "-12", "+3.5", "-", "a=b"]
    rows = [f"{quoted(name)},{trial},1,0,0,1,{trial % 2},1,g" for name in names for trial in range(1, 9)]
    (tmp_path / "data.csv").write_text("\n".join([HEADER, *rows]))
    told = "and 2 more names begin like a formula: a spreadsheet"
    found = json.loads(shell("check", tmp_path / "data.csv", "--protocol", "weather_prediction", "--json")[0])
    assert next(note for note in found["notes"] if "formula" in note).startswith(f'"{names[0]}" {told}')
    options = ["--protocol", "weather_prediction", "--model", "bias", "--out", tmp_path / "t.csv"]
    shell("trace", tmp_path / "data.csv", *options)
    assert set(pd.read_csv(tmp_path / "t.csv", dtype=str)["subject"]) == set(names)


@pytest.mark.parametrize("name", ["\x1b[31mred", "\x9b2J", "\x7f", "\u202etxt", "\rgone", "\u2028line"])
def test_nothing_that_is_said_steers_a_terminal(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for as_json in (False, True):
        say = Output(as_json=as_json, command="fit")
        say.found(f"found\t{name}", name=name, **{name: [name]})
        say.note(name)
        say.warn([name, "second"])
        say.fail(name)
        say.wrote(Path(name))
        say.next(name)
        say.problems([Problem(name, name, name)])
        say.end(0)
        ProgressLines(name)(1, 2)
        out, err = capsys.readouterr()
        assert (out + err).replace("\n", "").replace("\t", "").isprintable()
        assert err.count("\n") == 8
        if as_json:
            assert json.loads(out)["name"] == name


@pytest.mark.parametrize("out", ["", ".", "/", ".csv"])
def test_an_output_without_a_name_is_refused(out: str, shell: Shell) -> None:
    assert "output" in shell.refuses("simulate", "--protocol", "reversal", "--out", out)


def test_sparkline_goes_from_none_to_all() -> None:
    assert sparkline([0.0, 0.5, 1.0, float("nan")]) == "▁▅█·"


# ----------------------------------------------------------------------------------------------- simulate and trace


SIMULATE = ["simulate", "--protocol", "conditioning", "--model", "flat", "--subjects", "3", "--particles", "10"]


def test_simulate_writes_a_cohort_and_its_truth(tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "cohort.csv"
    values = ["--alpha", "lognormal:0.8,0.5", "--beta", "3", "--lapse", "0.02", "--param", "bias=-1"]
    printed, err = shell(*SIMULATE, *values, "--missed", 0.1, "--seed", 1, "--out", out)
    assert printed == ""
    assert err.count("wrote") == 2
    truth = pd.read_csv(tmp_path / "cohort.truth.csv")
    assert truth["alpha"].nunique() == 3
    assert truth[["beta", "bias", "seed", "particles"]].drop_duplicates().to_numpy().tolist() == [[3, -1, 1, 10]]
    shell("check", out, "--protocol", "conditioning")


def test_simulate_takes_a_mix_and_groups(tmp_path: Path, shell: Shell) -> None:
    options = ["--mix", "bias=0.5,rescorla_wagner=0.5", "--groups", "a=2,b=1", "--param", "b.beta=9", "--quiet"]
    done = shell("simulate", "--protocol", "weather_prediction", *options, "--out", tmp_path / "c.csv")
    assert done == ("", "")
    truth = pd.read_csv(tmp_path / "c.truth.csv")
    assert truth["group"].tolist() == ["a", "a", "b"]
    assert set(truth.query("group == 'b'")["beta"].dropna()) <= {9.0}


def test_the_same_command_writes_the_same_bytes(tmp_path: Path, shell: Shell) -> None:
    for name in ("one", "two"):
        shell(*SIMULATE, "--alpha", "uniform:0.1,3", "--out", tmp_path / f"{name}.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.truth.csv").read_bytes() == (tmp_path / "two.truth.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "x"], "option --alpha: saw 'x'"),
        (["--mix", "flat=0.5,holmes=0.5"], "--model has no meaning with --mix"),
        (["--groups", "a=1"], "--subjects has no meaning with --groups"),
        (["--param", "bias"], "option --param: saw 'bias'; allowed: NAME=VALUE"),
        (["--alpha", "1", "--param", "alpha=2"], "one value for alpha"),
        (["--resampling", "none"], "'systematic' or 'multinomial'"),
        (["--missed", "-0.1"], "from 0 to less than 1"),
    ],
)
def test_simulate_writes_nothing_on_bad_input(options: list[str], message: str, tmp_path: Path, shell: Shell) -> None:
    assert message in shell.refuses(*SIMULATE, *options, "--out", tmp_path / "c.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mix", ["flat", "flat=x", "flat=0.5,flat=0.5", "=1", ","])
def test_a_mix_that_cannot_be_read_is_refused(mix: str, tmp_path: Path, shell: Shell) -> None:
    err = shell.refuses("simulate", "--protocol", "reversal", "--mix", mix, "--out", tmp_path / "c.csv")
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
    name: str, message: str, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").mkdir()
    monkeypatch.setattr("holmes_fit.studies.simulation.simulate", raising(AssertionError("too late")))
    assert message in shell.refuses(*SIMULATE, "--force", "--out", tmp_path / name)


@pytest.mark.parametrize("existing", ["c.csv", "c.truth.csv"])
def test_files_are_replaced_only_if_asked(existing: str, tmp_path: Path, shell: Shell) -> None:
    (tmp_path / existing).write_text("mine")
    assert f"{existing}: saw a file that exists" in shell.refuses(*SIMULATE, "--out", tmp_path / "c.csv")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    shell(*SIMULATE, "--force", "--out", tmp_path / "c.csv")
    assert (tmp_path / existing).read_text() != "mine"


def test_a_failure_while_writing_leaves_things_as_they_were(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.csv").write_text("mine")
    monkeypatch.setattr("os.fsync", raising(OSError(28, "No space left on device")))
    _, err = shell(*SIMULATE, "--force", "--out", tmp_path / "c.csv", code=1)
    assert err.startswith(f"{tmp_path / 'c.csv'} could not be written: No space left on device. ")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("c.csv", "mine")]


def test_trace_writes_a_row_for_each_replicate(data: Path, tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "t.csv"
    options = ["--alpha", 1, "--omega", 0.5, "--replicates", 3, "--seed", 2, "--particles", 10, "--out", out]
    shell("trace", data, "--protocol", "weather_prediction", *options)
    traces = pd.read_csv(out)
    assert list(traces.columns) == ["subject", "restart", "trial", "replicate", "p_hat"]
    assert len(traces) == 4 * 3


@pytest.mark.parametrize(
    ("options", "p_hat"),
    [
        (["--model", "rescorla_wagner", "--param", "learning_rate=0.5"], [0.5, 0.679178699175393]),
        (["--model", "bias", "--param", "choice_probability=0.25"], [0.25, 0.25]),
    ],
)
def test_trace_knows_the_baselines(
    options: list[str], p_hat: list[float], data: Path, tmp_path: Path, shell: Shell
) -> None:
    options = [*options, "--replicates", "1", "--out", str(tmp_path / "t.csv")]
    shell("trace", data, "--protocol", "weather_prediction", *options)
    assert pd.read_csv(tmp_path / "t.csv")["p_hat"][:2].tolist() == pytest.approx(p_hat, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alpha", "lognormal:1,1"], "option --alpha: saw 'lognormal:1,1'; allowed: a number above 0"),
        (["--model", "bias", "--alpha", "1"], "the parameters of bias"),
        (["--replicates", "0"], "option --replicates"),
        (["--param", "beta=3"], "the parameters of holmes"),
        (["--sticky-by", "leaf"], "'branch' or 'node'"),
    ],
)
def test_trace_writes_nothing_on_bad_input(
    options: list[str], message: str, data: Path, tmp_path: Path, shell: Shell
) -> None:
    err = shell.refuses("trace", data, "--protocol", "weather_prediction", *options, "--out", tmp_path / "t.csv")
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_trace_reports_bad_data(data: Path, tmp_path: Path, shell: Shell) -> None:
    data.write_text(data.read_text().replace("a,1,1", "a,1,7"))
    err = shell.refuses("trace", data, "--protocol", "weather_prediction", "--out", tmp_path / "t.csv")
    assert "row 2, column x1: saw '7'" in err
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("command", [simulate.simulate, trace.trace])
def test_options_have_the_defaults_of_the_observer(command) -> None:
    defaults = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    assert {name: defaults[name] for name in asdict(Observer())} == asdict(Observer())


def test_commands_stay_functions() -> None:
    assert callable(check.check)
