"""Habits that all commands share: help, JSON, exit codes, silence and completion."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from holmes_fit.cli import app, main
from holmes_fit.cli.app import ORDER
from holmes_fit.fitting import cohort
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit
from holmes_fit.settings.preset import Preset
from holmes_fit.trials import reading
from holmes_fit.trials.writing import write_trials
from tests.commands import Shell, raising, run
from tests.sample_run import Sample, make_run
from tests.small_fits import people, small_preset

ROOT = Path(__file__).parent.parent
HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")
COMMANDS = [name for name in typer.main.get_command(app).commands if name != "protocols"]  # type: ignore[attr-defined]
COMMON = {"command", "exit_code", "error", "problems", "warnings", "written", "next"}
PROGRAM = [sys.executable, "-m", "holmes_fit"]
CAPTURED: dict[str, Any] = {"capture_output": True, "text": True}
CHECK = ["check", "data.csv", "--protocol", "conditioning"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, in which commands are given."""
    folder = tmp_path / "with blanks"
    folder.mkdir()
    data = people(2)
    write_trials(data.trials, data.protocol, folder / "data.csv")
    small_preset(folder).rename(folder / "small.toml")
    monkeypatch.chdir(folder)
    return folder


def asked(shell: Shell, *arguments: str) -> dict[str, object]:
    """Return the JSON object that a command prints, and nothing but that."""
    code, out, err = run(shell.capsys, *arguments, "--json")
    said: dict[str, object] = json.loads(out, parse_constant=pytest.fail)  # NaN is no JSON
    assert set(said) >= COMMON
    assert said["exit_code"] == code
    assert "Traceback" not in err
    return said


def fit_command(models: str = "bias") -> list[str]:
    return ["fit", *CHECK[1:], "--models", models, "--preset", "small.toml", "--workers", "1", "--out", "run"]


# --- help
@pytest.mark.parametrize("command", [*([name] for name in COMMANDS), ["protocols"], ["protocols", "show"]])
def test_every_command_has_examples_json_and_quiet(command: list[str], shell: Shell) -> None:
    out, err = shell(*command, "--help")
    assert err == ""
    for text in ("Examples:\n    holmes-fit ", "--json", "-q, --quiet", "--debug"):
        assert text in out


def test_help_names_every_command_in_a_whole_line(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = shell("--help")
    listed = re.findall(r"^  (\w+)  +(\S.*)$", out.partition("Commands:\n")[2].partition("\n\n")[0], flags=re.MULTILINE)
    assert [name for name, _ in listed] == list(ORDER)
    assert [line for _, line in listed if not re.fullmatch(r".*[^.]\.", line)] == []
    assert "Examples:\n    holmes-fit init my_study\n" in out
    assert "130 stopped" in out


def test_common_options_may_stand_before_the_command(study: Path, shell: Shell) -> None:
    assert shell("-q", *CHECK) == ("", "")
    assert json.loads(shell("--json", *CHECK)[0])["subjects"] == 2


def test_help_takes_less_than_half_a_second() -> None:
    """Of a processor, the best of a few: other work on the machine does not count."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([HOLMES_FIT, "recover", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if times[-1] < 0.5:
            break
    assert min(times) < 0.5


def test_shells_complete_commands_protocols_presets_and_models(monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    def asking(words: str) -> dict[str, str]:
        return {"_HOLMES_FIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}

    def completed(words: str) -> list[str]:
        for name, value in asking(words).items():
            monkeypatch.setenv(name, value)
        return shell()[0].split()

    begun = asking("holmes-fit re")
    said = subprocess.check_output([HOLMES_FIT], env=os.environ | begun, text=True)
    assert said.split() == completed("holmes-fit re") == ["report", "recover"]
    assert completed("holmes-fit mo") == ["models"]
    assert completed("holmes-fit compare run --le") == ["--leave-out"]
    assert completed("holmes-fit check data.csv --protocol we") == ["weather_prediction"]
    assert completed("holmes-fit fit data.csv --preset q") == ["quick"]
    assert completed("holmes-fit trace data.csv --model r") == ["rational", "rescorla_wagner"]
    assert completed("holmes-fit simulate --model b") == ["bias"]
    assert completed("holmes-fit fit data.csv --models f") == ["flat", "flat_sticky"]
    for command in ("fit data.csv", "pool run", "compare run", "recover", "plan"):
        assert completed(f"holmes-fit {command} --models bias,flat,f") == ["bias,flat,flat_sticky"]


# --- JSON
def test_what_is_found_is_for_programs_too(study: Path, shell: Shell) -> None:
    listed = asked(shell, "protocols")
    assert {"name": "reversal", "title": "Reversal learning"} in listed["protocols"]  # type: ignore[operator]
    shown = asked(shell, "protocols", "show", "reversal")
    assert shown["toml"] == (ROOT / "protocols" / "reversal.toml").read_text()
    assert (listed["command"], shown["command"]) == ("protocols", "protocols show")

    checked = asked(shell, *CHECK)
    assert checked["subjects"] == 2
    assert checked["next"] == ["holmes-fit fit data.csv --protocol conditioning --quick --out runs/look"]

    fitted = asked(shell, *fit_command())
    assert [(row["model"], row["people"], row["alpha"]) for row in fitted["models"]] == [("bias", 2, None)]  # type: ignore[attr-defined]
    assert fitted["written"][0] == "run/fits.csv"  # type: ignore[index]
    assert all(Path(path).is_file() for path in fitted["written"])  # type: ignore[attr-defined]
    (state,) = asked(shell, "status", "run")["runs"]  # type: ignore[misc]
    assert (state["done"], state["total"], state["missing"], state["at_work"]) == (2, 2, [], None)

    traced = asked(shell, "trace", *CHECK[1:], "--model", "bias", "--replicates", "1", "--out", "t.csv")
    assert (traced["people"], traced["written"]) == (2, ["t.csv"])
    mix = ["--mix", "bias=0.5,rescorla_wagner=0.5", "--subjects", "4"]
    simulated = asked(shell, "simulate", *CHECK[2:], *mix, "--out", "s.csv")
    assert simulated["written"] == ["s.csv", "s.truth.csv"]
    assert sum(simulated["models"].values()) == 4  # type: ignore[attr-defined]
    made = asked(shell, "init", "new")
    assert "new/README.md" in made["written"]  # type: ignore[operator]


def test_a_report_says_what_was_found_and_where_it_is(tmp_path: Path, shell: Shell) -> None:
    make_run(tmp_path / "run", Sample(4, 6, models=("flat", "holmes"), label="a first look: few.", records=False))
    out = tmp_path / "r.pdf"
    command = ["report", str(tmp_path / "run"), "--pages", "summary", "--out", str(out)]
    text, err = shell(*command)
    lines = text.splitlines()
    assert err == f"wrote {out}\n"
    assert "describes an estimated " in lines[0]
    assert lines[1].startswith("In a simulated study of this design, with ")
    assert lines[2:] == [f"The report, a first look, can be read in {out}."]
    said = asked(shell, *command, "--force")
    assert (said["words"], said["written"]) == (lines[:2], [str(out)])


def test_quiet_commands_print_what_was_asked_for_alone(study: Path, shell: Shell) -> None:
    assert shell(*CHECK, "-q") == ("", "")
    assert shell(*fit_command(), "-q") == ("", "")
    assert shell("status", "run", "-q") == ("", "")
    assert shell("protocols", "show", "reversal", "-q")[0] == (ROOT / "protocols" / "reversal.toml").read_text()
    out, err = shell(*CHECK, "-q", "--json")
    assert (json.loads(out)["subjects"], err) == (2, "")


# --- exit codes
def test_bad_input_ends_with_2(study: Path, shell: Shell) -> None:
    said = asked(shell, "fit", "none.csv", "--protocol", "conditionin", "--out", "run")
    assert said["exit_code"] == 2
    (problem,) = said["problems"]  # type: ignore[misc]
    assert problem["seen"] == "'conditionin'"
    assert problem["advice"] == "Did you mean 'conditioning'?"
    assert "conditionin" in str(said["error"])
    said = asked(shell, "check", "dada.csv", *CHECK[2:])  # which goes on to say what was read
    assert said["error"] == "dada.csv: saw no such file; allowed: a file or a folder. Did you mean 'data.csv'?"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["check"], "Missing argument 'DATA'"),
        (["chek"], "No such command 'chek'"),
        (["simulate", "--seed", "x"], "Invalid value for '--seed'"),
        (["recover"], "say whose trials"),
    ],
)
def test_bad_options_end_with_2(arguments: list[str], error: str, shell: Shell) -> None:
    said = asked(shell, *arguments)
    assert said["exit_code"] == 2
    assert error in str(said["error"])


def test_results_with_warnings_end_with_3(study: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    fit_person = cohort.fit_person

    def fails_for_one(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == "s02":
            raise RuntimeError("boom")
        return fit_person(task, preset)

    monkeypatch.setattr(cohort, "fit_person", fails_for_one)
    said = asked(shell, *fit_command())
    assert (said["exit_code"], said["error"]) == (3, None)
    (warning,) = said["warnings"]  # type: ignore[misc]
    assert warning.splitlines()[-1] == "  s02 with bias: RuntimeError: boom"
    assert [row["subject"] for row in said["failures"]] == ["s02"]  # type: ignore[attr-defined]


def test_ctrl_c_ends_with_130(study: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cohort, "fit_person", raising(KeyboardInterrupt()))
        said = asked(shell, *fit_command())
    assert (said["exit_code"], said["error"]) == (
        130,
        "Stopped. What is done is safe in run; the same command goes on from there.",
    )
    monkeypatch.setattr(reading, "check_data", raising(KeyboardInterrupt()))
    assert shell(*CHECK, code=130) == ("", "Stopped.\n")
    in_compiled_code = SystemError("returned a result with an exception set")
    in_compiled_code.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(reading, "check_data", raising(in_compiled_code))
    assert shell(*CHECK, code=130) == ("", "Stopped.\n")


@pytest.mark.parametrize("afterwards", ["time.sleep(600)", "1 / 0"])
def test_ctrl_c_is_heard_where_python_cannot_raise_it(afterwards: str) -> None:
    """As in callbacks of the compiler, where it would be printed and ignored, or lead to some error."""
    script = f"""
import ctypes, signal, time
from holmes_fit.trials import reading
from holmes_fit.__main__ import main
interrupted = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
reading.check_data = lambda *_: [interrupted(), {afterwards}]
main()
"""
    done = subprocess.run([sys.executable, "-c", script, *CHECK], timeout=60, **CAPTURED)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_ctrl_c_while_the_program_loads_leaves_no_traceback() -> None:
    script = """
import sys
class Stopping:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stopping())
from holmes_fit.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], **CAPTURED)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_errors_that_python_ignores_are_for_debugging() -> None:
    script = """
from holmes_fit.trials import reading
from holmes_fit.__main__ import main
class Broken:
    def __del__(self):
        raise AttributeError("half built")
check_data = reading.check_data
reading.check_data = lambda *given: [Broken(), check_data(*given)][1]
main()
"""
    quiet, loud = (
        subprocess.run([sys.executable, "-c", script, "check", "none.csv", "--protocol", "reversal", *more], **CAPTURED)
        for more in ([], ["--debug"])
    )
    assert (quiet.returncode, loud.returncode) == (2, 2)
    assert "half built" not in quiet.stderr
    assert "half built" in loud.stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_reader_who_has_had_enough_leaves_no_traceback(more: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run([*PROGRAM, "protocols", *more], stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_device_is_named_and_leaves_no_traceback(more: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "protocols", *more], stdout=full, stderr=subprocess.PIPE, text=True)
    said = "Standard output could not be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (1, said)


LOSING = """
import os, sys
from holmes_fit.__main__ import main
kind = sys.argv.pop(1)
nowhere = {"full": lambda: os.open("/dev/full", os.O_WRONLY), "nobody": lambda: writing}
reading, writing = os.pipe()
os.close(reading)
for stream in (1, 2):
    os.close(stream) if kind == "closed" else os.dup2(nowhere[kind](), stream)
main()
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(("kind", "code"), [("full", 1), ("nobody", 1), ("closed", 0)])
def test_work_goes_on_when_nobody_can_see_it(kind: str, code: int, study: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOSING, kind, *fit_command()])
    assert done.returncode == code
    assert len((study / "run" / "models.csv").read_text().splitlines()) == 3
    assert (study / "run" / ".lock").read_text().startswith("process ")


def test_the_package_is_a_program() -> None:
    listed = [subprocess.check_output([*program, "protocols"]) for program in ([HOLMES_FIT], PROGRAM)]
    assert listed[0] == listed[1]


def test_what_nobody_expects_is_one_line(study: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "check_data", raising(RuntimeError("boom")))
    said = asked(shell, *CHECK)
    assert (said["exit_code"], said["command"]) == (1, "check")
    assert said["error"] == "unexpected error, RuntimeError: boom. Add --debug to the command to see where."
    for arguments in ([*CHECK, "--debug"], ["--debug", *CHECK]):
        with pytest.raises(RuntimeError, match="boom"):
            main(arguments)


def test_what_a_library_prints_is_no_json(study: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    check_data = reading.check_data
    monkeypatch.setattr(reading, "check_data", lambda *given: print("hello") or check_data(*given))
    assert asked(shell, *CHECK)["subjects"] == 2


# --- colours and libraries
@pytest.mark.parametrize(("wanted", "heard"), [("", False), ("default", True)])
def test_libraries_are_silent_unless_asked_for(wanted: str, heard: bool) -> None:
    script = """
import logging, subprocess, sys, warnings
from holmes_fit.cli import main
try:
    main()
except SystemExit:
    pass
warnings.warn("from a library")
logging.getLogger("pytensor.configdefaults").warning("from a library")
subprocess.run([sys.executable, "-c", "import warnings; warnings.warn('from its worker')"])
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    if wanted:
        environment["PYTHONWARNINGS"] = wanted
    arguments = [sys.executable, "-c", script, "protocols"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("compositional_2")
    assert (done.stderr.count("from a library") == 2) is heard
    assert ("from its worker" in done.stderr) is heard
    assert heard or not done.stderr
