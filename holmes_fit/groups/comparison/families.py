"""Models compared as families, such as those with latent causes and those with exemplars (Penny et al., 2010).

All families are equally likely beforehand, however many models each has: a family's concentration of 1 is divided among
its models. So a family does not win by being tried in many variants. Draws of what models predict are those of the
mixture; what the other prior of the frequencies would change about the parameters of a model is left aside.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.groups.comparison.omnibus import RandomEffects, frequencies_by_group
from holmes_fit.groups.pooling.mixture import Mixture
from holmes_fit.models.registry import MODELS, baselines, find_model, is_shipped
from holmes_fit.runs.knowledge import summary
from holmes_fit.runs.schema import frame
from holmes_fit.trials.summaries import EVERYONE


@dataclass(frozen=True, kw_only=True)
class Families(RandomEffects):
    """How frequent families of models are; arrays have families in the place of models."""

    members: Mapping[str, tuple[str, ...]]  # the models of each family
    probability: NDArray[np.float64]  # people x families, that a person follows one of its models
    groups: Mapping[str, NDArray[np.float64]]  # by name of a group of people, draws x families
    sizes: Mapping[str, int]  # people, everyone and by group

    @property
    def table(self) -> pd.DataFrame:
        """``families.csv``: a row for each group and family, everyone first; then those that were left out."""
        likeliest = np.bincount(self.probability.argmax(axis=1), minlength=len(self.members))
        shares = {EVERYONE: self.frequency, **self.groups}
        rows: list[dict[str, object]] = []
        for (group, own), (number, (name, models)) in (
            (each, one) for each in shares.items() for one in enumerate(self.members.items())
        ):
            about = {"group": group, "family": name, "models": " ".join(models), "n_models": len(models)}
            row = about | {"n_subjects": self.sizes[group], **summary(own[:, number])}
            if group == EVERYONE:
                row |= {"exceedance": self.exceedance[number], "protected_exceedance": self.protected[number]}
                row |= {"likeliest_for": likeliest[number]}
            rows.append(row)
        rows += [{"group": EVERYONE, "family": name, "models": "", "n_models": 0} for name in self.left_out]
        return frame("families.csv", rows)

    @property
    def left_out(self) -> list[str]:
        """The families of which no model was weighed; baselines have no part in it."""
        weighable = [name for name in MODELS if is_shipped(name) and name not in baselines()]
        return [name for name in dict.fromkeys(map(family_of, weighable)) if name not in self.members]


def family_of(model: str) -> str:
    """Return the family of a model; one that says nothing of it is a family of its own."""
    return str(getattr(find_model(model), "family", "")) or model


def families_of(mixture: Mixture, groups: tuple[str, ...], group_of: NDArray[np.intp]) -> Families:
    """Return how frequent the families of a mixture's models are, over everyone and by group."""
    rng = np.random.default_rng([21, len(mixture.frequency)])
    of_model = [family_of(name) for name in mixture.models]
    names = list(dict.fromkeys(of_model))
    belongs = np.array([[own == name for name in names] for own in of_model])  # models x families
    prior = 1.0 / belongs.sum(axis=0)[belongs.argmax(axis=1)]

    def drawn(numbers: NDArray[np.intp], n_groups: int) -> NDArray[np.float64]:
        return frequencies_by_group(mixture.imputed, mixture.frequency, numbers, n_groups, rng, prior)

    of_models = drawn(np.zeros_like(group_of), 1)[:, 0]
    frequency = of_models @ belongs
    with np.errstate(divide="ignore"):
        joint = np.log(of_models)[:, None] + mixture.imputed  # draws x people x models
        by_family = np.stack([logsumexp(joint[..., own], axis=-1) for own in belongs.T], axis=-1)
        log_likelihood = by_family - np.log(frequency)[:, None]
    shares = RandomEffects.of(log_likelihood, frequency, rng)
    in_groups = drawn(group_of, len(groups)) @ belongs if groups else np.empty((0, 0, 0))
    sizes = {name: int(np.sum(group_of == number)) for number, name in enumerate(groups)}
    return Families(
        **vars(shares),
        members={name: tuple(np.array(mixture.models)[own]) for name, own in zip(names, belongs.T, strict=True)},
        probability=np.exp(by_family - logsumexp(by_family, axis=-1, keepdims=True)).mean(axis=0),
        groups={name: in_groups[:, number] for number, name in enumerate(groups)},
        sizes={EVERYONE: len(group_of), **sizes},
    )
