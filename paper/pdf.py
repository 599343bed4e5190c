"""The report of a whole replication: one PDF of words, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.blocks import About, Block, Picture, Section, Table, Text, numbers, texts
from holmes_fit.reporting.engine import pdf_of
from holmes_fit.reporting.style import use_style
from paper.compare import OUTSIDE, reason
from paper.results import StudyResult
from paper.studies import FULL, READINGS, STUDIES, Reading, Sizes, Study
from paper.summaries import picked
from paper.words import METRICS, NAMES, WORDS, departures

TITLE = "The HOLMES paper, reproduced"
INCH = 72.0  # points
Results = dict[tuple[Reading, Study], StudyResult]


def report(results: Sequence[StudyResult], changes: pd.DataFrame, lead: Reading, sizes: Sizes) -> bytes:
    """Return the PDF: headlines, differences between text and code, then every study's table and figures."""
    found = {(result.reading, result.study): result for result in results}
    sections = [
        Section("Headlines", _headlines(found, lead, sizes)),
        Section("Agreement", _outside(found)),
        Section("Text and code", _departures(found, changes)),
        *(Section(WORDS["studies"][study], _study(found, study, lead)) for study in STUDIES),
    ]
    with use_style():  # without a date, the same run gives the same bytes
        return pdf_of(sections, About(TITLE, head=TITLE))


def _headlines(found: Results, lead: Reading, sizes: Sizes) -> list[Block]:
    rows: list[list[str]] = []
    for study in STUDIES:
        written, published = (found[reading, study].headlines for reading in ("as_written", "as_published"))
        for (_, one), (_, other) in zip(written.iterrows(), published.iterrows(), strict=True):
            results = [(_pm(each["ours"], each["se"]), str(each["verdict"])) for each in (one, other)]
            rows.append([str(one["claim"]), str(one["task"]), *results[0], *results[1]])
    run = [Text(text.format(lead=NAMES[lead], **vars(sizes))) for text in WORDS["what_was_run"]]
    if sizes != FULL:
        run.append(
            Text("This run is smaller than the paper's. Its errors are larger; take the full run for a verdict.")
        )
    columns = [*texts("claim", "task"), *numbers("as written"), *texts(""), *numbers("as published"), *texts("")]
    failing = [number for number, row in enumerate(rows) if "fails" in row]
    table = Table(columns, rows, failing)
    return [Text(TITLE, "cover"), *run, Text("Headlines", "heading"), table, Text(WORDS["how_to_read"], "note")]


def _outside(found: Results) -> list[Block]:
    """Name every cell that does not agree with the published code's results, and say why."""
    tables = [found["as_published", study].comparison for study in STUDIES]
    every = pd.concat([table for table in tables if len(table)], ignore_index=True)
    cells = every[every["verdict"] == OUTSIDE]
    backward = every[every["study"] == "backward"]
    within = int((backward["verdict"] != OUTSIDE).sum())
    rows = []
    for _, row in cells.iterrows():
        names = [WORDS["studies"][row["study"]], str(row["task"]), _model(row["model"]), METRICS[row["metric"]]]
        z_shared = _signed(row["z_shared_tasks"], 1) if np.isfinite(row["z_shared_tasks"]) else "–"
        rows.append([*names, _number(row["published"]), _number(row["ours"]), _signed(row["z"], 1), z_shared])
    columns = [*texts("study", "task", "model", "metric"), *numbers("published", "ours", "z", "z, shared tasks")]
    return [
        Text("More than 3 standard errors from the published numbers", "finding"),
        Text(
            f"Run as in the published code, {len(every) - len(cells)} of {len(every)} numbers lie within 3 standard "
            f"errors of the published ones; of the backward table, {within} of {len(backward)}. These do not:"
        ),
        Table(columns, rows),
        Text("Why", "heading"),
        *map(Text, dict.fromkeys(reason(row) for _, row in cells.iterrows())),
    ]


def _departures(found: Results, changes: pd.DataFrame) -> list[Block]:
    written, published = (
        pd.concat([found[reading, study].summary for study in STUDIES]) for reading in ("as_written", "as_published")
    )
    blocks: list[Block] = [Text("Where the paper's text and its published code differ, and what it does", "finding")]
    for title, text in departures(written, published, changes, found["as_written", "conditioning"].further["tests"]):
        blocks += [Text(title, "heading"), Text(text)]
    rows = []
    for (task, metric), group in changes.groupby(["task", "metric"], sort=False):
        cells = []
        for reading in READINGS:
            row = picked(group, reading=reading).iloc[0]
            change = f" ({_signed(row['change'], 3)} ± {row['change_se']:.3f})" if reading != "as_written" else ""
            cells.append(f"{_number(row['value'])}{change}")
        rows.append([str(task), METRICS[str(metric)], *cells])
    n = int(picked(changes, task="2-level")["n"].max())
    about = (
        f"HOLMES, from the text to the published code. Backward: the first {n} parameter pairs, mean over seeds. In "
        "brackets: the change from the text and its standard error, on the same tasks with the same draws."
    )
    columns = [*texts("task", "metric"), *numbers(*(NAMES[reading] for reading in READINGS))]
    return [*blocks, Text("Each switch by itself", "heading"), Text(about), Table(columns, rows)]


def _study(found: Results, study: Study, lead: Reading) -> list[Block]:
    result, written = found["as_published", study], found["as_written", study]
    blocks: list[Block] = [Text(WORDS["studies"][study], "finding")]
    if study == "conditioning":
        blocks += _tests(written) + _tests(result)
    if len(result.comparison):
        about = (
            "Published beside ours. Difference, its standard error (SE), z and verdict are for the run as in the "
            "published code; the last number is the run as in the text."
        )
        blocks += [Text(about), _comparison(result.comparison, written.comparison)]
    for picture in found[lead, study].pictures:
        caption = f"{picture.caption} HOLMES {NAMES[lead]}."
        blocks.append(Picture(picture.draw, picture.height * INCH, caption))
    return blocks


def _comparison(published: pd.DataFrame, written: pd.DataFrame) -> Table:
    rows = []
    for (_, row), (_, other) in zip(published.iterrows(), written.iterrows(), strict=True):
        values = [_number(row["published"]), _number(row["ours"]), _signed(row["difference"]), _small(row["se"])]
        names = str(row["task"]), _model(str(row["model"])), METRICS[str(row["metric"])]
        rows.append([*names, *values, _signed(row["z"], 1), _number(other["ours"])])
    columns = numbers("published", "ours", "difference", "SE", "z", "as written")
    outside = [number for number, verdict in enumerate(published["verdict"]) if verdict == OUTSIDE]
    return Table([*texts("task", "model", "metric"), *columns], rows, outside)


def _tests(result: StudyResult) -> list[Block]:
    tests = result.further["tests"]
    rows = []
    for _, row in tests.iterrows():
        values = _number(row["flat"]), _number(row["holmes"]), _signed(row["difference"])
        rows.append(
            [METRICS[str(row["metric"])], *values, *(_p(row[f"p{name}"]) for name in ("", "_wilcoxon", "_unpaired"))]
        )
    columns = numbers("flat", "HOLMES", "difference", "p, paired", "p, Wilcoxon", "p, unpaired")
    about = f"HOLMES {NAMES[result.reading]}, against flat; {int(tests['n'].max())} seeds."
    return [Text(about), Table([*texts(""), *columns], rows)]


def _model(name: str) -> str:
    return {"difference": "HOLMES − flat", "both": "both models"}.get(name) or MODELS[name].label


def _number(value: float) -> str:
    return f"{value:.{2 if abs(value) >= 2 else 3}f}".replace("-", "−")


def _small(value: float) -> str:
    """Return a difference or an error, with one more digit where it is small."""
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.4f}"


def _signed(value: float, digits: int | None = None) -> str:
    text = _small(abs(value)) if digits is None else f"{abs(value):.{digits}f}"
    return f"{'−' if value < 0 else '+'}{text}"


def _pm(value: float, se: float) -> str:
    return f"{_number(value)} ± {se:.3f}"


def _p(value: float) -> str:
    return "–" if value != value else ("< .001" if value < 0.001 else f"{value:.3f}")
