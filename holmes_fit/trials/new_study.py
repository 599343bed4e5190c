"""A folder for a new study: the same four folders as here, with a protocol to edit and a small example."""

import os
from pathlib import Path

from holmes_fit._support.atomic import written_whole
from holmes_fit._support.errors import Problems, Quoted, plain
from holmes_fit._support.study_files import PACKAGE, StudyFolder, study_folder

TEMPLATES = PACKAGE / "trials" / "templates"
PROTOCOL = "protocols/my_task.toml"
EXAMPLE = "data/example.csv"

# What is laid out, and the template that it comes from.
LAYOUT = {"README.md": "README.md", PROTOCOL: "my_task.toml", EXAMPLE: "example.csv"}
# Presets are copied as they are shipped, to be edited and given by their paths. The style sheet is not: it has no path
# that one could give.
PRESETS: tuple[StudyFolder, ...] = ("fitting", "reports")
PRESET_SUFFIXES = (".toml", ".md")


def create_study(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Lay out a study folder and return the files that were written."""
    root = Path(folder)
    _check_free(root)
    contents = {root / name: (TEMPLATES / template).read_bytes() for name, template in LAYOUT.items()}
    for preset in PRESETS:
        shipped = [path for path in study_folder(preset).iterdir() if path.suffix in PRESET_SUFFIXES]
        contents |= {root / preset / path.name: path.read_bytes() for path in sorted(shipped)}
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary:
            temporary.write_bytes(content)
    return tuple(contents)


def _check_free(root: Path) -> None:
    problems = Problems()
    where = f"folder {plain(str(root), limit=200)}"
    try:
        if root.is_dir() and any(root.iterdir()):
            names = ", ".join(plain(path.name) for path in sorted(root.iterdir())[:3])
            problems.add(where, Quoted(f"{names} in it"), "a new folder, or an empty one", "Nothing was changed.")
        elif root.is_file():
            problems.add(where, Quoted("a file"), "a new folder, or an empty one")
        else:
            root.mkdir(parents=True, exist_ok=True)
            if not os.access(root, os.W_OK):
                problems.add(where, Quoted("read-only"), "a folder that can be written")
    except (OSError, ValueError) as error:  # no access, or a name that the file system cannot hold
        problems.add(where, Quoted(str(error)), "a folder that can be written")
    problems.raise_if_any()
