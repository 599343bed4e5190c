"""What is asked for when parameters differ between conditions within people, checked before any work begins."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from holmes_fit._support.errors import Problems, Quoted, nearest, plain, shown
from holmes_fit.settings.spaces import Space
from holmes_fit.trials.cohorts import Cohort

OWN = ("subject", "trial", "choice", "outcome", "feedback")  # columns of the tidy table that are no condition
NAMED = 6  # people and learners of whom a message is


def check_conditions(
    cohort: Cohort, by: str | None, vary: Sequence[str], spaces: Mapping[str, Space]
) -> tuple[str, ...]:
    """Return the parameters of which each condition has its own, or raise everything that is wrong with that."""
    problems = Problems()
    named = tuple(vary) if isinstance(vary, Iterable) and not isinstance(vary, str) else (vary,)
    if by is None:
        if named:
            problems.add("argument vary", list(named), "nothing, as by names no column of conditions")
        problems.raise_if_any()
        return ()
    _check_parameters(named, spaces, problems)
    known = [str(column) for column in cohort.trials.columns if column not in OWN]
    if not isinstance(by, str) or by not in known:
        problems.add("argument by", by, f"a column of the trials: {', '.join(known)}", nearest(str(by), known))
    else:
        _check_column(cohort, by, problems)
    problems.raise_if_any()
    return named


def _check_parameters(vary: Sequence[str], spaces: Mapping[str, Space], problems: Problems) -> None:
    free = dict.fromkeys(axis.name for space in spaces.values() for axis in space.free)
    if not vary:
        problems.add("argument vary", Quoted("nothing"), f"the parameters that differ, of {', '.join(free)}")
    for name in vary:
        if name in free:
            if vary.count(name) > 1:
                problems.add("argument vary", name, "each parameter once")
            continue
        tied = next((space.tied[name] for space in spaces.values() if name in space.tied), None)
        advice = f"It is tied to {tied}: vary that." if tied else nearest(str(name), free)
        problems.add("argument vary", name, f"a free parameter: {', '.join(free)}", advice)


def _check_column(cohort: Cohort, by: str, problems: Problems) -> None:
    trials = cohort.trials
    column = trials[by].astype("str").where(trials[by].notna(), "")
    where = f"column {plain(by)}"
    empty = trials.index[column.str.strip() == ""]
    if len(empty):
        seen = Quoted(f"no condition in {len(empty)} trials: {_rows(trials, empty)}")
        problems.add(where, seen, "a condition for every trial")
    change = trials.groupby(["subject", "restart"], sort=False)
    changed = trials.index[(column != column.groupby([change.ngroup()]).transform("first"))]
    if len(changed):
        seen = Quoted(f"a condition that changes within a learner: {_rows(trials, changed)}")
        advice = (
            "A learner carries over what was learned: begin a new one with each condition, by restart in the protocol."
        )
        problems.add(where, seen, "one condition for every learner (a person within one restart)", advice)
    names = column.unique()
    if len(names) < 2 or len(empty) or len(changed):
        if len(names) < 2:
            problems.add(where, Quoted(f"nothing but {shown(names[0])}"), "two conditions or more")
        return
    has = pd.crosstab(trials["subject"], column) > 0
    for name in has.columns[~has.all()]:
        people = [plain(str(person)) for person in has.index[~has[name]]]
        seen = Quoted(f"no trials of {_some(people)} in {plain(str(name))}")
        problems.add(where, seen, "everyone in every condition", "Take these people out of the data.")


def _rows(trials: pd.DataFrame, rows: pd.Index) -> str:
    """Name the first of the rows of each of a few people, as a person finds them."""
    first = trials.loc[rows].drop_duplicates(["subject", "restart"])
    restarts = [f", restart {plain(str(name))}" if name else "" for name in first["restart"]]
    names = zip(first["subject"], restarts, first["trial"], strict=True)
    return _some([f"subject {plain(str(subject))}{restart}, trial {trial}" for subject, restart, trial in names])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'; '.join(names[:NAMED])}{more}"
