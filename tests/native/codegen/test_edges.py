"""Light kernels begin at whole lines of memory: each alignment and length gives NumPy's elements, and no others."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen import machine
from adjoint.native.codegen.loops import edges

WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2}
LENGTHS = (1, 3, 31, 127, 128, 129, 255, 256, 257, 511, 700)
DTYPES = (np.float64, np.float32, np.int64, np.int16, np.uint8, np.bool_)


def placed(values, before):
    """The same values in an array that begins so many elements after a line of memory."""
    room = np.zeros(values.nbytes + 1024, np.uint8)
    start = -room.ctypes.data % 64 + before * values.dtype.itemsize
    found = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found, room


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_writes_at_every_alignment(monkeypatch, width, dtype):
    monkeypatch.setattr(edges, "vectors", lambda: WIDTHS[width])
    rng = np.random.default_rng(0)

    def f(x, y):
        x[...] = np.maximum(x, y)

    for n in LENGTHS:
        x, y = rng.integers(0, 2 if dtype is np.bool_ else 99, (2, n)).astype(dtype)
        compiled = ad.compile(f, wait=True)
        for before in (0, 1, 5, 16, 31, 63):
            there, room = placed(x, before)
            wanted, clean = placed(x, before)
            compiled(there, y)
            f(wanted, y)
            assert np.array_equal(there, wanted)
            assert room.sum(dtype=int) == clean.sum(dtype=int)  # nothing is written beside them


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_parts(dtype):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype is np.bool_ else 99, (5, 700)).astype(dtype)

    def f(x):
        return [g(x[:, a:b], x[:, a : a + 1]) for a in (0, 7) for b in (601, 700) for g in (np.minimum, np.equal)]

    graph = ad.capture(f, x)
    program = native.build(graph.inputs, graph.outputs)
    for got, wanted in zip(program(x), f(x), strict=True):
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)
