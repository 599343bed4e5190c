"""Simulation-based calibration: whether truths are distributed among posterior draws as the posteriors say.

If truths are drawn from the fitting prior and the likelihood is right, the rank of a truth among the draws of its
posterior is uniform (Talts and others, 2018). A posterior that is too narrow makes ranks pile up at both ends, one that
is shifted makes them lean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from holmes_fit._support.uniformity import rank_of
from holmes_fit.fitting.cohort import Fits
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.schema import of
from holmes_fit.studies.recovery.truths import Truth
from holmes_fit.studies.statistics import rank_tests

SBC = of("sbc.csv").columns
SUMMARY = of("sbc_summary.csv").columns
FEWEST = 20  # ranks that can be tested
FALSE_ALARMS = 0.05  # over all parameters of a model and both tests
PASSES, FAILS, TOO_FEW = "passes", "fails", "too few"
NO_TEST = "no test: truths are not from the fitting prior"


def person_ranks(truths: Sequence[Truth], fits: Fits, seed: int) -> pd.DataFrame:
    """Return ``sbc.csv`` for people who follow one model, as they were fitted with it.

    The seed chooses ranks where truth and draws are equal.
    """
    rows = []
    model = truths[0].model
    found = FittedRun(fits.run).draws(model)
    draws = dict(zip(found.subjects, found.values, strict=True))
    for truth in truths:
        if truth.subject not in draws:
            continue
        rng = np.random.default_rng(int(stream_key(seed, f"recover/{truth.subject}/ranks")))
        for name, own in zip(found.parameters, draws[truth.subject].T, strict=True):
            rows.append(("person", model, name, truth.subject, rank_of(truth.values[name], own, rng), len(own)))
    return pd.DataFrame(rows, columns=list(SBC))


def sbc_summary(ranks: pd.DataFrame, follows_prior: Mapping[str, bool] | None = None) -> pd.DataFrame:
    """Return ``sbc_summary.csv``: tests of the ranks of every parameter.

    Nothing is tested for models whose truths are not drawn from the fitting prior; by default, all are. A parameter
    fails if the smaller of its two p-values is below .05 divided by the number of tests of its model: both tests of
    every parameter.
    """
    rows = []
    for (level, model), of_model in ranks.groupby(["level", "model"], sort=False):
        is_tested = follows_prior is None or follows_prior.get(str(model), True)
        least = FALSE_ALARMS / (2 * of_model["parameter"].nunique())
        for parameter, own in of_model.groupby("parameter", sort=False):
            row = {"level": level, "model": model, "parameter": parameter, "n": len(own)}
            if not is_tested or len(own) < FEWEST:
                rows.append(row | {"verdict": TOO_FEW if is_tested else NO_TEST})
                continue
            tests = rank_tests(own["rank"].to_numpy(dtype=np.int64), int(own["n_draws"].iloc[0]))
            rows.append(row | tests | {"verdict": FAILS if min(tests.values()) < least else PASSES})
    return pd.DataFrame(rows, columns=list(SUMMARY))
