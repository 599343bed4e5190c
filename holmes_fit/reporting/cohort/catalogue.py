"""All pages of the report, in their order."""

from __future__ import annotations

from holmes_fit.reporting.cohort.appendix import APPENDIX
from holmes_fit.reporting.cohort.behaviour import BEHAVIOUR
from holmes_fit.reporting.cohort.comparison import COMPARISON
from holmes_fit.reporting.cohort.methods import METHODS
from holmes_fit.reporting.cohort.overview import DATA
from holmes_fit.reporting.cohort.page import Page
from holmes_fit.reporting.cohort.parameters import PARAMETERS
from holmes_fit.reporting.cohort.people import PEOPLE
from holmes_fit.reporting.cohort.recovery import RECOVERY
from holmes_fit.reporting.cohort.summary import SUMMARY
from holmes_fit.reporting.cohort.trees import TREES

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
