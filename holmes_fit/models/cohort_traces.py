"""A model's predictions for everyone in a cohort, trial by trial: regressors for use elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from holmes_fit._support.errors import Problems, check_kind
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.registry import Model, Observer, check_count, check_values, find_model
from holmes_fit.trials.cohorts import Cohort, Learner


def learner_key(learner: Learner, seed: int) -> np.uint64:
    """Return the key of a learner's draws: the same wherever the same person and restart are filtered."""
    return stream_key(seed, json.dumps([learner.subject, learner.restart]))


def trace_cohort(
    cohort: Cohort,
    model: str = "holmes",
    values: Mapping[str, float] | None = None,
    *,
    replicates: int = 8,
    seed: int = 0,
    observer: Observer | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return every learner's prediction of the outcome before each trial.

    Parameters
    ----------
    cohort
        The data.
    model
        One of ``holmes_fit.MODELS``.
    values
        The model's parameters by name, the same for everyone. Those left out have their defaults.
    replicates
        Number of independent filters for each learner.
    seed
        Chooses the draws.
    observer
        How the filters are run.
    progress
        Called with the number of learners done and their total.

    Returns
    -------
    pandas.DataFrame
        ``subject``, ``restart``, ``trial``, ``replicate`` (from 0) and ``p_hat``, in the order of the cohort's trials.

    Raises
    ------
    InputError
        Naming every argument that cannot be used.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> cohort = hf.read_cohort("pilot.csv", "weather_prediction")
    >>> traces = hf.trace_cohort(cohort, "flat", {"alpha": 1.0, "omega": 0.5}, replicates=2)
    >>> list(traces.columns)
    ['subject', 'restart', 'trial', 'replicate', 'p_hat']
    >>> len(traces) == 2 * len(cohort.trials)
    True
    """
    chosen = find_model(model)
    problems = Problems()
    is_named = check_kind("values", values, Mapping | None, "values by parameter, such as {'alpha': 1.0}", problems)
    given = dict(values or {}) if is_named else {}
    check_kind("observer", observer, Observer | None, "an Observer", problems)
    if not isinstance(cohort, Cohort):
        problems.add("argument cohort", cohort, "a cohort", "holmes_fit.read_cohort returns one from a CSV.")
    check_values(chosen, given, problems)
    check_count("replicates", replicates, problems)
    check_count("seed", seed, problems, least=0)
    problems.raise_if_any()
    complete = {parameter.name: parameter.default for parameter in chosen.parameters} | given
    p_hat = np.empty((len(cohort.trials), replicates))
    for done, learner in enumerate(cohort.learners, start=1):
        p_hat[learner.rows] = _traces(chosen, learner, complete, observer or Observer(), seed, replicates)
        if progress is not None:
            progress(done, len(cohort.learners))
    table = cohort.trials[["subject", "restart", "trial"]]
    table = table.loc[table.index.repeat(replicates)].reset_index(drop=True)
    table["replicate"] = np.tile(np.arange(replicates), len(cohort.trials))
    return table.assign(p_hat=p_hat.ravel())


def _traces(
    model: Model, learner: Learner, values: Mapping[str, float], observer: Observer, seed: int, replicates: int
) -> np.ndarray:
    """Return p-hat, trials x replicates."""
    return model.p_hat(learner.observations, values, observer, learner_key(learner, seed), replicates).T
