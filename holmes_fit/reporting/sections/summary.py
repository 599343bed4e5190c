"""The first page: the question, the answer in a few sentences, four small figures, and what the report holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit.reporting.blocks import Panel, Row, Section, Text, Warnings
from holmes_fit.reporting.figures.comparison import draw_differences_of_models
from holmes_fit.reporting.learning import learning_curve
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections.behaviour import predictive_panel
from holmes_fit.reporting.sections.comparison import finding as comparison_finding
from holmes_fit.reporting.sections.comparison import frequencies_panel, mixed_models, probabilities_panel
from holmes_fit.reporting.sections.comparison import words as comparison_words
from holmes_fit.reporting.sections.data import learning_panel
from holmes_fit.reporting.sections.recovery import confusion_panel, confusion_rows, information_panel
from holmes_fit.reporting.sections.recovery import finding as recovery_finding
from holmes_fit.reporting.text import brief, capital, count, fixed, people, sentence, signed
from holmes_fit.reporting.warnings import (
    failure_warnings,
    mixture_warnings,
    noise_warnings,
    pooling_warnings,
    recovery_warnings,
)

TITLE = "Summary"
FIGURES = 4
LONGEST = 120  # characters of a title


def section(data: CohortData) -> Section:
    """Return the page."""
    warnings = [
        *([sentence(data.label)] if data.label else []),
        *failure_warnings(data),
        *noise_warnings(data),
        *pooling_warnings(data),
        *mixture_warnings(data),
        *recovery_warnings(data),
    ]
    begun = data.run.manifest.begun
    facts = f"Cohort report · {people(data.n_people)} · fitted on {begun.day} {begun:%B %Y}"
    panels = [draw() for draw in figures(data).values()]
    rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    return Section(
        TITLE,
        [
            Text(f"{brief(data.title, LONGEST)}{f', {brief(data.scope)}' if data.scope else ''}", "cover"),
            Text(facts, "facts"),
            *([Text(data.settings.question, "question")] if data.settings.question else []),
            Text(_answer(data), "finding"),
            *map(Text, _sentences(data)),
            Warnings(warnings),
            *(Row([replace(panel, share=1.0) for panel in row], 100, 160) for row in rows),
        ],
    )


def headlines(data: CohortData) -> list[str]:
    """Return what was found, and whether a study like this can tell, in a sentence each."""
    return [_answer(data), recovery_finding(data)]


def _answer(data: CohortData) -> str:
    if _is_mixed(data):
        return comparison_finding(data)
    sums = evidence_table(data)
    if len(sums) > 1:
        first, second = sums.iloc[0], sums.iloc[1]
        return (
            f"{capital(data.words.label(first['model']))} has the most evidence, {fixed(-second['difference'], 1)} ± "
            f"{fixed(second['difference_error'], 1)} nats more than {data.words.label(second['model'])}, over "
            f"{people(first['n_subjects'])}."
        )
    if len(sums) == 1:
        n = int(sums["n_subjects"].iloc[0])
        was = "was" if n == 1 else "were"
        return f"{people(n)} {was} fitted with one model, {data.words.label(sums['model'].iloc[0])}."
    return "Nobody could be fitted."


def _sentences(data: CohortData) -> list[str]:
    """Return how sure the answer is, and whether a study like this can tell."""
    found = []
    if data.has("model_probabilities"):
        found.append(comparison_words(data))
    if len(confusion_rows(data)):
        found.append(recovery_finding(data))
    table = people_table(data)
    if len(table):
        groups = f" in {count(len(data.groups), 'group')}" if data.groups else ""
        out = data["failures"]["subject"].nunique() if data.has("failures") else 0
        failed = f"; {people(out)} could not be fitted with every model" if out else ""
        found.append(
            f"{people(len(table))}{groups} gave {count(table['answered'].sum(), 'answer')} "
            f"on {count(table['trials'].sum(), 'trial')}{failed}."
        )
    return [text for text in found if text]


def evidence_table(data: CohortData) -> pd.DataFrame:
    """Return the summed evidence of each model over those who were fitted with all, the highest first."""
    columns = ["model", "n_subjects", "log_evidence", "log_evidence_error", "difference", "difference_error"]
    wide = data.evidence
    if not len(wide):
        return pd.DataFrame(columns=columns)
    errors = data["models"].pivot_table(index="subject", columns="model", values="log_evidence_error")
    sums = wide.sum().sort_values(ascending=False, kind="stable")
    error = np.sqrt((errors.loc[wide.index, sums.index] ** 2).sum()).to_numpy()
    table = pd.DataFrame({"model": sums.index, "n_subjects": len(wide), "log_evidence": sums.to_numpy()})
    table = table.assign(log_evidence_error=error, difference=table["log_evidence"] - table["log_evidence"].max())
    between = np.where(np.arange(len(table)) > 0, np.hypot(error, error[:1]), 0.0)
    return table.assign(difference_error=between)[columns]


def _is_mixed(data: CohortData) -> bool:
    """Return whether several models were weighed against each other."""
    return data.has("model_probabilities") and len(mixed_models(data)) > 1


def figures(data: CohortData) -> Figures:
    """Return the small figures, the most telling first."""
    found: dict[str, Callable[[], Any]] = {}
    if _is_mixed(data):
        if data.has("frequencies"):
            found["summary_frequencies"] = partial(frequencies_panel, data, "summary_frequencies", small=True)
        found["summary_people"] = partial(probabilities_panel, data, "summary_people", small=True)
    elif len(evidence_table(data)) > 1:
        found["summary_evidence"] = partial(_evidence_panel, data)
    predicted, learned = predictive_panel(data, data.lead_model, "summary_behaviour"), len(learning_curve(data)) > 0
    learning: dict[str, Callable[[], Any]] = {}
    if learned:
        learning["summary_learning"] = partial(learning_panel, data, "summary_learning")
    found |= {"summary_behaviour": lambda: predicted} if predicted is not None else learning
    if len(rows := confusion_rows(data)):
        found["summary_confusion"] = partial(confusion_panel, data, rows, "summary_confusion")
    if data.has("fits"):
        found["summary_information"] = partial(information_panel, data, "summary_information")
    return dict([*found.items(), *learning.items()][:FIGURES])


def _evidence_panel(data: CohortData) -> Panel:
    sums = evidence_table(data)
    error = "difference_error"
    draw = partial(draw_differences_of_models, comparison=sums, column="difference", error=error, words=data.words)
    farthest = signed(sums["difference"].min(), 1)
    caption = f"Differences from the best, {farthest} nats at most. Sums over people; lines: Monte Carlo errors."
    return Panel("summary_evidence", draw, "Evidence of the models", caption, table=sums)


SUMMARY = Page("summary", TITLE, section, figures)
