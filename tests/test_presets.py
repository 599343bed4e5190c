"""Presets: what is shipped, what a file may change, and all that is wrong with one at once."""

import re
from pathlib import Path

import numpy as np
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit._support.study_files import shipped_names, study_folder
from holmes_fit.fitting.request import request_fit
from holmes_fit.models.registry import MODELS, parameters_of
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.preset import Preset, load_preset, with_fixed
from tests.small_fits import people

HOLMES, FLAT = MODELS["holmes"], MODELS["flat"]


def preset_of(folder: Path, text: str, name: str = "mine") -> Preset:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return load_preset(path)


def problems_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError, match="mine") as caught:
        preset_of(folder, text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("name", shipped_names("fitting"))
@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_shipped_presets_fit_every_model(name: str, model) -> None:
    preset = load_preset(name)
    space = preset.space(model)
    assert preset.about
    assert [axis.name for axis in space.learning] == [own.name for own in model.parameters if own.free]
    assert [axis.name for axis in space.response] == ([] if model.predicts_choices else ["beta", "lapse"])
    assert all(preset.parameters[axis.name].reason for axis in space.free)


def test_quick_differs_only_where_it_says_so() -> None:
    default, quick = load_preset("default").model_dump(), load_preset("quick").model_dump()
    assert "first look" in quick["about"]
    assert quick["likelihood"] == {**default["likelihood"], "replicates": 8}
    assert quick["search"]["evaluations"] < default["search"]["evaluations"]
    for name, settings in default["parameters"].items():
        nodes = quick["parameters"][name]["nodes"]
        assert quick["parameters"][name] == {**settings, "nodes": nodes}
        assert nodes < settings["nodes"] if name in ("alpha", "omega") else nodes == settings["nodes"]


@pytest.mark.parametrize("name", shipped_names("fitting"))
def test_a_preset_survives_json(name: str) -> None:
    preset = load_preset(name)
    assert Preset.model_validate_json(preset.model_dump_json()) == preset


def test_the_example_in_the_readme_works(tmp_path: Path) -> None:
    text = (study_folder("fitting") / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    space = preset_of(tmp_path, example[1]).space(HOLMES)
    assert [axis.name for axis in space.free] == ["alpha", "depth_scale", "beta"]
    assert (space.fixed, space.tied) == ({"lapse": 0.02, "bias": 0.0}, {"omega": "alpha"})
    assert space.response[0].parameter.low == 0.5


def test_no_fit_depends_on_how_people_are_pooled(tmp_path: Path) -> None:
    presets = []
    for name, text in (("one", ""), ("other", "[pooling]\ndraws = 2000\nspread = 0.2")):
        (tmp_path / name).mkdir()
        presets.append(preset_of(tmp_path / name, f'base = "default"\n{text}'))
    one, other = presets
    assert one.pooling == load_preset("default").pooling
    assert (other.pooling.draws, other.pooling.spread, other.pooling.chains) == (2000, 0.2, one.pooling.chains)
    plans = [request_fit(people(1), ("bias",), preset=preset, fix={"choice_probability": 0.4}) for preset in presets]
    assert plans[0].identity() == plans[1].identity()
    assert plans[1].preset.pooling == other.pooling


def test_one_model_can_differ(tmp_path: Path) -> None:
    preset = preset_of(tmp_path, 'base = "default"\n[models.holmes]\nalpha.fixed = 1\nomega = { nodes = 5, high = 2 }')
    assert preset.space(HOLMES).fixed["alpha"] == 1
    assert [axis.nodes for axis in preset.space(HOLMES).learning] == [5]
    assert preset.space(HOLMES).learning[0].parameter.high == 2
    assert preset.space(FLAT) == load_preset("default").space(FLAT)


def test_the_last_word_on_a_parameter_counts(tmp_path: Path) -> None:
    preset_of(tmp_path, 'base = "default"\n[parameters.omega]\ntied = "alpha"', "tied")
    text = 'base = "tied.toml"\n[parameters.omega]\nfixed = 0.5\n[models.flat.omega]\nfree = true'
    preset = preset_of(tmp_path, text)
    assert preset.space(HOLMES).fixed["omega"] == 0.5
    assert [axis.name for axis in preset.space(FLAT).learning] == ["alpha", "omega"]


def test_bounds_may_leave_the_default_value_out(tmp_path: Path) -> None:
    preset = preset_of(tmp_path, 'base = "default"\n[parameters.alpha]\nlow = 2\nhigh = 4')
    axis = preset.space(FLAT).learning[0]
    assert (axis.parameter.low, axis.parameter.high) == (2, 4)
    assert np.exp(axis.positions).min() > 2


def test_everything_may_be_fixed() -> None:
    fitted = {own.name: own.default for model in MODELS.values() for own in parameters_of(model) if own.free}
    preset = with_fixed(load_preset("default"), fitted)
    for model in MODELS.values():
        space = preset.space(model)
        assert space.free == ()
        assert space.model_values({}).keys() == {own.name for own in model.parameters}


def test_a_parameter_that_is_fixed_off_is_at_its_default(tmp_path: Path) -> None:
    preset = preset_of(tmp_path, 'base = "default"\n[parameters.lapse]\nfree = false')
    assert preset.space(FLAT).fixed["lapse"] == 0.02


def test_bias_can_be_freed(tmp_path: Path) -> None:
    preset = preset_of(tmp_path, 'base = "default"\n[parameters.bias]\nfree = true')
    assert preset.space(HOLMES).response[-1].prior == Distribution("normal", 0, 1)


WRONG = [
    ("[parameters.alpa]\nnodes = 3", "key parameters.alpa: saw 'alpa'; allowed: one of alpha, omega"),
    ("[parameters.alpa]\nnodes = 3", "Did you mean 'alpha'?"),
    ("[models.holms.alpha]\nnodes = 3", "Did you mean 'holmes'?"),
    ("[models.flat.depth_scale]\nfixed = 1", "key models.flat.depth_scale: saw 'depth_scale'; allowed: one of alpha"),
    ("[parameters.alpha]\nlow = 3\nhigh = 2", "key parameters.alpha.high: saw 2.0; allowed: low below high"),
    ("[parameters.alpha]\nlow = 6", "key parameters.alpha.low: saw 6.0; allowed: low below high, which are 6 and 5"),
    ("[parameters.alpha]\nlow = 0", "key parameters.alpha.low: saw 0.0; allowed: a number above 0"),
    ("[parameters.lapse]\nhigh = 1.0", "key parameters.lapse.high: saw 1.0; allowed: a number between 0 and 1"),
    ("[parameters.bias]\nfree = true\nhigh = 9", "key parameters.bias.high: saw 9.0; allowed: a number from -5 to 5"),
    ("[parameters.alpha]\nfixed = -1", "key parameters.alpha.fixed: saw -1.0; allowed: a number above 0"),
    ("[models.holmes.alpha]\nfixed = -1", "key models.holmes.alpha.fixed: saw -1.0"),
    (
        "[models.holmes.depth_scale]\nfixed = 2",
        "key models.holmes.depth_scale.fixed: saw 2.0; allowed: a number from 0",
    ),
    ('[parameters.alpha]\nprior = "normal:0,1"', "key parameters.alpha.prior: saw 'normal:0,1'; allowed: lognormal"),
    ('[parameters.alpha]\nprior = "1"', "A value that is not fitted is written fixed = ..."),
    ('[parameters.alpha]\nprior = "uniform:6,9"', "a prior that has mass from 0.05 to 5"),
    ('[parameters.omega]\ntied = "alpha"\nfixed = 1', "key parameters.omega.tied: saw 'alpha'; allowed: either fixed"),
    ('[parameters.omega]\ntied = "alpha"\nfree = true', "key parameters.omega.free: saw True; allowed: either free or"),
    ('[parameters.omega]\ntied = "omega"', "It cannot be tied to itself."),
    ('[parameters.omega]\ntied = "alpa"', "Did you mean 'alpha'?"),
    ('[parameters.alpha]\nprior = "lognormal:1,0.01"', "an SD of at least half a cell of the lattice, 0.11"),
    ("[parameters.alpha]\nnodes = 2", "key parameters.alpha.nodes: saw 2"),
    (
        "[parameters]\nalpha.nodes = 200\nomega.nodes = 200",
        "saw 15360000 nodes for flat: alpha 200, omega 200, beta 32, lapse 12; allowed: up to 4000000",
    ),
    ('[parameters.lapse]\ntied = "beta"', "Parameters of responding cannot be tied."),
    ('[parameters.omega]\ntied = "beta"', "One of learning cannot share a value with one of responding."),
    ('[parameters]\nomega.tied = "alpha"\nalpha.fixed = 1', "alpha is fixed."),
    ('[parameters]\nomega.tied = "alpha"\nalpha.tied = "omega"', "omega is tied itself."),
    ('[models.holmes]\ndepth_scale.tied = "alpha"', "saw alpha from 0.05 to 5; allowed: a number from 0 to 1"),
    ("[likelihood]\nreplicates = 0", "key likelihood.replicates: saw 0; allowed: greater than or equal to 8"),
    ("[likelihood]\nreplicates = 50", "key likelihood.replicates: saw 50; allowed: a multiple of 8"),
    ("[likelihood]\nlargest_error = 0", "key likelihood.largest_error: saw 0; allowed: greater than 0"),
    ("[likelihood]\nmost_replicates = 64", "key likelihood.most_replicates: saw 64; allowed: keys kind, replicates"),
    ('[likelihood]\nkind = "mean"', "key likelihood.kind: saw 'mean'; allowed: 'marginal' or 'expected'"),
    ('[search]\nmethod = "bfgs"', "key search.method: saw 'bfgs'; allowed: 'nelder_mead', 'tpe', 'cmaes' or 'random'"),
    ("[search]\nevaluation = 9", "Did you mean 'evaluations'?"),
    ("[parameters.alpha]\nnode = 9", "Did you mean 'nodes'?"),
    ("[models.holmes.alpha]\nlo = 9", "key models.holmes.alpha.lo: saw 9; allowed: keys prior, nodes, low"),
    ("[serch]\nevaluations = 9", "Did you mean 'search'?"),
    ("[parameters]\nalpha = 3", "key parameters.alpha: saw 3; allowed: a table, as in [parameters.alpha]"),
    ("[posterior]\ndraws = 1.5", "key posterior.draws: saw 1.5"),
    ("[parameters.alpha]\nlow = nan", "key parameters.alpha.low: saw nan"),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_named(text: str, expected: str, tmp_path: Path) -> None:
    found = problems_of(tmp_path, f'base = "default"\n{text}')
    assert any(expected in problem for problem in found), found
    assert len(found) == len(set(found))
    assert all(problem.startswith("mine.toml, key ") for problem in found)


def test_everything_wrong_is_named_at_once(tmp_path: Path) -> None:
    text = """
    base = "default"
    [parameters]
    alpha = { low = 3, high = 2, prior = "x" }
    beta = { fixed = -1 }
    gamma = { nodes = 3 }
    omega = { tied = "lapse" }
    [models.homes.alpha]
    nodes = 3
    """
    keys = {problem.partition(":")[0].removeprefix("mine.toml, key ") for problem in problems_of(tmp_path, text)}
    wrong = {"alpha.high", "alpha.prior", "beta.fixed", "gamma", "omega.tied"}
    assert keys == {"models.homes", *(f"parameters.{key}" for key in wrong)}


def test_a_prior_is_needed_without_a_base(tmp_path: Path) -> None:
    found = problems_of(tmp_path, "")
    fitted = {own.name for model in MODELS.values() for own in parameters_of(model) if own.free}
    assert len(found) == len(fitted)  # each once
    assert "key parameters.alpha.prior: saw nothing; allowed: a prior, as it is fitted. Write base" in found[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base = 3", "key base: saw 3"),
        ('base = "defalt"', "Did you mean 'default'"),
        ('base = "mine.toml"', "a preset that is not built on this one"),
        ("x = ", "mine.toml: saw .*; allowed: TOML"),
    ],
)
def test_a_file_that_cannot_be_built_on_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        preset_of(tmp_path, text)


def test_a_base_that_is_wrong_is_named_itself(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text('base = "default"\n[parameters.alpha]\nlow = 9')
    with pytest.raises(InputError, match=r"^below\.toml, key parameters\.alpha\.low"):
        preset_of(tmp_path, 'base = "below.toml"')


@pytest.mark.parametrize("name", ["defaul", "none.toml", "x" * 300, "nul\0", ""])
def test_an_unknown_preset_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="the path of a TOML file, or one of careful, default, quick"):
        load_preset(name)


def test_the_ends_of_a_uniform_prior_are_bounds(tmp_path: Path) -> None:
    space = preset_of(tmp_path, 'base = "default"\n[parameters.lapse]\nprior = "uniform:0,0.1"').space(FLAT)
    lapse = space.response[-1]
    assert (lapse.parameter.low, lapse.parameter.high) == (0.001, 0.1)
    assert np.isfinite(lapse.log_density(np.linspace(lapse.low, lapse.high, 9))).all()


def test_fixing_beats_what_a_model_says(tmp_path: Path) -> None:
    preset = preset_of(
        tmp_path, 'base = "default"\n[models.holmes]\nlapse.prior = "uniform:0,0.1"\nomega.tied = "alpha"'
    )
    fixed = with_fixed(preset, {"lapse": 0.05, "omega": 2})
    for model in (HOLMES, FLAT):
        assert fixed.space(model).fixed["lapse"] == 0.05
        assert fixed.space(model).fixed["omega"] == 2
    assert with_fixed(preset, {}) == preset
    assert Preset.model_validate_json(fixed.model_dump_json()) == fixed


def test_only_some_models_need_to_have_what_is_fixed() -> None:
    preset = with_fixed(load_preset("default"), {"depth_scale": 0.5}, [FLAT, HOLMES])
    assert preset.space(HOLMES).fixed["depth_scale"] == 0.5
    assert "depth_scale" not in preset.space(FLAT).fixed


def test_fixing_what_cannot_be_fixed_is_refused() -> None:
    with pytest.raises(InputError, match="Did you mean 'lapse'") as caught:
        with_fixed(load_preset("default"), {"laps": 0.02, "depth_scale": 1, "beta": 0, "alpha": True}, [FLAT])
    assert [problem.where for problem in caught.value.problems] == [
        "fix laps",
        "fix depth_scale",
        "fix beta",
        "fix alpha",
    ]


def test_fixing_a_parameter_that_others_share_is_refused(tmp_path: Path) -> None:
    preset = preset_of(tmp_path, 'base = "default"\n[parameters.omega]\ntied = "alpha"')
    with pytest.raises(InputError, match="alpha is fixed"):
        with_fixed(preset, {"alpha": 1}).space(FLAT)
