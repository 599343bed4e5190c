"""``holmes-fit plan``: how many trials and participants a study needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import holmes_fit as hf
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.long_work import LongWork, how_long
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, counted, rows

if TYPE_CHECKING:
    from holmes_fit.runs.folder import Run
    from holmes_fit.studies.planning.study import Question


@command(
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --quick",
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --subjects 10,20,40,80 --out runs/plan",
    "holmes-fit plan --protocol protocols/my_task.toml --trials 200,400 --people 100 --dask tcp://lab3:8786",
)
def plan(
    protocol: options.ProtocolName,
    trials: Annotated[str, option("N,N,...", "Numbers of trials to compare.", show_default=False)],
    subjects: Annotated[str, option("N,N,...", "Numbers of participants to compare.")] = "10,20,40,80",
    models: options.Models = "flat,holmes",
    people: Annotated[int, option("N", "People simulated from each model for each number of trials.")] = 24,
    *,
    effort: options.Effort,
    out: Annotated[Path | None, option("DIR", "A folder, or one to go on in; runs/plan_PROTOCOL by default.")] = None,
    work: options.Work,
    say: Output,
) -> None:
    """Say how many trials and participants a study needs.

    For each combination: how well one person's parameters are known, how precise the mean of a group is, and how often
    the models are told apart. Results go to the folder --out: plan.csv, plan_power.csv, plan_people.csv,
    plan_summary.txt, figures/. People are fitted once for each number of trials; other numbers of participants cost
    nothing. Numbers of trials can be added later with the same --out, if those that were there are given again: they
    are not fitted anew. Stopped at any moment, the same command goes on where it was.
    """
    preset = effort.chosen() or "default"
    folder = out or _default_folder(protocol, effort.quick)
    found = hf.plan(
        protocol,
        _numbers(trials),
        _numbers(subjects),
        out=folder,
        models=options.models_in(models) or (),
        people=people,
        preset=preset,
        **asdict(work),
        progress=LongWork(say, folder, beginning, work),
    )
    say.found(
        found.summary.rstrip("\n"),
        words=found.recommendation,
        folder=folder,
        label=found.label,
        plan=rows(found.table),
        power=rows(found.power),
    )
    say.wrote(*(found.folder / name for name in ("plan.csv", "figures/plan.png")))


def _numbers(text: str) -> list[int]:
    """Return the numbers in a text such as ``80,160``; what is none is refused where it is used."""
    return [options.as_number(part.strip()) for part in text.split(",")]  # type: ignore[misc]


def _default_folder(protocol: str, quick: bool) -> Path:
    try:
        name = re.sub(r"[^\w-]+", "_", hf.load_protocol(protocol).name)
    except hf.InputError:  # which is said with whatever else is wrong
        name = ""
    return Path("runs") / f"plan_{name}{'_quick' if quick else ''}"


def beginning(question: Question, run: Run, work: options.Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
    from holmes_fit.studies.planning.study import missing_of_plan
    from holmes_fit.studies.recovery.results import size_of

    missing = missing_of_plan(question, run)
    total = sum(size_of(study.fits) for study in question.studies.values())
    left = sum(len(keys) for _, keys in missing)
    yield (
        f"{counted(question.people, 'person', 'people')} from each of {', '.join(question.models)}, fitted with all of "
        f"them, at {', '.join(map(str, question.studies))} trials: {counted(total, 'fit')}."
    )
    if question.fits.label:
        yield f"This is {question.fits.label}"
    if left < total:
        yield f"{total - left} of {total} are done {'already' if left == 0 else 'and not made anew'}."
    yield from how_long(missing, work)
