"""The first page: the question, the answer in a few sentences, four small figures, and what the report holds."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pandas as pd

from holmes_fit.reporting.blocks import Block, Panel, Row, Text
from holmes_fit.reporting.figures.comparison import draw_differences_of_models
from holmes_fit.reporting.learning import learning_curve
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections import comparison, recovery
from holmes_fit.reporting.sections.behaviour import predictive_panel
from holmes_fit.reporting.sections.data import learning_panel
from holmes_fit.reporting.text import brief, capital, count, fixed, people, signed
from holmes_fit.reporting.warnings import warned

FIGURES = 4
LONGEST = 120  # characters of a title


def _blocks(data: CohortData) -> Iterator[Block]:
    begun = data.run.manifest.begun
    yield Text(f"{brief(data.title, LONGEST)}{f', {brief(data.scope)}' if data.scope else ''}", "cover")
    yield Text(f"Cohort report · {people(data.n_people)} · fitted on {begun.day} {begun:%B %Y}", "facts")
    if data.settings.question:
        yield Text(data.settings.question, "question")
    yield Text(_answer(data), "finding")
    yield from (Text(text) for text in _sentences(data) if text)
    yield warned(data, "label", "failures", "noise", "pooling", "mixture", "recovery")
    panels = [replace(panel, share=1.0) for panel in islice(_panels(data), FIGURES)]
    for start in range(0, len(panels), 2):
        yield Row(panels[start : start + 2], 100, 160, tight=80)


def headlines(data: CohortData) -> list[str]:
    """Return what was found, and whether a study like this can tell, in a sentence each."""
    return [_answer(data), recovery.finding(data)]


def _answer(data: CohortData) -> str:
    if _is_mixed(data):
        return comparison.finding(data)
    first, *others = evidence_table(data).to_dict("records") or [{"n_subjects": 0}]
    n = int(first["n_subjects"])
    if not n:
        return "Nobody could be fitted."
    label = data.words.label(first["model"])
    if not others:
        return f"{people(n)} {'was' if n == 1 else 'were'} fitted with one model, {label}."
    second = others[0]
    nats = f"{fixed(-second['difference'], 1)} ± {fixed(second['difference_error'], 1)} nats"
    more = f"{nats} more than {data.words.label(second['model'])}"
    return f"{capital(label)} has the most evidence, {more}, over {people(n)}."


def _sentences(data: CohortData) -> Iterator[str]:
    """Give how sure the answer is, and whether a study like this can tell."""
    if data.has("model_probabilities"):
        yield comparison.words(data)
    if len(recovery.confusion_rows(data)):
        yield recovery.finding(data)
    table = people_table(data)
    if len(table):
        groups = f" in {count(len(data.groups), 'group')}" if data.groups else ""
        out = data["failures"]["subject"].nunique() if data.has("failures") else 0
        failed = f"; {people(out)} could not be fitted with every model" if out else ""
        answers, trials = count(table["answered"].sum(), "answer"), count(table["trials"].sum(), "trial")
        yield f"{people(len(table))}{groups} gave {answers} on {trials}{failed}."


def evidence_table(data: CohortData) -> pd.DataFrame:
    """Return the summed evidence of each model over those who were fitted with all, the highest first."""
    if not len(data.evidence):
        return pd.DataFrame()
    errors = data["models"].pivot_table(index="subject", columns="model", values="log_evidence_error")
    sums = data.evidence.sum().sort_values(ascending=False, kind="stable")
    error = np.sqrt((errors.loc[data.evidence.index, sums.index] ** 2).sum()).to_numpy()
    return pd.DataFrame(
        {
            "model": sums.index,
            "n_subjects": len(data.evidence),
            "log_evidence": sums.to_numpy(),
            "log_evidence_error": error,
            "difference": sums.to_numpy() - sums.max(),
            "difference_error": np.where(np.arange(len(sums)) > 0, np.hypot(error, error[:1]), 0.0),
        }
    )


def _is_mixed(data: CohortData) -> bool:
    """Return whether several models were weighed against each other."""
    return data.has("model_probabilities") and len(comparison.mixed_models(data)) > 1


def _panels(data: CohortData) -> Iterator[Panel]:
    """Give small figures, the most telling first, and learning curves last, if there is no better place for them."""
    if _is_mixed(data):
        if data.has("frequencies"):
            yield comparison.frequencies_panel(data, "summary_frequencies", small=True)
        yield comparison.probabilities_panel(data, "summary_people", small=True)
    elif len(evidence_table(data)) > 1:
        yield _evidence_panel(data)
    predicted = predictive_panel(data, data.lead_model, "summary_behaviour")
    learning = [learning_panel(data, "summary_learning")] if len(learning_curve(data)) else []
    yield from learning if predicted is None else [predicted]
    if len(rows := recovery.confusion_rows(data)):
        yield recovery.confusion_panel(data, rows, "summary_confusion")
    if data.has("fits"):
        yield recovery.information_panel(data, "summary_information")
    yield from [] if predicted is None else learning


def _evidence_panel(data: CohortData) -> Panel:
    sums = evidence_table(data)
    draw = partial(draw_differences_of_models, comparison=sums, column="difference", error="difference_error")
    farthest = signed(sums["difference"].min(), 1)
    caption = f"Differences from the best, {farthest} nats at most. Sums over people; lines: Monte Carlo errors."
    return Panel("summary_evidence", partial(draw, words=data.words), "Evidence of the models", caption, table=sums)


SUMMARY = Page("summary", "Summary", _blocks)
