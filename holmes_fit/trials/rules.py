"""The exclusion rules of a protocol: which answers count as missed, which people are left out, and why."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.trials.cohorts import EXCLUSION_COLUMNS, hits
from holmes_fit.trials.protocols.schema import Protocol, RtWindow


def outside_window(
    answered: NDArray[np.bool_], rt: NDArray[np.float64] | None, rule: RtWindow | None
) -> NDArray[np.bool_]:
    """Return the answers whose reaction time does not count. An answer without reaction time does."""
    if rule is None or rt is None:
        return np.zeros(len(answered), dtype=np.bool_)
    longest = np.inf if rule.max is None else rule.max
    outside: NDArray[np.bool_] = answered & ((rt < rule.min) | (rt > longest))
    return outside


def apply_rules(trials: pd.DataFrame, protocol: Protocol) -> tuple[list[str], pd.DataFrame]:
    """Return the people who stay, and what the rules did, a row for each person and rule.

    Answers outside the reaction time window are already moved to ``excluded_choice``.
    """
    rules = protocol.exclusions
    people = _tally(trials)
    done: list[tuple[str, str, str, str, str]] = []
    if rules.rt is not None:
        window = f"{rules.rt.min:g} to {'any' if rules.rt.max is None else f'{rules.rt.max:g}'}"
        window += " s" if rules.rt.unit else ""
        for subject, n in people["outside"][people["outside"] > 0].items():
            seen = f"{n} {'answer' if n == 1 else 'answers'} outside"
            done.append((str(subject), "rt", seen, window, "answers count as missed"))
    gone: set[str] = set()
    for rule, measure, least in (
        ("min_answered", "answered", rules.min_answered),
        ("min_accuracy", "accuracy", rules.min_accuracy),
    ):
        if least is None:
            continue
        for subject, value in people[measure][people[measure] < least].items():
            done.append((str(subject), rule, f"{value:g}", f"at least {least:g}", "person left out"))
            gone.add(str(subject))
    staying = [subject for subject in people.index if subject not in gone]
    return staying, pd.DataFrame(done, columns=list(EXCLUSION_COLUMNS), dtype="str")


def _tally(trials: pd.DataFrame) -> pd.DataFrame:
    answered = trials["choice"].notna()
    hit = hits(trials["choice"], trials["outcome"])
    outside = trials["excluded_choice"].notna() if "excluded_choice" in trials else answered & False
    marks = pd.DataFrame({"answered": answered, "accuracy": hit, "outside": outside})
    people = marks.groupby(trials["subject"], sort=False).agg({"answered": "sum", "accuracy": "mean", "outside": "sum"})
    return people.astype({"accuracy": "float64"})
