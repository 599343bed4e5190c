"""The pages of people and of trees: what they say, that it fits, and that odd people do not break them."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text
from pypdf import PdfReader
from scipy.special import logsumexp

from holmes_fit.reporting.blocks import About, Panel
from holmes_fit.reporting.engine import RC, pdf_of
from holmes_fit.reporting.figures import people as cells
from holmes_fit.reporting.figures import tree_nodes
from holmes_fit.reporting.figures import trees as trees
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.people import PEOPLE, Cells, best_models, in_order, surface_of
from holmes_fit.reporting.sections.trees import TREES, chosen_learners, in_rows, shown_model
from holmes_fit.reporting.style import use_style
from holmes_fit.runs.folder import read_run
from holmes_fit.runs.records import Record
from tests.report_text import HEIGHT, MARGIN, WIDTH, placed
from tests.sample_run import Sample, make_run

ODD_NAMES = ("$x_1$ 100%", "🎉 party 李", "n" * 300, "line\nbreak", r"\alpha_{2}")


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with use_style(), rc_context(RC):
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FilePath:
    """Twelve people, two groups, odd names, one with three trials, one failed; models compared."""
    return make_run(tmp_path_factory.mktemp("people") / "run", Sample(names=ODD_NAMES))


@pytest.fixture
def data(run: FilePath) -> CohortData:
    return CohortData(read_run(run))


def sheet(width: float, height: float) -> Axes:
    """Axes of that size in points that fill a figure."""
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    FigureCanvasAgg(figure)
    return figure.add_axes((0, 0, 1, 1))


def texts(ax: Axes) -> list[Text]:
    return [text for text in ax.texts if text.get_text()]


def boxes(ax: Axes) -> list[Any]:
    return [text.get_window_extent() for text in texts(ax)]


def overlapping(ax: Axes) -> list[tuple[str, str]]:
    """Pairs of texts that share more than a hair of their place."""
    found = [(text.get_text(), box.padded(-0.3)) for text, box in zip(texts(ax), boxes(ax), strict=True)]
    return [(a, b) for i, (a, one) in enumerate(found) for b, other in found[:i] if one.overlaps(other)]


class Pages(NamedTuple):
    """What is printed, and on how many pages."""

    words: str
    number: int


def built(page: Page, data: CohortData) -> Pages:
    """Build a page, and check that nothing is too small and that everything lies within the margins."""
    assert not page.lacking(data)
    pages = PdfReader(BytesIO(pdf_of([page.section(data)], About("A study", head="head", foot="foot")))).pages
    for line in [line for each in pages for line in placed(each)]:
        assert line.size >= 6.99, line
        assert line.x0 > MARGIN - 3, line
        assert line.x1 < WIDTH - MARGIN + 3, line
        assert line.y0 > 20, line
        assert line.y1 < HEIGHT - 20, line
    return Pages(" ".join(" ".join(each.extract_text() for each in pages).split()), len(pages))


# --- Which people, which model
def test_the_best_model_is_the_most_probable_one_where_models_were_compared(data: CohortData) -> None:
    best = best_models(data)
    for subject, rows in data["model_probabilities"].groupby("subject"):
        top = rows.loc[rows["probability"].idxmax()]
        assert best[str(subject)] == (top["model"], top["probability"])


def test_the_best_model_is_the_one_of_most_evidence_otherwise(tmp_path: FilePath) -> None:
    data = CohortData(read_run(make_run(tmp_path / "run", Sample(n_people=6, compared=False, records=False))))
    best = best_models(data)
    assert len(best) == 5  # one has failed
    for subject, rows in data["models"].groupby("subject"):
        assert best[str(subject)].model == rows.loc[rows["log_evidence"].idxmax(), "model"]
        assert np.isnan(best[str(subject)].probability)


def test_people_are_sorted_by_group_and_number(tmp_path: FilePath) -> None:
    sample = Sample(n_people=4, names=("p10", "p9", "p2", "P1"), warned=False, records=False, recovered=False)
    data = CohortData(read_run(make_run(tmp_path / "run", sample)))
    assert in_order(data) == {"control": ["p2", "p10"], "patient": ["P1", "p9"]}


def test_a_cell_has_the_trials_and_the_estimates_of_the_tables(data: CohortData) -> None:
    person = Cells(data).person("s06")
    model = best_models(data)["s06"].model
    own = data["trials_fitted"][(data["trials_fitted"]["subject"] == "s06") & (data["trials_fitted"]["model"] == model)]
    assert person.trials is not None
    assert person.surface is not None
    pd.testing.assert_frame_equal(person.trials.reset_index(drop=True), own.reset_index(drop=True))
    fits = data["fits"][(data["fits"]["subject"] == "s06") & (data["fits"]["model"] == model)].set_index("parameter")
    assert person.surface.median == (fits["median"]["alpha"], fits["median"]["omega"])
    assert person.surface.best == (fits["map"]["alpha"], fits["map"]["omega"])


def test_warnings_and_failures_are_told_in_the_cell(data: CohortData) -> None:
    everyone = Cells(data)
    model = best_models(data)[ODD_NAMES[0]].model  # whose likelihood is noisy with HOLMES
    assert everyone.person(ODD_NAMES[0]).warning == "noisy likelihood" + ("" if model == "holmes" else ": HOLMES")
    assert everyone.person(ODD_NAMES[1]).warning == "few answers (3)"
    failed = everyone.person("s12")
    assert failed.trials is None
    assert failed.reason == "No fit: all answers are missed."
    assert everyone.person("s07").warning == ""


# --- The map
def lattice(order: tuple[str, ...], standing: str = "free") -> tuple[Record, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    lengths = {"alpha": 3, "omega": 4, "beta": 5, "lapse": 2}
    height = rng.normal(size=[lengths[name] for name in order])
    arrays: dict[str, Any] = {"log_likelihood": height.astype(np.float32)}
    for name in order:
        weights = rng.random(lengths[name])
        arrays[f"positions_{name}"] = np.arange(lengths[name], dtype=np.float64)
        arrays[f"log_prior_{name}"] = np.log(weights / weights.sum())
    rows = pd.DataFrame({"parameter": order, "standing": [standing] * len(order), "median": 0.5, "map": 0.4})
    weighted = arrays["log_likelihood"].astype(np.float64)
    for axis, name in enumerate(order):
        if name not in ("alpha", "omega"):
            weighted = weighted + arrays[f"log_prior_{name}"].reshape(
                [-1 if i == axis else 1 for i in range(len(order))]
            )
    others = tuple(axis for axis, name in enumerate(order) if name not in ("alpha", "omega"))
    return Record(("holmes", "s1"), {}, arrays), rows, logsumexp(weighted, axis=others)


def test_the_map_is_the_likelihood_averaged_over_the_prior_of_the_other_parameters() -> None:
    record, rows, expected = lattice(("alpha", "omega", "beta", "lapse"))
    surface = surface_of(record, rows)
    assert surface is not None
    assert surface.log_likelihood.shape == (3, 4)
    np.testing.assert_allclose(surface.log_likelihood, expected)
    record, rows, expected = lattice(("omega", "beta", "alpha"))
    surface = surface_of(record, rows)
    assert surface is not None
    np.testing.assert_allclose(surface.log_likelihood, expected.T)


def test_there_is_no_map_without_alpha_and_omega() -> None:
    record, rows, _ = lattice(("alpha", "omega", "beta"), standing="fixed")
    assert surface_of(record, rows) is None
    record, rows, _ = lattice(("alpha", "beta"))
    assert surface_of(record, rows) is None


# --- A cell
def segments(ax: Axes, color: str) -> np.ndarray:
    """Ends of all strokes of one colour: stroke, end, coordinate."""
    found = [
        patch for patch in ax.findobj(PathPatch) if not patch.get_fill() and same_color(patch.get_edgecolor(), color)
    ]
    return np.concatenate([patch.get_path().vertices.reshape(-1, 2, 2) for patch in found])


def trials(choice: list[float], outcome: list[float], restart: list[str] | None = None) -> pd.DataFrame:
    n = len(choice)
    table = {"restart": restart or [""] * n, "choice": choice, "outcome": outcome}
    return pd.DataFrame({**table, "p_hat": np.linspace(0, 1, n), "p_choice": np.linspace(0.2, 0.8, n)})


def test_answers_are_ticks_where_and_as_they_were_given() -> None:
    ax = sheet(100, 150)
    box = cells.Box(0, 0, 100, 100 * (1 + 2 * cells.BEYOND))
    nan = np.nan
    cells.draw_answers(ax, trials([1, 0, nan, 0, 1], [1, 0, 1, 1, nan]), "red", box)
    zero, one = 100 * cells.BEYOND, 100 * (1 + cells.BEYOND)
    like = segments(ax, cells.LIKE)
    np.testing.assert_allclose(like[:, 0, 0], [10, 30])  # the first and the second of five trials
    assert like[0].min(axis=0)[1] > one
    assert like[1].max(axis=0)[1] < zero
    (unlike,) = segments(ax, cells.UNLIKE)
    np.testing.assert_allclose(unlike[:, 0], [70, 70])
    (unknown,) = segments(ax, cells.UNKNOWN)
    np.testing.assert_allclose(unknown[:, 0], [90, 90])
    (dots,) = [patch for patch in ax.findobj(PathPatch) if same_color(patch.get_facecolor(), "red")]
    centres = dots.get_path().vertices.reshape(5, -1, 2).mean(axis=1)
    np.testing.assert_allclose(
        centres, np.column_stack([20 * np.arange(5) + 10, zero + 100 * np.linspace(0.2, 0.8, 5)])
    )


def test_thin_lines_part_restarts() -> None:
    ax = sheet(100, 100)
    cells.draw_answers(ax, trials([1] * 4, [1] * 4, ["a", "a", "b", "c"]), "red", cells.Box(0, 0, 100, 100))
    np.testing.assert_allclose(segments(ax, cells.RULE)[:, 0, 0], [50, 75])


@pytest.mark.parametrize("width", [110.0, 154.0, 236.0, 487.0])
@pytest.mark.parametrize("name", ["s1", "a long name of someone", "x" * 300])
@pytest.mark.parametrize("warning", ["", "noisy likelihood: flat, HOLMES; few answers (3)"])
def test_nothing_overlaps_in_a_cell(width: float, name: str, warning: str) -> None:
    ax = sheet(width, 84)
    surface = cells.Surface(np.log([0.1, 1]), np.log([0.1, 1]), np.zeros((2, 2)), (0.2, 0.3), (0.3, 0.2))
    person = cells.Person(name, "HOLMES, no stickiness 97%", "red", trials([1] * 200, [0] * 200), surface, warning)
    cells.draw_person(ax, person)
    assert overlapping(ax) == []
    assert all(box.x0 > -1 and box.x1 < width + 1 and box.y0 > -1 and box.y1 < 85 for box in boxes(ax))
    assert any(text.get_text().startswith(cells.WARNS) for text in texts(ax)) == bool(warning)


def test_a_long_reason_stays_in_its_cell() -> None:
    ax = sheet(150, 60)
    cells.draw_person(ax, cells.Person("s1", reason="no such thing " * 60))
    assert overlapping(ax) == []
    assert all(box.x1 < 151 and box.y0 > -1 for box in boxes(ax))
    assert texts(ax)[-1].get_text().endswith("…")


# --- Trees
@pytest.mark.parametrize(
    ("own", "above", "expected"),
    [
        ([0.98, 0.5], [0.5, 0.5], ("x",)),
        ([0.5, 0.03], [0.5, 0.5], ("no y",)),
        ([0.7, 0.1], [0.5, 0.5], ("y 10%", "x 70%")),
        ([0.6, 0.4], [0.5, 0.5], ()),
        ([1.0, 0.5], [1.0, 0.5], ()),
    ],
)
def test_nodes_are_named_by_what_sets_them_apart(own: list[float], above: list[float], expected: tuple[str]) -> None:
    assert tree_nodes.defining_cues(np.array(own), np.array(above), ("x", "y")) == expected


def test_a_level_of_a_feature_is_named_once() -> None:
    cues = ("shape=round", "shape=square", "rain", "rain.2")
    own, above = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.4, 0.6, 0.5, 0.5])
    assert tree_nodes.defining_cues(own, above, cues) == ("shape=round", "no rain")


def tree_rows(parents: list[int], visits: list[float], n_cues: int = 2, seed: int = 0) -> pd.DataFrame:
    """The rows of trees.csv for nodes 1, 2, ..., with random cues."""
    rng = np.random.default_rng(seed)
    levels: list[int] = []
    for parent in parents:
        levels.append(0 if parent == 0 else levels[parent - 1] + 1)
    table = pd.DataFrame({"node": range(1, len(parents) + 1), "parent": parents, "level": levels, "visits": visits})
    return table.assign(
        leaf_visits=0.5 * table["visits"],
        outcome_rate=rng.random(len(table)),
        **{f"x{cue}": rng.random(len(table)) for cue in range(n_cues)},
    )


def test_small_nodes_are_drawn_together_or_not_at_all() -> None:
    rows = tree_rows([0, 0, 0, 0, 1], [80, 1.5, 17, 1.5, 0.6])
    root = tree_nodes.root_of(rows, ("x0", "x1"), 100)
    assert [node.visits for node in root.children] == [80, 17]
    assert (root.n_others, root.other_visits) == (2, 3)
    assert root.children[0].n_others == 0  # its only child has too few trials even so
    assert root.n_levels == 1


def test_levels_that_lie_too_deep_are_left_out_and_said_to_be() -> None:
    n = tree_nodes.MOST_LEVELS + 3
    root = tree_nodes.root_of(tree_rows(list(range(n)), [50.0] * n), ("x0",), 50)
    assert root.n_levels == tree_nodes.MOST_LEVELS
    deepest = list(root.below())[-1]
    assert deepest.is_cut
    assert [node.is_cut for node in root.below()].count(True) == 1


@pytest.mark.parametrize("seed", range(8))
def test_nothing_overlaps_in_a_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    parents = [int(rng.integers(0, place + 1)) for place in range(n)]
    shares = np.ones(n) if seed % 2 else rng.random(n)
    visits = shares.copy()
    for place in range(n - 1, -1, -1):
        if parents[place]:
            visits[parents[place] - 1] += visits[place]
    total = sum(visits[place] for place in range(n) if parents[place] == 0)
    rows = tree_rows(parents, list(200 * visits / total), n_cues=6, seed=seed)
    cues = [f"x{cue}" for cue in range(6)]
    rows = rows.rename(columns={"x0": "a cue with a name that goes on and on"})
    cues[0] = "a cue with a name that goes on and on"
    root, least_share = trees.fitting_root(rows, cues, 200, 480)
    height = trees.height_of(root)
    ax = trees.draw_tree(sheet(480, height), root)
    assert least_share < 1
    assert overlapping(ax) == []
    assert all(box.x0 > -1 and box.x1 < 481 and box.y0 > -1 and box.y1 < height + 1 for box in boxes(ax))


def test_the_best_the_median_and_the_worst_fit_are_shown(data: CohortData) -> None:
    fits = data["models"][data["models"]["model"] == "holmes"].sort_values("pseudo_r2", ascending=False)
    found = chosen_learners(data, shown_model(data))
    assert [learner.subject for learner in found] == [fits["subject"].iloc[place] for place in (0, len(fits) // 2, -1)]
    assert [learner.pseudo_r2 for learner in found] == [
        fits["pseudo_r2"].iloc[place] for place in (0, len(fits) // 2, -1)
    ]


def test_the_longest_of_several_learners_is_shown(tmp_path: FilePath) -> None:
    folder = make_run(tmp_path / "run", Sample(n_people=1, warned=False, recovered=False, models=("holmes",)))
    fitted, nodes = (pd.read_csv(folder / name) for name in ("trials_fitted.csv", "trees.csv"))
    fitted["restart"] = np.where(np.arange(len(fitted)) < 10, "first", "second")
    fitted.to_csv(folder / "trials_fitted.csv", index=False)
    both = [nodes.assign(restart=name) for name in ("first", "second")]
    pd.concat(both).to_csv(folder / "trees.csv", index=False)
    data = CohortData(read_run(folder))
    (learner,) = chosen_learners(data, "holmes")
    assert (learner.restart, learner.n_restarts, learner.n_trials) == ("second", 2, len(fitted) - 10)
    assert set(learner.rows["restart"]) == {"second"}
    assert "Of 2 problems learned afresh, this is the longest, “second”." in built(TREES, data).words


# --- Whole pages
def test_odd_people_make_correct_pages(data: CohortData) -> None:
    pages = built(PEOPLE, data)
    for words in ("$x_1$ 100%", "[U+1F389] part", "line[U+000A]break", r"\alpha_{2}", "nnn…nnn", "few answers (3)"):
        assert words in pages.words
    assert "No fit: all answers are missed." in pages.words
    assert "control: 6 people" in pages.words
    assert "pseudo-R²" in built(TREES, data).words


def test_baselines_alone_have_no_trees_and_no_maps(tmp_path: FilePath) -> None:
    sample = Sample(n_people=4, models=("rescorla_wagner", "bias"), compared=False, recovered=False)
    data = CohortData(read_run(make_run(tmp_path / "run", sample)))
    assert "no trees" in TREES.lacking(data)
    assert "MAP" not in built(PEOPLE, data).words


def test_flat_causes_stand_in_one_row(tmp_path: FilePath) -> None:
    sample = Sample(
        n_people=2, models=("flat",), groups=(), warned=False, pooled=False, compared=False, recovered=False
    )
    data = CohortData(read_run(make_run(tmp_path / "run", sample)))
    assert shown_model(data) == "flat"
    words = built(TREES, data).words
    assert "The flat model finds 2 causes in the median person." in words
    assert [rank in words for rank in ("Best fit", "Median fit", "Worst fit")] == [True, False, True]


def test_many_people_have_small_cells(tmp_path: FilePath) -> None:
    sample = Sample(n_people=44, n_trials=50, groups=(), models=("flat",), records=False, recovered=False, pooled=False)
    data = CohortData(read_run(make_run(tmp_path / "run", sample)))
    pages = built(PEOPLE, data)
    assert all(f"s{number:02d}" in pages.words for number in range(1, 45))
    assert pages.number == 2  # a little lower than they could be, which saves a third page


def tree_panel(width: float, height: float) -> Panel:
    return Panel("tree", lambda ax: ax, "Best fit: s01", "5 nodes.", share=width, height=height)


@pytest.mark.parametrize(
    ("widths", "room", "expected"),
    [
        ((145, 435, 220), 700, [[0], [1], [2]]),
        ((145, 435, 220), 560, [[0, 2], [1]]),
        ((145, 300, 160), 560, [[0], [1, 2]]),
        ((145, 300, 400), 560, [[0, 1], [2]]),
        ((300, 300, 300), 560, [[0], [1], [2]]),  # nothing fits beside another
    ],
)
def test_trees_stand_side_by_side_where_that_saves_a_page(
    widths: tuple[float, ...], room: float, expected: list[list[int]]
) -> None:
    drawn = [tree_panel(width, 160) for width in widths]
    assert [[drawn.index(each) for each in row] for row in in_rows(drawn, room)] == expected
