"""The appendix: everyone's estimates and diagnostics, warnings, failures, full names, and where all of it came from."""

from __future__ import annotations

import hashlib
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath

import pandas as pd

from holmes_fit._support.numbers import share
from holmes_fit.reporting.book import Book, Column
from holmes_fit.reporting.names import model_label, parameter_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.text import fixed, number, people, printable, whole

TITLE = "Appendix"
TABLE = 7.0  # size of the letters in long tables
PERSON = Column("person", wraps=True)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
PEOPLE_OF_A_ROW = 1200  # letters: longer lists of names go on in another row, which may stand on another page


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    book.begin(
        TITLE,
        "Everyone's estimates, the diagnostics behind them, and where all of it came from.",
        "Medians and 95% intervals of each person's posterior; ML and MAP estimates, means and SDs are in fits.csv. An "
        "asterisk marks a best fit at a bound of the search; people with a warning about the model are in colour.",
    )
    for model in data.model_names:
        _estimates(data, book, model, data.fits, "each person alone")
        _estimates(data, book, model, data.pooled, "under the group")
    for model in data.model_names:
        _diagnostics(data, book, model)
    _warnings(data, book)
    _failures(data, book)
    _exclusions(data, book)
    _provenance(data, book)


def _estimates(data: CohortData, book: Book, model: str, table: pd.DataFrame | None, how: str) -> None:
    if table is None:
        return
    rows = table[table["model"] == model]
    if "standing" in rows:
        rows = rows[rows["standing"] == "free"]
    if not len(rows):
        return
    parameters = list(dict.fromkeys(rows["parameter"]))
    book.heading(f"{model_label(model)}, {how}")
    columns = [PERSON, *(Column(parameter_label(name), right=True) for name in parameters)]
    found = _by_person(rows)
    subjects = [str(name) for name in data.subjects["subject"] if name in found]
    cells = [[subject, *(found[subject].get(name, "") for name in parameters)] for subject in subjects]
    book.table(columns, cells, _marked(data, model, subjects), TABLE)


def _marked(data: CohortData, model: str, subjects: Sequence[str]) -> set[int]:
    """Return at which places people stand with a warning about a model."""
    start = f"{model}: "
    return {
        place
        for place, name in enumerate(subjects)
        if any(text.startswith(start) for text in data.warned.get(name, ()))
    }


def _by_person(rows: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Give each person's estimates as text, by parameter."""
    found: dict[str, dict[str, str]] = {}
    at_bound = rows["at_bound"] if "at_bound" in rows else pd.Series("", index=rows.index)
    columns = (rows["subject"], rows["parameter"], rows["median"], rows["lower"], rows["upper"], at_bound)
    for subject, parameter, median, lower, upper, bound in zip(*columns, strict=True):
        text = f"{number(median)} ({number(lower)}–{number(upper)}){'*' if bound else ''}"
        found.setdefault(str(subject), {})[str(parameter)] = text
    return found


def _diagnostics(data: CohortData, book: Book, model: str) -> None:
    if data.models is None:
        return
    rows = data.models[data.models["model"] == model]
    if not len(rows):
        return
    order = {str(name): place for place, name in enumerate(data.subjects["subject"])}
    rows = rows.sort_values("subject", key=lambda names: names.map(order), kind="stable")
    book.heading(f"{model_label(model)}, fits and their noise")
    columns = [
        PERSON,
        Column("trials", right=True),
        Column("answers", right=True),
        Column("log lik., ML", right=True),
        Column("log evidence", right=True),
        Column("pseudo-R²", right=True),
        Column("hit rate", right=True),
        Column("repli- cates", right=True),
        Column("effec- tive", right=True),
        Column("batch SD", right=True),
    ]
    cells = []
    for _, row in rows.iterrows():
        cells.append(
            [
                str(row["subject"]),
                whole(row["n_trials"]),
                whole(row["n_answered"]),
                f"{fixed(row['log_likelihood'])} ± {fixed(row['log_likelihood_error'])}",
                f"{fixed(row['log_evidence'])} ± {fixed(row['log_evidence_error'])}",
                fixed(row["pseudo_r2"]),
                share(row["hit_rate"]),
                whole(row["replicates"]),
                fixed(row["effective_replicates"], 1),
                fixed(row["batch_sd"]),
            ]
        )
    book.table(columns, cells, _marked(data, model, list(rows["subject"])), TABLE)


def _warnings(data: CohortData, book: Book) -> None:
    if not data.warned:
        return
    book.heading(f"Warnings about {people(len(data.warned))}")
    columns = [Column("model"), Column("warning", wraps=True), Column("people", wraps=True)]
    book.table(columns, list(warning_rows(data.warned)), size=TABLE)


def warning_rows(warned: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Give model, warning and people: once for warnings that differ in their numbers only, as many people share one."""
    alike: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for subject, texts in warned.items():
        for text in texts:
            model, _, what = text.partition(": ")
            alike.setdefault((model, NUMBER.sub("#", what)), []).append((subject, what))
    for (model, _), found in alike.items():
        subjects, texts = zip(*found, strict=True)
        first, *others = _in_rows(subjects)
        yield [model_label(model), with_ranges(texts), first]
        yield from (["", "", names] for names in others)


def _in_rows(subjects: Sequence[str]) -> list[str]:
    names = ", ".join(map(printable, subjects))
    return textwrap.wrap(names, PEOPLE_OF_A_ROW, break_long_words=False, break_on_hyphens=False)


def with_ranges(texts: Sequence[str]) -> str:
    """Return the one text that stands for texts alike but for their numbers, which become ranges."""
    words = NUMBER.split(texts[0])
    found = zip(*map(NUMBER.findall, texts), strict=True)
    ranges = [
        values[0] if len(set(values)) == 1 else f"{min(values, key=float)} to {max(values, key=float)}"
        for values in found
    ]
    return "".join(word + value for word, value in zip(words, [*ranges, ""], strict=True))


def _failures(data: CohortData, book: Book) -> None:
    book.heading("Failures")
    if data.failures is None or not len(data.failures):
        book.words("Everyone was fitted with every model.")
        return
    columns = [PERSON, Column("model"), Column("reason", wraps=True)]
    rows = [[row["subject"], model_label(row["model"]), row["reason"]] for _, row in data.failures.iterrows()]
    book.table(columns, rows, size=TABLE)


def _exclusions(data: CohortData, book: Book) -> None:
    if data.exclusions is None or not len(data.exclusions):
        return
    book.heading("Exclusions")
    names = ("subject", "rule", "seen", "allowed", "consequence")
    columns = [PERSON, *(Column(name, wraps=True) for name in names[1:])]
    book.table(columns, [[str(row[name]) for name in names] for _, row in data.exclusions.iterrows()], size=TABLE)


def _provenance(data: CohortData, book: Book) -> None:
    book.heading("Provenance")
    identity = data.identity
    protocol, preset = identity.get("protocol"), identity.get("preset")
    facts = {
        "command": without_folders(str(data.about.get("command", ""))),
        "begun": data.run.manifest.begun.isoformat(),
        "run (SHA-256 of its tables)": data.digest,
        "trials (SHA-256)": str(identity.get("trials", "")),
        "protocol": f"{protocol.get('name', '')}, SHA-256 {protocol.get('sha256', '')}"
        if isinstance(protocol, Mapping)
        else "",
        "preset": str(preset.get("name", "")) if isinstance(preset, Mapping) else "",
        "seed": str(identity.get("seed", "")),
        "code (SHA-256)": str(identity.get("code", "")),
        "holmes_fit": str(identity.get("holmes_fit", "")),
        "note": data.label,
    }
    book.table(
        [Column("what"), Column("value", wraps=True)],
        [[name, value] for name, value in facts.items() if value],
        size=TABLE,
    )
    book.heading("Files that this report was made from")
    rows = [[printable(name), digest] for name, digest in _files(data)]
    book.table([Column("file"), Column("SHA-256")], rows, size=TABLE)


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


def _files(data: CohortData) -> Iterator[tuple[str, str]]:
    folders = {"": data.run.root}
    if data.recovery_folder is not None:
        folders["recovery/"] = data.recovery_folder
    for prefix, folder in folders.items():
        for path in sorted([*folder.glob("*.csv"), *folder.glob("*.json")]):
            yield prefix + path.name, hashlib.sha256(path.read_bytes()).hexdigest()


APPENDIX = Page("appendix", TITLE, build)
