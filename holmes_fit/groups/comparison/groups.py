"""The groups of people whose frequencies of models are compared."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, nearest, plain, shown
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.summaries import EVERYONE, MOST_GROUPS, default_group

Groups = tuple[tuple[str, ...], NDArray[np.intp], tuple[str, ...]]


def groups_of(cohort: Cohort, by: str | None, subjects: Sequence[str]) -> Groups:
    """Return the groups in which someone is, everyone's group, and what to say about it; no groups if there is one."""
    people = cohort.subjects
    column = default_group(cohort) if by is None else by
    nobody = np.zeros(len(subjects), dtype=np.intp)
    if column is None:
        return (), nobody, ()
    covariates = list(people.columns.drop("subject"))
    if column not in covariates:
        allowed = f"a covariate of the run: {', '.join(covariates) or 'it has none'}"
        raise InputError([Problem("argument by", shown(column), allowed, nearest(column, covariates))])
    own = people.set_index("subject")[column].reindex(list(subjects))
    lacking = [str(name) for name in own.index[own.isna()]]
    if lacking and by is not None:
        seen = f"no value for {plain(', '.join(lacking), limit=200)}"
        raise InputError([Problem(f"covariate {column}", seen, "a group for everyone", "Leave them out.")])
    if lacking:
        note = f"groups are not compared, as {column} is empty for {plain(', '.join(lacking), limit=200)}"
        return (), nobody, (note,)
    names = tuple(sorted({str(value) for value in own}))
    empty = sorted({str(value) for value in people[column].dropna()} - set(names))
    notes = (f"nobody is left in {', '.join(map(plain, empty))}",) if empty else ()
    _check_groups(names, column, asked=by is not None)
    if len(names) < 2:
        return (), nobody, notes
    return names, np.array([names.index(str(value)) for value in own], dtype=np.intp), notes


def _check_groups(names: Sequence[str], column: str, asked: bool) -> None:
    problems = Problems()
    where = f"covariate {plain(column)}"
    if asked and len(names) < 2:
        problems.add(where, Quoted(f"only {names[0]}"), "at least two groups with people in them")
    if len(names) > MOST_GROUPS:
        problems.add(where, Quoted(f"{len(names)} values"), f"up to {MOST_GROUPS} groups")
    if EVERYONE in names:
        problems.add(where, Quoted(f"a group called {EVERYONE}"), "another name; this one stands for all people")
    problems.raise_if_any()
