"""Behaviour by covariates, without any latent-cause model: a regression of right answers, with statsmodels.

An effect on a parameter is one of a model. Whether the same people also differ in what anyone can see, how often they
are right, is a question for the answers themselves: a logistic regression of right answers on the covariates of a
formula. The answers of a person are alike, so that people, not answers, are the units: generalised estimating
equations with an exchangeable correlation, and errors from how people scatter about what the covariates say (Liang &
Zeger, 1986). Such errors are too small with few people; Mancl and DeRouen's (2001) correction and Student's t with as
many degrees of freedom as people beyond the coefficients allow for that.

What is estimated are log odds over people, who are not all alike, and so not those of any one person.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from holmes_fit._support.numbers import p_value
from holmes_fit.runs.schema import frame
from holmes_fit.trials.cohorts import Cohort, hits

if TYPE_CHECKING:
    from holmes_fit.groups.pooling.covariates import Design

INTERCEPT = "Intercept"
OUTCOME = "correct"
SURE = 12.0  # log odds; beyond, an estimate grows as long as it is searched for
LEAST_FREEDOM = 2  # people beyond the coefficients
NUMBERS = ("estimate", "standard_error", "lower", "upper", "p")


def regress_behaviour(cohort: Cohort, formulas: Sequence[str], subjects: Sequence[str]) -> pd.DataFrame:
    """Return ``behaviour.csv``: a row for each right side of a formula and term, estimates in log odds.

    They are empty, and ``warning`` says why, where the answers cannot tell.
    """
    from holmes_fit.groups.pooling.covariates import make_designs  # formulaic, which most groups do without

    answers = right_answers(cohort, subjects)
    parameters = [formula.partition("~")[0].strip() for formula in formulas]
    designs = make_designs(formulas, cohort.subjects, subjects, parameters)
    sides = {" ".join(design.formula.partition("~")[2].split()): design for design in designs.values()}
    rows = [row for side, design in sides.items() for row in _rows(side, design, answers, subjects)]
    return frame("behaviour.csv", rows).fillna({"warning": ""})


def right_answers(cohort: Cohort, subjects: Sequence[str]) -> pd.DataFrame:
    """Return ``subject`` and ``correct`` of each answer to a trial with feedback: how far it is towards the outcome."""
    trials = cohort.trials
    scored = trials["choice"].notna() & trials["outcome"].notna() & trials["feedback"].astype(bool)
    chosen = trials[scored & trials["subject"].isin(list(subjects))]
    correct = hits(chosen["choice"], chosen["outcome"]).astype(np.float64)
    return pd.DataFrame({"subject": chosen["subject"].astype(str), OUTCOME: correct}).reset_index(drop=True)


def _rows(side: str, design: Design, answers: pd.DataFrame, subjects: Sequence[str]) -> Iterator[dict[str, object]]:
    place = {subject: number for number, subject in enumerate(subjects)}
    person = np.array([place[subject] for subject in answers["subject"]], dtype=np.intp)
    columns = np.column_stack([np.ones(len(subjects)), design.matrix])
    found, warning = regress(answers[OUTCOME].to_numpy(dtype=np.float64), columns, person)
    about = {"formula": f"{OUTCOME} ~ {side}", "n_subjects": len(np.unique(person)), "n_answers": len(person)}
    for number, term in enumerate((INTERCEPT, *design.columns)):
        yield {**about, "term": term, **dict(zip(NUMBERS, found[number].tolist(), strict=True)), "warning": warning}


def regress(
    correct: NDArray[np.float64], columns: NDArray[np.float64], person: NDArray[np.intp]
) -> tuple[NDArray[np.float64], str]:
    """Fit the regression, and return columns x ``NUMBERS``, and why the answers cannot tell; empty if they can.

    ``correct`` (0 or 1) and ``person`` have an entry for each answer, ``columns`` a row for each person.
    """
    present = np.unique(person)
    nothing = np.full((columns.shape[1], len(NUMBERS)), np.nan)
    warning = _cannot_tell(correct, columns[present])
    if warning:
        return nothing, warning
    fitted = _estimated(correct, columns, person)
    if fitted is None or np.abs(columns[present] @ fitted[0]).max() > SURE:
        return nothing, "someone whose covariates set them apart is always right, or never: no log odds can say that"
    estimate, error = fitted
    freedom = len(present) - columns.shape[1]
    half = stats.t.ppf(0.975, freedom) * error
    p = 2 * stats.t.sf(np.abs(estimate / error), freedom)
    return np.column_stack([estimate, error, estimate - half, estimate + half, p]), ""


def _cannot_tell(correct: NDArray[np.float64], columns: NDArray[np.float64]) -> str:
    """Return why nothing can be estimated; empty if something can."""
    people, width = columns.shape
    if people < width + LEAST_FREEDOM:
        return f"{people} people with answers are too few for {width} coefficients and their errors"
    if np.linalg.matrix_rank(columns) < width:
        return "people with answers do not differ in every covariate"
    if correct.min() < 0 or correct.max() > 1:
        return "answers go beyond their scale, so that they are no shares of being right"
    if len(np.unique(correct)) < 2:
        return f"every answer is {'right' if correct[0] else 'wrong'}"
    if np.sum(np.linalg.qr(columns)[0] ** 2, axis=1).max() > 1 - 1e-9:
        return "a coefficient depends on one person alone, whose difference from others of the kind nobody can see"
    return ""


def _estimated(
    correct: NDArray[np.float64], columns: NDArray[np.float64], person: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return coefficients and their standard errors; nothing if there is no solution."""
    import statsmodels.api as sm  # takes a second, and most runs have no covariates

    order = np.argsort(person, kind="stable")
    model = sm.GEE(
        correct[order],
        columns[person[order]],
        groups=person[order],
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what has gone wrong is seen below
        try:
            fitted = model.fit(maxiter=200, cov_type="bias_reduced")
        except np.linalg.LinAlgError:
            return None
    estimate, error = np.asarray(fitted.params), np.asarray(fitted.bse)
    usable = fitted.converged and np.isfinite(estimate).all() and np.isfinite(error).all() and (error > 0).all()
    return (estimate, error) if usable else None


def behaviour_in_words(table: pd.DataFrame) -> str:
    """Return what ``behaviour.csv`` says: a sentence for each covariate, or why there is nothing to say."""
    lines = []
    for formula, own in table.groupby("formula", sort=False):
        beginning = f"Right answers without a model ({formula}, log odds)"
        warning = str(own["warning"].iloc[0])
        if warning:
            lines.append(f"{beginning}: not estimated, as {warning}.")
            continue
        terms = [
            f"{row['term']} {row['estimate']:+.2f} (95% {row['lower']:+.2f} to {row['upper']:+.2f}, "
            f"p {p_value(row['p'])})"
            for _, row in own[own["term"] != INTERCEPT].iterrows()
        ]
        lines.append(f"{beginning}: {', '.join(terms)}.")
    return "\n".join(lines)
