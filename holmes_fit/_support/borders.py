"""Files that nobody vouches for: read whole or refused, and never larger than memory can take.

What is wrong with a file is a ValueError in words; `naming` makes of it an error that names the file.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holmes_fit._support.errors import InputError, Problem, plain

LARGEST = 256 * 2**20  # bytes of a file, or of what it unpacks to
LARGEST_JSON = 32 * 2**20  # which takes twenty times as much once it is read
PIECE = 2**20  # bytes that are read at a time
DEEPEST = 100  # brackets within brackets


@contextmanager
def naming(where: str, allowed: str, advice: str = "") -> Iterator[None]:
    """Let an error that comes of reading a file say which file that is, and what it should be."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:  # pandas' and pydantic's own errors are ValueErrors
        reason = error.strerror if isinstance(error, OSError) else None
        seen = "no such file" if isinstance(error, FileNotFoundError) else plain(reason or str(error), limit=200)
        raise InputError([Problem(where, seen, allowed, advice)]) from error


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file of a folder, which does not lead out of it, not by a link either."""
    path, root = folder / name, Path(os.path.realpath(folder))
    if root not in Path(os.path.realpath(path)).parents:
        raise ValueError("something that leads out of the folder")
    return path


def read_bytes(path: str | os.PathLike[str], most: int = LARGEST, or_pipe: bool = False) -> bytes:
    """Return the content of a file that is not too large; nothing else is waited for, unless it may be a pipe."""
    with open(path, "rb", opener=None if or_pipe else _at_once) as file:
        if not or_pipe and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("something that is no file")
        pieces, left = [], most
        while piece := file.read(min(PIECE, left + 1)):  # reading takes memory for all that is asked for
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise ValueError(f"more than {most:,} bytes")
    return b"".join(pieces)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def parse_json(content: bytes | str) -> Any:
    """Return what JSON says, in which NaN and infinities may stand for numbers."""
    if len(content) > LARGEST_JSON:
        raise ValueError(f"more than {LARGEST_JSON:,} bytes of JSON")
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("brackets nested too deeply") from None
    check_depth(found)
    return found


def check_depth(value: object) -> None:
    """Refuse lists and dictionaries that are nested so deeply that going through them fails."""
    level = [value]
    for _ in range(DEEPEST):
        groups = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [inner for group in groups for inner in group]
        if not level:
            return
    raise ValueError("brackets nested too deeply")
