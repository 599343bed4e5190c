"""Files of a run that belong together: they appear at once, and a set that is mixed or stale is refused by name."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from holmes_fit._support.atomic import DAY, _sweep_once, temporary_folder, temporary_name, written_whole
from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.pooling import results
from holmes_fit.runs import sets
from holmes_fit.runs.folder import Run, open_run, read_run
from holmes_fit.runs.lock import locked
from holmes_fit.runs.sets import READY, check_sets
from tests.commands import Shell, raising
from tests.sample_run import Sample, make_run
from tests.small_fits import OBSERVER, people, small_preset

DEAD = 2**22 + 1  # Linux has no process of so high a number


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with open_run(tmp_path / "run", identity={}, about={}, keys=[("a",)]) as run:
        run.write_table("input.csv", pd.DataFrame({"x": [1]}))
        with run.together("pool", ["input.csv", "records"]) as staged:
            write_both(staged, "old")
            staged.write_table("third.csv", pd.DataFrame({"x": [3]}))
        yield run


def write_both(run: Run, text: str) -> None:
    for name in ("one.csv", "two.csv"):
        run.write_table(name, pd.DataFrame({"x": [text]}))


def write_half(run: Run) -> None:
    run.write_table("one.csv", pd.DataFrame({"x": ["half"]}))
    raise KeyError("unknown")


def write_new(run: Run) -> None:
    write_both(run, "new")
    run.remove("third.csv")


def found(run: Run) -> list[str]:
    return [run.read_table(name)["x"][0] for name in ("one.csv", "two.csv")]


def names(run: Run) -> set[str]:
    return {path.name for path in run.root.iterdir()}


def test_what_a_set_keeps_stays_in_its_stamp(run: Run) -> None:
    with run.together("pool", ["input.csv", "records"]) as staged:
        write_both(staged, "new")
    check_sets(run.root)
    (run.root / "third.csv").write_text("x\n4\n")
    with pytest.raises(InputError, match=r"another third\.csv"):
        check_sets(run.root)


def test_a_set_appears_at_once_or_not_at_all(run: Run) -> None:
    before = names(run)
    with pytest.raises(KeyError, match="unknown"), run.together("pool") as staged:
        write_half(staged)
    assert (found(run), names(run)) == (["old", "old"], before)
    with run.together("pool") as staged:
        write_both(staged, "new")
        staged.remove("third.csv")
        assert found(run) == ["old", "old"]
        assert found(staged) == ["new", "new"]
        assert names(run) >= before
    assert (found(run), names(run)) == (["new", "new"], before - {"third.csv"})
    check_sets(run.root)


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_set_that_was_ready_when_its_process_was_killed_is_finished_by_who_comes_next(
    moved: int, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, done = os.replace, []

    def killed(one: Path, other: Path) -> None:
        if READY in str(one):
            if len(done) == moved:
                raise KeyboardInterrupt
            done.append(one)
        replace(one, other)

    with monkeypatch.context() as patch:
        patch.setattr(sets.os, "replace", killed)
        with pytest.raises(KeyboardInterrupt, match=r"^$"), run.together("pool") as staged:
            write_new(staged)
    assert READY in names(run)
    shutil.copytree(run.root, tmp_path / "copy")  # where nobody has the lock
    again = read_run(tmp_path / "copy")
    assert found(again) == ["new", "new"]
    assert not {READY, "third.csv"} & names(again)
    check_sets(again.root)


def test_a_set_that_is_mixed_or_stale_is_refused_by_name(run: Run) -> None:
    check_sets(run.root)
    run.write_table("input.csv", pd.DataFrame({"x": [2]}))
    with pytest.raises(InputError, match=r"what holmes-fit pool has written: saw made from another input\.csv than"):
        check_sets(run.root)
    run.write_table("input.csv", pd.DataFrame({"x": [1]}))
    run.save_record(("a",), {})
    with pytest.raises(InputError, match="saw made from another records than the one there"):
        check_sets(run.root)
    with run.together("pool", ["input.csv", "records"]) as staged:
        write_both(staged, "new")
    check_sets(run.root)
    run.write_table("two.csv", pd.DataFrame({"x": ["odd"]}))
    with pytest.raises(InputError, match=r"saw another two\.csv; allowed: tables as they were written.*fit pool again"):
        check_sets(run.root)
    check_sets(run.root, ["fit"])


@pytest.mark.parametrize("text", ["", "[]", '{"files": {"../x": ""}, "inputs": {}, "gone": []}', '{"files": 3}'])
def test_a_stamp_that_cannot_be_read_is_named(text: str, run: Run) -> None:
    (run.root / "stamps" / "pool.json").write_text(text)
    with pytest.raises(InputError, match="what holmes-fit pool has written: saw a stamp that cannot be read"):
        check_sets(run.root)


# --- commands
@pytest.mark.parametrize("command", ["pool", "compare"])
def test_whoever_adds_to_a_run_has_its_lock(command: str, tmp_path: Path, shell: Shell) -> None:
    folder = make_run(tmp_path / "run", Sample())
    with locked(folder):
        assert "at work in it; allowed: one process at a time" in shell.refuses(command, folder)


def test_a_report_refuses_tables_of_different_times(tmp_path: Path, shell: Shell) -> None:
    folder = make_run(tmp_path / "run", Sample())
    run = read_run(folder)
    tables = {name: run.read_table(name) for name in ("group.csv", "pooled.csv")}
    with run.together("pool", ["fits.csv"]) as staged:
        for name, table in tables.items():
            staged.write_table(name, table)
    shell("report", folder, "--out", tmp_path / "run.pdf", "--pages", "data")
    run.write_table("group.csv", tables["group.csv"].head(3))
    err = shell.refuses("report", folder, "--out", tmp_path / "run.pdf", "--pages", "data", "--force")
    assert "what holmes-fit pool has written: saw another group.csv" in err


def test_a_report_refuses_what_changes_while_it_is_read(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holmes_fit.reporting import writing

    folder, original = make_run(tmp_path / "run", Sample()), writing.pdf_of

    def meanwhile(*arguments: object) -> bytes:
        with read_run(folder).together("pool") as staged:
            staged.write_table("any.csv", pd.DataFrame({"x": [1]}))
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "pdf_of", meanwhile)
    err = shell.refuses("report", folder, "--out", tmp_path / "run.pdf", "--pages", "data")
    assert "saw tables that were changed while they were read" in err
    assert not (tmp_path / "run.pdf").exists()


def test_pooling_a_run_that_cannot_be_written_is_refused_before_anything_is_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    fit(people(3), ("bias",), folder, preset=small_preset(tmp_path), observer=OBSERVER, workers=1)
    monkeypatch.setattr(results, "pool_people", raising(AssertionError("sampled")))
    monkeypatch.setattr(Path, "mkdir", raising(OSError(errno.EROFS, "Read-only file system")))
    with pytest.raises(HolmesFitError, match="Read-only file system"):
        results.pool(folder, progress=False)


@pytest.mark.parametrize("how", ["deleted", "moved", "made anew"])
def test_a_folder_that_goes_while_people_are_fitted_stops_the_work(how: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def then(done: int, _: int) -> None:
        if done == 1:
            shutil.move(folder, tmp_path / "elsewhere") if how == "moved" else shutil.rmtree(folder)
            if how == "made anew":
                folder.mkdir()

    with pytest.raises(HolmesFitError, match="was deleted or moved while work went on in it"):
        fit(people(3), ("bias",), folder, preset=small_preset(tmp_path), observer=OBSERVER, workers=1, progress=then)
    assert folder.exists() == (how == "made anew")
    assert not folder.exists() or not list(folder.iterdir())


def test_tables_are_not_written_without_people_whose_records_have_gone(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def then(done: int, _: int) -> None:
        if done == 2:
            next((folder / "records" / "bias").glob("s01*")).unlink()

    with pytest.raises(HolmesFitError, match=r"1 records have disappeared .* such as s01 with bias"):
        fit(people(3), ("bias",), folder, preset=small_preset(tmp_path), observer=OBSERVER, workers=1, progress=then)
    assert not (folder / "fits.csv").exists()


# --- what dead processes leave
def test_what_dead_processes_had_begun_is_removed_by_the_next_who_writes_there(tmp_path: Path) -> None:
    own = temporary_name()
    of_dead = f"{own[:9]}{DEAD:08x}{own[17:]}"
    elsewhere = f".{'0a' * 4}{DEAD:08x}{own[17:]}"
    old = f".{'0b' * 4}{DEAD:08x}{own[17:]}"
    for name in (own, of_dead, elsewhere, old, ".notes.tmp"):
        (tmp_path / name).touch()
    os.utime(tmp_path / old, (0, (tmp_path / own).stat().st_mtime - DAY - 10))
    _sweep_once.cache_clear()
    with written_whole(tmp_path / "a.txt") as path:
        path.touch()
    assert {path.name for path in tmp_path.iterdir()} == {own, elsewhere, ".notes.tmp", "a.txt"}


def test_temporary_folders_of_dead_processes_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = temporary_name()
    (tmp_path / f"{own[:9]}{DEAD:08x}{own[17:]}" / "within").mkdir(parents=True)
    (tmp_path / own).mkdir()
    os.utime(tmp_path / own, (0, 0))  # long ago, but at work
    with temporary_folder() as folder:
        assert {path.name for path in tmp_path.iterdir()} == {own, folder.name}
    assert [path.name for path in tmp_path.iterdir()] == [own]


def test_what_cannot_be_written_is_named_by_its_lasting_name(tmp_path: Path) -> None:
    message = rf"^{tmp_path}/a\.txt could not be written: No space left on device\. .*Make space, then"
    with (
        pytest.raises(HolmesFitError, match=message),
        written_whole(tmp_path / "a.txt") as outer,
        written_whole(outer),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not list(tmp_path.iterdir())
