"""Writing a file whole or not at all, and never over another one unasked."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from holmes_fit._support.errors import Problems, Quoted, plain


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file in the same folder, which takes the place of ``path`` if all goes well.

    Whatever stops the writing, ``path`` is as it was before, or complete.
    """
    target = Path(os.path.realpath(path))  # behind a link, the file is replaced and not the link
    temporary = target.parent / f".{uuid4().hex}.tmp"
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


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
