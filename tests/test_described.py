"""Models and parameters describe themselves once; a run carries it to whoever shows the results."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from holmes_fit.fitting.request import request_fit
from holmes_fit.models.registry import MODELS, LatentCauseModel, baselines, descriptions
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.runs.described import ModelWords, ParameterWords, model_words, parameter_words
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.manifest import new_manifest
from tests.small_fits import people


def about(*models: str) -> Mapping[str, object]:
    return new_manifest({}, {"described": descriptions(MODELS[name] for name in models)}, ()).about


def test_every_model_of_the_package_is_described_in_full() -> None:
    said = about(*MODELS)
    words = [model_words(said, name) for name in MODELS]
    for name, each in zip(MODELS, words, strict=True):
        assert each.label == MODELS[name].label
        assert each.meaning
        assert re.fullmatch("#[0-9a-f]{6}", each.color)
    assert len({each.color for each in words}) == len(words)
    assert len({each.label for each in words}) == len(words)
    assert baselines() == tuple(sorted(name for name in MODELS if model_words(said, name).baseline))
    assert baselines() == ("bias", "rescorla_wagner", "win_stay")
    families = {"latent-cause", "exemplar", "clustering", "error-driven", "heuristic"}
    assert {each.family for each in words} == families


def test_parameters_are_described_with_those_of_the_response_rule() -> None:
    said = about("holmes")
    for parameter in (*MODELS["holmes"].parameters, *CHOICES.parameters):
        assert parameter_words(said, parameter.name) == (parameter.label, parameter.meaning)
    assert parameter_words(said, "omega").label == "Ω"
    assert parameter_words(said, "lapse").label == "lapse"
    assert parameter_words(about("bias"), "beta") == ParameterWords("beta")


def test_a_model_of_ones_own_needs_no_more_than_a_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "shallow", LatentCauseModel("shallow", "HOLMES, 2 levels", 2, True, True))
    assert model_words(about("shallow"), "shallow") == ModelWords("HOLMES, 2 levels", family="latent-cause")


@pytest.mark.parametrize("about", [{}, {"described": {}}, {"described": {"models": {"holmes": 3}}}, {"described": "x"}])
def test_a_run_that_says_nothing_has_the_names(about: dict[str, object]) -> None:
    said = new_manifest({}, about, ()).about
    assert model_words(said, "holmes") == ModelWords("holmes")
    assert parameter_words(said, "alpha") == ParameterWords("alpha")


def test_a_run_says_what_its_models_say(tmp_path: Path) -> None:
    with request_fit(people(1), ["bias"], preset="quick").open(tmp_path / "run"):
        pass
    said = read_run(tmp_path / "run").manifest
    assert model_words(said.about, "bias").baseline
    assert parameter_words(said.about, "choice_probability").label == "P(choice = 1)"
    assert "described" not in said.identity
