"""What ``holmes-fit plan`` says before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holmes_fit._support.progress import duration
from holmes_fit.cli.check_text import counted
from holmes_fit.fitting.forecast import seconds_of_work
from holmes_fit.runs.records import Key
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.studies.planning.question import Question


def beginning(
    question: Question, missing: Mapping[tuple[int, str], Sequence[Key]], workers: int | None, dask: str | None
) -> str:
    """Say what will be done, and how long it will take."""
    models = ", ".join(question.models)
    total = sum(len(list(own.keys)) for study in question.studies.values() for own in study.fits.values())
    left = sum(map(len, missing.values()))
    lines = [
        f"{counted(question.people, 'person', 'people')} from each of {models}, fitted with all of them, at "
        f"{', '.join(map(str, question.studies))} trials: {counted(total, 'fit')}."
    ]
    if question.label:
        lines.append(f"This is {question.label}")
    if left < total:
        lines.append(f"{total - left} of {total} are done {'already' if left == 0 else 'and not made anew'}.")
    if left:
        lines.append(_how_long(question, missing, left, workers, dask))
    return "\n".join(lines)


def _how_long(
    question: Question,
    missing: Mapping[tuple[int, str], Sequence[Key]],
    left: int,
    workers: int | None,
    dask: str | None,
) -> str:
    seconds = sum(
        seconds_of_work(question.studies[trials].fits[model], keys) for (trials, model), keys in missing.items() if keys
    )
    if dask is not None:
        return f"One core of this machine would need {duration(seconds)}; the cluster shares the work."
    processes = min(workers or usable_cores(), left)
    return f"That takes {duration(seconds / processes)} with {counted(processes, 'process', 'processes')}."
