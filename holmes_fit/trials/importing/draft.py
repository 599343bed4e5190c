"""A first protocol for a table: guesses from names and values of columns, each with its reason, and what stays open."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holmes_fit._support.errors import plain
from holmes_fit.trials.cells import number
from holmes_fit.trials.frames import Frame
from holmes_fit.trials.importing.answers import (
    answers_in,
    coding_lines,
    coding_of,
    correct_of,
    rating_of,
    response_lines,
    right_of,
    shown_answer,
    two_valued,
)
from holmes_fit.trials.importing.cues import (
    MOST_LEVELS,
    TECHNICAL,
    features,
    inline,
    is_presence,
    quoted,
    toml_key,
    zero_and_one,
)
from holmes_fit.trials.importing.guesses import Column, Guesses, columns_of, joint, texts_of
from holmes_fit.trials.importing.shapes import joined, order_by_several, unfolded
from holmes_fit.trials.importing.sheets import listed
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.protocols.schema import RESERVED

if TYPE_CHECKING:
    import pandas as pd

MOST_COVARIATES = 8  # without a name that says that they are about the person, such as the items of a questionnaire
TESTS = re.compile("test|transfer|generali", re.IGNORECASE)
ODD = re.compile("practice|imputed|flag|exclu|outlier|catch")
PRACTICE = re.compile("pra[cx]ti|warm.?up|demo|example", re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """The text of a protocol, why it says what it says, and what only a person can decide."""

    toml: str
    reasons: tuple[str, ...]
    undecided: tuple[str, ...]
    trials: dict[str, list[str]]  # if not all rows look like trials: those that do, by the values of a column


def draft_protocol(table: Frame, name: str, *, all_rows: bool = False) -> Draft:
    """Write a protocol for a table, with a reason for each guess and a list of what nobody but you can know.

    Parameters
    ----------
    table
        A DataFrame with a row a trial, or columns for each trial, such as ``import_files(...).table``.
    name
        The name of the protocol.
    all_rows
        Whether all rows are trials. Otherwise, rows of a kind without outcomes and answers are left out.

    Raises
    ------
    InputError
        If there is no table with rows and different names of columns.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> draft = hf.draft_protocol(hf.import_files("data/weather_prediction.csv").table, "weather")
    >>> print(draft.toml[draft.toml.index("[features]") :])
    [features]
    x1 = "binary"
    x2 = "binary"
    x3 = "binary"
    x4 = "binary"
    """
    texts = texts_of(table)
    size = f"{len(texts):,} rows and {len(texts.columns):,} columns"
    texts, wide = unfolded(texts)
    guesses = Guesses(columns_of(texts))
    if wide:
        guesses.reasons.append(f"wide: columns such as {listed(wide.values(), 3)} are one a trial, in a row a person")
    if not all_rows:
        _pass_over_other_rows(guesses)
    rows = _rows(guesses)
    lines = [*_guessed(guesses), *rows, *_table("wide", {name: quoted(pattern) for name, pattern in wide.items()})]
    made = {name: new.model_dump(exclude_defaults=True) for name, new in guesses.made.items()}
    lines += _table("new_columns", {name: inline(entries) for name, entries in made.items()})
    head = f"# A draft, made from a table with {size}. Check every line."
    reasons = _comments("Why it says what it says:", guesses.reasons)
    questions = _comments("What only you can decide:", guesses.undecided)
    toml = "\n".join([head, *reasons, *questions, "", f"title = {quoted(name)}", *lines, ""])
    read_protocol(toml, f"{plain(name)}.toml", name)  # which would say what is wrong with it
    return Draft(toml, tuple(guesses.reasons), tuple(guesses.undecided), guesses.trials)


def _pass_over_other_rows(guesses: Guesses) -> None:
    """Guess from the rows of trials, where a column such as ``trial_type`` tells them from fixations and forms."""
    for kind in [column for column in guesses.named("kind") if 0 < len(column.values) <= MOST_LEVELS]:
        trials = [value for value in kind.cells.unique() if _may_be_trials(guesses, kind.cells == value)]
        rows, name = kind.cells.isin(trials), plain(kind.name)
        if trials and not rows.all():
            others = listed(kind.cells[~rows].unique())
            seen = f"{int((~rows).sum()):,} with {name} {others} have neither an outcome nor two answers"
            guesses.undecided.append(f"rows: {seen}; they are left out as no trials, by keep.{name}")
            guesses.columns = {each.name: each.only(rows) for each in guesses.columns.values()}
            guesses.trials = {kind.name: trials}
            return


def _may_be_trials(guesses: Guesses, rows: pd.Series) -> bool:
    told = guesses.named("outcome") + guesses.named("correct")
    answered = any(len(answers_in(column.only(rows))) > 1 for column in guesses.named("choice"))
    return answered or any(column.only(rows).values for column in told)


def _guessed(guesses: Guesses) -> list[str]:
    """Give roles to one column after the other, out of those that are left."""
    subject = _subject(guesses)
    restart = _restart(guesses, subject)
    learner = joint([column for column in (subject, restart) if column], guesses.rows)
    trial, has_gaps = _trial(guesses, learner)
    _set_stretches_apart(guesses, joint([subject] if subject else [], guesses.rows))
    rating = rating_of(guesses)
    choice = None if rating else _joined_answers(guesses) or two_valued(guesses, "choice")
    right = None if rating else joined(guesses, "correct") or right_of(guesses)
    outcome = shown_answer(guesses, choice) or two_valued(guesses, "outcome", choice, right)
    correct = correct_of(guesses, outcome, right)
    feedback = _feedback(guesses)
    covariates = _covariates(guesses, subject)
    lines = ["allow_gaps = true  # ? see above"] if has_gaps else []
    lines += ["", "[columns]", _entry("subject", subject), *trial]
    lines += [] if rating else [_entry("choice", choice)]
    lines += [_entry("correct", correct) if correct and not outcome else _entry("outcome", outcome)]
    lines += [_entry("feedback", feedback)] if feedback else []
    lines += [f"restart = {_names([restart] if restart else [])}", f"optional_covariates = {_names(covariates)}"]
    lines += response_lines(rating) if rating else []
    lines += coding_lines(guesses, choice, outcome, correct)
    lines += (
        coding_of("feedback", feedback, zero_and_one(feedback.values)) if feedback and len(feedback.values) == 2 else []
    )
    return [*lines, "", "[features]", *features(guesses, learner, choice or rating, restart), *_exclusions(guesses)]


def _feedback(guesses: Guesses) -> Column | None:
    for column in guesses.free("feedback"):
        if len(column.values) <= 2 and column.is_filled:
            return guesses.take("feedback", column, "its name says so and it has two values in all rows")
    return None


def _joined_answers(guesses: Guesses) -> Column | None:
    column = joined(guesses, "choice")
    if column:
        keys = listed(guesses.made[column.name].of or ())
        guesses.take("choice", column, f"in each row no more than one of {keys} is filled")
    return column


def _subject(guesses: Guesses) -> Column | None:
    for column in guesses.free("subject"):
        if column.is_filled and len(column.values) < guesses.rows:
            return guesses.take("subject", column, f"its name says so, with {len(column.values):,} names")
    guesses.undecided.append(
        'columns.subject: no filled column has a name such as "subject"; name the one of the people'
    )
    return None


def _restart(guesses: Guesses, subject: Column | None) -> Column | None:
    person = joint([subject] if subject else [], guesses.rows)
    for column in guesses.free("problem"):
        if column.is_filled and column.varies_within(person):
            return guesses.take("restart", column, "a new problem is mostly learned afresh; with [] it is not")
    return None


def _trial(guesses: Guesses, learner: pd.Series) -> tuple[list[str], bool]:
    """Return the lines about what orders the trials of a learner, and whether its numbers leave some out."""
    whole = [column for column in guesses.free("trial") if column.is_whole]
    for column in whole:
        order = column.cells.astype("int64").groupby(learner)
        if (order.nunique() == order.size()).all():
            guesses.take("trial", column, "its name says so and no number repeats within a learner")
            gaps = int((order.max() - order.min() >= order.size()).sum())
            if gaps and guesses.trials:
                guesses.reasons.append("allow_gaps: rows that are left out lie between the trials")
            elif gaps:
                advice = "true is right only if those trials were never shown"
                who = "1 learner leave" if gaps == 1 else f"{gaps:,} learners leave"
                guesses.undecided.append(f"allow_gaps: the numbers of {who} trials out; {advice}")
            return [_entry("trial", column)], gaps > 0
    return _order_without_number(guesses, learner, whole), False


def _order_without_number(guesses: Guesses, learner: pd.Series, whole: list[Column]) -> list[str]:
    """Order trials by several columns together, or as the file does."""
    seen = f"the numbers in {listed(column.name for column in whole)} repeat within a person"
    seen = seen if whole else 'no column of whole numbers has a name such as "trial"'
    columns, is_sorted = order_by_several(guesses, learner, whole)
    if not columns:
        guesses.undecided.append(f"columns.trial: {seen}; the order of the file is taken: is it that of the trials?")
        return ['order = "file"  # ? see above']
    lines = [f"trial = {_names(columns)}"]
    guesses.used.add(columns[-1].name)
    order = f"{listed(column.name for column in columns)} order the trials together, as {seen}"
    for column in [column for column in columns if not column.is_whole]:
        words = list(column.cells.unique())
        lines.append(f"order = {inline({column.name: words})}  # ? see above")
        asked = f"was {plain(column.name)} in this order, which is that of the file: {listed(words)}?"
        guesses.undecided.append(f"columns.order: {asked}")
    if is_sorted:
        guesses.reasons.append(f"trial: {order}; the file is in that order")
    else:
        guesses.undecided.append(f"columns.trial: {order}; the file is in another order. Which one is right?")
    return lines


def _set_stretches_apart(guesses: Guesses, person: pd.Series) -> None:
    """Give no role to blocks, phases and sessions: whether anyone learns afresh with them cannot be seen."""
    for column in guesses.free("stretch"):
        guesses.used.add(column.name)
        name = plain(column.name)
        if column.varies_within(person):
            advice = "kept as it is; name it under restart only if people learn afresh with each"
            guesses.undecided.append(f"{name} ({listed(column.values, 4)}): {advice}")
        tests = [value for value in column.values if TESTS.search(value)]
        if tests:
            advice = (
                "if no outcome was shown there, it must be empty in those rows, or a column under feedback must say so"
            )
            guesses.undecided.append(f"{name} {listed(tests)}: {advice}")


def _rows(guesses: Guesses) -> list[str]:
    """Return the rule by which only trials are kept, and commented ones for what looks like practice."""
    lines = []
    for name, values in guesses.trials.items():
        words = f"[{', '.join(quoted(value) for value in values if value)}]"
        lines.append(f"keep.{toml_key(name)} = {f'{{ values = {words}, empty = true }}' if '' in values else words}")
    head = "[rows]" if lines else "# [rows]"
    for column in [column for column in guesses.columns.values() if 1 < len(column.values) <= MOST_LEVELS]:
        practice = [value for value in column.values if PRACTICE.search(value)]
        like = "like practice" if practice else "as if they were set apart"
        if not practice and ODD.search(column.bare_name) and is_presence(column):
            practice = [zero_and_one(column.values)[1]]
        if 0 < len(practice) < len(column.values):
            n, name = int(column.cells.isin(practice).sum()), plain(column.name)
            advice = f"if they do not count, take the # away before drop.{name}"
            guesses.undecided.append(f"{name} {listed(practice)}: {n:,} rows look {like}; {advice}")
            lines.append(f"# drop.{toml_key(column.name)} = [{', '.join(map(quoted, practice))}]")
    return ["", head, *lines] if lines else []


def _covariates(guesses: Guesses, subject: Column | None) -> list[Column]:
    """Return the columns with one value for each person that say something about more than one of them."""
    if subject is None:
        return []
    constant = [column for column in guesses.left() if not column.varies_within(subject.cells)]
    guesses.used |= {column.name for column in constant}
    several = [column for column in constant if len(column.values) > 1 and column.name not in RESERVED]
    named = [column for column in several if column in guesses.named("person")]
    most = max(2, min(6, len(subject.values) // 2))
    unlike = named + guesses.named("no cue")
    others = [column for column in several if column not in unlike and not TECHNICAL.search(column.bare_name)]
    shared = [column for column in others if len(column.values) <= most]
    if len(shared) > MOST_COVARIATES:
        names = listed(column.name for column in shared)
        guesses.reasons.append(f"no covariates: {names}, as there are too many; name those that matter")
        shared = []
    why = "it has one value for each person ({})"
    return [
        guesses.take("optional_covariates", column, why.format(listed(column.values, 4)))
        for column in several
        if column in named or column in shared
    ]


def _exclusions(guesses: Guesses) -> list[str]:
    """Return a commented rule for the first column of reaction times."""
    for column in guesses.free("time"):
        known = sorted(value for text in column.cells if (value := number(text)) is not None)
        if known:
            middle = known[len(known) // 2]
            unit, low, high = ("seconds", 0.1, 5.0) if middle < 50 else ("milliseconds", 100.0, 5000.0)
            why = f"reaction times look like {unit}, half of them below {middle:g}"
            guesses.reasons.append(f"exclusions: none; a rule for {plain(column.name)} is ready below, as {why}")
            rule = f"# rt = {{ column = {quoted(column.name)}, min = {low}, max = {high} }}"
            return ["", "# [exclusions]", rule]
    return []


def _table(name: str, entries: dict[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{toml_key(key)} = {value}" for key, value in entries.items())] if entries else []


def _comments(title: str, texts: Iterable[str]) -> list[str]:
    lines = [f"# - {plain(text, 400)}" for text in texts]
    return ["#", f"# {title}", *lines] if lines else []


def _entry(role: str, column: Column | None) -> str:
    return f"{role} = {quoted(column.name)}" if column else f'# {role} = "..."  # ? see above'


def _names(columns: Iterable[Column]) -> str:
    return f"[{', '.join(quoted(column.name) for column in columns)}]"
