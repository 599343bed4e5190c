"""``replicate``: run the studies that are asked for, and write their tables, figures and the report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from holmes_fit._support.errors import Problems, nearest
from holmes_fit._support.progress import OnProgress
from holmes_fit.models.registry import check_count
from paper.differences import READINGS, difference_table, dissected
from paper.pdf import write_report
from paper.results import StudyResult, analyse, write_csv, write_pictures, write_tables
from paper.store import Store, open_store
from paper.studies import FULL, JOBS_OF_STUDY, QUICK, STUDIES, Chunk, Job, Reading, Sizes, Study, chunks_of, jobs_of
from paper.tasks import run_chunk

Which = Literal["backward", "forward", "conditioning", "ablation", "sweep", "all"]
WHICH: tuple[str, ...] = get_args(Which)
REPORT = "replication.pdf"


@dataclass(frozen=True)
class Replication:
    """What was found, study by study, and the files that were written."""

    results: tuple[StudyResult, ...]
    files: tuple[Path, ...]


def replicate(
    which: str,
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    as_published: bool = False,
    workers: int | None = None,
    progress: OnProgress | None = None,
    sizes: Sizes | None = None,
) -> Replication:
    """Run the paper's simulations and set each result beside the published one.

    Parameters
    ----------
    which
        ``"backward"``, ``"forward"``, ``"conditioning"``, ``"ablation"``, ``"sweep"`` or ``"all"``.
    out
        A folder: a new one, or one in which the same was begun. What is there already is not run again.
    quick
        Run about a tenth.
    as_published
        Run HOLMES as in its authors' published code (shared branch counts, stickiness by node), not as in the text.
        ``"all"`` runs both; then this says whose figures the report shows.
    workers
        Processes; all cores by default.
    progress
        Called with the number of chunks of work that are done, and their total.
    sizes
        How much is run, instead of the paper's sizes or the quick ones.

    Returns
    -------
    Replication
        The studies' tables, and the files: CSV tables, PNG and PDF figures, and with ``"all"`` one PDF.

    Raises
    ------
    InputError
        If an argument cannot be used, or the folder holds a run with other settings.
    """
    from joblib import Parallel, cpu_count, delayed

    problems = Problems()
    if which not in WHICH:
        problems.add("argument which", which, ", ".join(WHICH), nearest(str(which), WHICH))
    if workers is not None:
        check_count("workers", workers, problems)
    problems.raise_if_any()
    asked = sizes or (QUICK if quick else FULL)
    jobs = jobs_of(asked)
    store = open_store(Path(out), asked)
    lead: Reading = "as_published" if as_published else "as_written"
    studies = STUDIES if which == "all" else tuple(study for study in STUDIES if study == which)
    readings = _readings(lead, which == "all")

    n_workers = workers or cpu_count()
    run_chunks(store, jobs, _chunks(jobs, asked, studies, readings), n_workers, progress)
    work = [delayed(_finish_study)(store, jobs, study, reading, asked) for reading in readings for study in studies]
    finished = list(Parallel(n_jobs=n_workers)(work))
    results = [result for result, _ in finished]
    files = [path for _, paths in finished for path in paths]
    if which == "all":
        changes = difference_table(store, jobs, asked)
        files.append(write_csv(changes, store.root / "differences.csv"))
        files.append(write_report(store.root / REPORT, results, changes, lead, asked))
    return Replication(tuple(results), tuple(files))


def _finish_study(
    store: Store, jobs: dict[str, Job], study: Study, reading: Reading, sizes: Sizes
) -> tuple[StudyResult, list[Path]]:
    """Work out one study and write its tables and figures."""
    result = analyse(store, jobs, study, reading, sizes)
    folder = store.root / reading / study
    return result, [*write_tables(result, folder), *write_pictures(result, folder)]


def _readings(lead: Reading, both: bool) -> tuple[Reading, ...]:
    other: Reading = "as_written" if lead == "as_published" else "as_published"
    return (lead, other) if both else (lead,)


def _chunks(
    jobs: dict[str, Job], sizes: Sizes, studies: Iterable[Study], readings: tuple[Reading, ...]
) -> Iterator[Chunk]:
    for reading in readings:
        for study in studies:
            for job in JOBS_OF_STUDY[study]:
                yield from chunks_of(jobs[job], reading)
    if len(readings) > 1:  # the report also tells the differences apart, one by one
        for reading in READINGS:
            for smaller in dissected(jobs, sizes).values():
                yield from chunks_of(smaller, reading)


def run_chunks(
    store: Store, jobs: dict[str, Job], chunks: Iterable[Chunk], workers: int, progress: OnProgress | None
) -> None:
    """Run the chunks that are not there yet, over several processes, and save each as soon as it is done."""
    from joblib import Parallel, delayed

    wanted = list(dict.fromkeys(chunks))
    missing = store.missing(wanted)
    done = len(wanted) - len(missing)
    if progress is not None:
        progress(done, len(wanted))
    work = (delayed(_run_and_save)(store, jobs[chunk.job], chunk) for chunk in missing)
    for finished, _ in enumerate(Parallel(n_jobs=workers, return_as="generator_unordered")(work), start=1):
        if progress is not None:
            progress(done + finished, len(wanted))


def _run_and_save(store: Store, job: Job, chunk: Chunk) -> None:
    store.save(chunk, run_chunk(job, chunk))
