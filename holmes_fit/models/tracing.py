"""From trials to p-hat: of a binary matrix, without files, or of everyone in a cohort: regressors for use elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holmes_fit._support.errors import InputError, Problems, check_kind
from holmes_fit.models.registry import (
    MODELS,
    BranchCounts,
    Model,
    Observer,
    Resampling,
    StickyBy,
    check_count,
    check_values,
    find_model,
)
from holmes_fit.trials.observations import observations_from_matrix

if TYPE_CHECKING:
    import pandas as pd

    from holmes_fit.trials.cohorts import Cohort, Learner


def trace(
    X: ArrayLike,
    outcome: int = -1,
    feedback: ArrayLike | None = None,
    model: str = "holmes",
    alpha: float = 1.0,
    omega: float = 0.5,
    particles: int = 200,
    replicates: int = 8,
    seed: int = 0,
    length_normalized: bool = False,
    max_depth: int = 20,
    *,
    max_branches: int = 20,
    resampling: Resampling = "systematic",
    branch_counts: BranchCounts = "particle",
    sticky_by: StickyBy = "branch",
    learner: str = "",
    **parameters: float,
) -> NDArray[np.float64]:
    """Return a model's prediction of the outcome before every trial.

    Parameters
    ----------
    X
        Trials x features, every entry 0 or 1.
    outcome
        The column of ``X`` that holds the outcome; the last by default.
    feedback
        One entry a trial: whether the outcome was shown. All of them by default.
    model
        One of ``holmes_fit.MODELS``.
    alpha, omega
        Concentration and pseudocount of the latent-cause models; models that have neither ignore them.
    particles, resampling, branch_counts, sticky_by, max_depth, max_branches
        See :class:`holmes_fit.models.registry.Observer`.
    replicates
        Number of independent filters.
    seed, learner
        Together they choose the draws. The same pair sees the same luck whatever the parameters are.
    length_normalized
        Replace likelihoods by their geometric mean over features.
    **parameters
        Further parameters of the model, such as ``depth_scale`` or ``learning_rate``.

    Returns
    -------
    p_hat
        Replicates x trials.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> trials = [[1, 0, 1], [0, 1, 0]] * 10  # two cues; the outcome follows the first
    >>> p_hat = hf.trace(trials, model="flat", seed=1)
    >>> p_hat.shape
    (8, 20)
    >>> bool(p_hat[:, -2].mean() > 0.8 > 0.2 > p_hat[:, -1].mean())
    True
    """
    problems = Problems()
    with problems.collected():
        observations = observations_from_matrix(X, outcome, feedback, length_normalized)
    with problems.collected():
        observer = Observer(particles, resampling, branch_counts, sticky_by, max_depth, max_branches)
    if not isinstance(learner, str):
        problems.add("argument learner", learner, "a text")
    of_causes = {"alpha": alpha, "omega": omega}
    chosen, values = _checked(model, parameters, replicates, seed, problems, of_causes)

    from holmes_fit.models.filters.draws import stream_key

    return chosen.p_hat(observations, values, observer, stream_key(seed, learner), replicates)


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
    from holmes_fit.trials.cohorts import Cohort

    problems = Problems()
    is_named = check_kind("values", values, Mapping | None, "values by parameter, such as {'alpha': 1.0}", problems)
    check_kind("observer", observer, Observer | None, "an Observer", problems)
    if not isinstance(cohort, Cohort):
        problems.add("argument cohort", cohort, "a cohort", "holmes_fit.read_cohort makes one of files or a DataFrame.")
    chosen, complete = _checked(model, dict(values or {}) if is_named else {}, replicates, seed, problems)
    p_hat = np.empty((len(cohort.trials), replicates))
    for done, learner in enumerate(cohort.learners, start=1):
        key = learner_key(learner, seed)
        p_hat[learner.rows] = chosen.p_hat(learner.observations, complete, observer or Observer(), key, replicates).T
        if progress is not None:
            progress(done, len(cohort.learners))
    table = cohort.trials[["subject", "restart", "trial"]]
    table = table.loc[table.index.repeat(replicates)].reset_index(drop=True)
    table["replicate"] = np.tile(np.arange(replicates), len(cohort.trials))
    return table.assign(p_hat=p_hat.ravel())


def learner_key(learner: Learner, seed: int) -> np.uint64:
    """Return the key of a learner's draws: the same wherever the same person and restart are filtered."""
    return _key(learner.subject, learner.restart, seed)


@lru_cache(maxsize=1024)  # every node of a lattice asks for it
def _key(subject: str, restart: str, seed: int) -> np.uint64:
    from holmes_fit.models.filters.draws import stream_key

    return stream_key(seed, json.dumps([subject, restart]))


def _checked(
    name: str,
    given: Mapping[str, float],
    replicates: int,
    seed: int,
    problems: Problems,
    of_causes: Mapping[str, float] | None = None,
) -> tuple[Model, dict[str, float]]:
    """Return a model and all its values, or refuse what cannot be used; ``of_causes`` is for those that have it."""
    check_count("replicates", replicates, problems)
    check_count("seed", seed, problems, least=0)
    try:
        model = find_model(name)
    except InputError as error:
        check_values(MODELS["holmes"], of_causes or {}, problems)
        raise InputError([*problems, *error.problems]) from None
    known = {parameter.name for parameter in model.parameters}
    values = {**given, **{name: value for name, value in (of_causes or {}).items() if name in known}}
    check_values(model, values, problems)
    problems.raise_if_any()
    return model, {parameter.name: parameter.default for parameter in model.parameters} | values
