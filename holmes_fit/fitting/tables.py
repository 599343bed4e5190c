"""From the records of a run to CSV files for people, one record at a time.

All rows follow the order of people's names, and of the models as they were asked for.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit.fitting.request import Request
from holmes_fit.models.registry import find_model
from holmes_fit.runs import schema
from holmes_fit.runs.folder import Run
from holmes_fit.runs.records import Record
from holmes_fit.settings.spaces import joint_space
from holmes_fit.trials.protocols.schema import Protocol

TREES = schema.of("trees.csv").columns

Rows = Mapping[str, Any]


def write_tables(request: Request, run: Run) -> None:
    """Write all tables of a run from the records that are there."""
    columns = _columns(request)
    names = [text for learner in request.cohort.learners for text in (learner.subject, learner.restart)]
    # A carriage return in a name is not quoted by itself, and would end the line.
    quoting = csv.QUOTE_ALL if any("\r" in name for name in names) else csv.QUOTE_MINIMAL
    with ExitStack() as stack:
        paths = {name: stack.enter_context(run.writing(name)) for name in columns}

        def add(name: str, rows: Rows | list[dict[str, Any]], header: bool = False) -> None:
            table = pd.DataFrame(rows).reindex(columns=list(columns[name]))
            how: dict[str, Any] = {"encoding": "utf-8", "lineterminator": "\n", "quoting": quoting}
            table.to_csv(paths[name], mode="a", header=header, index=False, **how)

        for name in columns:
            add(name, [], header=True)
        for key in request.keys:
            record = run.load_record(key)
            for name, rows in _rows_by_table(record, request) if record is not None else ():
                add(name, rows)


def _columns(request: Request) -> dict[str, tuple[str, ...]]:
    names = tuple(dict.fromkeys(request.condition_of(each) for own in request.people.values() for each in own))
    spaces = [joint_space(request.spaces[model.name], request.vary, names) for model in request.models]
    searched = dict.fromkeys(axis.name for space in spaces for axis in space.learning)
    whole = ("fits.csv", "models.csv", "trials_fitted.csv", "failures.csv", *(["conditions.csv"] if request.by else []))
    return {
        **{name: schema.of(name).all_columns if request.by else schema.of(name).columns for name in whole},
        "trees.csv": (*TREES, *cue_names(request.cohort.protocol)),
        "search.csv": (*schema.of("search.csv").columns, *searched),
    }


def cue_names(protocol: Protocol) -> tuple[str, ...]:
    """Return a name for each binary cue: ``rain``, ``shape=round`` for a level, and ``rain.2`` for a second copy.

    A cue that is called like another column of ``trees.csv`` is ``node_cue``.
    """
    names = []
    for name, feature in protocol.features.items():
        own = [name] if feature.levels is None else [f"{name}={level}" for level in feature.levels]
        names += [f"{one}.{copy}" if copy > 1 else one for copy in range(1, feature.copies + 1) for one in own]
    return tuple(f"{name}_cue" if name in TREES else name for name in names)


def _rows_by_table(record: Record, request: Request) -> Iterator[tuple[str, Rows | list[dict[str, Any]]]]:
    model, subject = record.key
    who = {"subject": subject, "model": model}
    if record.error:
        yield "failures.csv", [{**who, "reason": record.error}]
        return
    facts: Mapping[str, Any] = record.facts
    warning = " | ".join(facts["warnings"])
    about = {"replicates": facts["replicates"], "warning": warning}
    yield "fits.csv", [{**who, **entry, "parameter": entry["name"], **about} for entry in facts["parameters"]]
    is_exact = not find_model(model).uses_particles
    yield "models.csv", [{**who, **facts, **_criteria(facts, is_exact), "warning": warning}]
    if request.by:
        yield "conditions.csv", [{**who, **each} for each in facts["conditions"]]
    yield "trials_fitted.csv", _trial_rows(who, record, request)
    if "tree" in record.arrays:
        yield "trees.csv", _tree_rows(who, record, request)
    if facts["search"]:
        yield "search.csv", [{**who, **end} for end in facts["search"]]


def _criteria(facts: Rows, is_exact: bool) -> dict[str, float]:
    """Return what is computed from the maximum of the likelihood. Only answered trials count.

    The highest of many noisy estimates is partly luck, so that AIC and BIC are for likelihoods that are exact.
    """
    value, n_parameters, n_answered = facts["log_likelihood"], facts["n_parameters"], facts["n_answered"]
    chance = facts.get("log_chance", n_answered * float(np.log(0.5)))  # of choices, where a record does not say
    return {
        "aic": 2 * n_parameters - 2 * value if is_exact else np.nan,
        "bic": n_parameters * float(np.log(n_answered)) - 2 * value if is_exact else np.nan,
        "pseudo_r2": 1 - value / chance if chance < 0 else np.nan,  # against a fair coin
    }


def _trial_rows(who: Rows, record: Record, request: Request) -> Rows:
    arrays: Mapping[str, Any] = record.arrays
    trials = request.cohort.trials.iloc[arrays["rows"]]
    outcome = trials["outcome"].astype("Float64").where(trials["feedback"]).to_numpy(dtype=np.float64, na_value=np.nan)
    return {
        **who,
        **{name: trials[name].array for name in ("restart", "trial", "choice", "outcome")},
        "p_hat": arrays["p_hat"],
        "prediction_error": outcome - arrays["p_hat"],
        "p_choice": arrays["p_choice"],
        "log_p_chosen": arrays["log_p_choice"],
    }


def _tree_rows(who: Rows, record: Record, request: Request) -> Rows:
    """Name the columns of a record's tree: the number of the learner, those of the node, and the cues."""
    learner, *columns = record.arrays["tree"].T
    own = TREES[3:]
    whole = own[:4]
    restarts: Any = record.facts["restarts"]
    return {
        **who,
        "restart": [restarts[int(number)] for number in learner],
        **{
            name: column.astype(np.int64) if name in whole else column
            for name, column in zip((*own, *cue_names(request.cohort.protocol)), columns, strict=True)
        },
    }
