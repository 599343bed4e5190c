"""The figures of backward transfer, in the paper's layout: compression, and one-shot transfer."""

from functools import partial

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from holmes_fit.reporting.style import INK, NO_OUTCOME, OUTCOME, PALE, RULE
from paper.compare import StudyResult
from paper.figures import parts
from paper.figures.parts import LEVELS, MODEL_COLORS, Panel, Rows
from paper.summaries import highest_levels, picked, unit_means

N_OBSERVATIONS = 4
# Of the 2-level task: four observations, then level 2 twice.
CUES = [*(f"observation {number}" for number in range(N_OBSERVATIONS)), "1 at level 2", "1 at level 2.2"]


def compression(found: StudyResult) -> Rows:
    """Draw the paper's first results figure: accuracy is kept, representations are smaller."""

    def late(ax: Axes) -> None:
        parts.legend_of_pair(parts.lines_by_level(ax, found, "late_accuracy"), loc="lower left")

    two_levels, by_level = partial(parts.bars, found=found, task="2-level"), partial(parts.lines_by_level, found=found)
    correct, above_0 = {"ylabel": "share correct"}, {"ylim": (0, None)}
    entropy, clusters = (partial(by_level, metric=metric) for metric in ("entropy", "clusters"))
    return [
        [
            Panel("A", "The 2-level task", task_structure, share=2),
            Panel("B", "Accuracy, 2 levels", partial(two_levels, metric="accuracy"), look=correct),
            Panel("C", "Entropy, 2 levels", partial(two_levels, metric="entropy"), look={"ylabel": "nats"}),
        ],
        [
            Panel("D", "Accuracy, final 70% of trials", late, look=correct | {"ylim": (0.5, 1.02)}),
            *parts.panels_of_trees("E", found.further["trees"], CUES, "learned by {}"),
        ],
        [
            Panel("F", "Entropy within categories", entropy, look={"ylabel": "nats"} | above_0),
            Panel("G", "Clusters", clusters, look={"ylabel": "number"} | above_0),
        ],
    ]


def transfer(found: StudyResult) -> Rows:
    """Draw the paper's figure of one-shot transfer."""

    def recall(ax: Axes) -> None:
        parts.legend_of_pair(parts.lines_by_level(ax, found, "recall"), loc="lower left")

    def by_depth(ax: Axes) -> None:
        rows = {level: {"task": f"5-level, level {level}", "metric": "recall"} for level in LEVELS}
        parts.bars_of_pair(ax, found, rows)

    top = highest_levels(found.data.runs["compositional"])
    accuracy, recalled = (unit_means(top, metric, "point") for metric in ("accuracy", "recall"))
    price, share = partial(parts.scatter_of_pair, x=accuracy, y=recalled), {"ylabel": "recall", "ylim": (0, 1)}
    depth = {"xticks": LEVELS, "xlabel": "category level (5 is the highest)", **share}
    look = {"xlabel": "accuracy, all trials", "ylabel": "recall"}
    return [
        [Panel("A", "One-shot transfer", transfer_steps, height=0.55)],
        [
            Panel("B", "Recall of the category", recall, look=share),
            Panel("C", "Advantage of HOLMES", partial(advantage, found=found)),
        ],
        [
            Panel("D", "Recall in the 5-level task", by_depth, look=depth),
            Panel("E", "Accuracy and transfer, mean of 2 to 5 levels", price, look=look),
        ],
    ]


def task_structure(ax: Axes) -> Axes:
    """Draw the 2-level task: a category decides the outcome; four observations are seen under each."""
    parts.empty(ax, 8, 3.4).set_ylim(-0.15, 3.3)
    for value, (color, text) in enumerate([(OUTCOME, "outcome"), (NO_OUTCOME, "no outcome")]):
        middle = 2 + 4 * value
        parts.box(ax, middle, 2.85, 2.4, 0.7, text, color=_pale(color))
        ax.plot([middle, middle], [2.5, 2.15], color=RULE, zorder=0)
        parts.box(ax, middle, 1.8, 2.4, 0.7, f"level 2 = {value}", color=PALE)
        for observation in range(N_OBSERVATIONS):
            x = middle - 1.35 + 0.9 * observation
            ax.plot([middle, x], [1.45, 0.95], color=RULE, zorder=0)
            parts.box(ax, x, 0.62, 0.74, 0.62, str(observation))
        ax.text(middle, 0.02, "observations", ha="center", va="center", fontsize=7)
    return ax


def _pale(color: str) -> tuple[float, float, float]:
    red, green, blue = (0.35 * part + 0.65 for part in to_rgb(color))
    return red, green, blue


def transfer_steps(ax: Axes) -> Axes:
    """Draw the three steps of one-shot transfer."""
    parts.empty(ax, 12, 2)
    steps = (
        "Training\npredict every outcome;\nno category is ever named",
        "Teaching\none past trial is labelled:\n“it belongs to category 0”",
        "Test\nwhich past trials belong to it?\nThose in the same cluster.",
    )
    for place, text in enumerate(steps):
        x = 2 + 4 * place
        parts.box(ax, x, 1.0, 3.4, 1.5, text, color=PALE)
        if place:
            ax.annotate("", (x - 1.75, 1.0), (x - 2.25, 1.0), arrowprops={"arrowstyle": "->", "color": INK})
    return ax


def advantage(ax: Axes, found: StudyResult) -> Axes:
    """Draw HOLMES minus flat recall against the number of levels."""
    ax.axhline(0, color=RULE, linewidth=0.8)
    for level in LEVELS:
        keys = {"task": f"{level}-level", "model": "difference", "metric": "recall"}
        parts.bar(ax, level, picked(found.summary, **keys).iloc[0], width=0.6, color=MODEL_COLORS["holmes"])
        parts.diamonds(ax, level + 0.2, found, **keys)
    ax.set(xticks=LEVELS, xlabel="levels of the task", ylabel="recall, HOLMES − flat")
    return ax
