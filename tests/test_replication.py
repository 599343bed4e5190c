"""A small replication, from the runs to the report; resuming it, and what the comparison concludes."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

from holmes_fit._support.errors import InputError
from holmes_fit.runs.folder import open_run
from paper.__main__ import app
from paper.compare import OUTSIDE, UNKNOWN, WITHIN, check_headlines, compare, published_table, reason, verdict
from paper.run import Replication, keep, replicate
from paper.studies import OBSERVERS, STUDIES, VARIANTS, Sizes, chunks_of, effective_reading, jobs_of, sampled_pairs
from paper.summaries import task_spread
from paper.tasks import make_task, run_chunk
from tests.commands import Shell, raising

TWO = ("pairs", "ablation_pairs", "ablation_forward_seeds", "shared_pairs", "shared_tasks", "dissected_pairs")
ONE = ("seeds", "ablation_seeds")
TINY = Sizes(**dict.fromkeys(TWO, 2), **dict.fromkeys(ONE, 1), forward_seeds=8, conditioning_seeds=3, bootstrap=50)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Replication]:
    """A replication of everything, as small as can be. The report draws every figure; files of them are left out."""
    out = tmp_path_factory.mktemp("replication") / "out"
    seen: list[tuple[int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paper.results.write_pictures", lambda result, folder: [])
        found = replicate([], out, workers=1, sizes=TINY, progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] == len(seen) - 1
    return out, found


def tables_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.csv"))}


# ----------------------------------------------------------------------------------------------------------- end to end
def test_everything_is_written(everything: tuple[Path, Replication]) -> None:
    out, found = everything
    assert all(path.is_file() for path in found.files)
    for reading in ("as_written", "as_published"):
        for study in STUDIES:
            assert {"summary.csv"} <= {path.name for path in (out / reading / study).glob("*.csv")}
    differences = pd.read_csv(out / "differences.csv")
    assert set(differences["reading"]) == {"as_written", "shared_counts", "node_stickiness", "as_published"}
    assert not list(out.rglob("*.tmp"))


def test_the_report_has_words_tables_and_fonts_that_stay_text(everything: tuple[Path, Replication]) -> None:
    out, _ = everything
    reader = PdfReader(out / "replication.pdf")
    text = "\n".join(page.extract_text() for page in reader.pages)
    for words in ("Branch counts", "Stickiness", "Each switch by itself", "Ablations", "More than 3 standard errors"):
        assert words in text
    assert "{" not in text  # every number was filled in
    width, height = reader.pages[0].mediabox[2:]
    assert (round(float(width)), round(float(height))) == (595, 842)
    for page in reader.pages:
        fonts = page["/Resources"].get("/Font", {})
        for font in fonts.values():
            assert font.get_object()["/Subtype"] == "/Type0"  # not drawn as Type 3 outlines


def test_every_published_number_meets_one_of_ours(everything: tuple[Path, Replication]) -> None:
    _, found = everything
    written = [result for result in found.results if result.reading == "as_written"]
    compared = pd.concat([result.comparison for result in written if len(result.comparison)])
    assert len(compared) == len(published_table())


def test_the_large_effects_are_there_already(everything: tuple[Path, Replication]) -> None:
    # Entropy at 3 levels and more: HOLMES is below flat by 0.6 or more, with an SD over pairs of about 0.3.
    # Forward accuracy: 0.4 above flat, with an SD over seeds of about 0.27, so an error of 0.1 with 8 seeds.
    _, found = everything
    for result in found.results:
        means = result.summary.set_index(["task", "model", "metric"])["value"]
        if result.study == "backward":
            gaps = [means[f"{level}-level", "difference", "entropy"] for level in (3, 4, 5)]
            assert np.mean(gaps) < 0
        if result.study == "forward":
            assert means["5 + 1", "difference", "accuracy"] > 0


def test_flat_is_the_same_under_both_readings(everything: tuple[Path, Replication]) -> None:
    _, found = everything
    flat = [r.summary.query("model == 'flat'").reset_index(drop=True) for r in found.results if r.study == "backward"]
    pd.testing.assert_frame_equal(*flat)


def test_what_is_kept_is_small_and_complete(everything: tuple[Path, Replication], tmp_path: Path) -> None:
    _, found = everything
    kept = keep(found, tmp_path / "kept")
    assert {path.name for path in kept} == {
        "comparison.csv",
        "differences.csv",
        "headlines.csv",
        "replication.pdf",
        "summary.csv",
    }
    assert sum(path.stat().st_size for path in kept) < 1_000_000
    comparison = pd.read_csv(tmp_path / "kept" / "comparison.csv")
    assert len(comparison) == sum(len(result.comparison) for result in found.results)


@pytest.fixture
def paper(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, app)


def test_the_command_prints_how_it_came_out(tmp_path: Path, paper: Shell) -> None:
    out, _ = paper("conditioning", "--quick", "--workers", 1, "--out", tmp_path / "out")
    assert re.search(r"^conditioning, as written: \d of 3 headlines hold$", out)
    names = {path.name for path in (tmp_path / "out" / "as_written" / "conditioning").iterdir()}
    tables = {f"{name}.csv" for name in ("runs", "trials", "summary", "headlines", "tests")}
    assert names == tables | {"conditioning.png", "conditioning.pdf"}


def test_the_command_says_what_is_wrong(tmp_path: Path, paper: Shell) -> None:
    assert paper.refuses("forwards", "--workers", 0, "--out", tmp_path / "out").splitlines() == [
        "argument which: saw 'forwards'; allowed: backward, forward, conditioning, ablation, sweep. "
        "Did you mean 'forward'?",
        "option --workers: saw 0; allowed: a whole number from 1 to 2147483647.",
    ]
    assert "name no study" in paper.refuses("forward", "--keep", tmp_path)


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_folder_that_cannot_be_made_ends_with_2(name: str, tmp_path: Path, paper: Shell) -> None:
    (tmp_path / "file").write_text("mine")
    assert "folder" in paper.refuses("forward", "--quick", "--out", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paper: Shell) -> None:
    monkeypatch.setattr("paper.run.run_chunk", raising(KeyboardInterrupt()))
    _, said = paper("forward", "--quick", "--workers", 1, "--out", tmp_path / "out", code=130)
    assert said == f"Stopped. What is done is safe in {tmp_path / 'out'}; the same command goes on from there.\n"


# ------------------------------------------------------------------------------------------------------------- resuming
def test_a_run_that_lost_chunks_goes_on_and_ends_with_the_same_tables(tmp_path: Path) -> None:
    sizes = replace(TINY, conditioning_seeds=25)
    replicate(["conditioning"], tmp_path / "out", workers=1, sizes=sizes)
    before = tables_of(tmp_path / "out")
    records = sorted((tmp_path / "out" / "records").rglob("*.npz"))
    assert len(records) == 6
    records[0].unlink()
    whole = records[1].read_bytes()
    records[1].write_bytes(whole[: len(whole) // 2])
    damaged = bytearray(records[2].read_bytes())
    damaged[len(damaged) // 3] ^= 1
    records[2].write_bytes(damaged)
    seen: list[tuple[int, int]] = []
    replicate(["conditioning"], tmp_path / "out", workers=2, sizes=sizes, progress=lambda *done: seen.append(done))
    assert seen[0] == (3, 6)
    assert tables_of(tmp_path / "out") == before


def test_a_run_with_other_settings_is_refused_by_name(tmp_path: Path) -> None:
    replicate(["conditioning"], tmp_path / "out", workers=1, sizes=TINY)
    with pytest.raises(InputError, match=r"seeds = 1; allowed: seeds = 2, as asked for now") as error:
        replicate(["conditioning"], tmp_path / "out", workers=1, sizes=replace(TINY, seeds=2, bootstrap=10))
    assert len(error.value.problems) == 2


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="something else there"):
        replicate(["conditioning"], tmp_path, sizes=TINY)


@pytest.mark.parametrize("content", ["[1, 2]", "5", "null", "{", '{"seeds": []}', "[" * 100_000])
def test_a_manifest_of_something_else_is_no_replication_to_resume(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=r"Choose another folder for the argument out, or"):
        replicate([], tmp_path, sizes=TINY)
    assert (tmp_path / "manifest.json").read_text() == content


def test_unknown_studies_and_workers_are_refused_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'backward'") as error:
        replicate(["backwards"], tmp_path / "out", workers=0)
    assert len(error.value.problems) == 2
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------------------------------- what is run
def test_pairs_are_uniform_in_their_box_and_do_not_depend_on_their_number() -> None:
    box = jobs_of(TINY)["compositional"].points
    pairs = sampled_pairs(box, 200)
    np.testing.assert_array_equal(sampled_pairs(box, 3), pairs[:3])
    assert pairs.min() >= 0.1
    assert pairs.max() <= 3.0
    np.testing.assert_allclose(pairs.mean(axis=0), 1.55, atol=4 * 2.9 / np.sqrt(12 * 200))


def test_models_of_a_comparison_see_the_same_task_and_luck() -> None:
    one, other = (make_task("job", "compositional_2", 3, 1) for _ in range(2))
    pd.testing.assert_frame_equal(one.trials, other.trials)
    assert one.key == other.key
    elsewhere = [("job", 4, 1), ("job", 3, 2), ("another", 3, 1)]
    keys = {one.key, *(make_task(job, "compositional_2", point, seed).key for job, point, seed in elsewhere)}
    assert len(keys) == 4


def test_departures_concern_holmes_alone() -> None:
    for model in VARIANTS:
        expected = "as_written" if model.startswith("flat") else "as_published"
        assert effective_reading(model, "as_published") == expected
    assert OBSERVERS["as_published"].branch_counts == "shared"
    assert OBSERVERS["as_published"].sticky_by == "node"
    assert {observer.resampling for observer in OBSERVERS.values()} == {"multinomial"}


def test_a_chunk_survives_its_file_to_the_last_bit(tmp_path: Path) -> None:
    job = jobs_of(TINY)["conditioning"]
    chunk = next(chunks_of(job, "as_written"))
    tables, _ = run_chunk((job, chunk))
    with open_run(tmp_path / "run", identity={}, about={}, keys=[chunk.key]) as run:
        run.save_record(chunk.key, tables)
        loaded = run.load_record(chunk.key)
    assert loaded is not None
    for name, table in tables.items():
        expected, found = (pd.DataFrame(**each) for each in (table, loaded.facts[name]))
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


# ------------------------------------------------------------------------------------------------------------- verdicts
def line(value: float, se: float, n: int = 4, **keys: str) -> pd.DataFrame:
    names = {"study": "backward", "task": "3-level", "model": "holmes", "metric": "recall"} | keys
    return pd.DataFrame([{**names, "value": value, "se": se, "sd": se * np.sqrt(n), "n": n}])


def number(value: float, se: float | None, sd: float | None, n: int, unit: float = 0.0) -> pd.DataFrame:
    keys = {"study": "backward", "task": "3-level", "model": "holmes", "metric": "recall"}
    return pd.DataFrame([{**keys, "value": value, "se": se, "sd": sd, "n": n, "unit": unit, "source": "table"}]).astype(
        {"se": float, "sd": float}
    )


@pytest.mark.parametrize(
    ("published", "se"),
    [
        (number(0.5, se=0.04, sd=None, n=200), 0.05),
        (number(0.5, se=None, sd=0.4, n=100), 0.05),
        (number(0.5, se=None, sd=None, n=4), 0.03 * np.sqrt(2)),  # our own spread, at the published number of units
        (number(0.5, se=0.04, sd=None, n=200, unit=0.1), np.sqrt(0.05**2 + 0.1**2 / 12)),
    ],
)
def test_the_error_of_a_difference_combines_both(published: pd.DataFrame, se: float) -> None:
    row = compare(line(0.6, 0.03), published).iloc[0]
    assert row["difference"] == pytest.approx(0.1)
    assert row["se"] == pytest.approx(se)
    assert row["z"] == pytest.approx(0.1 / se)


def test_verdicts() -> None:
    assert [verdict(z) for z in (0.0, -3.0, 3.0001, -8.0, np.nan)] == [WITHIN, WITHIN, OUTSIDE, OUTSIDE, UNKNOWN]


def test_tasks_that_all_pairs_shared_widen_the_error_without_changing_the_verdict() -> None:
    keys = {"study": "backward", "task": "3-level", "model": "holmes", "metric": "recall"}
    spread = pd.DataFrame([{**keys, "task_sd": 0.12}])
    row = compare(line(0.7, 0.03), number(0.5, se=0.04, sd=None, n=200), spread).iloc[0]
    assert row["verdict"] == OUTSIDE
    assert row["z_shared_tasks"] == pytest.approx(0.2 / np.sqrt(0.05**2 + 0.12**2 / 6))
    assert "all parameter pairs share six tasks" in reason(row)


def test_the_spread_between_shared_tasks_is_recovered() -> None:
    rng = np.random.default_rng(11)
    n_pairs, n_tasks, sd = 40, 200, 0.2
    value = rng.normal(0, 0.3, (n_pairs, 1)) + rng.normal(0, sd, n_tasks) + rng.normal(0, 0.5, (n_pairs, n_tasks))
    metrics = ("accuracy", "late_accuracy", "entropy", "normalized_entropy", "clusters", "recall", "precision", "f1")
    cells = pd.DataFrame(
        {"point": np.repeat(np.arange(n_pairs), n_tasks), "seed": np.tile(np.arange(n_tasks), n_pairs)}
    )
    cells = cells.assign(**dict.fromkeys(metrics, value.ravel()))
    runs = pd.concat(
        cells.assign(model=model, protocol=f"compositional_{level}", level=level)
        for level in (2, 3, 4, 5)
        for model in ("flat", "holmes")
    )
    found = task_spread(runs).set_index(["task", "model", "metric"])["task_sd"]
    # The error of an SD from 200 tasks is about 5% of it.
    assert found["3-level", "holmes", "recall"] == pytest.approx(sd, rel=0.2)
    assert found["3-level", "difference", "recall"] == 0.0


def test_headlines_hold_or_fail_by_their_range() -> None:
    entropy = {"model": "difference", "metric": "entropy"}
    summary = pd.concat([line(-0.4, 0.1, **entropy), line(0.2, 0.1, task="4-level", **entropy)])
    checked = check_headlines(summary).set_index("task")["verdict"]
    assert checked.to_dict() == {"3-level": "holds", "4-level": "fails"}
