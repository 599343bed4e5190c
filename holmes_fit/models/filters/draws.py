"""Counter-based uniforms: every draw is a pure function of what it is for.

A draw is addressed by (seed, learner, replicate, trial, particle, level, purpose). Two runs of a filter therefore see
the same luck wherever their addresses agree, whatever alpha and Omega are, in whatever order and on however many
workers they run: common random numbers by construction.

The generator is Philox4x32-10 (Salmon, Moraes, Dror & Shaw, 2011, "Parallel random numbers: as easy as 1, 2, 3").
Seed and learner make its key; replicate, trial, particle and level make its counter. One block of 128 bits is two
uniforms of 52 bits: which branch to take at a level, and whether to stop there. All arithmetic is in 64-bit words that
hold 32-bit values, so it runs the same compiled or not.
"""

import hashlib
import json

import numpy as np
from numba import njit

# Purposes. The first two come once a level; resampling comes once a trial, far from any level.
BRANCH = 0
STOP = 1
RESAMPLE = 2

_RESAMPLING = np.uint64(0x8000_0000)  # takes the place of the level
_LOW = np.uint64(0xFFFF_FFFF)
_SHIFT = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD251_1F53)
_MULTIPLIER_1 = np.uint64(0xCD9E_8D57)
_WEYL_0 = np.uint64(0x9E37_79B9)
_WEYL_1 = np.uint64(0xBB67_AE85)
_ROUNDS = 10
_UPPER_BITS = np.uint64(20)
_DROPPED_BITS = np.uint64(12)
_UNIT = 2.0**-52


def stream_key(seed: int, learner: str = "") -> np.uint64:
    """Return the generator's key for one learner under one seed: a stable hash, the same on every machine."""
    name = json.dumps([int(seed), learner]).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little"))


@njit(cache=True, inline="always")
def philox(key, counter_0, counter_1, counter_2, counter_3):
    """Return the four words of one Philox4x32-10 block."""
    key_0 = key & _LOW
    key_1 = key >> _SHIFT
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * counter_0
        product_1 = _MULTIPLIER_1 * counter_2
        counter_0 = (product_1 >> _SHIFT) ^ counter_1 ^ key_0
        counter_1 = product_1 & _LOW
        counter_2 = (product_0 >> _SHIFT) ^ counter_3 ^ key_1
        counter_3 = product_0 & _LOW
        key_0 = (key_0 + _WEYL_0) & _LOW
        key_1 = (key_1 + _WEYL_1) & _LOW
    return counter_0, counter_1, counter_2, counter_3


@njit(cache=True, inline="always")
def unit(high, low):
    """Map two 32-bit words into the open interval (0, 1)."""
    return (np.float64(np.int64((high << _UPPER_BITS) | (low >> _DROPPED_BITS))) + 0.5) * _UNIT


@njit(cache=True, inline="always")
def pair(key, replicate, trial, particle, level):
    """Return the two uniforms of one particle at one level: for ``BRANCH`` and for ``STOP``."""
    words = philox(key, np.uint64(particle), np.uint64(trial), np.uint64(replicate), np.uint64(level))
    return unit(words[0], words[1]), unit(words[2], words[3])


@njit(cache=True)
def fill_pairs(key, replicate, trial, level, particles, count, branch, stop):
    """Write the pairs of the first ``count`` particles of a list into two arrays, several at a time."""
    for place in range(count):
        branch[place], stop[place] = pair(key, replicate, trial, particles[place], level)


@njit(cache=True)
def uniform(key, replicate, trial, particle, level, purpose):
    """Return the one uniform at this address.

    ``BRANCH`` chooses the branch at ``level``; ``STOP`` decides whether the path ends there; ``RESAMPLE`` (at level 0)
    is the draw of one particle's slot when the trial is over.
    """
    if purpose == RESAMPLE:
        return pair(key, replicate, trial, particle // 2, _RESAMPLING)[particle % 2]
    return pair(key, replicate, trial, particle, level)[purpose]


@njit(cache=True)
def fill_resampling(key, replicate, trial, uniforms):
    """Write the resampling draws of slots 0, 1, ... into ``uniforms``."""
    for slot in range(0, len(uniforms) - 1, 2):
        uniforms[slot], uniforms[slot + 1] = pair(key, replicate, trial, slot // 2, _RESAMPLING)
    if len(uniforms) % 2 == 1:
        uniforms[-1] = pair(key, replicate, trial, len(uniforms) // 2, _RESAMPLING)[0]
