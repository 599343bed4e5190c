"""Arguments of a wrong kind: each is named, with what was seen and what is allowed, before anything is computed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import holmes_fit as hf
from holmes_fit._support.errors import InputError, shown
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.trials.new_study import create_study
from paper.run import replicate
from tests.commands import Shell
from tests.sample_run import Sample, make_run

SMALL = Sample(4, 6, models=("flat", "holmes"), pooled=False, compared=False, recovered=False, records=False)
TABLE = pd.DataFrame({"subject": ["p01", "p02"], "choice": [0, 1]})
NOT_BY_ROOT = pytest.mark.skipif(
    os.name == "nt" or getattr(os, "geteuid", lambda: 1)() == 0, reason="may write everywhere"
)

# The functions are public, and so they get what their types forbid.
read_cohort: Any = hf.read_cohort
simulate: Any = hf.simulate
recover: Any = hf.recover
trace_cohort: Any = hf.trace_cohort
report: Any = hf.report
sampling: Any = Sampling
group_prior: Any = GroupPrior


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("wrong") / "run", SMALL)


def refused(call: Callable[[], object]) -> str:
    """Return what is said about a call that is refused: a line for each problem."""
    with pytest.raises(InputError, match="; allowed: ") as error:
        call()
    return "\n".join(map(str, error.value.problems))


FILES = "allowed: a CSV file, several, or a folder; or one DataFrame, not in a list."
VALUES = "values by parameter, such as {'alpha': 1.0}."
COHORT = "a cohort. holmes_fit.read_cohort makes one of files or a DataFrame."
MOST = 2**31 - 1

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: read_cohort([1, TABLE], "reversal"), f"argument data: saw 1; {FILES}"),
    (lambda: read_cohort([1, TABLE], "reversal"), f"argument data: saw a DataFrame; {FILES}"),
    (lambda: read_cohort(b"pilot.csv", "reversal"), f"argument data: saw b'pilot.csv'; {FILES}"),
    (lambda: read_cohort([], "reversal", 5), "argument participants: saw 5; allowed: a CSV file or a DataFrame."),
    (
        lambda: read_cohort(TABLE, "reversal"),
        "data (DataFrame, rows from 0), header: saw no column 'trial'; allowed: the",
    ),
    (lambda: simulate("reversal", ["flat"]), "argument model: saw ['flat']; allowed: flat,"),
    (
        lambda: simulate("reversal", groups=5),
        "argument groups: saw 5; allowed: people by group, such as {'patients': 20}.",
    ),
    (
        lambda: simulate("reversal", mix="flat"),
        "argument mix: saw 'flat'; allowed: shares by model, such as {'flat': 0.5,",
    ),
    (lambda: simulate("reversal", values="alpha=1"), f"argument values: saw 'alpha=1'; allowed: {VALUES}"),
    (lambda: simulate("reversal", values={5: 1.0}), "argument 5: saw 1.0; allowed: the parameters alpha,"),
    (lambda: simulate("reversal", observer="x"), "argument observer: saw 'x'; allowed: an Observer."),
    (lambda: recover("reversal", population=5, out="x"), f"argument population: saw 5; allowed: {VALUES}"),
    (lambda: recover(like="pilot.csv", out="x"), f"argument like: saw 'pilot.csv'; allowed: {COHORT}"),
    (lambda: hf.fit(TABLE), f"argument cohort: saw subject choice 0 p01 0 1 p02 1; allowed: {COHORT}"),  # type: ignore[arg-type]
    (lambda: hf.fit(TABLE, observer="x"), "argument observer: saw 'x'; allowed: an Observer."),  # type: ignore[arg-type]
    (lambda: trace_cohort(TABLE, values="alpha=1"), f"argument values: saw 'alpha=1'; allowed: {VALUES}"),
    (lambda: trace_cohort(TABLE, observer="x"), "argument observer: saw 'x'; allowed: an Observer."),
    (lambda: recover("reversal", sampling=5, out="x"), "argument sampling: saw 5; allowed: a Sampling."),
    (lambda: recover("reversal"), "argument out: saw nothing; allowed: the folder of the study."),
    (lambda: hf.read_recovery(5), "argument folder: saw 5; allowed: a folder."),  # type: ignore[arg-type]
    (lambda: hf.read_plan(None), "argument folder: saw None; allowed: a folder."),  # type: ignore[arg-type]
    (lambda: sampling(chains=1), f"argument chains: saw 1; allowed: a whole number from 2 to {MOST}."),
    (lambda: sampling(tune=-5), f"argument tune: saw -5; allowed: a whole number from 1 to {MOST}."),
    (lambda: sampling(draws=3), f"argument draws: saw 3; allowed: a whole number from 4 to {MOST}."),
    (lambda: sampling(target_accept=2), "argument target_accept: saw 2; allowed: a number from 0.5 to less than 1."),
    (lambda: sampling(target_accept=None), "argument target_accept: saw None; allowed:"),
    (lambda: sampling(seed=-1), f"argument seed: saw -1; allowed: a whole number from 0 to {MOST}."),
    (lambda: sampling(cores=0), f"argument cores: saw 0; allowed: a whole number from 1 to {MOST}."),
    (lambda: group_prior(mean_sd=-1), "argument mean_sd: saw -1; allowed: a number above 0, up to 100."),
    (lambda: group_prior(effect_sd=float("nan")), "argument effect_sd: saw nan; allowed: a number above 0, up to 100."),
    (lambda: group_prior(spread="wide"), "argument spread: saw 'wide'; allowed: a number above 0, up to 100."),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message[:60] for _, message in CALLS])
def test_an_argument_of_a_wrong_kind_is_named(
    call: Callable[[], object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(call)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"out": None}, "argument out: saw None; allowed: the path of a PDF."),
        ({"pages": 5}, "argument pages: saw 5; allowed: names of pages."),
        ({"pages": [5]}, "argument pages: saw 5; allowed: summary,"),
        ({"preset": None}, "report preset: saw None; allowed: the path of a TOML file, or one of default,"),
        ({"figures": 5}, "argument figures: saw 5; allowed: a folder."),
        ({"recovery": 5}, "argument recovery: saw 5; allowed: a folder."),
        ({"out": "", "by": "group"}, "allowed: a name that ends in .pdf."),
    ],
)
def test_what_a_report_cannot_be_made_of(
    arguments: dict[str, Any], message: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(lambda: report(run, **arguments))
    assert not list(tmp_path.iterdir())


def test_a_figure_is_drawn_from_a_folder(run: Path) -> None:
    message = refused(lambda: hf.draw(run, "data_learning_curves", recovery=5))  # type: ignore[arg-type]
    assert message == "argument recovery: saw 5; allowed: a folder."


def test_a_run_is_written_into_a_folder() -> None:
    cohort = hf.simulate("conditioning", "bias", subjects=1).cohort
    out: Any = 5
    assert refused(lambda: hf.fit(cohort, ["bias"], out)) == "argument out: saw 5; allowed: a folder."


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (
            lambda _: simulate("reversal", "flt", groups=5, values="a", mix=1, missed=2, seed=-1, observer="x"),
            {"model", "groups", "values", "mix", "missed", "seed", "observer"},
        ),
        (lambda _: sampling(0, -1, 0, 2, -1, 0), {"chains", "tune", "draws", "target_accept", "seed", "cores"}),
        (lambda _: group_prior(0, 0, 0, 101), {"mean_sd", "spread", "spread_log_sd", "effect_sd"}),
        (lambda run: report(run, 1, pages=2, figures=3, recovery=4), {"out", "pages", "figures", "recovery"}),
        (lambda _: read_cohort([1], "reversal", 5), {"data", "participants"}),
    ],
)
def test_all_of_them_come_at_once(call: Callable[[Path], object], names: set[str], run: Path) -> None:
    lines = refused(lambda: call(run)).splitlines()
    assert {line.partition(":")[0].removeprefix("argument ") for line in lines} == names


def test_a_list_of_tables_is_not_answered_with_a_line_for_each() -> None:
    with pytest.raises(InputError, match="500 times") as error:
        read_cohort([1, *[TABLE] * 500], "reversal")
    assert len(error.value.problems) == 501
    assert str(error.value).splitlines() == [
        f"argument data: saw 1; {FILES}",
        f"argument data (500 times): saw a DataFrame; {FILES}",
    ]


def test_what_is_shown_is_one_line() -> None:
    assert shown(TABLE) == "subject choice 0 p01 0 1 p02 1"
    assert shown("two  blanks\n") == r"'two  blanks\n'"
    for value in (pd.DataFrame({"x": range(1000)}), "x" * 1000, ["\x1b[31m"] * 100, TABLE.to_numpy()):
        assert shown(value).isprintable()
        assert len(shown(value)) <= 80


# --- Files and folders
@pytest.mark.parametrize("by", [[], ["--by", "group"]])
def test_figures_of_an_earlier_report_are_not_replaced_unasked(
    by: list[str], run: Path, tmp_path: Path, shell: Shell
) -> None:
    figures = tmp_path / "figures"
    command = ["report", run, "--pages", "data", "--figures", figures, *by]
    shell(*command, "--out", tmp_path / "a.pdf")
    (figure, *_) = sorted(figures.rglob("*.png"))
    figure.write_text("mine")
    again = [*command, "--out", tmp_path / "a.pdf" if by else tmp_path / "b.pdf"]
    for pdf in tmp_path.glob("a_*.pdf"):
        pdf.unlink()
    said = shell.refuses(*again)
    assert "files in it; allowed: a new folder, or an empty one. Use the option --force" in " ".join(said.split())
    assert figure.read_text() == "mine"
    assert not list(tmp_path.glob("b*.pdf"))
    shell(*again, "--force")
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_folder_that_cannot_be_made_ends_with_2(name: str, tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "file").write_text("mine")
    assert "folder" in shell.refuses("init", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@NOT_BY_ROOT
@pytest.mark.parametrize("make", [create_study, lambda folder: replicate(["forward"], folder, quick=True)])
def test_a_folder_that_is_read_only_is_refused(make: Callable[[Path], object], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o500)
    for each in (folder, folder / "below"):
        assert "that can be " in refused(lambda each=each: make(each))  # type: ignore[misc]


def test_wrong_arguments_of_groups_are_named_at_once(run: Path) -> None:
    pool: Any = hf.pool
    compare: Any = hf.compare
    with pytest.raises(
        InputError, match="argument formulas: saw \\[5\\]; allowed: names, each of them a text"
    ) as pooled:
        pool(run, 5, formulas=[5], leave_out=None, prior=5, sampling="x")
    assert len(pooled.value.problems) == 5
    with pytest.raises(InputError, match="argument prior: saw 5; allowed: a GroupPrior") as compared:
        compare(run, 5, leave_out=5, prior=5, sampling="x", datasets=1, workers=0)
    assert len(compared.value.problems) == 6
