"""The report of a cohort: one PDF, made from a saved run alone. Nothing is fitted here."""

from holmes_fit.reporting.cohort.writing import PAGE_NAMES, report

__all__ = ["PAGE_NAMES", "report"]
