"""One process at a time: a lock that the operating system releases when the process ends, however it ends."""

import errno
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holmes_fit._support.errors import HolmesFitError, plain

LOCK = ".lock"
PATIENCE = 0.5  # seconds; whoever only asks who holds the lock has it for less than a millisecond
# What systems say when another process holds the lock.
TAKEN = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
# The file is emptied and written, which must not happen to another that a link leads to.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none

if sys.platform == "win32":
    import msvcrt

    # On Windows a locked byte cannot be read by others, so it lies behind the text that they want to read.
    LOCKED_BYTE = 1 << 20

    def _take(file: int) -> None:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    def _release(file: int) -> None:
        os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class Held(Exception):
    """Another process holds the lock; the message says which."""


@dataclass
class Lock:
    """The lock of a folder, as the process has it that works there, and those that it lets write."""

    folder: Path
    file: tuple[int, int]  # by which its file is known, wherever it is moved to
    held: bool = True  # until it is released

    def check(self) -> None:
        """Refuse to go on in a folder that has been deleted or moved, or is another one by now."""
        if _identity(self.folder / LOCK) != self.file:
            raise HolmesFitError(
                f"The folder {plain(str(self.folder), limit=200)} was deleted or moved while work went on in it. "
                "Bring it back if you can, then give the same command again: what the folder holds is not done again."
            )


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Hold the lock of a folder."""
    # Processes that are started meanwhile do not inherit the file, so none of them can go on holding the lock.
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
    try:
        _take_soon(file, folder)
        about = os.fstat(file)
        lock = Lock(folder, (about.st_dev, about.st_ino))
        try:
            os.ftruncate(file, 0)
            os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
            yield lock
        finally:
            lock.held = False
            _release(file)
    finally:
        os.close(file)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _take_soon(file: int, folder: Path) -> None:
    limit = time.monotonic() + PATIENCE
    while not _taken(file):
        if time.monotonic() > limit:
            raise Held(_named(folder))
        time.sleep(0.02)


def _taken(file: int) -> bool:
    try:
        _take(file)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


def holder(folder: Path) -> str | None:
    """Return which process holds the lock of a folder, or nothing if none does."""
    try:
        file = os.open(folder / LOCK, os.O_RDWR | NO_LINK)
    except OSError:  # never locked, or not ours to lock
        return None
    try:
        if not _taken(file):
            return _named(folder)
        _release(file)
        return None
    finally:
        os.close(file)


def _named(folder: Path) -> str:
    text = (folder / LOCK).read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    return text or "another process"
