"""``holmes-fit plan``: how many trials and participants a study needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import holmes_fit as hf
from holmes_fit._support.errors import Problems, Quoted
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.long_work import LongWork, how_long
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, counted, rows

if TYPE_CHECKING:
    from holmes_fit.runs.folder import Run
    from holmes_fit.studies.planning.study import Question


SHOWN = ("protocol", "trials", "minutes", "model", "against", "evidence", "per_trial", "per_minute", "right")


@command(
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --quick",
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --subjects 10,20,40,80 --out runs/plan",
    "holmes-fit plan --protocol protocols/my_task.toml --trials 200,400 --people 100 --dask tcp://lab3:8786",
    "holmes-fit plan --protocols compositional_3,reversal,protocols/my_task.toml --seconds 4,4,6 --out runs/designs",
)
def plan(
    protocol: Annotated[str | None, option("P", "A shipped protocol, or the path of a TOML.")] = None,
    trials: Annotated[str | None, option("N,N,...", "Numbers of trials to compare.")] = None,
    protocols: Annotated[str | None, option("P,P,...", "Designs to set side by side instead.")] = None,
    seconds: Annotated[str, option("S", "Seconds that a trial takes, or one number for each design.")] = "5",
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
    are not fitted anew. Stopped at any moment, the same command goes on where it was. With --protocols, designs are set
    side by side: by how many nats the true model is ahead of each other one, by the trial and by the minute
    (designs.csv); each has a plan in a folder of its own, and others can be added later.
    """
    preset = effort.chosen() or "default"
    how: dict[str, Any] = {
        "models": options.models_in(models) or (),
        "people": people,
        "preset": preset,
        **asdict(work),
    }
    _check_choice(protocol, trials, protocols)
    if protocols is not None:
        folder = out or Path("runs") / f"designs{'_quick' if effort.quick else ''}"
        _designs(
            [each.strip() for each in protocols.split(",")],
            seconds,
            folder,
            how,
            LongWork(say, folder, beginning, work),
            say,
        )
        return
    folder = out or _default_folder(protocol or "", effort.quick)
    found = hf.plan(
        protocol or "",
        _numbers(trials or ""),
        _numbers(subjects),
        out=folder,
        **how,
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


def _designs(
    protocols: Sequence[str], seconds: str, folder: Path, how: dict[str, Any], progress: LongWork, say: Output
) -> None:
    taken = _numbers(seconds)
    designs = hf.plan_designs(protocols, taken if len(taken) > 1 else taken[0], out=folder, **how, progress=progress)
    text = designs.table.to_string(index=False, columns=list(SHOWN), float_format="{:.3g}".format)
    facts = {"words": designs.words, "folder": folder, "label": designs.label, "designs": rows(designs.table)}
    say.found(f"{text}\n\n{designs.words}", **facts)
    say.wrote(folder / "designs.csv")


def _check_choice(protocol: str | None, trials: str | None, protocols: str | None) -> None:
    """Refuse what is neither one design in several lengths, nor several designs."""
    problems = Problems()
    if protocols is None:
        for name, given in (("protocol", protocol), ("trials", trials)):
            if given is None:
                problems.add(f"option --{name}", Quoted("nothing"), "--protocol and --trials, or --protocols")
    for name, given in (("protocol", protocol), ("trials", trials)):
        if protocols is not None and given is not None:
            advice = "Designs that are set side by side are as long as their protocols say."
            problems.add(f"option --{name}", given, "either --protocol and --trials, or --protocols", advice)
    problems.raise_if_any()


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
