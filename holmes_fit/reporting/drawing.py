"""Figures of the report by themselves: on axes of one's own, or as files."""

import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import InputError, Problem, nearest, shown
from holmes_fit.reporting.blocks import SMALL, TEXT_WIDTH, Grid, Panel, Row, Section
from holmes_fit.reporting.engine import canvas
from holmes_fit.reporting.figures.layout import POINTS, fit_into, fractions
from holmes_fit.reporting.registry import PAGES, figures_of
from holmes_fit.reporting.run_data import read_data
from holmes_fit.reporting.style import use_style
from holmes_fit.reporting.text import printable, shortened, wrapped
from holmes_fit.runs.folder import HasRun, Run

EDGE, TITLE = 8.0, 8.5  # points around a file's figure, and of the letters above it
HEIGHT = 150.0  # points, of a figure that can be of any height


def draw(
    run: str | os.PathLike[str] | Run | HasRun,
    figure: str,
    ax: Axes | None = None,
    *,
    recovery: str | os.PathLike[str] | None = None,
) -> Axes:
    """Draw one figure of the report.

    Names are those below, as far as the run has what they show; those in capitals stand for names or numbers of the
    run. The gallery in the documentation shows all.

    - ``summary_frequencies``, ``summary_people``, ``summary_evidence``, ``summary_behaviour``, ``summary_learning``,
      ``summary_confusion``, ``summary_information``
    - ``data_learning_curves``, ``data_curves_by_COLUMN``, ``data_accuracy``, ``data_response_bias``, ``data_missed``
    - ``behaviour_correct``, ``behaviour_correct_group_N``, ``behaviour_conditions_MODEL``, ``behaviour_choice``,
      ``behaviour_no_feedback_correct``
    - ``stimuli_models``, ``stimuli_profile``, ``stimuli_conditions_MODEL``, ``stimuli_exposures``,
      ``stimuli_calibration``; ``test_models``, ``test_generalisation``
    - ``comparison_people``, ``comparison_evidence``, ``comparison_frequencies``, ``comparison_exceedance``,
      ``comparison_leave_one_out``, ``comparison_groups``, ``comparison_by_condition``, ``comparison_families``
    - ``parameters_PARAMETER``, ``parameters_PARAMETER_group``, ``parameters_contrasts``, ``parameters_effects``,
      ``parameters_correlations``, ``parameters_pair``, ``parameters_information``
    - ``recovery_confusion_pooled``, ``recovery_confusion_evidence``, ``recovery_information``, ``recovery_power_N``,
      ``recovery_MODEL``
    - ``people_key``, ``people_N``; ``tree_key``, ``tree_N``, ``tree_problems``

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
    data = read_data(run, recovery=recovery)
    with use_style():
        known = figures_of(data, [name for name in PAGES if name.startswith(str(figure).split("_")[0])])
        if figure not in known:
            known = figures_of(data)
        if figure not in known:
            raise InputError([Problem("argument figure", shown(figure), ", ".join(known), nearest(str(figure), known))])
        drawn = known[figure]
        if isinstance(drawn, Grid):
            width, height = (length / POINTS for length in grid_size(drawn))
            return draw_grid(plt.subplots(figsize=(width, height))[1] if ax is None else ax, drawn)
        return drawn.draw(plt.subplots()[1] if ax is None else ax)


def grid_size(grid: Grid) -> tuple[float, float]:
    """Return how wide and high a grid is where it is not parted, in points."""
    rows = -(-len(grid.cells) // grid.columns)
    return TEXT_WIDTH, rows * (max(grid.least, grid.most) + grid.gap) - grid.gap


def draw_grid(ax: Axes, grid: Grid) -> Axes:
    """Draw small panels side by side, each on axes of its own, within axes that are not seen themselves."""
    (left, bottom, right, top), (width, height) = grid.pads, grid_size(grid)
    high = max(grid.least, grid.most)
    wide = (width + grid.gap) / grid.columns - grid.gap
    ax.set_axis_off()
    for place, cell in enumerate(grid.cells):
        x = (place % grid.columns) * (wide + grid.gap) + left
        y = height - (place // grid.columns) * (high + grid.gap) - high + bottom
        own = (x / width, y / height, (wide - left - right) / width, (high - bottom - top) / height)
        title = shortened(cell.title, SMALL, wide - left)
        cell.draw(ax.inset_axes(own)).set_title(title, fontsize=SMALL, loc="left", pad=4, parse_math=False)
    return ax


def write_figures(folder: Path, sections: Sequence[Section]) -> list[Path]:
    """Write the figures of sections as PNG and SVG, as large as they are there, and what they show as CSV."""
    rows = [block for section in sections for block in section.blocks if isinstance(block, Row)]
    sizes = {panel.name: (width, max(row.least, row.most)) for row in rows for panel, width in row.widths()}
    written = []
    for drawn in [drawn for section in sections for drawn in section.figures()]:
        name = drawn.name
        figure = _file_figure(drawn, *sizes.get(name, (TEXT_WIDTH, HEIGHT)))
        for suffix, metadata in (("png", {}), ("svg", {"Date": None})):
            # Without a date and with given names of its parts, the same figure gives the same bytes.
            with mpl.rc_context({"svg.hashsalt": name}), written_whole(folder / f"{name}.{suffix}") as temporary:
                figure.savefig(temporary, format=suffix, metadata=metadata)
            written.append(folder / f"{name}.{suffix}")
        if drawn.table is not None:
            write_table(drawn.table, folder / f"{name}.csv")
            written.append(folder / f"{name}.csv")
    return written


def _file_figure(drawn: Panel | Grid, width: float, height: float) -> Figure:
    """Return a figure of that size in points, with its title above; a grid has a size of its own."""
    title = drawn.title if isinstance(drawn, Panel) else ""
    width, height = grid_size(drawn) if isinstance(drawn, Grid) else (width, drawn.height or height)
    lines = wrapped(printable(title), TITLE, width, "bold") if title else []
    above = (1.35 * len(lines) + 0.7) * TITLE if lines else 0.0
    across, up = width + 2 * EDGE, height + 2 * EDGE + above
    figure, box = canvas(up, across), (EDGE, EDGE, width, height)
    ax = figure.add_axes(fractions(figure, box))
    if isinstance(drawn, Grid):
        draw_grid(ax, drawn)
    else:
        fit_into([drawn.draw(ax)], [box])
    place = EDGE / across, 1 - EDGE / up
    figure.text(*place, "\n".join(lines), fontsize=TITLE, weight="bold", va="top", parse_math=False)
    return figure
