"""What models and parameters are called and how they look, those of the package and any other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holmes_fit.reporting.style import MODEL_COLORS

LABELS = {
    "flat": "flat",
    "flat_sticky": "flat, sticky",
    "holmes": "HOLMES",
    "holmes_no_stick": "HOLMES, no stickiness",
    "holmes_no_stop": "HOLMES, no stopping",
    "holmes_structure_only": "HOLMES, structure only",
    "rescorla_wagner": "Rescorla–Wagner",
    "bias": "bias",
}
DESCRIPTIONS = {
    "flat": "the flat latent-cause model, a Chinese restaurant process over causes (Gershman et al., 2010)",
    "flat_sticky": "the flat latent-cause model with stickiness",
    "holmes": "HOLMES, which infers a tree of latent causes online (Aitsahalia & Iigaya)",
    "holmes_no_stick": "HOLMES without stickiness",
    "holmes_no_stop": "HOLMES without stopping",
    "holmes_structure_only": "HOLMES with neither stickiness nor stopping",
    "rescorla_wagner": "a Rescorla–Wagner learner (Rescorla & Wagner, 1972)",
    "bias": "a constant choice probability",
}
BASELINES = ("rescorla_wagner", "bias")

# Hues that differ in lightness as well, beside the grey and the violet of the two families.
COLORS = {**MODEL_COLORS, "rescorla_wagner": "#e69f00", "bias": "#56b4e9"}
COLOR_WORDS = {"flat": "in grey", "holmes": "in violet"}
OTHERS = ("#009e73", "#cc79a7", "#0072b2")

# Groups of people never share a colour with a model: Okabe and Ito's hues, with a marker each.
GROUP_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#222222")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

PARAMETERS = {
    "alpha": "α",
    "omega": "Ω",
    "beta": "β",
    "lapse": "lapse",
    "bias": "bias",
    "depth_scale": "λ",
    "learning_rate": "learning rate",
    "choice_probability": "P(choice = 1)",
}
MEANINGS = {
    "alpha": "how readily new causes are opened",
    "omega": "pseudocount of features, and stickiness",
    "beta": "how consistently choices follow predictions",
    "lapse": "share of choices made at random",
    "bias": "preference for answer 1",
    "depth_scale": "how fast concentration falls with depth",
    "learning_rate": "step of each update",
    "choice_probability": "constant share of answers 1",
}


_LEVEL = re.compile(r"\[T\.([^\]]*)\]")


def model_label(model: str) -> str:
    """Return a model's name for people."""
    return LABELS.get(model, model)


def model_description(model: str) -> str:
    """Return what a model is, in words for a sentence."""
    return DESCRIPTIONS.get(model, model)


def model_color(model: str, models: Sequence[str] = ()) -> str:
    """Return a model's colour; one that the package does not know gets one of its own among ``models``."""
    if model in COLORS:
        return COLORS[model]
    unknown = [name for name in models if name not in COLORS]
    return OTHERS[unknown.index(model) % len(OTHERS)] if model in unknown else OTHERS[0]


def parameter_label(parameter: str) -> str:
    """Return a parameter's symbol or name for people."""
    return PARAMETERS.get(parameter, parameter)


def term_label(term: str) -> str:
    """Return an effect for people: ``group[T.patient]`` is how formulas call patients against the first group."""
    return _LEVEL.sub(r": \1", term).replace(" - ", " − ")


def group_color(place: int) -> str:
    """Return the colour of the group at that place."""
    return GROUP_COLORS[place % len(GROUP_COLORS)]


def group_marker(place: int) -> str:
    """Return the marker of the group at that place."""
    return GROUP_MARKERS[place % len(GROUP_MARKERS)]
