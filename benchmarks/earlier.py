"""The package of another revision beside today's, under another name."""

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "holmes_fit_earlier"


def lay_out(revision: str, folder: Path) -> None:
    """Write the package of a revision into a folder, as ``holmes_fit_earlier`` with the study files inside it."""
    wanted = ["holmes_fit", "data", "protocols", "fitting", "reports"]
    archive = subprocess.run(["git", "archive", revision, *wanted], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    (folder / "holmes_fit").rename(folder / NAME)
    for path in (folder / NAME).rglob("*.py"):
        path.write_text(re.sub(r"\bholmes_fit\b", NAME, path.read_text("utf-8")), "utf-8")


def make_importable(folder: Path) -> None:
    """Let ``import holmes_fit_earlier`` find what was laid out."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
