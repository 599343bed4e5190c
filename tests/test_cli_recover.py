"""``holmes-fit recover``: what it says, what it leaves, and how it ends."""

import inspect
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from holmes_fit.cli.recover import recover
from holmes_fit.fitting import cohort
from holmes_fit.fitting.cohort import fit
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit, fit_person
from holmes_fit.models.registry import Observer
from holmes_fit.runs.folder import read_run
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.recovery import results, study
from holmes_fit.studies.recovery.results import read_recovery
from holmes_fit.trials.writing import write_trials
from tests.commands import Shell
from tests.small_fits import OBSERVER, OBSERVER_OPTIONS, people, small_preset
from tests.small_recovery import with_short_searches, without_figures, without_pymc


class Study:
    """A folder with a small preset."""

    def __init__(self, folder: Path):
        self.folder, self.out = folder, folder / "recovery"
        self.preset = small_preset(folder)

    def command(self, *more: object, models: str = "bias", source: tuple[object, ...] = ()) -> list[object]:
        source = source or ("--protocol", "conditioning")
        fixed = ["--preset", self.preset, "--out", self.out, *OBSERVER_OPTIONS, "--workers", 1]
        return ["recover", *source, *fixed, "--models", models, "--subjects", 3, *more]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    with_short_searches(monkeypatch)
    without_figures(monkeypatch)
    without_pymc(monkeypatch)
    return Study(tmp_path)


def test_flat_and_holmes_on_a_short_task(small: Study, shell: Shell) -> None:
    out, err = shell(*small.command(models="flat,holmes"))
    said = err.splitlines()
    assert (
        said[0] == "Simulated: 3 people from flat, 3 people from holmes; each fitted with flat, holmes: 12 fits in all."
    )
    assert said[1] == "Parameters are drawn from the fitting prior."
    assert said[2].startswith("This is a first look")
    assert said[3].startswith("That takes less than a minute with 1 process")
    assert said[4] == "recovering: 0 of 17"
    assert said[-1] == "recovering: 17 of 17"
    lines = out.splitlines()
    assert lines[0].startswith("People simulated from flat, fitted with flat: 3 people (few")
    assert lines[1].strip().startswith("alpha: ")
    assert any(
        line.startswith("Truth holmes: the right model, person by person, by their own evidence ") for line in lines
    )
    assert any(
        line.startswith("To find holmes the more frequent, against flat, from the evidences of single people, with")
        for line in lines
    )
    assert "too few people to tell" in out
    assert "This is a first look" in out
    assert lines[-1] == f"Tables and figures are in {small.out}: recovery.csv, confusion.csv, figures/."
    found = read_recovery(small.out)
    assert set(found.people["parameter"]) == {"alpha", "omega", "beta", "lapse"}
    assert (found.people["batch_sd"] > 0).all()
    out, _ = shell("status", small.out)
    assert "done       5 of 5" in out  # groups
    assert out.count("done       6 of 6") == 2  # fits of each cohort


def test_data_are_copied(small: Study, shell: Shell) -> None:
    pilot = people(2)
    data = small.folder / "pilot.csv"
    write_trials(pilot.trials, pilot.protocol, data)
    _, err = shell(*small.command("--quiet", source=("--like", data, "--protocol", "conditioning")))
    assert err == ""
    assert read_recovery(small.out).truth["like"].tolist() == ["s01", "s02", "s01"]


def test_a_run_is_recovered_into_its_own_folder(small: Study, shell: Shell) -> None:
    fitted = small.folder / "run"
    fit(people(3), ("bias",), fitted, preset=small.preset, observer=OBSERVER, workers=1)
    out, err = shell("recover", "--from", fitted, "--workers", 1)
    assert "Parameters are draws from the posteriors of the run's people." in err
    assert "Truths are not drawn from the fitting prior" in out
    found = read_recovery(fitted / "recovery")
    assert found.run.manifest.identity["observer"]["particles"] == 20  # type: ignore[index]
    assert read_run(fitted).progress().total == 3  # the run is as it was


def test_values_are_used_and_calibration_is_not_judged(small: Study, shell: Shell) -> None:
    out, err = shell(*small.command("--param", "choice_probability=0.7", "--json"))
    assert "but for choice_probability 0.7. So calibration cannot be judged." in err
    said = json.loads(out)
    assert "the truth is the same for everyone" in said["words"]
    assert (said["command"], said["folder"], said["warnings"]) == ("recover", str(small.out), [])
    assert {each["parameter"] for each in said["parameters"]} == {"choice_probability"}
    assert {str(small.out / name) for name in ("recovery.csv", "confusion.csv")} < set(said["written"])
    assert set(read_recovery(small.out).truth["value"]) == {0.7}


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(
    small: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == "bias_002":
            raise KeyboardInterrupt
        return fit_person(task, preset)

    with monkeypatch.context() as patch:
        patch.setattr(cohort, "fit_person", stopped)
        out, err = shell(*small.command(), code=130)
        assert out == ""
    assert err.splitlines()[-1] == f"Stopped. What is done is safe in {small.out}; the same command goes on from there."
    _, err = shell(*small.command())
    assert "1 of 3 are done; going on with the rest." in err


def test_a_lost_worker_ends_with_1(small: Study, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from holmes_fit.runs.workers.pool import LOST, Failure

    lost = {("bias", "bias_001"): Failure(LOST, "its process died 3 times")}
    monkeypatch.setattr(results, "carry_out", lambda *_, **__: lost)
    out, err = shell(*small.command(), code=1)
    assert out == ""
    assert "Not done, as their processes died: bias_001 with bias" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "say whose trials: --protocol P, --like DATA --protocol P, or --from RUN"),
        (["--like", "x.csv", "--out", "x"], "say whose trials"),
        (["--protocol", "conditioning"], "--out DIR is needed without --from"),
        (["--protocol", "conditioning", "--out", "x", "--participants", "p.csv"], "have no meaning without it"),
        (["--from", "x", "--protocol", "conditioning"], "has no meaning with --protocol or --like"),
        (["--from", "nowhere"], "folder nowhere: saw no such folder"),
        (
            ["--from", "nowhere", "--out", "x", "--alpha", "1"],
            "--from RUN has its own parameters; alpha cannot be given",
        ),
        (["--from", "nowhere", "--out", "x", "--particles", "9"], "--from RUN has its own observers"),
        (["--protocol", "conditioning", "--out", "x", "--quick", "--preset", "default"], "--quick is a preset itself"),
        (["--protocol", "conditioning", "--out", "x", "--models", "holms"], "option --models: saw 'holms'"),
        (["--protocol", "conditioning", "--out", "x", "--subjects", "0"], "option --subjects: saw 0"),
        (["--protocol", "conditioning", "--out", "x", "--alpha", "-1"], "option --alpha: saw '-1'"),
        (["--protocol", "conditioning", "--out", "x", "--param", "alfa=1"], "Did you mean 'alpha'?"),
        (["--protocol", "conditioning", "--out", "x", "--workers", "0"], "option --workers: saw 0"),
        (["--protocol", "conditioning", "--out", "x", "--like", "none.csv"], "none.csv: saw no such file"),
    ],
)
def test_bad_input_ends_with_2_and_leaves_nothing(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    err = shell.refuses("recover", *arguments)
    assert message in " ".join(err.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_defaults_are_those_of_python() -> None:
    command = {name: parameter.default for name, parameter in inspect.signature(recover).parameters.items()}
    python = {name: parameter.default for name, parameter in inspect.signature(study.recover).parameters.items()}
    for name, value in asdict(Observer()).items():
        assert command[name] == value
    for name in ("seed", "workers", "dask", "models", "subjects", "preset", "out", "protocol"):
        assert command[name] == python[name]
