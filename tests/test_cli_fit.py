"""``holmes-fit fit`` and ``holmes-fit status``: what they say, what they leave, and how they end."""

import inspect
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.cli.fit import fit
from holmes_fit.fitting import cohort, forecast
from holmes_fit.fitting.lattice.explored import nodes_at_first
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit, fit_person
from holmes_fit.fitting.request import request_fit
from holmes_fit.models.registry import MODELS, LatentCauseModel, Observer
from holmes_fit.runs.folder import open_run, read_run
from holmes_fit.runs.workers.pool import LOST, Failure
from holmes_fit.settings.preset import Preset, load_preset
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.writing import write_trials
from tests.commands import Shell
from tests.small_fits import OBSERVER, OBSERVER_OPTIONS, people, small_preset, with_choices

POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")


class Study:
    """A folder with data and a small preset."""

    def __init__(self, folder: Path):
        self.data, self.out = folder / "data.csv", folder / "runs" / "one"
        self.preset = small_preset(folder)
        self.write(people(2))

    def write(self, data: Cohort) -> None:
        write_trials(data.trials, data.protocol, self.data)

    def command(self, *more: object, models: str = "flat,bias") -> list[object]:
        fixed = ["--protocol", "conditioning", "--preset", self.preset, "--out", self.out, *OBSERVER_OPTIONS]
        return ["fit", self.data, *fixed, "--workers", 1, "--models", models, *more]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


# --- a run from beginning to end
def test_a_run_says_what_it_does_and_what_came_of_it(study: Study, shell: Shell) -> None:
    out, err = shell(*study.command())
    said = err.splitlines()
    assert said[0] == "2 people, flat, bias: 4 fits."
    assert said[1].startswith("This is a first look: few replicates.")
    assert said[2] == "That takes less than a minute with 1 process."
    assert said[3] == "fitting: 0 of 4"
    report = f"  holmes-fit report {study.out} --out {study.out}.pdf"
    assert said[-3:] == ["fitting: 4 of 4", "Next:", report]  # two people are no group
    table = [line.split() for line in out.splitlines()]
    assert table[0] == ["model", "people", "alpha", "omega", "log", "evidence", "noisy", "at", "a", "bound"]
    assert table[1][:2] == ["flat", "2"]
    assert table[2][:4] == ["bias", "2", "·", "·"]
    fits, models = (pd.read_csv(study.out / name) for name in ("fits.csv", "models.csv"))
    of_flat = fits[fits["model"] == "flat"].groupby("parameter")["median"].median()
    assert table[1][2:4] == [f"{of_flat[name]:.2f}" for name in ("alpha", "omega")]
    assert table[1][4] == f"{models.loc[models['model'] == 'flat', 'log_evidence'].sum():.1f}"
    assert "This is a first look" in out
    assert f"Tables are in {study.out}" in out
    command = read_run(study.out).manifest.about["command"]
    assert command == shlex.join(["holmes-fit", *sys.argv[1:]])  # as it was typed; here, the arguments of pytest


def test_a_group_is_pooled_next_and_its_models_compared(study: Study, shell: Shell) -> None:
    study.write(people(3))
    _, err = shell(*study.command(models="bias,rescorla_wagner"))
    assert err.splitlines()[-2:] == [f"  holmes-fit pool {study.out}", f"  holmes-fit compare {study.out}"]


def test_a_cluster_that_is_not_there_is_refused_before_anything_is_written(
    study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("holmes_fit.runs.workers.cluster.CONNECT_SECONDS", 1)
    assert "option --dask: saw 'tcp://127.0.0.1:1'" in shell.refuses(*study.command("--dask", "tcp://127.0.0.1:1"))
    assert not study.out.exists()


def test_the_same_command_goes_on(study: Study, shell: Shell) -> None:
    first, _ = shell(*study.command())
    next((study.out / "records" / "flat").iterdir()).unlink()
    damaged = next((study.out / "records" / "bias").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:50])
    out, err = shell(*study.command())
    assert "2 of 4 are done; going on with the rest." in err
    assert "1 damaged record found, to be made anew." in err
    assert "fitting: 2 of 4" in err
    assert out == first
    out, err = shell(*study.command())
    assert out == first
    assert "4 of 4 are done" in err
    assert "That takes" not in err


def test_quiet_prints_problems_alone(study: Study, shell: Shell) -> None:
    assert shell(*study.command("--quiet", models="bias")) == ("", "")


def test_the_default_preset_is_no_first_look(study: Study, shell: Shell) -> None:
    arguments = ["fit", study.data, "--protocol", "conditioning", "--models", "bias", "--workers", 1]
    out, err = shell(*arguments, "--out", study.out)
    assert "first look" not in out + err
    quick = study.out.with_name("quick")
    out, err = shell(*arguments, "--out", quick, "--quick")
    assert "This is a first look" in out
    assert "This is a first look" in err
    assert "a first look" in str(read_run(quick).manifest.about["label"])
    assert read_run(quick).manifest.identity["preset"]["name"] == "quick"  # type: ignore[index]


def test_parameters_are_fixed(study: Study, shell: Shell) -> None:
    shell(*study.command("--fix", "lapse=0.02", "--fix", "beta=2"))
    table = pd.read_csv(study.out / "fits.csv")
    table = table[table["model"] == "flat"].set_index("parameter")
    assert (table.loc["lapse", "ml"] == 0.02).all()
    assert (table.loc["beta", "map"] == 2).all()


def failing_for(subject: str):
    def fit_or_fail(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == subject:
            raise HolmesFitError("it cannot be done")
        return fit_person(task, preset)

    return fit_or_fail


def test_people_who_cannot_be_fitted_are_named_at_the_end(
    study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "zero\u200bwidth"  # nobody would see it
    study.data.write_text(study.data.read_text().replace("s02,", f"{name},"), encoding="utf-8")
    monkeypatch.setattr(cohort, "fit_person", failing_for(name))
    out, err = shell(*study.command("--quiet"), code=3)
    assert out == ""
    assert err.splitlines() == [
        "2 fits could not be made; the rest are not affected:",
        r"  'zero\u200bwidth' with flat: it cannot be done",
        r"  'zero\u200bwidth' with bias: it cannot be done",
    ]


def test_sums_of_evidence_are_over_the_same_people(study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_once(task: Task, preset: Preset) -> PersonFit:
        if (task.space.model.name, task.learners[0].subject) == ("flat", "s01"):
            raise RuntimeError("boom")
        return fit_person(task, preset)

    monkeypatch.setattr(cohort, "fit_person", fails_once)
    out, err = shell(*study.command(), code=3)
    assert "The sums are over the 1 person fitted with every model." in out
    assert "s01 with flat: RuntimeError: boom" in err
    models = pd.read_csv(study.out / "models.csv").set_index(["model", "subject"])
    shown = {row.split()[0]: row.split()[4] for row in out.splitlines()[1:3]}
    assert shown == {name: f"{models.loc[(name, 's02'), 'log_evidence']:.1f}" for name in ("flat", "bias")}


# --- what ends otherwise
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--models", "flat,holms"], "option --models: saw 'holms'"),
        (["--models", ""], "option --models: saw ''"),
        (["--fix", "lapze=0.1"], "Did you mean 'lapse'?"),
        (["--fix", "lapse"], "option --fix: saw 'lapse'; allowed: NAME=NUMBER"),
        (["--fix", "lapse=little"], "option --fix, lapse: saw 'little'; allowed: a number"),
        (["--preset", "none.toml"], "preset: saw 'none.toml'"),
        (["--quick"], "--quick is a preset itself"),
        (["--workers", "0"], "option --workers: saw 0"),
        (["--particles", "0"], "option --particles: saw 0"),
        (["--protocol", "wether_prediction"], "weather_prediction"),
        (["--participants", "nobody.csv"], "nobody.csv: saw no such file"),
    ],
)
def test_bad_input_ends_with_2_and_leaves_nothing(more: list[str], message: str, study: Study, shell: Shell) -> None:
    assert message in shell.refuses(*study.command(*more))
    assert not study.out.exists()


def test_other_data_are_refused(study: Study, shell: Shell) -> None:
    shell(*study.command(models="bias"))
    study.write(with_choices(people(2), 1, "s01"))
    err = shell.refuses(*study.command(models="bias"))
    assert "saw trials = " in err
    assert "Choose another folder for the option --out, or delete this one." in err


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(
    study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == "s02":
            raise KeyboardInterrupt
        return fit_person(task, preset)

    with monkeypatch.context() as patch:
        patch.setattr(cohort, "fit_person", stopped)
        out, err = shell(*study.command(), code=130)
        assert out == ""
    assert err.splitlines()[-1] == f"Stopped. What is done is safe in {study.out}; the same command goes on from there."
    assert len(read_run(study.out).progress().done) == 2
    shell(*study.command())


@POSIX_ONLY
@pytest.mark.slow
def test_ctrl_c_reaches_a_run_with_two_workers(study: Study) -> None:
    study.write(people(30))
    arguments = [str(part) for part in study.command("--workers", 2, models="holmes")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen([HOLMES_FIT, *arguments], **pipes)  # type: ignore[call-overload]
    try:
        limit = time.monotonic() + 120
        while not list(study.out.rglob("*.npz")):
            assert time.monotonic() < limit
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("Stopped. What is done is safe in ")
    assert "Traceback" not in err
    assert read_run(study.out).progress().missing


def test_a_lost_worker_ends_with_1(study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_all(_: object, tasks: object, **__: object):
        for number, _task in enumerate(tasks):  # type: ignore[arg-type]
            yield number, Failure(LOST, "its process died 3 times")

    monkeypatch.setattr(cohort, "do_all", lose_all)
    _, err = shell(*study.command(models="bias"), code=1)
    assert "Not done, as their processes died: s01 with bias" in err
    assert "The same command tries them again" in err


# --- status
def test_status_of_a_complete_run(study: Study, shell: Shell) -> None:
    shell(*study.command(models="bias"))
    out, _ = shell("status", study.out)
    lines = {line.split(maxsplit=1)[0]: line.split(maxsplit=1)[1] for line in out.splitlines()}
    assert lines["done"] == "2 of 2"
    assert lines["missing"] == lines["damaged"] == lines["failed"] == "0"
    assert lines["at"] == "work    nobody"
    assert lines["label"].startswith("a first look")


def test_status_names_what_failed_is_damaged_and_missing(
    study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.write(people(3))
    monkeypatch.setattr(cohort, "fit_person", failing_for("s02"))
    shell(*study.command(models="bias"), code=3)
    records = {path.name[:3]: path for path in (study.out / "records" / "bias").iterdir()}
    records["s01"].write_bytes(b"x")
    records["s03"].unlink()
    out, _ = shell("status", study.out)
    lines = out.splitlines()
    assert "done       1 of 3" in lines
    assert "missing    2" in lines
    assert lines[lines.index("damaged    1") + 1] == "  s01, bias"
    assert lines[lines.index("failed     1") + 1] == "  s02, bias: it cannot be done"
    assert lines[-1] == "Give the same command again, and it goes on."


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("holmes-fit fit 'my data.csv' --out runs/pilot", True),
        ("holmes_fit.fit", False),
        ("holmes-fit fit data.csv; rm -rf data", False),
        ("holmes-fit fit $(rm -rf data)", False),
        ("holmes-fit fit data.csv\nrm -rf data", False),
        ("holmes-fit fit 'data.csv", False),
        ("holmes-fit \x1b[2J", False),
        ("", False),
    ],
)
def test_status_says_how_to_go_on_if_it_is_safe_to_paste(command: str, shown: bool, study: Study, shell: Shell) -> None:
    keys = [("bias", "s01"), ("bias", "s02")]
    with open_run(study.out, identity={}, about={"command": command}, keys=keys) as begun:
        begun.save_record(keys[0], {})
    _, err = shell("status", study.out)
    assert err == (f"Next:\n  {command}\n" if shown else "")
    with open_run(study.out, identity={}, about={}, keys=keys) as begun:
        assert shell("status", study.out)[1] == ""  # someone is at work
        begun.save_record(keys[1], {})
    assert shell("status", study.out)[1] == ""  # nothing is missing


def test_one_model_is_pooled_and_reported(study: Study, shell: Shell) -> None:
    study.write(people(3))
    _, err = shell(*study.command(models="bias"))
    assert err.splitlines()[-2:] == [
        f"  holmes-fit pool {study.out}",
        f"  holmes-fit report {study.out} --out {study.out}.pdf",
    ]


def test_status_of_a_run_at_work(study: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def asking(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == "s02":
            said.append(subprocess.check_output([HOLMES_FIT, "status", study.out], text=True))
        return fit_person(task, preset)

    monkeypatch.setattr(cohort, "fit_person", asking)
    shell(*study.command(models="bias"))
    assert "done       1 of 2" in said[0]
    assert f"at work    process {os.getpid()} on " in said[0]
    assert "Give the same command" not in said[0]


def test_status_of_no_run_ends_with_2(tmp_path: Path, shell: Shell) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert "allowed: the folder of a run" in shell.refuses("status", folder)


# --- parts
def test_defaults_are_those_of_python() -> None:
    command = {name: parameter.default for name, parameter in inspect.signature(fit).parameters.items()}
    python = {name: parameter.default for name, parameter in inspect.signature(cohort.fit).parameters.items()}
    for name, value in asdict(Observer()).items():
        assert command[name] == value
    assert command["seed"] == python["seed"]
    assert command["models"].split(",") == list(python["models"])
    assert command["workers"] is python["workers"] is None


@pytest.mark.parametrize("name", ["flat", "rescorla_wagner"])
def test_the_forecast_counts_about_the_filters_that_are_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = load_preset("quick")
    plan = request_fit(people(1), (name,), preset=preset, observer=OBSERVER)
    task = plan.task((name, "s01"))
    counted = 0
    kind = type(MODELS[name])
    original = kind.p_hat

    def counting(self: LatentCauseModel, *arguments: object) -> object:
        nonlocal counted
        counted += int(arguments[4])  # type: ignore[call-overload]
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "p_hat", counting)
    fit_person(task, preset)
    nodes = nodes_at_first(task)
    replicates = preset.likelihood.replicates if task.is_noisy else 1
    assert 0.5 < replicates * (len(nodes) + forecast._points(task, preset)) / counted < 2


def test_the_forecast_is_in_proportion_to_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = request_fit(people(3), ("flat", "bias"), preset="quick")
    monkeypatch.setattr(forecast, "_seconds", lambda *_: 2.0)
    assert forecast.seconds_of_work(plan, plan.keys) == pytest.approx(12.0)
    assert forecast.seconds_of_work(plan, [("flat", "s02")]) == pytest.approx(2.0)


def test_a_run_of_something_else_is_not_read_as_fits(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", identity={"kind": "other"}, about={}, keys=[]):
        pass
    with pytest.raises(InputError, match="saw a run of something else; allowed: a run of holmes-fit fit"):
        cohort.read_fits(tmp_path / "run")
