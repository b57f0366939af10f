"""Kernels that compute much ask memory for what they read soon, and read nothing beyond an array's end."""

import ctypes
import mmap
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.native import build


def _asks(f, *args) -> int:
    """How many arrays the kernels of `f` ask for."""
    graph = ad.capture(f, *args).rewritten()
    return build(graph.inputs, graph.outputs).llvm.count("call void @llvm.prefetch")


def test_what_is_asked_for():
    x, y = np.ones(1 << 15), np.ones(1 << 15)
    assert _asks(lambda x, y: np.exp(x) * np.tanh(y), x, y) == 2
    assert _asks(lambda x, y: np.sum(np.exp(x) * np.tanh(y)), x, y) == 2
    assert _asks(lambda x, y: np.exp(x) * np.tanh(y), x[:9], y[:9]) == 0  # few elements
    assert _asks(np.add, x, y) == 0  # memory decides, and many reads are under way at once


@pytest.mark.skipif(sys.platform == "win32", reason="it has no mprotect")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_nothing_is_read_beyond_the_end(dtype):
    """The array ends where a page of memory does, and the next page may not be read."""
    count = (1 << 15) + 3
    size = -(-count * np.dtype(dtype).itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    x = np.frombuffer(memory, dtype, size // np.dtype(dtype).itemsize)[-count:]
    end = ctypes.c_void_p(x.ctypes.data + x.nbytes)
    assert ctypes.CDLL(None).mprotect(end, mmap.PAGESIZE, 0) == 0
    x[...] = np.arange(count) % 7
    compiled = ad.compile(lambda x: np.exp(x) + np.arctan(x), wait=True)
    for _ in range(3):
        np.testing.assert_array_max_ulp(compiled(x), np.exp(x) + np.arctan(x), 4)
