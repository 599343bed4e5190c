"""What a run says of its models and parameters, for people: their labels, meanings and looks.

``fit`` writes it into the manifest, as each model describes itself; a run that was made without it has the names alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

ABOUT = "described"  # where it is in the manifest


class ModelWords(NamedTuple):
    """How a model is shown."""

    label: str
    meaning: str = ""  # a noun with its article, for sentences
    color: str = ""  # none, if the model has none of its own
    marker: str = "o"
    baseline: bool = False  # whether it is there for the others to be held against
    family: str = ""  # what it has in common with others, such as latent-cause or exemplar


class ParameterWords(NamedTuple):
    """How a parameter is shown."""

    label: str
    meaning: str = ""


def model_words(about: Mapping[str, object], model: str) -> ModelWords:
    """Return what a manifest's part ``about`` says of a model; its name is its label, if it says nothing."""
    said = _said(about, "models", model)
    color, marker = (str(said.get(name, "")) for name in ("color", "marker"))
    label, meaning = str(said.get("label", "")), str(said.get("meaning", ""))
    baseline, family = said.get("baseline") is True, str(said.get("family", ""))
    return ModelWords(label or model, meaning, color, marker or "o", baseline, family)


def parameter_words(about: Mapping[str, object], parameter: str) -> ParameterWords:
    """Return what a run says of a parameter; its name is its label, if it says nothing."""
    said = _said(about, "parameters", parameter)
    return ParameterWords(str(said.get("label", "")) or parameter, str(said.get("meaning", "")))


def _said(about: Mapping[str, object], kind: str, name: str) -> Mapping[str, object]:
    found: object = about
    for step in (ABOUT, kind, name):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
