"""What ``holmes-fit fit`` says before, when it is stopped, and at the end; and what ``status`` says."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from holmes_fit._support.errors import plain
from holmes_fit._support.progress import duration
from holmes_fit.cli.long_work import how_long
from holmes_fit.cli.options import Work
from holmes_fit.cli.output import counted
from holmes_fit.fitting.cohort import Fits
from holmes_fit.fitting.person import NO_BETTER
from holmes_fit.fitting.request import Request
from holmes_fit.fitting.summary import SHOWN
from holmes_fit.runs.folder import Progress, Run
from holmes_fit.runs.records import Key

NAMED = 6  # people of whom a warning is
LISTED = 20  # failures that are named one by one
LONGEST = 500  # letters of a command that is shown


def beginning(request: Request, run: Run, work: Work) -> Iterator[str]:
    """Say what will be done, and how long it will take."""
    progress = run.progress()
    names = ", ".join(model.name for model in request.models)
    yield f"{counted(len(request.people), 'person', 'people')}, {names}: {counted(progress.total, 'fit')}."
    if request.label:
        yield f"This is {request.label}"
    if progress.done:
        left = "going on with the rest" if progress.missing else "nothing is left to fit"
        yield f"{len(progress.done)} of {progress.total} are done; {left}."
    if progress.damaged:
        yield f"{counted(len(progress.damaged), 'damaged record')} found, to be made anew."
    yield from how_long([(request, progress.missing)], work)
    yield from (f"Look at this: {plain(notice.text, 1000)}" for notice in request.cohort.notices)


def ending(fits: Fits, summary: pd.DataFrame) -> Iterator[str]:
    """Say what came of it: a line a model, what to beware of, and where the files are."""
    if len(summary):
        yield from _table_lines(summary, evidence_errors(fits.models))
        yield ""
        yield from _warning_lines(summary)
        yield from _coin_lines(fits.models)
    if fits.label:
        yield f"This is {fits.label}"
    yield f"Tables are in {plain(str(fits.folder), limit=300)}: fits.csv has the parameters, models.csv the evidence."


def evidence_errors(models: pd.DataFrame) -> dict[str, float]:
    """Return the Monte Carlo error of each model's evidence, summed over the people fitted with every model."""
    counts = models.groupby("subject")["model"].transform("count")
    complete = models[counts == models["model"].nunique()]
    variances = (complete["log_evidence_error"] ** 2).groupby(complete["model"]).sum()
    return {str(model): float(variance**0.5) for model, variance in variances.items()}


def _table_lines(summary: pd.DataFrame, errors: Mapping[str, float]) -> Iterator[str]:
    width = max(len("model"), *summary["model"].str.len())
    yield f"{'model':{width}}  people  alpha  omega     log evidence  noisy  at a bound"
    for row in summary.to_dict("records"):
        evidence = f"{row['log_evidence']:.1f} ± {errors.get(row['model'], 0.0):.1f}"
        medians = "  ".join(f"{'·' if pd.isna(row[name]) else f'{row[name]:.2f}':>5}" for name in SHOWN)
        yield (
            f"{row['model']:{width}}  {row['people']:6d}  {medians}  {evidence:>15}  {row['noisy']:5d}"
            f"  {row['at_bound']:10d}"
        )


def _warning_lines(summary: pd.DataFrame) -> Iterator[str]:
    yield (
        "alpha, omega: medians over people. log evidence: the sum over people with its Monte Carlo error; higher is "
        "better."
    )
    if summary["in_all"].iloc[0] < summary["people"].max():
        yield f"The sums are over the {counted(summary['in_all'].iloc[0], 'person', 'people')} fitted with every model."
    if summary["noisy"].any():
        yield (
            "noisy: the Monte Carlo error of the log evidence is above what the preset allows, and intervals do not "
            "include it; more replicates help (--preset careful)."
        )
    if summary["at_bound"].any():
        yield "at a bound: the best fit lies at the end of a parameter's range. Use the median and interval instead."


def _coin_lines(models: pd.DataFrame) -> Iterator[str]:
    """Name the people whom a model explains no better than a coin, and the models that do so for everyone together."""
    for model, own in models.groupby("model", sort=False):
        names = own.loc[own["warning"].str.contains(NO_BETTER, regex=False), "subject"]
        if len(names):
            some = ", ".join(plain(str(name), 40) for name in names.head(NAMED))
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            together = own["log_evidence"].sum() - own["n_answered"].sum() * math.log(0.5)
            everyone = f"; nor are the answers of all {len(own)} together" if together <= 0 else ""
            yield (
                f"{model}: the answers of {counted(len(names), 'person', 'people')} ({some}{more}) are explained "
                f"{NO_BETTER} would{everyone}."
            )


def failures_text(failures: pd.DataFrame) -> Iterator[str]:
    """Say who could not be fitted, and why."""
    yield f"{counted(len(failures), 'fit')} could not be made; the rest are not affected:"
    for row in failures.head(LISTED).itertuples():
        yield f"  {plain(str(row.subject))} with {row.model}: {plain(str(row.reason), limit=300)}"
    if len(failures) > LISTED:
        yield f"  and {len(failures) - LISTED} more, in failures.csv"


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
