"""Fingerprints of arrays: a few bytes that change with any byte of the array, at the speed of memory."""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np

# The words of a row, each row has two sums. Arrays of up to that many bytes are their own fingerprint.
_ROW = 4096
# Both sums are made of so many rows at a time, 512 KiB.
_BLOCK = 16


def fingerprint(array: np.ndarray) -> bytes:
    """What tells `array` from one of the same shape in which any bytes differ.

    Of a large array, two sums for each row of 4096 words of 64 bits, modulo 2**64: of the words times odd weights
    drawn at random for this process; and of the words that lie between those, half in one and half in the next. A byte
    that differs is in the lower half of a word of one of the two, so a change goes unseen with a probability
    below 2**-32 a changed row, whatever it is. (Multilinear hashing: Lemire and Kaser, Computer Journal 57, 2014.)
    """
    if array.nbytes <= _ROW or array.dtype.hasobject:
        return array.tobytes()
    laid = np.ascontiguousarray(array.T if array.flags.f_contiguous else array)
    memory = laid.reshape(-1).view(np.uint8)
    main = (memory.size - 8) // (8 * _ROW) * (8 * _ROW)
    weights, rows = _weights(), main // (8 * _ROW)
    words = [memory[start : start + main].view(np.uint64).reshape(rows, _ROW) for start in (0, 4)]
    sums = np.empty((2, rows), np.uint64)
    for start in range(0, rows, _BLOCK):  # read once from memory, and once more from the cache
        for half, out in zip(words, sums, strict=True):
            np.einsum("ij,j->i", half[start : start + _BLOCK], weights, out=out[start : start + _BLOCK])
    return b"".join((memory[:8].tobytes(), sums.tobytes(), memory[main:].tobytes()))


@lru_cache(maxsize=1)
def _weights() -> np.ndarray:
    return np.frombuffer(os.urandom(8 * _ROW), np.uint64) | np.uint64(1)
