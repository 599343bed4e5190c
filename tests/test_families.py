"""Models compared as families: against sums over all ways in which people can follow models, and in words."""

from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from holmes_fit.groups.comparison.families import Families, families_of
from holmes_fit.groups.comparison.words import families_in_words
from holmes_fit.groups.pooling.mixture import Mixture

SEED = 20261122
MODELS = ("flat", "rational", "holmes", "gcm")  # three with latent causes, one with exemplars
MEMBERS = {"latent-cause": (0, 1, 2), "exemplar": (3,)}
DRAWS = 20_000


def found(log_evidence: NDArray[np.float64], groups: tuple[str, ...] = (), group_of: Any = None) -> Families:
    people, models = log_evidence.shape
    imputed = np.broadcast_to(log_evidence, (DRAWS, people, models))
    mixture = SimpleNamespace(models=MODELS, imputed=imputed, frequency=np.full((DRAWS, models), 1 / models))
    numbers = np.zeros(people, dtype=np.intp) if group_of is None else np.array(group_of)
    return families_of(cast(Mixture, mixture), groups, numbers)


def by_enumeration(log_evidence: NDArray[np.float64]) -> tuple[float, float, float]:
    """Frequency of latent causes, the probability that the first person follows one, and the omnibus risk."""
    people, models = log_evidence.shape
    prior = np.array([1 / 3, 1 / 3, 1 / 3, 1.0])
    weights, of_causes, first, equal = [], [], [], []
    for follows in product(range(models), repeat=people):
        counts = np.bincount(follows, minlength=models)
        of_counts = np.sum(gammaln(prior + counts) - gammaln(prior)) + gammaln(2) - gammaln(2 + people)
        own = sum(log_evidence[person, model] for person, model in enumerate(follows))
        n_causes = counts[:3].sum()
        weights.append(of_counts + own)
        of_causes.append((1 + n_causes) / (2 + people))
        first.append(follows[0] in MEMBERS["latent-cause"])
        # Families equally frequent; within one, shares of models are unknown still
        within = gammaln(1) - gammaln(1 + n_causes) + np.sum((gammaln(prior + counts) - gammaln(prior))[:3])
        equal.append(own + people * np.log(0.5) + within)
    mass = np.exp(np.array(weights) - logsumexp(weights))
    risk = 1 / (1 + np.exp(logsumexp(weights) - logsumexp(equal)))
    return float(mass @ of_causes), float(mass @ np.array(first)), float(risk)


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
def test_families_agree_with_enumeration(scale: float) -> None:
    log_evidence = scale * np.random.default_rng(SEED).standard_normal((4, 4))
    frequency, first, risk = by_enumeration(log_evidence)
    families = found(log_evidence)
    assert families.members == {"latent-cause": ("flat", "rational", "holmes"), "exemplar": ("gcm",)}
    of_causes = families.frequency[:, 0]
    assert of_causes.mean() == pytest.approx(frequency, abs=4 * of_causes.std() / np.sqrt(DRAWS))
    assert families.probability[0, 0] == pytest.approx(first, abs=0.02)
    assert families.risk == pytest.approx(risk, abs=0.02)
    if scale == 0:  # three models of a family are no reason to hold it more frequent
        assert frequency == pytest.approx(0.5)
        assert families.exceedance[0] == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(DRAWS))


def test_the_table_and_the_words() -> None:
    log_evidence = np.zeros((12, 4))
    log_evidence[:9, 1] = log_evidence[9:, 3] = 8.0
    families = found(log_evidence, ("young", "old"), [0] * 9 + [1] * 3)
    table = families.table.set_index(["group", "family"])
    assert list(table.loc["everyone"].index) == ["latent-cause", "exemplar", "clustering", "error-driven"]
    assert table.loc[("everyone", "clustering"), ["n_models"]].item() == 0
    assert table["n_subjects"].dropna().tolist() == [12, 12, 9, 9, 3, 3]
    assert table.loc[("everyone", "latent-cause"), "likeliest_for"] == 9
    shares = table["mean"].unstack()[["latent-cause", "exemplar"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares.loc["young", "latent-cause"] > 0.85 > 0.3 > shares.loc["old", "latent-cause"]
    told, missing = families_in_words(families, 4000)
    assert told.startswith("By families, all equally likely beforehand: latent-cause (flat, rational, holmes) ")
    assert "; exemplar (gcm) " in told
    assert missing == "No clustering or error-driven model was weighed, so that nothing is said of those."
