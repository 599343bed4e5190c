"""How models, parameters, effects and groups are shown: the words of a run, and colours where it has none."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holmes_fit.reporting.style import INK
from holmes_fit.runs.described import model_words, parameter_words

OTHERS = ("#009e73", "#cc79a7", "#0072b2")  # of models that have no colour of their own

# Groups of people never share a colour with a model: Okabe and Ito's hues, with a marker each.
GROUP_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#222222")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

_LEVEL = re.compile(r"\[T\.([^\]]*)\]")


@dataclass(frozen=True)
class Words:
    """What a run says of its models and parameters."""

    about: Mapping[str, object]  # of its manifest
    models: Sequence[str]  # which share the colours that are left

    def label(self, model: str) -> str:
        return model_words(self.about, model).label

    def meaning(self, model: str) -> str:
        """Return what a model is, in words for a sentence."""
        return model_words(self.about, model).meaning or self.label(model)

    def color(self, model: str) -> str:
        """Return a model's colour; one that has none gets one of those that are left."""
        if color := model_words(self.about, model).color:
            return color
        others = [name for name in self.models if not model_words(self.about, name).color]
        return OTHERS[others.index(model) % len(OTHERS) if model in others else 0]

    def is_baseline(self, model: str) -> bool:
        return model_words(self.about, model).baseline

    def parameter(self, parameter: str) -> str:
        """Return its label; ``alpha[drug]`` is that of one condition."""
        name, _, condition = parameter.partition("[")
        label = parameter_words(self.about, name).label
        return f"{label} in {condition.removesuffix(']')}" if condition else label

    def meaning_of_parameter(self, parameter: str) -> str:
        return parameter_words(self.about, parameter.partition("[")[0]).meaning


def term_label(term: str) -> str:
    """Return an effect for people: ``group[T.patient]`` is how formulas call patients against the first group."""
    return _LEVEL.sub(r": \1", term).replace(" - ", " − ")


def color_of(group: str, groups: Sequence[str]) -> str:
    """Return the colour of a group; everyone together is dark."""
    return GROUP_COLORS[groups.index(group) % len(GROUP_COLORS)] if group in groups else INK


def group_marker(place: int) -> str:
    """Return the marker of the group at that place."""
    return GROUP_MARKERS[place % len(GROUP_MARKERS)]
