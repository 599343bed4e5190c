"""Arrays in files that nobody vouches for, NPZ and HDF5: the sizes they declare are checked before any is unpacked."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.borders import LARGEST, read_bytes

if TYPE_CHECKING:
    import h5py

MOST_ENTRIES = 1_000  # arrays of a file, or groups of a group
DEEPEST = 2  # groups within groups
DEFLATE = 1  # the number of the filter


def unpack_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an NPZ file by name, in alphabetical order."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = sorted(archive.infolist(), key=lambda each: each.filename)
        if len(members) > MOST_ENTRIES or sum(each.file_size for each in members) > LARGEST:
            raise ValueError(f"more than {MOST_ENTRIES:,} arrays or {LARGEST:,} bytes, unpacked")
        return {each.filename.removesuffix(".npy"): _unpacked(archive, each) for each in members}


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others cannot be unpacked in steps
        raise ValueError("an unusual compression")
    with archive.open(member) as opened:
        stream = io.BytesIO(opened.read(member.file_size + 1))
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another version")
    shape, in_columns, kind = np.lib.format.read_array_header_1_0(stream)
    values = stream.read()
    if kind.hasobject or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != len(values):
        raise ValueError("an array of another size than it declares")
    return np.frombuffer(bytearray(values), kind).reshape(shape, order="F" if in_columns else "C")


def check_hdf5(path: Path) -> None:
    """Refuse a file of HDF5, which NetCDF is, that leads to other files or holds more than memory can take."""
    import h5py

    read_bytes(path)
    with h5py.File(path, "r") as file:
        _check_group(file, LARGEST, 0)


def _check_group(group: h5py.Group, most: int, depth: int) -> int:
    """Return how many bytes are left of the most that groups may hold in all."""
    import h5py

    if depth > DEEPEST or len(group) > MOST_ENTRIES:
        raise ValueError("more groups than posteriors have")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError("a link to something else")
        own = group[name]
        if isinstance(own, h5py.Group):
            most = _check_group(own, most, depth + 1)
        elif isinstance(own, h5py.Dataset):
            most -= own.size * own.dtype.itemsize
            _check_dataset(own)
        if most < 0:
            raise ValueError(f"more than {LARGEST:,} bytes, unpacked")
    return most


def _check_dataset(data: h5py.Dataset) -> None:
    if data.external or data.is_virtual:
        raise ValueError("values that are in another file")
    stored = data.id.get_create_plist()
    filters = [stored.get_filter(number)[0] for number in range(stored.get_nfilters())]
    if any(own != DEFLATE for own in filters):
        raise ValueError("an unusual compression")
    if not filters:
        return
    size = math.prod(data.chunks) * data.dtype.itemsize
    for number in range(data.id.get_num_chunks()):
        _, packed = data.id.read_direct_chunk(data.id.get_chunk_info(number).chunk_offset)
        if len(zlib.decompressobj().decompress(packed, size + 1)) > size:
            raise ValueError("values that are more than they declare")
