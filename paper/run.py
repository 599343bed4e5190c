"""Running the studies that are asked for in a run folder, and writing their tables, figures and the report."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import Problems, nearest
from holmes_fit._support.progress import OnProgress
from holmes_fit.models.registry import check_count
from holmes_fit.runs.folder import open_run
from holmes_fit.runs.identity import code_digest, code_identity
from holmes_fit.studies.work import each_done, keep_each
from paper.compare import StudyResult, difference_table
from paper.pdf import report
from paper.results import finish_study
from paper.studies import FULL, QUICK, STUDIES, WHOLE, Reading, Sizes, jobs_of, wanted_chunks
from paper.tasks import run_chunk

REPORT = "replication.pdf"


@dataclass(frozen=True)
class Replication:
    """What was found, study by study, and the files that were written."""

    results: tuple[StudyResult, ...]
    files: tuple[Path, ...]


def replicate(
    which: Sequence[str],
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    as_published: bool = False,
    workers: int | None = None,
    progress: OnProgress | None = None,
    sizes: Sizes | None = None,
) -> Replication:
    """Run the paper's simulations in a run folder, and set each result beside the published one.

    ``which`` names studies; none means all. HOLMES is run as in the paper's text, or ``as_published`` as in its
    authors' published code (shared branch counts, stickiness by node). All studies together are run in both ways, and
    end in one PDF, whose figures are of the way that was asked for. What the folder has already is not run again.
    ``sizes`` says how much is run, instead of the paper's sizes or, with ``quick``, about a tenth.
    """
    problems = Problems()
    for name in which:
        if name not in STUDIES:
            problems.add("argument which", name, ", ".join(STUDIES), nearest(name, STUDIES))
    if workers is not None:
        check_count("workers", workers, problems)
    problems.raise_if_any()
    asked = sizes or (QUICK if quick else FULL)
    jobs = jobs_of(asked)
    studies = tuple(study for study in STUDIES if study in (which or STUDIES))
    lead: Reading = "as_published" if as_published else "as_written"
    readings = tuple(sorted(WHOLE, key=lambda reading: reading != lead)) if studies == STUDIES else (lead,)
    keys = [chunk.key for chunk in wanted_chunks(jobs, asked, STUDIES, WHOLE)]
    own_code = code_digest(Path(__file__).resolve().parent)
    identity = {"kind": "replication", "paper": own_code, **code_identity(), **asdict(asked)}
    with open_run(out, identity=identity, about={}, keys=keys) as run:
        chunks = [(jobs[chunk.job], chunk) for chunk in wanted_chunks(jobs, asked, studies, readings)]
        keep_each(run, run_chunk, chunks, lambda each: each[1].key, workers=workers, progress=progress)
        work = [(study, reading) for reading in readings for study in studies]
        with run.together() as staged:
            finished = dict(each_done(partial(finish_study, staged, jobs, asked), work, workers=workers))
            results = [finished[each][0] for each in work]
            files = [path for each in work for path in finished[each][1]]
            if studies == STUDIES:
                changes = difference_table(run, jobs, asked)
                files.append(staged.write_table("differences.csv", changes))
                pdf = report(results, changes, lead, asked)
                with staged.writing(REPORT) as temporary:
                    temporary.write_bytes(pdf)
                files.append(run.path(REPORT))
    return Replication(tuple(results), tuple(files))


def keep(found: Replication, folder: Path) -> list[Path]:
    """Keep what is small of a whole replication: a table of each kind, the differences and the report."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    results = sorted(found.results, key=lambda result: WHOLE.index(result.reading))
    for name in ("summary", "comparison", "headlines"):
        tables = [(result.reading, result.tables()[name]) for result in results if name in result.tables()]
        every = [table.assign(reading=reading)[["reading", *table]] for reading, table in tables]
        write_table(pd.concat(every, ignore_index=True).round(5), folder / f"{name}.csv")
        written.append(folder / f"{name}.csv")
    whole = (path for path in found.files if path.name in ("differences.csv", REPORT))
    return written + [Path(shutil.copyfile(path, folder / path.name)) for path in whole]
