"""All pages of the report in their order, and their figures by name."""

from collections.abc import Iterable

from holmes_fit.reporting.blocks import Grid, Panel
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
from holmes_fit.reporting.sections.stimuli import STIMULI
from holmes_fit.reporting.sections.summary import SUMMARY
from holmes_fit.reporting.sections.trees import TREES
from holmes_fit.reporting.sections.untaught import TEST

PAGES: dict[str, Page] = {
    page.name: page
    for page in (
        SUMMARY,
        DATA,
        BEHAVIOUR,
        STIMULI,
        TEST,
        COMPARISON,
        PARAMETERS,
        RECOVERY,
        PEOPLE,
        TREES,
        METHODS,
        APPENDIX,
    )
}


def figures_of(data: CohortData, pages: Iterable[str] = ()) -> dict[str, Panel | Grid]:
    """Return the figures that a run has on these pages, or on all, by name; none is drawn before it is asked for."""
    chosen = [PAGES[name] for name in pages or PAGES]
    sections = [page.section(data) for page in chosen if not page.lacking(data)]
    return {figure.name: figure for section in sections for figure in section.figures()}
