"""One figure of the report on axes of one's own, to be put beside others or changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from holmes_fit._support.errors import InputError, Problem, nearest, shown
from holmes_fit.runs.folder import HasRun, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from holmes_fit.reporting.book import Panel
    from holmes_fit.reporting.figures.layout import Pads
    from holmes_fit.reporting.run_data import CohortData


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
        Where to draw; on a new figure if left out. A figure of many small ones, such as ``people_1``, is drawn on axes
        of its own within these (``ax.child_axes``).
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
    holmes_fit.InputError: argument figure: saw 'data_learning'; ...
    """
    from matplotlib import pyplot as plt

    from holmes_fit.reporting.style import use_style
    from holmes_fit.reporting.writing import read_data

    data = read_data(run, recovery=recovery)
    with use_style():
        kept = _figures(data, str(figure).partition("_")[0])
        if figure not in kept.panels:
            known = kept.panels or _figures(data, "").panels
            raise InputError([Problem("argument figure", shown(figure), ", ".join(known), nearest(str(figure), known))])
        return kept.panels[figure].draw(plt.subplots(figsize=kept.sizes.get(figure))[1] if ax is None else ax)


@dataclass
class _Kept:
    """Stands where a report writes its files, and keeps its figures; of grids, the size in inches as well."""

    panels: dict[str, Panel] = field(default_factory=dict)
    sizes: dict[str, tuple[float, float]] = field(default_factory=dict)
    folder: None = None

    def panel(self, panel: Panel, size: tuple[float, float]) -> None:
        self.panels[panel.name] = panel

    def grid(
        self, name: str, cells: Sequence[Panel], columns: int, size: tuple[float, float], pads: Pads, *_: object
    ) -> None:
        from holmes_fit.reporting.book import Panel
        from holmes_fit.reporting.figures.layout import POINTS

        rows = -(-len(cells) // columns)
        self.panels[name] = Panel(name, partial(_draw_grid, cells=cells, shape=(rows, columns), size=size, pads=pads))
        self.sizes[name] = (columns * size[0] / POINTS, rows * size[1] / POINTS)

    def table(self, *_: object) -> None: ...

    def savefig(self, figure: object) -> None: ...


def _draw_grid(ax: Axes, cells: Sequence[Panel], shape: tuple[int, int], size: tuple[float, float], pads: Pads) -> Axes:
    """Draw small panels side by side, each on axes of its own, within axes that are not seen themselves."""
    (rows, columns), (width, height), (left, bottom, right, top) = shape, size, pads
    whole = (columns * width, rows * height)
    ax.set_axis_off()
    for place, cell in enumerate(cells):
        x, y = (place % columns) * width + left, (rows - 1 - place // columns) * height + bottom
        own_width, own_height = width - left - right, height - bottom - top
        inside = ax.inset_axes((x / whole[0], y / whole[1], own_width / whole[0], own_height / whole[1]))
        cell.draw(inside).set_title(cell.title, fontsize="small", loc="left", parse_math=False)
    return ax


def _figures(data: CohortData, page: str) -> _Kept:
    """Return the figures of the pages whose names begin so."""
    from holmes_fit.reporting.book import Book
    from holmes_fit.reporting.registry import PAGES

    kept = _Kept()
    stand_in: Any = kept
    book = Book(stand_in, exports=stand_in)
    for each in PAGES.values():
        if each.name.startswith(page) and not each.lacking(data):
            each.build(data, book)
    book.close()
    return kept
