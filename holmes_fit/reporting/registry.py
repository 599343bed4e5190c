"""All pages of the report in their order, and their figures by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.appendix import APPENDIX
from holmes_fit.reporting.sections.behaviour import BEHAVIOUR
from holmes_fit.reporting.sections.comparison import COMPARISON
from holmes_fit.reporting.sections.data import DATA
from holmes_fit.reporting.sections.methods import METHODS
from holmes_fit.reporting.sections.parameters import PARAMETERS
from holmes_fit.reporting.sections.people import PEOPLE
from holmes_fit.reporting.sections.recovery import RECOVERY
from holmes_fit.reporting.sections.summary import SUMMARY
from holmes_fit.reporting.sections.trees import TREES

PAGES: dict[str, Page] = {
    page.name: page
    for page in (SUMMARY, DATA, BEHAVIOUR, COMPARISON, PARAMETERS, RECOVERY, PEOPLE, TREES, METHODS, APPENDIX)
}


def figures_of(data: CohortData, pages: Iterable[str] = ()) -> dict[str, Callable[[], Any]]:
    """Return the figures that a run has on these pages, or on all, by name; none is made before it is asked for."""
    chosen = [PAGES[name] for name in pages or PAGES]
    return {name: make for page in chosen if not page.lacking(data) for name, make in page.figures(data).items()}
