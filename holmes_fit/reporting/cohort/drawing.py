"""One figure of the report on axes of one's own, to be put beside others or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from holmes_fit.errors import InputError, Problem, nearest, shown
from holmes_fit.runs import Run
from holmes_fit.runs.folder import HasRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holmes_fit.reporting.cohort.book import Panel
    from holmes_fit.reporting.cohort.data import CohortData


def draw(
    run: str | os.PathLike[str] | Run | HasRun,
    figure: str,
    ax: Axes | None = None,
    *,
    recovery: str | os.PathLike[str] | None = None,
) -> Axes:
    """Draw one figure of the report.

    Parameters
    ----------
    run
        The run folder of a fit, or what :func:`holmes_fit.fit` has returned.
    figure
        Its name, as ``holmes-fit report --figures`` calls the file; it begins with the page that it is on. An unknown
        name is answered with those that there are.
    ax
        Where to draw; on a new figure if left out.
    recovery
        As for :func:`holmes_fit.report`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If the run has no such figure.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> ax = hf.draw("runs/pilot", "data_learning_curves")
    >>> ax.set_title("Pilot")  # doctest: +ELLIPSIS
    Text(...)
    >>> hf.draw("runs/pilot", "data_learning")
    Traceback (most recent call last):
    holmes_fit.errors.InputError: argument figure: saw 'data_learning'; ...
    """
    from matplotlib import pyplot as plt

    from holmes_fit.reporting.cohort.writing import read_data
    from holmes_fit.reporting.style import use_style

    data = read_data(run, recovery=recovery)
    with use_style():
        panels = _panels(data, str(figure).partition("_")[0])
        if figure not in panels:
            known = panels or _panels(data, "")
            raise InputError([Problem("argument figure", shown(figure), ", ".join(known), nearest(str(figure), known))])
        return panels[figure].draw(plt.subplots()[1] if ax is None else ax)


@dataclass
class _Kept:
    """Stands where a report writes its files, and keeps its figures."""

    panels: dict[str, Panel] = field(default_factory=dict)

    def panel(self, panel: Panel, size: tuple[float, float]) -> None:
        self.panels[panel.name] = panel

    def grid(self, *_: object) -> None: ...

    def table(self, *_: object) -> None: ...

    def savefig(self, figure: object) -> None: ...


def _panels(data: CohortData, page: str) -> dict[str, Panel]:
    """Return the figures of the pages whose names begin so, by their names."""
    from holmes_fit.reporting.cohort.book import Book
    from holmes_fit.reporting.cohort.catalogue import PAGES

    kept: Any = _Kept()
    book = Book(kept, exports=kept)
    for each in PAGES.values():
        if each.name.startswith(page) and not each.lacking(data):
            each.build(data, book)
    book.close()
    return cast("dict[str, Panel]", kept.panels)
