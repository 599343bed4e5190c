"""Working out one study under one reading of the paper, and the files that hold its tables and figures."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from holmes_fit.reporting.style import PAGE_WIDTH, use_style
from holmes_fit.runs.folder import Run
from paper.compare import StudyResult, check_headlines, compare, published_table
from paper.figures import FIGURES
from paper.figures.parts import Example, arrange, example_trees
from paper.studies import SHARED_TASKS, SHORT, Job, Reading, Sizes, Study
from paper.summaries import Data, conditioning_tests, load_data, summarise, task_spread


def finish_study(
    run: Run, jobs: dict[str, Job], sizes: Sizes, which: tuple[Study, Reading]
) -> tuple[StudyResult, list[Path]]:
    """Work out one study and write its tables and figures."""
    study, reading = which
    data = load_data(run, jobs, study, reading)
    summary, published = summarise(study, data, sizes.bootstrap), published_table()
    further: dict[str, pd.DataFrame] = {}
    if SHARED_TASKS in data.runs:
        further["task_spread"] = task_spread(data.runs[SHARED_TASKS])
    if study in ("backward", "forward"):
        further["trees"] = _trees(jobs, study, reading, data)
    if study == "conditioning":
        further["tests"] = conditioning_tests(data.runs["conditioning"])
    comparison = compare(summary, published, further.get("task_spread"))
    own = published[published["study"] == study]
    result = StudyResult(study, reading, data, summary, own, comparison, check_headlines(summary), further)
    tables = [run.write_table(f"{reading}/{study}/{name}.csv", table) for name, table in result.tables().items()]
    return result, [*tables, *write_pictures(result, run)]


def _trees(jobs: dict[str, Job], study: Study, reading: Reading, data: Data) -> pd.DataFrame:
    """Return what was learned in the first run, and for forward transfer also where HOLMES parts the shapes most."""
    first = [Example("Flat", "flat", 0), Example("HOLMES", "holmes", 0)]
    if study == "backward":
        return example_trees(jobs["compositional"], "compositional_2", reading, first)
    runs = data.runs["shape_color"].query("model == 'holmes' and protocol == @SHORT")
    best = int(runs["seed"].to_numpy()[int(runs["separation"].to_numpy().argmax())])
    best_run = Example("HOLMES, the seed with most separation", "holmes", best)
    return example_trees(jobs["shape_color"], SHORT, reading, [*first, best_run])


def write_pictures(result: StudyResult, run: Run) -> list[Path]:
    """Write the figures of a study as PNG and PDF."""
    paths = []
    with use_style():
        for name, (rows, height) in FIGURES[result.study].items():
            figure = Figure(figsize=(PAGE_WIDTH, height))
            arrange(figure, rows(result))
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once, for both files
            for kind in ("png", "pdf"):
                path = f"{result.reading}/{result.study}/{name}.{kind}"
                with run.writing(path) as temporary:
                    figure.savefig(temporary, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
                paths.append(run.root / path)
    return paths
