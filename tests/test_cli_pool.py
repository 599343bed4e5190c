"""``holmes-fit pool`` and ``holmes-fit compare``: what they leave, how they end, and what they say about mistakes."""

import json
import shutil
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from holmes_fit import simulate
from holmes_fit.cli.options import Pooling
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.comparison import words
from holmes_fit.groups.pooling.lattices import load_lattices
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.results import read_pooled
from holmes_fit.groups.pooling.sampling import Diagnostics, Sampling
from holmes_fit.runs.folder import open_run, read_run
from holmes_fit.settings.pooling import PoolingSettings
from holmes_fit.settings.preset import load_preset
from tests.commands import Shell

SEED = 20264
GOOD, BAD = Diagnostics(0, 1.001, 900, 900), Diagnostics(2, 1.001, 900, 900)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six people in two groups, with covariates good and bad, and a model that is computed in no time."""
    cohort = simulate("weather_prediction", "rescorla_wagner", groups={"old": 3, "young": 3}, seed=SEED).cohort
    folder = tmp_path_factory.mktemp("pool") / "run"
    fit(cohort, ["bias"], folder, preset="quick", workers=1)
    people = cohort.subjects.assign(
        age=[60.0, 70.0, 65.0, 20.0, 30.0, 25.0], iq=[100.0, np.nan, 90.0, 110.0, np.nan, 95.0], site="x"
    )
    read_run(folder).write_table("subjects.csv", people)
    return folder


@pytest.fixture
def run_folder(fitted: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(fitted, tmp_path / "run"))


def preset(folder: Path, **values: float) -> Path:
    path = folder / "mine.toml"
    lines = [f"{name} = {value}" for name, value in values.items()]
    path.write_text("\n".join(['base = "default"', "[pooling]", *lines]))
    return path


# --------------------------------------------------------------------------------------------------- what they leave
@pytest.mark.slow
def test_pooling_leaves_tables_and_says_what_was_found(run_folder: Path, shell: Shell) -> None:
    """With the default draws. Half as many do not always converge: R-hat 1.011 has been seen."""
    formula = "choice_probability ~ group"
    out, err = shell("pool", run_folder, "--formula", formula, "--workers", 1)
    assert out.startswith("bias: 6 people pooled.\n  choice_probability: group median ")
    assert "choice_probability, group: young - old: " in out
    assert err.startswith("pooling bias ...\nNext:\n  holmes-fit report ")
    run = read_run(run_folder)
    (row,) = run.read_table("pooling.csv", ("warning",)).fillna({"warning": ""}).to_dict("records")
    assert (row["model"], row["n_subjects"], row["formulas"]) == ("bias", 6, formula)
    assert (row["divergences"], row["warning"]) == (0, "")
    assert row["r_hat"] < 1.01
    assert min(row["ess_bulk"], row["ess_tail"]) > 400
    behaviour = run.read_table("behaviour.csv", ("warning",)).fillna({"warning": ""})
    assert list(behaviour["term"]) == ["Intercept", "group[T.young]"]
    said = "Right answers without a model (correct ~ group, log odds): group[T.young] "
    assert f"{said}{behaviour['estimate'][1]:+.2f}" in out
    assert {"mean", "median", "spread", "effect", "contrast"} == set(run.read_table("group.csv")["quantity"])
    assert len(run.read_table("pooled.csv")) == 6
    # What was pooled with covariates is not the group without them.
    assert read_pooled(run, load_lattices(run, "bias")) is None


def test_too_few_draws_end_with_a_warning_and_its_code(run_folder: Path, tmp_path: Path, shell: Shell) -> None:
    """Two chains of 50 draws cannot have 400 effective ones."""
    earlier, own = ("pool_holmes.nc", "behaviour.csv"), "pool_notes.nc"
    for name in (*earlier, own):
        (run_folder / name).write_text("of another time")
    command = ["pool", run_folder, "--preset", preset(tmp_path, chains=2, tune=50, draws=50), "--workers", 1]
    out, err = shell(*command, "--quiet", "--json", code=3)
    # What lies beside the new tables belongs to them, or is not ours.
    assert [(run_folder / name).exists() for name in (*earlier, own)] == [False, False, True]
    assert err.startswith("Not converged: bias. Do not report these numbers. Take more draws: ")
    assert "draws = 100" in err
    said = json.loads(out)
    assert (said["command"], said["exit_code"], said["warnings"]) == ("pool", 3, [err.rstrip("\n")])
    assert [each["model"] for each in said["models"]] == ["bias"]
    assert {each["quantity"] for each in said["group"]} == {"mean", "median", "spread"}
    assert all(Path(path).is_file() for path in said["written"])
    assert [each.split()[1] for each in said["next"]] == ["report"]  # one model leaves nothing to compare
    run = read_run(run_folder)
    (row,) = run.read_table("pooling.csv", ("warning",)).to_dict("records")
    assert "not above 400" in row["warning"]
    # The posterior is there all the same, for these people and this prior alone.
    lattices = load_lattices(run, "bias")
    assert read_pooled(run, lattices) is not None
    assert read_pooled(run, lattices, GroupPrior(spread=0.3)) is None
    assert read_pooled(run, load_lattices(run, "bias", leave_out=lattices.subjects[:1])) is None


def test_a_group_that_monte_carlo_errors_move_too_far_ends_with_the_code_of_warnings(
    run_folder: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holmes_fit.groups.pooling.pool.LARGEST_SHIFT", -1.0)  # no error is small enough
    command = ["pool", run_folder, "--preset", preset(tmp_path, chains=2, tune=50, draws=50), "--workers", 1]
    said = json.loads(shell(*command, "--quiet", "--json", code=3)[0])
    converged, moved = said["warnings"]
    assert converged.startswith("Not converged: bias.")
    assert moved.startswith("Do not report the group of bias: the Monte Carlo error of the likelihood moves a mean or ")


@pytest.mark.parametrize(
    ("mixture", "group", "evidence", "code", "said"),
    [
        (GOOD, GOOD, [], 0, ""),
        (BAD, GOOD, [], 3, "Not converged: the mixture. Do not report"),
        (BAD, BAD, [], 3, "Not converged: the mixture, the group of flat. Do not report"),
        (GOOD, BAD, [], 3, "Not converged: the group of flat. Do not report"),
        (GOOD, GOOD, ["the evidences are noisy"], 3, "Do not report these numbers: the evidences are noisy."),
    ],
)
def test_a_comparison_ends_as_its_diagnostics_say(
    mixture: Diagnostics,
    group: Diagnostics,
    evidence: list[str],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    shell: Shell,
) -> None:
    found = SimpleNamespace(
        converged=mixture is GOOD and group is GOOD,
        mixture=SimpleNamespace(diagnostics=mixture, evidence_warnings=evidence, is_new=True),
        diagnostics={"flat": group},
        models=pd.DataFrame({"model": ["flat", "holmes"], "exceedance": [0.25, np.nan]}),
        frequencies=pd.DataFrame(),
        families=SimpleNamespace(table=pd.DataFrame({"family": ["latent-cause"], "models": ["flat holmes"]})),
        people=pd.DataFrame(),
        prior_sensitivity=pd.DataFrame({"model": ["flat"], "prior_width": [2.0]}),
        warnings=[],
    )
    given: dict[str, object] = {}
    compare = import_module("holmes_fit.groups.comparison.compare")
    monkeypatch.setattr(compare, "compare", lambda *names, **options: given.update(options, names=names) or found)
    monkeypatch.setattr(words, "in_words", lambda _: "half of them")
    command = ["compare", "runs/pilot", "--models", "flat, holmes", "--by", "site", "--leave-out", "s1", "--seed", 5]
    out, err = shell(*command, code=code)
    assert out == "half of them\n"
    assert err.startswith(said or "Next:\n  holmes-fit recover --from runs/pilot\n  holmes-fit report runs/pilot --out")
    for_programs = json.loads(shell(*command, "--json", code=code)[0])
    assert (for_programs["exit_code"], for_programs["words"]) == (code, "half of them")
    assert for_programs["models"] == [{"model": "flat", "exceedance": 0.25}, {"model": "holmes", "exceedance": None}]
    assert for_programs["families"] == [{"family": "latent-cause", "models": "flat holmes"}]
    assert for_programs["prior_sensitivity"] == [{"model": "flat", "prior_width": 2.0}]
    assert len(for_programs["warnings"]) == (code == 3)
    assert given["names"] == (Path("runs/pilot"), ["flat", "holmes"])
    assert (given["by"], given["leave_out"]) == ("site", ["s1"])
    assert isinstance(given["sampling"], Sampling)
    assert given["sampling"].seed == 5


def test_what_has_not_changed_is_not_sampled_again(run_folder: Path, tmp_path: Path, shell: Shell) -> None:
    short = preset(tmp_path, chains=2, tune=50, draws=50)
    command = ["pool", run_folder, "--preset", short, "--workers", 1]
    tables = ("group.csv", "pooled.csv", "pooling.csv", "pooling_prior.csv", "pool_bias.nc")
    first, _ = shell(*command, code=3)
    before = {name: (run_folder / name).read_bytes() for name in tables}
    (run_folder / "group.csv").write_text("spoilt")
    again, _ = shell(*command, "--workers", 2, code=3)
    assert again == f"Not sampled again, as nothing has changed: bias.\n{first}"
    assert {name: (run_folder / name).read_bytes() for name in tables} == before
    for other in (["--seed", 1], ["--leave-out", "s01"], ["--formula", "choice_probability ~ group"]):
        out, _ = shell(*command, *other, code=3)
        assert out.startswith("bias: ")
        assert (run_folder / "pool_bias.nc").read_bytes() != before["pool_bias.nc"]
    (run_folder / "pool_bias.nc").write_text("spoilt")
    assert shell(*command, code=3)[0] == first


# --------------------------------------------------------------------------------------------------- settings
def test_settings_come_from_the_preset(tmp_path: Path) -> None:
    options = Pooling(preset=str(preset(tmp_path, spread=0.3, chains=3, draws=2000)), seed=7, workers=2)
    prior, sampling = options.chosen()
    assert prior == GroupPrior(spread=0.3)
    assert sampling == Sampling(chains=3, draws=2000, seed=7, cores=2)


def test_all_defaults_are_the_same() -> None:
    """The file that people read, what it is checked with, and what Python takes without it."""
    assert load_preset("default").pooling == PoolingSettings()
    known = PoolingSettings().model_dump()
    for settings in (asdict(GroupPrior()), asdict(Sampling())):
        own = {name: value for name, value in settings.items() if name not in ("seed", "cores")}
        assert own == {name: known[name] for name in own}


# --------------------------------------------------------------------------------------------------- mistakes
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "biass"], "model: saw 'biass'; allowed: a model of the run: bias. Did you mean 'bias'?"),
        (["--leave-out", "s99"], "leave out: saw 's99'; allowed: someone who was fitted."),
        (["--formula", "alpha ~ group"], "saw 'alpha'; allowed: a free parameter: choice_probability."),
        (
            ["--formula", "choice_probability ~ grup"],
            "covariate grup: saw 'grup'; allowed: one of group, age, iq, site",
        ),
        (["--formula", "choice_probability ~ iq"], "covariate iq: saw no value for 2 of 6 people: ['s02', 's05']"),
        (["--formula", "choice_probability ~ site"], "covariate site: saw 'x' for everyone; allowed: a covariate that"),
        (
            ["--formula", "choice_probability ~ group", *(f"--leave-out=s0{n}" for n in (4, 5, 6))],
            "covariate group: saw 'old' for everyone; allowed: a covariate that differs between people.",
        ),
        ([f"--leave-out=s0{n}" for n in (3, 4, 5, 6)], "model bias: saw 2 people; allowed: at least 3 people."),
        ([f"--leave-out=s0{n}" for n in (2, 3, 4, 5, 6)], "model bias: saw one person; allowed: at least 3 people."),
        (["--preset", "defalt"], "preset: saw 'defalt'; allowed: the path of a TOML file, or one of careful, default"),
        (["--seed", -1], "option --seed: saw -1; allowed: a whole number from 0"),
        (["--workers", 0], "option --workers: saw 0; allowed: a whole number from 1"),
    ],
)
def test_what_cannot_be_pooled_is_said(options: list[object], message: str, fitted: Path, shell: Shell) -> None:
    assert message in shell.refuses("pool", fitted, *options)


def test_a_group_in_which_nobody_is_left_is_named(run_folder: Path, shell: Shell) -> None:
    run = read_run(run_folder)
    people = run.read_table("subjects.csv", ("subject",))
    run.write_table("subjects.csv", people.assign(group=["a", "a", "b", "b", "b", "c"]))
    command = ["pool", run_folder, "--formula", "choice_probability ~ group", "--leave-out", "s06"]
    err = shell.refuses(*command)
    assert "covariate group: saw nobody left in group 'c'; allowed: groups with people who were fitted." in err


@pytest.mark.parametrize("command", ["pool", "compare"])
def test_a_run_that_is_not_complete_says_how_to_go_on(command: str, run_folder: Path, shell: Shell) -> None:
    run = read_run(run_folder)
    for subject in ("s02", "s05"):
        run._path(("bias", subject)).unlink()
    err = shell.refuses(command, run_folder)
    assert "model bias: saw no fit of 2 of 6 people: ['s02', 's05']; allowed: a complete run." in err
    assert "The same call of holmes_fit.fit goes on where it was." in err
    manifest = (run_folder / "manifest.json").read_text()
    (run_folder / "manifest.json").write_text(manifest.replace("holmes_fit.fit", "holmes-fit fit x.csv --out run"))
    again = "The same command goes on where it was: holmes-fit fit x.csv --out run"
    assert again in shell.refuses(command, run_folder)


@pytest.mark.parametrize("command", ["pool", "compare"])
def test_someone_who_could_not_be_fitted_must_be_left_out(command: str, run_folder: Path, shell: Shell) -> None:
    read_run(run_folder).save_record(("bias", "s03"), {}, error="all answers are missed")
    err = shell.refuses(command, run_folder)
    assert "bias, s03: saw all answers are missed; allowed: a fit that succeeded. Leave this person out." in err


@pytest.mark.parametrize("command", ["pool", "compare"])
def test_a_folder_that_is_no_run_of_fits_is_refused(command: str, tmp_path: Path, shell: Shell) -> None:
    assert "saw no such folder; allowed: the folder of a run" in shell.refuses(command, tmp_path / "none")
    with open_run(tmp_path / "other", identity={"kind": "replication"}, about={}, keys=[]):
        pass
    err = shell.refuses(command, tmp_path / "other")
    assert "saw a run of something else; allowed: a run of holmes-fit fit" in err


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (
            "grup",
            "option --by: saw 'grup'; allowed: a covariate of the run: group, age, iq, site. Did you mean 'group'?",
        ),
        ("iq", "covariate iq: saw no value for s02, s05; allowed: a group for everyone."),
        ("site", "covariate site: saw only x; allowed: at least two groups with people in them."),
    ],
)
def test_people_who_cannot_be_divided_are_not(by: str, message: str, fitted: Path, shell: Shell) -> None:
    assert message in shell.refuses("compare", fitted, "--by", by)


def test_one_model_is_no_comparison(fitted: Path, shell: Shell) -> None:
    assert "models: saw 1; allowed: at least two models to compare." in shell.refuses("compare", fitted)


def test_mistakes_in_the_settings_are_all_named(fitted: Path, tmp_path: Path, shell: Shell) -> None:
    settings = preset(tmp_path, spread=-1, draws=7, chanes=4)
    err = shell.refuses("pool", fitted, "--preset", settings)
    assert "mine.toml, key pooling.spread: saw -1; allowed: greater than 0." in err
    assert "mine.toml, key pooling.draws: saw 7; allowed: greater than or equal to 50." in err
    assert "mine.toml, key pooling.chanes: saw 4; allowed: keys mean_sd, spread, " in err
