"""The report of a cohort: one PDF, made from a saved run alone. Nothing is fitted here."""

from holmes_fit.reporting.cohort.drawing import draw
from holmes_fit.reporting.cohort.writing import report

__all__ = ["draw", "report"]
