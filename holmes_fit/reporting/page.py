"""What a page of the report is: its name, what it needs, and what stands on it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holmes_fit.reporting.blocks import Block, Section
from holmes_fit.reporting.run_data import CohortData


def needing(**said: str) -> Callable[[CohortData], str]:
    """Return what tells which of these tables a run lacks, each in a sentence; nothing if it has them all."""
    return lambda data: next((text for name, text in said.items() if not data.has(name)), "")


NOTHING_NEEDED = needing()


@dataclass(frozen=True)
class Page:
    """One section of the report, of one A4 page or several."""

    name: str  # what ``--pages`` calls it
    title: str  # at the head of its pages
    blocks: Callable[[CohortData], Iterable[Block]]  # what stands on it; asked for only where nothing is lacking
    # What the run lacks for it, such as "The models were not compared: run holmes-fit compare RUN."; empty where there
    # is all that it needs. It is then left out, and the sentence is printed instead.
    lacking: Callable[[CohortData], str] = NOTHING_NEEDED

    def section(self, data: CohortData) -> Section:
        """Return the page as data; nothing is drawn or laid out yet."""
        return Section(self.title, list(self.blocks(data)))
