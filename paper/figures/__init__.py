"""The figures of every study, in the paper's layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import FigureBase

from paper.figures import ablation, backward, conditioning, forward, sweep
from paper.studies import Study
from paper.summaries import Data
from paper.words import WORDS

Draw = Callable[[FigureBase], FigureBase]
HEIGHTS = {  # inches
    "compression": 6.9,
    "transfer": 7.0,
    "new_colors": 8.3,
    "conditioning": 5.4,
    "ablation": 3.8,
    "sweep_maps": 7.8,
    "sweep_advantages": 8.8,
}


@dataclass(frozen=True)
class Picture:
    """A figure that can be drawn onto a page or into a file of its own, by any process."""

    name: str
    draw: Draw

    @property
    def height(self) -> float:
        """Return the height in inches."""
        return HEIGHTS[self.name]

    @property
    def caption(self) -> str:
        return str(WORDS["captions"][self.name])


def pictures(
    study: Study, data: Data, summary: pd.DataFrame, published: pd.DataFrame, further: dict[str, pd.DataFrame]
) -> list[Picture]:
    """Return the figures of a study; ``further`` has the trees of examples and the tests of conditioning."""
    runs, trials, trees = data.runs, data.trials, further.get("trees", pd.DataFrame())
    both: dict[str, Any] = {"summary": summary, "published": published[published["study"] == study]}
    drawn: dict[str, Draw]
    if study == "backward":
        drawn = {
            "compression": partial(backward.compression, trees=trees, **both),
            "transfer": partial(backward.transfer, runs=runs["compositional"], **both),
        }
    elif study == "forward":
        drawn = {"new_colors": partial(forward.new_colors, trials=trials, trees=trees, **both)}
    elif study == "conditioning":
        shown = partial(conditioning.conditioning, summary=summary, tests=further["tests"], trials=trials)
        drawn = {"conditioning": shown}
    elif study == "ablation":
        drawn = {"ablation": partial(ablation.ablation, **both)}
    else:
        pairs, forward_pairs = runs["compositional"], runs["shape_color_sweep"]
        drawn = {
            "sweep_maps": partial(sweep.maps, compositional=pairs),
            "sweep_advantages": partial(sweep.advantages, compositional=pairs, shape_color=forward_pairs),
        }
    return [Picture(name, draw) for name, draw in drawn.items()]
