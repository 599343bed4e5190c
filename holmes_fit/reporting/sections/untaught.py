"""The page on the test: trials without feedback, what people had been taught before, and what they carry over."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from holmes_fit._support.numbers import share
from holmes_fit.reporting.blocks import Block, Text
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.stimuli import FITTED, against, by_model, measured, named_by, no_cues, side_by_side
from holmes_fit.reporting.stimuli import ANSWER, HIT, KEYS, answered, points
from holmes_fit.reporting.text import count

READING = (
    "Without feedback nothing is learned, so that answers show what was learned before. Dots are stimuli: people (up) "
    "against what the model expected (across). Rings are stimuli that the learner had never met with feedback."
)
# By whether the stimulus had been met with feedback, and whether this is the first time in the test.
KINDS = {(False, True): "taught, first time", (False, False): "taught, again", (True, True): "new, first time"}
AGAIN = "new, again"


def _blocks(data: CohortData) -> Iterator[Block]:
    rows = _test_trials(data)
    found = points(rows, ["stimulus", "new"])
    what, words = (HIT, "Answers that equal the outcome") if rows["hit"].notna().all() else (ANSWER, measured(rows))
    kinds = points(rows, ["kind"], what)
    yield Text(_finding(data, rows, kinds, words), "finding")
    yield Text(f"{READING}{named_by(data, found)} {FITTED}")
    yield against(data, "test_models", f"{measured(rows)}: every stimulus of the test", by_model(data, found))
    order = [*KINDS.values(), AGAIN]
    kinds = kinds.sort_values("kind", key=lambda of: of.map(order.index), kind="stable")
    caption = " First time: the first meeting with a stimulus in the test."
    yield side_by_side(data, "test_generalisation", f"{words}: what is carried over", "kind", kinds, caption=caption)


def _test_trials(data: CohortData) -> pd.DataFrame:
    """Return the answers without feedback, with what the learner knew of the stimulus."""
    rows = answered(data)
    rows = rows[rows["test"] == 1]
    first = rows["tested"] == 1
    kind = [KINDS.get(pair, AGAIN) for pair in zip(rows["new"], first, strict=True)]
    return rows.assign(kind=kind)


def _finding(data: CohortData, rows: pd.DataFrame, kinds: pd.DataFrame, words: str) -> str:
    """Say how people and the leading model do with what is new, or else with what was taught."""
    own = kinds[kinds["model"] == data.lead_model].set_index("kind")
    kind = next(kind for kind in (*reversed(KINDS.values()), AGAIN) if kind in own.index)
    row: dict[Any, float] = own.loc[kind].to_dict()
    n = rows[KEYS].drop_duplicates()
    return (
        f"{words} in the test (stimuli: {kind}): people {share(row['observed'])}, {data.words.label(data.lead_model)} "
        f"{share(row['expected'])}, of {count(len(n), 'answer')} without feedback in all."
    )


def _lacking(data: CohortData) -> str:
    if data.cohort is None or no_cues(data):
        return no_cues(data)
    trials = data.cohort.trials
    answered_untaught = trials["choice"].notna() & ~trials["feedback"].astype(bool)
    own = trials["subject"].isin(set(data["trials_fitted"]["subject"]))
    return "" if (answered_untaught & own).any() else "All trials had feedback."


TEST = Page("test", "Test without feedback", _blocks, _lacking)
