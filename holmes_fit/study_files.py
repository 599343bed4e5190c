"""Where the files that a researcher reads and edits are: beside the package in a checkout, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from holmes_fit.errors import HolmesFitError

StudyFolder = Literal["data", "protocols", "fitting", "reports"]

PACKAGE = Path(__file__).resolve().parent


def study_folder(name: StudyFolder) -> Path:
    """Return the folder of shipped files of that name.

    Parameters
    ----------
    name
        ``"data"``, ``"protocols"``, ``"fitting"`` or ``"reports"``.

    Raises
    ------
    HolmesFitError
        If the installation lacks the folder.
    """
    candidates = (PACKAGE / "study" / name, PACKAGE.parent / name)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise HolmesFitError(f"The shipped folder {name!r} is missing from this installation; please install again.")
