"""Files of a run that belong together, such as the tables of a comparison: they appear together, or not at all.

They are written into a folder of their own, which then gets the name ``.ready`` in one step. From there they are moved
to their places, by whoever comes next if the process is killed meanwhile. In ``stamps/`` is what each set was made
from, and the digest of each of its files: so it is noticed where one is not of the set, or the set is not of the fits.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from holmes_fit._support.atomic import LEFT_OVER, remove, to_disk
from holmes_fit._support.borders import inside, parse_json, read_bytes
from holmes_fit._support.errors import Problems, Quoted, plain

READY = ".ready"
STAMPS = "stamps"
RECORDS = "records"
Digests = Mapping[str, str]


def appear(root: Path, staged: Path, name: str, inputs: Digests, gone: Collection[str] = ()) -> None:
    """Let all files of a set take their places; those that are ``gone`` from it are removed, kept ones stay."""
    files = {path.relative_to(staged).as_posix(): path for path in sorted(staged.rglob("*")) if path.is_file()}
    for path in files.values():
        to_disk(path)
    if name:
        stamp = staged / STAMPS / f"{name}.json"
        stamp.parent.mkdir()
        own = _kept(root, name, gone) | {file: _digest(path) for file, path in files.items()}
        content = {"inputs": inputs, "files": dict(sorted(own.items())), "gone": sorted(gone)}
        stamp.write_text(json.dumps(content, indent=2) + "\n")
        to_disk(stamp)
    os.rename(staged, root / READY)
    finish(root)


def _kept(root: Path, name: str, gone: Collection[str]) -> dict[str, str]:
    """Return what the earlier stamp of a set says of its files that stay if they are not written anew."""
    try:
        said = dict(_read(root / STAMPS / f"{name}.json")["files"])
        return {file: digest for file, digest in said.items() if file not in gone and inside(root, file).is_file()}
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or it says nothing
        return {}


def finish(root: Path) -> None:
    """Move what is ready to its places, the stamp last."""
    ready = root / READY
    if not ready.is_dir():
        return
    paths = sorted((path for path in ready.rglob("*") if path.is_file()), key=lambda path: path.parent.name == STAMPS)
    for path in paths:
        target = root / path.relative_to(ready)
        if path.parent == ready / STAMPS:
            for name in _read(path)["gone"]:
                inside(root, name).unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
    shutil.rmtree(ready)


def tidy(root: Path) -> None:
    """Finish what a process that was killed had made ready, and remove what it had begun to write."""
    finish(root)
    for path in list(_begun(root)):
        remove(path)


def is_untidy(root: Path) -> bool:
    """Return whether there is something that is being written, or that a process has left."""
    return (root / READY).exists() or any(True for _ in _begun(root))


def _begun(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob(".*.tmp") if LEFT_OVER.fullmatch(path.name))


def digests(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the digest of each input, as it is now: of a file, or of which records there are."""
    return {name: _of_records(root) if name == RECORDS else _digest(root / name) for name in names}


def stamps(root: Path) -> dict[str, bytes]:
    """Return the stamps of all sets, which change whenever a set does; what is on its way has none yet."""
    own = {path.stem: path.read_bytes() for path in sorted((root / STAMPS).glob("*.json"))}
    return own | ({READY: b""} if (root / READY).exists() else {})


def check_sets(root: Path, names: Collection[str] | None = None) -> None:
    """Refuse tables of different times, or that were made from others than those that are there now.

    Sets that have no stamp, such as those of a run of an earlier version, are taken as they are.
    """
    problems = Problems()
    for path in sorted((root / STAMPS).glob("*.json")):
        if names is None or path.stem in names:
            where = f"run {plain(str(root), 200)}, what holmes-fit {plain(path.stem)} has written"
            try:
                stamp = _read(path)
                seen = _unlike(root, stamp)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                seen = f"a stamp that cannot be read ({plain(str(error), 100)})"
            if seen:
                advice = f"Give holmes-fit {plain(path.stem)} again; what has not changed is not computed again."
                problems.add(where, Quoted(seen), "tables as they were written, of the results that are there", advice)
    problems.raise_if_any()


def _unlike(root: Path, stamp: Mapping[str, Any]) -> str:
    """Say what does not fit a set; nothing if all does. Files may be absent: they are no mixture."""
    for kind, wanted in (("files", "another"), ("inputs", "made from another")):
        for name, digest in stamp[kind].items():
            path = inside(root, name)
            if path.exists() and digests(root, [name])[name] != digest:
                return f"{wanted} {plain(name)} than the one there" if kind == "inputs" else f"another {plain(name)}"
    return ""


def _read(path: Path) -> Mapping[str, Any]:
    stamp = parse_json(read_bytes(path))
    return {kind: stamp[kind] for kind in ("inputs", "files", "gone")}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _of_records(root: Path) -> str:
    """Return the digest of which records there are: each has but one content in a run."""
    paths = (root / RECORDS).rglob("*.npz")
    return sha256("\n".join(sorted(path.relative_to(root).as_posix() for path in paths)).encode()).hexdigest()
