"""Elements two to four places apart are read with what lies between them, and nothing beyond the last one is read."""

import ctypes
import mmap
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.native import build
from adjoint.native.codegen import machine
from adjoint.native.codegen.loops import edges
from adjoint.native.codegen.loops.memory import NEAR

WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2}
LENGTHS = (2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 257)
DTYPES = (np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, np.bool_, np.complex128)


def _light(x):
    return np.equal(x, x[0]), np.add(x, x)


def _heavy(x):
    return np.tanh(x) * np.exp(x) - x / 3, np.sum(np.cos(x))


def _run(f, arrays):
    """What one native program gives for all arrays, and its code."""
    graph = ad.capture(lambda *xs: [y for x in xs for y in f(x)], *arrays).rewritten()
    program = build(graph.inputs, graph.outputs)
    return program(*arrays), program.llvm


@pytest.mark.parametrize("step", [*NEAR, NEAR.stop])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_length(monkeypatch, width, dtype, step):
    monkeypatch.setattr(edges, "vectors", lambda: WIDTHS[width])
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2 if dtype is np.bool_ else 99, step * n).astype(dtype) for n in LENGTHS]

    def f(x):
        return _light(x[step - 1 :: step])

    found, _ = _run(f, arrays)
    for got, wanted in zip(found, [y for x in arrays for y in f(x)], strict=True):
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("step", NEAR)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_bits_as_side_by_side(dtype, step):
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, (3, step * n)).astype(dtype) for n in LENGTHS]
    found, _ = _run(lambda x: _heavy(x[:, ::step]), arrays)
    wanted, _ = _run(_heavy, [np.ascontiguousarray(x[:, ::step]) for x in arrays])
    for got, same in zip(found, wanted, strict=True):
        assert np.array_equal(got, same)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
def test_whole_vectors_are_not_gathered(dtype):
    def loads(step):
        _, text = _run(lambda x: [np.negative(x[::step])], [np.zeros(step * 500, dtype)])
        return text.count("= load <")

    assert [loads(step) for step in NEAR] == [*NEAR]
    assert loads(NEAR.stop) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="it has no mprotect")
@pytest.mark.parametrize("step", NEAR)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_read_beyond_the_last_element(dtype, step):
    """The last element is the last of a page, and the next page may not be read."""
    size = np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, 9 * mmap.PAGESIZE)
    x = np.frombuffer(memory, dtype, 8 * mmap.PAGESIZE // size)
    end = ctypes.c_void_p(x.ctypes.data + x.nbytes)
    assert ctypes.CDLL(None).mprotect(end, mmap.PAGESIZE, 0) == 0
    x[...] = np.arange(x.size) % 7
    for n in (64, 256, 1000, 1024):
        y = x[-step * n :]
        assert np.array_equal(ad.compile(lambda y: y[step - 1 :: step] ** 2, wait=True)(y), y[step - 1 :: step] ** 2)
