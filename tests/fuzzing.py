"""How files are spoilt, and how long: ``make fuzz`` sets the two variables, and the tests run as below."""

import os
import random
import sys
from collections.abc import Callable
from typing import TypeVar

from holmes_fit._support.errors import InputError

T = TypeVar("T")

EFFORT = int(os.environ.get("HOLMES_FIT_FUZZ", "1"))  # times as many examples as in the tests
SEED = os.environ.get("HOLMES_FIT_FUZZ_SEED", "2026")

PIECES = [
    b",",
    b";",
    b"\t",
    b'"',
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"-1",
    b"1e999",
    b"nan",
    b"0.5",
    b"  ",
]
PIECES += [b"left", b"subject", b"=", b"[", b"]", b"{", b"}", b"'", b'"""', b"\\", b"#", b"inf", b"true", b"features"]
PIECES += [
    b"{trial}",
    b"file",
    b"time",
    b"whole",
    b"keep",
    b"drop",
    b"empty",
    b"of",
    b"part",
    b"anew",
    b"above",
    b"23:59",
]
PIECES += [b"null", b"[]", b"{}", b"../", b"/", b":", b"nodes", b"prior", b"fixed", b"0", b"1e-300", b"[[" * 600]


def rng_for(name: str) -> random.Random:
    """Return the numbers by which the files of one test are spoilt."""
    return random.Random(f"{SEED} {name}")


def mutated(content: bytes, rng: random.Random, most: int = 4) -> bytes:
    """Delete, repeat, swap or insert a few pieces."""
    for _ in range(rng.randint(1, most)):
        a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        b = min(b, a + rng.choice([1, 2, 8, 64]))
        kind = rng.randrange(5)
        if kind == 0:
            content = content[:a] + content[b:]
        elif kind == 1:
            content = content[:b] + content[a:b] + content[b:]
        elif kind == 2:
            content = content[:a] + rng.choice(PIECES) + content[a:]
        elif kind == 3:
            content = content[:a] + bytes([rng.randrange(256)]) + content[a + 1 :]
        else:
            content = content[:a] + rng.choice(PIECES) + content[b:]
    return content


read = 0  # spoilt files of this process
of_workers: list[tuple[int, float]] = []  # what they have counted


def counts() -> tuple[int, float]:
    """Return how many spoilt files were read here, and the most memory that was held, in MB."""
    return read, peak_memory()


def peak_memory() -> float:
    if sys.platform == "win32":
        return float("nan")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def tried(call: Callable[[], T]) -> T | InputError:
    """Return what a call gives or the error with which it refuses; anything else is raised."""
    global read
    read += 1
    try:
        return call()
    except InputError as error:
        return error


def assert_clear(error: InputError) -> None:
    """Check that an error says something, in characters that a terminal can show."""
    assert error.problems
    assert str(error).replace("\n", " ").isprintable()
