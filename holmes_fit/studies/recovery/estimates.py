"""Truth and estimate of every parameter: how close, how sure, and which errors go together.

People are judged as they were fitted with the model that simulated them. Correlation, bias and RMSE are on the scale of
search (the logarithm of a positive parameter, the logit of a probability); ``bias_natural`` and ``rmse_natural`` are of
the values themselves.

Calibration is based on simulation: if truths are drawn from the fitting prior and the likelihood is right, the rank of
a truth among the draws of its posterior is uniform (Talts and others, 2018). A posterior that is too narrow makes ranks
pile up at both ends, one that is shifted makes them lean.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.uniformity import rank_of
from holmes_fit.fitting.cohort import Fits
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.parameters import Parameter
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.schema import of
from holmes_fit.studies.recovery.people import Truth
from holmes_fit.studies.statistics import (
    NOTHING,
    Estimate,
    Measure,
    bias,
    bootstrapped,
    correlation,
    rank_correlation,
    rank_tests,
    rmse,
    share,
)

ESTIMATORS = ("ml", "map", "mean", "pooled")
MEASURES: dict[str, dict[str, Measure]] = {  # by the ending of the columns that are compared
    "_on_scale": {"correlation": correlation, "rank_correlation": rank_correlation, "bias": bias, "rmse": rmse},
    "": {"bias_natural": bias, "rmse_natural": rmse},
}
WITH_INTERVALS = {"mean": "covered", "pooled": "pooled_covered"}
PEOPLE = of("recovery_people.csv").columns
RECOVERY = of("recovery.csv").columns
ERRORS = of("error_correlations.csv").columns
SBC = of("sbc.csv").columns
SUMMARY = of("sbc_summary.csv").columns
FEWEST = 20  # ranks that can be tested
FALSE_ALARMS = 0.05  # over all parameters of a model and both tests
PASSES, FAILS, TOO_FEW = "passes", "fails", "too few"
NO_TEST = "no test: truths are not from the fitting prior"


def people_table(truths: Sequence[Truth], fits: Fits, pooled: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return ``recovery_people.csv`` for people who follow one model: a row for each free parameter.

    Without ``pooled.csv`` of the same people, its columns are empty.
    """
    model = truths[0].model
    values = {truth.subject: truth.values for truth in truths}
    found = fits.parameters
    table = found[(found["model"] == model) & (found["standing"] == "free")].copy()
    of_model = fits.models
    batch_sd = of_model[of_model["model"] == model].set_index("subject")["batch_sd"]
    who = zip(table["subject"], table["parameter"], strict=True)
    table["truth"] = [values[subject][parameter] for subject, parameter in who]
    table["batch_sd"] = table["subject"].map(batch_sd)
    for name in ("truth", "ml", "map"):
        table[f"{name}_on_scale"] = _on_scale(table, name)
    table["covered"] = (table["lower"] <= table["truth"]) & (table["truth"] <= table["upper"])
    return _with_pooled(table, pooled).reindex(columns=list(PEOPLE)).reset_index(drop=True)


def _on_scale(table: pd.DataFrame, column: str) -> pd.Series:
    scaled = pd.Series(np.nan, index=table.index)
    for scale, rows in table.groupby("scale"):
        scaled[rows.index] = Parameter("any", 0.1, 0.9, scale, 0.5, "").to_scale(rows[column].to_numpy())  # type: ignore[arg-type]
    return scaled


def _with_pooled(table: pd.DataFrame, pooled: pd.DataFrame | None) -> pd.DataFrame:
    if pooled is None:
        return table
    names = {"mean": "pooled", "mean_on_scale": "pooled_on_scale"}
    names |= {name: f"pooled_{name}" for name in ("sd_on_scale", "lower", "upper")}
    keys = ["subject", "parameter"]
    joined = table.merge(pooled[[*keys, *names]].rename(columns=names), on=keys, how="left")
    inside = (joined["pooled_lower"] <= joined["truth"]) & (joined["truth"] <= joined["pooled_upper"])
    return joined.assign(pooled_covered=inside.astype(object).where(joined["pooled_lower"].notna()))


def recovery_table(people: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return ``recovery.csv``: a row for each model, parameter, estimator and measure that applies."""
    rows = []
    for (model, parameter), own in people.groupby(["model", "parameter"], sort=False):
        for estimator in ESTIMATORS:
            present = own[own[f"{estimator}_on_scale"].notna()]
            if present.empty:
                continue
            rng = _rng(seed, model, parameter, estimator)
            who = {"model": model, "parameter": parameter, "estimator": estimator, "n": len(present)}
            for measure, found in _measures(present, estimator, rng):
                rows.append({**who, "measure": measure, **found._asdict()})
    return pd.DataFrame(rows, columns=list(RECOVERY))


def _measures(people: pd.DataFrame, estimator: str, rng: np.random.Generator) -> Iterator[tuple[str, Estimate]]:
    for scale, measures in MEASURES.items():
        truth, estimate = _column(people, f"truth{scale}"), _column(people, f"{estimator}{scale}")
        for name, measure in measures.items():
            yield name, bootstrapped(measure, truth, estimate, rng)
    if estimator == "ml":
        yield "at_bound", share(int((people["at_bound"] != "").sum()), len(people))
    if estimator in WITH_INTERVALS:
        yield "coverage", share(int(people[WITH_INTERVALS[estimator]].astype(bool).sum()), len(people))
        sd = _column(people, "sd_on_scale" if estimator == "mean" else "pooled_sd_on_scale")
        yield "variance_removed", bootstrapped(_variance_removed, _column(people, "prior_sd_on_scale"), sd, rng)


def _variance_removed(prior_sd: NDArray[np.float64], sd: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the fitting prior's variance that the choices have removed, on average over people."""
    return np.asarray(1 - (sd**2).mean(axis=-1) / (prior_sd**2).mean(axis=-1))


def error_table(people: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return ``error_correlations.csv``: which parameters are mistaken for each other, by estimator."""
    rows = []
    for model, own in people.groupby("model", sort=False):
        for estimator in ESTIMATORS:
            errors = own.assign(error=own[f"{estimator}_on_scale"] - own["truth_on_scale"])
            names = list(dict.fromkeys(errors["parameter"]))
            wide = errors.pivot(index="subject", columns="parameter", values="error")[names].dropna()
            if wide.empty:
                continue
            matrix = wide.to_numpy(dtype=np.float64)
            rng = _rng(seed, model, "errors", estimator)
            for a, b in combinations(range(len(names)), 2):
                found = bootstrapped(correlation, matrix[:, a], matrix[:, b], rng)
                rows.append((model, names[a], names[b], estimator, len(matrix), *found))
    return pd.DataFrame(rows, columns=list(ERRORS))


def measure_of(recovery: pd.DataFrame, model: str, parameter: str, measure: str, estimator: str = "mean") -> Estimate:
    """Return one entry of ``recovery.csv``; missing if it has none."""
    of_parameter = recovery[(recovery["model"] == model) & (recovery["parameter"] == parameter)]
    rows = of_parameter[(of_parameter["measure"] == measure) & (of_parameter["estimator"] == estimator)]
    if rows.empty:
        return NOTHING
    return Estimate(*(float(rows[name].iloc[0]) for name in Estimate._fields))


def _column(table: pd.DataFrame, name: str) -> NDArray[np.float64]:
    return table[name].to_numpy(dtype=np.float64)


def _rng(seed: int, *names: object) -> np.random.Generator:
    return np.random.default_rng(int(stream_key(seed, "recover/" + "/".join(map(str, names)) + "/bootstrap")))


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
            is_wrong = min(tests["chi2_p"], tests["ecdf_p"]) < least
            rows.append(row | tests | {"verdict": FAILS if is_wrong else PASSES})
    return pd.DataFrame(rows, columns=list(SUMMARY))
