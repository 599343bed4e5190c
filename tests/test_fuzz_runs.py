"""A run folder that was altered: what is read is refused with a message or is sound, and nothing else can happen."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.cli.status import status_text
from holmes_fit.fitting.cohort import fit, read_fits
from holmes_fit.groups.pooling.covariates import make_designs
from holmes_fit.groups.pooling.lattices import load_lattices
from holmes_fit.groups.posteriors import draws_of, posterior_of, read_posterior, write_posterior
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.manifest import MANIFEST
from holmes_fit.runs.records import Record, to_bytes
from holmes_fit.studies.simulation import simulate
from tests.fuzzing import EFFORT, assert_clear, mutated, rng_for, tried
from tests.small_fits import small_preset

MODELS = ("rescorla_wagner", "bias")
MODEL = MODELS[0]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of exact models, which nobody alters."""
    folder = tmp_path_factory.mktemp("fuzz")
    cohort = simulate("conditioning", MODEL, 3).cohort
    return fit(cohort, MODELS, folder / "run", preset=small_preset(folder), workers=1).folder


@pytest.fixture
def altered(original: Path, tmp_path: Path) -> Path:
    """A copy to alter."""
    return Path(shutil.copytree(original, tmp_path / "run"))


def refused(read: Callable[[], object]) -> bool:
    """Whether reading ends in a message; any other exception is raised."""
    outcome = tried(read)
    if isinstance(outcome, InputError):
        assert_clear(outcome)
    return isinstance(outcome, InputError)


def look_everywhere(folder: Path) -> None:
    """Read all that the folder of a fit is read for."""
    run = read_run(folder)
    status_text(run)
    assert not any(part == ".." for key in run.manifest.keys for part in run._path(key).parts)
    fits = read_fits(folder)
    assert isinstance(fits.label, str)
    load_lattices(fits.run, MODEL)


def test_the_run_is_fine_before_it_is_altered(altered: Path) -> None:
    assert not refused(lambda: look_everywhere(altered))


def test_altered_manifests(altered: Path) -> None:
    rng = rng_for("manifest")
    path = altered / MANIFEST
    content = path.read_bytes()
    outcomes = []
    for _ in range(300 * EFFORT):
        path.write_bytes(mutated(content, rng))
        outcomes.append(refused(lambda: look_everywhere(altered)))
    assert 0 < sum(outcomes) < len(outcomes)


ODD = [None, True, 0, -1, 1e400, "", "x", [], [[]], {}, [None], [["a"]], ["ab"], [["a", "b", "c"]], [[[], {}]]]


@pytest.mark.parametrize("key", ["format", "begun", "identity", "about", "records"])
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_any_value_at_any_key_of_a_manifest(altered: Path, key: str, value: object) -> None:
    path = altered / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    refused(lambda: look_everywhere(altered))


@pytest.mark.parametrize("begun", ["2026-01-01", "2026-01-01T00:00:00", "9999-12-31T23:59:59+00:00", "20260101"])
def test_a_date_without_a_zone_is_a_date(altered: Path, begun: str) -> None:
    path = altered / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "begun": begun}))
    assert not refused(lambda: look_everywhere(altered))


def the_same(run: Run, other: Run) -> bool:
    for key in other.manifest.keys:
        ours, theirs = run.load_record(key), other.load_record(key)
        assert theirs is not None
        if ours is None:
            continue
        assert json.dumps(ours.facts, sort_keys=True) == json.dumps(theirs.facts, sort_keys=True)
        assert sorted(ours.arrays) == sorted(theirs.arrays)
        for name, array in theirs.arrays.items():
            np.testing.assert_array_equal(ours.arrays[name], array, strict=True)
    return True


def test_an_altered_record_is_damaged_or_the_same(original: Path, altered: Path) -> None:
    rng = rng_for("records")
    known, run = read_run(original), read_run(altered)
    paths = sorted((altered / "records").rglob("*.npz"))
    damaged = 0
    for number in range(60 * EFFORT):
        path = paths[number % len(paths)]
        content = path.read_bytes()
        path.write_bytes(mutated(content, rng))
        assert the_same(run, known)
        progress = run.progress()
        damaged += len(progress.damaged)
        assert refused(lambda: look_everywhere(altered)) == (MODEL in {key[0] for key in progress.damaged})
        path.write_bytes(content)
    assert damaged > 0


ODD_ARRAYS: list[object] = [np.nan, np.zeros(0), np.zeros((2, 2)), np.array("x"), np.array(3), np.full((4, 4, 4), -1)]
ODD_FACTS = [None, "x", [], {}, np.inf, [{"condition": 1}], -1e300, True]


def test_a_record_that_is_altered_and_says_that_it_is_whole_is_refused_or_sound(altered: Path) -> None:
    rng, run = rng_for("hostile records"), read_run(altered)
    records = {key: record for key in run.manifest.keys if (record := run.load_record(key)) and key[0] == MODEL}
    outcomes = []
    for key in [rng.choice(list(records)) for _ in range(60 * EFFORT)]:
        record = records[key]
        facts, arrays = dict(record.facts), dict(record.arrays)
        for _ in range(rng.randint(1, 2)):
            name = rng.choice([*facts, *arrays])
            if name not in arrays or rng.random() < 0.2:
                facts[name] = rng.choice(ODD_FACTS)
            elif rng.random() < 0.3:
                del arrays[name]
            else:
                values = np.array(arrays[name])
                odd = [
                    *map(np.asarray, ODD_ARRAYS),
                    values[:-1] if values.ndim else values,
                    values.astype(str),
                    -values,
                ]
                arrays[name] = rng.choice(odd)
        path = run._path(key)
        path.write_bytes(to_bytes(Record(key, facts, arrays)))
        outcomes.append(refused(lambda: look_everywhere(altered)))
        path.write_bytes(to_bytes(record))
    assert 0 < sum(outcomes) < len(outcomes)


def test_an_altered_posterior_is_nothing_or_the_same(tmp_path: Path) -> None:
    rng, path = rng_for("posteriors"), tmp_path / "pool.nc"
    draws = draws_of(
        {"mean": np.random.default_rng(1).normal(size=(2, 30, 3))}, {"p": ["a", "ß", "c"]}, {"mean": ["p"]}
    )
    write_posterior(posterior_of({"posterior": draws, "sample_stats": draws}), path)
    content = path.read_bytes()
    for _ in range(40 * EFFORT):
        path.write_bytes(mutated(content, rng))
        found = tried(lambda: read_posterior(path))
        for group in ("posterior", "sample_stats") if found is not None else ():
            np.testing.assert_array_equal(found[group]["mean"], draws["mean"])


FORMULAS = ("alpha ~ group", "alpha ~ scale( age ) + group", "alpha ~ group * age", "alpha ~ 1 + group : `1`")
PARTS = ["alpha", "~", "group", "age", "+", ":", "*", "C(", "scale(", ")", "`", "1", "0", "-", "^", "**9", "|", " "]
PARTS += ["__import__('os')", ".", "{", "[", "\\", "\0", "np.log(", "%in%", "/", ",", "é"]


def test_any_formula_is_refused_or_gives_finite_columns() -> None:
    rng = rng_for("formulas")
    names = [f"p{number}" for number in range(12)]
    people = pd.DataFrame({"subject": names, "group": list("aabb") * 3, "age": np.arange(12.0) ** 2, "1": range(12)})
    outcomes = []
    for _ in range(200 * EFFORT):
        tokens = rng.choice(FORMULAS).split()
        for _ in range(rng.randint(0, 3)):
            at = rng.randrange(len(tokens) + 1)
            tokens[at : at + rng.randint(0, 1)] = [rng.choice(PARTS)]
        text = "".join(tokens)
        designs = tried(lambda text=text: make_designs([text], people, names, ["alpha"]))  # type: ignore[misc]
        outcomes.append(isinstance(designs, InputError))
        if isinstance(designs, InputError):
            assert_clear(designs)
        else:
            assert np.isfinite(designs["alpha"].matrix).all()
    assert 0 < sum(outcomes) < len(outcomes)


@pytest.mark.parametrize("name", ["fits.csv", "models.csv", "subjects.csv"])
def test_altered_tables(name: str, altered: Path) -> None:
    """A table has no digest, as people may edit it; what cannot be read is refused."""
    rng = rng_for(name)
    path, run = altered / name, read_run(altered)
    content = path.read_bytes()
    for _ in range(60 * EFFORT):
        path.write_bytes(mutated(content, rng))
        tables: list[pd.DataFrame] = []
        if not refused(lambda tables=tables: tables.append(run.read_table(name, ("subject",)))):  # type: ignore[misc]
            assert len(tables[0].columns)


def test_no_array_of_a_record_is_unpickled(altered: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
            return Path.touch, (altered / "sprung",)  # type: ignore[return-value]

    run = read_run(altered)
    path = run._path(run.manifest.keys[0])
    np.savez(path, record_json=np.array([Trap()], dtype=object))
    assert run.load_record(run.manifest.keys[0]) is None
    assert not (altered / "sprung").exists()
    with np.load(path, allow_pickle=True) as file:  # the trap does work
        file["record_json"]
    assert (altered / "sprung").exists()


@pytest.mark.parametrize("name", ["../x", "..", "/tmp/x", "a/../../x", "..\\x", "\0"])
def test_nobody_leads_out_of_the_folder(name: str, altered: Path) -> None:
    path = altered / MANIFEST
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "records": [[MODEL, name], [name, name]]}))
    outside = sorted(altered.parent.rglob("*"))
    run = read_run(altered)
    for key in run.manifest.keys:
        run.save_record(key, {"error": name}, error="made up")
        record = run.load_record(key)
        assert record is not None
        assert record.key == key
        assert run._path(key).resolve().is_relative_to(altered.resolve())
    new = [each for each in sorted(altered.parent.rglob("*")) if each not in outside]
    assert new
    assert all((altered / "records") in each.parents for each in new)
    if name != "..\\x":  # on POSIX a backslash is a letter
        with pytest.raises(InputError, match="the name of a file in the folder"):
            run.path(name)
