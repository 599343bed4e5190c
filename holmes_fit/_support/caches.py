"""Folders in which libraries keep what they have compiled, for people whose home folder cannot be written to.

In a container, or on a node of a cluster, the home folder may belong to someone else or not be there at all. numba,
PyTensor and ArviZ fail without a folder to write to, so they are given a temporary one.
"""

import os
import stat

PYTENSOR_FLAGS = "PYTENSOR_FLAGS"


def find_room_for_caches() -> None:
    """Name a temporary folder to the libraries that cannot write where they usually do.

    It must happen before they are imported. What someone has set stays as it is.
    """
    if os.name != "posix":  # elsewhere, home folders belong to those who work
        return
    if not _can_be_written(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")):
        os.environ["XDG_CACHE_HOME"] = os.path.join(_temporary_folder(), "cache")  # numba and ArviZ
    if "MPLCONFIGDIR" not in os.environ and not _can_be_written(os.path.expanduser("~/.config/matplotlib")):
        os.environ["MPLCONFIGDIR"] = os.path.join(_temporary_folder(), "matplotlib")
    if not _can_be_written(os.path.expanduser("~/.pytensor")):
        set_pytensor_flag("base_compiledir", os.path.join(_temporary_folder(), "pytensor"))


def set_pytensor_flag(name: str, value: str) -> None:
    """Set a flag of PyTensor's, unless it is set already."""
    flags = os.environ.get(PYTENSOR_FLAGS, "")
    if name not in [flag.partition("=")[0].strip() for flag in flags.split(",")]:
        os.environ[PYTENSOR_FLAGS] = f"{flags},{name}={value}".lstrip(",")


def _can_be_written(folder: str) -> bool:
    """Whether files can be made in a folder, or the folder itself where there is none yet."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder) or os.curdir
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _temporary_folder() -> str:
    """Return a folder that is this user's alone: compiled code is executed, so nobody else may put any there."""
    import tempfile

    folder = os.path.join(tempfile.gettempdir(), f"holmes_fit-{os.getuid()}")  # the same again, with what is compiled
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="holmes_fit-")
    return folder
