"""The results of every chunk of work, written whole or not at all, so that a run that was killed goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.errors import Problems, Quoted, plain
from holmes_fit._support.study_files import PACKAGE, study_folder
from paper.studies import Chunk, Job, Reading, Sizes, chunks_of

MANIFEST = "manifest.json"
# A result may depend on these files, and on no others.
CODE = (
    "holmes_fit/models/filters/*.py",
    "holmes_fit/models/registry.py",
    "holmes_fit/trials/cohorts.py",
    "holmes_fit/trials/observations.py",
    "holmes_fit/trials/protocols/generators.py",
    "paper/scores.py",
    "paper/studies.py",
    "paper/tasks.py",
)

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Store:
    """A folder of results."""

    root: Path

    def path(self, chunk: Chunk) -> Path:
        return self.root / "chunks" / chunk.file

    def save(self, chunk: Chunk, tables: Tables) -> None:
        """Write the tables of one chunk, with a digest by which a damaged file is known."""
        path = self.path(chunk)
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {name: table.to_dict(orient="list") for name, table in tables.items()}
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps({"sha256": _digest(columns), "tables": columns}), encoding="utf-8")

    def load(self, chunk: Chunk) -> Tables | None:
        """Return the tables of one chunk, or nothing if it was not run or its file is damaged."""
        try:
            saved = json.loads(self.path(chunk).read_text(encoding="utf-8"))
            columns = saved["tables"]
            if saved["sha256"] != _digest(columns):
                return None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return {name: pd.DataFrame(table) for name, table in columns.items()}

    def missing(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        """Return the chunks that are still to be run."""
        return [chunk for chunk in chunks if self.load(chunk) is None]

    def table(self, job: Job, reading: Reading, name: str) -> pd.DataFrame:
        """Return one table of a job, all chunks together, in the order of models, points and seeds."""
        loaded = [self.load(chunk) for chunk in chunks_of(job, reading)]
        return pd.concat([tables[name] for tables in loaded if tables is not None], ignore_index=True)


def open_store(root: Path, sizes: Sizes) -> Store:
    """Open a folder of results, or make it; refuse one that was made with other settings.

    Raises
    ------
    InputError
        Naming every setting that differs, or why the folder cannot be made or written.
    """
    wanted = _settings(sizes)
    manifest = root / MANIFEST
    problems = Problems()
    where = f"folder {plain(str(root), limit=200)}"
    try:
        if manifest.is_file():
            _check_same(_read(manifest), wanted, where, problems)
        elif root.exists() and (not root.is_dir() or any(root.iterdir())):
            allowed = "a new folder, an empty one, or a replication to resume"
            problems.add(where, Quoted("something else there"), allowed)
        if not problems:
            root.mkdir(parents=True, exist_ok=True)
            with written_whole(manifest) as temporary:  # also over the same one, to see that the folder can be written
                temporary.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:  # no access, no space, or a name that the file system cannot hold
        problems.add(where, Quoted(str(error)), "a folder that can be made and written")
    problems.raise_if_any()
    return Store(root)


def _read(manifest: Path) -> dict[str, object]:
    """Return the settings of a folder; none where they cannot be read, so that all of them differ."""
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _check_same(found: dict[str, object], wanted: dict[str, object], where: str, problems: Problems) -> None:
    advice = "Choose another folder, or delete this one."
    for name in sorted({*wanted, *found}):
        if found.get(name) != wanted.get(name):
            seen = Quoted(f"{name} = {found.get(name)}")
            problems.add(where, seen, f"{name} = {wanted.get(name)}, as asked for now", advice)


def _settings(sizes: Sizes) -> dict[str, object]:
    """Return everything that results depend on."""
    files = sorted(path for pattern in CODE for path in PACKAGE.parent.glob(pattern))
    files += sorted(study_folder("protocols").glob("*.toml"))
    code = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    return {"holmes_fit": version("holmes-fit"), "code": code[:16], **asdict(sizes)}


def _digest(columns: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()
