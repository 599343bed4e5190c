"""The report of a whole replication: one PDF of words, tables and figures."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING
from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.blocks import About, Block, Column, Picture, Section, Table, Text, numbers, texts
from holmes_fit.reporting.engine import pdf_of
from holmes_fit.reporting.style import use_style
from paper.compare import OUTSIDE, StudyResult, reason
from paper.figures import FIGURES
from paper.figures.parts import arrange
from paper.studies import FULL, READINGS, STUDIES, WHOLE, Reading, Sizes, Study
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
    run = [Text(text.format(lead=NAMES[lead], **vars(sizes))) for text in WORDS["what_was_run"]]
    if sizes != FULL:
        run.append(
            Text("This run is smaller than the paper's. Its errors are larger; take the full run for a verdict.")
        )
    rows: list[list[str]] = []
    for study in STUDIES:
        both = [found[reading, study].headlines.to_dict("records") for reading in WHOLE]
        for claims in zip(*both, strict=True):
            results = [(f"{_number(each['ours'])} ± {each['se']:.3f}", str(each["verdict"])) for each in claims]
            rows.append([str(claims[0]["claim"]), str(claims[0]["task"]), *results[0], *results[1]])
    columns = [*texts("claim", "task"), *numbers("as written"), *texts(""), *numbers("as published"), *texts("")]
    table = Table(columns, rows, [number for number, row in enumerate(rows) if "fails" in row])
    return [Text(TITLE, "cover"), *run, Text("Headlines", "heading"), table, Text(WORDS["how_to_read"], "note")]


def _outside(found: Results) -> list[Block]:
    """Name every cell that does not agree with the published code's results, and say why."""
    tables = [found["as_published", study].comparison for study in STUDIES]
    every = pd.concat([table for table in tables if len(table)], ignore_index=True)
    is_outside = every["verdict"] == OUTSIDE
    of_backward = is_outside[every["study"] == "backward"]
    shown = "study", "task", "model", "metric", "published", "ours", "z", "z_shared_tasks"
    return [
        Text("More than 3 standard errors from the published numbers", "finding"),
        Text(
            f"Run as in the published code, {(~is_outside).sum()} of {len(every)} numbers lie within 3 standard "
            f"errors of the published ones; of the backward table, {(~of_backward).sum()} of {len(of_backward)}. These "
            "do not:"
        ),
        _table(every[is_outside].drop(columns="verdict"), *shown),
        Text("Why", "heading"),
        *map(Text, dict.fromkeys(reason(row) for _, row in every[is_outside].iterrows())),
    ]


def _departures(found: Results, changes: pd.DataFrame) -> list[Block]:
    written, published = (pd.concat([found[reading, study].summary for study in STUDIES]) for reading in WHOLE)
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
    for each in (written, result) if "tests" in result.further else ():
        tests = each.further["tests"]
        about = f"HOLMES {NAMES[each.reading]}, against flat; {int(tests['n'].max())} seeds."
        blocks += [Text(about), _table(tests, "metric", "flat", "holmes", "difference", *P_VALUES)]
    if len(result.comparison):
        about = (
            "Published beside ours. Difference, its standard error (SE), z and verdict are for the run as in the "
            "published code; the last number is the run as in the text."
        )
        shown = "task", "model", "metric", "published", "ours", "difference", "se", "z", "as_written"
        blocks += [Text(about), _table(result.comparison.assign(as_written=written.comparison["ours"]), *shown)]
    for name, (rows, height) in FIGURES[study].items():
        caption = f"{WORDS['captions'][name]} HOLMES {NAMES[lead]}."
        blocks.append(Picture(partial(arrange, rows=rows(found[lead, study])), height * INCH, caption))
    return blocks


def _number(value: float) -> str:
    return f"{value:.{2 if abs(value) >= 2 else 3}f}".replace("-", "−")


def _small(value: float) -> str:
    """Return a difference or an error, with one more digit where it is small."""
    return f"{value:.3f}" if abs(value) >= 0.01 else f"{value:.4f}"


def _signed(value: float, digits: int | None = None) -> str:
    if not np.isfinite(value):
        return MISSING
    text = _small(abs(value)) if digits is None else f"{abs(value):.{digits}f}"
    return f"{'−' if value < 0 else '+'}{text}"


def _p(value: float) -> str:
    return MISSING if value != value else ("< .001" if value < 0.001 else f"{value:.3f}")


def _model(name: str) -> str:
    return {"difference": "HOLMES − flat", "both": "both models"}.get(name) or MODELS[name].label


P_VALUES = {"p": "p, paired", "p_wilcoxon": "p, Wilcoxon", "p_unpaired": "p, unpaired"}
# What columns of tables are called, if not by their names, and how their cells are written.
HEADS = {"holmes": "HOLMES", "se": "SE", "z_shared_tasks": "z, shared tasks", "as_written": "as written"}
HEADS |= P_VALUES
NAMED: dict[str, Callable[[str], str]] = {
    "study": WORDS["studies"].__getitem__,
    "task": str,
    "model": _model,
    "metric": METRICS.__getitem__,
}
COUNTED: dict[str, Callable[[float], str]] = {
    **dict.fromkeys(("published", "ours", "flat", "holmes", "as_written"), _number),
    **dict.fromkeys(("z", "z_shared_tasks"), partial(_signed, digits=1)),
    **dict.fromkeys(P_VALUES, _p),
    "difference": _signed,
    "se": _small,
}


def _table(rows: pd.DataFrame, *shown: str) -> Table:
    """Return some columns of a table; rows whose verdict is that they are outside stand out."""
    heads = {name: HEADS.get(name, name) for name in shown}
    columns = [Column(head, right=name in COUNTED) for name, head in heads.items()]
    cells = [[(NAMED | COUNTED)[name](value) for value in rows[name]] for name in shown]
    marked = [place for place, verdict in enumerate(rows.get("verdict", ())) if verdict == OUTSIDE]
    return Table(columns, list(zip(*cells, strict=True)), marked)
