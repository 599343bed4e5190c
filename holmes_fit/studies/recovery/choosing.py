"""Whether the right model is found: person by person, and over all people who follow it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.fitting.cohort import Fits
from holmes_fit.runs.schema import of
from holmes_fit.studies.recovery.pooled import MixtureFound
from holmes_fit.studies.statistics import RESAMPLES, Estimate, percentiles, share

CONFUSION = of("confusion.csv").columns
MODEL_RECOVERY = of("model_recovery.csv").columns
EVIDENCE, POOLED = "evidence", "pooled"  # criteria: the evidence of a person alone, the mixture of everyone


def evidences_of(fits: Fits, models: Sequence[str]) -> pd.DataFrame:
    """Return the log evidence of each model, people x models; those who were not fitted with all are left out."""
    wide = fits.models.pivot(index="subject", columns="model", values="log_evidence")
    return wide.reindex(columns=list(models)).dropna()


def confusion_table(fits: Mapping[str, Fits], everyone: MixtureFound | None, seed: int) -> pd.DataFrame:
    """Return ``confusion.csv``: how often each model is chosen for people who follow a model.

    By the criterion ``pooled`` it is the most probable model of a person in the mixture of everyone. ``inversion`` is
    the probability that a person follows ``truth`` if ``chosen`` was chosen, all models being equally frequent.
    """
    models = list(fits)
    rows: list[tuple[object, ...]] = []
    for number, criterion in enumerate((EVIDENCE, POOLED)):
        chosen = {truth: _chosen(fits[truth], models, criterion, everyone) for truth in models}
        counts = {
            truth: np.array([np.sum(own == model) for model in models])
            for truth, own in chosen.items()
            if own is not None and len(own)
        }
        inverted = _inverted(list(counts.values()), np.random.default_rng([seed, number]))
        for down, (truth, count) in enumerate(counts.items()):
            for across, model in enumerate(models):
                own_share = share(int(count[across]), int(count.sum()))
                who = (criterion, truth, model, int(count.sum()), int(count[across]))
                rows.append((*who, *own_share, *inverted[down][across]))
    return pd.DataFrame(rows, columns=list(CONFUSION))


def _inverted(counts: Sequence[NDArray[np.int_]], rng: np.random.Generator) -> list[list[Estimate]]:
    """Return truths x models: the probability of the truth given the choice, with its bootstrap interval over people.

    For each truth, ``counts`` says how often each model was chosen.
    """
    shares = [count / count.sum() for count in counts]
    drawn = [
        rng.multinomial(count.sum(), own, size=RESAMPLES) / count.sum()
        for count, own in zip(counts, shares, strict=True)
    ]
    # Truths x samples x models, the people as they are being the first sample.
    every = np.array([np.vstack([own, again]) for own, again in zip(shares, drawn, strict=True)])
    with np.errstate(invalid="ignore"):  # a model that is never chosen has no truths behind it
        found = every / every.sum(axis=0)
    return [[Estimate(float(column[0]), *percentiles(column[1:])) for column in own.T] for own in found]


def _chosen(
    fits: Fits, models: Sequence[str], criterion: str, everyone: MixtureFound | None
) -> NDArray[np.object_] | None:
    if criterion == EVIDENCE:
        evidence = evidences_of(fits, models)
        return np.array(models, dtype=object)[evidence.to_numpy().argmax(axis=1)] if len(evidence) else None
    if everyone is None:
        return None
    own = set(fits.models["subject"])
    rows = [number for number, subject in enumerate(everyone.subjects) if subject in own]
    return np.array(everyone.models, dtype=object)[everyone.probability[rows].argmax(axis=1)]


def model_table(fits: Mapping[str, Fits], mixtures: Mapping[str, MixtureFound | None], seed: int) -> pd.DataFrame:
    """Return ``model_recovery.csv``: what speaks for each model over all people who follow one.

    ``total`` is the sum over people, ``difference`` its distance from that of the true model, below 0 if the true model
    is ahead. The criterion ``pooled`` has frequencies instead, from the mixture of the cohort.
    """
    models = list(fits)
    rows: list[dict[str, object]] = []
    for number, truth in enumerate(models):
        evidence = evidences_of(fits[truth], models)
        n = len(evidence)
        rng = np.random.default_rng([seed, number, n])
        for model in models:
            difference = (evidence[model] - evidence[truth]).to_numpy()
            chosen = rng.integers(max(1, n), size=(RESAMPLES, n))
            lower, upper = percentiles(difference[chosen].sum(axis=1)) if n else (np.nan, np.nan)
            of_sum = {"n": n, "total": evidence[model].sum(), "difference": difference.sum()}
            interval = {"difference_lower": lower, "difference_upper": upper}
            rows.append({"truth": truth, "model": model, "criterion": EVIDENCE, **of_sum, **interval})
        mixture = mixtures.get(truth)
        if mixture is not None:
            found = pd.DataFrame(
                {name: getattr(mixture, name) for name in ("frequency", "lower", "upper", "exceedance")}
            )
            found = found.assign(protected_exceedance=mixture.protected, n=len(mixture.subjects), model=mixture.models)
            rows += found.assign(truth=truth, criterion=POOLED).to_dict("records")  # type: ignore[arg-type]
    return pd.DataFrame(rows, columns=list(MODEL_RECOVERY))
