"""The methods page: a paragraph ready to paste, from what the run says about itself, and its references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.blocks import Block, Text
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections import methods_words as told
from holmes_fit.reporting.sections.recovery import how_made
from holmes_fit.reporting.text import brief, count, number, people, printable
from holmes_fit.reporting.warnings import warned


def _blocks(data: CohortData) -> Iterator[Block]:
    paragraphs = methods_text(data)
    yield Text("How these results were made, ready to paste into a paper.", "finding")
    yield warned(data, "label")
    yield from (Text(text, "paper") for text in paragraphs)
    yield Text("References", "heading")
    named = " ".join(paragraphs)
    yield from (Text(entry, "reference") for name, entry in told.REFERENCES.items() if name in named)


def methods_text(data: CohortData) -> list[str]:
    """Return the paragraphs: data and models, likelihood, priors and search, and what was done with the fits."""
    return [
        text for text in (_models(data), _likelihood(data), _estimation(data), _group(data), _software(data)) if text
    ]


def _part(data: CohortData, *keys: str) -> Mapping[str, Any]:
    found: Any = data.identity
    for key in keys:
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _models(data: CohortData) -> str:
    table = people_table(data)
    names = [printable(data.words.meaning(name)) for name in data.model_names]
    scope = f" (the group {brief(data.scope)}; {people(len(data.everyone))} in all groups)" if data.scope else ""
    failed = f" ({data.n_people - len(table)} of them could not be fitted)" if len(table) < data.n_people else ""
    source = str(data.protocol.get("source", "")).strip()
    return (
        f"We fitted the choices of {people(data.n_people)}{scope}{failed} in the task “{printable(data.study)}”"
        f"{f' ({printable(source)})' if source else ''}, {count(table['answered'].sum(), 'answer')} on "
        f"{count(table['trials'].sum(), 'trial')}, with {_how_many(len(names))}: {_models_listed(names)}. "
        f"{told.RESPONSE}"
    )


def _models_listed(names: Sequence[str]) -> str:
    """Return descriptions that have commas of their own, one after the other."""
    return "; ".join([*names[:-1], f"and {names[-1]}"]) if len(names) > 1 else "".join(names)


def _how_many(n: int) -> str:
    words = ("no model", "one model", "two models", "three models", "four models", "five models", "six models")
    return words[n] if n < len(words) else f"{n} models"


def _likelihood(data: CohortData) -> str:
    observer, settings = _part(data, "observer"), _part(data, "preset", "likelihood")
    parts = []
    if observer:
        parts.append(
            f"Latent-cause models were run as particle filters with {observer.get('particles')} particles and "
            f"{observer.get('resampling')} resampling; branch counts by {observer.get('branch_counts')}, stickiness by "
            f"{observer.get('sticky_by')}, at most {observer.get('max_depth')} levels and "
            f"{observer.get('max_branches')} branches."
        )
    if settings:
        form = told.EXPECTED if settings.get("kind") == "expected" else told.MARGINAL
        parts.append(form.format(replicates=settings.get("replicates")))
    return " ".join(parts)


def _estimation(data: CohortData) -> str:
    search, preset = _part(data, "preset", "search"), _part(data, "preset")
    parts = []
    priors = _priors(data)
    if priors:
        parts.append(
            "For each person and model the log-likelihood was computed on a lattice over all free parameters, which "
            f"gives the posterior, its intervals (95%, equal tails) and the evidence. Priors: {'; '.join(priors)}."
        )
    fixed = _fixed(data)
    if fixed:
        parts.append(f"Held fixed: {listed(fixed)}.")
    if search:
        method = told.SEARCHES.get(str(search.get("method")), printable(search.get("method")))
        parts.append(
            f"Maxima of likelihood and posterior were searched from the lattice by {method}, at "
            f"{search.get('evaluations')} points beyond it from {count(search.get('starts', 1), 'start')}."
        )
    parts.append(f"Preset: {printable(preset.get('name', 'unknown'))}. Seed of all draws: {data.identity.get('seed')}.")
    return " ".join(parts)


def _priors(data: CohortData) -> list[str]:
    """Return the prior of each free parameter, models that share one together."""
    if not data.has("fits"):
        return []
    rows = data["fits"][data["fits"]["standing"] == "free"].drop_duplicates(["parameter", "prior", "low", "high"])
    return [
        f"{data.words.parameter(row['parameter'])}, {prior_words(str(row['prior']))}, between {row['low']:g} and "
        f"{row['high']:g}"
        for _, row in rows.iterrows()
    ]


def prior_words(text: str) -> str:
    """Return a prior such as ``lognormal:0.5,1`` in words."""
    kind, _, numbers = text.partition(":")
    values = [value.strip() for value in numbers.split(",")]
    form = told.PRIORS.get(kind)
    return form.format(*values) if form is not None and len(values) == 2 else printable(text)


def _fixed(data: CohortData) -> list[str]:
    if not data.has("fits"):
        return []
    rows = data["fits"][data["fits"]["standing"] != "free"].drop_duplicates(["model", "parameter"])
    found: dict[str, None] = {}
    for _, row in rows.iterrows():
        what = f"at {number(row['ml'])}" if row["standing"] == "fixed" else str(row["standing"])
        found[f"{data.words.parameter(row['parameter'])} {what}"] = None
    return list(found)


def _group(data: CohortData) -> str:
    parts = []
    if data.has("group"):
        parts.append(told.POOLING)
        known = [row["formulas"] for row in data["pooling"].to_dict("records")]
        formulas = [text for text in dict.fromkeys(known) if text and text != "[]"]
        parts += [f"Covariates entered as: {printable('; '.join(formulas))}."] if formulas else []
    if data.has("comparison"):
        parts.append(told.COMPARISON)
    if data.has("recovery"):
        parts.append(told.RECOVERY.format(how_made=how_made(data)))
    if data.has("sbc_summary") and data["sbc_summary"]["verdict"].isin(["passes", "fails"]).any():
        parts.append(told.CALIBRATION)
    return " ".join(parts)


def _software(data: CohortData) -> str:
    packages = [f"{name} {version}" for name, version in _part(data, "packages").items()]
    python = data.about.get("python")
    versions = listed([*([f"Python {python}"] if python else []), *packages]) if packages or python else ""
    own = data.made_by("holmes_fit")
    return f"All computations were done with holmes_fit {own}{f' ({versions})' if versions else ''}."


METHODS = Page("methods", "Methods", _blocks)
