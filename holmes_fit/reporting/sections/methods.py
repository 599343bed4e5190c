"""The methods page: paragraphs ready to paste, from what the run says about itself, and their references.

They follow the steps of Wilson & Collins (2019), and hold what the guidelines for transparency and openness (TOP) ask
for: who and what was left out, how trials were coded, models, estimation, recovery, comparison, validation, software.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from holmes_fit._support.numbers import listed
from holmes_fit.reporting.blocks import Block, Text
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.reading import attributes
from holmes_fit.reporting.references import cited
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.scores import people_table
from holmes_fit.reporting.sections import methods_words as told
from holmes_fit.reporting.sections.recovery import how_made
from holmes_fit.reporting.text import brief, count, number, people, printable
from holmes_fit.reporting.warnings import warned
from holmes_fit.runs.manifest import part_of
from holmes_fit.trials.cohorts import ROWS_LEFT_OUT

CITING = {"numba": "Lam et al., 2015", "arviz": "Kumar et al., 2019", "pymc": "Abril-Pla et al., 2023"}
SPELT = {"arviz": "ArviZ", "pymc": "PyMC", "numpy": "NumPy", "optuna": "Optuna", "scipy": "SciPy"}


def _blocks(data: CohortData) -> Iterator[Block]:
    paragraphs = methods_parts(data)
    yield Text("How these results were made, ready to paste into a paper.", "finding")
    yield warned(data, "label")
    for title, text in paragraphs.items():
        yield Text(title, "heading")
        yield Text(text, "paper")
    yield Text("References", "heading")
    yield from (Text(entry.text, "reference") for entry in cited(" ".join(paragraphs.values())))


def methods_parts(data: CohortData) -> dict[str, str]:
    """Return the paragraphs by their titles."""
    paragraphs = {title: " ".join(part(data)) for title, part in PARTS.items()}
    return {title: text for title, text in paragraphs.items() if text}


def methods_text(data: CohortData) -> list[str]:
    """Return the paragraphs."""
    return [*methods_parts(data).values()]


# --- People, trials, models


def _participants(data: CohortData) -> Iterator[str]:
    table = people_table(data)
    scope = f" (the group {brief(data.scope)}; {people(len(data.everyone))} in all groups)" if data.scope else ""
    failed = f" ({data.n_people - len(table)} of them could not be fitted)" if len(table) < data.n_people else ""
    yield (
        f"We fitted the {_answers(data)} of {people(data.n_people)}{scope}{failed} in the task "
        f"“{printable(data.study)}”, {count(table['answered'].sum(), 'answer')} on "
        f"{count(table['trials'].sum(), 'trial')}."
    )
    if source := str(data.protocol.get("source", "")).strip().rstrip("."):
        yield f"The task is from {printable(source)}."
    yield from _exclusions(data["exclusions"])


def _answers(data: CohortData) -> str:
    kind = part_of(data.protocol, "response").get("kind")
    return "choices" if kind is None else told.ANSWERS.get(str(kind), "answers")


def _exclusions(table: pd.DataFrame) -> Iterator[str]:
    """Say how many people each rule has taken out, or something of theirs, and which rows were left out."""
    if not len(table):
        yield "No rule took out people or answers."
        return
    of_rows = table["consequence"] == ROWS_LEFT_OUT
    for row in table[of_rows].drop_duplicates(["rule", "seen"]).to_dict("records"):
        yield f"Rows were left out by the rule {printable(row['rule'])}: {printable(row['seen'])}."
    for (rule, consequence), own in table[~of_rows].groupby(["rule", "consequence"], sort=False):
        allowed = list(dict.fromkeys(own["allowed"]))
        limit = f" ({printable(allowed[0])})" if len(allowed) == 1 else ""
        who = people(own["subject"].nunique())
        yield f"The rule {printable(rule)}{limit} concerned {who}: {printable(consequence)}."


def _coding(data: CohortData) -> Iterator[str]:
    trials, restart = data.trials, part_of(data.protocol, "columns").get("restart") or ()
    learners = trials[["subject", "restart"]].drop_duplicates().groupby("subject").size()
    if len(learners) and learners.max() > 1:
        by = f" ({listed([printable(name) for name in restart])})" if restart else ""
        yield f"Learning began anew with each problem{by}, {count(learners.median(), 'time')} a person in the median."
    elif len(learners):
        yield "Each person learned once, over all trials."
    features = part_of(data.protocol, "features")
    cues = [_cue(str(name), how if isinstance(how, Mapping) else {}) for name, how in features.items()]
    if cues:
        yield f"Cues were coded as features that are present or absent: {', '.join(cues)}."
    hidden, missed = int((~trials["feedback"].astype(bool)).sum()), int(trials["choice"].isna().sum())
    yield told.NO_FEEDBACK.format(n=count(hidden, "trial")) if hidden else "All trials had feedback."
    if missed:
        yield told.MISSED.format(n=count(missed, "missed answer"))


def _cue(name: str, how: Mapping[str, Any]) -> str:
    """Return how a column became cues."""
    levels, copies = how.get("levels") or (), int(how.get("copies", 1))
    notes = [
        f"one for each of {listed([printable(level) for level in levels])}" if levels else "",
        "assigned anew as they appear" if how.get("anew") else "",
        f"{copies} times" if copies > 1 else "",
    ]
    said = "; ".join(filter(None, notes))
    return f"{printable(name)}{f' ({said})' if said else ''}"


def _models(data: CohortData) -> Iterator[str]:
    meanings = [printable(data.words.meaning(name)) for name in data.model_names]
    # They have commas of their own.
    models = "; ".join([*meanings[:-1], f"and {meanings[-1]}"]) if len(meanings) > 1 else "".join(meanings)
    how_many = told.HOW_MANY[len(meanings)] if len(meanings) < len(told.HOW_MANY) else f"{len(meanings)} models"
    yield f"Each person was fitted with {how_many}: {models}."
    kind = printable(part_of(data.protocol, "response").get("kind", ""))
    yield told.RESPONSES.get(_answers(data), f"Predictions became answers by the response “{kind}”.")
    if (observer := part_of(data.identity, "observer")) and len(data["trees"]):
        yield told.OBSERVER.format_map(defaultdict(lambda: "unknown", observer))


# --- What was done with them


def _estimation(data: CohortData) -> Iterator[str]:
    search, fits = part_of(data.identity, "preset", "search"), data["fits"]
    if (settings := part_of(data.identity, "preset", "likelihood")) and len(data["trees"]):
        form = told.EXPECTED if settings.get("kind") == "expected" else told.MARGINAL
        yield form.format(replicates=settings.get("replicates"))
    exact = [name for name in data.model_names if not len(data.of_model("trees", name))]
    if exact and len(data["trees"]):
        yield told.EXACT.format(models=listed([data.words.label(name) for name in exact]))
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


def _recovery(data: CohortData) -> Iterator[str]:
    if data.has("recovery"):
        yield told.RECOVERY.format(how_made=how_made(data))
    if data.has("sbc_summary") and data["sbc_summary"]["verdict"].isin(["passes", "fails"]).any():
        yield told.CALIBRATION


def _group(data: CohortData) -> Iterator[str]:
    if data.has("group"):
        yield told.POOLING
        if data.identity.get("by"):
            yield told.PAIRED
        known = [row["formulas"] for row in data["pooling"].to_dict("records")]
        if formulas := [text for text in dict.fromkeys(known) if text and text != "[]"]:
            yield f"Covariates entered as: {printable('; '.join(formulas))}."


def _comparison(data: CohortData) -> Iterator[str]:
    if data.has("comparison"):
        yield told.COMPARISON
    if data.has("families") and (data["families"]["n_models"] > 1).any():
        yield told.FAMILIES
    if data.has("comparison_by_condition"):
        yield told.BY_CONDITION


def _validation(data: CohortData) -> Iterator[str]:
    if data.has("predictive"):
        yield told.VALIDATION


def _software(data: CohortData) -> Iterator[str]:
    python, known = data.about.get("python"), {**part_of(data.identity, "packages"), **_of_posteriors(data)}
    versions = [*([f"Python {python}"] if python else [])]
    for name, version in known.items():
        versions.append(f"{SPELT.get(name, name)} {version}{f' ({CITING[name]})' if name in CITING else ''}")
    own = data.made_by("holmes_fit")
    yield f"All computations were done with holmes_fit {own}{f', {listed(versions)}' if versions else ''}."
    preset = printable(part_of(data.identity, "preset").get("name", "unknown"))
    yield f"Preset: {preset}. Seed of all draws: {data.identity.get('seed')}."
    yield f"The tables of results have the SHA-256 {data.digest[:12]}…; data, settings and seed give the same again."
    if data.label:
        yield f"This was {printable(data.label)}."


def _of_posteriors(data: CohortData) -> dict[str, str]:
    """Return the versions that have sampled the group, as its posterior says."""
    said = [attributes(data.run.root, f"pool_{name}.nc", "posterior") for name in data.model_names]
    names = {"pymc": "pymc", "arviz_version": "arviz"}
    return {name: str(each[key]) for key, name in names.items() for each in said if key in each}


PARTS: Mapping[str, Callable[[CohortData], Iterator[str]]] = {
    "Participants and task": _participants,
    "Trials": _coding,
    "Models": _models,
    "Parameter estimation": _estimation,
    "Recovery": _recovery,
    "Groups": _group,
    "Comparison of models": _comparison,
    "Validation": _validation,
    "Software and availability": _software,
}
METHODS = Page("methods", "Methods", _blocks)
