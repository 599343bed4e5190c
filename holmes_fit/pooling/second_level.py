"""The plain check beside the group model: regressions of individual estimates on covariates, with statsmodels.

What is regressed are estimates that know nothing of the group. Pooled ones would not do: they were drawn towards the
group, or towards what a formula says of it, so that the covariate would be found again in estimates that it has
already shaped, and with too small an error.

But separate estimates are not raw either. A posterior mean is drawn towards the centre of the fitting prior, the more
so the less a person's choices say: regressed as it is, every effect would come out too small. So the prior is taken out
again. With posterior mean m and SD s, and prior mean m0 and SD s0, both nearly normal on the scale of search, the
choices alone say

    precision = 1 / s² - 1 / s0²,    estimate = (m / s² - m0 / s0²) / precision.

These estimates are unbiased with known variances v = 1 / precision, and a meta-regression takes them from there: people
differ by tau² beyond the covariates, each counts with weight 1 / (tau² + v), and tau² is such that the weighted squares
of the residuals come out as large as they should (Paule & Mandel, 1982). Variances and tau² are themselves estimates,
so that standard errors come from the residuals (HC3), with Student's t.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from holmes_fit.errors import Problems, nearest, plain
from holmes_fit.parameters import Parameter
from holmes_fit.pooling.covariates import make_designs
from holmes_fit.pooling.lattices import centre_and_scale
from holmes_fit.populations import parse_prior
from holmes_fit.runs import Run
from holmes_fit.spaces import FreeParameter

INTERCEPT = "Intercept"
LEAST_SAID = 0.05  # of the prior's variance that choices must have removed; below, the estimate is noise divided by 0
FINE = 400  # nodes for the mean of a prior
TEXT = ("subject", "model", "parameter", "standing", "scale", "prior")
COLUMNS = (
    "model",
    "parameter",
    "formula",
    "term",
    "n_subjects",
    "estimate",
    "standard_error",
    "lower",
    "upper",
    "statistic",
    "p",
    "p_holm",
)


def second_level(
    run: Run, formulas: Sequence[str], *, models: Sequence[str] | None = None, leave_out: Collection[str] = ()
) -> pd.DataFrame:
    """Regress the individual estimates of a run on covariates.

    Parameters
    ----------
    run
        The run folder of a complete fit.
    formulas
        Such as ``"alpha ~ group + age"``, with covariates from the run's ``subjects.csv``, as for pooling: numbers are
        standardised, and a formula is used in all models in which its parameter is free.
    models
        Some of the run's models; all by default.
    leave_out
        People who are left out.

    Returns
    -------
    pandas.DataFrame
        ``second_level.csv``: see :func:`regress_estimates`.

    Raises
    ------
    InputError
        If the run has no fits, or naming every formula and covariate that cannot be used.
    """
    fits = run.read_table("fits.csv", TEXT)
    chosen = list(dict.fromkeys(fits["model"])) if models is None else list(models)
    problems = Problems()
    _check_known("model", chosen, fits["model"], "a model of the run", problems)
    _check_known("leave out", leave_out, fits["subject"], "someone who was fitted", problems)
    problems.raise_if_any()
    fits = fits[fits["model"].isin(chosen) & ~fits["subject"].isin(list(leave_out))]
    return regress_estimates(fits, run.read_table("subjects.csv", ("subject",)), formulas)


def regress_estimates(fits: pd.DataFrame, people: pd.DataFrame, formulas: Sequence[str]) -> pd.DataFrame:
    """Regress individual estimates on covariates.

    Parameters
    ----------
    fits
        As ``fits.csv``: estimates with their SDs on the scale of search, and their priors.
    people
        The covariates: a row for each person, with the column ``subject``.
    formulas
        Such as ``"alpha ~ group + age"``.

    Returns
    -------
    pandas.DataFrame
        A row for each model, formula and term: estimate, robust standard error and 95% interval on the scale of
        search, Student's t, its p-value, and the same after Holm's correction for all terms of the table but the
        intercepts. ``n_subjects`` are the people whose choices say something about the parameter. The rest of a row is
        empty where they are too few for its formula.

    Raises
    ------
    InputError
        Naming every formula and covariate that cannot be used.
    """
    free = fits[fits["standing"] == "free"]
    problems = Problems()
    for text in formulas:
        _check_known(f"formula {text!r}", [_left_side(text)], free["parameter"], "a free parameter", problems)
    problems.raise_if_any()
    rows = [
        row
        for model, own in free.groupby("model", sort=False)
        for row in _rows_of_model(str(model), own, people, formulas)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["p_holm"] = _holm(table)
    return table


def _check_known(where: str, names: Iterable[str], column: pd.Series, what: str, problems: Problems) -> None:
    known = list(dict.fromkeys(column.astype(str)))
    for name in names:
        if name not in known:
            problems.add(
                where, name, f"{what}: {', '.join(map(plain, known)) or 'there is none'}", nearest(name, known)
            )


def _left_side(formula: str) -> str:
    return formula.partition("~")[0].strip()


def _rows_of_model(
    model: str, fits: pd.DataFrame, people: pd.DataFrame, formulas: Sequence[str]
) -> Iterator[dict[str, object]]:
    parameters = list(dict.fromkeys(fits["parameter"]))
    subjects = list(dict.fromkeys(fits["subject"]))
    own = [text for text in formulas if _left_side(text) in parameters]
    for parameter, design in make_designs(own, people, subjects, parameters).items():
        chosen = fits[fits["parameter"] == parameter].set_index("subject").loc[subjects]
        estimate, variance = without_prior(chosen)
        says = np.isfinite(variance)
        columns = np.column_stack([np.ones(len(says)), design.matrix])
        found = regress(estimate[says], variance[says], columns[says])
        for number, term in enumerate((INTERCEPT, *design.columns)):
            about = {"model": model, "parameter": parameter, "formula": design.formula, "term": term}
            yield {**about, "n_subjects": int(says.sum()), **found.term(number)}


def without_prior(fits: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what the choices alone say about one parameter: estimates, and their variances.

    The variance is infinite, and the estimate nothing, where the choices say next to nothing.
    """
    mean, sd = (fits[name].to_numpy(dtype=np.float64) for name in ("mean_on_scale", "sd_on_scale"))
    prior_mean, prior_sd = _prior_mean(fits), fits["prior_sd_on_scale"].to_numpy(dtype=np.float64)
    said = 1 - (sd / prior_sd) ** 2
    says = said >= LEAST_SAID
    variance = np.where(says, sd**2 / np.where(says, said, 1.0), np.inf)
    estimate = np.where(says, prior_mean + (mean - prior_mean) / np.where(says, said, 1.0), np.nan)
    return estimate, variance


def _prior_mean(fits: pd.DataFrame) -> NDArray[np.float64]:
    """Return the mean of each person's prior between the bounds, on the scale of search."""
    problems = Problems()
    known: dict[tuple[Any, ...], float] = {}
    columns = ("parameter", "prior", "low", "high", "scale")
    keys = list(fits[list(columns)].itertuples(index=False, name=None))
    for key in dict.fromkeys(keys):
        name, text, low, high, scale = key
        parameter = Parameter(name, low, high, scale, low, "")
        prior = parse_prior(text, parameter, f"fits.csv, prior of {name}", problems)
        if prior is not None:
            known[key] = centre_and_scale(FreeParameter(parameter, prior, FINE))[0]
    problems.raise_if_any()
    return np.array([known[key] for key in keys])


# ----------------------------------------------------------------------------------------------- the regression


@dataclass(frozen=True)
class Regression:
    """Coefficients with robust errors, and the variance between people that the columns leave over."""

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    statistic: NDArray[np.float64]
    p: NDArray[np.float64]
    between: float

    def term(self, number: int) -> dict[str, float]:
        """Return everything about one coefficient."""
        names = ("estimate", "standard_error", "lower", "upper", "statistic", "p")
        return {name: float(getattr(self, name)[number]) for name in names}


def regress(estimate: NDArray[np.float64], variance: NDArray[np.float64], columns: NDArray[np.float64]) -> Regression:
    """Fit a meta-regression.

    Parameters
    ----------
    estimate, variance
        What is known about each person.
    columns
        People x columns, a column of ones among them.

    Returns
    -------
    Regression
        Not a number where people are too few, or a column depends on one person alone.
    """
    from statsmodels.regression.linear_model import OLS  # takes half a second, and most runs have no covariates

    people, width = columns.shape
    if people <= width or np.linalg.matrix_rank(columns) < width:
        nothing = np.full(width, np.nan)
        return Regression(nothing, nothing, nothing, nothing, nothing, nothing, np.nan)
    between = _between_people(estimate, variance, columns)
    root_weight = 1 / np.sqrt(between + variance)
    # WLS would be the plain way, but its HC3 takes leverages from columns that are not weighted.
    whitened = columns * root_weight[:, None]
    fitted = OLS(estimate * root_weight, whitened).fit()
    if _largest_leverage(whitened) > 1 - 1e-9:
        nothing = np.full(width, np.nan)
        return Regression(fitted.params, nothing, nothing, nothing, nothing, nothing, between)
    robust = fitted.get_robustcov_results("HC3", use_t=True)
    lower, upper = np.asarray(robust.conf_int(0.05)).T
    return Regression(robust.params, robust.bse, lower, upper, robust.tvalues, robust.pvalues, between)


def _largest_leverage(columns: NDArray[np.float64]) -> float:
    basis = np.linalg.qr(columns)[0]
    return float(np.sum(basis**2, axis=1).max())


def _between_people(
    estimate: NDArray[np.float64], variance: NDArray[np.float64], columns: NDArray[np.float64]
) -> float:
    """Return tau²: 0, or where the weighted squares of the residuals are as many as their degrees of freedom."""
    freedom = columns.shape[0] - columns.shape[1]

    def excess(between: float) -> float:
        root_weight = 1 / np.sqrt(between + variance)
        whitened = columns * root_weight[:, None]
        coefficients = np.linalg.lstsq(whitened, estimate * root_weight, rcond=None)[0]
        return float(np.sum((estimate * root_weight - whitened @ coefficients) ** 2)) - freedom

    if excess(0.0) <= 0:
        return 0.0
    highest = float(np.var(estimate)) + 1.0
    while excess(highest) > 0:
        highest *= 2
    return float(brentq(excess, 0.0, highest, xtol=1e-9))


def _holm(table: pd.DataFrame) -> NDArray[np.float64]:
    from statsmodels.stats.multitest import multipletests

    adjusted = np.full(len(table), np.nan)
    tested = np.flatnonzero((table["term"] != INTERCEPT) & table["p"].notna())
    if len(tested):
        adjusted[tested] = multipletests(table["p"].to_numpy(dtype=np.float64)[tested], method="holm")[1]
    return adjusted
