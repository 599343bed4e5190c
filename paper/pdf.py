"""The report of a whole replication: one PDF of words, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.backends.backend_pdf import PdfPages

from holmes_fit._support.atomic import written_whole
from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.pages import Column, Pages
from holmes_fit.reporting.style import use_style
from paper.compare import OUTSIDE, reason
from paper.results import StudyResult
from paper.studies import FULL, READINGS, STUDIES, Reading, Sizes, Study
from paper.summaries import picked
from paper.words import METRICS, NAMES, WORDS, departures

TITLE = "The HOLMES paper, reproduced"
Results = dict[tuple[Reading, Study], StudyResult]


def write_report(
    path: Path, results: Sequence[StudyResult], changes: pd.DataFrame, lead: Reading, sizes: Sizes
) -> Path:
    """Write the report: headlines, differences between text and code, then every study's table and figures."""
    found = {(result.reading, result.study): result for result in results}
    with use_style(), written_whole(path) as temporary, PdfPages(temporary, metadata=_metadata()) as pdf:
        pages = Pages(pdf, running_head=TITLE)
        _first_page(pages, found, lead, sizes)
        _outside(pages, found)
        _departures(pages, found, changes)
        for study in STUDIES:
            _study(pages, found, study, lead)
        pages.close()
    return path


def _metadata() -> dict[str, object]:
    # Without dates, the same run gives the same bytes.
    return {"Title": TITLE, "CreationDate": None, "ModDate": None}


def _first_page(pages: Pages, found: Results, lead: Reading, sizes: Sizes) -> None:
    pages.title(TITLE)
    for text in WORDS["what_was_run"]:
        pages.paragraph(text.format(lead=NAMES[lead], **vars(sizes)))
    if sizes != FULL:
        pages.paragraph("This run is smaller than the paper's. Its errors are larger; take the full run for a verdict.")
    pages.heading("Headlines")
    columns = [
        Column("claim", 0.38),
        Column("task", 0.14),
        Column("as written", 0.16, right=True),
        Column("", 0.08),
        Column("as published", 0.16, right=True),
        Column("", 0.08),
    ]
    rows: list[list[str]] = []
    for study in STUDIES:
        written, published = (found[reading, study].headlines for reading in ("as_written", "as_published"))
        for (_, one), (_, other) in zip(written.iterrows(), published.iterrows(), strict=True):
            verdicts = [str(one["verdict"]), str(other["verdict"])]
            cells = [_pm(one["ours"], one["se"]), _pm(other["ours"], other["se"])]
            rows.append([str(one["claim"]), str(one["task"]), cells[0], verdicts[0], cells[1], verdicts[1]])
    pages.table(columns, rows, marked=[number for number, row in enumerate(rows) if "fails" in row])
    pages.paragraph(WORDS["how_to_read"])


def _outside(pages: Pages, found: Results) -> None:
    """Name every cell that does not agree with the published code's results, and say why."""
    pages.heading("More than 3 standard errors from the published numbers")
    tables = [found["as_published", study].comparison for study in STUDIES]
    every = pd.concat([table for table in tables if len(table)], ignore_index=True)
    cells = every[every["verdict"] == OUTSIDE]
    backward = every[every["study"] == "backward"]
    within = int((backward["verdict"] != OUTSIDE).sum())
    pages.paragraph(
        f"Run as in the published code, {len(every) - len(cells)} of {len(every)} numbers lie within 3 standard errors "
        f"of the published ones; of the backward table, {within} of {len(backward)}. These do not:"
    )
    columns = [
        Column("study", 0.17),
        Column("task", 0.12),
        Column("model", 0.13),
        Column("metric", 0.16),
        Column("published", 0.10, True),
        Column("ours", 0.08, True),
        Column("z", 0.08, True),
        Column("z, shared tasks", 0.16, True),
    ]
    rows = []
    for _, row in cells.iterrows():
        names = [WORDS["studies"][row["study"]], str(row["task"]), _model(row["model"]), METRICS[row["metric"]]]
        z_shared = _signed(row["z_shared_tasks"], 1) if np.isfinite(row["z_shared_tasks"]) else "–"
        rows.append([*names, _number(row["published"]), _number(row["ours"]), _signed(row["z"], 1), z_shared])
    pages.table(columns, rows)
    pages.heading("Why")
    for text in dict.fromkeys(reason(row) for _, row in cells.iterrows()):
        pages.paragraph(text)


def _departures(pages: Pages, found: Results, changes: pd.DataFrame) -> None:
    pages.heading("Where the paper's text and its published code differ, and what it does")
    written, published = (
        pd.concat([found[reading, study].summary for study in STUDIES]) for reading in ("as_written", "as_published")
    )
    tests = found["as_written", "conditioning"].further["tests"]
    for title, text in departures(written, published, changes, tests):
        pages.heading(title)
        pages.paragraph(text)
    pages.heading("Each switch by itself")
    n = int(picked(changes, task="2-level")["n"].max())
    pages.paragraph(
        f"HOLMES, from the text to the published code. Backward: the first {n} parameter pairs, mean over seeds. In "
        "brackets: the change from the text and its standard error, on the same tasks with the same draws."
    )
    widths = (0.11, 0.22, 0.22, 0.22)
    columns = [Column("task", 0.09), Column("metric", 0.14)]
    columns += [Column(NAMES[reading], width, True) for reading, width in zip(READINGS, widths, strict=True)]
    rows = []
    for (task, metric), group in changes.groupby(["task", "metric"], sort=False):
        cells = []
        for reading in READINGS:
            row = picked(group, reading=reading).iloc[0]
            change = f" ({_signed(row['change'], 3)} ± {row['change_se']:.3f})" if reading != "as_written" else ""
            cells.append(f"{_number(row['value'])}{change}")
        rows.append([str(task), METRICS[str(metric)], *cells])
    pages.table(columns, rows)


def _study(pages: Pages, found: Results, study: Study, lead: Reading) -> None:
    result, written = found["as_published", study], found["as_written", study]
    pages.new_page()
    pages.heading(WORDS["studies"][study])
    if study == "conditioning":
        _tests(pages, found)
    if len(result.comparison):
        pages.paragraph(
            "Published beside ours. Difference, its standard error (SE), z and verdict are for the run as in the "
            "published code; the last number is the run as in the text."
        )
        _comparison(pages, result, written)
    for picture in found[lead, study].pictures:
        pages.figure(picture.draw, picture.height, f"{picture.caption} HOLMES {NAMES[lead]}.")


def _comparison(pages: Pages, result: StudyResult, written: StudyResult) -> None:
    columns = [
        Column("task", 0.13),
        Column("model", 0.18),
        Column("metric", 0.17),
        Column("published", 0.09, True),
        Column("ours", 0.08, True),
        Column("difference", 0.10, True),
        Column("SE", 0.08, True),
        Column("z", 0.07, True),
        Column("as written", 0.10, True),
    ]
    rows = []
    for (_, row), (_, other) in zip(result.comparison.iterrows(), written.comparison.iterrows(), strict=True):
        rows.append(
            [
                str(row["task"]),
                _model(str(row["model"])),
                METRICS[str(row["metric"])],
                _number(row["published"]),
                _number(row["ours"]),
                _signed(row["difference"]),
                _small(row["se"]),
                _signed(row["z"], 1),
                _number(other["ours"]),
            ]
        )
    pages.table(
        columns, rows, marked=[n for n, verdict in enumerate(result.comparison["verdict"]) if verdict == OUTSIDE]
    )


def _tests(pages: Pages, found: Results) -> None:
    for reading in ("as_written", "as_published"):
        tests = found[reading, "conditioning"].further["tests"]
        pages.paragraph(f"HOLMES {NAMES[reading]}, against flat; {int(tests['n'].max())} seeds.")
        columns = [
            Column("", 0.30),
            Column("flat", 0.11, True),
            Column("HOLMES", 0.11, True),
            Column("difference", 0.13, True),
            Column("p, paired", 0.12, True),
            Column("p, Wilcoxon", 0.12, True),
            Column("p, unpaired", 0.11, True),
        ]
        rows = [
            [
                METRICS[str(row["metric"])],
                *(_number(row[name]) for name in ("flat", "holmes")),
                _signed(row["difference"]),
            ]
            + [_p(row[name]) for name in ("p", "p_wilcoxon", "p_unpaired")]
            for _, row in tests.iterrows()
        ]
        pages.table(columns, rows)


def _model(name: str) -> str:
    return {"difference": "HOLMES − flat", "both": "both models"}.get(name) or MODELS[name].label


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) >= 2 else f"{value:.3f}".replace("-", "−")


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
