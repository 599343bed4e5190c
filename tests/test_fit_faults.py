"""Fits under bad input and faults: what cannot be done is said, the rest goes on, and nothing that was done is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.fitting import cohort
from holmes_fit.fitting.cohort import Fits, fit
from holmes_fit.fitting.lattice.task import Task
from holmes_fit.fitting.person import PersonFit, fit_person
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.workers.pool import LOST, Failure
from holmes_fit.settings.preset import Preset
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.writing import write_trials
from tests.small_fits import OBSERVER, OBSERVER_OPTIONS, people, small_preset, with_choices

POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
HOLMES_FIT = Path(sys.executable).with_name("holmes-fit")


@pytest.fixture(scope="module")
def preset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_preset(tmp_path_factory.mktemp("preset"))


def fitted(data: Cohort, models: tuple[str, ...], preset: Path, out: Path | None = None, **options: Any) -> Fits:
    return fit(data, models, out, preset=preset, observer=OBSERVER, workers=1, **options)


# --- what is asked for cannot be used
def test_everything_wrong_is_named_at_once() -> None:
    with pytest.raises(InputError, match="argument models") as caught:
        fit(people(1), ("holms", "flat", "flat", 3), preset="quik", seed=-1)  # type: ignore[arg-type]
    message = str(caught.value)
    assert len(caught.value.problems) == 5
    assert "argument models: saw 'holms'; allowed: flat, " in message
    assert "Did you mean 'holmes'?" in message
    assert "argument models: saw 'flat'; allowed: every model once" in message
    assert "argument models: saw 3" in message
    assert "argument seed: saw -1" in message
    assert "preset: saw 'quik'" in message


def test_no_models_are_refused() -> None:
    with pytest.raises(InputError, match="argument models: saw nothing; allowed: one or more of flat"):
        fit(people(1), ())


@pytest.mark.parametrize(
    ("fix", "message"),
    [
        ({"lapze": 0.02}, r"fix lapze: saw 0\.02; allowed: a parameter of the models flat: .*Did you mean 'lapse'\?"),
        ({"lapse": 2.0}, r"fix lapse: saw 2\.0; allowed: a number between 0 and 1"),
        ({"learning_rate": 0.1}, "fix learning_rate: .* a parameter of the models flat"),
    ],
)
def test_a_parameter_that_cannot_be_fixed_is_named(fix: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(people(1), ("flat",), fix=fix)


def test_bounds_that_cross_are_named(tmp_path: Path) -> None:
    path = tmp_path / "crossing.toml"
    path.write_text('base = "default"\n[parameters.alpha]\nlow = 3\nhigh = 2\n')
    with pytest.raises(InputError, match=r"crossing.toml, key parameters.alpha.high: .*low below high"):
        fit(people(1), ("flat",), preset=path)


def test_workers_must_be_a_count() -> None:
    with pytest.raises(InputError, match="argument workers: saw 0"):
        fit(people(1), ("bias",), workers=0)


# --- people who cannot be fitted, and people of whom little is known
def test_a_person_without_answers_is_recorded_and_the_rest_go_on(preset: Path, tmp_path: Path) -> None:
    some = with_choices(people(3), None, "s02")
    found = fitted(some, ("flat", "bias"), preset, tmp_path / "run")
    assert found.failures.values.tolist() == [
        ["s02", "flat", "all answers are missed"],
        ["s02", "bias", "all answers are missed"],
    ]
    assert found.models["subject"].tolist() == ["s01", "s01", "s03", "s03"]
    assert set(found.trials["subject"]) == {"s01", "s03"}


def test_everybody_without_answers_leaves_empty_tables(preset: Path) -> None:
    found = fitted(with_choices(people(2), None), ("flat",), preset)
    assert len(found.failures) == 2
    for table in (found.parameters, found.models, found.trials, found.trees, found.search):
        assert table.empty
        assert "subject" in table


@pytest.mark.parametrize("answer", [0, 1])
def test_answers_that_are_all_equal_are_fitted_with_a_warning(answer: int, preset: Path) -> None:
    found = fitted(with_choices(people(1, missed=0), answer), ("flat", "rescorla_wagner", "bias"), preset)
    assert found.failures.empty
    assert found.models["warning"].str.contains(f"all answers are {answer}").all()
    probability = found.parameters.set_index("parameter").loc["choice_probability"]
    assert probability["at_bound"] == ("high" if answer else "low")


def test_three_trials_are_fitted_with_a_warning(preset: Path) -> None:
    whole = people(1, missed=0)
    short = build_cohort(whole.trials[whole.trials["trial"] <= 3], whole.protocol)
    found = fitted(short, ("flat", "holmes", "rescorla_wagner", "bias"), preset)
    assert found.models["n_trials"].tolist() == [3] * 4
    assert found.models["warning"].str.contains("few answers (3)", regex=False).all()
    free = found.parameters[(found.parameters["standing"] == "free") & (found.parameters["model"] == "flat")]
    assert (free["sd_on_scale"] > 0.5 * free["prior_sd_on_scale"]).all()  # hardly more than the prior


def broken_for(subject: str, error: BaseException):
    def fit_or_break(task: Task, preset: Preset) -> PersonFit:
        if task.learners[0].subject == subject:
            raise error
        return fit_person(task, preset)

    return fit_or_break


def test_an_exception_is_one_persons_own(preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cohort, "fit_person", broken_for("s01", ZeroDivisionError("by zero")))
    found = fitted(people(2), ("bias",), preset, tmp_path / "run")
    assert found.failures["reason"].tolist() == ["ZeroDivisionError: by zero"]
    assert found.models["subject"].tolist() == ["s02"]
    record = found.run.load_record(("bias", "s01"))
    assert record is not None
    assert "fit_or_break" in str(record.facts["traceback"])


def test_who_is_short_of_memory_is_tried_again(preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cohort, "fit_person", broken_for("s01", MemoryError("no more")))
        with pytest.raises(HolmesFitError, match=r"Not done.*s01 with bias \(no more\)\. The same command tries them"):
            fitted(people(2), ("bias",), preset, tmp_path / "run")
    assert read_run(tmp_path / "run").progress().missing == (("bias", "s01"),)
    assert Fits(read_run(tmp_path / "run")).models["subject"].tolist() == ["s02"]
    assert fitted(people(2), ("bias",), preset, tmp_path / "run").models["subject"].tolist() == ["s01", "s02"]


def test_a_lost_worker_records_nothing(preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_the_first(function: Any, tasks: Any, **_: object) -> Iterator[tuple[int, object]]:
        for number, task in enumerate(tasks):
            yield number, function(task) if number else Failure(LOST, "its process died 3 times")

    monkeypatch.setattr(cohort, "do_all", lose_the_first)
    with pytest.raises(HolmesFitError, match="Not done, as their processes died: s01 with bias"):
        fitted(people(2), ("bias",), preset, tmp_path / "run")
    progress = read_run(tmp_path / "run").progress()
    assert (progress.missing, progress.failed) == ((("bias", "s01"),), ())


ODD_NAMES = ["../x", "🙂", "a/b\\c", "NA", "001", "con", 'a"b,c', "line\rbreak", "x" * 300]


def test_odd_names_stay_in_the_folder_and_come_back(preset: Path, tmp_path: Path) -> None:
    whole = people(len(ODD_NAMES))
    names = dict(zip(whole.subjects["subject"], ODD_NAMES, strict=True))
    odd = build_cohort(whole.trials.assign(subject=whole.trials["subject"].map(names)), whole.protocol)
    found = fitted(odd, ("bias",), preset, tmp_path / "runs" / "odd")
    assert sorted(found.models["subject"]) == sorted(ODD_NAMES)
    assert sorted(found.trials["subject"].unique()) == sorted(ODD_NAMES)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["odd"]
    assert len(list((tmp_path / "runs" / "odd" / "records" / "bias").iterdir())) == len(ODD_NAMES)


# --- the run folder under faults
def test_other_data_are_refused_and_named(preset: Path, tmp_path: Path) -> None:
    fitted(people(2), ("bias",), preset, tmp_path / "run")
    with pytest.raises(InputError, match=r"saw trials = [0-9a-f…]+; allowed: trials = [0-9a-f…]+, as asked for now"):
        fitted(with_choices(people(2), 1, "s01"), ("bias",), preset, tmp_path / "run")
    with pytest.raises(InputError, match="seed = 0") as caught:
        fit(people(2), ("flat", "bias"), tmp_path / "run", preset=preset, seed=1, fix={"lapse": 0.1}, workers=1)
    named = "\n".join(str(problem) for problem in caught.value.problems)
    for difference in ("models", "seed", "observer.particles", "preset.parameters.lapse.fixed"):
        assert difference in named


def test_other_covariates_are_no_other_fit(preset: Path, tmp_path: Path) -> None:
    some = people(2)
    fitted(some, ("bias",), preset, tmp_path / "run")
    older = build_cohort(some.trials, some.protocol, some.subjects.assign(age=[30, 40]))
    fitted(older, ("bias",), preset, tmp_path / "run")
    assert (tmp_path / "run" / "subjects.csv").read_text() == "subject,age\ns01,30\ns02,40\n"


def test_a_truncated_record_is_found_and_made_again(preset: Path, tmp_path: Path) -> None:
    some = people(3)
    before = fitted(some, ("flat",), preset, tmp_path / "run")
    expected = (before.folder / "fits.csv").read_bytes()
    records = sorted((before.folder / "records" / "flat").iterdir())
    records[0].write_bytes(records[0].read_bytes()[:-100])
    altered = bytearray(records[1].read_bytes())
    altered[len(altered) // 2] ^= 1
    records[1].write_bytes(altered)
    (before.folder / "fits.csv").unlink()
    assert len(read_run(before.folder).progress().damaged) == 2
    done: list[int] = []
    again = fitted(some, ("flat",), preset, tmp_path / "run", progress=lambda now, _: done.append(now))
    assert done == [1, 2, 3]
    assert (again.folder / "fits.csv").read_bytes() == expected


def test_a_full_disk_stops_the_run_which_then_goes_on(
    preset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fitted(people(3), ("bias",), preset, tmp_path / "undisturbed")

    def full_after_two(number: int, _: int) -> None:
        if number == 2:
            monkeypatch.setattr(os, "fsync", no_space)

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(HolmesFitError, match=r"No space left on device\. What was written before is safe\. Make space"):
        fitted(people(3), ("bias",), preset, tmp_path / "run", progress=full_after_two)
    monkeypatch.undo()
    assert len(read_run(tmp_path / "run").progress().done) == 2
    found = fitted(people(3), ("bias",), preset, tmp_path / "run")
    assert (found.folder / "fits.csv").read_bytes() == (expected.folder / "fits.csv").read_bytes()


def test_a_second_process_is_refused(preset: Path, tmp_path: Path) -> None:
    some = people(2)

    def meanwhile(done: int, _: int) -> None:
        if done == 1:
            with pytest.raises(InputError, match=rf"saw process {os.getpid()} on .*, at work in it; allowed: one proc"):
                fitted(some, ("bias",), preset, tmp_path / "run")

    assert len(fitted(some, ("bias",), preset, tmp_path / "run", progress=meanwhile).models) == 2


# --- killed at random moments
@POSIX_ONLY
@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(preset: Path, tmp_path: Path) -> None:
    some = people(3)
    data = tmp_path / "data.csv"
    write_trials(some.trials, some.protocol, data)
    models = ("flat", "rescorla_wagner")
    whole = fitted(some, models, preset, tmp_path / "undisturbed")
    options = ["--protocol", "conditioning", "--models", ",".join(models), "--preset", preset, *OBSERVER_OPTIONS]
    command = [HOLMES_FIT, "fit", data, *options, "--workers", "2", "--out", tmp_path / "run"]
    records = tmp_path / "run" / "records"
    seed = time.time_ns()
    print("moments from seed", seed)
    moments = random.Random(seed)
    killed = 0
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = len(list(records.rglob("*.npz"))) + moments.randint(0, 3)
        limit = time.monotonic() + 60
        while process.poll() is None and len(list(records.rglob("*.npz"))) < wanted and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.3))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
    last = subprocess.run(command, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert killed >= 1
    for name in ("fits.csv", "models.csv", "trials_fitted.csv", "trees.csv", "search.csv", "trials.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (whole.folder / name).read_bytes(), name
    assert not list((tmp_path / "run").rglob("*.tmp"))
