"""The first page: the question, the answer in a few sentences, four small figures, and what the report holds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit.reporting.book import GUTTER, Book, Panel
from holmes_fit.reporting.figures.comparison import draw_differences_of_models
from holmes_fit.reporting.figures.layout import GREY
from holmes_fit.reporting.names import model_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import learning_curve, people_table
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
CONTENTS = 40.0  # points for what the report holds


def build(data: CohortData, book: Book) -> None:
    """Write the page."""
    warnings = [
        *([sentence(data.label)] if data.label else []),
        *failure_warnings(data),
        *noise_warnings(data),
        *pooling_warnings(data),
        *mixture_warnings(data),
        *recovery_warnings(data),
    ]
    title = book.settings.title or data.study
    begun = data.run.manifest.begun
    facts = f"Cohort report · {people(data.n_people)} · fitted on {begun.day} {begun:%B %Y}"
    book.cover(f"{title}{f', {brief(data.scope)}' if data.scope else ''}", facts)
    if book.settings.question:
        book.heading(book.settings.question, GREY)
    book.finding(_answer(data))
    for text in _sentences(data):
        book.words(text)
    book.warnings(warnings)
    book.y -= 4
    panels = _panels(data)[:FIGURES]
    rows = -(-len(panels) // 2)
    height = float(np.clip((book.room - CONTENTS) / max(1, rows) - GUTTER, 150, 210))
    for start in range(0, len(panels), 2):
        book.row(height, panels[start : start + 2])
    _contents(book)


def headlines(data: CohortData) -> list[str]:
    """Return what was found, and whether a study like this can tell, in a sentence each."""
    return [_answer(data), recovery_finding(data)]


def _answer(data: CohortData) -> str:
    if data.probabilities is not None and len(data.probabilities) and len(mixed_models(data)) > 1:
        return comparison_finding(data)
    sums = evidence_table(data)
    if len(sums) > 1:
        first, second = sums.iloc[0], sums.iloc[1]
        return (
            f"{capital(model_label(first['model']))} has the most evidence, {fixed(-second['difference'], 1)} ± "
            f"{fixed(second['difference_error'], 1)} nats more than {model_label(second['model'])}, over "
            f"{people(first['n_subjects'])}."
        )
    if len(sums) == 1:
        n = int(sums["n_subjects"].iloc[0])
        was = "was" if n == 1 else "were"
        return f"{people(n)} {was} fitted with one model, {model_label(sums['model'].iloc[0])}."
    return "Nobody could be fitted."


def _sentences(data: CohortData) -> list[str]:
    """Return how sure the answer is, and whether a study like this can tell."""
    found = []
    if data.probabilities is not None and len(data.probabilities):
        found.append(comparison_words(data))
    if confusion_rows(data) is not None:
        found.append(recovery_finding(data))
    table = people_table(data)
    if len(table):
        groups = f" in {count(len(data.groups), 'group')}" if data.groups else ""
        out = 0 if data.failures is None else data.failures["subject"].nunique()
        failed = f"; {people(out)} could not be fitted with every model" if out else ""
        found.append(
            f"{people(len(table))}{groups} gave {count(table['answered'].sum(), 'answer')} "
            f"on {count(table['trials'].sum(), 'trial')}{failed}."
        )
    return [text for text in found if text]


def evidence_table(data: CohortData) -> pd.DataFrame:
    """Return the summed evidence of each model over those who were fitted with all, the highest first."""
    columns = ["model", "n_subjects", "log_evidence", "log_evidence_error", "difference", "difference_error"]
    if data.models is None or not len(data.models):
        return pd.DataFrame(columns=columns)
    wide = data.models.pivot_table(index="subject", columns="model", values="log_evidence").dropna()
    errors = data.models.pivot_table(index="subject", columns="model", values="log_evidence_error")
    sums = wide.sum().sort_values(ascending=False, kind="stable")
    error = np.sqrt((errors.loc[wide.index, sums.index] ** 2).sum()).to_numpy()
    table = pd.DataFrame({"model": sums.index, "n_subjects": len(wide), "log_evidence": sums.to_numpy()})
    table = table.assign(log_evidence_error=error, difference=table["log_evidence"] - table["log_evidence"].max())
    between = np.where(np.arange(len(table)) > 0, np.hypot(error, error[:1]), 0.0)
    return table.assign(difference_error=between)[columns]


def _panels(data: CohortData) -> list[Panel]:
    """Return the small figures, the most telling first."""
    found: list[Panel] = []
    if data.probabilities is not None and len(data.probabilities) and len(mixed_models(data)) > 1:
        if data.frequencies is not None:
            found.append(replace(frequencies_panel(data, "summary_frequencies", small=True), share=1.0))
        found.append(
            replace(probabilities_panel(data, "summary_people", small=True), title="Which model describes whom")
        )
    elif len(sums := evidence_table(data)) > 1:
        draw = partial(draw_differences_of_models, comparison=sums, column="difference", error="difference_error")
        farthest = signed(sums["difference"].min(), 1)
        caption = f"Differences from the best, {farthest} nats at most. Sums over people; lines: Monte Carlo errors."
        found.append(Panel("summary_evidence", draw, "Evidence of the models", caption, table=sums))
    curve = learning_curve(data)
    predicted = predictive_panel(data, data.lead_model, "summary_behaviour")
    if predicted is not None:
        found.append(predicted)
    elif len(curve):
        found.append(replace(learning_panel(data, curve), name="summary_learning"))
    rows = confusion_rows(data)
    if rows is not None:
        found.append(confusion_panel(data, rows, "summary_confusion"))
    if data.fits is not None and len(data.fits):
        found.append(replace(information_panel(data, "summary_information"), share=1.0))
    if predicted is not None and len(curve):
        found.append(replace(learning_panel(data, curve), name="summary_learning"))
    return found


def _contents(book: Book) -> None:
    from holmes_fit.reporting.registry import PAGES

    present = [PAGES[name].title for name, reason in book.contents.items() if not reason and name != "summary"]
    absent = {PAGES[name].title: reason for name, reason in book.contents.items() if reason}
    if present and book.room > CONTENTS / 2:  # alone on a page of its own, it would tell nobody anything
        book.note(f"In this report: {' · '.join(present)}")
    for title, reason in absent.items():
        book.note(f"Not in this report: {sentence(title)} {reason}")


SUMMARY = Page("summary", TITLE, build)
