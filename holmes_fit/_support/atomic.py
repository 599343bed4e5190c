"""Writing a file whole or not at all, and never over another one unasked."""

import atexit
import errno
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from holmes_fit._support.errors import HolmesFitError, Problems, Quoted, plain

# What is being written: the machine and the process that write it, so that what a dead one has left can be known.
LEFT_OVER = re.compile(r"\.([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{16}\.tmp")
DAY = 24 * 3600  # seconds; longer than anything is being written, by whatever machine


class Unwritten(HolmesFitError):
    """A file that could not be written; the message says which, why, and what to do."""


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file in the same folder, which takes the place of ``path`` if all goes well.

    Whatever stops the writing, ``path`` is as it was before, or complete.
    """
    target = Path(os.path.realpath(path))  # behind a link, the file is replaced and not the link
    with named_if_unwritten(path):
        _sweep_once(target.parent)
        temporary = target.parent / temporary_name()
        try:
            yield temporary
            to_disk(temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def named_if_unwritten(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say which file could not be written, why, and how to go on; the last to say so knows its lasting name."""
    try:
        yield
    except (OSError, Unwritten) as error:
        cause = error.__cause__ if isinstance(error, Unwritten) else error
        assert isinstance(cause, OSError)
        full = cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise Unwritten(
            f"{plain(os.fspath(path), limit=200)} could not be written: {cause.strerror or cause}. What was written "
            f"before is safe. {'Make space' if full else 'Put that right'}, then give the same command again."
        ) from cause


def temporary_name() -> str:
    """Return the name of a file or folder that is being written by this process."""
    return f".{_machine()}{os.getpid():08x}{uuid4().hex[:16]}.tmp"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder that is removed in the end, if need be by the next process that takes one."""
    place = Path(tempfile.gettempdir())
    _sweep_once(place)
    folder = place / temporary_name()
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_for_good() -> Path:
    """Return a temporary folder that is there for as long as this process."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(temporary_folder())


def to_disk(path: Path) -> None:
    """Make sure that a file is on the disk, and not only on its way there."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@cache
def _machine() -> str:
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


@cache
def _sweep_once(folder: Path) -> None:
    """Remove what dead processes have begun to write in a folder."""
    for path in folder.glob(".*.tmp"):
        if (name := LEFT_OVER.fullmatch(path.name)) is not None:
            with suppress(OSError):  # someone else was faster, or it is not ours to remove
                if _is_dead(name[1], int(name[2], 16), path.stat().st_mtime):
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_dead(machine: str, process: int, when: float) -> bool:
    if machine != _machine():
        return time.time() - when > DAY
    if os.name != "posix":  # to ask for a process is to end it there
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # it is someone else's
        return False
    return False


def check_outputs(paths: Iterable[Path], force: bool, suffixes: tuple[str, ...] = (".csv",)) -> None:
    """Check, before any work is done, that files can be written."""
    problems = Problems()
    for path in paths:
        where = f"output {plain(str(path), limit=200)}"
        try:
            _check_output(path, where, force, suffixes, problems)
        except (OSError, ValueError) as error:  # no access, or a name that the file system cannot hold
            problems.add(where, Quoted(str(error)), "a file that can be written")
    problems.raise_if_any()


def _check_output(path: Path, where: str, force: bool, suffixes: tuple[str, ...], problems: Problems) -> None:
    if path.suffix.lower() not in suffixes:
        problems.add(where, path.suffix, f"a name that ends in {' or '.join(suffixes)}")
    elif not path.parent.is_dir():
        problems.add(where, Quoted("no such folder"), "a file in a folder that exists")
    elif _is_there(path) and not path.is_file():
        problems.add(where, Quoted("something that is no file"), "a file")
    elif _is_there(path) and not force:
        problems.add(where, Quoted("a file that exists"), "a new file", "Use the argument force to replace it.")
    elif not os.access(path.parent, os.W_OK):
        problems.add(where, Quoted("a folder that is read-only"), "a folder that can be written")


def _is_there(path: Path) -> bool:
    try:
        path.stat()  # unlike exists(), it complains about a name that is too long
    except FileNotFoundError:
        return False
    return True
