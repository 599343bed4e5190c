"""The study of README and how-tos goes as it is shown: every command in turn, with fewer people and coarser fits."""

import json
import logging
import shlex
import shutil
from pathlib import Path

import matplotlib as mpl
import pytest

from holmes_fit.cli import main
from tests.documents import ROOT, blocks, commands
from tests.raw_files import jspsych_csv
from tests.small_fits import small_preset
from tests.small_recovery import with_short_searches, without_figures
from tests.small_study import draw_groups_from_their_priors

OWN_STUDY = ["import", "init", "init", "check", "fit", "pool", "compare", "report", "recover", "recover", "plan"]
ON_A_CLUSTER = ["fit", "compare"]
# What is shown, and what takes less time.
SMALLER = {
    "--quick": "--preset small.toml --particles 20 --workers 1",
    "--from runs/pilot": "--from runs/pilot --subjects 2 --workers 1",
    "--subjects 100": "--subjects 2 --preset small.toml --particles 20 --workers 1",
    "--trials 80,160,320": "--trials 16 --people 3 --preset small.toml --workers 1",
    "--subjects 10,20,40,80": "--subjects 2,4",
}
PAGES = ("docs/howto/data.md", "README.md", "docs/howto/planning.md", "docs/howto/cluster.md", "docs/howto/scripts.md")
SHOWN = [command for page in PAGES for block in blocks(page, "console", "text") for command in commands(block)]


@pytest.fixture(autouse=True)
def with_less_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_groups_from_their_priors(monkeypatch)
    without_figures(monkeypatch)
    with_short_searches(monkeypatch)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")


def run(command: str, smaller: dict[str, str]) -> str:
    """Run a command, made smaller, and return its name."""
    for shown, small in smaller.items():
        command = command.replace(shown, small)
    arguments = shlex.split(command)[1:]
    with pytest.raises(SystemExit, match=r"^[03]$"):  # groups that were not sampled have not converged
        main(arguments)
    return arguments[0]


@pytest.mark.slow
def test_from_a_new_study_to_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    for person in (0, 1):
        (tmp_path / "raw" / f"{person}.csv").write_bytes(jspsych_csv(person, f"p{person}"))
    ran = []
    for command in [command for command in SHOWN if "pilot.csv" not in command and "--json" not in command]:
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            small_preset(Path())
        elif command.startswith("holmes-fit "):
            ran.append(run(command, SMALLER))
    assert ran == OWN_STUDY
    written = [path.name for path in (tmp_path / "my_study").rglob("*.*")]
    assert {"pilot.pdf", "group.csv", "comparison.csv", "recovery.csv", "plan.csv"} <= set(written)


@pytest.mark.slow
def test_on_a_cluster_and_in_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from distributed import LocalCluster

    monkeypatch.chdir(tmp_path)
    small_preset(tmp_path)
    for name, template in {"pilot.csv": "example.csv", "task.toml": "my_task.toml"}.items():
        shutil.copy(ROOT / "holmes_fit" / "trials" / "templates" / template, tmp_path / name)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(silence_logs=logging.CRITICAL + 1, **options) as cluster:
        address = f"{cluster.scheduler_address} --preset small.toml --particles 20"
        told = [each for each in SHOWN if each.startswith("holmes-fit ")]
        shown = [command for command in told if "pilot.csv" in command or "--json" in command]
        ran = []
        for command in shown:
            capsys.readouterr()
            ran.append(run(command, {"tcp://HOST:8786": address}))
    assert ran == ON_A_CLUSTER
    found = json.loads(capsys.readouterr().out)
    assert {row["model"] for row in found["models"] if row["frequency"] > 0} == {"flat", "holmes"}
