"""One record: the result of one piece of work, in one NPZ file without pickle, with a digest of all that it holds."""

import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.array_files import unpack_arrays
from holmes_fit._support.borders import parse_json

Key = tuple[str, ...]
Arrays = Mapping[str, NDArray[np.generic]]

# Entries of the file that are no arrays of the record.
HEADER = "record_json"
DIGEST = "record_sha256"
# Names of the arguments of `numpy.savez_compressed`, which no array can have.
RESERVED = (HEADER, DIGEST, "file", "allow_pickle")

SLUG_LENGTH = 40
DEVICE = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)


@dataclass(frozen=True)
class Record:
    """The result of one piece of work."""

    key: Key  # what it is the result of, such as ``("holmes", "s01")``
    # Numbers, texts, lists and dictionaries: whatever JSON holds, and NaN and infinities as well. A tuple comes back as
    # a list
    facts: Mapping[str, object]
    arrays: Arrays = field(default_factory=dict)  # arrays by name, of any type but objects
    error: str = ""  # why there is no result; empty where there is one


def file_of(key: Key) -> PurePosixPath:
    """Return the name of the file of a record: readable, safe on every file system, and different for every key."""
    digest = hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:16]
    *parts, name = [_slug(part) for part in key]
    # Windows has no folder called "con" or "nul", and every part may be such a name.
    folders = [f"{part}_" if DEVICE.fullmatch(part) else part for part in parts]
    return PurePosixPath(*folders, f"{name}-{digest}.npz")


def _slug(text: str) -> str:
    """Return what can be read of a text in safe characters; it may be the same for two texts, but it is never empty."""
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_]+", "-", ascii_only).strip("-")[:SLUG_LENGTH] or "_"


def to_bytes(record: Record) -> bytes:
    """Return the content of the record's file; the same record gives the same bytes."""
    arrays = {name: np.asarray(record.arrays[name], order="C") for name in sorted(record.arrays)}
    for name, array in arrays.items():
        if not name.isidentifier() or name in RESERVED:
            raise ValueError(f"an array of a record cannot be called {name!r}")
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds objects, and only pickle could keep those")
    header = {"key": list(record.key), "facts": dict(record.facts), "error": record.error}
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), np.uint8)
    digest = np.frombuffer(_digest(text, arrays), np.uint8)
    file = io.BytesIO()
    # NumPy gives every entry of the archive the same date, so that the bytes do not depend on the time.
    np.savez_compressed(file, allow_pickle=False, **{HEADER: text, DIGEST: digest}, **arrays)
    return file.getvalue()


def from_bytes(content: bytes) -> Record | None:
    """Return the record that a file holds, or nothing if the file is truncated or altered."""
    try:
        arrays = unpack_arrays(content)
        text, digest = arrays.pop(HEADER), arrays.pop(DIGEST)
        if digest.tobytes() != _digest(text, arrays):
            return None
        header = parse_json(text.tobytes())
        key = tuple(str(part) for part in header["key"])
        return Record(key, dict(header["facts"]), arrays, str(header["error"]))
    except Exception:  # a damaged archive can raise nearly anything, from zlib.error to MemoryError
        return None


def _digest(text: NDArray[np.uint8], arrays: Arrays) -> bytes:
    """Return the SHA-256 of the header, and of the name, type, shape and values of every array."""
    digest = hashlib.sha256(text.tobytes())
    for name, array in arrays.items():
        described = json.dumps([name, np.lib.format.dtype_to_descr(array.dtype), array.shape])
        digest.update(described.encode())
        digest.update(array.tobytes())
    return digest.digest()
