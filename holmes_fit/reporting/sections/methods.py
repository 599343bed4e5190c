"""The methods page: a paragraph ready to paste, from what the run says about itself, and its references."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.blocks import Block, Text
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData, part_of
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
    paragraphs = (" ".join(part(data)) for part in (_models, _likelihood, _estimation, _group, _software))
    return [text for text in paragraphs if text]


def _models(data: CohortData) -> Iterator[str]:
    table = people_table(data)
    meanings = [printable(data.words.meaning(name)) for name in data.model_names]
    # They have commas of their own.
    models = "; ".join([*meanings[:-1], f"and {meanings[-1]}"]) if len(meanings) > 1 else "".join(meanings)
    how_many = told.HOW_MANY[len(meanings)] if len(meanings) < len(told.HOW_MANY) else f"{len(meanings)} models"
    scope = f" (the group {brief(data.scope)}; {people(len(data.everyone))} in all groups)" if data.scope else ""
    failed = f" ({data.n_people - len(table)} of them could not be fitted)" if len(table) < data.n_people else ""
    source = str(data.protocol.get("source", "")).strip()
    yield (
        f"We fitted the choices of {people(data.n_people)}{scope}{failed} in the task “{printable(data.study)}”"
        f"{f' ({printable(source)})' if source else ''}, {count(table['answered'].sum(), 'answer')} on "
        f"{count(table['trials'].sum(), 'trial')}, with {how_many}: {models}."
    )
    yield told.RESPONSE


def _likelihood(data: CohortData) -> Iterator[str]:
    observer, settings = part_of(data.identity, "observer"), part_of(data.identity, "preset", "likelihood")
    if observer:
        yield told.OBSERVER.format_map(defaultdict(lambda: "unknown", observer))
    if settings:
        form = told.EXPECTED if settings.get("kind") == "expected" else told.MARGINAL
        yield form.format(replicates=settings.get("replicates"))


def _estimation(data: CohortData) -> Iterator[str]:
    search, fits = part_of(data.identity, "preset", "search"), data["fits"]
    if len(free := fits[fits["standing"] == "free"]):
        known = free.drop_duplicates(["parameter", "prior", "low", "high"])  # models that share one together
        yield told.LATTICE.format(priors="; ".join(_prior(data, row) for row in known.to_dict("records")))
    if by := data.identity.get("by"):
        varied = listed([data.words.parameter(str(name)) for name in data.identity.get("vary", ())])
        yield told.CONDITIONS.format(varied=varied, by=printable(by))
    held = fits[fits["standing"] != "free"].drop_duplicates(["model", "parameter"]).to_dict("records")
    if held:
        yield f"Held fixed: {listed(list(dict.fromkeys(_held(data, row) for row in held)))}."
    if search:
        method = told.SEARCHES.get(str(search.get("method")), printable(search.get("method")))
        starts = count(search.get("starts", 1), "start")
        yield told.SEARCH.format(method=method, evaluations=search.get("evaluations"), starts=starts)
    preset = printable(part_of(data.identity, "preset").get("name", "unknown"))
    yield f"Preset: {preset}. Seed of all draws: {data.identity.get('seed')}."


def _prior(data: CohortData, row: Mapping[Hashable, Any]) -> str:
    """Return a prior such as ``lognormal:0.5,1``, and its bounds, in words."""
    kind, _, numbers = str(row["prior"]).partition(":")
    values = [value.strip() for value in numbers.split(",")]
    form = told.PRIORS.get(kind)
    prior = form.format(*values) if form is not None and len(values) == 2 else printable(row["prior"])
    return f"{data.words.parameter(row['parameter'])}, {prior}, between {row['low']:g} and {row['high']:g}"


def _held(data: CohortData, row: Mapping[Hashable, Any]) -> str:
    what = f"at {number(row['ml'])}" if row["standing"] == "fixed" else str(row["standing"])
    return f"{data.words.parameter(row['parameter'])} {what}"


def _group(data: CohortData) -> Iterator[str]:
    if data.has("group"):
        yield told.POOLING
        if data.identity.get("by"):
            yield told.PAIRED
        known = [row["formulas"] for row in data["pooling"].to_dict("records")]
        if formulas := [text for text in dict.fromkeys(known) if text and text != "[]"]:
            yield f"Covariates entered as: {printable('; '.join(formulas))}."
    if data.has("comparison"):
        yield told.COMPARISON
    if data.has("comparison_by_condition"):
        yield told.BY_CONDITION
    if data.has("recovery"):
        yield told.RECOVERY.format(how_made=how_made(data))
    if data.has("sbc_summary") and data["sbc_summary"]["verdict"].isin(["passes", "fails"]).any():
        yield told.CALIBRATION


def _software(data: CohortData) -> Iterator[str]:
    python, packages = data.about.get("python"), part_of(data.identity, "packages").items()
    versions = [*([f"Python {python}"] if python else []), *(f"{name} {version}" for name, version in packages)]
    own = data.made_by("holmes_fit")
    yield f"All computations were done with holmes_fit {own}{f' ({listed(versions)})' if versions else ''}."


METHODS = Page("methods", "Methods", _blocks)
