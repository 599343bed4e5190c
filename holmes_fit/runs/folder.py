"""Opening a run folder, and reading and writing what is in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holmes_fit._support.atomic import LEFT_OVER, named_if_unwritten, temporary_name, written_whole
from holmes_fit._support.borders import LARGEST_JSON, inside, naming, read_bytes
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, plain, shown
from holmes_fit.runs import schema
from holmes_fit.runs.identity import tell_of_other_code
from holmes_fit.runs.lock import LOCK, Held, Lock, holder, locked
from holmes_fit.runs.manifest import ADVICE, JSON, MANIFEST, Manifest, check_same, from_text, new_manifest, to_text
from holmes_fit.runs.records import Arrays, Key, Record, file_of, from_bytes, to_bytes
from holmes_fit.runs.sets import RECORDS, appear, digests, is_untidy, tidy

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    done: tuple[Key, ...]  # the keys of the records that are there, those with an error among them
    failed: tuple[Key, ...]  # the keys of the records that say why there is no result
    damaged: tuple[Key, ...]  # the keys of the records whose file was truncated or altered; they are missing as well
    missing: tuple[Key, ...]  # the keys of the records that are still to be made
    begun: datetime  # when the run folder was made
    latest: datetime  # when the latest record was written, or when the folder was made

    @property
    def total(self) -> int:
        return len(self.done) + len(self.missing)

    @property
    def elapsed(self) -> float:
        """Seconds from the beginning of the run to its latest record; interruptions count."""
        return max(0.0, (self.latest - self.begun).total_seconds())


@dataclass(frozen=True)
class Stage:
    """Where files of a set are until they appear."""

    folder: Path
    gone: set[str] = field(default_factory=set)  # files of the run that are to go when the set appears


@dataclass(frozen=True)
class Run:
    """A run folder. Get one from :func:`open_run` to go on with it, or from :func:`read_run` to read it."""

    root: Path  # the folder
    manifest: Manifest = field(repr=False)  # which is long, and in a file of the folder
    lock: Lock | None = field(default=None, repr=False, compare=False)  # that of the process which works in it
    stage: Stage | None = field(default=None, repr=False, compare=False)  # see :meth:`together`

    @contextmanager
    def at_work(self) -> Iterator[Run]:
        """Give the run to whoever adds results to it; no other process can do so meanwhile."""
        if self.lock is not None and self.lock.held:
            yield self
            return
        with ExitStack() as stack:
            yield replace(self, lock=_claim(self.root, stack))

    @contextmanager
    def together(self, name: str = "", inputs: Iterable[str] = ()) -> Iterator[Run]:
        """Give the run as it will be: what is written there appears at once if all goes well, or not at all.

        ``name`` is the command that makes the set, from the files ``inputs`` or from ``"records"``, as its stamp says;
        without a name there is no stamp.
        """
        with self.at_work() as run:
            made_from = digests(self.root, inputs)
            stage = Stage(self.root / temporary_name())
            try:
                with named_if_unwritten(self.root):
                    stage.folder.mkdir()
                yield replace(run, stage=stage)
                run.check()
                with named_if_unwritten(self.root):
                    appear(self.root, stage.folder, name, made_from, stage.gone)
            finally:
                shutil.rmtree(stage.folder, ignore_errors=True)

    def check(self) -> None:
        """Stop whoever works in a folder that was deleted or moved, before anything more is done for it."""
        if self.lock is not None:
            self.lock.check()

    def remove(self, name: str) -> None:
        """Let a file go when the set appears, which would otherwise belong to an earlier one."""
        assert self.stage is not None
        if self.path(name).exists():
            self.stage.gone.add(name)

    def save_record(self, key: Key, facts: JSON, arrays: Arrays | None = None, error: str = "") -> None:
        """Write the record of one piece of work, whole or not at all; if it cannot be written, the others stay."""
        if key not in self.manifest.keys:
            raise KeyError(key)
        content = to_bytes(Record(key, facts, arrays or {}, error))
        with self.writing(_name_of(key)) as temporary:
            temporary.write_bytes(content)

    def load_record(self, key: Key) -> Record | None:
        """Return a record, or nothing if it is not there or its file is damaged."""
        path = self._path(key)
        try:
            record = from_bytes(read_bytes(path))
        except (OSError, ValueError):
            return None
        return record if record is not None and record.key == key else None

    def records(self) -> Iterator[Record]:
        """Give the records that are there, one at a time, in the order of their keys."""
        for key in self.manifest.keys:
            record = self.load_record(key)
            if record is not None:
                yield record

    def progress(self) -> Progress:
        """Return how far the run is; every record is read and checked."""
        done, failed, damaged, missing = [], [], [], []
        latest = self.manifest.begun
        for key in self.manifest.keys:
            path = self._path(key)
            record = self.load_record(key)
            if record is None:
                missing.append(key)
                damaged += [key] if path.exists() else []
                continue
            done.append(key)
            failed += [key] if record.error else []
            latest = max(latest, datetime.fromtimestamp(path.stat().st_mtime, UTC))
        return Progress(tuple(done), tuple(failed), tuple(damaged), tuple(missing), self.manifest.begun, latest)

    def holder(self) -> str | None:
        """Return which process works on the run now, such as ``"process 12 on lab3"``, or nothing if none does."""
        return holder(self.root)

    def write_table(self, name: str, table: pd.DataFrame) -> Path:
        """Write a table as a CSV file of that name, such as ``"fits.csv"``, by its schema, and return its path."""
        ordered = schema.ordered(name, table)
        with self.writing(name) as temporary:
            write_table(ordered, temporary)
        return self.root / name

    def read_table(self, name: str, text: Iterable[str] = ()) -> pd.DataFrame:
        """Read a table of the run; texts that are missing are empty.

        Which columns hold text, whatever it looks like, is in the schema; ``text`` names those of other tables.
        """
        path = self.path(name)
        with naming(f"run {_shown(self.root)}, table {plain(name)}", "a table of a complete run"):
            return schema.read(path, text)

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Give a temporary file that takes the place of a file of the run if all goes well."""
        final = self._checked(name)
        self.check()
        with named_if_unwritten(final), ExitStack() as stack:
            path = final if self.stage is None else self.stage.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            yield path if self.stage is not None else stack.enter_context(written_whole(path))

    def path(self, name: str) -> Path:
        """Return the path of a file of the run, to read it."""
        path = self._checked(name)
        staged = None if self.stage is None else self.stage.folder / name
        return staged if staged is not None and staged.exists() else path

    def _checked(self, name: str) -> Path:
        with naming(f"run {_shown(self.root)}, file {plain(name)}", "the name of a file in the folder"):
            return inside(self.root, name)

    def _path(self, key: Key) -> Path:
        return self.path(_name_of(key))


def _name_of(key: Key) -> str:
    return f"{RECORDS}/{file_of(key)}"


@contextmanager
def open_run(root: str | os.PathLike[str], *, identity: JSON, about: JSON, keys: Iterable[Key]) -> Iterator[Run]:
    """Make a run folder, or open one to go on with it; no other process can open it meanwhile.

    ``identity`` is everything that results depend on, in nested dictionaries of JSON; ``about`` is kept from the first
    time; ``keys`` are those of all the records that make the run complete, in any order. A folder is refused that holds
    something else, or a run of something else (everything that differs is named), or in which another process works.
    """
    folder = _folder("out", root)
    wanted = new_manifest(identity, about, tuple(keys))
    with ExitStack() as stack:
        lock = _claim(folder, stack)
        path = folder / MANIFEST
        if path.exists():
            found = _read_manifest(folder)
            problems = Problems()
            check_same(found, wanted, f"folder {_shown(folder)}", problems)
            problems.raise_if_any()
            tell_of_other_code(found.about)
            yield Run(folder, found, lock)
        else:
            with written_whole(path) as temporary:
                temporary.write_text(to_text(wanted), encoding="utf-8")
            yield Run(folder, wanted, lock)


def read_run(root: str | os.PathLike[str]) -> Run:
    """Return a run to read its records and tables, also while another process works on it."""
    folder = _folder("folder", root)
    manifest = _read_manifest(folder)
    if is_untidy(folder) and holder(folder) is None:
        with suppress(Held, OSError), locked(folder):  # someone else is faster, or nothing can be written there
            tidy(folder)
    return Run(folder, manifest)


class HasRun(Protocol):
    """Whatever lives in a run folder, such as the fits of a cohort."""

    @property
    def run(self) -> Run: ...


def run_of(where: str | os.PathLike[str] | Run | HasRun, kind: str = "") -> Run:
    """Return the run that is meant: itself, that of what lives in one, or in a folder; made by ``kind``, if given."""
    own = read_run(where) if isinstance(where, str | os.PathLike) else where
    run = own if isinstance(own, Run) else getattr(own, "run", None)
    if not isinstance(run, Run):
        raise InputError([Problem("argument run", shown(where), "a run folder, or what holmes_fit.fit has returned")])
    if kind and run.manifest.identity.get("kind") != kind:
        seen, allowed = "a run of something else", f"a run of holmes-fit {kind}"
        raise InputError([Problem(f"folder {_shown(run.root)}", seen, allowed)])
    return run


def _folder(name: str, path: object) -> Path:
    """Return the folder that an argument gives."""
    if not isinstance(path, str | os.PathLike):
        raise InputError([Problem(f"argument {name}", shown(path), "a folder")])
    return Path(path)


def _claim(folder: Path, stack: ExitStack) -> Lock:
    """Make the folder, lock it for as long as the stack is open, and put right what a dead process has left in it."""
    problems = Problems()
    where = f"folder {_shown(folder)}"
    try:
        if not _holds_something_else(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(locked(folder))
            tidy(folder)
            return lock
        problems.add(where, Quoted("something else there"), "a new folder, an empty one, or a run to resume")
    except Held as held:
        problems.add(where, Quoted(f"{held}, at work in it"), "one process at a time", "Wait for it, or stop it.")
    except (OSError, ValueError) as error:  # no access, no space, or a name that the file system cannot hold
        problems.add(where, Quoted(str(error)), "a folder that can be made, written and locked")
    raise InputError(problems)


def _holds_something_else(folder: Path) -> bool:
    """Whether there is something that is no run, nor what is left of one that was killed before it had a manifest."""
    if not folder.exists():
        return False
    if not folder.is_dir():
        return True
    names = {path.name for path in folder.iterdir()}
    return MANIFEST not in names and any(name != LOCK and not LEFT_OVER.fullmatch(name) for name in names)


def _read_manifest(folder: Path) -> Manifest:
    problems = Problems()
    try:
        return from_text(read_bytes(inside(folder, MANIFEST), LARGEST_JSON))
    except (FileNotFoundError, NotADirectoryError):
        seen = f"no {MANIFEST}" if folder.is_dir() else "no such folder"
        problems.add(f"folder {_shown(folder)}", Quoted(seen), "the folder of a run")
    except (OSError, ValueError) as error:
        seen = f"a {MANIFEST} that cannot be read ({error})"
        problems.add(f"folder {_shown(folder)}", Quoted(seen), f"the {MANIFEST} that was written there", ADVICE)
    raise InputError(problems)


def _shown(path: Path) -> str:
    return plain(str(path), limit=200)
