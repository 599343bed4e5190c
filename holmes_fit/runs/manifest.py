"""``manifest.json``: what the results of a run depend on, what else is worth knowing, and which records it needs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from holmes_fit._support.borders import parse_json
from holmes_fit._support.errors import Problems, Quoted, plain
from holmes_fit.runs.identity import RESULTS
from holmes_fit.runs.records import Key

MANIFEST = "manifest.json"
FORMAT = 1
ADVICE = "Choose another folder for the argument out, or delete this one."

JSON = Mapping[str, object]


@dataclass(frozen=True)
class Manifest:
    """What a run folder says about itself."""

    identity: JSON  # everything that results depend on; nested dictionaries of JSON
    about: JSON  # what else is worth knowing: the command, the versions. Kept from the first time, and not compared
    keys: tuple[Key, ...]  # the records that make the run complete, sorted
    begun: datetime  # when the folder was made


def new_manifest(identity: JSON, about: JSON, keys: tuple[Key, ...]) -> Manifest:
    """Return the manifest of a run that begins now, as it will be read from its file."""
    if len(set(keys)) != len(keys):
        raise ValueError("two records of a run have the same key")
    return from_text(to_text(Manifest(identity, about, tuple(sorted(keys)), datetime.now(UTC))))


def to_text(manifest: Manifest) -> str:
    """Return the content of the file."""
    content = {
        "format": FORMAT,
        "begun": manifest.begun.isoformat(timespec="seconds"),
        "identity": manifest.identity,
        "about": manifest.about,
        "records": manifest.keys,
    }
    return json.dumps(content, indent=2) + "\n"


def from_text(text: bytes | str) -> Manifest:
    """Read a manifest."""
    try:
        content = parse_json(text)
        if content["format"] != FORMAT:
            raise ValueError(f"it has format {content['format']!r}, and this version reads {FORMAT}")
        keys = tuple(tuple(str(part) for part in key) for key in content["records"])
        if not all(keys):
            raise ValueError("it has a record without a name")
        begun = datetime.fromisoformat(content["begun"])
        begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
        return Manifest(dict(content["identity"]), dict(content["about"]), keys, begun)
    except (KeyError, TypeError) as error:
        raise ValueError("it is not a manifest of a run") from error


def check_same(found: Manifest, wanted: Manifest, where: str, problems: Problems) -> None:
    """Add a problem for everything in which a run differs from the one that is asked for."""
    if RESULTS in wanted.identity and RESULTS not in found.identity:
        seen = "a run of an earlier version of holmes_fit, which may have computed other results"
        problems.add(where, Quoted(seen), f"one with {RESULTS} = {wanted.identity[RESULTS]}, to go on with it", ADVICE)
        return
    old, new = dict(_leaves(found.identity)), dict(_leaves(wanted.identity))
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            seen, allowed = _said(name, old.get(name)), _said(name, new.get(name))
            problems.add(where, Quoted(seen), f"{allowed}, as asked for now", ADVICE)
    if not problems and found.keys != wanted.keys:
        lost, added = set(found.keys) - set(wanted.keys), set(wanted.keys) - set(found.keys)
        seen = f"{len(found.keys)} records to make, {len(lost)} of them not asked for now"
        problems.add(where, Quoted(seen), f"{len(wanted.keys)} records, {len(added)} of them new", ADVICE)


def _leaves(tree: JSON, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give every value of nested dictionaries by its dotted name, as text that can be compared, NaN included."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)


def _said(name: str, value: str | None) -> str:
    return f"no {plain(name)}" if value is None else f"{plain(name)} = {plain(value, limit=40)}"


def part_of(whole: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a part of a manifest or an identity, such as the protocol; nothing where it has none."""
    found: Any = whole
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def named(identity: Mapping[str, Any], key: str) -> str:
    """Return the name of a part of an identity; empty where it has none."""
    return str(part_of(identity, key).get("name", ""))
