"""Warnings that travel with results: what a reader of a page must know before believing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.text import people, printable, sentence

if TYPE_CHECKING:
    from holmes_fit.reporting.run_data import CohortData

NAMED = 6  # people, at most, who are named in a warning; the appendix names all


def noise_warnings(data: CohortData) -> tuple[str, ...]:
    """Name the people whose likelihood is noisy, model by model."""
    found = []
    for model in data.model_names:
        rows = data.of_model("models", model)
        if len(rows) and len(rows := rows[rows["warning"].str.contains("noisy likelihood")]):
            found.append(
                f"{data.words.label(model)}: the likelihood of {people(len(rows))} is noisy "
                f"({_named(rows['subject'])}). Their evidence is uncertain by more than the preset allows, and their "
                "intervals do not include that."
            )
    return tuple(found)


def failure_warnings(data: CohortData) -> tuple[str, ...]:
    """Name the people who could not be fitted, and why."""
    found = []
    for reason, rows in data["failures"].groupby("reason", sort=False) if data.has("failures") else ():
        names = list(dict.fromkeys(rows["subject"]))
        models = listed([data.words.label(name) for name in dict.fromkeys(rows["model"])])
        found.append(f"{people(len(names))} could not be fitted with {models}: {printable(reason)} ({_named(names)}).")
    return tuple(found)


def answer_warnings(data: CohortData) -> tuple[str, ...]:
    """Name the people whose answers say little."""
    if not data.has("models"):
        return ()
    models, found = data["models"], []
    for start, meaning in (
        ("few answers", "so few answers that their estimates are mostly the prior"),
        ("all answers are", "the same answer on every trial, which says little about learning"),
    ):
        names = list(dict.fromkeys(models.loc[models["warning"].str.contains(start), "subject"]))
        if names:
            found.append(f"{people(len(names))} gave {meaning} ({_named(names)}).")
    return (*found, *_coin_warnings(data))


def _coin_warnings(data: CohortData) -> Iterator[str]:
    """Name the people whose answers a model explains no better than a coin."""
    for model in data.model_names:
        rows = data.of_model("models", model)
        if len(rows) and len(rows := rows[rows["warning"].str.contains("no better than a coin")]):
            yield (
                f"{data.words.label(model)}: the answers of {people(len(rows))} are explained no better than a fair "
                f"coin would ({_named(rows['subject'])})."
            )


def pooling_warnings(data: CohortData) -> tuple[str, ...]:
    """Say which group models did not converge, or depend on the lattice."""
    return tuple(
        sentence(f"group model of {data.words.label(row['model'])}: {printable(row['warning'])}")
        for row in data["pooling"].to_dict("records")
        if row.get("warning")
    )


def mixture_warnings(data: CohortData) -> tuple[str, ...]:
    """Say whether the mixture of models, and leaving people out, can be trusted."""
    return tuple(
        sentence(f"mixture of models: {printable(row['explanation'])}")
        for row in data["mixture"].to_dict("records")
        if row["quantity"] == "warning" and row["explanation"]
    )


def recovery_warnings(data: CohortData) -> tuple[str, ...]:
    """Say what a reader must know of the recovery study."""
    found = [data.recovery_label] if data.recovery_label else []
    if data.recovery_notes:
        n, first = len(data.recovery_notes), data.recovery_notes[0]
        many = f"{n} of its group models and mixtures are" if n > 1 else "one of its group models and mixtures is"
        found.append(f"{many} not to be relied on ({first}{'; and so on' if n > 1 else ''})")
    return tuple(sentence(f"recovery study: {printable(text)}") for text in found)


def _named(subjects: Iterable[str]) -> str:
    names = [printable(name) for name in subjects]
    short = [name if len(name) <= 24 else f"{name[:16]}…{name[-7:]}" for name in names]
    more = len(short) - NAMED
    return ", ".join(short[:NAMED]) + (f" and {more} more" if more > 0 else "")
