"""Groups of simulated people: each cohort pooled with its own model, and mixtures of all models.

There are two kinds of mixtures. That of one cohort, in which everyone follows the same model, says whether a group is
recognised. That of everyone together, in which all models are equally frequent, says who is recognised in a mixed
group; in a pure one, people are judged by the company they keep.

Every result is a record of the study's folder, with a digest of what it was computed from. It is computed anew if that
has changed.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem
from holmes_fit.fitting.cohort import Fits
from holmes_fit.groups.comparison.compare import shares_of
from holmes_fit.groups.pooling.lattices import Lattices, load_lattices
from holmes_fit.groups.pooling.mixture import mix_models
from holmes_fit.groups.pooling.pool import pool_people
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.results import INPUTS, write_pooled
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.runs.folder import Run
from holmes_fit.runs.identity import RESULTS_VERSION
from holmes_fit.runs.person_records import EVIDENCE
from holmes_fit.runs.records import Key, Record
from holmes_fit.settings.distributions import FEWEST_IN_GROUP
from holmes_fit.studies.statistics import percentiles

POOL, MIXTURE, EVERYONE = "pool", "mixture", "everyone"
POOLED_TABLE = "pooled.csv"


def pooling_keys(models: Sequence[str]) -> list[Key]:
    """Return the keys of all groups of a study."""
    keys: list[Key] = [(POOL, model) for model in models]
    if len(models) > 1:
        keys += [(MIXTURE, name) for name in (*models, EVERYONE)]
    return keys


@dataclass(frozen=True)
class MixtureFound:
    """What is kept of a mixture: frequencies of the models with 95% intervals, and who follows which."""

    models: tuple[str, ...]
    subjects: tuple[str, ...]
    probability: NDArray[np.float64]  # people x models; what follows is by model
    frequency: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exceedance: NDArray[np.float64]  # the probability that it is the most frequent
    protected: NDArray[np.float64]  # the same with the omnibus risk


def pool_study(
    run: Run,
    fits: dict[str, Fits],
    prior: GroupPrior,
    sampling: Sampling,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Compute all groups that are missing, or whose people were fitted otherwise since; call ``done`` after each.

    Fits are those of each cohort, by the model that simulated it.
    """
    settings = repr((RESULTS_VERSION, prior, replace(sampling, cores=None))).encode()
    for kind, name in pooling_keys(list(fits)):
        own = list(fits.values()) if name == EVERYONE else [fits[name]]
        tables = [(each.folder / name).read_bytes() for each in own for name in INPUTS]
        inputs = hashlib.sha256(b"\0".join([settings, *tables])).hexdigest()
        if not _is_up_to_date(run, (kind, name), inputs, fits):
            compute = _pool if kind == POOL else _mix
            try:
                facts, arrays = compute(list(fits), name, own, prior, sampling)
            except InputError as error:  # too few people, or nothing to pool
                facts, arrays = {"note": "; ".join(str(problem) for problem in error.problems)}, {}
            run.save_record((kind, name), {"inputs": inputs, **facts}, arrays)
        done()


def _is_up_to_date(run: Run, key: Key, inputs: str, fits: dict[str, Fits]) -> bool:
    record = run.load_record(key)
    if record is None or record.facts["inputs"] != inputs:
        return False
    kind, name = key
    return kind == MIXTURE or "note" in record.facts or (fits[name].folder / POOLED_TABLE).exists()


Found = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def _pool(models: Sequence[str], name: str, fits: Sequence[Fits], prior: GroupPrior, sampling: Sampling) -> Found:
    (own,) = fits
    pooled = pool_people(fitted_lattices(own, name), prior=prior, sampling=sampling)
    with own.run.together("pool", INPUTS) as staged:
        write_pooled(staged, [pooled])
    return {"warnings": pooled.warnings}, {}


def _mix(models: Sequence[str], name: str, fits: Sequence[Fits], prior: GroupPrior, sampling: Sampling) -> Found:
    cohorts = [(each.run, sorted(set(each.failures["subject"]))) for each in fits]  # and whom some model does not fit
    lattices = [_joined([load_lattices(run, model, failed) for run, failed in cohorts]) for model in models]
    people = len(lattices[0].subjects)
    if people < FEWEST_IN_GROUP:
        raise InputError([Problem("mixture", f"{people} people", f"at least {FEWEST_IN_GROUP} people")])
    mixture = mix_models(lattices, prior=prior, sampling=sampling)
    shares = shares_of(mixture)
    lower, upper = np.transpose([percentiles(each) for each in shares.frequency.T])
    facts = {"models": list(models), "subjects": list(mixture.subjects), "warnings": mixture.warnings}
    return facts, {
        "probability": mixture.probability,
        "frequency": shares.frequency.mean(axis=0),
        "lower": lower,
        "upper": upper,
        "exceedance": shares.exceedance,
        "protected": shares.protected,
    }


def fitted_lattices(fits: Fits, model: str) -> Lattices:
    """Return the lattices of those whom one model could be fitted to."""
    failures = fits.failures
    return load_lattices(fits.run, model, failures.loc[failures["model"] == model, "subject"].tolist())


def _joined(lattices: Sequence[Lattices]) -> Lattices:
    joined: Any = {
        name: np.concatenate([getattr(each, name) for each in lattices]) for name in ("log_likelihood", *EVIDENCE)
    }
    return replace(lattices[0], subjects=tuple(who for each in lattices for who in each.subjects), **joined)


def mixture_of(run: Run, name: str) -> MixtureFound | None:
    """Return what is known of the mixture of a cohort, or of everyone; nothing if there is none."""
    record = _computed(run, (MIXTURE, name))
    if record is None:
        return None
    facts: Any = record.facts
    arrays: Any = {key: np.asarray(value, dtype=np.float64) for key, value in record.arrays.items()}
    return MixtureFound(tuple(facts["models"]), tuple(facts["subjects"]), **arrays)


def pooled_table(run: Run, model: str, fits: Fits) -> pd.DataFrame | None:
    """Return ``pooled.csv`` of a cohort, or nothing if it was not pooled."""
    if _computed(run, (POOL, model)) is None:
        return None
    table = fits.run.read_table(POOLED_TABLE)
    return table[table["model"] == model]


def _computed(run: Run, key: Key) -> Record | None:
    record = run.load_record(key) if key in run.manifest.keys else None
    return None if record is None or "note" in record.facts else record


def pooling_notes(run: Run, models: Sequence[str]) -> list[str]:
    """Return why groups are missing, and what a reader must know about those that are there."""
    found = []
    for key in pooling_keys(models):
        record = run.load_record(key)
        facts: Any = {} if record is None else record.facts
        of = "everyone" if key[1] == EVERYONE else f"those simulated from {key[1]}"
        what = f"{'pooling' if key[0] == POOL else 'mixture of models'} of {of}"
        if "note" in facts:
            found.append(f"No {what}: {facts['note']}")
        found += [f"The {what}: {text}." for text in facts.get("warnings", [])]
    return found
