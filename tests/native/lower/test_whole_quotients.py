"""Whole numbers are divided in vectors by way of floating-point numbers: each quotient and remainder is exact."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.codegen import machine
from adjoint.native.lower import integers

FUNCTIONS = {"floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod}
DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
WIDTHS = {"AVX-512": machine.AVX512, "AVX2": machine.AVX2}


@pytest.fixture(params=WIDTHS, autouse=True)
def width(request, monkeypatch):
    monkeypatch.setattr(integers, "vectors", lambda: WIDTHS[request.param])


def natively(f, *arrays):
    return built(f, *arrays)(*arrays)


def built(f, *arrays):
    graph = ad.capture(f, *arrays)
    program = native.build(graph.inputs, graph.outputs)
    return lambda *given: program(*given)[0]


def ends(dtype):
    """Where formats end, and where floating-point numbers no longer have every whole number."""
    info = np.iinfo(dtype)
    far = [s * (2**k + d) for k in (1, 23, 24, 31, 32, 50, 51, 52, 53) for d in (-1, 0, 1) for s in (-1, 1)]
    near = [info.min, info.min + 1, info.max // 2, info.max - 1, info.max, 0, 3, 7]
    return np.array([v for v in (*near, *far) if info.min <= v <= info.max], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_quotient(name, dtype):
    f, rng, bits = FUNCTIONS[name], np.random.default_rng(6), 8 * np.dtype(dtype).itemsize - (dtype[0] == "i")
    x, y = (np.ravel(m) for m in np.meshgrid(ends(dtype), ends(dtype)))
    numbers = [int(rng.integers(0, 2 ** int(b), dtype=np.uint64)) for b in rng.integers(0, bits, 6000)]
    over, under = np.array(numbers, dtype).reshape(2, -1)
    under = np.where(under == 0, 1, under).astype(dtype)
    beside = (over // under * under + rng.integers(-1, 2, over.size).astype(dtype)).astype(dtype)  # whole ones, nearly
    with np.errstate(all="ignore"):
        for a, b in ((x, y), (over, under), (beside, under)):
            np.testing.assert_array_equal(natively(f, a, b), f(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_of_one_quotient(name, dtype):
    """A vector that has a large element is divided otherwise than one of small elements."""
    x, y = (np.repeat(m, 64) for m in np.meshgrid(ends(dtype), ends(dtype)))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(natively(FUNCTIONS[name], x, y), FUNCTIONS[name](x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_number_and_known_divisors(name, dtype):
    f, x = FUNCTIONS[name], ends(dtype)
    alone = built(f, x[0], x[0])
    with np.errstate(all="ignore"):
        for a, b in np.broadcast(x[:, None], x):
            np.testing.assert_array_equal(alone(np.array(a), np.array(b)), f(a, b))
        for by in (3, 7, 100):
            np.testing.assert_array_equal(natively(lambda x, by=by: f(x, by), x), f(x, by))


@pytest.mark.parametrize("by", [1, 2, 3, 7, 10, -3, -7, 1000003, 2**31 - 1, 2**33 + 1, 2**49 + 1, 2**50, 2**51 + 3])
def test_multiples_of_a_known_divisor_and_their_neighbours(by):
    most = max(2**50 // abs(by), 1)
    x = np.random.default_rng(3).integers(-most, most + 1, 500)[:, None] * by + np.arange(-2, 3)
    for f in (lambda x: x // by, lambda x: x % by, lambda x: np.fmod(x, by)):
        np.testing.assert_array_equal(natively(f, x), f(x))
