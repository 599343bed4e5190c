"""``holmes-fit status``: how far a run is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holmes_fit._support.errors import plain
from holmes_fit._support.progress import duration
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output

if TYPE_CHECKING:
    from holmes_fit.runs.folder import Progress, Run
    from holmes_fit.runs.records import Key

LISTED = 20  # records that are named one by one
LONGEST = 500  # letters of a command that is shown


@command("holmes-fit status runs/pilot")
def status(run: options.RunFolder, *, say: Output) -> None:
    """Say how far a run is, and which process is at work on it.

    That is what is done, failed, damaged and missing. It can be asked while the run goes on.
    """
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


def how_to_go_on(run: Run) -> str:
    """Return the command with which the run was begun; nothing if it was begun in Python.

    It comes from a file, and someone may paste it into a terminal. So it must be one command, as we would write it.
    """
    command = str(run.manifest.about.get("command", ""))
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark without its other half
        return ""
    is_ours = words[:1] == ["holmes-fit"] and shlex.join(words) == command == plain(command, limit=LONGEST)
    return command if is_ours else ""


def status_facts(run: Run) -> dict[str, object]:
    """Return how far a run is, for programs. Keys are those of its records, such as model and subject."""
    progress, at_work = run.progress(), run.holder()
    reasons = {key: run.load_record(key) for key in progress.failed}
    return {
        "folder": run.root,
        "label": str(run.manifest.about.get("label", "")),
        "begun": progress.begun.isoformat(),
        **{"total": progress.total, "done": len(progress.done)},
        **{"missing": progress.missing, "damaged": progress.damaged},
        "failed": [{"key": key, "reason": None if each is None else each.error} for key, each in reasons.items()],
        "at_work": at_work or None,
    }


def status_text(run: Run) -> Iterator[str]:
    """Say how far a run is, and what went wrong in it."""
    progress, at_work = run.progress(), run.holder()
    label = str(run.manifest.about.get("label", ""))
    yield f"run        {plain(str(run.root), limit=300)}, begun {progress.begun:%Y-%m-%d %H:%M} UTC"
    if label:
        yield f"label      {plain(label, limit=300)}"
    yield f"done       {len(progress.done)} of {progress.total}"
    yield f"missing    {len(progress.missing)}{_time_left(progress) if at_work else ''}"
    yield f"damaged    {len(progress.damaged)}"
    yield from _key_lines(progress.damaged)
    yield f"failed     {len(progress.failed)}"
    yield from _key_lines(progress.failed, run)
    yield f"at work    {plain(at_work, limit=200) if at_work else 'nobody'}"
    if progress.missing and not at_work:
        yield "Give the same command again, and it goes on."


def _time_left(progress: Progress) -> str:
    if not progress.done or not progress.elapsed:
        return ""
    left = progress.elapsed / len(progress.done) * len(progress.missing)
    return f", {duration(left)} at the pace since it was begun"


def _key_lines(keys: Sequence[Key], run: Run | None = None) -> Iterator[str]:
    for key in keys[:LISTED]:
        record = None if run is None else run.load_record(key)
        reason = f": {plain(record.error, limit=300)}" if record is not None else ""
        yield f"  {', '.join(plain(part) for part in reversed(key))}{reason}"
    if len(keys) > LISTED:
        yield f"  and {len(keys) - LISTED} more"
