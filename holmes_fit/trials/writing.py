"""Writing a tidy trial table as a CSV in the protocol's own columns and codes, so that it reads back the same."""

import os

import numpy as np
import pandas as pd

from holmes_fit._support.csv_tables import write_table
from holmes_fit.trials.protocols.codings import Coding
from holmes_fit.trials.protocols.kept import kept_form
from holmes_fit.trials.protocols.schema import RESERVED, Protocol

DIGITS = 10  # after the point, of answers on a scale


def write_trials(trials: pd.DataFrame, protocol: Protocol, path: str | os.PathLike[str]) -> None:
    """Write trials so that reading them with the same protocol, in its kept form, gives the same arrays."""
    write_table(as_in_file(trials, protocol), path)


def as_in_file(trials: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Return the table with the columns and codes that a file of the protocol has, or those of its kept form."""
    protocol = kept_form(protocol)
    columns = protocol.columns
    choice = trials["choice"]
    if "excluded_choice" in trials:
        choice = choice.fillna(trials["excluded_choice"])
    file = {columns.subject: trials["subject"]}
    file |= {name: trials[name] for name in columns.restart}
    file[columns.trial[0]] = trials["trial"]
    file |= {name: _labels(trials[name], protocol.features[name].tidy) for name in protocol.features}
    if (scale := protocol.response) is None:
        file[columns.choice] = _coded(choice, protocol.choice, trials, protocol)
    else:  # as shares of a scale are read: rounding takes away what they were off by
        file[scale.column] = (scale.low + (scale.high - scale.low) * choice).round(DIGITS)
    # Without a column for it, only an empty outcome says that there was no feedback.
    outcome = trials["outcome"]
    if columns.feedback is None:
        outcome = outcome.mask(~trials["feedback"])
    if columns.correct is not None:
        file[columns.correct] = _coded((choice == outcome).astype("Int8"), protocol.correct, trials, protocol)
    elif columns.outcome is not None:
        file[columns.outcome] = _coded(outcome, protocol.outcome, trials, protocol)
    if columns.feedback is not None:
        shown = trials["feedback"].astype("Int8")
        file[columns.feedback] = _coded(shown, protocol.feedback, trials, protocol)
    file |= {name: trials[name] for name in trials.columns if name not in RESERVED and name not in file}
    return pd.DataFrame(file)


def _labels(values: pd.Series, tidy: dict[str, int] | dict[str, str]) -> pd.Series:
    return values.map({value: label for label, value in reversed(list(tidy.items()))})


def _coded(values: pd.Series, coding: Coding, trials: pd.DataFrame, protocol: Protocol) -> pd.Series:
    """Return the file's word for each code: the first one that has it; empty where there is no code."""
    if coding.by is None:
        return _labels(values, coding.coding)
    by = trials[protocol.tidy_name(coding.by.column)].astype(str)
    words = pd.Series(np.nan, index=values.index, dtype="object")
    for name, codes in coding.by.codings.items():
        words = words.where(by != name, _labels(values, codes))
    return words
