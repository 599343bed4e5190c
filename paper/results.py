"""One study under one reading of the paper: its tables and figures, and the files that hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.csv_tables import write_table
from holmes_fit.reporting.style import PAGE_WIDTH
from paper.compare import WITHIN, check_headlines, compare
from paper.figures import Picture, pictures
from paper.figures.trees import Example, example_trees
from paper.published import published_table
from paper.store import Store
from paper.studies import SHARED_TASKS, SHORT, Job, Reading, Sizes, Study
from paper.summaries import Data, conditioning_tests, load_data, summarise, task_spread


@dataclass(frozen=True)
class StudyResult:
    """Everything that one study gives."""

    study: Study
    reading: Reading
    data: Data
    summary: pd.DataFrame
    comparison: pd.DataFrame
    headlines: pd.DataFrame
    pictures: list[Picture]
    further: dict[str, pd.DataFrame]

    def in_one_line(self) -> str:
        """Return how the study came out."""
        parts = [f"{self.study}, {self.reading.replace('_', ' ')}:"]
        if len(self.comparison):
            within = int((self.comparison["verdict"] == WITHIN).sum())
            parts.append(f"{within} of {len(self.comparison)} numbers within 3 SE of the published ones;")
        holding = int((self.headlines["verdict"] == "holds").sum())
        parts.append(f"{holding} of {len(self.headlines)} headlines hold")
        return " ".join(parts)

    def tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Give every table with its name."""
        several = len(self.data.runs) > 1
        for job, runs in self.data.runs.items():
            yield (f"runs_{job}" if several else "runs"), runs
        for trials in self.data.trials.values():
            yield "trials", trials
        yield "summary", self.summary
        for name, table in (("comparison", self.comparison), ("headlines", self.headlines), *self.further.items()):
            if len(table):
                yield name, table


def analyse(store: Store, jobs: dict[str, Job], study: Study, reading: Reading, sizes: Sizes) -> StudyResult:
    """Read the runs of a study and work out its tables and figures."""
    data = load_data(store, jobs, study, reading)
    summary = summarise(study, data, sizes.bootstrap)
    published = published_table()
    spread = task_spread(data.runs[SHARED_TASKS]) if SHARED_TASKS in data.runs else None
    further = {} if spread is None else {"task_spread": spread}
    trees = None
    if study in ("backward", "forward"):
        trees = further["trees"] = _trees(jobs, study, reading, data)
    if study == "conditioning":
        further["tests"] = conditioning_tests(data.runs["conditioning"])
    return StudyResult(
        study,
        reading,
        data,
        summary,
        compare(summary, published, spread),
        check_headlines(summary),
        pictures(study, data, summary, published, trees),
        further,
    )


def _trees(jobs: dict[str, Job], study: Study, reading: Reading, data: Data) -> pd.DataFrame:
    """Return what was learned in the first run, and for forward transfer also where HOLMES parts the shapes most."""
    first = [Example("Flat", "flat", 0), Example("HOLMES", "holmes", 0)]
    if study == "backward":
        return example_trees(jobs["compositional"], "compositional_2", reading, first)
    runs = data.runs["shape_color"].query("model == 'holmes' and protocol == @SHORT")
    best = int(runs["seed"].to_numpy()[int(runs["separation"].to_numpy().argmax())])
    best_run = Example("HOLMES, the seed with most separation", "holmes", best)
    return example_trees(jobs["shape_color"], SHORT, reading, [*first, best_run])


def write_tables(result: StudyResult, folder: Path) -> list[Path]:
    """Write the tables of a study as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, table in result.tables():
        paths.append(write_csv(table, folder / f"{name}.csv"))
    return paths


def write_csv(table: pd.DataFrame, path: Path) -> Path:
    """Write one table, whole or not at all."""
    write_table(table, path)
    return path


def write_pictures(result: StudyResult, folder: Path) -> list[Path]:
    """Write the figures of a study as PNG and PDF."""
    from matplotlib.figure import Figure

    from holmes_fit.reporting.style import use_style

    paths = []
    with use_style():
        for picture in result.pictures:
            figure = Figure(figsize=(PAGE_WIDTH, picture.height))
            picture.draw(figure)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once, for both files
            for kind in ("png", "pdf"):
                path = folder / f"{picture.name}.{kind}"
                with written_whole(path) as temporary:
                    figure.savefig(temporary, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
                paths.append(path)
    return paths
