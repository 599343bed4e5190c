"""From a binary matrix to p-hat: the models without files, for a notebook or another program."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holmes_fit._support.errors import InputError, Problems
from holmes_fit.models.registry import (
    MODELS,
    BranchCounts,
    LatentCauseModel,
    Observer,
    Resampling,
    StickyBy,
    check_count,
    check_values,
    find_model,
)
from holmes_fit.trials.observations import Observations, observations_from_matrix


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
        Concentration and pseudocount of the latent-cause models; the baselines have neither and ignore them.
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
    observations: Observations | None = None
    observer: Observer | None = None
    try:
        observations = observations_from_matrix(X, outcome, feedback, length_normalized)
    except InputError as error:
        problems.found.extend(error.problems)
    try:
        observer = Observer(particles, resampling, branch_counts, sticky_by, max_depth, max_branches)
    except InputError as error:
        problems.found.extend(error.problems)
    check_count("replicates", replicates, problems)
    check_count("seed", seed, problems, least=0)
    if not isinstance(learner, str):
        problems.add("argument learner", learner, "a text")
    try:
        chosen = find_model(model)
    except InputError as error:
        check_values(MODELS["holmes"], {"alpha": alpha, "omega": omega}, problems)
        raise InputError([*problems, *error.problems]) from None
    values: dict[str, float] = {parameter.name: parameter.default for parameter in chosen.parameters}
    given = parameters | ({"alpha": alpha, "omega": omega} if isinstance(chosen, LatentCauseModel) else {})
    check_values(chosen, given, problems)
    problems.raise_if_any()
    assert observations is not None
    assert observer is not None

    from holmes_fit.models.filters.draws import stream_key

    return chosen.p_hat(observations, values | given, observer, stream_key(seed, learner), replicates)
