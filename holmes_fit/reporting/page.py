"""What a page of the report is: its name, what it needs, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holmes_fit.reporting.book import Book
from holmes_fit.reporting.run_data import CohortData


def _nothing(data: CohortData) -> str:
    return ""


@dataclass(frozen=True)
class Page:
    """One section of the report, of one A4 page or several.

    Parameters
    ----------
    name
        What ``--pages`` calls it.
    title
        What stands at the head of its pages.
    build
        Writes it: begins with ``book.begin(...)``, then rows of panels.
    lacking
        Says in a sentence what the run lacks for it, such as ``"The models were not compared: run holmes-fit compare
        RUN."``; empty where there is all that it needs. It is then left out, and the sentence is printed instead.
    """

    name: str
    title: str
    build: Callable[[CohortData, Book], None]
    lacking: Callable[[CohortData], str] = _nothing
