"""``holmes-fit plan``: how many trials and participants a study needs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli.app import command
from holmes_fit.cli.options import Dask, FitPreset, Models, ProtocolName, Seed, Workers, as_number
from holmes_fit.cli.output import FAILED, Output, rows


@command(
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --quick",
    "holmes-fit plan --protocol compositional_3 --trials 80,160,320 --subjects 10,20,40,80 --out runs/plan",
    "holmes-fit plan --protocol protocols/my_task.toml --trials 200,400 --people 100 --dask tcp://lab3:8786",
)
def plan(
    protocol: ProtocolName,
    trials: Annotated[str, typer.Option(metavar="N,N,...", show_default=False, help="Numbers of trials to compare.")],
    subjects: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of participants to compare.")
    ] = "10,20,40,80",
    models: Models = "flat,holmes",
    people: Annotated[
        int, typer.Option(metavar="N", help="People simulated from each model for each number of trials.")
    ] = 24,
    preset: FitPreset = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: the preset quick.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder, or one to go on in; runs/plan_PROTOCOL by default.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    dask: Dask = None,
    *,
    say: Output,
) -> None:
    """Say how many trials and participants a study needs.

    For each combination: how well one person's parameters are known, how precise the mean of a group is, and how often
    the models are told apart. Results go to the folder --out: plan.csv, plan_power.csv, plan_people.csv,
    plan_summary.txt, figures/. People are fitted once for each number of trials; other numbers of participants cost
    nothing. Numbers of trials can be added later with the same --out, if those that were there are given again: they
    are not fitted anew. Stopped at any moment, the same command goes on where it was.
    """
    from holmes_fit.cli.fit_text import stopped
    from holmes_fit.cli.plan_text import beginning
    from holmes_fit.fitting.cohort import lost_text
    from holmes_fit.studies.planning.question import ask
    from holmes_fit.studies.planning.study import StudyPlan, carry_out_plan, missing_fits

    if quick and preset is not None:
        raise typer.BadParameter("--quick is a preset itself, and has no meaning with --preset")
    question = ask(
        protocol,
        _numbers(trials),
        _numbers(subjects),
        models=[name.strip() for name in models.split(",")],
        people=people,
        preset="quick" if quick else preset or "default",
        seed=seed,
        workers=workers,
        dask=dask,
    )
    folder = out or _default_folder(question.protocol.name, quick)
    say.when_stopped = stopped(folder)
    with question.open(folder, shlex.join(["holmes-fit", *sys.argv[1:]])) as run:
        say.note(beginning(question, missing_fits(question, run), workers, dask))
        with progress_bar("fitting", say.quiet, lines=True) as progress:
            lost = carry_out_plan(question, run, workers=workers, dask=dask, progress=progress)
    if lost:
        say.fail(lost_text(lost))
        raise typer.Exit(FAILED)
    found = StudyPlan(run)
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
    return [as_number(part.strip()) for part in text.split(",")]  # type: ignore[misc]


def _default_folder(protocol: str, quick: bool) -> Path:
    name = re.sub(r"[^\w-]+", "_", protocol)
    return Path("runs") / f"plan_{name}{'_quick' if quick else ''}"
