"""Formulas such as ``alpha ~ group + age``: from covariates to the columns that a group's means depend on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from formulaic import SimpleFormula
from formulaic.parser import types as library
from numpy.typing import NDArray

from holmes_fit._support.errors import Problems, Quoted, nearest, plain, shown
from holmes_fit.groups.pooling.formulas import ALLOWED, Factor, Formula, parse


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
    used = list(dict.fromkeys(factor for formula in parsed for factor in formula.factors))
    for factor in used:
        _check_covariate(table, factor, subjects, problems)
    problems.raise_if_any()
    prepared = pd.DataFrame({str(factor): _prepared(table.loc[list(subjects)], factor) for factor in used})
    for formula in parsed:
        _check_width(formula, prepared, problems)
    problems.raise_if_any()
    designs = [_design(formula, prepared) for formula in parsed]
    for design in designs:
        full = np.column_stack([np.ones(len(design.matrix)), design.matrix])
        if np.linalg.matrix_rank(full) < full.shape[1]:
            _refuse_same(design.formula, ", ".join(design.columns), problems)
    problems.raise_if_any()
    return {design.parameter: design for design in designs}


def _parsed(formulas: Sequence[str], parameters: Sequence[str], problems: Problems) -> list[Formula]:
    found: list[Formula] = []
    for text in formulas:
        where = f"formula {shown(text)}"
        try:
            formula = parse(text)
        except ValueError as error:
            advice = "Compute other values in the table of people." if "(" in text else ""
            problems.add(where, Quoted(str(error)), ALLOWED, advice)
            continue
        parameter = formula.parameter
        if parameter not in parameters:
            allowed = f"a free parameter: {', '.join(parameters)}"
            problems.add(where, parameter, allowed, nearest(parameter, parameters))
        elif parameter in [other.parameter for other in found]:
            problems.add(where, Quoted(f"a second formula for {parameter}"), "one formula a parameter")
        else:
            found.append(formula)
    return found


def _check_width(formula: Formula, prepared: pd.DataFrame, problems: Problems) -> None:
    """Refuse more columns than people before they are made."""
    free = {name: len(column.cat.categories) - 1 if _is_group(column) else 1 for name, column in prepared.items()}
    if (least := sum(math.prod(free[str(factor)] for factor in term) for term in formula.terms)) >= len(prepared):
        _refuse_same(formula.text, f"{least} or more, of {len(prepared)} people", problems)


def _refuse_same(formula: str, columns: str, problems: Problems) -> None:
    seen = Quoted(f"columns that say the same: {columns}")
    problems.add(f"formula {shown(formula)}", seen, "covariates none of which follows from the others")


def _check_covariate(table: pd.DataFrame, factor: Factor, subjects: Sequence[str], problems: Problems) -> None:
    name = factor.column
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
    elif factor.how == "scale" and not _is_number(column):
        problems.add(where, Quoted("text, to be scaled"), "numbers")
    elif not _is_number(column):
        empty = sorted(set(table[name].dropna().astype(str)) - set(column.astype(str)))
        for level in empty:
            seen = Quoted(f"nobody left in group {plain(level)!r}")
            problems.add(where, seen, "groups with people who were fitted", "Take its people out of the table, too.")


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _is_group(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype)


def _prepared(people: pd.DataFrame, factor: Factor) -> pd.Series:
    column = people[factor.column]
    if factor.how == "scale" or (not factor.how and _is_number(column) and column.nunique() > 2):
        return (column - column.mean()) / column.std(ddof=0)
    return pd.Series(pd.Categorical(column, categories=sorted(column.unique())), index=column.index)


def _as_the_library_has_it(formula: Formula) -> SimpleFormula:
    """Return the terms for the library that codes groups, which is to look names up and to evaluate nothing."""
    terms = [[library.Factor(str(factor), eval_method="lookup") for factor in term] for term in formula.terms]
    return SimpleFormula([library.Term(some) for some in [[library.Factor("1", eval_method="literal")], *terms]])


def _design(formula: Formula, table: pd.DataFrame) -> Design:
    matrix = _as_the_library_has_it(formula).get_model_matrix(table, context={})
    columns = [name for name in matrix.columns if name != "Intercept"]

    def row(name: str, value: object) -> NDArray[np.float64]:
        """Return the average row of everyone, had they all this value."""
        changed = table.copy()
        changed[name] = pd.Series([value] * len(table), index=table.index).astype(table[name].dtype)
        return matrix.model_spec.get_model_matrix(changed, context={})[columns].to_numpy(np.float64).mean(axis=0)

    contrasts = []
    for name in map(str, formula.factors):
        if _is_group(table[name]):
            for first, second in combinations(table[name].cat.categories, 2):
                contrasts.append(Contrast(f"{name}: {second} - {first}", row(name, second), row(name, first)))
        else:
            contrasts.append(Contrast(f"{name}: +1 SD - mean", row(name, 1.0), row(name, 0.0)))
    values = matrix[columns].to_numpy(np.float64)
    return Design(formula.text, formula.parameter, tuple(columns), values, tuple(contrasts))
