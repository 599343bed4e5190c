"""``holmes-fit status``: how far a run is."""

from __future__ import annotations

from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output


@command("holmes-fit status runs/pilot")
def status(run: options.RunFolder, *, say: Output) -> None:
    """Say how far a run is, and which process is at work on it.

    That is what is done, failed, damaged and missing. It can be asked while the run goes on.
    """
    from holmes_fit.cli.fit_text import how_to_go_on, status_facts, status_text
    from holmes_fit.runs.folder import read_run

    # Cohorts of a recovery study, whose own records are its groups, and what calibrates pooling; or cohorts of a plan,
    # with one for each number of trials.
    parts = ("from_*", "groups", "trials_*/from_*")
    within = sorted(path for part in parts for path in run.glob(f"{part}/manifest.json"))
    runs = [read_run(run), *(read_run(cohort.parent) for cohort in within)]
    say.found("\n\n".join("\n".join(status_text(each)) for each in runs), runs=[status_facts(each) for each in runs])
    command = how_to_go_on(runs[0])
    if command and any(each.progress().missing for each in runs) and not any(each.holder() for each in runs):
        say.next(command)
