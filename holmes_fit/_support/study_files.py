"""The files that a researcher reads and edits: beside the package in a checkout, inside it in a wheel, or elsewhere."""

import os
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from holmes_fit._support.borders import check_depth, naming, read_bytes
from holmes_fit._support.errors import HolmesFitError, InputError, Problem, Quoted, nearest, shown

StudyFolder = Literal["data", "protocols", "fitting", "reports"]

LARGEST_TOML = 2**18  # characters
MOST_DOTS = 300  # in a line: reading a key takes as much time and memory as the square of its parts
PACKAGE = Path(str(files("holmes_fit"))).resolve()


def study_folder(name: StudyFolder) -> Path:
    """Return the folder of shipped files of that name: as a wheel carries it, or of the checkout."""
    for folder in (PACKAGE / "study" / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise HolmesFitError(f"The shipped folder {name!r} is missing from this installation; please install again.")


def shipped_names(folder: StudyFolder) -> tuple[str, ...]:
    """Return the names of the TOML files that come with the package, in alphabetical order."""
    return tuple(sorted(path.stem for path in study_folder(folder).glob("*.toml")))


def find_toml(name_or_path: str | os.PathLike[str], folder: StudyFolder, where: str, beside: Path = Path()) -> Path:
    """Return the TOML file of a shipped name, or of a path."""
    names = shipped_names(folder)
    allowed = f"the path of a TOML file, or one of {', '.join(names)}"
    if not isinstance(name_or_path, str | os.PathLike):
        raise InputError([Problem(where, shown(name_or_path), allowed)])
    if name_or_path in names:
        return study_folder(folder) / f"{name_or_path}.toml"
    path = beside / name_or_path
    if not _is_file(path):
        seen = os.fspath(name_or_path)
        local = Path(folder) / f"{path.name}.toml"  # of a study that holmes-fit init has laid out
        advice = f"Did you mean {str(local)!r}?" if _is_file(beside / local) else nearest(seen, names)
        if path.suffix == ".toml":
            there = [other.name for other in path.parent.glob("*.toml")]
            advice = f"There is no such file. {nearest(path.name, there)}".rstrip()
        raise InputError([Problem(where, shown(seen), allowed, advice)])
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that the file system cannot hold
        return False


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    with naming(str(path), "a file that can be read"):
        content = read_bytes(path, LARGEST_TOML)
    return parse_toml(content, path.name)


def parse_toml(content: bytes | str, file: str) -> dict[str, Any]:
    """Return the content of a TOML file that messages call ``file``."""
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        if len(text) > LARGEST_TOML or max((line.count(".") for line in text.splitlines()), default=0) > MOST_DOTS:
            raise ValueError(f"more than {LARGEST_TOML:,} characters, or {MOST_DOTS} dots in a line")
        found = tomllib.loads(text)
        check_depth(found)
        return found
    except UnicodeDecodeError as error:
        seen, allowed = f"bytes that are no text, at position {error.start}", "TOML text in UTF-8"
    except RecursionError:
        seen, allowed = "brackets nested too deeply", "TOML"
    except ValueError as error:
        seen, allowed = str(error), "TOML"
    raise InputError([Problem(file, shown(Quoted(seen)), allowed)])
