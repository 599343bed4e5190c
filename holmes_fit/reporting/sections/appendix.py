"""The appendix: everyone's estimates and diagnostics, warnings, failures, full names, and where all of it came from."""

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath

import pandas as pd

from holmes_fit._support.numbers import share
from holmes_fit.reporting.blocks import Block, Table, Text, numbers, texts
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import NUMBER, CohortData, kind_of
from holmes_fit.reporting.sections.data import exclusion_table
from holmes_fit.reporting.text import fixed, number, people, printable, whole
from holmes_fit.reporting.warnings import every_warning
from holmes_fit.runs.manifest import named, part_of

TABLE = 7.0  # size of the letters in long tables
FINDING = "Everyone's estimates, the diagnostics behind them, and where all of it came from."
WORDS = (
    "Medians and 95% intervals of each person's posterior; ML and MAP estimates, means and SDs are in fits.csv. An "
    "asterisk marks a best fit at a bound of the search; people with a warning that not everybody has are in colour."
)
FITS = ("trials", "answers", "log lik., ML", "log evidence", "pseudo-R²", "hit rate")
NOISE = ("repli- cates", "effec- tive", "batch SD")
PEOPLE_OF_A_ROW = 1200  # letters: longer lists of names go on in another row, which may stand on another page


def _blocks(data: CohortData) -> Iterator[Block]:
    yield Text(FINDING, "finding")
    yield Text(WORDS)
    for model in data.model_names:
        yield from _estimates(data, model)
    for model in data.model_names:
        if len(rows := data.of_model("models", model)):
            yield from _diagnostics(data, model, rows)
    if texts_of_all := every_warning(data):
        yield Text("Every warning", "heading")
        yield from (Text(text) for text in texts_of_all)
    if data.warned:
        yield Text(f"Warnings about {people(len(data.warned))}", "heading")
        yield Table(texts("model", "warning", "people"), list(warning_rows(data.warned, data.words)), size=TABLE)
    yield Text("Failures", "heading")
    if data.has("failures"):
        failures = data["failures"].to_dict("records")
        told = [[row["subject"], data.words.label(row["model"]), row["reason"]] for row in failures]
        yield Table(texts("person", "model", "reason"), told, size=TABLE)
    else:
        yield Text("Everyone was fitted with every model.")
    if data.has("exclusions"):
        yield Text("Exclusions", "heading")
        yield exclusion_table(data, size=TABLE)
    yield Text("Provenance", "heading")
    facts = [[name, value] for name, value in _provenance(data).items() if value]
    yield Table(texts("what", "value"), facts, size=TABLE)
    yield Text("Files that this report was made from", "heading")
    yield Table(texts("file", "SHA-256"), data.files, size=TABLE)


def _estimates(data: CohortData, model: str) -> Iterator[Block]:
    for name, how in (("fits", "each person alone"), ("pooled", "under the group")):
        rows = data.of_model(name, model)
        if not len(rows):
            continue
        parameters = list(dict.fromkeys(rows["parameter"]))
        found = _by_person(rows)
        subjects = [str(subject) for subject in data.subjects["subject"] if subject in found]
        cells = [[subject, *(found[subject].get(name, "") for name in parameters)] for subject in subjects]
        columns = [*texts("person"), *numbers(*map(data.words.parameter, parameters))]
        yield Text(f"{data.words.label(model)}, {how}", "heading")
        yield Table(columns, cells, _marked(data, model, subjects), TABLE)


def _marked(data: CohortData, model: str, subjects: Sequence[str]) -> set[int]:
    """Return at which places people stand with a warning about a model."""
    return {place for place, name in enumerate(subjects) if any(data.warned_of(name, model))}


def _by_person(rows: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Give each person's estimates as text, by parameter."""
    found: dict[str, dict[str, str]] = {}
    for row in rows.to_dict("records"):
        text = f"{number(row['median'])} ({number(row['lower'])}–{number(row['upper'])})"
        bound = "*" if row.get("at_bound") else ""
        found.setdefault(str(row["subject"]), {})[str(row["parameter"])] = f"{text}{bound}"
    return found


def _diagnostics(data: CohortData, model: str, rows: pd.DataFrame) -> Iterator[Block]:
    order = {str(name): place for place, name in enumerate(data.subjects["subject"])}
    rows = rows.sort_values("subject", key=lambda names: names.map(order), kind="stable")
    cells = []
    for row in rows.to_dict("records"):
        counts = [str(row["subject"]), whole(row["n_trials"]), whole(row["n_answered"])]
        known = [f"{fixed(row[name])} ± {fixed(row[f'{name}_error'])}" for name in ("log_likelihood", "log_evidence")]
        fit = [fixed(row["pseudo_r2"]), share(row["hit_rate"])]
        noise = [whole(row["replicates"]), fixed(row["effective_replicates"], 1), fixed(row["batch_sd"])]
        cells.append([*counts, *known, *fit, *noise])
    yield Text(f"{data.words.label(model)}, fits and their noise", "heading")
    yield Table([*texts("person"), *numbers(*FITS, *NOISE)], cells, _marked(data, model, list(rows["subject"])), TABLE)


def warning_rows(warned: Mapping[str, Sequence[str]], words: Words) -> Iterator[list[str]]:
    """Give model, warning and people: once for warnings that differ in their numbers only, as many people share one."""
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for subject, told in warned.items():
        for text in told:
            model, _, what = text.partition(": ")
            alike.setdefault((model, kind_of(what)), []).append((subject, what))
    for (model, _), found in alike.items():
        subjects, whats = zip(*found, strict=True)
        names = ", ".join(map(printable, subjects))
        first, *others = textwrap.wrap(names, PEOPLE_OF_A_ROW, break_long_words=False, break_on_hyphens=False)
        yield [words.label(model), with_ranges(whats), first]
        yield from (["", "", names] for names in others)


def with_ranges(alike: Sequence[str]) -> str:
    """Return the one text that stands for texts alike but for their numbers, which become ranges."""
    words = NUMBER.split(alike[0])
    found = zip(*map(NUMBER.findall, alike), strict=True)
    ranges = [
        values[0] if len(set(values)) == 1 else f"{min(values, key=float)} to {max(values, key=float)}"
        for values in found
    ]
    return "".join(word + value for word, value in zip(words, [*ranges, ""], strict=True))


def _provenance(data: CohortData) -> dict[str, str]:
    """Return where all of it came from; what is not known is empty."""
    identity, protocol = data.identity, part_of(data.identity, "protocol")
    return {
        # Files, and people, have names of people.
        "command": without_folders(str(data.about.get("command", ""))) if data.numbers is None else "",
        "begun": data.run.manifest.begun.isoformat(),
        "run (SHA-256 of its tables)": data.digest,
        "trials (SHA-256)": str(identity.get("trials", "")),
        "protocol": f"{protocol.get('name', '')}, SHA-256 {protocol.get('sha256', '')}" if protocol else "",
        "preset": named(identity, "preset"),
        "seed": str(identity.get("seed", "")),
        "code (SHA-256)": data.made_by("code"),
        "holmes_fit": data.made_by("holmes_fit"),
        "note": data.label,
    }


def without_folders(command: str) -> str:
    """Return a command without the folders of the machine that it was given on: of whole paths, the last part stays."""
    try:
        words = shlex.split(command)
    except ValueError:  # nobody has joined it from its words
        words = command.split()
    return shlex.join(map(_last_part, words))


def _last_part(word: str) -> str:
    option, sign, path = word.partition("=") if word.startswith("-") else ("", "", word)
    is_whole = path.startswith("~") or PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
    return f"{option}{sign}{PureWindowsPath(path).name if is_whole else path}"


APPENDIX = Page("appendix", "Appendix", _blocks)
