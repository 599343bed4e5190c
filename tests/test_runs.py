"""The run folder: records that come back as they were or not at all, and a folder that knows what it holds."""

import errno
import json
import math
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.runs.folder import Run, open_run, read_run, run_of
from holmes_fit.runs.lock import LOCK
from holmes_fit.runs.records import Record, file_of, from_bytes, to_bytes

SEED = 20261116
IDENTITY = {"data": {"sha256": "12ab", "rows": 160}, "models": ["flat", "holmes"], "seed": 1, "spread": math.nan}
ABOUT = {"command": "holmes-fit fit pilot.csv"}
KEYS = (("holmes", "s02"), ("flat", "s01"), ("holmes", "s01"), ("flat", "s02"))
NASTY = ("s01", "S01", "..", ".", "/", "../../etc/passwd", "a/b", "a\\b", "con", "nul", "🧪", "🧫", " ", "", "x" * 300)
NASTY += ("x" * 301, "\0", "a\nb", "ä", "a\u0308", "\ud800", "-", "--", "C:", "~", "*?<>|")
POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


@contextmanager
def opened(root: Path, **changes: object) -> Iterator[Run]:
    arguments = {"identity": IDENTITY, "about": ABOUT, "keys": KEYS} | changes
    with open_run(root, **arguments) as run:  # type: ignore[arg-type]
        yield run


def an_example() -> Record:
    rng = np.random.default_rng(SEED)
    arrays = {
        "surface": rng.normal(size=(3, 4, 5)),
        "holes": np.array([math.nan, math.inf, -math.inf, -0.0]),
        "counts": np.arange(6, dtype=np.int16).reshape(2, 3),
        "flags": np.array([True, False]),
        "names": np.array(["α", "Ω"]),
        "none": np.empty((0, 2)),
        "one": np.array(2.5),
    }
    facts = {"ml": {"alpha": 0.1}, "nan": math.nan, "inf": -math.inf, "text": "µ\ud800", "list": [1, None, True]}
    return Record(("holmes", "s01"), facts, arrays)


def assert_same(found: Record | None, wanted: Record) -> None:
    assert found is not None
    assert (found.key, found.error) == (wanted.key, wanted.error)
    assert json.dumps(found.facts, sort_keys=True) == json.dumps(wanted.facts, sort_keys=True)  # NaN is itself there
    assert sorted(found.arrays) == sorted(wanted.arrays)
    for name, array in wanted.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


# --- records
def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = an_example()
    with opened(tmp_path / "run") as run:
        assert run.load_record(record.key) is None
        run.save_record(record.key, record.facts, record.arrays)
        assert_same(run.load_record(record.key), record)
        run.save_record(("flat", "s01"), {}, error="all answers were missed")
    run = read_run(tmp_path / "run")
    assert_same(run.load_record(record.key), record)
    assert_same(run.load_record(("flat", "s01")), Record(("flat", "s01"), {}, error="all answers were missed"))


def test_the_same_record_has_the_same_bytes(tmp_path: Path) -> None:
    record = an_example()
    backwards = Record(
        record.key,
        dict(reversed(record.facts.items())),
        {name: np.asfortranarray(array) if array.ndim else array for name, array in reversed(record.arrays.items())},
    )
    assert to_bytes(backwards) == to_bytes(record)
    path = tmp_path / "record.npz"
    path.write_bytes(to_bytes(record))
    with zipfile.ZipFile(path) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_records_with_other_content_have_other_bytes() -> None:
    def digest(facts: dict[str, object], **arrays: np.ndarray) -> bytes:
        return to_bytes(Record(("a",), facts, arrays))

    different = [
        digest({}, x=np.zeros(4)),
        digest({}, y=np.zeros(4)),
        digest({}, x=np.zeros((2, 2))),
        digest({}, x=np.zeros(4, np.int64)),
        digest({}, x=-np.zeros(4)),
        digest({"x": 1}, x=np.zeros(4)),
    ]
    assert len(set(different)) == len(different)


def test_a_truncated_record_is_no_record() -> None:
    content = to_bytes(an_example())
    assert from_bytes(content) is not None
    for length in [*range(0, len(content), 37), len(content) - 1]:
        assert from_bytes(content[:length]) is None, f"of {len(content)} bytes, {length} pass for a record"


def test_an_altered_record_is_no_record() -> None:
    """Every byte is altered in turn. Some, like an entry's date, do not matter; then the content is the same."""
    record = an_example()
    content = to_bytes(record)
    rng = np.random.default_rng(SEED)
    refused = 0
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] ^= int(rng.integers(1, 256))
        found = from_bytes(bytes(altered))
        if found is None:
            refused += 1
        else:
            assert_same(found, record)
    assert refused > len(content) / 2


def test_altered_values_in_an_intact_archive_are_found() -> None:
    content = to_bytes(Record(("a",), {"x": 1}, {"x": np.zeros(3)}))
    other = to_bytes(Record(("a",), {"x": 1}, {"x": np.ones(3)}))
    import io

    with np.load(io.BytesIO(content)) as file, np.load(io.BytesIO(other)) as changed:
        entries = {name: file[name] for name in file.files} | {"x": changed["x"]}
    mixed = io.BytesIO()
    np.savez_compressed(mixed, **entries)
    assert from_bytes(mixed.getvalue()) is None


def test_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="array 'x' holds objects"):
        to_bytes(Record(("a",), {}, {"x": np.array([{}], dtype=object)}))
    with pytest.raises(TypeError, match="not JSON serializable"):
        to_bytes(Record(("a",), {"x": object()}))


@pytest.mark.parametrize("name", ["file", "allow_pickle", "record_json", "record_sha256", "a/b", "", "a b"])
def test_arrays_with_impossible_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="an array of a record cannot be called"):
        to_bytes(Record(("a",), {}, {name: np.zeros(2)}))


def test_names_never_leave_the_folder_and_never_meet(tmp_path: Path) -> None:
    keys = [(model, name) for model in NASTY for name in NASTY] + [(name,) for name in NASTY]
    files = [file_of(key) for key in keys]
    assert len({str(file).lower() for file in files}) == len(keys), "two keys, one file where case does not count"
    with opened(tmp_path / "run", keys=keys) as run:
        for key in keys:
            run.save_record(key, {"key": list(key)})
        assert [record.key for record in run.records()] == sorted(keys)
    assert len(list((tmp_path / "run" / "records").rglob("*.npz"))) == len(keys)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=3).map(tuple))
def test_every_key_has_a_safe_file(key: tuple[str, ...]) -> None:
    file = file_of(key)
    assert not file.is_absolute()
    assert all(
        part.replace("-", "").replace("_", "").replace(".npz", "").isalnum() or part == "_" for part in file.parts
    )
    assert all(len(part) < 80 for part in file.parts)


def test_a_record_that_nobody_asked_for_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run, pytest.raises(KeyError, match="s99"):
        run.save_record(("holmes", "s99"), {})


# --- how far a run is
def test_progress_counts_what_is_there(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run:
        assert (run.progress().total, run.progress().done, run.progress().elapsed) == (4, (), 0.0)
        run.save_record(("holmes", "s01"), {})
        run.save_record(("flat", "s02"), {}, error="too few answers")
        run.save_record(("flat", "s01"), {"x": 1})
        damaged = next((tmp_path / "run" / "records" / "flat").glob("s01-*.npz"))
        damaged.write_bytes(damaged.read_bytes()[:-9])
        os.utime(next((tmp_path / "run" / "records" / "holmes").glob("*.npz")), (time.time() + 90,) * 2)
    progress = read_run(tmp_path / "run").progress()
    assert progress.total == 4
    assert progress.done == (("flat", "s02"), ("holmes", "s01"))
    assert progress.failed == (("flat", "s02"),)
    assert progress.damaged == (("flat", "s01"),)
    assert progress.missing == (("flat", "s01"), ("holmes", "s02"))
    assert 85 < progress.elapsed < 150


def test_a_record_under_the_name_of_another_is_damaged(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run:
        run.save_record(("flat", "s01"), {})
        run.save_record(("flat", "s02"), {})
        folder = tmp_path / "run" / "records"
        (folder / file_of(("flat", "s01"))).replace(folder / file_of(("flat", "s02")))
        assert run.load_record(("flat", "s02")) is None
        assert run.progress().damaged == (("flat", "s02"),)


# --- opening
def test_the_same_run_opens_again_and_remembers_how_it_began(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run:
        run.save_record(("flat", "s01"), {"x": 1})
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with opened(tmp_path / "run", about={"command": "another"}, keys=reversed(KEYS)) as run:
        assert run.manifest.about == ABOUT
        assert run.manifest.keys == tuple(sorted(KEYS))
        assert run.load_record(("flat", "s01")) is not None
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_a_run_of_something_else_is_refused_naming_all_that_differs(tmp_path: Path) -> None:
    with opened(tmp_path / "run"):
        pass
    other = {"data": {"sha256": "34cd", "rows": 160}, "models": ["flat"], "quick": True, "spread": math.nan}
    with (
        pytest.raises(InputError, match=r"folder .*run: saw data\.sha256 = 12ab; allowed") as caught,
        opened(tmp_path / "run", identity=other),
    ):
        pass
    texts = [str(problem).split(": saw ")[1] for problem in caught.value.problems]
    end = ", as asked for now. Choose another folder for the argument out, or delete this one."
    assert texts == [
        f"data.sha256 = 12ab; allowed: data.sha256 = 34cd{end}",
        f'models = ["flat", "holmes"]; allowed: models = ["flat"]{end}',
        f"no quick; allowed: quick = true{end}",
        f"seed = 1; allowed: no seed{end}",
    ]


def test_a_run_with_other_records_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "run"):
        pass
    with (
        pytest.raises(InputError, match="saw 4 records to make, 3 of them not asked for now; allowed: 2 records, 1 of"),
        opened(tmp_path / "run", keys=[("flat", "s01"), ("flat", "s77")]),
    ):
        pass


def test_equal_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two records of a run have the same key"), opened(tmp_path, keys=[("a",)] * 2):
        pass


def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").touch()
    with pytest.raises(InputError, match=r"saw something else there; allowed: a new folder"), opened(tmp_path):
        pass
    with pytest.raises(InputError, match=r"saw something else there"), opened(tmp_path / "thesis.docx"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="allowed: a folder that can be made"), opened(tmp_path / name):
        pass


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[]", "not a manifest"),
        ("{}", "not a manifest"),
        ('{"format": 99}', "it has format 99, and this version reads 1"),
    ],
)
def test_an_unreadable_manifest_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=rf"saw a manifest\.json that cannot be read .*{why}"), opened(tmp_path):
        pass
    with pytest.raises(InputError, match=rf"saw a manifest\.json that cannot be read .*{why}"):
        read_run(tmp_path)


def test_only_a_run_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"saw no manifest\.json; allowed: the folder of a run"):
        read_run(tmp_path)
    with pytest.raises(InputError, match="saw no such folder; allowed: the folder of a run"):
        read_run(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


# --- one process at a time
HOLDER = """
import sys, time
from holmes_fit.runs.folder import open_run
with open_run(sys.argv[1], identity={}, about={}, keys=[("a", str(i)) for i in range(2000)]) as run:
    print("open", flush=True)
    if sys.argv[2] == "write":
        import numpy as np
        for i in range(2000):
            run.save_record(("a", str(i)), {"i": i}, {"x": np.random.default_rng(i).random(20_000)})
    time.sleep(600)
"""


@contextmanager
def another_process(root: Path, job: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(root), job], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
    finally:
        process.kill()
        process.communicate()


KEYS_OF_HOLDER = [("a", str(number)) for number in range(2000)]


def test_a_run_is_found_by_its_folder_and_by_what_lives_in_it(tmp_path: Path) -> None:
    with opened(tmp_path / "run", identity={"kind": "fit"}) as run:
        pass
    fits = SimpleNamespace(run=run)
    for where in (run, fits, tmp_path / "run", str(tmp_path / "run")):
        assert run_of(where, "fit") == run
    assert run_of(fits) is run
    with pytest.raises(InputError, match="saw a run of something else; allowed: a run of holmes-fit recover"):
        run_of(run, "recover")
    for nothing in (None, 3, SimpleNamespace(run="pilot")):
        with pytest.raises(InputError, match=r"allowed: a run folder, or what holmes_fit\.fit has returned"):
            run_of(nothing)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no such folder"):
        run_of(tmp_path / "none")


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    changes = {"identity": {}, "keys": KEYS_OF_HOLDER}
    with another_process(tmp_path, "wait") as process:
        expected = rf"saw process {process.pid} on .*, at work in it; allowed: one process at a time"
        with pytest.raises(InputError, match=expected), opened(tmp_path, **changes):
            pass
        assert (read_run(tmp_path).holder() or "").startswith(f"process {process.pid} on ")
        process.kill()
        process.wait()
        assert read_run(tmp_path).holder() is None
        with opened(tmp_path, **changes) as run:
            assert (run.holder() or "").startswith(f"process {os.getpid()} on ")
    assert read_run(tmp_path).holder() is None


def test_a_run_cannot_be_opened_twice_in_one_process(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(InputError, match="one process at a time"), opened(tmp_path):
        pass


@POSIX_ONLY
def test_killed_at_any_moment_every_record_is_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    done = 0
    for round_ in range(4):
        root = tmp_path / str(round_)
        with another_process(root, "write") as process:
            time.sleep(float(rng.uniform(0.2, 0.6)))
            process.kill()
            process.wait()
        with opened(root, identity={}, keys=KEYS_OF_HOLDER) as run:
            progress = run.progress()
        assert progress.damaged == ()
        assert not list(root.rglob("*.tmp"))
        done += len(progress.done)
    assert done > 0


def test_what_a_killed_process_had_begun_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / f".{'0a' * 16}.tmp").touch()  # killed before there was a manifest
    with opened(tmp_path) as run:
        run.save_record(("flat", "s01"), {})
    begun = tmp_path / "records" / "flat" / f".{'1b' * 16}.tmp"
    begun.touch()
    (tmp_path / ".notes.tmp").touch()
    with opened(tmp_path):
        assert sorted(path.name for path in tmp_path.rglob("*.tmp")) == [".notes.tmp"]


# --- tables and other files
def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    numbers = np.random.default_rng(SEED).normal(size=5) * 10.0 ** np.array([-300, -5, 0, 5, 300])
    table = pd.DataFrame(
        {
            "subject": ["001", "NA", "1e3", "a,b", 'c\r"d"'],
            "value": [0.1 + 0.2, math.nan, math.inf, 5e-324, -0.0],
            "number": numbers,
            "n": [1, 2, 3, 4, 5],
            "at_bound": [True, False, True, False, True],
        }
    )
    with opened(tmp_path) as run:
        path = run.write_table("any.csv", table)
        first = path.read_bytes()
        assert run.write_table("any.csv", table).read_bytes() == first
        pd.testing.assert_frame_equal(run.read_table("any.csv", text=["subject"]), table, check_exact=True)


def test_a_table_has_short_numbers_and_plain_lines(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        path = run.write_table("any.csv", pd.DataFrame({"x": [0.1, math.nan], "y": [None, "α"]}))
    assert path.read_bytes() == "x,y\n0.1,\n,α\n".encode()


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        with pytest.raises(InputError, match=r"table any\.csv: saw no such file; allowed: a table of a complete run"):
            run.read_table("any.csv")
        (tmp_path / "any.csv").write_bytes(b"")
        with pytest.raises(InputError, match=r"table any\.csv: saw No columns to parse"):
            run.read_table("any.csv")


def test_any_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def write(run: Run, text: str, fault: bool) -> None:
        with run.writing("pictures/notes.txt") as temporary:
            temporary.write_text(text)
            if fault:
                raise RuntimeError("a fault")

    with opened(tmp_path) as run:
        write(run, "first", fault=False)
        with pytest.raises(RuntimeError, match="a fault"):
            write(run, "second", fault=True)
        assert run.path("pictures/notes.txt").read_text() == "first"


@pytest.mark.parametrize("name", ["../x.csv", "/etc/passwd", "a/../../x", "", ".", "a/..", "x\0y"])
def test_names_that_leave_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    with opened(tmp_path / "run") as run:
        with pytest.raises(InputError, match="allowed: the name of a file in the folder"):
            run.path(name)
        with pytest.raises(InputError, match="allowed: the name of a file in the folder"):
            run.write_table(name, pd.DataFrame({"x": [1]}))


def test_links_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    """Whoever hands on a run folder cannot make others read or write elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "any.csv").write_text("x\n1\n")
    with opened(tmp_path / "run") as run:
        (run.root / "any.csv").symlink_to(elsewhere / "any.csv")
        (run.root / "records").symlink_to(elsewhere)
        key = run.manifest.keys[0]
        for use in (
            lambda: run.read_table("any.csv"),
            lambda: run.write_table("any.csv", pd.DataFrame({"x": [2]})),
            lambda: run.save_record(key, {"x": 1}),
            lambda: run.load_record(key),
            run.progress,
        ):
            with pytest.raises(InputError, match="allowed: the name of a file in the folder"):
                use()
    assert [path.name for path in elsewhere.iterdir()] == ["any.csv"]
    assert (elsewhere / "any.csv").read_text() == "x\n1\n"


def test_a_lock_that_is_a_link_is_not_written_to(tmp_path: Path) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("years of work")
    with opened(tmp_path / "run") as run:
        pass
    (run.root / LOCK).unlink()
    (run.root / LOCK).symlink_to(thesis)
    with pytest.raises(InputError, match="allowed: a folder that can be made, written and locked"), opened(run.root):
        pass
    assert run.holder() is None
    assert thesis.read_text() == "years of work"


def test_a_run_folder_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "large_disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "large_disk")
    with opened(tmp_path / "run") as run:
        run.save_record(run.manifest.keys[0], {"x": 1})
        assert run.progress().done == run.manifest.keys[:1]


# --- a full disk
def test_a_full_disk_loses_nothing_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    key = ("flat", "s01")
    with opened(tmp_path) as run:
        run.save_record(key, {"x": 1})
        run.write_table("any.csv", pd.DataFrame({"x": [1]}))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            message = (
                r"flat/s01-\w+\.npz could not be written: No space left on device\. .*Make space, then give the same"
            )
            with pytest.raises(HolmesFitError, match=message):
                run.save_record(key, {"x": 2})
            with pytest.raises(HolmesFitError, match=r"any\.csv could not be written: No space left on device"):
                run.write_table("any.csv", pd.DataFrame({"x": [2]}))
            with pytest.raises(HolmesFitError, match=r"manifest\.json could not be written"), opened(tmp_path / "new"):
                pass
        assert run.load_record(key) == Record(key, {"x": 1}, {})
        assert run.path("any.csv").read_text() == "x\n1\n"
        assert not list(tmp_path.rglob("*.tmp"))
        run.save_record(key, {"x": 2})
        assert run.load_record(key) == Record(key, {"x": 2}, {})
    with opened(tmp_path / "new"):  # what the full disk has left there is no obstacle
        pass


LIMITED = """
import resource, sys
import numpy as np
import pandas as pd
from holmes_fit._support.errors import HolmesFitError
from holmes_fit.runs.folder import open_run
with open_run(sys.argv[1], identity={}, about={}, keys=[("a",)]) as run:
    run.save_record(("a",), {"x": 1}, {"x": np.zeros(3)})
    run.write_table("any.csv", pd.DataFrame({"x": [1]}))
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    for write in (
        lambda: run.save_record(("a",), {"x": 2}, {"x": np.random.default_rng(1).random(100_000)}),
        lambda: run.write_table("any.csv", pd.DataFrame({"x": range(100_000)})),
    ):
        try:
            write()
        except HolmesFitError as error:
            print(error)
    print(run.load_record(("a",)).facts, run.read_table("any.csv").shape)
"""


@POSIX_ONLY
def test_a_file_that_stops_growing_loses_nothing(tmp_path: Path) -> None:
    """The limit of a process stands for the end of the disk: the write itself fails halfway."""
    program = [sys.executable, "-c", LIMITED, str(tmp_path / "run")]
    # A process that measures coverage could not write that either, and would complain.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    record, table, kept = done.stdout.splitlines()
    assert "records/a-" in record
    assert "File too large. What was written before is safe. Make space" in record
    assert "any.csv could not be written: File too large" in table
    assert kept == "{'x': 1} (1, 1)"
    assert done.stderr == ""
    assert not list(tmp_path.rglob("*.tmp"))
