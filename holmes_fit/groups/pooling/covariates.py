"""Formulas such as ``alpha ~ group + age``: from covariates to the columns that a group's means depend on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from formulaic import Formula
from formulaic.errors import FormulaicError
from formulaic.formula import SimpleFormula, StructuredFormula
from formulaic.parser.types import Factor
from numpy.typing import NDArray

from holmes_fit._support.errors import Problems, Quoted, nearest, plain, shown

ALLOWED = "PARAMETER ~ COVARIATE + COVARIATE, with a:b for an interaction and a*b for all three"


@dataclass(frozen=True)
class Contrast:
    """A comparison: two rows of a design, all other covariates as they are in the cohort on average."""

    name: str
    above: NDArray[np.float64]
    below: NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """The columns that the mean of one parameter depends on."""

    formula: str  # what was asked for
    parameter: str
    columns: tuple[str, ...]  # their names, and people x columns, without the column of ones
    matrix: NDArray[np.float64]
    # The comparisons to report: groups with each other, and a covariate one SD above its mean with the mean
    contrasts: tuple[Contrast, ...]


def make_designs(
    formulas: Sequence[str], people: pd.DataFrame, subjects: Sequence[str], parameters: Sequence[str]
) -> dict[str, Design]:
    """Return the designs of formulas by parameter.

    Numbers are standardised over the people who are pooled. Text, and numbers of which there are only two, are groups.
    """
    problems = Problems()
    parsed = _parsed(formulas, parameters, problems)
    table = people.set_index("subject")
    used = list(dict.fromkeys(name for _, _, terms in parsed for name in _names(terms)))
    for name in used:
        _check_covariate(table, name, subjects, problems)
    problems.raise_if_any()
    prepared = pd.DataFrame({name: _prepared(table.loc[list(subjects), name]) for name in used})
    designs = {text: _design(text, parameter, terms, prepared) for text, parameter, terms in parsed}
    for text, design in designs.items():
        full = np.column_stack([np.ones(len(design.matrix)), design.matrix])
        if np.linalg.matrix_rank(full) < full.shape[1]:
            seen = Quoted(f"columns that say the same: {', '.join(design.columns)}")
            problems.add(f"formula {shown(text)}", seen, "covariates none of which follows from the others")
    problems.raise_if_any()
    return {design.parameter: design for design in designs.values()}


Parsed = tuple[str, str, SimpleFormula]


def _parsed(formulas: Sequence[str], parameters: Sequence[str], problems: Problems) -> list[Parsed]:
    found: list[Parsed] = []
    for text in formulas:
        where = f"formula {shown(text)}"
        try:
            formula = Formula(text)
        except FormulaicError as error:
            said = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]
            problems.add(where, Quoted(said), ALLOWED)
            continue
        if not isinstance(formula, StructuredFormula) or len(list(formula.lhs)) != 1:
            problems.add(where, Quoted("not one parameter before ~"), ALLOWED)
            continue
        if not isinstance(formula.rhs, SimpleFormula):
            problems.add(where, Quoted("several parts after ~"), ALLOWED)
            continue
        before = len(problems.found)
        parameter = str(next(iter(formula.lhs)))
        if parameter not in parameters:
            allowed = f"a free parameter: {', '.join(parameters)}"
            problems.add(where, parameter, allowed, nearest(parameter, parameters))
        elif parameter in [other for _, other, _ in found]:
            problems.add(where, Quoted(f"a second formula for {parameter}"), "one formula a parameter")
        _check_terms(where, formula.rhs, problems)
        if len(problems.found) == before:
            found.append((text, parameter, formula.rhs))
    return found


def _factors(terms: SimpleFormula) -> Iterator[Factor]:
    return (factor for term in terms for factor in term.factors if factor.expr != "1")


def _names(terms: SimpleFormula) -> list[str]:
    return [factor.expr for factor in _factors(terms)]


def _check_terms(where: str, terms: SimpleFormula, problems: Problems) -> None:
    if "1" not in [str(term) for term in terms]:
        problems.add(where, Quoted("no intercept"), "formulas with one; it is the mean of the group")
    for factor in _factors(terms):
        if factor.eval_method is not Factor.EvalMethod.LOOKUP:
            problems.add(where, factor.expr, "names of covariates", "Compute other values in the table of people.")
    if not _names(terms):
        problems.add(where, Quoted("no covariates"), ALLOWED)


def _check_covariate(table: pd.DataFrame, name: str, subjects: Sequence[str], problems: Problems) -> None:
    where = f"covariate {plain(name)}"
    if name not in table.columns:
        known = [str(column) for column in table.columns]
        problems.add(where, name, f"one of {', '.join(known) or '(the run has none)'}", nearest(name, known))
        return
    column = table[name].reindex(list(subjects))
    missing = [subject for subject, absent in column.isna().items() if absent]
    if missing:
        seen = Quoted(f"no value for {len(missing)} of {len(subjects)} people: {shown(missing)}")
        problems.add(where, seen, "a value for everyone", "Fill it in, or leave these people out.")
    elif _is_number(column) and not np.isfinite(column).all():
        problems.add(where, Quoted("values that are not finite"), "finite numbers")
    elif column.nunique() == 1:
        problems.add(where, Quoted(f"{column.tolist()[0]!r} for everyone"), "a covariate that differs between people")
    elif not _is_number(column):
        empty = sorted(set(table[name].dropna().astype(str)) - set(column.astype(str)))
        for level in empty:
            seen = Quoted(f"nobody left in group {plain(level)!r}")
            problems.add(where, seen, "groups with people who were fitted", "Take its people out of the table, too.")


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _prepared(column: pd.Series) -> pd.Series:
    if _is_number(column) and column.nunique() > 2:
        return (column - column.mean()) / column.std(ddof=0)
    return pd.Series(pd.Categorical(column, categories=sorted(column.unique())), index=column.index)


def _design(text: str, parameter: str, terms: SimpleFormula, table: pd.DataFrame) -> Design:
    matrix = terms.get_model_matrix(table, context={})
    columns = [name for name in matrix.columns if name != "Intercept"]

    def row(name: str, value: object) -> NDArray[np.float64]:
        """Return the average row of everyone, had they all this value."""
        changed = table.copy()
        changed[name] = pd.Series([value] * len(table), index=table.index).astype(table[name].dtype)
        return matrix.model_spec.get_model_matrix(changed, context={})[columns].to_numpy(np.float64).mean(axis=0)

    contrasts = []
    for name in dict.fromkeys(_names(terms)):
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            for first, second in combinations(table[name].cat.categories, 2):
                contrasts.append(Contrast(f"{name}: {second} - {first}", row(name, second), row(name, first)))
        else:
            contrasts.append(Contrast(f"{name}: +1 SD - mean", row(name, 1.0), row(name, 0.0)))
    return Design(text, parameter, tuple(columns), matrix[columns].to_numpy(np.float64), tuple(contrasts))
