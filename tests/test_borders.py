"""Files from strangers: refused by name, with exit code 2, before they are waited for or fill the memory."""

import io
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from holmes_fit._support import array_files
from holmes_fit._support.array_files import check_hdf5, unpack_arrays
from holmes_fit._support.borders import parse_json, read_bytes
from holmes_fit._support.errors import InputError
from holmes_fit._support.study_files import parse_toml
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.comparison.compare import compare
from holmes_fit.groups.pooling.lattices import load_lattices
from holmes_fit.groups.pooling.results import pool
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.groups.posteriors import read_posterior
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.records import Record, to_bytes
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.reading import read_cohort
from tests.commands import Shell
from tests.small_fits import small_preset

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("borders")
    cohort = simulate("conditioning", "bias", 4, seed=20261119, missed=0.1).cohort
    return fit(cohort, ["bias", "win_stay"], folder / "run", preset=small_preset(folder), workers=1).folder


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Run:
    """A copy to spoil."""
    import shutil

    return read_run(shutil.copytree(original, tmp_path / "run"))


def at_most(megabytes: float, call: Callable[[], object]) -> None:
    """Check how much Python holds at most while something is called."""
    tracemalloc.start()
    try:
        call()
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()


# --- sizes
def bomb(megabytes: int, declared: int | None = None) -> bytes:
    """Return an archive of nothing but zeros, which may declare another size than it has."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", bytes(megabytes * MEGABYTE))
    content = file.getvalue()
    if declared is not None:
        own, other = (size.to_bytes(4, "little") for size in (megabytes * MEGABYTE, declared))
        assert content.count(own) == 2
        content = content.replace(own, other)
    return content


def test_an_archive_is_not_unpacked_beyond_what_it_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "LARGEST", 8 * MEGABYTE)
    for content in (bomb(64), bomb(64, declared=10)):
        assert len(content) < MEGABYTE

        def refused(content: bytes = content) -> None:
            with pytest.raises((ValueError, zipfile.BadZipFile)):
                unpack_arrays(content)

        at_most(4, refused)


def test_an_array_is_as_large_as_it_declares() -> None:
    file = io.BytesIO()
    np.savez_compressed(file, a=np.zeros(3))
    assert unpack_arrays(file.getvalue())["a"].tolist() == [0.0] * 3
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("a.npy", array.getvalue() + bytes(24))
    with pytest.raises(ValueError, match="another size than it declares"):
        unpack_arrays(archive.getvalue())


def test_a_file_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(101))
    with pytest.raises(ValueError, match="more than 100 bytes"):
        read_bytes(tmp_path / "large", 100)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):  # nobody writes into the one, and the other never ends
        with pytest.raises(ValueError, match="something that is no file"):
            read_bytes(path)
    with pytest.raises(ValueError, match="more than 100 bytes"):
        read_bytes("/dev/zero", 100, or_pipe=True)


@pytest.mark.parametrize(
    "text", ["[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000, '{"a":' * 300 + "1" + "}" * 300]
)
def test_brackets_have_a_depth(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json(text)


@pytest.mark.parametrize(
    "toml", ["[" + ".".join("a" * 20_000) + "]", ".".join("a" * 20_000) + " = 1", "a = " + "[" * 150 + "]" * 150]
)
def test_keys_have_a_depth(toml: str) -> None:
    def refused() -> None:
        with pytest.raises(InputError, match="protocol: saw"):
            parse_toml(toml, "protocol")

    at_most(20, refused)


def test_rows_have_an_end(tmp_path: Path) -> None:
    for cells in ("1," * 1_500_000, '"\n",' * 800_000):
        (tmp_path / "wide.csv").write_text(f"subject,trial\n{cells}\n")

        def refused() -> None:
            with pytest.raises(InputError, match="row 2: saw more than 1,048,576 characters in a row"):
                read_cohort(tmp_path / "wide.csv", "conditioning")

        at_most(60, refused)


def test_bases_of_presets_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "0.toml").write_text('base = "quick"\n')
    for number in range(1, 200):
        (tmp_path / f"{number}.toml").write_text(f'base = "{number - 1}.toml"\n')
    with pytest.raises(InputError, match=r"key base: saw '\d+.toml'"):
        load_preset(tmp_path / "199.toml")


# --- records that say of themselves that they are whole
def resaved(run: Run, name: str, **changes: Any) -> None:
    """Write the record of someone anew, with other facts or arrays, or without some, and with a digest that fits."""
    record = next(each for each in run.records() if each.key == ("bias", name))
    facts = dict(record.facts) | {key: value for key, value in changes.items() if key.startswith("log_evidence")}
    arrays: dict[str, Any] = {key: changes.get(key, value) for key, value in record.arrays.items()}
    arrays = {key: value for key, value in arrays.items() if value is not None}
    run._path(record.key).write_bytes(to_bytes(Record(record.key, facts, arrays)))


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"log_evidence": np.nan}, "something else than finite numbers in log_evidence"),
        ({"log_evidence_error": "large"}, "something else than finite numbers in log_evidence"),
        ({"log_likelihood": None}, "finite numbers in log_likelihood"),
        ({"log_likelihood": np.full((2, 2), 0.5)}, "finite numbers in log_likelihood"),
        ({"of_sets": np.zeros((2, 3, 4))}, "finite numbers in of_sets"),
        ({"draws": np.full((20, 1), np.inf)}, "something else than 20 x 1 finite numbers in draws"),
        ({"draws": np.zeros((3, 1))}, "something else than 20 x 1 finite numbers in draws"),
        ({"coarse_choice_probability": np.array([0, 10_000])}, "no nodes of its lattice"),
        ({"coarse_choice_probability": None}, "no nodes of its lattice"),
        ({"positions_choice_probability": np.array(["a"])}, "another lattice of choice_probability"),
    ],
)
def test_a_record_that_no_fit_has_written_is_named(run: Run, changes: dict[str, Any], seen: str, shell: Shell) -> None:
    name = load_lattices(run, "bias").subjects[1]
    resaved(run, name, **changes)
    said = shell.refuses("pool", run.root, "--models", "bias")
    assert f"record of {name} under bias: saw " in said
    assert seen in said


def test_an_archive_that_unpacks_to_gigabytes_is_a_damaged_record(
    run: Run, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_files, "LARGEST", 8 * MEGABYTE)
    key = run.manifest.keys[0]
    run._path(key).write_bytes(bomb(64))
    at_most(4, lambda: run.load_record(key))
    assert run.progress().damaged == (key,)
    out, _ = shell("status", run.root)
    assert "damaged" in out


# --- the other files of a run
@pytest.mark.parametrize(
    ("file", "content", "seen"),
    [
        ("protocol.json", b"[" * 50_000, "protocol.json"),
        ("manifest.json", b'{"format": 1, "identity": ' + b'{"a":' * 900 + b"1" + b"}" * 901, "nested too deeply"),
        ("models.csv", b"subject,model\np,bias\n", "models.csv lacks columns"),
        ("fits.csv", b"\xff\xfe\x00", "fits.csv"),
        ("subjects.csv", b"name\np\n", "subjects.csv"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(run: Run, file: str, content: bytes, seen: str, shell: Shell) -> None:
    (run.root / file).write_bytes(content)
    (run.root / "stamps" / "fit.json").unlink()  # it would say that the file is another one, and no more
    said = shell.refuses("report", run.root, "--out", run.root.parent / "report.pdf")
    assert file in said
    assert seen in said


def test_an_evidence_that_is_not_finite_is_refused(run: Run, shell: Shell) -> None:
    path = run.root / "models.csv"
    table = run.read_table("models.csv")
    (run.root / "stamps" / "fit.json").unlink()
    path.write_text(path.read_text().replace(repr(float(table["log_evidence"].iloc[0])), "1e400"))
    said = shell.refuses("report", run.root, "--out", run.root.parent / "report.pdf")
    assert "models.csv has numbers that are not finite in its column log_evidence" in said


def test_nothing_outside_the_folder_is_followed(run: Run, shell: Shell) -> None:
    outside = run.root.parent / "outside"
    for name in ("fits.csv", "models.csv", "protocol.json", "manifest.json"):
        outside.write_bytes((run.root / name).read_bytes())
        (run.root / name).unlink()
        (run.root / name).symlink_to(outside)
        said = shell.refuses("report", run.root, "--out", run.root.parent / "report.pdf")
        assert "leads out of the folder" in said
        (run.root / name).unlink()
        (run.root / name).write_bytes(outside.read_bytes())


# --- posteriors
SAMPLING = Sampling(chains=2, tune=50, draws=50, seed=1, cores=1)


def test_a_posterior_that_is_not_as_it_was_written_is_sampled_again(run: Run) -> None:
    first = pool(run, ["bias"], sampling=SAMPLING)["bias"]
    path = run.path("pool_bias.nc")
    content = path.read_bytes()
    assert not pool(run, ["bias"], sampling=SAMPLING)["bias"].is_new
    with h5py.File(path, "r+") as file:
        file["posterior/mean"][0, 0, 0] += 0.25  # as a worn disk would do it: nothing else says so
    spoilt = [path.read_bytes(), content[: len(content) // 2], b"", bytes(len(content)), content[:600] + content[700:]]
    for other in spoilt:
        path.write_bytes(other)
        assert read_posterior(path) is None
    again = pool(run, ["bias"], sampling=SAMPLING)["bias"]
    assert again.is_new
    np.testing.assert_array_equal(again.draws.mean, first.draws.mean)


def test_a_posterior_of_other_shapes_is_sampled_again_although_it_says_that_it_is_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import xarray as xr

    from holmes_fit.groups import posteriors
    from holmes_fit.groups.posteriors import group_of, posterior_of, write_posterior

    pool(run, ["bias"], sampling=SAMPLING)
    path = run.path("pool_bias.nc")
    found = read_posterior(path)
    groups = {name: group_of(found, name) for name in posteriors._groups(found)}
    for changed in ({"posterior": groups["posterior"].drop_vars("mean")}, {"sample_stats": xr.Dataset()}):
        write_posterior(posterior_of(groups | changed), path)
        assert read_posterior(path) is not None
        assert pool(run, ["bias"], sampling=SAMPLING)["bias"].is_new


def test_compare_goes_on_with_broken_posteriors(run: Run, shell: Shell) -> None:
    found = compare(run, sampling=SAMPLING, datasets=20, workers=1)
    for name in ("mixture.nc", "pool_bias.nc", "pool_win_stay.nc"):
        assert run.path(name).exists()
        run.path(name).write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 9)
    again = compare(run, sampling=SAMPLING, datasets=20, workers=1)
    np.testing.assert_array_equal(again.mixture.frequency, found.mixture.frequency)


def hdf5_with(path: Path, make: Callable[[h5py.File], object]) -> Path:
    with h5py.File(path, "w") as file:
        make(file.create_group("posterior"))
    return path


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda own: own.create_dataset("x", (10**9,), "f8"), "bytes, unpacked"),
        (lambda own: own.__setitem__("x", h5py.ExternalLink("other.nc", "/x")), "a link to something else"),
        (lambda own: own.__setitem__("x", h5py.SoftLink("/posterior")), "a link to something else"),
        (lambda own: own.__setitem__("x", own), "more groups"),
        (
            lambda own: own.create_dataset("x", (4,), "f8", external=[("other.bin", 0, h5py.h5f.UNLIMITED)]),
            "values that are in another file",
        ),
        (lambda own: own.create_dataset("x", (4,), "f8", chunks=(4,), compression="lzf"), "an unusual compression"),
    ],
)
def test_a_posterior_leads_nowhere_and_has_an_end(make: Callable[[Any], object], seen: str, tmp_path: Path) -> None:
    path = hdf5_with(tmp_path / "x.nc", make)
    with pytest.raises(ValueError, match=seen):
        check_hdf5(path)
    assert read_posterior(path) is None


def test_a_chunk_is_not_unpacked_beyond_what_it_declares(tmp_path: Path) -> None:
    import zlib

    def make(own: Any) -> None:
        data = own.create_dataset("x", (4,), "f8", chunks=(4,), compression="gzip")
        data.id.write_direct_chunk((0,), zlib.compress(bytes(64 * MEGABYTE)))

    path = hdf5_with(tmp_path / "x.nc", make)

    def refused() -> None:
        with pytest.raises(ValueError, match="more than they declare"):
            check_hdf5(path)

    at_most(4, refused)
