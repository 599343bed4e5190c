"""Pictures of the models at work, made from the package's own filters and their lineages.

``python -m docs.pictures FOLDER`` draws two films, each with a still of its last frame: how the flat model sorts trials
into causes, and how HOLMES grows a tree. As draws have addresses, a filter that sees fewer trials does on them what one
does that sees more: a frame is the filter run as far as its trial.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure

from holmes_fit.fitting.tables import cue_names
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.models.filters.lineage import surviving_leaves, tree_table
from holmes_fit.models.filters.settings import History
from holmes_fit.models.registry import MODELS, Observer
from holmes_fit.reporting.figures.tree_nodes import root_of
from holmes_fit.reporting.figures.trees import draw_tree
from holmes_fit.reporting.style import use_style
from holmes_fit.studies.simulation import simulate
from holmes_fit.trials.observations import Observations
from holmes_fit.trials.protocols.catalogue import load_protocol

SEED = 4
VALUES = {"alpha": 1.5, "omega": 0.3, "depth_scale": 1.0}
MOST_CAUSES = 4  # that are drawn
FRAMES_A_SECOND = 8
WIDTH, HEIGHT = 6.4, 3.8  # inches


def learner(protocol: str) -> tuple[Observations, Sequence[str]]:
    """Return the trials of one simulated person, and the names of the cues."""
    cohort = simulate(load_protocol(protocol), "flat", subjects=1, seed=SEED).cohort
    return cohort.learners[0].observations, cue_names(cohort.protocol)


def first(trials: Observations, n: int) -> Observations:
    """Return the first trials."""
    return replace(trials, cues=trials.cues[:n], outcome=trials.outcome[:n], feedback=trials.feedback[:n])


def at_work(model: str, trials: Observations) -> Iterator[tuple[np.ndarray, History]]:
    """Give, for each trial, what was predicted so far, and what the particles have done."""
    for n in range(1, trials.n_trials + 1):
        yield MODELS[model].history(first(trials, n), VALUES, Observer(), stream_key(SEED, "picture"))


def film(frames: int, draw: Callable[[Figure, int], None], path: Path) -> None:
    """Write a film, and its last frame beside it."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")

    def frame(number: int) -> list[object]:
        figure.clear()
        draw(figure, number)
        return []

    FuncAnimation(figure, frame, frames, blit=False).save(path, PillowWriter(FRAMES_A_SECOND), dpi=80)
    figure.savefig(path.with_suffix(".png"), dpi=120)


def draw_sorting(path: Path, n_trials: int = 40) -> None:
    """Draw how particles sort trials into causes, and what they predict."""
    trials, _ = learner("conditioning")
    seen = list(at_work("flat", first(trials, n_trials)))

    def draw(figure: Figure, number: int) -> None:
        p_hat, history = seen[number]
        leaves = surviving_leaves(history)
        _, causes = np.unique(leaves, return_inverse=True)
        shares = [np.mean(causes.reshape(leaves.shape) == cause, axis=1) for cause in range(MOST_CAUSES)]
        above, below = figure.subplots(2, sharex=True, height_ratios=(1, 1.2))
        above.plot(np.arange(1, number + 2), p_hat, color=MODELS["flat"].color)
        above.plot(np.arange(1, number + 2), trials.outcome[: number + 1], "|", color="#d95f02")
        above.set(ylim=(-0.1, 1.1), ylabel="p-hat")
        below.imshow(
            shares, aspect="auto", cmap="Greys", vmin=0, vmax=1, extent=(0.5, number + 1.5, MOST_CAUSES + 0.5, 0.5)
        )
        below.set(xlim=(0.5, n_trials + 0.5), xlabel="trial", yticks=range(1, MOST_CAUSES + 1), ylabel="cause")

    film(n_trials, draw, path)


def draw_growing(path: Path, every: int = 8) -> None:
    """Draw how a tree of causes grows."""
    trials, names = learner("compositional_3")
    seen = list(at_work("holmes", trials))[every - 1 :: every]

    def draw(figure: Figure, number: int) -> None:
        n = (number + 1) * every
        root = root_of(tree_table(seen[number][1], first(trials, n), names), names, n, least_share=0.04)
        draw_tree(figure.subplots(), root).set_title(f"after {n} trials", loc="left")

    film(len(seen), draw, path)


def main(folder: Path) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    with use_style():
        draw_sorting(folder / "sorting.gif")
        draw_growing(folder / "growing.gif")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
