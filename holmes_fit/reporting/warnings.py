"""Warnings that travel with results: what a reader of a page must know before believing it.

A page has three at most, those first that are about all of its results; the appendix has every one. What everybody has
is said once, and marks nobody (``CohortData.marked``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.blocks import Warnings
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import count, people, printable, sentence

NAMED = 6  # people, at most, who are named in a warning; the appendix names all
MOST = 3  # warnings of a page


def warned(data: CohortData, *kinds: str) -> Warnings:
    """Return the warnings of these kinds, the gravest first, and how many more the appendix has."""
    texts = [text for kind in KINDS if kind in kinds for text in KINDS[kind](data)]
    n_more = len(texts) - MOST
    more = [f"{count(n_more, 'more warning')}: see the appendix of the whole report."] if n_more > 0 else []
    return Warnings([*texts[:MOST], *more])


def every_warning(data: CohortData) -> list[str]:
    """Return the warnings of all kinds, the gravest first."""
    return [text for tell in KINDS.values() for text in tell(data)]


def _label(data: CohortData) -> Iterator[str]:
    """Say what is to be known of all of the results."""
    if data.label:
        yield sentence(data.label)


def _noise(data: CohortData) -> Iterator[str]:
    """Name the people whose likelihood is noisy."""
    if told := _of_models(data, "noisy likelihood"):
        yield (
            f"Noisy likelihood: {told}. Evidence is uncertain by more than the preset allows, and intervals do not "
            "include that."
        )


def _of_models(data: CohortData, start: str) -> str:
    """Say model by model for whom a warning begins like this."""
    told = []
    for model in data.model_names:
        rows = data.of_model("models", model)
        if len(rows) and len(own := rows[rows["warning"].str.contains(start, regex=False)]):
            many = f"all {people(len(rows))}" if len(own) == len(rows) > 1 else f"{len(own)} of {people(len(rows))}"
            names = "" if len(own) == len(rows) > 1 else f" ({_named(own['subject'])})"
            told.append(f"{data.words.label(model)} for {many}{names}")
    return "; ".join(told)


def _failures(data: CohortData) -> Iterator[str]:
    """Name the people who could not be fitted, and why."""
    for reason, rows in data["failures"].groupby("reason", sort=False) if data.has("failures") else ():
        names = list(dict.fromkeys(rows["subject"]))
        models = listed([data.words.label(name) for name in dict.fromkeys(rows["model"])])
        yield f"{people(len(names))} could not be fitted with {models}: {printable(reason)} ({_named(names)})."


def _answers(data: CohortData) -> Iterator[str]:
    """Name the people whose answers say little."""
    models = data["models"]
    for start, meaning in (
        ("few answers", "so few answers that their estimates are mostly the prior"),
        ("all answers are", "the same answer on every trial, which says little about learning"),
    ):
        names = list(dict.fromkeys(models.loc[models["warning"].str.contains(start), "subject"])) if len(models) else []
        if names:
            yield f"{people(len(names))} gave {meaning} ({_named(names)})."
    if told := _of_models(data, "no better than a coin"):
        yield f"Answers that a fair coin explains as well: {told}."


def _pooling(data: CohortData) -> Iterator[str]:
    """Say which group models did not converge, or depend on the lattice."""
    for row in data["pooling"].to_dict("records"):
        if row.get("warning"):
            yield sentence(f"group model of {data.words.label(row['model'])}: {printable(row['warning'])}")


def _mixture(data: CohortData) -> Iterator[str]:
    """Say whether the mixture of models, and leaving people out, can be trusted."""
    for row in data["mixture"].to_dict("records"):
        if row["quantity"] == "warning" and row["explanation"]:
            yield sentence(f"mixture of models: {printable(row['explanation'])}")


def _recovery(data: CohortData) -> Iterator[str]:
    """Say what a reader must know of the recovery study."""
    found = [data.recovery_label] if data.recovery_label else []
    if data.recovery_notes:
        n, first = len(data.recovery_notes), data.recovery_notes[0]
        many = f"{n} of its group models and mixtures are" if n > 1 else "one of its group models and mixtures is"
        found.append(f"{many} not to be relied on ({first}{'; and so on' if n > 1 else ''})")
    yield from (sentence(f"recovery study: {printable(text)}") for text in found)


# What is about all results comes first, then what is about single people.
KINDS: Mapping[str, Callable[[CohortData], Iterable[str]]] = {
    "label": _label,
    "pooling": _pooling,
    "mixture": _mixture,
    "failures": _failures,
    "noise": _noise,
    "answers": _answers,
    "recovery": _recovery,
}


def _named(subjects: Iterable[str]) -> str:
    names = [printable(name) for name in subjects]
    short = [name if len(name) <= 24 else f"{name[:16]}…{name[-7:]}" for name in names]
    more = len(short) - NAMED
    return ", ".join(short[:NAMED]) + (f" and {more} more" if more > 0 else "")
