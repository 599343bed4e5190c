"""Small trees of all problems that one person has learned afresh, side by side."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from holmes_fit.reporting.blocks import TEXT_WIDTH, Block, Grid, Pads, Panel
from holmes_fit.reporting.figures.trees import draw_tree, fitting_root, height_of
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import brief
from holmes_fit.trials.curves import CONDITION

MOST, COLUMNS, GAP = 9, 3, 12.0
PADS: Pads = (0.0, 0.0, 0.0, 14.0)
N_COLUMNS = 10  # of trees.csv before the cues


def problems_of(data: CohortData, model: str, subject: str) -> Iterator[Block]:
    """Give the trees of a person's problems in their order, each with its condition; none of someone with one."""
    trees, trials = data.of_model("trees", model), data.of_model("trials_fitted", model)
    own = trees[trees["subject"] == subject]
    lengths = trials.loc[trials["subject"] == subject, "restart"].value_counts(sort=False)
    if len(lengths) < 2:
        return
    cues, conditions = [str(name) for name in trees.columns[N_COLUMNS:]], _conditions(data, subject)
    columns = 2 if len(lengths) in (2, 4) else COLUMNS
    width, cells, heights = (TEXT_WIDTH - GAP * (columns - 1)) / columns, [], []
    for restart in list(lengths.index)[:MOST]:
        rows = own[own["restart"] == restart]
        root, _ = fitting_root(rows, cues, int(lengths[restart]), width)
        title = " – ".join(filter(None, (str(restart), conditions.get(str(restart), ""))))
        cells.append(Panel("", partial(draw_tree, root=root), title, table=rows))
        heights.append(height_of(root) + PADS[3])
    some = f", the first {MOST} of {len(lengths)} problems" if len(lengths) > MOST else ", all problems"
    head = f"Person {brief(subject)}{some}: only nodes for which there is room"
    table = pd.concat([cell.table for cell in cells if cell.table is not None], ignore_index=True)
    yield Grid("tree_problems", cells, columns, max(heights), pads=PADS, gap=GAP, heads={0: head}, table=table)


def _conditions(data: CohortData, subject: str) -> dict[str, str]:
    """Return the condition of each of a person's problems that has one."""
    if data.cohort is None or CONDITION not in data.cohort.trials:
        return {}
    own = data.cohort.trials[data.cohort.trials["subject"] == subject]
    of = own.dropna(subset=[CONDITION]).groupby("restart")[CONDITION].agg(["first", "nunique"])
    return {str(restart): str(row["first"]) for restart, row in of.iterrows() if row["nunique"] == 1}
