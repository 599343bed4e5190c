"""All pages of the report, in their order."""

from __future__ import annotations

from holmes_fit.reporting.page import Page
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
    for page in (
        SUMMARY,
        DATA,
        BEHAVIOUR,
        COMPARISON,
        PARAMETERS,
        RECOVERY,
        PEOPLE,
        TREES,
        METHODS,
        APPENDIX,
    )
}
