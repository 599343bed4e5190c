"""Files of a run, read as far as they are there."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd

from holmes_fit._support.array_files import check_hdf5
from holmes_fit._support.borders import LARGEST_JSON, inside, naming, parse_json, read_bytes
from holmes_fit._support.errors import plain
from holmes_fit.runs.schema import read, tables


def content(folder: Path, name: str) -> bytes:
    """Return the bytes of a file."""
    with _naming(folder, name):
        return read_bytes(inside(folder, name))


def read_if_there(folder: Path, name: str) -> pd.DataFrame | None:
    """Read a table, or nothing if it is not there; texts that are not there are empty."""
    if not os.path.lexists(folder / name):
        return None
    # In a table that has no schema, such as that of covariates, names mean what they mean elsewhere.
    text = () if name in tables() else {name for table in tables().values() for name in table.text}
    with _naming(folder, name):
        return read(inside(folder, name), text)


def read_json(folder: Path, name: str) -> Mapping[str, Any]:
    """Return what a file of JSON holds; nothing where there is no such file."""
    if not os.path.lexists(folder / name):
        return {}
    with _naming(folder, name):
        content = parse_json(read_bytes(inside(folder, name), LARGEST_JSON))
        if not isinstance(content, dict):
            raise ValueError("something else than an object")
        return content


def _naming(folder: Path, name: str) -> AbstractContextManager[None]:
    return naming(plain(str(folder / name), limit=200), "a file as it was written")


def attributes(folder: Path, name: str, group: str) -> Mapping[str, Any]:
    """Return what a group of a NetCDF file says of itself; nothing where there is no such file, or no such group."""
    import h5netcdf  # which takes longer than a page does

    try:
        check_hdf5(inside(folder, name))
        with h5netcdf.File(folder / name) as file:
            return dict(file[group].attrs)
    except Exception:  # a damaged file of HDF5 can raise nearly anything
        return {}
