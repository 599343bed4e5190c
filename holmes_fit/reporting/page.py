"""What a page of the report is: its name, what it needs, what stands on it, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holmes_fit.reporting.blocks import Section
from holmes_fit.reporting.run_data import CohortData

Figures = Mapping[str, Callable[[], Any]]  # by name; each is a ``Panel`` or a ``Grid``, made when it is asked for


def _nothing(data: CohortData) -> str:
    return ""


def _no_figures(data: CohortData) -> Figures:
    return {}


@dataclass(frozen=True)
class Page:
    """One section of the report, of one A4 page or several."""

    name: str  # what ``--pages`` calls it
    title: str  # at the head of its pages
    section: Callable[[CohortData], Section]  # what stands on it; asked for only where nothing is lacking
    figures: Callable[[CohortData], Figures] = _no_figures  # those that the run has; their names begin with the page's
    # What the run lacks for it, such as "The models were not compared: run holmes-fit compare RUN."; empty where there
    # is all that it needs. It is then left out, and the sentence is printed instead.
    lacking: Callable[[CohortData], str] = _nothing
